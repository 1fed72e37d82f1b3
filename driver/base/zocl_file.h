/*
 * zocl_file.h - memory that processes share.
 * SPDX-License-Identifier: MIT
 *
 * A file without a name, which lives as long as any process has it open or
 * mapped.  It cannot be truncated, so mapped pages always exist.  Its last page
 * describes it.
 */
#ifndef ZOCL_FILE_H
#define ZOCL_FILE_H

#include "base/zocl_base.h"

enum {
  ZOCL_PAGE_BYTES = 4096,
  ZOCL_FILE_EVENTS = 0x100 /* a kind in addition to the memory types */
};

typedef struct zocl_file_info {
  uint32_t kind;  /* a ze_memory_type_t, or ZOCL_FILE_EVENTS */
  uint32_t flags; /* of an event pool */
  uint64_t size;  /* in bytes, at least 1, without the last page */
  uint64_t count; /* of events */
} zocl_file_info;

/* Returns `bytes` rounded up to whole pages. */
size_t zocl_file_pages(size_t bytes);

/* Creates a file filled with zeros. */
ze_result_t zocl_file_new(const zocl_file_info *info, zocl_file **file);
void zocl_file_ref(zocl_file *file);
void zocl_file_unref(zocl_file *file); /* NULL is allowed */
zocl_file_info zocl_file_is(const zocl_file *file);

/* Returns a reference to the file behind a descriptor of this process; NULL if
   it is not a file of this driver, with the reason in zocl_last_error. */
zocl_file *zocl_file_open(int descriptor);
/* Returns the file's own descriptor, which the caller must neither close nor
   retain. */
int zocl_file_descriptor(const zocl_file *file);

/* Write to the beginning of the file; map a part of it that begins on a page
   boundary, at address `at` unless that is NULL.  They return false and NULL if
   memory is insufficient. */
bool zocl_file_write(const zocl_file *file, const void *bytes, size_t size);
void *zocl_file_map(const zocl_file *file, uint64_t offset, size_t size,
                    int protection, void *at);

/* Makes a handle with which other processes find a part of the file, through
   `descriptor` of this process.  The descriptor is the first member, so that it
   can be passed through a socket and replaced by the receiver. */
enum { ZOCL_HANDLE_BYTES = 64 };
void zocl_file_handle(const zocl_file *file, int descriptor, uint64_t offset,
                      uint64_t size, void *handle);
/* Returns a reference to the file of a handle.  NULL, with the reason in
   zocl_last_error, if the handle is invalid, or if its process denies access to
   the file or no longer has it open. */
zocl_file *zocl_file_of_handle(const void *handle, uint64_t *offset,
                               uint64_t *size);
/* Returns the handle's descriptor if that is a descriptor of the file in this
   process, else -1. */
int zocl_file_handle_descriptor(const void *handle);

#endif
