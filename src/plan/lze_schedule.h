/*
 * lze_schedule.h - the order in which a plan's steps run.
 * SPDX-License-Identifier: MIT
 *
 * This code uses neither Lua nor a driver.
 */
#ifndef LZE_SCHEDULE_H
#define LZE_SCHEDULE_H

#include "memory/lze_buffer.h"

/* A growing array of step numbers. */
typedef struct lze_Numbers {
  uint32_t *items;
  uint32_t count, capacity;
} lze_Numbers;

/* Appends a number; returns false if memory runs out. */
bool lze_numbers_add(lze_Numbers *n, uint32_t item);

/* A step to be ordered: step i comes after every earlier step in the array
   that it conflicts with, and after the steps in `after`, which must be
   earlier too. */
typedef struct lze_Node {
  lze_Access *accesses;
  uint32_t access_count, access_capacity;
  lze_Numbers after;
  uint32_t engine;          /* it runs in a lane of this engine */
  bool host;                /* runs on the host, after all earlier steps */
  /* results: */
  lze_Numbers deps;         /* the fewest that imply all others, ascending */
  uint32_t segment;         /* steps between host steps form a segment; from
                               0 */
  uint32_t lane;
  bool barrier;             /* it depends on a step of its lane that no barrier
                               has waited for yet */
  bool awaited;             /* a step of another lane depends on it */
} lze_Node;

enum { LZE_MAX_LANES = 32 };

typedef struct lze_Schedule {
  uint32_t segment_count, lane_count;
  uint32_t lane_engine[LZE_MAX_LANES];
  size_t row;               /* words in a row of `reach` */
  uint64_t *reach;          /* row i has bit j: i comes after j; malloc'ed */
} lze_Schedule;

bool lze_access_add(lze_Node *node, const lze_Access *access);
/* Extends a hash, initially 0, by more bytes. */
uint64_t lze_hash(uint64_t hash, const void *bytes, size_t size);
void lze_node_free(lze_Node *node);

/* Determines the order. `width` is the number of lanes of each engine. Lane 0
   belongs to engine 0 and always exists. Returns false if memory runs out. */
bool lze_schedule(lze_Node *nodes, uint32_t count, const uint32_t *width,
                  uint32_t engines, lze_Schedule *s);
void lze_schedule_free(lze_Schedule *s);
/* Returns true if step i comes after step j. */
static inline bool lze_schedule_after(const lze_Schedule *s, uint32_t i,
                                      uint32_t j) {
  return s->reach[i * s->row + j / 64] >> j % 64 & 1;
}

/* The alignment of buffers that share memory; sufficient for every element
   type. */
enum { LZE_PLACE_ALIGNMENT = 128 };

/* A buffer that exists only in a plan. */
typedef struct lze_Transient {
  lze_Storage *storage;     /* represents it in the nodes' accesses */
  size_t bytes, offset;
} lze_Transient;

/* Gives each buffer a place such that two buffers share bytes only if all uses
   of one come after all uses of the other. Returns the total size, or SIZE_MAX
   if memory runs out. */
size_t lze_schedule_place(const lze_Schedule *s, const lze_Node *nodes,
                          uint32_t count, lze_Transient *items, uint32_t n,
                          size_t alignment);

#endif
