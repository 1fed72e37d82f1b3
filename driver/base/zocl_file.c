/*
 * zocl_file.c - memory that processes share: files without names.
 * SPDX-License-Identifier: MIT
 *
 * A handle names the process that has the file open, the descriptor there, and
 * a random number that is also written in the file.  So a descriptor found
 * through a handle, passed through a socket or taken from /proc, is checked to
 * belong to the intended file; a descriptor reused for something else is
 * refused.
 */
#include "base/zocl_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3130656c69667a6c) /* "lzfile01" */

struct zocl_file {
  unsigned references;
  int descriptor;
  uint64_t number; /* random; identifies the file */
  zocl_file_info info;
  zocl_file *next;
};

/* The last page of a file. */
typedef struct trailer {
  uint64_t magic, number;
  zocl_file_info info;
} trailer;

typedef struct handle {
  int32_t descriptor;  /* in the process that uses the handle */
  int32_t process;     /* that made the handle, and its descriptor */
  int32_t there;
  uint32_t reserved;
  uint64_t magic, number, offset, size;
  uint64_t check;      /* of everything before it except `descriptor` */
  uint64_t zero;
} handle;
_Static_assert(sizeof(handle) == ZOCL_HANDLE_BYTES, "a handle has 64 bytes");

/* The files open in this process; no file is opened twice. */
static struct {
  pthread_mutex_t lock;
  zocl_file *first;
} files = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t zocl_file_pages(size_t bytes)
{
  return (bytes + ZOCL_PAGE_BYTES - 1) & ~(size_t)(ZOCL_PAGE_BYTES - 1);
}

/* Finds a file by its number and adds a reference.  Caller holds the lock. */
static zocl_file *file_find(uint64_t number)
{
  zocl_file *file = files.first;
  while (file != NULL && file->number != number) file = file->next;
  if (file != NULL) file->references++;
  return file;
}

/* Adds a file, or finds it if it is open already.  Takes ownership of the
   descriptor. */
static zocl_file *file_add(int descriptor, const trailer *t)
{
  pthread_mutex_lock(&files.lock);
  zocl_file *file = file_find(t->number);
  if (file != NULL) {
    close(descriptor);
  } else {
    file = malloc(sizeof *file);
    if (file != NULL) {
      *file = (zocl_file){1, descriptor, t->number, t->info, files.first};
      files.first = file;
    } else {
      close(descriptor);
      zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    }
  }
  pthread_mutex_unlock(&files.lock);
  return file;
}

ze_result_t zocl_file_new(const zocl_file_info *info, zocl_file **file)
{
  trailer t = {.magic = MAGIC, .info = *info};
  off_t bytes = (off_t)zocl_file_pages(info->size);
  int descriptor = memfd_create("lze", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0 ||
      getrandom(&t.number, sizeof t.number, 0) != sizeof t.number ||
      ftruncate(descriptor, bytes + ZOCL_PAGE_BYTES) != 0 ||
      pwrite(descriptor, &t, sizeof t, bytes) != sizeof t ||
      fcntl(descriptor, F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    return zocl_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                     "no memory that other processes can have: %s",
                     strerror(error));
  }
  *file = file_add(descriptor, &t);
  return *file != NULL ? ZE_RESULT_SUCCESS
                       : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

void zocl_file_ref(zocl_file *file)
{
  pthread_mutex_lock(&files.lock);
  file->references++;
  pthread_mutex_unlock(&files.lock);
}

void zocl_file_unref(zocl_file *file)
{
  if (file == NULL) return;
  pthread_mutex_lock(&files.lock);
  bool last = --file->references == 0;
  if (last) {
    zocl_file **link = &files.first;
    while (*link != file) link = &(*link)->next;
    *link = file->next;
  }
  pthread_mutex_unlock(&files.lock);
  if (!last) return;
  close(file->descriptor);
  free(file);
}

zocl_file_info zocl_file_is(const zocl_file *file)
{
  return file->info;
}

int zocl_file_descriptor(const zocl_file *file)
{
  return file->descriptor;
}

/* Reads the last page of a descriptor's file.  Returns false if this driver did
   not make the file, or if its recorded size does not match the real one. */
static bool trailer_read(int descriptor, trailer *t)
{
  int seals = fcntl(descriptor, F_GET_SEALS);
  int flags = fcntl(descriptor, F_GETFL);
  struct stat s;
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || flags < 0 ||
      (flags & O_ACCMODE) != O_RDWR || fstat(descriptor, &s) != 0 ||
      s.st_size <= ZOCL_PAGE_BYTES ||
      pread(descriptor, t, sizeof *t, s.st_size - ZOCL_PAGE_BYTES) !=
          sizeof *t ||
      t->magic != MAGIC || t->info.size == 0)
    return false;
  uint64_t room = (uint64_t)s.st_size - ZOCL_PAGE_BYTES;
  return t->info.size <= room && zocl_file_pages(t->info.size) == room;
}

zocl_file *zocl_file_open(int descriptor)
{
  trailer t;
  if (!trailer_read(descriptor, &t)) {
    zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              "descriptor %d is of no memory of this driver", descriptor);
    return NULL;
  }
  int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own >= 0) return file_add(own, &t);
  zocl_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "descriptor %d: %s",
            descriptor, strerror(errno));
  return NULL;
}

bool zocl_file_write(const zocl_file *file, const void *bytes, size_t size)
{
  for (size_t done = 0; done < size;) {
    ssize_t n = pwrite(file->descriptor, (const char *)bytes + done,
                       size - done, (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

void *zocl_file_map(const zocl_file *file, uint64_t offset, size_t size,
                    int protection, void *at)
{
  void *memory =
      mmap(at, zocl_file_pages(size), protection,
           MAP_SHARED | (at != NULL ? MAP_FIXED : 0), file->descriptor,
           (off_t)offset);
  if (memory == MAP_FAILED) return NULL;
  /* cppcheck-suppress memleak ; the caller unmaps it */
  return memory;
}

/* ------------------------------------------------------------------------
 * Handles.
 */

static uint64_t handle_check(const handle *h)
{
  return zocl_hash(MAGIC, &h->process,
                   offsetof(handle, check) - offsetof(handle, process));
}

void zocl_file_handle(const zocl_file *file, int descriptor, uint64_t offset,
                      uint64_t size, void *data)
{
  handle h = {.descriptor = descriptor,
              .process = getpid(),
              .there = descriptor,
              .magic = MAGIC,
              .number = file->number,
              .offset = offset,
              .size = size};
  h.check = handle_check(&h);
  memcpy(data, &h, sizeof h);
}

static bool handle_read(const void *data, handle *h)
{
  memcpy(h, data, sizeof *h);
  if (h->magic == MAGIC && h->check == handle_check(h)) return true;
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "this is not a handle of this driver, or a damaged one");
  return false;
}

/* Opens the file through the process that made the handle. */
static zocl_file *file_of_process(const handle *h)
{
  char path[64];
  struct stat s;
  trailer t;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", h->process, h->there);
  /* Opening something other than a regular file could have side effects. */
  int descriptor = -1;
  if (stat(path, &s) == 0)
    descriptor = S_ISREG(s.st_mode) ? open(path, O_RDWR | O_CLOEXEC)
                                    : (errno = ENOENT, -1);
  if (descriptor >= 0 && trailer_read(descriptor, &t) &&
      t.number == h->number)
    return file_add(descriptor, &t);
  if (descriptor >= 0) {
    close(descriptor);
    errno = ENOENT;
  }
  if (errno == ENOENT)
    zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              "process %d has not, or no longer, what the handle is of",
              h->process);
  else
    zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              "process %d does not give what the handle is of: %s; a socket "
              "may pass it", h->process, strerror(errno));
  return NULL;
}

zocl_file *zocl_file_of_handle(const void *data, uint64_t *offset,
                               uint64_t *size)
{
  handle h;
  trailer t;
  if (!handle_read(data, &h)) return NULL;
  pthread_mutex_lock(&files.lock);
  zocl_file *file = file_find(h.number);
  pthread_mutex_unlock(&files.lock);
  if (file == NULL && trailer_read(h.descriptor, &t) && t.number == h.number)
    file = zocl_file_open(h.descriptor);
  else if (file == NULL)
    file = file_of_process(&h);
  if (file == NULL) return NULL;
  if (h.size > 0 && h.offset % ZOCL_PAGE_BYTES == 0 &&
      h.offset <= file->info.size && h.size <= file->info.size - h.offset) {
    *offset = h.offset;
    *size = h.size;
    return file;
  }
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the handle is of more than there is");
  zocl_file_unref(file);
  return NULL;
}

int zocl_file_handle_descriptor(const void *data)
{
  handle h;
  trailer t;
  if (!handle_read(data, &h)) return -1;
  pthread_mutex_lock(&files.lock);
  const zocl_file *file = files.first;
  while (file != NULL && !(file->number == h.number &&
                           file->descriptor == h.descriptor))
    file = file->next;
  pthread_mutex_unlock(&files.lock);
  if (file != NULL) return h.descriptor;
  if (trailer_read(h.descriptor, &t) && t.number == h.number)
    return h.descriptor;
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the handle's descriptor is not one of this process");
  return -1;
}
