/*
 * lze_schedule.c - the dependencies and lanes of a plan's steps.
 * SPDX-License-Identifier: MIT
 *
 * Steps are given in the order in which they were recorded, which is a valid
 * order. Their accesses determine which steps must stay in order. Other steps
 * may overlap; they do so in lanes, which are lists on separate queues.
 */
#include "plan/lze_schedule.h"
#include "base/lze_vector.h"
#include "memory/lze_buffer.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NOWHERE = UINT32_MAX;

bool lze_numbers_add(lze_Numbers *n, uint32_t item) {
  if (!LZE_VECTOR_GROW(n->items, n->count, n->capacity)) return false;
  n->items[n->count++] = item;
  return true;
}

uint64_t lze_hash(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ p[i]) * UINT64_C(0x100000001b3) + 1; /* FNV's prime */
  return hash;
}

bool lze_access_add(lze_Node *node, const lze_Access *access) {
  if (!LZE_VECTOR_GROW(node->accesses, node->access_count,
                      node->access_capacity))
    return false;
  node->accesses[node->access_count++] = *access;
  return true;
}

void lze_node_free(lze_Node *node) {
  free(node->accesses);
  free(node->after.items);
  free(node->deps.items);
  memset(node, 0, sizeof *node);
}

void lze_schedule_free(lze_Schedule *s) {
  free(s->reach);
  s->reach = NULL;
}

/* --- dependencies ------------------------------------------------------- */

/* The accesses to one storage so far, newest first. */
typedef struct Past {
  const lze_Access *access;
  uint32_t node;
  uint32_t before;              /* index of the next older access, or NOWHERE */
} Past;

typedef struct Finder {
  lze_Storage **storages;
  uint32_t *newest;             /* of each storage, into `pasts` */
  uint32_t storage_count;
  Past *pasts;
  uint32_t past_count;
  uint64_t *wanted;             /* bits for the nodes that the current one
                                   conflicts with */
} Finder;

static bool access_conflicts(const lze_Access *a, const lze_Access *b) {
  return (a->write || b->write) && a->first < b->last && b->first < a->last;
}

static uint32_t finder_storage(Finder *f, lze_Storage *storage) {
  for (uint32_t i = f->storage_count; i-- > 0;)
    if (f->storages[i] == storage) return i;
  f->storages[f->storage_count] = storage;
  f->newest[f->storage_count] = NOWHERE;
  return f->storage_count++;
}

/* Marks the nodes that conflict with an access. An earlier write that covers
   the access has already waited for everything before it. */
static void finder_mark(Finder *f, const lze_Access *a) {
  uint32_t p = f->newest[finder_storage(f, a->storage)];
  for (; p != NOWHERE; p = f->pasts[p].before) {
    const lze_Access *old = f->pasts[p].access;
    if (!access_conflicts(a, old)) continue;
    f->wanted[f->pasts[p].node / 64] |= (uint64_t)1 << f->pasts[p].node % 64;
    if (old->write && old->first <= a->first && old->last >= a->last) return;
  }
}

static void finder_remember(Finder *f, const lze_Access *a, uint32_t node) {
  uint32_t storage = finder_storage(f, a->storage);
  f->pasts[f->past_count] = (Past){a, node, f->newest[storage]};
  f->newest[storage] = f->past_count++;
}

/* Reduces the wanted row of node i to the fewest dependencies: goes from
   newest to oldest, and skips nodes that are implied by others. */
static bool node_reduce(lze_Node *nodes, uint32_t i, lze_Schedule *s,
                        const uint64_t *wanted) {
  uint64_t *mine = &s->reach[i * s->row];
  lze_Node *n = &nodes[i];
  n->deps.count = 0;
  for (uint32_t j = i; j-- > 0;) {
    if (!(wanted[j / 64] >> j % 64 & 1) || lze_schedule_after(s, i, j))
      continue;
    if (!lze_numbers_add(&n->deps, j)) return false;
    const uint64_t *theirs = &s->reach[j * s->row];
    for (size_t w = 0; w <= j / 64; w++) mine[w] |= theirs[w];
    mine[j / 64] |= (uint64_t)1 << j % 64;
  }
  for (uint32_t a = 0, b = n->deps.count; a + 1 < b; a++, b--) {
    uint32_t t = n->deps.items[a];
    n->deps.items[a] = n->deps.items[b - 1];
    n->deps.items[b - 1] = t;
  }
  return true;
}

/* Fills f->wanted for node i. A host step comes after all earlier steps and
   before all later ones; dependencies on its neighbours imply the rest. */
static void node_find(Finder *f, const lze_Node *nodes, uint32_t i,
                      uint32_t host, size_t row) {
  const lze_Node *n = &nodes[i];
  memset(f->wanted, 0, row * sizeof *f->wanted);
  for (uint32_t a = 0; a < n->access_count; a++)
    finder_mark(f, &n->accesses[a]);
  for (uint32_t a = 0; a < n->access_count; a++)
    finder_remember(f, &n->accesses[a], i);
  for (uint32_t a = 0; a < n->after.count; a++) {
    uint32_t j = n->after.items[a];
    f->wanted[j / 64] |= (uint64_t)1 << j % 64;
  }
  if (host != NOWHERE) f->wanted[host / 64] |= (uint64_t)1 << host % 64;
  for (uint32_t j = host == NOWHERE ? 0 : host; n->host && j < i; j++)
    f->wanted[j / 64] |= (uint64_t)1 << j % 64;
}

static bool schedule_depend(lze_Node *nodes, uint32_t count,
                            lze_Schedule *s) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; i++) total += nodes[i].access_count;
  s->row = count / 64 + 1;
  s->reach = calloc(s->row * (count + 1), sizeof *s->reach);
  Finder f = {.storages = malloc((total + 1) * sizeof *f.storages),
              .newest = malloc((total + 1) * sizeof *f.newest),
              .pasts = malloc((total + 1) * sizeof *f.pasts),
              .wanted = malloc(s->row * sizeof *f.wanted)};
  bool good = s->reach != NULL && f.storages != NULL && f.newest != NULL &&
              f.pasts != NULL && f.wanted != NULL;
  uint32_t segment = 0, host = NOWHERE;
  for (uint32_t i = 0; i < count && good; i++) {
    node_find(&f, nodes, i, host, s->row);
    good = node_reduce(nodes, i, s, f.wanted);
    nodes[i].segment = segment;
    if (nodes[i].host) {
      segment++;
      host = i;
    }
  }
  s->segment_count = segment + 1;
  free(f.storages);
  free(f.newest);
  free(f.pasts);
  free(f.wanted);
  return good;
}

/* --- lanes -------------------------------------------------------------- */

typedef struct Lanes {
  uint32_t last[LZE_MAX_LANES];    /* the newest node, or NOWHERE */
  uint32_t load[LZE_MAX_LANES];    /* number of nodes in this segment */
  uint32_t barrier[LZE_MAX_LANES]; /* nodes before this one have been waited
                                      for */
} Lanes;

static void lanes_reset(Lanes *l) {
  for (int i = 0; i < LZE_MAX_LANES; i++) {
    l->last[i] = NOWHERE;
    l->load[i] = l->barrier[i] = 0;
  }
}

/* Returns the lane for node n: a lane whose last node is a dependency of n, so
   that chains stay together; else an empty lane; else the lane with the fewest
   nodes if n has no dependencies, or the lane of its newest dependency. */
static uint32_t lanes_choose(const Lanes *l, const lze_Node *nodes,
                             const lze_Node *n, const lze_Schedule *s) {
  uint32_t newest = NOWHERE, emptiest = NOWHERE;
  for (uint32_t d = n->deps.count; d-- > 0;) {
    const lze_Node *dep = &nodes[n->deps.items[d]];
    if (dep->host || dep->segment != n->segment ||
        s->lane_engine[dep->lane] != n->engine)
      continue;
    if (l->last[dep->lane] == n->deps.items[d]) return dep->lane;
    if (newest == NOWHERE) newest = dep->lane;
  }
  for (uint32_t i = 0; i < s->lane_count; i++)
    if (s->lane_engine[i] == n->engine &&
        (emptiest == NOWHERE || l->load[i] < l->load[emptiest]))
      emptiest = i;
  return newest == NOWHERE || l->load[emptiest] == 0 ? emptiest : newest;
}

static void schedule_lanes(lze_Node *nodes, uint32_t count,
                           lze_Schedule *s) {
  Lanes lanes;
  uint32_t segment = NOWHERE;
  for (uint32_t i = 0; i < count; i++) {
    lze_Node *n = &nodes[i];
    n->barrier = n->awaited = false;
    n->lane = 0;
    if (n->host) continue;
    if (n->segment != segment) lanes_reset(&lanes);
    segment = n->segment;
    n->lane = lanes_choose(&lanes, nodes, n, s);
    for (uint32_t d = 0; d < n->deps.count; d++) {
      lze_Node *dep = &nodes[n->deps.items[d]];
      if (dep->host || dep->segment != n->segment) continue;
      if (dep->lane != n->lane)
        dep->awaited = true;
      else if (n->deps.items[d] >= lanes.barrier[n->lane])
        n->barrier = true;
    }
    if (n->barrier) lanes.barrier[n->lane] = i;
    lanes.last[n->lane] = i;
    lanes.load[n->lane]++;
  }
}

bool lze_schedule(lze_Node *nodes, uint32_t count, const uint32_t *width,
                  uint32_t engines, lze_Schedule *s) {
  memset(s, 0, sizeof *s);
  for (uint32_t e = 0; e < engines; e++)
    for (uint32_t i = 0; i < (width[e] > 0 ? width[e] : 1); i++)
      if (s->lane_count < LZE_MAX_LANES) s->lane_engine[s->lane_count++] = e;
  if (!schedule_depend(nodes, count, s)) return false;
  schedule_lanes(nodes, count, s);
  return true;
}

/* --- transient memory --------------------------------------------------- */

/* Returns true if every use of b comes after every use of a. */
static bool transient_before(const lze_Schedule *s, const lze_Numbers *a,
                             const lze_Numbers *b) {
  for (uint32_t i = 0; i < b->count; i++)
    for (uint32_t j = 0; j < a->count; j++)
      if (!lze_schedule_after(s, b->items[i], a->items[j])) return false;
  return true;
}

/* Returns the lowest place for item i that avoids all placed items that may be
   in use at the same time. */
static size_t transient_place(const lze_Schedule *s,
                              const lze_Transient *items,
                              const lze_Numbers *users, const bool *placed,
                              uint32_t n, uint32_t i, size_t alignment) {
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t j = 0; j < n; j++) {
      if (!placed[j] || at + items[i].bytes <= items[j].offset ||
          items[j].offset + items[j].bytes <= at ||
          transient_before(s, &users[i], &users[j]) ||
          transient_before(s, &users[j], &users[i]))
        continue;
      at = items[j].offset + items[j].bytes;
      at = (at + alignment - 1) / alignment * alignment;
      moved = true;
    }
  }
  return at;
}

size_t lze_schedule_place(const lze_Schedule *s, const lze_Node *nodes,
                          uint32_t count, lze_Transient *items, uint32_t n,
                          size_t alignment) {
  lze_Numbers *users = calloc(n + 1, sizeof *users);
  bool *placed = calloc(n + 1, sizeof *placed);
  bool good = users != NULL && placed != NULL;
  for (uint32_t i = 0; i < count && good; i++)
    for (uint32_t a = 0; a < nodes[i].access_count && good; a++)
      for (uint32_t t = 0; t < n && good; t++)
        if (items[t].storage == nodes[i].accesses[a].storage)
          good = lze_numbers_add(&users[t], i);
  size_t total = 0;
  for (uint32_t round = 0; round < n && good; round++) {
    uint32_t i = NOWHERE; /* the largest item without a place */
    for (uint32_t j = 0; j < n; j++)
      if (!placed[j] && (i == NOWHERE || items[j].bytes > items[i].bytes))
        i = j;
    items[i].offset =
        transient_place(s, items, users, placed, n, i, alignment);
    placed[i] = true;
    if (items[i].offset + items[i].bytes > total)
      total = items[i].offset + items[i].bytes;
  }
  for (uint32_t t = 0; t < n && users != NULL; t++) free(users[t].items);
  free(users);
  free(placed);
  return good ? total : SIZE_MAX;
}
