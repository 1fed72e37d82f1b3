/*
 * zocl_file.h - memory that processes share.
 * SPDX-License-Identifier: MIT
 *
 * A file without a name, which lives as long as anybody has it open or mapped,
 * in whatever process.  It cannot be cut short, so that what is mapped of it
 * is there.  Its last page says what it is.
 */
#ifndef ZOCL_FILE_H
#define ZOCL_FILE_H

#include "base/zocl_base.h"

enum {
  ZOCL_PAGE_BYTES = 4096,
  ZOCL_FILE_EVENTS = 0x100 /* a kind beside those of memory */
};

typedef struct zocl_file_info {
  uint32_t kind;  /* a ze_memory_type_t, or ZOCL_FILE_EVENTS */
  uint32_t flags; /* of an event pool */
  uint64_t size;  /* in bytes, one at least, without that page */
  uint64_t count; /* of events */
} zocl_file_info;

/* `bytes` in whole pages. */
size_t zocl_file_pages(size_t bytes);

/* A new one, of zeros. */
ze_result_t zocl_file_new(const zocl_file_info *info, zocl_file **file);
void zocl_file_ref(zocl_file *file);
void zocl_file_unref(zocl_file *file); /* NULL is allowed */
zocl_file_info zocl_file_is(const zocl_file *file);

/* What a descriptor of this process is of, a reference; NULL where it is not a
   file of this driver's, with the reason in zocl_last_error. */
zocl_file *zocl_file_open(int descriptor);
/* Its own descriptor: the caller neither closes nor keeps it. */
int zocl_file_descriptor(const zocl_file *file);

/* Write to its beginning; map a part of it, which begins a page, over what is
   at `at` unless that is NULL.  False and NULL where memory does not
   suffice. */
bool zocl_file_write(const zocl_file *file, const void *bytes, size_t size);
void *zocl_file_map(const zocl_file *file, uint64_t offset, size_t size,
                    int protection, void *at);

/* A handle that other processes find a part of it by, of `descriptor` of this
   process.  The descriptor stands first, so that it may be passed through a
   socket and put there again. */
enum { ZOCL_HANDLE_BYTES = 64 };
void zocl_file_handle(const zocl_file *file, int descriptor, uint64_t offset,
                      uint64_t size, void *handle);
/* What a handle is of, a reference; NULL where it is not a handle, or where its
   process does not give or have the file, with the reason in
   zocl_last_error. */
zocl_file *zocl_file_of_handle(const void *handle, uint64_t *offset,
                               uint64_t *size);
/* The descriptor of a handle where it is one of this process, or -1. */
int zocl_file_handle_descriptor(const void *handle);

#endif
