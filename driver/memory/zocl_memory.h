/*
 * zocl_memory.h - unified shared memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_MEMORY_H
#define ZOCL_MEMORY_H

#include "base/zocl_device.h"
#include "memory/zocl_place.h"

/* Memory as a back end returned it; an allocation may be a part of it. */
typedef struct zocl_block {
  zocl_driver *driver;
  zocl_device *device;   /* NULL for host memory */
  ze_memory_type_t type;
  void *at;
  size_t size;
} zocl_block;

/* A memory back end: all parts of the driver that depend on how memory is
   obtained.  Kernels, queues and programs use the same pointers for it. */
struct zocl_memory {
  /* Kernels accept any host pointer, and our own functions copy and fill
     memory: then `reach`, `copy` and `fill` are NULL. */
  bool any_pointer;
  bool (*fits)(const zocl_driver *driver, cl_device_id id);
  /* Allocates `size` bytes for block->device, of block->type, and stores in the
     block what `free` needs; returns NULL on failure. */
  void *(*allocate)(zocl_block *block, size_t size, size_t alignment);
  void (*free)(const zocl_block *block);
  cl_int (*argument)(const zocl_driver *driver, cl_kernel kernel,
                     cl_uint index, const void *pointer);
  /* Called before a launch: makes memory accessible that the kernel may use
     without an argument pointing to it, namely memory of these types and the
     module's variables. */
  cl_int (*reach)(const zocl_driver *driver, cl_kernel kernel,
                  ze_kernel_indirect_access_flags_t indirect,
                  void *const *variables, size_t variable_count);
  /* The size is not 0; the memory is aligned to the pattern. */
  cl_int (*copy)(const zocl_place *place, void *to, const void *from,
                 size_t size);
  cl_int (*fill)(const zocl_place *place, void *to, const void *pattern,
                 size_t pattern_size, size_t size);
};

extern const zocl_memory zocl_memory_host, zocl_memory_usm, zocl_memory_svm;

/* Finds the extension's functions.  Returns false if one is missing. */
bool zocl_usm_find(zocl_usm *usm, zocl_cl *cl, cl_platform_id platform);

/* Chooses the driver's memory back end: the first that suits all devices, else
   the first that suits one. */
void zocl_memory_choose(zocl_driver *driver, cl_uint count,
                        const cl_device_id *ids);

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
