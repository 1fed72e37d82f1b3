/*
 * cache.h - what is expensive to make, kept on disk for the next process.
 * SPDX-License-Identifier: MIT
 *
 * Entries lie in $XDG_CACHE_HOME/lze, else ~/.cache/lze, which must be a
 * directory of this user that no other can enter, because what is in it
 * gets executed; otherwise, and with LZE_CACHE=off, there is no cache.  An
 * entry is written under another name and renamed, so that several processes
 * do not see each other's half-written ones; a damaged one is ignored.
 */
#ifndef LZE_CACHE_H
#define LZE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an entry is the result of: hash everything it depends on into it. */
typedef struct cache_key {
  uint64_t h[2];
} cache_key;

/* Start with CACHE_KEY_INIT; the size is hashed too, so pieces cannot run
   into each other. */
#define CACHE_KEY_INIT ((cache_key){{0x6c7a65, 0x6b6579}})
void cache_key_add(cache_key *key, const void *bytes, size_t size);
/* The path, size and modification time of a file, such as a tool. */
void cache_key_add_file(cache_key *key, const char *path);

/* The entry, malloc'ed, or NULL.  `kind` becomes the file's suffix. */
unsigned char *cache_read(const char *kind, const cache_key *key,
                          size_t *size);
/* Keep an entry, or not: failure is silent, it only costs time later.  The
   least recently used entries go when the whole exceeds its size. */
void cache_write(const char *kind, const cache_key *key, const void *bytes,
                 size_t size);

/* Keep other processes and threads from making what the key stands for until
   cache_unlock(), or wait for those that do, `seconds` at most, and as long as
   `watch`, if it is not NULL, returns true.  Returns what cache_unlock() takes,
   also where it is in vain: without a cache, or when it took too long. */
int cache_lock(const cache_key *key, int seconds, bool (*watch)(void *of),
               void *of);
void cache_unlock(int lock);

/* The directory in use, malloc'ed, or NULL where there is none. */
char *cache_directory(void);
/* Why there is none although one is wanted, in words; false otherwise. */
bool cache_problem(char *text, size_t size);
/* The number and bytes of all entries; removes them first if `clear`. */
void cache_count(int clear, size_t *entries, uint64_t *bytes);

#endif
