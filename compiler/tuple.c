/*
 * tuple.c - tables that are only an index, as {i, j} in a[{i, j}].
 * SPDX-License-Identifier: MIT
 *
 * No table is made: its items are kept in variables until the array is indexed.
 */
#include "compile.h"

#define WRONG_COUNT "an index has 1 to %d numbers"

bool tuple_is_made(const proto *p, size_t pc) {
  uint32_t made = p->code[pc];
  unsigned reg = GET_A(made);
  bool listed = false;
  if (GET_B(made) != 0 || GET_K(made) || GET_C(made) > LZC_MOST_RANK)
    return false;
  /* The following code uses registers above this one until the table is
     used. */
  for (size_t n = pc + 1; n < p->code_count; n++) {
    uint32_t i = p->code[n];
    opcode op = GET_OP(i);
    if (listed && ((op == OP_GETTABLE && GET_C(i) == reg) ||
                   (op == OP_SETTABLE && GET_B(i) == reg)))
      return chunk_local(p, reg, n) == NULL;
    bool lists = op == OP_SETLIST && GET_A(i) == reg;
    if (lists ? listed : writes(p, n, reg)) return false;
    listed |= lists;
  }
  return false;
}

/* Returns the tuple of the SETLIST at pc. */
static tuple *tuple_at(compiler *c, size_t pc, size_t *index) {
  for (*index = 0; *index < c->tuple_count; ++*index)
    if (c->tuples[*index]->made_in == c->at &&
        c->tuples[*index]->made_at == pc)
      return c->tuples[*index];
  c->tuples = arena_grow(c->a, c->tuples, c->tuple_count, &c->tuple_room,
                         sizeof *c->tuples);
  tuple *t = arena_new(c->a, 1, sizeof *t);
  if (t == NULL || c->tuple_count >= 0xfffffe) return NULL;
  t->made_in = c->at;
  t->made_at = pc;
  c->tuples[c->tuple_count++] = t;
  return t;
}

void tuple_set(compiler *c, size_t pc) {
  uint32_t i = c->at->p->code[pc];
  unsigned a = GET_A(i), count = GET_B(i);
  if (count == 0 && c->at->top > a) count = c->at->top - a - 1;
  size_t index;
  tuple *t = tuple_at(c, pc, &index);
  if (t == NULL) return;
  if (GET_C(i) != 0 || GET_K(i) || count < 1 || count > LZC_MOST_RANK) {
    finding(c, NULL, WRONG_COUNT, LZC_MOST_RANK);
    c->state[a] = T_TOLD;
    return;
  }
  t->count = count;
  for (unsigned k = 0; k < count; k++) {
    val v = surely(get(c, a + 1 + k));
    int64_t n;
    t->types[k] = v.type;
    if (KIND(v.type) != T_INT && (v.type != T_NONE || c->emit))
      finding(c, NULL, "index %u must be an integer, this is %s (`//` and "
              "math.floor give integers)", k + 1, what(c, v.type));
    if (!c->emit || KIND(v.type) != T_INT || constant_of(c, v.type, &n))
      continue;
    if (t->variables[k] == 0) t->variables[k] = variable_new(c, t_of(c, T_INT));
    WRITE(&c->w, WRITER_BODY, SpvOpStore, t->variables[k], v.id);
  }
  c->state[a] = TYPE(T_TUPLE, index + 1);
}

/* Returns the array that a tuple of `count` numbers indexes. */
static known *array_of(compiler *c, unsigned reg, unsigned count) {
  val v = get(c, reg);
  known *k = KIND(v.type) == T_VALUE ? c->knowns[DATA(v.type)] : NULL;
  bool is_array = k != NULL && k->value.kind == LZC_ARRAY;
  if (k == NULL || (!is_array && k->value.kind != LZC_BUFFER)) {
    not_indexed(c, reg, v.type);
    return NULL;
  }
  if (k->value.kind == LZC_BUFFER && k->value.rank == 0) {
    if (count > 1) k->value.kind = LZC_ARRAY;
    k->value.rank = count;
  }
  if (k->value.rank == count) return k;
  if (is_array)
    finding(c, known_name(c, k), "is an array of %u dimensions; %u indices "
            "stand here", k->value.rank, count);
  else
    finding(c, known_name(c, k), "is a buffer; an array of %u dimensions is "
            "needed here", count);
  return NULL;
}

/* Returns an index from 0, of 64 bits; negative ones count from the end.
   *as_given is the index as written. */
static uint32_t index_of(compiler *c, known *k, const tuple *t, unsigned d,
                         uint32_t *as_given) {
  uint32_t w = t_int(c, 64), one = k_int(c, 64, 1);
  int64_t n;
  if (constant_of(c, t->types[d], &n)) {
    *as_given = k_int(c, 64, n);
    return n < 0 ? op2(c, SpvOpIAdd, w, known_shape(c, k, d + 1), *as_given)
                 : k_int(c, 64, n - 1);
  }
  val v = {T_INT, op1(c, SpvOpLoad, t_of(c, T_INT), t->variables[d]), 0};
  uint32_t i = *as_given = to_index(c, v);
  uint32_t from0 = op2(c, SpvOpISub, w, i, one);
  if (range_of(c, t->types[d]).least >= 0) return from0;
  return op3(c, SpvOpSelect, w,
             logical(c, SpvOpSLessThan, i, k_int(c, 64, 0)),
             op2(c, SpvOpIAdd, w, i, known_shape(c, k, d + 1)), from0);
}

known *tuple_index(compiler *c, unsigned reg, type index, spot *at) {
  if (DATA(index) == 0) { /* no SETLIST was reached: a damaged chunk */
    if (c->emit) finding(c, NULL, WRONG_COUNT, LZC_MOST_RANK);
    return NULL;
  }
  const tuple *t = c->tuples[DATA(index) - 1];
  known *k = array_of(c, reg, t->count);
  if (!c->emit || k == NULL) return k;
  uint32_t w = t_int(c, 64);
  at->count = t->count;
  for (unsigned d = 0; d < t->count; d++) {
    if (KIND(t->types[d]) != T_INT) return NULL;
    uint32_t i = index_of(c, k, t, d, &at->index[d]);
    if (at->asked) {
      at->size[d] = known_shape(c, k, d + 1);
      uint32_t inside = logical(c, SpvOpULessThan, i, at->size[d]);
      at->there = d == 0 ? inside
                         : logical(c, SpvOpLogicalAnd, at->there, inside);
    }
    at->offset = d == 0 ? i
                 : op2(c, SpvOpIAdd, w,
                       op2(c, SpvOpIMul, w, at->offset,
                           known_shape(c, k, d + 1)), i);
  }
  return k;
}
