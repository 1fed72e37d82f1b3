/*
 * zocl_memory_host.c - memory where the OpenCL takes any pointer of the host.
 * SPDX-License-Identifier: MIT
 *
 * It is memory of this process: host, device and shared allocations differ only
 * in what is said of them, and copies and fills are functions of ours.
 */
#include "zocl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* PoCL's CPU devices take any pointer, which it does not say before version
   4. */
static bool host_fits(const zocl_driver *driver, cl_device_id id)
{
  cl_device_svm_capabilities svm = 0;
  cl_device_type type = 0;
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm,
                              NULL);
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  return (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) ||
         (driver->pocl && (type & CL_DEVICE_TYPE_CPU));
}

/* ------------------------------------------------------------------------
 * Where it comes from.
 *
 * Large blocks are mapped, and kept when they are freed, for the next of the
 * same size: to map and unmap one costs several times all else.  As much is
 * kept as the C library's malloc may keep.
 */

enum {
  MAPPED_BYTES = 128 * 1024,       /* large is from here on */
  KEPT_BYTES = 64 * 1024 * 1024,
  KEPT_BLOCKS = KEPT_BYTES / MAPPED_BYTES
};

static struct {
  pthread_mutex_t lock;
  size_t count, bytes;
  struct {
    char *at;
    size_t size;
  } blocks[KEPT_BLOCKS];           /* the last freed last */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The lock is held. */
static char *kept_remove(size_t i)
{
  char *at = kept.blocks[i].at;
  kept.bytes -= kept.blocks[i].size;
  kept.count--;
  memmove(&kept.blocks[i], &kept.blocks[i + 1],
          (kept.count - i) * sizeof *kept.blocks);
  return at;
}

static void *kept_take(size_t size, size_t alignment)
{
  char *at = NULL;
  pthread_mutex_lock(&kept.lock);
  for (size_t i = kept.count; i-- > 0 && at == NULL;)
    if (kept.blocks[i].size == size &&
        (uintptr_t)kept.blocks[i].at % alignment == 0)
      at = kept_remove(i);
  pthread_mutex_unlock(&kept.lock);
  return at;
}

/* Unmap the oldest until `size` bytes more may be kept.  The lock is held. */
static void kept_shrink(size_t size)
{
  while (kept.count > 0 && kept.bytes + size > KEPT_BYTES) {
    size_t bytes = kept.blocks[0].size;
    munmap(kept_remove(0), bytes);
  }
}

static void kept_give(void *block, size_t size)
{
  if (size > KEPT_BYTES) {
    munmap(block, size);
    return;
  }
  pthread_mutex_lock(&kept.lock);
  kept_shrink(size);
  kept.blocks[kept.count].at = block;
  kept.blocks[kept.count++].size = size;
  kept.bytes += size;
  pthread_mutex_unlock(&kept.lock);
}

/* MAP_FAILED: no memory. */
static char *map(size_t size)
{
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  /* cppcheck-suppress invalidFunctionArg ; there is no file */
  return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
}

/* Pages so aligned; what surrounds them is given back. */
static void *map_aligned(size_t size, size_t alignment)
{
  size_t more = alignment > ZOCL_PAGE_BYTES ? alignment : 0;
  if (size > SIZE_MAX - more) return NULL;
  char *at = map(size + more);
  if (at == MAP_FAILED) {
    pthread_mutex_lock(&kept.lock);
    kept_shrink(KEPT_BYTES);
    pthread_mutex_unlock(&kept.lock);
    at = map(size + more);
  }
  if (at == MAP_FAILED) return NULL;
  if (more == 0) return at;
  size_t before = (alignment - (uintptr_t)at % alignment) % alignment;
  char *begin = at + before;
  if (before > 0) munmap(at, before);
  if (more > before) munmap(begin + size, more - before);
  return begin;
}

static void *host_allocate(zocl_driver *driver, zocl_device *device,
                           ze_memory_type_t type, size_t size,
                           size_t alignment, void **block)
{
  (void)driver;
  (void)device;
  (void)type;
  *block = NULL;
  size = zocl_file_pages(size);
  if (size < MAPPED_BYTES)
    return posix_memalign(block, alignment, size) == 0 ? *block : NULL;
  *block = kept_take(size, alignment);
  if (*block == NULL) *block = map_aligned(size, alignment);
  return *block;
}

static void host_free(zocl_driver *driver, void *block, size_t size)
{
  (void)driver;
  size = zocl_file_pages(size);
  if (size < MAPPED_BYTES)
    free(block);
  else
    kept_give(block, size);
}

static cl_int host_argument(const zocl_driver *driver, cl_kernel kernel,
                            cl_uint index, const void *pointer)
{
  return driver->cl->clSetKernelArgSVMPointer(kernel, index, pointer);
}

const zocl_memory zocl_memory_host = {
  .name = "host",
  .any_pointer = true,
  .fits = host_fits,
  .allocate = host_allocate,
  .free = host_free,
  .argument = host_argument};

/* ------------------------------------------------------------------------
 * What streams run.
 */

void zocl_memory_copy(void *args)
{
  const zocl_copy *copy = args;
  memmove(copy->to, copy->from, copy->size);
}

void zocl_memory_fill(void *args)
{
  const zocl_fill *fill = args;
  char *to = fill->to;
  if (fill->pattern_size == 1) {
    memset(to, fill->pattern[0], fill->size);
    return;
  }
  /* Write the pattern once, then what is there already after itself. */
  size_t done = fill->pattern_size < fill->size ? fill->pattern_size
                                                : fill->size;
  memcpy(to, fill->pattern, done);
  while (done < fill->size) {
    size_t n = done < fill->size - done ? done : fill->size - done;
    /* Blocks that stay in a cache; a multiple of every pattern. */
    if (n > (size_t)64 * 1024 * fill->pattern_size)
      n = (size_t)64 * 1024 * fill->pattern_size;
    memcpy(to + done, to, n);
    done += n;
  }
}

void zocl_memory_copy_region(void *args)
{
  const zocl_copy_region *c = args;
  const ze_copy_region_t *t = &c->to_region, *f = &c->from_region;
  uint32_t depth = f->depth > 0 ? f->depth : 1;
  for (uint32_t z = 0; z < depth; z++)
    for (uint32_t y = 0; y < f->height; y++)
      memmove((char *)c->to + (size_t)(t->originZ + z) * c->to_slice +
                  (size_t)(t->originY + y) * c->to_pitch + t->originX,
              (const char *)c->from + (size_t)(f->originZ + z) * c->from_slice +
                  (size_t)(f->originY + y) * c->from_pitch + f->originX,
              f->width);
}
