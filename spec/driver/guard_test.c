/*
 * guard_test.c - guarded entry points run exactly the range they are given.
 * SPDX-License-Identifier: MIT
 *
 * A model counts how often each work-item must have run, in an array with a
 * place for every work-item launched.
 */
#include "check.h"
#include "spirv.h"
#include "spirv_guard.h"

#define KERNELS "spec/driver/kernels/"

static setup s;
static ze_command_list_handle_t list;

/* Loads a file's module with guards. */
static ze_module_handle_t guarded_load(const char *path, bool keep)
{
  char message[200];
  size_t size, count;
  void *bytes = file_read(path, &size);
  spirv_module *m = spirv_parse(bytes, size, message, sizeof message);
  uint32_t *words = m != NULL ? spirv_guard(m, keep, &count) : NULL;
  if (words == NULL) {
    printf("not ok - %s: %s\n", path, message);
    exit(1);
  }
  ze_module_handle_t module =
      module_new(s, path, words, count * sizeof *words);
  free(words);
  spirv_free(m);
  free(bytes);
  return module;
}

static void launch(ze_kernel_handle_t kernel, const uint32_t *size,
                   const uint32_t *groups)
{
  ze_group_count_t n = {groups[0], groups[1], groups[2]};
  MUST(zeKernelSetGroupSize(kernel, size[0], size[1], size[2]));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &n, NULL, 0, NULL));
}

/* Sets the hidden arguments, which come after the kernel's own. */
static void set_range(ze_kernel_handle_t kernel, uint32_t own,
                      const uint64_t *first, const uint64_t *count)
{
  uint64_t hidden[SPIRV_GUARD_ARGUMENTS][4] = {0}; /* vectors of 3 take 4 */
  memcpy(hidden[SPIRV_GUARD_FIRST], first, 3 * sizeof *first);
  memcpy(hidden[SPIRV_GUARD_COUNT], count, 3 * sizeof *count);
  for (uint32_t k = 0; k < SPIRV_GUARD_ARGUMENTS; k++)
    MUST(zeKernelSetArgumentValue(kernel, own + k, sizeof hidden[k],
                                  hidden[k]));
}

static const uint64_t origin[3] = {0, 0, 0};

/* The struct of guard.cl. */
struct box {
  uint64_t x, y, z;
  uint32_t width;
  int8_t height;
};

typedef struct range {
  uint64_t first[3], size[3];
  uint32_t group[3], groups[3];
} range;

/* Launches groups of a kernel that counts its runs, and compares. */
static void check_range(ze_module_handle_t module, const char *name,
                        const range *r, uint32_t times)
{
  char full[100];
  uint32_t places[3];
  snprintf(full, sizeof full, SPIRV_GUARD_ENTRY "%s", name);
  ze_kernel_handle_t k = kernel_new(module, full);
  for (int d = 0; d < 3; d++) places[d] = r->group[d] * r->groups[d];
  size_t count = (size_t)places[0] * places[1] * places[2];
  uint32_t *ran = shared_new(s, count * sizeof *ran);
  memset(ran, 0, count * sizeof *ran);
  struct box box = {r->first[0], r->first[1], r->first[2], places[0],
                    (int8_t)places[1]};
  ze_kernel_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  MUST(zeKernelGetProperties(k, &properties));
  uint32_t own = properties.numKernelArgs - SPIRV_GUARD_ARGUMENTS;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof ran, &ran));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof box, &box));
  uint32_t rounds = 3;
  if (own == 3) MUST(zeKernelSetArgumentValue(k, 2, sizeof rounds, &rounds));
  set_range(k, own, r->first, r->size);
  launch(k, r->group, r->groups);
  size_t wrong = 0, at = 0;
  for (uint32_t z = 0; z < places[2]; z++)
    for (uint32_t y = 0; y < places[1]; y++)
      for (uint32_t x = 0; x < places[0]; x++) {
        bool inside = x < r->size[0] && y < r->size[1] && z < r->size[2];
        wrong += ran[at++] != (inside ? times : 0);
      }
  check_(__FILE__, __LINE__, wrong == 0,
         "%s: %lux%lux%lu of %ux%ux%u groups of %ux%ux%u at %lu,%lu,%lu: "
         "%lu wrong", name, (unsigned long)r->size[0],
         (unsigned long)r->size[1], (unsigned long)r->size[2], r->groups[0],
         r->groups[1], r->groups[2], r->group[0], r->group[1], r->group[2],
         (unsigned long)r->first[0], (unsigned long)r->first[1],
         (unsigned long)r->first[2], (unsigned long)wrong);
  MUST(zeMemFree(s.context, ran));
  MUST(zeKernelDestroy(k));
}

static void test_ranges(ze_module_handle_t module)
{
  /* Groups all within, cut in each dimension alone and in all, and beyond. */
  static const range ranges[] = {
    {{0, 0, 0}, {16, 8, 4}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {15, 8, 4}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {16, 7, 4}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {16, 8, 3}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {15, 7, 3}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {9, 5, 3}, {8, 4, 2}, {3, 3, 3}},
    {{0, 0, 0}, {31, 20, 10}, {8, 4, 2}, {5, 5, 5}},
    {{0, 0, 0}, {40, 15, 10}, {8, 4, 2}, {5, 5, 5}},
    {{7, 8, 9}, {40, 20, 7}, {8, 4, 2}, {5, 5, 5}},
    {{0, 0, 0}, {1, 1, 1}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {8, 0, 2}, {8, 4, 2}, {1, 1, 1}},
    {{5, 6, 7}, {15, 7, 3}, {8, 4, 2}, {3, 2, 2}},
    {{100, 0, 0}, {16, 8, 4}, {8, 4, 2}, {3, 3, 3}},
    {{0, 0, 100}, {16, 8, 4}, {8, 4, 2}, {3, 3, 3}},
    {{0, 99, 0}, {16, 8, 4}, {8, 4, 2}, {3, 3, 3}},
    {{4294967280u, 0, 0}, {15, 1, 1}, {8, 4, 2}, {2, 1, 1}},
    {{0, 4294967280u, 4294967200u}, {3, 15, 90}, {8, 4, 2}, {1, 3, 47}},
    {{100, 100, 100}, {15, 7, 3}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {0, 8, 4}, {8, 4, 2}, {1, 2, 2}},
    {{3, 0, 0}, {16, 8, 0}, {8, 4, 2}, {2, 2, 1}},
    /* Values that do not fit in 32 bits. */
    {{4294967296u, 8589934603u, 0}, {15, 7, 3}, {8, 4, 2}, {2, 2, 2}},
    {{1, 2, 1099511627776u}, {9, 8, 1}, {8, 4, 2}, {2, 2, 2}},
    {{0, 0, 0}, {4294967296u, 7, 3}, {8, 4, 2}, {2, 2, 2}},
    {{5, 6, 7}, {15, 4294967297u, 8589934592u}, {8, 4, 2}, {2, 2, 2}}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    check_range(module, "count", &ranges[i], 1);
    check_range(module, "count_in_groups", &ranges[i], 1);
  }
  check_range(module, "count_twice", &ranges[4], 2);
  range long_row = {{0, 0, 0}, {997, 1, 1}, {64, 1, 1}, {17, 1, 1}};
  range tall = {{0, 0, 0}, {4, 5, 9}, {2, 8, 16}, {2, 1, 1}};
  check_range(module, "count", &long_row, 1);
  check_range(module, "count", &tall, 1);
  check_range(module, "count_twice", &long_row, 2);
  check_range(module, "count_in_loop", &long_row, 2);
}

/* The kernels themselves, in a module that also has guards. */
static void test_kept(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "count");
  uint32_t *ran = shared_new(s, 64 * sizeof *ran);
  struct box box = {0, 0, 0, 64, 1};
  static const uint32_t size[3] = {16, 1, 1}, groups[3] = {3, 1, 1};
  ze_kernel_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  MUST(zeKernelGetProperties(k, &properties));
  EQUAL(properties.numKernelArgs, 2);
  memset(ran, 0, 64 * sizeof *ran);
  MUST(zeKernelSetArgumentValue(k, 0, sizeof ran, &ran));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof box, &box));
  launch(k, size, groups);
  int wrong = 0;
  for (int i = 0; i < 64; i++) wrong += ran[i] != (i < 48);
  EQUAL(wrong, 0);
  MUST(zeMemFree(s.context, ran));
  MUST(zeKernelDestroy(k));

  uint32_t required = 0;
  k = kernel_new(module, SPIRV_GUARD_ENTRY "count_in_groups");
  MUST(zeKernelGetProperties(k, &properties));
  required = properties.requiredGroupSizeX * 100 +
             properties.requiredGroupSizeY * 10 + properties.requiredGroupSizeZ;
  EQUAL(required, 842);
  MUST(zeKernelDestroy(k));
}

static void test_names(ze_module_handle_t module, bool keep)
{
  static const struct {
    const char *name;
    bool with, without; /* the kernels themselves */
  } names[] = {{"count", false, true},
               {"group", false, true},
               {SPIRV_GUARD_ENTRY "count", true, true},
               {SPIRV_GUARD_ENTRY "group", false, false}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                             .pKernelName = names[i].name};
    ze_kernel_handle_t k;
    bool wanted = keep ? names[i].without : names[i].with;
    ze_result_t result = zeKernelCreate(module, &desc, &k);
    check_(__FILE__, __LINE__,
           result == (wanted ? ZE_RESULT_SUCCESS
                             : ZE_RESULT_ERROR_INVALID_KERNEL_NAME),
           "keep = %d: %s is 0x%x", keep, names[i].name, (unsigned)result);
    if (result == ZE_RESULT_SUCCESS) MUST(zeKernelDestroy(k));
  }
}

static void test_numbers(ze_module_handle_t module)
{
  enum { N = 100, M = 77 };
  ze_kernel_handle_t k = kernel_new(module, SPIRV_GUARD_ENTRY "scale");
  double *to = shared_new(s, N * sizeof *to), by = 0.5;
  uint16_t *from = shared_new(s, N * sizeof *from);
  static const uint64_t count[3] = {M, 1, 1};
  static const uint32_t size[3] = {32, 1, 1}, groups[3] = {3, 1, 1};
  for (int i = 0; i < N; i++) {
    to[i] = -1;
    from[i] = (uint16_t)(0x3c00 + i); /* 1 + i / 1024 */
  }
  MUST(zeKernelSetArgumentValue(k, 0, sizeof to, &to));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof from, &from));
  MUST(zeKernelSetArgumentValue(k, 2, sizeof by, &by));
  set_range(k, 3, origin, count);
  launch(k, size, groups);
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += to[i] != (i < M ? 0.5 * (1 + i / 1024.0) : -1);
  EQUAL(wrong, 0);
  MUST(zeMemFree(s.context, to));
  MUST(zeMemFree(s.context, from));
  MUST(zeKernelDestroy(k));
}

static void test_image(ze_module_handle_t module)
{
  enum { W = 16, H = 8 };
  ze_device_image_properties_t images = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
  MUST(zeDeviceGetImageProperties(s.device, &images));
  if (images.maxImageDims2D == 0) return;
  ze_image_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
    .flags = ZE_IMAGE_FLAG_KERNEL_WRITE,
    .type = ZE_IMAGE_TYPE_2D,
    .format = {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT,
               ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
               ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
    .width = W,
    .height = H,
    .depth = 1};
  ze_image_handle_t image;
  uint8_t pixels[H][W][4];
  uint32_t value = 7;
  static const uint64_t count[3] = {11, 5, 1};
  static const uint32_t size[3] = {4, 4, 1}, groups[3] = {4, 2, 1};
  memset(pixels, 1, sizeof pixels);
  MUST(zeImageCreate(s.context, s.device, &desc, &image));
  MUST(zeCommandListAppendImageCopyFromMemory(list, image, pixels, NULL, NULL,
                                              0, NULL));
  ze_kernel_handle_t k = kernel_new(module, SPIRV_GUARD_ENTRY "paint");
  MUST(zeKernelSetArgumentValue(k, 0, sizeof image, &image));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof value, &value));
  set_range(k, 2, origin, count);
  launch(k, size, groups);
  MUST(zeCommandListAppendImageCopyToMemory(list, pixels, image, NULL, NULL, 0,
                                            NULL));
  int wrong = 0;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      wrong += pixels[y][x][2] != (x < 11 && y < 5 ? 7 : 1);
  EQUAL(wrong, 0);
  MUST(zeKernelDestroy(k));
  MUST(zeImageDestroy(image));
}

/* A kernel that is kept shares a function with guarded kernels.  In the kept
   kernel the ids begin at 0, in a guarded one at the launch's offset. */
static void test_helper(ze_module_handle_t module, bool keep)
{
  enum { N = 64 };
  static const uint32_t size[3] = {16, 1, 1}, groups[3] = {3, 1, 1};
  static const uint64_t first[3] = {16, 0, 0}, count[3] = {21, 1, 1};
  static const struct {
    const char *name;
    bool is_guarded;
    uint32_t from, to, times; /* the work-items that run, and how often */
  } cases[] = {{SPIRV_GUARD_ENTRY "mark", true, 16, 37, 1},
               {SPIRV_GUARD_ENTRY "mark_twice", true, 16, 37, 2},
               {"mark", false, 0, 48, 1},
               {"mark_in_turn", false, 0, 48, 1}};
  uint32_t *ran = shared_new(s, N * sizeof *ran);
  for (size_t i = 0; i < (keep ? 4 : 2); i++) {
    ze_kernel_handle_t k = kernel_new(module, cases[i].name);
    memset(ran, 0, N * sizeof *ran);
    MUST(zeKernelSetArgumentValue(k, 0, sizeof ran, &ran));
    if (cases[i].is_guarded) set_range(k, 1, first, count);
    launch(k, size, groups);
    int wrong = 0;
    for (uint32_t n = 0; n < N; n++)
      wrong += ran[n] != (n >= cases[i].from && n < cases[i].to
                              ? cases[i].times * (n + 1) : 0);
    check_(__FILE__, __LINE__, wrong == 0, "%s: %d wrong", cases[i].name,
           wrong);
    MUST(zeKernelDestroy(k));
  }
  MUST(zeMemFree(s.context, ran));
}

/* A kernel and its guarded entry point share variables. */
static void test_globals(void)
{
  ze_module_handle_t module = guarded_load(KERNELS "globals.spv", true);
  ze_kernel_handle_t set = kernel_new(module, "set");
  ze_kernel_handle_t get = kernel_new(module, SPIRV_GUARD_ENTRY "set");
  ze_kernel_handle_t count = kernel_new(module, "count");
  ze_kernel_handle_t guarded = kernel_new(module, SPIRV_GUARD_ENTRY "count");
  static const uint64_t items[3] = {10, 1, 1};
  static const uint32_t one[3] = {1, 1, 1}, size[3] = {4, 1, 1};
  static const uint32_t groups[3] = {3, 1, 1};
  int32_t value = 1000;
  MUST(zeKernelSetArgumentValue(set, 0, sizeof value, &value));
  launch(set, one, one);
  launch(count, size, groups);
  set_range(guarded, 0, origin, items);
  launch(guarded, size, groups);
  MUST(zeKernelDestroy(get));
  get = kernel_new(module, "get");
  int64_t *out = shared_new(s, 19 * sizeof *out);
  MUST(zeKernelSetArgumentValue(get, 0, sizeof out, &out));
  launch(get, one, one);
  EQUAL(out[0], 1000 + 1 + 12 + 10);
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(set));
  MUST(zeKernelDestroy(get));
  MUST(zeKernelDestroy(count));
  MUST(zeKernelDestroy(guarded));
  MUST(zeModuleDestroy(module));
}

int main(void)
{
  s = setup_new();
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  for (int keep = 0; keep <= 1; keep++) {
    ze_module_handle_t module = guarded_load(KERNELS "guard.spv", keep);
    test_names(module, keep);
    test_ranges(module);
    test_numbers(module);
    test_image(module);
    test_helper(module, keep);
    if (keep) test_kept(module);
    MUST(zeModuleDestroy(module));
  }
  test_globals();
  MUST(zeCommandListDestroy(list));
  CHECK_DONE();
}
