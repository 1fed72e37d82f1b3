/*
 * ocloc_fake.c - a libocloc whose results the suite sets.
 * SPDX-License-Identifier: MIT
 *
 * It compiles nothing: it writes its arguments and the source to the file
 * OCLOC_FAKE_CALL, and returns the contents of the file OCLOC_FAKE_SPV or, if
 * that is not set, a log with a failure.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OUTPUTS = 2 };

EXPORT int oclocInvoke(unsigned count, const char **arguments,
                       uint32_t sources, const uint8_t **source,
                       const uint64_t *source_size, const char **source_name,
                       uint32_t headers, const uint8_t **header,
                       const uint64_t *header_size, const char **header_name,
                       uint32_t *outputs, uint8_t ***data, uint64_t **sizes,
                       char ***names);
EXPORT int oclocFreeOutput(uint32_t *outputs, uint8_t ***data,
                           uint64_t **sizes, char ***names);

static void output_set(uint8_t **data, uint64_t *size, char **name,
                       const char *called, const void *bytes, size_t n) {
  *data = malloc(n + 1);
  memcpy(*data, bytes, n);
  *size = n;
  *name = strdup(called);
}

int oclocInvoke(unsigned count, const char **arguments, uint32_t sources,
                const uint8_t **source, const uint64_t *source_size,
                const char **source_name, uint32_t headers,
                const uint8_t **header, const uint64_t *header_size,
                const char **header_name, uint32_t *outputs, uint8_t ***data,
                uint64_t **sizes, char ***names) {
  (void)headers, (void)header, (void)header_size, (void)header_name;
  FILE *call = fopen(getenv("OCLOC_FAKE_CALL"), "w");
  if (call == NULL) return 1;
  for (unsigned i = 0; i < count; i++) fprintf(call, "%s\n", arguments[i]);
  for (uint32_t i = 0; i < sources; i++)
    fprintf(call, "%s:\n%.*s\n", source_name[i], (int)source_size[i],
            (const char *)source[i]);
  fclose(call);

  *outputs = OUTPUTS;
  *data = calloc(OUTPUTS, sizeof **data);
  *sizes = calloc(OUTPUTS, sizeof **sizes);
  *names = calloc(OUTPUTS, sizeof **names);
  const char *path = getenv("OCLOC_FAKE_SPV");
  static char bytes[1 << 20];
  FILE *f = path != NULL ? fopen(path, "rb") : NULL;
  size_t n = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f != NULL) fclose(f);
  const char *said = f != NULL ? "source:1: a warning\n"
                               : "source:1: an error\n";
  output_set(&(*data)[0], &(*sizes)[0], &(*names)[0], "stdout.log", said,
             strlen(said));
  output_set(&(*data)[1], &(*sizes)[1], &(*names)[1], "source.spv", bytes, n);
  return f != NULL ? 0 : -11;
}

int oclocFreeOutput(uint32_t *outputs, uint8_t ***data, uint64_t **sizes,
                    char ***names) {
  for (uint32_t i = 0; i < *outputs; i++) {
    free((*data)[i]);
    free((*names)[i]);
  }
  free(*data);
  free(*sizes);
  free(*names);
  return 0;
}
