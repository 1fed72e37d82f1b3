/*
 * lze_schedule.h - the order in which the steps of a plan run.
 * SPDX-License-Identifier: MIT
 *
 * All of it without Lua and without a driver.
 */
#ifndef LZE_SCHEDULE_H
#define LZE_SCHEDULE_H

#include "run/lze_buffer.h"

/* A growing array of numbers of steps. */
typedef struct lze_Numbers {
  uint32_t *items;
  uint32_t count, capacity;
} lze_Numbers;

/* One more; false without memory. */
bool lze_numbers_add(lze_Numbers *n, uint32_t item);

/* What is to be ordered: step i comes after those before it in the array that
   it conflicts with, and after those in `after`, which are before it too. */
typedef struct lze_Node {
  lze_Access *accesses;
  uint32_t access_count, access_capacity;
  lze_Numbers after;
  uint32_t engine;          /* it runs in a lane of this engine */
  bool host;                /* runs on the host, when all before it is done */
  /* found: */
  lze_Numbers deps;         /* the fewest that imply all others, ascending */
  uint32_t segment;         /* what hosts' steps lie between; from 0 */
  uint32_t lane;
  bool barrier;             /* it comes after a step of its own lane that no
                               barrier has waited for yet */
  bool awaited;             /* a step of another lane comes after it */
} lze_Node;

enum { LZE_MAX_LANES = 32 };

typedef struct lze_Schedule {
  uint32_t segment_count, lane_count;
  uint32_t lane_engine[LZE_MAX_LANES];
  size_t row;               /* words in a row of `reach` */
  uint64_t *reach;          /* row i has bit j: i comes after j; malloc'ed */
} lze_Schedule;

bool lze_access_add(lze_Node *node, const lze_Access *access);
/* A hash of more bytes than before; begins with 0. */
uint64_t lze_hash(uint64_t hash, const void *bytes, size_t size);
void lze_node_free(lze_Node *node);

/* Find the order.  `width` says how many lanes each engine has.  Lane 0 is of
   engine 0 and always there.  False without memory. */
bool lze_schedule(lze_Node *nodes, uint32_t count, const uint32_t *width,
                  uint32_t engines, lze_Schedule *s);
void lze_schedule_free(lze_Schedule *s);
/* Whether step i comes after step j. */
static inline bool lze_schedule_after(const lze_Schedule *s, uint32_t i,
                                      uint32_t j) {
  return s->reach[i * s->row + j / 64] >> j % 64 & 1;
}

/* Of buffers that share memory; that of every element type. */
enum { LZE_PLACE_ALIGNMENT = 128 };

/* A buffer that lives in a plan only. */
typedef struct lze_Transient {
  lze_Storage *storage;     /* what the nodes' accesses have for it */
  size_t bytes, offset;
} lze_Transient;

/* Give each a place so that two share bytes only if all uses of one come after
   all uses of the other.  Returns how many bytes they need together,
   SIZE_MAX without memory. */
size_t lze_schedule_place(const lze_Schedule *s, const lze_Node *nodes,
                          uint32_t count, lze_Transient *items, uint32_t n,
                          size_t alignment);

#endif
