/*
 * lze_group_pin.c - group sizes that the user pins: LZE_GROUP and k.group_hint.
 * SPDX-License-Identifier: MIT
 *
 * LZE_GROUP is a list of NAME=X, NAME=XxY or NAME=XxYxZ, separated by
 * semicolons or commas, which blanks may follow.  NAME is the name of a kernel
 * or, as graph.task, of a task.
 */
#include "launch/lze_kernel.h"

#include <string.h>

/* Reads a size such as "16x16" up to `end`.  Returns false if it is
   malformed. */
static bool read_size(const char *s, const char *end, uint32_t size[3]) {
  size[0] = size[1] = size[2] = 1;
  for (int d = 0; d < 3; d++) {
    uint64_t n = 0;
    const char *start = s;
    while (s < end && *s >= '0' && *s <= '9' && n <= UINT32_MAX)
      n = n * 10 + (uint64_t)(*s++ - '0');
    if (s == start || n == 0 || n > UINT32_MAX) return false;
    size[d] = (uint32_t)n;
    if (s == end) return true;
    if (*s++ != 'x') return false;
  }
  return false;
}

/* Reads the entry at `s`: the end of its name, its own end, and its size.
   Returns false if it is malformed. */
static bool read_entry(const char *s, const char **name_end, const char **end,
                       uint32_t size[3]) {
  *end = s + strcspn(s, ";,");
  *name_end = *end;
  while (*name_end > s && (*name_end)[-1] != '=') --*name_end;
  if (*name_end - s < 2) return false; /* no '=', or nothing before it */
  bool ok = read_size(*name_end, *end, size);
  --*name_end;
  return ok;
}

static const char *first_entry(const char *list) {
  return list + strspn(list, " ");
}

static const char *next_entry(const char *end) {
  return *end == '\0' ? end : first_entry(end + 1);
}

void lze_check_groups(lua_State *L, const char *list) {
  for (const char *s = first_entry(list), *name, *end; *s != '\0';
       s = next_entry(end)) {
    uint32_t size[3];
    if (read_entry(s, &name, &end, size)) continue;
    lua_pushlstring(L, s, (size_t)(end - s));
    luaL_error(L, "LZE_GROUP: '%s' is not NAME=SIZE, as in kernel=64 or "
                  "graph.task=16x16", lua_tostring(L, -1));
  }
}

static bool find_group(const char *list, const char *name, uint32_t size[3]) {
  size_t length = strlen(name);
  for (const char *s = first_entry(list), *name_end, *end; *s != '\0';
       s = next_entry(end)) {
    uint32_t read[3];
    if (!read_entry(s, &name_end, &end, read) ||
        (size_t)(name_end - s) != length || memcmp(s, name, length) != 0)
      continue;
    memcpy(size, read, sizeof read);
    return true;
  }
  return false;
}

const char *lze_pinned_group(const lze_Kernel *k, const char *task,
                             uint32_t size[3]) {
  const char *list = k->o.context->state->groups;
  if (list != NULL && ((task != NULL && find_group(list, task, size)) ||
                       find_group(list, k->info->label, size)))
    return "the group of LZE_GROUP";
  if (k->group_hint[0] == 0) return NULL;
  memcpy(size, k->group_hint, sizeof k->group_hint);
  return "the group_hint";
}
