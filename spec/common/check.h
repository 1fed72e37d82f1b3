/*
 * check.h - checks and an assembler shared by the tests of SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * A check prints a line only if it fails; main prints both counts.
 */
#ifndef LZE_TEST_CHECK_H
#define LZE_TEST_CHECK_H

#include "spirv_tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, checks;
static const char *module_name = ""; /* the current module */

__attribute__((format(printf, 2, 3))) static void
failed(int line, const char *format, ...)
{
  va_list args;
  failures++;
  fprintf(stderr, "%s:%d: %s%s", __BASE_FILE__, line, module_name,
          *module_name ? ": " : "");
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

#define CHECK(condition) \
  (checks++, (condition) ? (void)0 : \
   failed(__LINE__, "%s", #condition))

#define CHECK_INT(got, expected) \
  check_int((long long)(got), (long long)(expected), #got, __LINE__)

__attribute__((unused)) static void
check_int(long long got, long long expected, const char *what, int line)
{
  checks++;
  if (got != expected)
    failed(line, "%s is %lld, not %lld", what, got, expected);
}

#define CHECK_TEXT(got, expected) \
  check_text((got), (expected), #got, __LINE__)

__attribute__((unused)) static void
check_text(const char *got, const char *expected, const char *what,
           int line)
{
  checks++;
  if (got == expected ||
      (got != NULL && expected != NULL && strcmp(got, expected) == 0))
    return;
  failed(line, "%s is %s, not %s", what, got ? got : "NULL",
         expected ? expected : "NULL");
}

/* Assembles a module, for spvBinaryDestroy; exits if the text is invalid. */
static spv_binary assembled(spv_target_env version, const char *text)
{
  spv_context context = spvContextCreate(version);
  spv_binary binary = NULL;
  spv_diagnostic diagnostic = NULL;
  if (spvTextToBinary(context, text, strlen(text), &binary, &diagnostic) !=
      SPV_SUCCESS) {
    fprintf(stderr, "assembled: line %lu: %s\n",
            (unsigned long)diagnostic->position.line + 1, diagnostic->error);
    exit(2);
  }
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return binary;
}

#endif
