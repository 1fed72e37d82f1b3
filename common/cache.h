/*
 * cache.h - results that are expensive to make, kept on disk.
 * SPDX-License-Identifier: MIT
 *
 * Entries are in $XDG_CACHE_HOME/lze or ~/.cache/lze. The directory must
 * belong to this user and be closed to all others, because its contents get
 * executed; otherwise, and with LZE_CACHE=off, nothing is cached. A home
 * directory is never created. An entry is
 * written under another name and then renamed, so that processes never read
 * half an entry. A damaged entry is ignored.
 */
#ifndef LZE_CACHE_H
#define LZE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identifies an entry: hash everything its contents depend on into the key. */
typedef struct cache_key {
  uint64_t h[2];
} cache_key;

/* Start with CACHE_KEY_INIT. The size is hashed, too, so that pieces cannot run
   into each other. */
#define CACHE_KEY_INIT ((cache_key){{0x6c7a65, 0x6b6579}})
void cache_key_add(cache_key *key, const void *bytes, size_t size);
/* Adds the path, size and modification time of a file, for example a tool. */
void cache_key_add_file(cache_key *key, const char *path);

/* Returns the entry, malloc'ed, or NULL. `kind` becomes the file's suffix. */
unsigned char *cache_read(const char *kind, const cache_key *key,
                          size_t *size);
/* Writes an entry. Failures are silent, as they only cost time later. Removes
   the least recently used entries if the cache exceeds its limit. */
void cache_write(const char *kind, const cache_key *key, const void *bytes,
                 size_t size);

/* Locks a key until cache_unlock(), so that other processes and threads do not
   make the same entry. Waits for their lock for at most `seconds`, and while
   `watch`, if not NULL, returns true. Returns the argument for cache_unlock(),
   even without a cache or if the wait took too long. */
int cache_lock(const cache_key *key, int seconds, bool (*watch)(void *of),
               void *of);
void cache_unlock(int lock);

/* Returns true if `path` lies in HOME, which names no directory: then nothing
   may be made there. */
bool cache_is_homeless(const char *path);
/* Make `path`, the directories above it exist, or take what is there.  Returns
   true if it is a directory of this user that no other can enter. */
bool cache_make_private(const char *path);

/* Returns the directory in use, malloc'ed, or NULL without a cache. */
char *cache_directory(void);
/* Returns true if caching is wanted but impossible, and explains why in
   `text`. */
bool cache_problem(char *text, size_t size);
/* Sets the number and bytes of all entries; removes them first if `clear`. */
void cache_count(int clear, size_t *entries, uint64_t *bytes);

#endif
