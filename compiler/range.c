/*
 * range.c - bounds of integers, as far as their types contain them.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

/* `least` is tracked up to this limit for a sum or product without a known
   `most`. */
enum { LEAST_LIMIT = 0x10000 };

static const range ANY = {INT64_MIN, INT64_MAX};

/* Returns the slot of r in the hash table of ranges, or a free one for it. */
static uint32_t *slot_of(compiler *c, range r) {
  size_t mask = c->range_slots - 1;
  uint64_t hash = (uint64_t)r.least * 3 + (uint64_t)r.most;
  size_t at = hash * 0x9e3779b97f4a7c15u >> 32 & mask;
  for (;; at = (at + 1) & mask) {
    uint32_t *slot = &c->range_index[at];
    if (*slot == 0 || (c->ranges[*slot - 1].least == r.least &&
                       c->ranges[*slot - 1].most == r.most))
      return slot;
  }
}

type type_range(compiler *c, int64_t least, int64_t most) {
  range r = {least, most};
  if (least == INT64_MIN && most == INT64_MAX) return T_INT;
  if (c->range_count * 2 >= c->range_slots) {
    size_t size = c->range_slots == 0 ? 64 : c->range_slots * 2;
    uint32_t *index = arena_new(c->a, size, sizeof *index);
    if (index == NULL) return T_INT;
    c->range_index = index;
    c->range_slots = size;
    for (size_t i = 0; i < c->range_count; i++)
      *slot_of(c, c->ranges[i]) = (uint32_t)i + 1;
  }
  uint32_t *slot = slot_of(c, r);
  if (*slot == 0) {
    c->ranges = arena_grow(c->a, c->ranges, c->range_count, &c->range_room,
                           sizeof *c->ranges);
    if (c->a->failed || c->range_count >= 0xfffff) return T_INT;
    c->ranges[c->range_count++] = r;
    *slot = (uint32_t)c->range_count;
  }
  return TYPE(T_INT, *slot);
}

static range named(const compiler *c, type t) {
  if (KIND(t) != T_INT || DATA(t) == 0 || (DATA(t) & CAPTURED)) return ANY;
  return c->ranges[DATA(t) - 1];
}

/* Constants that do not fit into this kernel's integers are wrapped. */
range range_of(const compiler *c, type t) {
  range r = named(c, t);
  return range_is_sure(r) && !range_fits(r, c->int_bits) ? ANY : r;
}

bool constant_of(const compiler *c, type t, int64_t *n) {
  range r = named(c, t);
  if (r.least != r.most) return false;
  *n = r.least;
  return true;
}

bool range_is_sure(range r) { return r.most != INT64_MAX; }

bool range_fits(range r, unsigned bits) {
  int64_t edge = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
  return range_is_sure(r) && r.least >= -edge - 1 && r.most <= edge;
}

/* Returns the least or most of a set extended by n: a value far from n, so that
   a range that grows in a loop soon includes all integers. */
static int64_t lower(int64_t least, int64_t n) {
  return n >= least ? least : n >= 0 ? 0 : n >= INT32_MIN ? INT32_MIN
                                                          : INT64_MIN;
}
static int64_t upper(int64_t most, int64_t n) {
  return n <= most ? most : n <= INT32_MAX ? INT32_MAX : INT64_MAX;
}

type range_join(compiler *c, type a, type b) {
  range x = range_of(c, a), y = range_of(c, b);
  range r = {lower(x.least, y.least), upper(x.most, y.most)};
  /* A value that grew beyond all numbers may have wrapped. */
  if (!range_is_sure(r) && range_is_sure(x)) return T_INT;
  return r.least == INT64_MIN ? T_INT : type_range(c, r.least, r.most);
}

/* --- results ------------------------------------------------------------- */

static void extend(range *r, int64_t n) {
  if (n < r->least) r->least = n;
  if (n > r->most) r->most = n;
}

static int64_t quotient(int64_t a, int64_t b) { /* b > 0 */
  return a / b - (a % b < 0);
}

/* Returns the next 2^k - 1. */
static int64_t all_ones(int64_t n) {
  for (int k = 1; k < 64; k *= 2) n |= n >> k;
  return n;
}

/* Computes the range of a result if both ranges are sure; false if it is
   unknown, or the result may wrap. */
static bool sure_result(opcode op, range x, range y, range *r) {
  int64_t n, ends[] = {x.least, x.most};
  *r = (range){INT64_MAX, INT64_MIN};
  if ((op == OP_BOR || op == OP_BXOR) && x.least >= 0 && y.least >= 0) {
    *r = (range){0, all_ones(x.most | y.most)};
    return true;
  }
  for (int i = 0; i < 4; i++) {
    int64_t a = ends[i & 1], b = i & 2 ? y.most : y.least;
    switch (op) {
      case OP_ADD: if (__builtin_add_overflow(a, b, &n)) return false; break;
      case OP_SUB: if (__builtin_sub_overflow(a, b, &n)) return false; break;
      case OP_MUL: if (__builtin_mul_overflow(a, b, &n)) return false; break;
      case OP_IDIV:
        if (y.least <= 0) return false;
        n = quotient(a, b);
        break;
      default: return false;
    }
    extend(r, n);
  }
  return true;
}

/* `a << n`; n < 0: `a >> -n`. */
static range shifted(range x, int64_t n, int bits) {
  bool positive = range_is_sure(x) && x.least >= 0;
  range r = ANY;
  if (n <= -bits || n >= bits) {
    r = (range){0, 0};
  } else if (n < 0) {
    int64_t all = (int64_t)(~(uint64_t)0 >> (64 - bits) >> -n);
    r = positive ? (range){x.least >> -n, x.most >> -n} : (range){0, all};
  } else if (positive && x.most >> (bits - 1 - n) == 0) {
    r = (range){x.least << n, x.most << n};
  }
  return r;
}

/* Returns the type of a result from the lower bounds alone. */
static type least_result(compiler *c, opcode op, range x, range y) {
  bool fixed = y.least == y.most;
  if (x.least <= -LEAST_LIMIT || x.least >= LEAST_LIMIT ||
      y.least <= -LEAST_LIMIT || y.least >= LEAST_LIMIT)
    return T_INT;
  int64_t n;
  if (op == OP_ADD) n = x.least + y.least;
  else if (op == OP_SUB && fixed) n = x.least - y.least;
  else if (op == OP_MUL && x.least >= 0 && y.least >= 0) n = x.least * y.least;
  else if (op == OP_IDIV && fixed && x.least >= 0 && y.least > 0) n = 0;
  else return T_INT;
  return n > -LEAST_LIMIT && n < LEAST_LIMIT ? type_range(c, n, INT64_MAX)
                                             : T_INT;
}

type range_result(compiler *c, opcode op, type a, type b) {
  range x = range_of(c, a), y = range_of(c, b), r;
  bool both = range_is_sure(x) && range_is_sure(y);
  if (op == OP_MOD && range_is_sure(y) && y.least > 0) {
    bool less = range_is_sure(x) && x.least >= 0 && x.most < y.most;
    return type_range(c, 0, less ? x.most : y.most - 1);
  }
  if (op == OP_BAND) {
    int64_t most = INT64_MAX;
    if (range_is_sure(x) && x.least >= 0) most = x.most;
    if (range_is_sure(y) && y.least >= 0 && y.most < most) most = y.most;
    return most == INT64_MAX ? T_INT : type_range(c, 0, most);
  }
  int64_t n;
  if ((op == OP_SHL || op == OP_SHR) && constant_of(c, b, &n) && n > -64) {
    r = n == 0 ? x : shifted(x, op == OP_SHL ? n : -n, (int)c->int_bits);
    return type_range(c, r.least, r.most);
  }
  if (both && sure_result(op, x, y, &r) && range_fits(r, c->int_bits))
    return type_range(c, r.least, r.most);
  return least_result(c, op, x, y);
}
