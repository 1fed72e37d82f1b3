/*
 * spirv.c - the SPIR-V reader of lze and its driver.
 * SPDX-License-Identifier: MIT
 */
#include "spirv_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t spirv_without_debug(uint32_t *words, size_t count)
{
  static const char name[] = "SPIRV.debug";
  uint32_t set = 0;
  size_t to = count < 5 ? count : 5;
  for (size_t at = to; at < count;) {
    size_t n = words[at] >> 16, left = count - at;
    const uint32_t opcode = words[at] & 0xffff;
    if (n == 0 || n > left)
      n = left; /* not decodable; the reader reports that */
    const bool import = opcode == SpvOpExtInstImport &&
                        n == 2 + sizeof name / 4 &&
                        memcmp(words + at + 2, name, sizeof name) == 0;
    if (import)
      set = words[at + 1];
    if (!import && !(opcode == SpvOpExtInst && n >= 5 && set != 0 &&
                     words[at + 3] == set)) {
      memmove(words + to, words + at, n * sizeof *words);
      to += n;
    }
    at += n;
  }
  return to;
}

/* Copies the words of a module in this machine's byte order into the pool,
   without SPIRV.debug. */
static const uint32_t *copy_words(spirv_block **pool, const void *bytes,
                                  size_t size, size_t *count, char *message,
                                  size_t cap)
{
  if (bytes == NULL || size < 20) {
    spirv_say(message, cap, "%lu bytes are too few for a SPIR-V module",
              (unsigned long)size);
    return NULL;
  }
  if (size % 4 != 0) {
    spirv_say(message, cap, "%lu bytes are not whole 32-bit words",
              (unsigned long)size);
    return NULL;
  }
  if (size / 4 > UINT32_MAX / 8) {
    spirv_say(message, cap, "%lu bytes are too many for a SPIR-V module",
              (unsigned long)size);
    return NULL;
  }
  uint32_t *words = spirv_pool_get(pool, size / 4, 4);
  if (words == NULL) {
    spirv_say(message, cap, "out of memory");
    return NULL;
  }
  memcpy(words, bytes, size);
  if (words[0] == 0x03022307u)
    for (size_t k = 0; k < size / 4; k++)
      words[k] = words[k] >> 24 | (words[k] >> 8 & 0xff00) |
                 (words[k] << 8 & 0xff0000) | words[k] << 24;
  if (words[0] != SpvMagicNumber) {
    spirv_say(message, cap,
              "not SPIR-V: it does not start with the magic number");
    return NULL;
  }
  *count = spirv_without_debug(words, size / 4);
  return words;
}

spirv_module *spirv_parse(const void *bytes, size_t size, char *message,
                          size_t cap)
{
  if (cap > 0)
    message[0] = '\0';
  module *m = calloc(1, sizeof *m);
  if (m == NULL) {
    spirv_say(message, cap, "out of memory");
    return NULL;
  }
  reader r = {.m = m, .message = message, .cap = cap};
  m->pub.words = copy_words(&m->pool, bytes, size, &m->pub.word_count, message,
                            cap);
  bool ok = m->pub.words != NULL && spirv_decode(&r) && spirv_survey(&r) &&
            spirv_study_functions(&r) && spirv_read_symbols(&r) &&
            spirv_follow_pointers(&r) && spirv_find_strides(&r) &&
            spirv_find_extents(&r) &&
            spirv_read_kernels(&r) && spirv_read_spec_constants(&r);
  spirv_pool_free(&r.scratch);
  if (ok)
    return &m->pub;
  spirv_free(&m->pub);
  return NULL;
}

void spirv_free(spirv_module *pub)
{
  module *m = (module *)pub; /* pub is its first member */
  if (m == NULL)
    return;
  spirv_pool_free(&m->pool);
  free(m);
}

const spirv_kernel *spirv_find(const spirv_module *m, const char *name)
{
  for (size_t k = 0; k < m->kernel_count; k++)
    if (strcmp(m->kernels[k].name, name) == 0)
      return &m->kernels[k];
  return NULL;
}

/* Returns SPIRV-Tools' strictest environment for OpenCL and a SPIR-V version:
   OpenCL 2.2 up to version 1.2. Newer versions have no OpenCL environment. */
static spv_target_env environment_of(uint32_t version)
{
  switch (version >> 8) {
  case 0x100:
  case 0x101:
  case 0x102:
    return SPV_ENV_OPENCL_2_2;
  case 0x103:
    return SPV_ENV_UNIVERSAL_1_3;
  case 0x104:
    return SPV_ENV_UNIVERSAL_1_4;
  case 0x105:
    return SPV_ENV_UNIVERSAL_1_5;
  default:
    return SPV_ENV_UNIVERSAL_1_6;
  }
}

const char *spirv_too_nested(const uint32_t *words, size_t count)
{
  enum { MOST_WAYS = 1 << 20, MOST_IDS = 1 << 22 };
  size_t ids = count < 5 ? 0 : words[3] < MOST_IDS ? words[3] : MOST_IDS;
  uint32_t *ways = calloc(ids + 1, sizeof *ways); /* by id: number of paths to
                                                     members below it */
  bool many = false;
  if (ways == NULL)
    return "out of memory";
  for (size_t i = 5; i < count && !many;) {
    size_t n = words[i] >> 16;
    uint32_t opcode = words[i] & 0xffff;
    if (n == 0 || n > count - i)
      break;
    bool array =
      opcode == SpvOpTypeArray || opcode == SpvOpTypeRuntimeArray;
    if ((opcode == SpvOpTypeStruct || array) && n > 1 && words[i + 1] < ids) {
      uint32_t sum = 1;
      size_t end = array && n > 3 ? 3 : n;
      for (size_t k = 2; k < end && sum <= MOST_WAYS; k++)
        sum += words[i + k] < ids ? ways[words[i + k]] + 1 : 1;
      ways[words[i + 1]] = sum;
      many = sum > MOST_WAYS;
    }
    i += n;
  }
  free(ways);
  return many ? "structs in structs have more than 1048576 members in all" :
                NULL;
}

bool spirv_validate(const void *bytes, size_t size, char *message, size_t cap)
{
  spirv_block *pool = NULL;
  if (cap > 0)
    message[0] = '\0';
  size_t count = 0;
  const uint32_t *words = copy_words(&pool, bytes, size, &count, message, cap);
  if (words == NULL) {
    spirv_pool_free(&pool);
    return false;
  }
  const char *refused = spirv_too_nested(words, count);
  if (refused != NULL) {
    spirv_say(message, cap, "%s", refused);
    spirv_pool_free(&pool);
    return false;
  }
  spv_context context = spvContextCreate(environment_of(words[1]));
  spv_diagnostic diagnostic = NULL;
  spv_result_t result = SPV_ERROR_OUT_OF_MEMORY;
  if (context != NULL) {
    spv_const_binary_t binary = {words, count};
    result = spvValidate(context, &binary, &diagnostic);
  }
  if (result != SPV_SUCCESS) {
    if (diagnostic != NULL)
      spirv_say(message, cap, "%s", diagnostic->error);
    else
      spirv_say(message, cap, "not valid (code %d)", (int)result);
  }
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  spirv_pool_free(&pool);
  return result == SPV_SUCCESS;
}
