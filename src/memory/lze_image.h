/*
 * lze_image.h - images and samplers.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_IMAGE_H
#define LZE_IMAGE_H

#include "base/lze_types.h"
#include "memory/lze_buffer.h"
#include "queue/lze_queue.h"

/* The meaning of a name such as "rgba8unorm". */
typedef struct lze_Format {
  char name[16];
  ze_image_format_t native;
  const lze_Type *type;         /* of a stored pixel, as "uchar4" */
} lze_Format;

/* The userdata.  Launches use its window, which covers all bytes of its
   storage, like a buffer. */
typedef struct lze_Image {
  lze_Buffer window;            /* its storage is NULL once closed */
  lze_Format format;
  int dimensions;
  size_t size[3];               /* 1 in unused dimensions */
  bool writable;                /* by kernels */
} lze_Image;

typedef struct lze_Sampler {
  lze_Buffer window;            /* of no bytes */
  int address, filter;          /* positions in the words below */
  bool normalized;
} lze_Sampler;
extern const char *const lze_address_names[], *const lze_filter_names[];

/* A part of an image, counted from 0. */
typedef struct lze_Part {
  size_t origin[3], size[3];
} lze_Part;

/* lze.image(format, size [, options]) and lze.sampler([options]) */
int lze_image_new(lua_State *L);
int lze_sampler_new(lua_State *L);
/* dev:image_formats([dimensions]) -> array */
int lze_image_formats(lua_State *L);

/* Returns the open image at `arg`; raises for anything else. */
lze_Image *lze_check_image(lua_State *L, int arg);
/* Returns the image, or the sampler, at `index`, open or not, or NULL. */
lze_Image *lze_test_image(lua_State *L, int index);
lze_Sampler *lze_test_sampler(lua_State *L, int index);

/* Returns the part described by the box at `arg`, a table with `size` and its
   start `at`; for nil, the whole image.  Raises. */
lze_Part lze_image_part(lua_State *L, const lze_Image *m, int arg);
static inline size_t lze_part_count(const lze_Part *p) {
  return p->size[0] * p->size[1] * p->size[2];
}
/* [-0, +2] Returns the bytes of a part of the open image at 1, copied to host
   memory after the work that they wait for.  The pushed values keep them
   alive. */
const char *lze_image_bytes(lua_State *L, const lze_Part *part);
/* Copies bytes to a part of the open image at 1. */
void lze_image_put(lua_State *L, const lze_Part *part, const char *bytes);
/* [-0, +2] Pushes the context of the open image at `index` and a new buffer in
   host memory for its device.  A finalizer may close the image while this
   allocates; then it raises. */
lze_Buffer *lze_push_beside_image(lua_State *L, int index, size_t bytes);
/* Enqueues a copy from the start of a storage to a part of the image at
   `index`. */
void lze_image_fill(lua_State *L, int index, const lze_Part *part,
                    lze_Storage *from);

/* Raises unless a part is inside of an image; the message calls it `what`. */
void lze_part_check(lua_State *L, const lze_Image *m, const lze_Part *p,
                    const char *what);
/* [-0, +1] "640x480" */
const char *lze_push_image_size(lua_State *L, const lze_Image *m);

/* One end of a copy: a part of an image or, from `offset` on, memory with
   consecutive pixels. */
typedef struct lze_ImageEnd {
  lze_Storage *storage;
  lze_Part part;
  size_t offset;
} lze_ImageEnd;
/* Enqueues a copy of `bytes` bytes; at least one end is an image. */
lze_Command *lze_image_append(lua_State *L, lze_Queue *q, const char *name,
                              bool timed, const lze_ImageEnd *to,
                              const lze_ImageEnd *from, size_t bytes);
/* Raises unless the elements of dst at stack index `arg` and src behind it are
   the same; at least one of the two is an image. */
void lze_image_check_types(lua_State *L, int arg);
/* Returns the queue for a copy of these elements: the default one, or the one
   at 1 if `arg` is 2.  It reaches both ends and can take one more command, and
   no Lua code has run since that was found.  Raises. */
lze_Queue *lze_image_copy_queue(lua_State *L, int arg);
/* Enqueues a copy of all of one object to all of the other; returns NULL if
   they are the same. */
lze_Command *lze_image_copy_on(lua_State *L, int arg);

#endif
