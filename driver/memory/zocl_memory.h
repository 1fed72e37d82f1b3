/*
 * zocl_memory.h - unified shared memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_MEMORY_H
#define ZOCL_MEMORY_H

#include "base/zocl_device.h"
#include "memory/zocl_place.h"

/* Memory as it was got, of which an allocation may be a part. */
typedef struct zocl_block {
  zocl_driver *driver;
  zocl_device *device;   /* NULL for memory of the host */
  ze_memory_type_t type;
  void *at;
  size_t size;
} zocl_block;

/* All of the driver that depends on where memory lies: one way to have memory
   that kernels, queues and programs name by the same pointers. */
struct zocl_memory {
  /* Kernels take any pointer of the host, and functions of ours copy and fill
     whatever there is: there is no `reach`, `copy` or `fill` then. */
  bool any_pointer;
  bool (*fits)(const zocl_driver *driver, cl_device_id id);
  /* Memory for so many bytes, for whom the block says, which becomes what
     `free` takes; NULL where there is none. */
  void *(*allocate)(zocl_block *block, size_t size, size_t alignment);
  void (*free)(const zocl_block *block);
  cl_int (*argument)(const zocl_driver *driver, cl_kernel kernel,
                     cl_uint index, const void *pointer);
  /* Before a launch: what the kernel touches that no argument points to, memory
     of these types and that of its variables. */
  cl_int (*reach)(const zocl_driver *driver, cl_kernel kernel,
                  ze_kernel_indirect_access_flags_t indirect,
                  void *const *variables, size_t variable_count);
  /* Not empty; the pattern is aligned. */
  cl_int (*copy)(const zocl_place *place, void *to, const void *from,
                 size_t size);
  cl_int (*fill)(const zocl_place *place, void *to, const void *pattern,
                 size_t pattern_size, size_t size);
};

extern const zocl_memory zocl_memory_host, zocl_memory_usm, zocl_memory_svm;

/* Find the extension's functions; false where one is missing. */
bool zocl_usm_find(zocl_usm *usm, zocl_cl *cl, cl_platform_id platform);

/* Choose how a driver for these devices has memory: the first way that suits
   them all, else the first that suits one. */
void zocl_memory_choose(zocl_driver *driver, cl_uint count,
                        const cl_device_id *ids);

/* How memory came to be, which says how it goes. */
typedef enum zocl_origin {
  ZOCL_MADE,     /* by the allocator of this process */
  ZOCL_OPENED,   /* by zeMemOpenIpcHandle */
  ZOCL_IMPORTED, /* by an allocation that was given a file */
  ZOCL_MAPPED    /* by zeVirtualMemMap */
} zocl_origin;

/* Memory that may be asked about. */
typedef struct zocl_allocation {
  char *base;
  zocl_block block;     /* where it was made */
  size_t size;
  uint64_t id;
  ze_memory_type_t type;
  zocl_origin origin;
  zocl_driver *driver;
  const zocl_context *context; /* which alone knows it; to be compared only */
  zocl_device *device;  /* NULL for host memory */
  zocl_file *file;      /* whose pages it has, or NULL */
  uint64_t file_offset; /* of the first */
  struct zocl_allocation *next; /* its owner's */
} zocl_allocation;

/* Whether memory may be that of a file, else with the reason in
   zocl_last_error: all that follows, files, IPC and virtual memory, needs that
   kernels take any pointer. */
bool zocl_memory_has_files(const zocl_driver *driver);

/* Let memory that overlaps no other be asked about, under a new id; and no
   longer. */
ze_result_t zocl_memory_add(zocl_allocation *allocation);
void zocl_memory_remove(zocl_allocation *allocation);
/* Let it end elsewhere, not beyond where the next begins. */
void zocl_memory_resize(zocl_allocation *allocation, size_t size);

/* Account for memory of a device whose size a knob has set; false where that
   much is not left, with the reason in zocl_last_error. */
bool zocl_memory_take(zocl_device *device, uint64_t size);
void zocl_memory_give(zocl_device *device, uint64_t size);

/* Find the allocation that `pointer` is in, and let it be memory of a file,
   so that other processes can have it: found->file is then a reference.  An
   allocation that is not yet is copied, for which commands in flight are
   waited for. */
ze_result_t zocl_memory_share(zocl_context *context, const void *pointer,
                              zocl_allocation *found);

/* Unmap what zeMemOpenIpcHandle mapped in this context. */
ze_result_t zocl_memory_close(const zocl_context *context, void *pointer);

/* Whether `pointer` is in an allocation, and of which type. */
bool zocl_memory_find(const void *pointer, ze_memory_type_t *type);
/* The id of that allocation, whatever its context; 0 for none. */
uint64_t zocl_memory_id(const void *pointer);

/* Whether commands of `device` may touch what `pointer` points to, and whether
   its kernels may.  False with the reason in zocl_last_error. */
bool zocl_memory_reachable(const zocl_device *device, const void *pointer);
bool zocl_memory_usable(const zocl_device *device, const void *pointer);

/* What `free` takes of all allocations of these types, malloc'ed with room for
   some more; NULL: out of memory. */
void **zocl_memory_blocks(const zocl_driver *driver,
                          ze_kernel_indirect_access_flags_t types, size_t more,
                          size_t *count);
/* A number that changes with each allocation and each free. */
uint64_t zocl_memory_generation(void);

/* With ZOCL_DEVICE_MEMORY_PRIVATE, around each command: between the first
   begin and the last end the memory of devices can be touched at all. */
void zocl_memory_begin(void);
void zocl_memory_end(void);

/* What zeMemFreeExt knows. */
enum {
  ZOCL_FREE_POLICIES = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                       ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
};

#endif
