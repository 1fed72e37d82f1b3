/*
 * lze_image.h - images and samplers.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_IMAGE_H
#define LZE_IMAGE_H

#include "base/lze_types.h"
#include "run/lze_buffer.h"
#include "run/lze_queue.h"

/* What a name such as "rgba8unorm" means. */
typedef struct lze_Format {
  char name[16];
  ze_image_format_t native;
  const lze_Type *type;         /* of a pixel as it is stored: "uchar4" */
} lze_Format;

/* The userdata.  Launches take its window for what a buffer would be: all the
   bytes of its storage. */
typedef struct lze_Image {
  lze_Buffer window;            /* its storage is NULL once closed */
  lze_Format format;
  int dimensions;
  size_t size[3];               /* what it does not have is 1 */
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

/* The open image at `arg`; raises. */
lze_Image *lze_check_image(lua_State *L, int arg);
/* The image at `index`, open or not, or NULL; the sampler likewise. */
lze_Image *lze_test_image(lua_State *L, int index);
lze_Sampler *lze_test_sampler(lua_State *L, int index);

/* The part that the box at `arg` names, all of the image for nil: a table with
   `size` and, called `at`, where it starts.  Raises. */
lze_Part lze_image_part(lua_State *L, const lze_Image *m, int arg);
static inline size_t lze_part_count(const lze_Part *p) {
  return p->size[0] * p->size[1] * p->size[2];
}
/* The bytes of a part of the open image at 1, copied to host memory after the
   work that it waits for.  [-0, +2] keep them. */
const char *lze_image_bytes(lua_State *L, const lze_Part *part);
/* Put bytes into a part of the open image at 1. */
void lze_image_put(lua_State *L, const lze_Part *part, const char *bytes);
/* Host memory of its context and device beside the open image at `index`, which
   making it may run a finaliser to close. [-0, +2] the context and a buffer. */
lze_Buffer *lze_push_beside_image(lua_State *L, int index, size_t bytes);
/* Enqueue a copy of what a storage begins with to a part of the image at
   `index`. */
void lze_image_fill(lua_State *L, int index, const lze_Part *part,
                    lze_Storage *from);

/* Raise unless a part is inside of an image, which is called `what`. */
void lze_part_check(lua_State *L, const lze_Image *m, const lze_Part *p,
                    const char *what);
/* [-0, +1] "640x480" */
const char *lze_push_image_size(lua_State *L, const lze_Image *m);

/* One end of a copy: a part of an image or, from `offset` on, memory in which
   its pixels follow each other. */
typedef struct lze_ImageEnd {
  lze_Storage *storage;
  lze_Part part;
  size_t offset;
} lze_ImageEnd;
/* Enqueue a copy of so many bytes, of which one end at least is an image. */
lze_Command *lze_image_append(lua_State *L, lze_Queue *q, const char *name,
                              bool timed, const lze_ImageEnd *to,
                              const lze_ImageEnd *from, size_t bytes);
/* Of dst at stack index `arg` and src behind it at least one is an image.
   Raise unless their elements are the same. */
void lze_image_check_types(lua_State *L, int arg);
/* The queue for a copy of these: the default one, or the one at 1 if `arg` is
   2; it reaches both and can take one more command, and nothing of Lua's has
   run since that was found.  Raises. */
lze_Queue *lze_image_copy_queue(lua_State *L, int arg);
/* Enqueue a copy of all of one to all of the other there; NULL where they are
   the same. */
lze_Command *lze_image_copy_on(lua_State *L, int arg);

#endif
