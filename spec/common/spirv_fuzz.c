/*
 * spirv_fuzz.c - feeds the reader of SPIR-V damaged modules, repeatably.
 * SPDX-License-Identifier: MIT
 *
 *   spirv_fuzz SEED COUNT FILE.spv...
 *
 * Each round damages one of the files in one to four ways, parses it and walks
 * over everything that comes back.  It does the same with the output of the
 * guard writer.  Some rounds make an allocation fail.
 * Round N of seed S is always the same.  The only report is the number of
 * accepted modules; build it with -fsanitize=address,undefined, which finds
 * errors.
 *
 * The reader is included rather than linked, so that its allocations can fail.
 */
#include <stdlib.h>

static long allocations_left = -1; /* -1: unlimited */

static int allocation_fails(void)
{
  if (allocations_left > 0)
    allocations_left--;
  return allocations_left == 0;
}

static void *failing_calloc(size_t count, size_t size)
{
  return allocation_fails() ? NULL : calloc(count, size);
}

static void *failing_malloc(size_t size)
{
  return allocation_fails() ? NULL : malloc(size);
}

static void *failing_realloc(void *at, size_t size)
{
  return allocation_fails() ? NULL : realloc(at, size);
}

#define calloc failing_calloc
#define malloc failing_malloc
#define realloc failing_realloc
#include "../../spirv/spirv.c"
#include "../../spirv/spirv_decode.c"
#include "../../spirv/spirv_access.c"
#include "../../spirv/spirv_kernel.c"
#include "../../spirv/spirv_loops.c"
#include "../../spirv/spirv_stride.c"
#include "../../spirv/spirv_extent.c"
#include "../../spirv/spirv_defined.c"
#include "../../spirv/spirv_compare.c"
#include "../../spirv/spirv_writer.c"
#include "../../spirv/spirv_guard.c"
#undef calloc
#undef malloc
#undef realloc

#include <time.h>

#include "damage.h"

static volatile size_t sink;

#define REQUIRE(condition) \
  ((condition) ? (void)0 : \
   ((void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), \
    abort()))

static void walk_text(const char *s)
{
  if (s != NULL)
    sink += strlen(s);
}

/* Uses everything a caller may use, and checks what it may rely on. */
static void walk(const spirv_module *m)
{
  for (size_t k = 0; k < m->capability_count; k++)
    sink += m->capabilities[k];
  for (size_t k = 0; k < m->instruction_count; k++) {
    const spirv_instruction *i = &m->instructions[k];
    REQUIRE(i->words >= m->words + 5 && i->word_count >= 1);
    REQUIRE(i->words + i->word_count <= m->words + m->word_count);
    sink += i->words[i->word_count - 1];
  }
  for (size_t k = 0; k < m->function_count; k++) {
    const spirv_function *f = &m->functions[k];
    walk_text(f->name);
    REQUIRE(f->count >= 1 && f->first < m->instruction_count);
    REQUIRE(f->count <= m->instruction_count - f->first);
    REQUIRE(m->instructions[f->first].result == f->id);
    for (uint32_t p = 0; p < f->param_count; p++)
      REQUIRE(f->params[p] == m->instructions[f->first + 1 + p].result);
    for (uint32_t c = 0; c < f->callee_count; c++)
      REQUIRE(f->callees[c] < m->function_count);
  }
  for (size_t k = 0; k < m->kernel_count; k++) {
    const spirv_kernel *q = &m->kernels[k];
    REQUIRE(q->name != NULL && q->function < m->function_count);
    REQUIRE(spirv_find(m, q->name) != NULL);
    REQUIRE(q->arg_count == m->functions[q->function].param_count);
    REQUIRE(q->builtins < SPIRV_BUILTIN_OTHER * 2);
    REQUIRE(q->features < SPIRV_READS_ID_IN_PARTS * 2);
    for (uint32_t a = 0; a < q->arg_count; a++) {
      const spirv_arg *arg = &q->args[a];
      walk_text(arg->name);
      walk_text(arg->source_type);
      REQUIRE(arg->cls <= SPIRV_ARG_OTHER);
      REQUIRE(arg->space <= SPIRV_SPACE_GENERIC);
      REQUIRE(arg->access <= SPIRV_ACCESS_BOTH);
      REQUIRE(arg->type.lanes >= 1 && arg->type.lanes <= 16);
      REQUIRE(arg->cls != SPIRV_ARG_POINTER || arg->bytes == 8);
      REQUIRE(arg->bytes <= MAX_BYTES);
    }
  }
  for (size_t k = 0; k < m->spec_constant_count; k++)
    walk_text(m->spec_constants[k].name);
  size_t size;
  const char **names = malloc((m->kernel_count + 1) * sizeof *names);
  uint32_t *defined = spirv_defined(m, &size);
  if (defined != NULL) {
    REQUIRE(size <= m->word_count * sizeof *defined);
    sink += defined[size / sizeof *defined - 1];
  }
  if (names != NULL && spirv_undefined(m, names))
    for (size_t k = 0; k < m->kernel_count; k++) walk_text(names[k]);
  for (size_t k = 0; k < m->kernel_count; k++)
    sink += spirv_compares_pointers(m, &m->kernels[k]);
  free(defined);
  free(names);
}

/* Checks that the guard writer makes a module with the expected kernels, valid
   if the original was. */
static void walk_guarded(const spirv_module *m, bool keep, bool is_valid)
{
  char message[100];
  size_t count, kernels = keep ? m->kernel_count : 0;
  uint32_t *words = spirv_guard(m, keep, &count);
  if (words == NULL) {
    REQUIRE(allocations_left == 0);
    return;
  }
  spirv_module *guarded = spirv_parse(words, count * 4, message,
                                      sizeof message);
  if (guarded == NULL) {
    if (allocations_left != 0) {
      fprintf(stderr, "guarded: %s\n", message);
      abort();
    }
  } else {
    for (size_t k = 0; k < m->kernel_count; k++)
      kernels += spirv_can_guard(m, &m->kernels[k]);
    REQUIRE(guarded->kernel_count == kernels);
    walk(guarded);
  }
  spirv_free(guarded);
  if (is_valid && !spirv_validate(words, count * 4, message, sizeof message)) {
    fprintf(stderr, "guarded, keep = %d: %s\n", keep, message);
    abort();
  }
  free(words);
}

int main(int argc, char **argv)
{
  if (argc < 4) {
    fprintf(stderr, "usage: %s SEED COUNT FILE.spv...\n", argv[0]);
    return 2;
  }
  uint64_t seed = strtoull(argv[1], NULL, 0);
  unsigned long rounds = strtoul(argv[2], NULL, 0), accepted = 0, valid = 0;
  unsigned files = (unsigned)(argc - 3);
  input *inputs = calloc(files, sizeof *inputs);
  input m = {malloc(MOST_WORDS * 4), 0};
  if (inputs == NULL || m.words == NULL)
    return 2;
  for (unsigned k = 0; k < files; k++)
    inputs[k] = read_input(argv[3 + k]);

  for (unsigned long n = 0; n < rounds; n++) {
    damage_round(&m, inputs, files, seed, n);
    if (draw(16) == 0) /* in the other byte order */
      for (uint32_t k = 0; k < m.count; k++)
        m.words[k] = __builtin_bswap32(m.words[k]);
    /* In a separate block, so that reads past the end are detected. */
    void *copy = malloc(m.count * (size_t)4);
    if (copy == NULL)
      return 2;
    memcpy(copy, m.words, m.count * (size_t)4);

    char message[100];
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    spirv_module *parsed = spirv_parse(copy, m.count * (size_t)4, message,
                                       sizeof message);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    /* Two seconds for at most 1 MiB, even under a sanitizer: linear work takes
       milliseconds. */
    if (after.tv_sec - before.tv_sec > 2) {
      fprintf(stderr, "round %lu took %ld s\n", n,
              (long)(after.tv_sec - before.tv_sec));
      abort();
    }
    REQUIRE(parsed != NULL || message[0] != '\0');
    if (parsed != NULL) {
      accepted++;
      walk(parsed);
    }
    bool is_valid = draw(16) == 0 && spirv_validate(copy, m.count * (size_t)4,
                                                    message, sizeof message);
    valid += is_valid;
    if (parsed != NULL && (is_valid || draw(2) == 0))
      walk_guarded(parsed, draw(2) == 0, is_valid);
    if (parsed != NULL && draw(8) == 0) {
      allocations_left = (long)draw(40);
      walk_guarded(parsed, draw(2) == 0, false);
      allocations_left = -1;
    }
    spirv_free(parsed);
    if (parsed != NULL && draw(8) == 0) {
      allocations_left = (long)draw(60);
      parsed = spirv_parse(copy, m.count * (size_t)4, message, sizeof message);
      if (parsed != NULL)
        walk(parsed);
      else
        REQUIRE(strcmp(message, "out of memory") == 0);
      spirv_free(parsed);
      allocations_left = -1;
    }
    free(copy);
  }
  printf("seed %llu: %lu rounds, %lu accepted, %lu of 1 in 16 valid\n",
         (unsigned long long)seed, rounds, accepted, valid);
  for (unsigned k = 0; k < files; k++)
    free(inputs[k].words);
  free(inputs);
  free(m.words);
  return 0;
}
