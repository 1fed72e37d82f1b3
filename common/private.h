/*
 * private.h - directories that no other user can reach into.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_PRIVATE_H
#define LZE_PRIVATE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a directory if it belongs to this user, no other user can enter it and
   its name is not a link; -1 otherwise, with errno.  What is in it is then
   reached by the descriptor, as the path may lead elsewhere a moment later. */
static inline int private_open(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  struct stat st;
  if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
                  (st.st_mode & 077) != 0)) {
    close(fd);
    fd = -1;
    errno = EACCES;
  }
  return fd;
}

#endif
