/*
 * image_test.c - images and samplers: formats, copies, kernels, lifetime.
 * SPDX-License-Identifier: MIT
 *
 * Data read from an image is always compared with the data written to it, by a
 * copy or by a kernel.
 */
#include "check.h"

#include <math.h>

#include <spirv/unified1/spirv.h>

enum { W = 6, H = 4, D = 3 };

static setup s;
static ze_module_handle_t module;
static ze_command_list_handle_t now;
static bool buffers; /* buffer images are supported */

static ze_image_desc_t desc_of(ze_image_type_t type,
                               ze_image_format_layout_t layout,
                               ze_image_format_type_t number)
{
  return (ze_image_desc_t){
    .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
    .flags = ZE_IMAGE_FLAG_KERNEL_WRITE,
    .type = type,
    .format = {layout, number, ZE_IMAGE_FORMAT_SWIZZLE_R,
               ZE_IMAGE_FORMAT_SWIZZLE_G, ZE_IMAGE_FORMAT_SWIZZLE_B,
               ZE_IMAGE_FORMAT_SWIZZLE_A},
    .width = W,
    .height = H,
    .depth = D,
    .arraylevels = D};
}

static ze_image_handle_t image_new(const ze_image_desc_t *desc)
{
  ze_image_handle_t image;
  MUST(zeImageCreate(s.context, s.device, desc, &image));
  return image;
}

/* An image with four unsigned bytes per pixel. */
static ze_image_handle_t bytes_new(ze_image_type_t type)
{
  ze_image_desc_t desc = desc_of(type, ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
                                 ZE_IMAGE_FORMAT_TYPE_UINT);
  if (type == ZE_IMAGE_TYPE_BUFFER) desc.width = W * 4;
  return image_new(&desc);
}

static void wait_now(void)
{
  MUST(zeCommandListAppendBarrier(now, NULL, 0, NULL));
  ze_event_pool_handle_t pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  ze_event_handle_t event = event_new(pool, 0);
  MUST(zeCommandListAppendSignalEvent(now, event));
  MUST(zeEventHostSynchronize(event, UINT64_MAX));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
}

static void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                   uint32_t x, uint32_t y, uint32_t z)
{
  ze_group_count_t groups = {x, y, z};
  MUST(zeKernelSetGroupSize(kernel, 1, 1, 1));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

/* Returns a pixel of four different bytes. */
static uint32_t pixel(uint32_t i)
{
  return i * 0x01030507u + 0x40302010u;
}

static void fill(uint32_t *pixels, uint32_t count, uint32_t first)
{
  for (uint32_t i = 0; i < count; i++) pixels[i] = pixel(first + i);
}

/* For each type of image: copied data comes back, whole and in part, and
   kernels read it. */
static void test_type(ze_image_type_t type, const char *name, uint32_t height,
                      uint32_t depth)
{
  const uint32_t count = W * height * depth;
  uint32_t *in = shared_new(s, count * 4), *out = shared_new(s, count * 4);
  uint32_t(*seen)[4] = shared_new(s, count * 16);
  ze_image_handle_t image = bytes_new(type);
  printf("# %s\n", name);
  fill(in, count, 0);
  memset(out, 0, count * 4);
  MUST(zeCommandListAppendImageCopyFromMemory(now, image, in, NULL, NULL, 0,
                                              NULL));
  MUST(zeCommandListAppendImageCopyToMemory(now, out, image, NULL, NULL, 0,
                                            NULL));
  wait_now();
  CHECK(memcmp(in, out, count * 4) == 0);

  char kernel_name[32];
  snprintf(kernel_name, sizeof kernel_name, "read_%s", name);
  ze_kernel_handle_t kernel = kernel_new(module, kernel_name);
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof seen, &seen));
  launch(now, kernel, W, height, depth);
  wait_now();
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count; i++)
    for (int c = 0; c < 4; c++)
      wrong += seen[i][c] != (in[i] >> 8 * c & 0xff);
  EQUAL(wrong, 0);

  /* A part of it, with padding after each row and each slice. */
  ze_image_region_t part = {1, height > 1, depth > 1, 3,
                            height > 2 ? 2 : 1, depth > 2 ? 2 : 1};
  const uint32_t row = 5, slice = 5 * part.height + 5;
  uint32_t *box = shared_new(s, 4 * slice * (part.depth + 1));
  memset(box, 0xee, 4 * slice * (part.depth + 1));
  bool rows = type != ZE_IMAGE_TYPE_1D && type != ZE_IMAGE_TYPE_BUFFER;
  bool slices = type == ZE_IMAGE_TYPE_3D || type == ZE_IMAGE_TYPE_2DARRAY;
  MUST(zeCommandListAppendImageCopyToMemoryExt(
      now, box, image, &part, rows ? 4 * row : 0, slices ? 4 * slice : 0, NULL,
      0, NULL));
  wait_now();
  wrong = 0;
  for (uint32_t z = 0; z < part.depth; z++)
    for (uint32_t y = 0; y < part.height; y++)
      for (uint32_t x = 0; x < row; x++) {
        uint32_t from = ((z + part.originZ) * height + y + part.originY) * W +
                        x + part.originX;
        wrong += box[z * slice + y * row + x] !=
                 (x < part.width ? in[from] : 0xeeeeeeee);
      }
  EQUAL(wrong, 0);

  /* The same part to device memory and back. */
  const size_t box_bytes = 4 * slice * (part.depth + 1);
  const ze_device_mem_alloc_desc_t on_device = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  const unsigned char room = 0xee;
  uint32_t *back = shared_new(s, box_bytes);
  void *held;
  MUST(zeMemAllocDevice(s.context, &on_device, box_bytes, 0, s.device, &held));
  fill(box, slice * (part.depth + 1), 200);
  MUST(zeCommandListAppendMemoryCopy(now, held, box, box_bytes, NULL, 0, NULL));
  MUST(zeCommandListAppendImageCopyFromMemoryExt(
      now, image, held, &part, rows ? 4 * row : 0, slices ? 4 * slice : 0,
      NULL, 0, NULL));
  MUST(zeCommandListAppendMemoryFill(now, held, &room, 1, box_bytes, NULL, 0,
                                     NULL));
  MUST(zeCommandListAppendImageCopyToMemoryExt(
      now, held, image, &part, rows ? 4 * row : 0, slices ? 4 * slice : 0,
      NULL, 0, NULL));
  MUST(zeCommandListAppendMemoryCopy(now, back, held, box_bytes, NULL, 0,
                                     NULL));
  wait_now();
  wrong = 0;
  for (uint32_t z = 0; z < part.depth; z++)
    for (uint32_t y = 0; y < part.height; y++)
      for (uint32_t x = 0; x < row; x++) {
        uint32_t at = z * slice + y * row + x;
        wrong += back[at] != (x < part.width ? box[at] : 0xeeeeeeee);
      }
  EQUAL(wrong, 0);
  MUST(zeMemFree(s.context, held));
  MUST(zeMemFree(s.context, back));

  fill(box, slice * (part.depth + 1), 100);
  MUST(zeCommandListAppendImageCopyFromMemoryExt(
      now, image, box, &part, rows ? 4 * row : 0, slices ? 4 * slice : 0, NULL,
      0, NULL));
  MUST(zeCommandListAppendImageCopyToMemory(now, out, image, NULL, NULL, 0,
                                            NULL));
  wait_now();
  for (uint32_t z = 0; z < part.depth; z++)
    for (uint32_t y = 0; y < part.height; y++)
      for (uint32_t x = 0; x < part.width; x++)
        in[((z + part.originZ) * height + y + part.originY) * W + x +
           part.originX] = box[z * slice + y * row + x];
  CHECK(memcmp(in, out, count * 4) == 0);

  /* From image to image, whole and in part. */
  ze_image_handle_t other = bytes_new(type);
  MUST(zeCommandListAppendImageCopy(now, other, image, NULL, 0, NULL));
  MUST(zeCommandListAppendImageCopyToMemory(now, out, other, NULL, NULL, 0,
                                            NULL));
  wait_now();
  CHECK(memcmp(in, out, count * 4) == 0);
  ze_image_region_t to = {0, 0, 0, 1, 1, 1}, from = {W - 1, height - 1,
                                                     depth - 1, 1, 1, 1};
  MUST(zeCommandListAppendImageCopyRegion(now, other, image, &to, &from, NULL,
                                          0, NULL));
  MUST(zeCommandListAppendImageCopyToMemory(now, out, other, NULL, NULL, 0,
                                            NULL));
  wait_now();
  EQUAL(out[0], in[count - 1]);
  EQUAL(out[1], in[1]);

  MUST(zeKernelDestroy(kernel));
  MUST(zeImageDestroy(other));
  MUST(zeImageDestroy(image));
  MUST(zeMemFree(s.context, box));
  MUST(zeMemFree(s.context, seen));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, in));
}

static void test_limits(void)
{
  ze_device_image_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
  MUST(zeDeviceGetImageProperties(s.device, &p));
  CHECK(p.maxImageDims1D >= 2048 && p.maxImageDims2D >= 2048 &&
        p.maxImageDims3D >= 2048);
  CHECK(p.maxImageArraySlices >= 256);
  CHECK(p.maxSamplers >= 16 && p.maxReadImageArgs >= 128 &&
        p.maxWriteImageArgs >= 64);
  ze_image_handle_t image;
  ze_image_desc_t desc = desc_of(ZE_IMAGE_TYPE_2D, ZE_IMAGE_FORMAT_LAYOUT_32,
                                 ZE_IMAGE_FORMAT_TYPE_FLOAT);
  desc.width = p.maxImageDims2D;
  desc.height = 1;
  MUST(zeImageCreate(s.context, s.device, &desc, &image));
  MUST(zeImageDestroy(image));
  desc.width++;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeImageCreate(s.context, s.device, &desc, &image));
  desc.width = 0;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeImageCreate(s.context, s.device, &desc, &image));
}

/* Checks that creation agrees with the properties of each format.  Every float
   format has linear filters, integer formats do not. */
static void test_formats(void)
{
  uint32_t supported = 0, wrong = 0;
  for (int type = ZE_IMAGE_TYPE_1D; type <= ZE_IMAGE_TYPE_3D; type++)
    for (int layout = 0; layout <= ZE_IMAGE_FORMAT_LAYOUT_BRGP; layout++)
      for (int number = 0; number <= ZE_IMAGE_FORMAT_TYPE_FLOAT; number++) {
        ze_image_desc_t desc = desc_of((ze_image_type_t)type,
                                       (ze_image_format_layout_t)layout,
                                       (ze_image_format_type_t)number);
        ze_image_properties_t p = {.stype = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES};
        ze_image_handle_t image = NULL;
        MUST(zeImageGetProperties(s.device, &desc, &p));
        ze_result_t result = zeImageCreate(s.context, s.device, &desc, &image);
        uint32_t want =
            result != ZE_RESULT_SUCCESS ? 0
            : number >= ZE_IMAGE_FORMAT_TYPE_UNORM
                ? ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT |
                      ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR
                : ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT;
        wrong += p.samplerFilterFlags != want;
        if (result == ZE_RESULT_SUCCESS) {
          supported++;
          MUST(zeImageDestroy(image));
        } else
          wrong += result != ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT;
      }
  EQUAL(wrong, 0);
  /* Every OpenCL has four channels of 8, 16 and 32 bits: 10 formats of 5
     types. */
  CHECK(supported >= 50);
  printf("# %u formats\n", supported);
}

/* A swizzle that OpenCL has as a channel order: blue first. */
static void test_swizzle(void)
{
  ze_image_desc_t desc = desc_of(ZE_IMAGE_TYPE_1D,
                                 ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
                                 ZE_IMAGE_FORMAT_TYPE_UINT);
  desc.format.x = ZE_IMAGE_FORMAT_SWIZZLE_B;
  desc.format.z = ZE_IMAGE_FORMAT_SWIZZLE_R;
  ze_image_properties_t p = {.stype = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES};
  MUST(zeImageGetProperties(s.device, &desc, &p));
  if (p.samplerFilterFlags == 0) {
    printf("# no BGRA of integers here\n");
    return;
  }
  ze_image_handle_t image = image_new(&desc);
  uint32_t *in = shared_new(s, W * 4);
  uint32_t(*seen)[4] = shared_new(s, W * 16);
  fill(in, W, 7);
  MUST(zeCommandListAppendImageCopyFromMemory(now, image, in, NULL, NULL, 0,
                                              NULL));
  ze_kernel_handle_t kernel = kernel_new(module, "read_1d");
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof seen, &seen));
  launch(now, kernel, W, 1, 1);
  wait_now();
  const int byte[4] = {2, 1, 0, 3};
  uint32_t wrong = 0;
  for (int i = 0; i < W; i++)
    for (int c = 0; c < 4; c++)
      wrong += seen[i][c] != (in[i] >> 8 * byte[c] & 0xff);
  EQUAL(wrong, 0);
  MUST(zeKernelDestroy(kernel));
  MUST(zeImageDestroy(image));
  MUST(zeMemFree(s.context, seen));
  MUST(zeMemFree(s.context, in));
}

/* Kernels write images.  A list of a copy, a launch and a copy back is executed
   again with other data, with events between.  It also works after the image
   handles and the kernel's arguments are gone. */
static void test_list(void)
{
  const uint32_t count = W * H;
  uint32_t *in = shared_new(s, count * 4), *out = shared_new(s, count * 4);
  ze_image_handle_t from = bytes_new(ZE_IMAGE_TYPE_2D);
  ze_image_handle_t to = bytes_new(ZE_IMAGE_TYPE_2D);
  ze_kernel_handle_t kernel = kernel_new(module, "add_2d");
  ze_command_list_handle_t list = list_new(s);
  ze_command_queue_handle_t queue = queue_new(s);
  ze_event_pool_handle_t pool = pool_new(s, 0, 3);
  ze_event_handle_t go = event_new(pool, 0), copied = event_new(pool, 1),
                    done = event_new(pool, 2);
  uint32_t one = 1;
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof from, &from));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof to, &to));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof one, &one));
  MUST(zeCommandListAppendImageCopyFromMemory(list, from, in, NULL, copied, 1,
                                              &go));
  MUST(zeCommandListAppendWaitOnEvents(list, 1, &copied));
  launch(list, kernel, W, H, 1);
  MUST(zeCommandListAppendImageCopyToMemory(list, out, to, NULL, done, 0,
                                            NULL));
  MUST(zeCommandListClose(list));
  /* The list retains the images that it uses. */
  ze_image_handle_t spare = bytes_new(ZE_IMAGE_TYPE_2D);
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof spare, &spare));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof spare, &spare));
  MUST(zeImageDestroy(from));
  MUST(zeImageDestroy(to));
  MUST(zeImageDestroy(spare));
  for (uint32_t run = 0; run < 3; run++) {
    /* No byte of these overflows. */
    for (uint32_t i = 0; i < count; i++) in[i] = (i + run) * 0x01010101u;
    memset(out, 0, count * 4);
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(done));
    MUST(zeEventHostSignal(go));
    MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(done));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
      wrong += out[i] != in[i] + 0x01010101u;
    EQUAL(wrong, 0);
    MUST(zeEventHostReset(go));
    MUST(zeEventHostReset(copied));
    MUST(zeEventHostReset(done));
  }
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeKernelDestroy(kernel));
  MUST(zeEventDestroy(go));
  MUST(zeEventDestroy(copied));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, in));
}

/* kernels/image_write.cl as it is, or as SPIR-V 1.4, which declares whether
   numbers are signed: in the first two kernels they are. */
static ze_module_handle_t writers_new(bool signs)
{
  const char *path = "spec/driver/kernels/image_write.spv";
  size_t size, made = 5;
  uint32_t *words = file_read(path, &size), writes = 0;
  uint32_t *said = calloc(2, size);
  if (!signs) {
    memcpy(said, words, size);
    made = size / 4;
  } else {
    memcpy(said, words, made * 4);
    said[1] = 0x10400;
    for (size_t i = made; i < size / 4; i += words[i] >> 16) {
      uint32_t *to = said + made;
      memcpy(to, words + i, 4 * (words[i] >> 16));
      if ((*to & 0xffff) == SpvOpImageWrite) {
        to[4] = ++writes <= 2 ? SpvImageOperandsSignExtendMask
                              : SpvImageOperandsZeroExtendMask;
        *to += 1 << 16;
      }
      made += *to >> 16;
    }
    EQUAL(writes, 4);
  }
  ze_module_handle_t writers = module_new(s, path, said, made * 4);
  free(words);
  free(said);
  return writers;
}

/* Signed and unsigned integers that kernels write to images with slices. */
static void test_writes(void)
{
  static const struct {
    ze_image_format_layout_t layout;
    size_t bytes;
  } formats[] = {{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 1},
                 {ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, 2},
                 {ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 4}};
  static const int lanes[4] = {0, -1, 5, -25};
  static char out[W * H * D * 16];
  const ze_module_handle_t writers[2] = {writers_new(false),
                                         writers_new(true)};
  for (int way = 0; way < 24; way++) {
    const bool flat = way & 1, without = way & 2, said = way / 4 & 1;
    const size_t bytes = formats[way / 8].bytes;
    ze_image_desc_t desc =
        desc_of(flat ? ZE_IMAGE_TYPE_2DARRAY : ZE_IMAGE_TYPE_3D,
                formats[way / 8].layout,
                without ? ZE_IMAGE_FORMAT_TYPE_UINT
                        : ZE_IMAGE_FORMAT_TYPE_SINT);
    ze_image_handle_t image = image_new(&desc);
    char name[32];
    snprintf(name, sizeof name, "write_%s%s", without ? "unsigned_" : "",
             flat ? "2d_array" : "3d");
    ze_kernel_handle_t kernel = kernel_new(writers[said], name);
    const int first = without ? 30 : -100;
    MUST(zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));
    MUST(zeKernelSetArgumentValue(kernel, 1, sizeof first, &first));
    launch(now, kernel, W, H, D);
    memset(out, 0, sizeof out);
    MUST(zeCommandListAppendImageCopyToMemory(now, out, image, NULL, NULL, 0,
                                              NULL));
    wait_now();
    int wrong = 0;
    for (int i = 0; i < W * H * D * 4; i++) {
      const int p = i / 4, x = p % W, y = p / W % H, z = p / W / H;
      const int wanted = first + x + 10 * y + 50 * z + lanes[i % 4];
      wrong += memcmp(out + bytes * (size_t)i, &wanted, bytes) != 0;
    }
    check_(__FILE__, __LINE__, wrong == 0, "%s, %zu bytes, %s: %d wrong",
           name, bytes, said ? "1.4" : "1.0", wrong);
    MUST(zeKernelDestroy(kernel));
    MUST(zeImageDestroy(image));
  }
  for (int said = 0; said < 2; said++) MUST(zeModuleDestroy(writers[said]));
}

/* If kernels can write an image of halves, the values they write are there: 2.5
   in all channels. */
static void test_halves(void)
{
  static const ze_image_format_layout_t layouts[] = {
    ZE_IMAGE_FORMAT_LAYOUT_16, ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16};
  const float value = 2.5f;
  ze_kernel_handle_t kernel = kernel_new(module, "write_float_2d");
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof value, &value));
  for (size_t i = 0; i < 2; i++) {
    const size_t count = (size_t)W * H * (i == 0 ? 1 : 4);
    uint16_t out[W * H * 4] = {0};
    ze_image_desc_t desc =
        desc_of(ZE_IMAGE_TYPE_2D, layouts[i], ZE_IMAGE_FORMAT_TYPE_FLOAT);
    ze_image_handle_t image;
    ze_result_t result = zeImageCreate(s.context, s.device, &desc, &image);
    if (result != ZE_RESULT_SUCCESS) {
      RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, result);
      printf("# no images of %d halves to write to\n", i == 0 ? 1 : 4);
      continue;
    }
    MUST(zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));
    launch(now, kernel, W, H, 1);
    MUST(zeCommandListAppendImageCopyToMemory(now, out, image, NULL, NULL, 0,
                                              NULL));
    wait_now();
    int wrong = 0;
    for (size_t p = 0; p < count; p++) wrong += out[p] != 0x4100;
    EQUAL(wrong, 0);
    MUST(zeImageDestroy(image));
  }
  MUST(zeKernelDestroy(kernel));
}

/* An image destroyed while its command waits still exists when that runs.  A
   new image in its place is not mistaken for it. */
static void test_in_flight(bool indirect)
{
  ze_group_count_t *groups = shared_new(s, sizeof *groups);
  const uint32_t count = W * H;
  uint32_t *in = shared_new(s, count * 4), *out = shared_new(s, count * 4);
  uint32_t zero = 0, wrong = 0;
  ze_kernel_handle_t kernel = kernel_new(module, "add_2d");
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t go = event_new(pool, 0);
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof zero, &zero));
  for (uint32_t run = 0; run < 8; run++) {
    fill(in, count, 31 * run);
    memset(out, 0, count * 4);
    ze_image_handle_t from = bytes_new(ZE_IMAGE_TYPE_2D);
    ze_image_handle_t to = bytes_new(ZE_IMAGE_TYPE_2D);
    MUST(zeKernelSetArgumentValue(kernel, 0, sizeof from, &from));
    MUST(zeKernelSetArgumentValue(kernel, 1, sizeof to, &to));
    MUST(zeCommandListAppendWaitOnEvents(now, 1, &go));
    MUST(zeCommandListAppendImageCopyFromMemory(now, from, in, NULL, NULL, 0,
                                                NULL));
    if (indirect) {
      *groups = (ze_group_count_t){W, H, 1};
      MUST(zeKernelSetGroupSize(kernel, 1, 1, 1));
      MUST(zeCommandListAppendLaunchKernelIndirect(now, kernel, groups, NULL,
                                                   0, NULL));
    } else
      launch(now, kernel, W, H, 1);
    MUST(zeCommandListAppendImageCopyToMemory(now, out, to, NULL, NULL, 0,
                                              NULL));
    /* The kernel does not retain them any more, either. */
    ze_image_handle_t spare = bytes_new(ZE_IMAGE_TYPE_2D);
    MUST(zeKernelSetArgumentValue(kernel, 0, sizeof spare, &spare));
    MUST(zeKernelSetArgumentValue(kernel, 1, sizeof spare, &spare));
    MUST(zeImageDestroy(spare));
    MUST(zeImageDestroy(from));
    MUST(zeImageDestroy(to));
    MUST(zeEventHostSignal(go));
    wait_now();
    wrong += memcmp(in, out, count * 4) != 0;
    MUST(zeEventHostReset(go));
  }
  EQUAL(wrong, 0);
  MUST(zeKernelDestroy(kernel));
  MUST(zeEventDestroy(go));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, groups));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, in));
}

/* Samples coordinates inside, at the edge and far outside. */
static void test_samplers(void)
{
  enum { POINTS = 4 };
  ze_module_handle_t samplers =
      module_load(s, "spec/driver/kernels/sampler.spv");
  ze_kernel_handle_t kernel = kernel_new(samplers, "sample");
  ze_image_desc_t desc = desc_of(ZE_IMAGE_TYPE_2D,
                                 ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32,
                                 ZE_IMAGE_FORMAT_TYPE_FLOAT);
  desc.flags = 0;
  desc.width = 4;
  desc.height = 1;
  ze_image_handle_t image = image_new(&desc);
  float *in = shared_new(s, 4 * 16), (*out)[4] = shared_new(s, POINTS * 16);
  float(*where)[2] = shared_new(s, POINTS * 8);
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < 4; c++) in[4 * i + c] = (float)(10 * (i + 1) + c);
  MUST(zeCommandListAppendImageCopyFromMemory(now, image, in, NULL, NULL, 0,
                                              NULL));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof image, &image));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof where, &where));
  MUST(zeKernelSetArgumentValue(kernel, 3, sizeof out, &out));
  /* The first channel: inside a pixel, between two, left and right of the
     image. */
  static const struct {
    ze_sampler_address_mode_t mode;
    ze_sampler_filter_mode_t filter;
    ze_bool_t normalized;
    float want[POINTS];
  } cases[] = {
    {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST, 0,
     {20, 30, 10, 40}},
    {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST, 1,
     {20, 30, 10, 40}},
    {ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, ZE_SAMPLER_FILTER_MODE_NEAREST,
     0, {20, 30, 0, 0}},
    {ZE_SAMPLER_ADDRESS_MODE_REPEAT, ZE_SAMPLER_FILTER_MODE_NEAREST, 1,
     {20, 30, 30, 20}},
    {ZE_SAMPLER_ADDRESS_MODE_MIRROR, ZE_SAMPLER_FILTER_MODE_NEAREST, 1,
     {20, 30, 20, 30}},
    {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR, 0,
     {20, 25, 10, 40}},
    {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR, 1,
     {20, 25, 10, 40}},
  };
  const float x[POINTS] = {1.5f, 2, -1.5f, 5.5f};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ze_sampler_desc_t want = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC,
                              .addressMode = cases[i].mode,
                              .filterMode = cases[i].filter,
                              .isNormalized = cases[i].normalized};
    ze_sampler_handle_t sampler, twin;
    MUST(zeSamplerCreate(s.context, s.device, &want, &sampler));
    MUST(zeSamplerCreate(s.context, s.device, &want, &twin));
    CHECK(sampler != twin);
    MUST(zeKernelSetArgumentValue(kernel, 1, sizeof sampler, &sampler));
    /* They are no longer needed. */
    MUST(zeSamplerDestroy(sampler));
    MUST(zeSamplerDestroy(twin));
    for (int p = 0; p < POINTS; p++) {
      where[p][0] = cases[i].normalized ? x[p] / 4 : x[p];
      where[p][1] = 0.5f;
      out[p][0] = -1;
    }
    launch(now, kernel, POINTS, 1, 1);
    wait_now();
    for (int p = 0; p < POINTS; p++)
      check_(__FILE__, __LINE__, fabsf(out[p][0] - cases[i].want[p]) < 0.01f,
             "sampler %zu, %g is %g, wanted %g", i, (double)x[p],
             (double)out[p][0], (double)cases[i].want[p]);
  }
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(samplers));
  MUST(zeImageDestroy(image));
  MUST(zeMemFree(s.context, where));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, in));
}

static void test_queries(void)
{
  ze_image_handle_t a = bytes_new(ZE_IMAGE_TYPE_3D);
  ze_image_handle_t b = bytes_new(ZE_IMAGE_TYPE_1DARRAY);
  ze_image_allocation_ext_properties_t one = {
    .stype = ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES}, two = one;
  MUST(zeImageGetAllocPropertiesExt(s.context, a, &one));
  MUST(zeImageGetAllocPropertiesExt(s.context, b, &two));
  CHECK(one.id != 0 && two.id != 0 && one.id != two.id);
  ze_image_memory_properties_exp_t m = {
    .stype = ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES};
  MUST(zeImageGetMemoryPropertiesExp(a, &m));
  CHECK(m.rowPitch >= W * 4 && m.slicePitch >= m.rowPitch * H &&
        m.size >= m.slicePitch * D);
  MUST(zeImageGetMemoryPropertiesExp(b, &m));
  CHECK(m.rowPitch >= W * 4 && m.size >= m.rowPitch * D);
  RETURNS(ZE_RESULT_SUCCESS,
          zeContextMakeImageResident(s.context, s.device, a));
  RETURNS(ZE_RESULT_SUCCESS, zeContextEvictImage(s.context, s.device, a));
  MUST(zeImageDestroy(a));
  MUST(zeImageDestroy(b));
}

static void test_errors(void)
{
  ze_image_handle_t image = bytes_new(ZE_IMAGE_TYPE_2D), other;
  ze_image_desc_t desc = desc_of(ZE_IMAGE_TYPE_2D,
                                 ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
                                 ZE_IMAGE_FORMAT_TYPE_UINT);
  uint32_t memory[W * H];
  ze_image_properties_t p = {.stype = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES};
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeImageCreate(NULL, s.device, &desc, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeImageCreate(s.context, NULL, &desc, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeImageCreate(s.context, s.device, NULL, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeImageCreate(s.context, s.device, &desc, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeImageGetProperties(s.device, &desc, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeImageDestroy(NULL));
  /* Depth is the only channel, in format 1.32; no swizzle follows it. */
  ze_image_desc_t depth = desc_of(ZE_IMAGE_TYPE_2D, ZE_IMAGE_FORMAT_LAYOUT_32,
                                  ZE_IMAGE_FORMAT_TYPE_FLOAT);
  depth.format.x = (ze_image_format_swizzle_t)7;
  depth.format.y = depth.format.z = ZE_IMAGE_FORMAT_SWIZZLE_0;
  depth.format.w = ZE_IMAGE_FORMAT_SWIZZLE_1;
  RETURNS(ZE_RESULT_SUCCESS,
          zeImageCreate(s.context, s.device, &depth, &other));
  MUST(zeImageDestroy(other));
  depth.format.w = (ze_image_format_swizzle_t)8;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeImageCreate(s.context, s.device, &depth, &other));
  desc.flags = 0x4;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeImageCreate(s.context, s.device, &desc, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeImageGetProperties(s.device, &desc, &p));
  desc.flags = 0;
  desc.type = (ze_image_type_t)6;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeImageCreate(s.context, s.device, &desc, &other));
  desc.type = ZE_IMAGE_TYPE_2D;
  desc.miplevels = 1;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeImageCreate(s.context, s.device, &desc, &other));
  desc.miplevels = 0;
  ze_base_desc_t extension = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC};
  desc.pNext = &extension;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zeImageCreate(s.context, s.device, &desc, &other));
  desc.pNext = NULL;
  desc.type = ZE_IMAGE_TYPE_BUFFER;
  desc.width = buffers ? 6 : 8; /* bytes: one and a half pixels, or two */
  RETURNS(buffers ? ZE_RESULT_ERROR_INVALID_SIZE
                  : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zeImageCreate(s.context, s.device, &desc, &other));

  ze_sampler_desc_t sampling = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC};
  ze_sampler_handle_t sampler;
  sampling.addressMode = (ze_sampler_address_mode_t)5;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeSamplerCreate(s.context, s.device, &sampling, &sampler));
  sampling.addressMode = ZE_SAMPLER_ADDRESS_MODE_NONE;
  sampling.filterMode = (ze_sampler_filter_mode_t)2;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeSamplerCreate(s.context, s.device, &sampling, &sampler));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeSamplerDestroy(NULL));

  /* Arguments: another type, an invalid handle, a read-only image. */
  desc = desc_of(ZE_IMAGE_TYPE_2D, ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
                 ZE_IMAGE_FORMAT_TYPE_UINT);
  desc.flags = 0;
  other = image_new(&desc);
  ze_kernel_handle_t kernel = kernel_new(module, "add_2d");
  ze_kernel_handle_t line = kernel_new(module, "add_1d");
  ze_image_handle_t none = NULL;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeKernelSetArgumentValue(line, 0, sizeof image, &image));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeKernelSetArgumentValue(kernel, 0, sizeof none, &none));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeKernelSetArgumentValue(kernel, 0, sizeof none, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(kernel, 0, 4, &image));
  RETURNS(ZE_RESULT_SUCCESS,
          zeKernelSetArgumentValue(kernel, 0, sizeof other, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeKernelSetArgumentValue(kernel, 1, sizeof other, &other));
  ze_group_count_t groups = {1, 1, 1};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendLaunchKernel(now, kernel, &groups, NULL, 0,
                                          NULL));
  MUST(zeKernelDestroy(line));
  MUST(zeKernelDestroy(kernel));

  /* Copies. */
  ze_image_region_t out = {W - 1, 0, 0, 2, 1, 1}, in = {0, 0, 0, 2, 1, 1},
                    flat = {0, 0, 0, 0, 1, 1}, wide = {1, 0, 0, 2, 1, 1};
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeCommandListAppendImageCopy(now, NULL, image, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeCommandListAppendImageCopy(now, image, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeCommandListAppendImageCopyToMemory(now, NULL, image, NULL, NULL, 0,
                                               NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeCommandListAppendImageCopyFromMemory(now, image, NULL, NULL, NULL,
                                                 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendImageCopyToMemory(now, memory, image, &out, NULL,
                                               0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendImageCopyToMemory(now, memory, image, NULL, NULL,
                                               1, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendImageCopyToMemoryExt(now, memory, image, NULL,
                                                  W * 4 - 1, 0, NULL, 0,
                                                  NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendImageCopyRegion(now, other, image, NULL, &in,
                                             NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
          zeCommandListAppendImageCopyRegion(now, image, image, &in, &wide,
                                             NULL, 0, NULL));

  /* In an image of two dimensions, the z of an origin is ignored. */
  ze_image_region_t far = {W - 1, H - 1, 7, 1, 1, 1};
  unsigned char pixel[4] = {1, 2, 3, 4}, got[4] = {0};
  MUST(zeCommandListAppendImageCopyFromMemory(now, image, pixel, &far, NULL, 0,
                                              NULL));
  far.originZ = 0;
  MUST(zeCommandListAppendImageCopyToMemory(now, got, image, &far, NULL, 0,
                                            NULL));
  wait_now();
  CHECK(memcmp(got, pixel, 4) == 0);
  far.depth = 2;
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendImageCopyToMemory(now, got, image, &far, NULL, 0,
                                               NULL));

  /* If the region is empty, nothing is copied and the command completes. */
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 3);
  ze_event_handle_t over[3];
  for (uint32_t i = 0; i < 3; i++) over[i] = event_new(pool, i);
  MUST(zeCommandListAppendImageCopyToMemory(now, memory, image, &flat, over[0],
                                            0, NULL));
  MUST(zeCommandListAppendImageCopyFromMemory(now, image, memory, &flat,
                                              over[1], 1, &over[0]));
  MUST(zeCommandListAppendImageCopyRegion(now, image, image, &flat, &flat,
                                          over[2], 1, &over[1]));
  for (int i = 0; i < 3; i++) {
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(over[i], UINT64_MAX));
    MUST(zeEventDestroy(over[i]));
  }
  MUST(zeEventPoolDestroy(pool));

  desc.format.type = ZE_IMAGE_FORMAT_TYPE_UNORM;
  ze_image_handle_t norm = image_new(&desc);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendImageCopy(now, norm, image, NULL, 0, NULL));
  MUST(zeImageDestroy(norm));
  MUST(zeImageDestroy(other));
  MUST(zeImageDestroy(image));
}

int main(void)
{
  s = setup_new();
  ze_device_image_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
  MUST(zeDeviceGetImageProperties(s.device, &p));
  if (p.maxImageDims2D == 0) {
    printf("1..0 # this OpenCL has no images\n");
    return 0;
  }
  buffers = p.maxImageBufferSize > 0;
  module = module_load(s, "spec/driver/kernels/image.spv");
  now = immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  test_limits();
  test_formats();
  test_swizzle();
  test_type(ZE_IMAGE_TYPE_1D, "1d", 1, 1);
  test_type(ZE_IMAGE_TYPE_1DARRAY, "1d_array", D, 1);
  test_type(ZE_IMAGE_TYPE_2D, "2d", H, 1);
  test_type(ZE_IMAGE_TYPE_2DARRAY, "2d_array", H, D);
  test_type(ZE_IMAGE_TYPE_3D, "3d", H, D);
  if (buffers) test_type(ZE_IMAGE_TYPE_BUFFER, "buffer", 1, 1);
  test_writes();
  test_halves();
  test_list();
  test_in_flight(false);
  test_in_flight(true);
  test_samplers();
  test_queries();
  test_errors();
  MUST(zeCommandListDestroy(now));
  MUST(zeModuleDestroy(module));
  CHECK_DONE();
}
