/*
 * cache.c - results that are expensive to make, kept on disk.
 * SPDX-License-Identifier: MIT
 */
#include "cache.h"
#include "io.h"
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, NAME_SIZE = 96 };

/* The limit of all entries together: about a hundred modules of the sizes seen,
   and too little for users to miss the space. */
#define LIMIT_BYTES ((uint64_t)512 << 20)

/* Precedes each entry in its file. */
typedef struct header {
  char magic[8];
  cache_key key;
  uint64_t size, checksum;
} header;

static const char magic[8] = "lzecac1";

/* --- keys --------------------------------------------------------------- */

/* FNV-1a, 64 bits, and a final mix so that the last bytes affect all bits. */
static uint64_t hash(uint64_t seed, const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  uint64_t h = seed ^ 14695981039346656037u;
  for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * 1099511628211u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

void cache_key_add(cache_key *key, const void *bytes, size_t size) {
  for (uint64_t i = 0; i < 2; i++)
    key->h[i] = hash(hash(key->h[i] + i, &size, sizeof size), bytes, size);
}

void cache_key_add_file(cache_key *key, const char *path) {
  struct stat st;
  memset(&st, 0, sizeof st);
  if (stat(path, &st) != 0) st.st_size = -1;
  cache_key_add(key, path, strlen(path));
  cache_key_add(key, &st.st_size, sizeof st.st_size);
  cache_key_add(key, &st.st_mtim, sizeof st.st_mtim);
}

/* --- the directory ------------------------------------------------------ */

static bool directory_is_wanted(void) {
  const char *off = getenv("LZE_CACHE");
  return off == NULL || strcmp(off, "off") != 0;
}

static bool directory_path(char *path, size_t size) {
  const char *xdg = secure_getenv("XDG_CACHE_HOME");
  const char *home = secure_getenv("HOME");
  int n = -1;
  if (!directory_is_wanted()) return false;
  if (xdg != NULL && *xdg == '/')
    n = snprintf(path, size, "%s/lze", xdg);
  else if (home != NULL && *home == '/')
    n = snprintf(path, size, "%s/.cache/lze", home);
  return n > 0 && (size_t)n < size;
}

bool cache_is_homeless(const char *path) {
  const char *home = getenv("HOME");
  struct stat st;
  size_t n = home != NULL ? strlen(home) : 0;
  while (n > 0 && home[n - 1] == '/') n--;
  return n > 0 && strncmp(path, home, n) == 0 &&
         (path[n] == '/' || path[n] == '\0') &&
         (stat(home, &st) != 0 || !S_ISDIR(st.st_mode));
}

bool cache_make_private(const char *path) {
  mkdir(path, 0700);
  int fd = private_open(path);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* Opens the directory, and makes it first if `make` is set; returns -1 if
   nothing can be cached. */
static int directory_open(bool make) {
  char path[PATH_SIZE];
  if (!directory_path(path, sizeof path) || cache_is_homeless(path)) return -1;
  for (char *p = path + 1; make && *p != '\0'; p++)
    if (*p == '/') {
      *p = '\0';
      mkdir(path, 0700);
      *p = '/';
    }
  if (make) mkdir(path, 0700);
  return private_open(path);
}

char *cache_directory(void) {
  char path[PATH_SIZE];
  int fd = directory_open(true);
  if (fd < 0) return NULL;
  close(fd);
  return directory_path(path, sizeof path) ? strdup(path) : NULL;
}

bool cache_problem(char *text, size_t size) {
  char path[PATH_SIZE];
  char *directory = cache_directory();
  bool good = directory != NULL || !directory_is_wanted();
  free(directory);
  if (good) return false;
  if (!directory_path(path, sizeof path))
    snprintf(text, size, "neither XDG_CACHE_HOME nor HOME names a directory");
  else if (cache_is_homeless(path))
    snprintf(text, size, "HOME=%s is not a directory", getenv("HOME"));
  else
    snprintf(text, size, "%s is no directory for this user alone", path);
  return true;
}

/* Returns true if the file name is an entry's: two hashes, a dot, a kind. */
static bool is_entry(const char *name) {
  return strspn(name, "0123456789abcdef") == 32 && name[32] == '.' &&
         strchr(name + 33, '.') == NULL;
}

/* Returns true for the temporary file of a writer that was killed: writing one
   takes seconds. */
static bool is_left(const char *name, const struct stat *st) {
  enum { HOUR = 3600 };
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".tmp") == 0 &&
         strspn(name, "0123456789abcdef") == 32 &&
         st->st_mtime < time(NULL) - HOUR;
}

typedef struct entry {
  char name[NAME_SIZE];
  uint64_t bytes;
  struct timespec used;
} entry;

/* Returns all entries, malloc'ed, or NULL if there are no entries. Removes the
   files of killed processes. */
static entry *directory_list(int directory, size_t *count) {
  entry *entries = NULL;
  size_t capacity = 0;
  *count = 0;
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
  if (d == NULL) {
    if (copy >= 0) close(copy);
    return NULL;
  }
  struct dirent *e;
  while ((e = readdir(d)) != NULL) {
    struct stat st;
    size_t length = strlen(e->d_name);
    if (fstatat(directory, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
      continue;
    if (is_left(e->d_name, &st)) unlinkat(directory, e->d_name, 0);
    if (!is_entry(e->d_name) || length >= NAME_SIZE) continue;
    if (*count == capacity) {
      size_t wanted = capacity == 0 ? 64 : 2 * capacity;
      entry *more = realloc(entries, wanted * sizeof *more);
      if (more == NULL) break;
      entries = more;
      capacity = wanted;
    }
    entry *last = &entries[(*count)++];
    memcpy(last->name, e->d_name, length + 1);
    last->bytes = (uint64_t)st.st_size;
    last->used = st.st_mtim; /* a hit sets it */
  }
  closedir(d);
  return entries;
}

static int by_age(const void *a, const void *b) {
  const struct timespec *x = &((const entry *)a)->used;
  const struct timespec *y = &((const entry *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Removes the least recently used entries until the rest is within the
   limit. */
static void directory_trim(int directory) {
  size_t count;
  uint64_t total = 0;
  entry *entries = directory_list(directory, &count);
  for (size_t i = 0; i < count; i++) total += entries[i].bytes;
  if (total > LIMIT_BYTES) {
    qsort(entries, count, sizeof *entries, by_age);
    for (size_t i = 0; i < count && total > LIMIT_BYTES; i++) {
      unlinkat(directory, entries[i].name, 0);
      total -= entries[i].bytes;
    }
  }
  free(entries);
}

void cache_count(int clear, size_t *count, uint64_t *bytes) {
  *count = 0;
  *bytes = 0;
  int directory = directory_open(false);
  if (directory < 0) return;
  entry *entries = directory_list(directory, count);
  for (size_t i = 0; i < *count; i++) {
    if (clear) unlinkat(directory, entries[i].name, 0);
    *bytes += entries[i].bytes;
  }
  if (clear) {
    *count = 0;
    *bytes = 0;
  }
  free(entries);
  close(directory);
}

/* --- entries ------------------------------------------------------------ */

static void entry_name(const char *kind, const cache_key *key,
                       char name[NAME_SIZE]) {
  snprintf(name, NAME_SIZE, "%016llx%016llx.%.16s",
           (unsigned long long)key->h[0], (unsigned long long)key->h[1],
           kind);
}

unsigned char *cache_read(const char *kind, const cache_key *key,
                          size_t *size) {
  char name[NAME_SIZE];
  header h;
  struct stat st;
  unsigned char *bytes = NULL;
  int directory = directory_open(false);
  if (directory < 0) return NULL;
  entry_name(kind, key, name);
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  close(directory);
  if (fd < 0) return NULL;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
      io_read_all(fd, &h, sizeof h) &&
      memcmp(h.magic, magic, sizeof magic) == 0 &&
      memcmp(&h.key, key, sizeof *key) == 0 &&
      (uint64_t)st.st_size - sizeof h == h.size &&
      (bytes = malloc(h.size + 1)) != NULL &&
      (!io_read_all(fd, bytes, h.size) ||
       hash(0, bytes, h.size) != h.checksum)) {
    free(bytes);
    bytes = NULL;
  }
  if (bytes != NULL) {
    *size = h.size;
    futimens(fd, NULL); /* marks it as used; fails on a read-only file system */
  }
  close(fd);
  return bytes;
}

void cache_write(const char *kind, const cache_key *key, const void *bytes,
                 size_t size) {
  static _Atomic unsigned serial;
  char name[NAME_SIZE], temporary[NAME_SIZE + 48];
  header h = {.key = *key, .size = size, .checksum = hash(0, bytes, size)};
  memcpy(h.magic, magic, sizeof magic);
  int directory = directory_open(true);
  if (directory < 0) return;
  entry_name(kind, key, name);
  snprintf(temporary, sizeof temporary, "%s.%ld.%u.tmp", name,
           (long)getpid(), serial++);
  int fd = openat(directory, temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    bool ok = io_write_all(fd, &h, sizeof h) && io_write_all(fd, bytes, size);
    if (close(fd) != 0 || !ok ||
        renameat(directory, temporary, directory, name) != 0)
      unlinkat(directory, temporary, 0);
    else
      directory_trim(directory);
  }
  close(directory);
}

/* --- locks -------------------------------------------------------------- */

/* A lock is one byte of one file for each key, so that no files remain; it ends
   with its process, even if that is killed. */
int cache_lock(const cache_key *key, int seconds, bool (*watch)(void *of),
               void *of) {
  struct flock byte = {.l_type = F_WRLCK,
                       .l_whence = SEEK_SET,
                       .l_start = (off_t)(key->h[0] >> 2),
                       .l_len = 1};
  struct timespec start, now, nap = {.tv_nsec = 1000000};
  int directory = directory_open(true);
  if (directory < 0) return -1;
  int fd = openat(directory, "lock",
                  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  close(directory);
  if (fd < 0) return -1;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (fcntl(fd, F_OFD_SETLK, &byte) != 0 &&
         (errno == EAGAIN || errno == EACCES || errno == EINTR)) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start.tv_sec > seconds) break;
    if (watch != NULL && !watch(of)) break;
    nanosleep(&nap, NULL);
    if (nap.tv_nsec < 16000000) nap.tv_nsec *= 2;
  }
  return fd;
}

void cache_unlock(int fd) {
  if (fd < 0) return;
  /* Closing alone does not unlock if a fork has copied the descriptor. */
  struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  fcntl(fd, F_OFD_SETLK, &all);
  close(fd);
}
