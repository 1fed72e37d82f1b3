/*
 * lze_tuned.c - the group sizes that lze.tune has found, stored on disk.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_group.h"
#include "launch/lze_kernel.h"

#include <stdlib.h>
#include <string.h>

/* Returns the key of a class of ranges that share a size: ranges with equally
   many dimensions and binary digits in each or, if the size must divide the
   range, only this range. */
static cache_key tuned_key(const lze_Kernel *k, const lze_GroupInput *in) {
  cache_key key = k->module->key;
  cache_key_add(&key, k->info->label, strlen(k->info->label));
  cache_key_add(&key, &in->dims, sizeof in->dims);
  for (int d = 0; d < in->dims; d++) {
    uint64_t n = in->global[d];
    if (in->guards) {
      uint64_t digits = 0;
      for (; n != 0; n /= 2) digits++;
      n = digits;
    }
    cache_key_add(&key, &n, sizeof n);
  }
  return key;
}

void lze_tuned_group(const lze_Kernel *k, const lze_GroupInput *in,
                     uint32_t size[3]) {
  cache_key key = tuned_key(k, in);
  size_t bytes = 0;
  unsigned char *entry = cache_read("tuned", &key, &bytes);
  memset(size, 0, 3 * sizeof *size);
  if (entry != NULL && bytes == 3 * sizeof *size) memcpy(size, entry, bytes);
  if (size[0] == 0 || size[1] == 0 || size[2] == 0)
    memset(size, 0, 3 * sizeof *size);
  free(entry);
}

bool lze_tuned_keep(const lze_Kernel *k, const lze_GroupInput *in,
                    const uint32_t size[3]) {
  cache_key key = tuned_key(k, in);
  uint32_t back[3];
  cache_write("tuned", &key, size, 3 * sizeof *size);
  lze_tuned_group(k, in, back);
  return memcmp(back, size, sizeof back) == 0;
}
