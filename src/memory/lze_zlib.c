/*
 * lze_zlib.c - streams of the system's zlib, which is opened on first use.
 * SPDX-License-Identifier: MIT
 *
 * The declarations here have the layout of zlib.h, version 1.
 */
#include "memory/lze_zlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

typedef struct Stream {
  const unsigned char *next_in;
  unsigned available_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned available_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *(*allocate)(void *, unsigned, unsigned);
  void (*release)(void *, void *);
  void *opaque;
  int data_type;
  unsigned long adler, reserved;
} Stream;

enum { OK = 0, STREAM_END = 1, BUFFER_ERROR = -5 }; /* results */
enum { NO_FLUSH = 0, FINISH = 4 };
enum { DEFLATED = 8, DEFAULT_LEVEL = 6, MEMORY_LEVEL = 8, WINDOW_BITS = 15 };

struct lze_Zlib {
  void *library;
  int (*run)(Stream *, int);
  int (*end)(Stream *);
  bool started;
  Stream stream;
};

static bool zlib_start(lze_Zlib *z, lze_ZlibKind kind) {
  const bool expand = kind == LZE_INFLATE_RAW;
  const int bits = kind == LZE_DEFLATE ? WINDOW_BITS : -WINDOW_BITS;
  int (*inflate_init)(Stream *, int, const char *, int);
  int (*deflate_init)(Stream *, int, int, int, int, int, const char *, int);
  *(void **)&z->run = dlsym(z->library, expand ? "inflate" : "deflate");
  *(void **)&z->end = dlsym(z->library, expand ? "inflateEnd" : "deflateEnd");
  *(void **)&inflate_init = dlsym(z->library, "inflateInit2_");
  *(void **)&deflate_init = dlsym(z->library, "deflateInit2_");
  if (z->run == NULL || z->end == NULL || inflate_init == NULL ||
      deflate_init == NULL)
    return false;
  const int size = (int)sizeof z->stream;
  return (expand ? inflate_init(&z->stream, bits, "1", size)
                 : deflate_init(&z->stream, DEFAULT_LEVEL, DEFLATED, bits,
                                MEMORY_LEVEL, 0, "1", size)) == OK;
}

lze_Zlib *lze_zlib_new(lze_ZlibKind kind) {
  lze_Zlib *z = calloc(1, sizeof *z);
  if (z == NULL) return NULL;
  z->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  z->started = z->library != NULL && zlib_start(z, kind);
  if (z->started) return z;
  lze_zlib_free(z);
  return NULL;
}

void lze_zlib_free(lze_Zlib *z) {
  if (z == NULL) return;
  if (z->started) z->end(&z->stream);
  if (z->library != NULL) dlclose(z->library);
  free(z);
}

int lze_zlib_run(lze_Zlib *z, const unsigned char **from, size_t *left,
                 unsigned char **to, size_t *room, bool last) {
  const unsigned in = *left < UINT_MAX ? (unsigned)*left : UINT_MAX;
  const unsigned out = *room < UINT_MAX ? (unsigned)*room : UINT_MAX;
  z->stream.next_in = *from;
  z->stream.available_in = in;
  z->stream.next_out = *to;
  z->stream.available_out = out;
  const int result = z->run(&z->stream, last && in == *left ? FINISH
                                                            : NO_FLUSH);
  *from = z->stream.next_in;
  *left -= in - z->stream.available_in;
  *to = z->stream.next_out;
  *room -= out - z->stream.available_out;
  if (result == STREAM_END) return 1;
  return result == OK || result == BUFFER_ERROR ? 0 : -1;
}
