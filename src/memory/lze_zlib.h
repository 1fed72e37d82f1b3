/*
 * lze_zlib.h - streams of the system's zlib, which is opened on first use.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_ZLIB_H
#define LZE_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lze_Zlib lze_Zlib;

typedef enum lze_ZlibKind {
  LZE_DEFLATE_RAW,   /* compresses, without a header */
  LZE_DEFLATE,       /* compresses to zlib's own format */
  LZE_INFLATE_RAW    /* expands, without a header */
} lze_ZlibKind;

/* Returns a new stream; NULL if the system has no zlib or no memory. */
lze_Zlib *lze_zlib_new(lze_ZlibKind kind);
/* Frees a stream, which may be NULL. */
void lze_zlib_free(lze_Zlib *z);
/* Consumes bytes at *from and makes bytes at *to until one of both is used up;
   advances the pointers and reduces the counts.  `last` is true if no more
   input will follow.  Returns 1 at the end of the stream, 0 before it, and -1
   if the input is damaged. */
int lze_zlib_run(lze_Zlib *z, const unsigned char **from, size_t *left,
                 unsigned char **to, size_t *room, bool last);

#endif
