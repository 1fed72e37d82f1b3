/*
 * io.h - reading and writing all bytes despite interruptions.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_IO_H
#define LZE_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Reads exactly `size` bytes; returns false on an error or an early end. */
static inline bool io_read_all(int fd, void *bytes, size_t size) {
  char *p = bytes;
  while (size > 0) {
    ssize_t n = read(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

static inline bool io_write_all(int fd, const void *bytes, size_t size) {
  const char *p = bytes;
  while (size > 0) {
    ssize_t n = write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

#endif
