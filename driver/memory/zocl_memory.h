/*
 * zocl_memory.h - unified shared memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_MEMORY_H
#define ZOCL_MEMORY_H

#include "base/zocl_device.h"
#include "memory/zocl_place.h"

/* ------------------------------------------------------------------------
 * zocl_memory_host.c: memory of this process, for back ends whose kernels
 * accept any host pointer.
 */

void *zocl_host_allocate(zocl_block *block, size_t size, size_t alignment);
void zocl_host_free(const zocl_block *block);

/* ------------------------------------------------------------------------
 * zocl_memory.c: allocations and their owners.
 */

/* The origin of memory, which determines how it is released. */
typedef enum zocl_origin {
  ZOCL_MADE,     /* by the allocator of this process */
  ZOCL_OPENED,   /* by zeMemOpenIpcHandle */
  ZOCL_IMPORTED, /* by an allocation that imports a file */
  ZOCL_MAPPED    /* by zeVirtualMemMap */
} zocl_origin;

/* Memory that is registered, so that programs can query it. */
typedef struct zocl_allocation {
  char *base;
  zocl_block block;     /* the block it is part of */
  size_t size;
  uint64_t id;
  ze_memory_type_t type;
  zocl_origin origin;
  zocl_driver *driver;
  const zocl_context *context; /* the only context it belongs to; compared
                                  only */
  zocl_device *device;  /* NULL for host memory */
  zocl_file *file;      /* whose pages it maps, or NULL */
  uint64_t file_offset; /* of the first page */
  struct zocl_allocation *next; /* used by its owner */
} zocl_allocation;

/* Returns true if the driver's memory can be the memory of a file, else false
   with the reason in zocl_last_error.  Files, IPC and virtual memory, declared
   below, require that kernels accept any pointer. */
bool zocl_memory_has_files(const zocl_driver *driver);

/* Register memory that overlaps no other, with a new id, so that it can be
   queried; and remove it. */
ze_result_t zocl_memory_add(zocl_allocation *allocation);
void zocl_memory_remove(zocl_allocation *allocation);
/* Changes the size of registered memory; it must not reach the next
   allocation. */
void zocl_memory_resize(zocl_allocation *allocation, size_t size);

/* Account for memory of a device if a test option limits its size.  `take`
   returns false if less than `size` bytes are left, with the reason in
   zocl_last_error. */
bool zocl_memory_take(zocl_device *device, uint64_t size);
void zocl_memory_give(zocl_device *device, uint64_t size);

/* Finds the allocation that contains `pointer`, and makes it memory of a file
   so that other processes can use it; found->file is a reference.  If the
   allocation is not memory of a file yet, it is copied, after waiting for
   commands in flight. */
ze_result_t zocl_memory_share(zocl_context *context, const void *pointer,
                              zocl_allocation *found);

/* Unmaps memory that zeMemOpenIpcHandle mapped in this context. */
ze_result_t zocl_memory_close(const zocl_context *context, void *pointer);

/* Returns true if `pointer` is in an allocation, and sets its type. */
bool zocl_memory_find(const void *pointer, ze_memory_type_t *type);
/* Returns the id of that allocation in any context, or 0 if absent. */
uint64_t zocl_memory_id(const void *pointer);

/* Return true if commands of `device`, or its kernels, may access the memory
   that `pointer` points to; else false with the reason in zocl_last_error. */
bool zocl_memory_reachable(const zocl_device *device, const void *pointer);
bool zocl_memory_usable(const zocl_device *device, const void *pointer);

/* Returns the addresses of the blocks of all allocations of these types,
   malloc'ed with room for `more` further ones; NULL: out of memory. */
void **zocl_memory_blocks(const zocl_driver *driver,
                          ze_kernel_indirect_access_flags_t types, size_t more,
                          size_t *count);
/* Returns a number that changes with each allocation and each free. */
uint64_t zocl_memory_generation(void);

/* With ZOCL_DEVICE_MEMORY_PRIVATE, called before and after each command: device
   memory is accessible only between the first begin and the last end. */
void zocl_memory_begin(void);
void zocl_memory_end(void);

/* The policies that zeMemFreeExt supports. */
enum {
  ZOCL_FREE_POLICIES = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                       ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
};

#endif
