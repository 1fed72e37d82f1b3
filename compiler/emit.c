/*
 * emit.c - blocks, branches and loops written as SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * One variable for each register and kind of number, plain branches, no phis.
 * Called functions are inlined.
 */
#include "compile.h"

#include <math.h>
#include <string.h>

/* --- numeric for ---------------------------------------------------------- */

/* Returns the condition for the body: at first, that the start is not beyond
   the limit; later, that the index is within it.  As in Lua, the two differ for
   NaNs. */
static uint32_t real_runs(compiler *c, bool first, uint32_t i, uint32_t limit,
                          uint32_t by) {
  uint32_t zero = k_real(c, 0);
  unsigned op = first ? SpvOpFUnordLessThanEqual : SpvOpFOrdLessThanEqual;
  uint32_t runs = op3(c, SpvOpSelect, t_bool(c),
                      logical(c, SpvOpFOrdGreaterThan, by, zero),
                      logical(c, op, i, limit), logical(c, op, limit, i));
  return logical(c, SpvOpLogicalAnd, runs,
                 logical(c, SpvOpFUnordNotEqual, by, zero));
}

static val loop_number(compiler *c, unsigned reg) {
  val v = surely(get(c, reg));
  if (IS_NUMBER(v.type)) return v;
  if (v.type != T_TOLD && (v.type != T_NONE || c->emit))
    finding(c, NULL, "`for` needs numbers for its start, limit and step");
  return v_int(c, 1);
}

/* Returns an integer loop's limit as an integer: a real is rounded towards the
   loop, as in Lua; *ok is false if it is beyond all integers the other way.
   Lua treats a NaN as less than all integers. */
static uint32_t integer_limit(compiler *c, val limit, uint32_t up,
                              uint32_t *ok) {
  *ok = 0;
  if (KIND(limit.type) == T_INT) return limit.id;
  uint32_t t = t_of(c, T_REAL);
  double edge = ldexp(1, (int)c->int_bits - 1);
  uint32_t r = op3(c, SpvOpSelect, t,
                   logical(c, SpvOpFUnordNotEqual, limit.id, limit.id),
                   k_real(c, -INFINITY), limit.id);
  uint32_t f = ext(c, OpenCLstd_Floor, t, 1, r, 0, 0);
  uint32_t g = ext(c, OpenCLstd_Ceil, t, 1, r, 0, 0);
  *ok = op3(c, SpvOpSelect, t_bool(c), up,
            logical(c, SpvOpFOrdGreaterThanEqual, r, k_real(c, -edge)),
            logical(c, SpvOpFOrdLessThan, r, k_real(c, edge)));
  return whole(c, op3(c, SpvOpSelect, t, up, f, g));
}

/* Returns the type of an index that counts upwards from a start, or its present
   value, to a limit; T_INT if the range is unknown. */
static type index_type(compiler *c, type start, type limit) {
  range x = range_of(c, start), y = range_of(c, limit);
  if (x.least == INT64_MIN) return T_INT;
  if (!range_is_sure(x)) return type_range(c, x.least, INT64_MAX);
  return type_range(c, x.least, y.most > x.least ? y.most : x.least);
}

void loop_leave(compiler *c, unsigned a) {
  loop_form at = c->at->p->loop;
  type *index = &c->state[a + at.index], *own = &c->state[a + at.variable];
  if (KIND(*index) == T_INT) *index = T_INT;
  if (KIND(*own) == T_INT) *own = T_INT;
}

static void set_index(compiler *c, unsigned a, val v) {
  loop_form at = c->at->p->loop;
  set(c, a + at.index, v);
  if (at.variable != at.index) set(c, a + at.variable, v);
}

uint32_t loop_prepare(compiler *c, size_t pc) {
  unsigned a = GET_A(c->at->p->code[pc]);
  loop_form at = c->at->p->loop;
  val i = loop_number(c, a), limit = loop_number(c, a + 1);
  val by = loop_number(c, a + 2);
  int64_t n = 0;
  bool fixed = constant_of(c, by.type, &n), upwards = fixed && n > 0;
  bool one = fixed && n == 1;
  if ((fixed && n == 0) || by.type == TYPE(T_REAL, ZERO))
    finding(c, NULL, "`for` has the step 0");
  check_step(c, by);
  meet(c, i.type, by.type);
  if (!is_sure_real(i.type) && !is_sure_real(by.type))
    meet(c, limit.type, T_INT);
  if (KIND(i.type) != T_INT || KIND(by.type) != T_INT) {
    i = to_real(c, i);
    limit = to_real(c, limit);
    by = to_real(c, by);
    set(c, a + at.limit, limit);
    set(c, a + at.step, by);
    set_index(c, a, i);
    return c->emit ? real_runs(c, true, i.id, limit.id, by.id) : 0;
  }
  if (!fixed) by.type = T_INT;
  i.type = upwards ? index_type(c, i.type, one ? limit.type : T_INT) : T_INT;
  type last = one && KIND(limit.type) == T_INT ? limit.type : T_INT;
  if (!c->emit) {
    c->state[a + at.limit] = last;
    c->state[a + at.step] = by.type;
    c->state[a + at.index] = c->state[a + at.variable] = i.type;
    return 0;
  }
  uint32_t t = t_of(c, T_INT), zero = k_int(c, c->int_bits, 0), ok;
  uint32_t up = logical(c, SpvOpSGreaterThan, by.id, zero);
  uint32_t end = integer_limit(c, limit, up, &ok);
  uint32_t runs = logical(c, SpvOpSLessThanEqual, i.id, end);
  if (!one) {
    uint32_t back = logical(c, SpvOpLogicalAnd,
                            logical(c, SpvOpSLessThanEqual, end, i.id),
                            logical(c, SpvOpSLessThan, by.id, zero));
    runs = logical(c, SpvOpLogicalOr, back,
                   logical(c, SpvOpLogicalAnd, runs, up));
    /* The number of steps, unsigned, as in Lua. */
    uint32_t far = op3(c, SpvOpSelect, t, up,
                       op2(c, SpvOpISub, t, end, i.id),
                       op2(c, SpvOpISub, t, i.id, end));
    uint32_t width = op3(c, SpvOpSelect, t, up, by.id,
                         op2(c, SpvOpISub, t, zero, by.id));
    width = op3(c, SpvOpSelect, t, logical(c, SpvOpIEqual, width, zero),
                k_int(c, c->int_bits, 1), width);
    end = op2(c, SpvOpUDiv, t, far, width);
  }
  if (ok != 0) runs = logical(c, SpvOpLogicalAnd, runs, ok);
  set(c, a + at.limit, (val){last, end, 0});
  set(c, a + at.step, by);
  set_index(c, a, i);
  return runs;
}

uint32_t loop_next(compiler *c, size_t pc) {
  const proto *p = c->at->p;
  unsigned a = GET_A(p->code[pc]);
  loop_form at = p->loop;
  int64_t n = 0;
  val i = loop_number(c, a + at.index), end = loop_number(c, a + at.limit);
  val by = loop_number(c, a + at.step), v = {i.type, 0, 0};
  if (KIND(i.type) == T_REAL) {
    end = to_real(c, end);
    by = to_real(c, by);
    v.id = op2(c, SpvOpFAdd, t_of(c, T_REAL), i.id, by.id);
    v.type = T_REAL;
    set_index(c, a, v);
    return c->emit ? real_runs(c, false, v.id, end.id, by.id) : 0;
  }
  if (KIND(end.type) != T_INT || KIND(by.type) != T_INT) {
    /* The compiler of Lua never writes a loop of this kind. */
    finding(c, NULL, "a loop counts by an integer and by a real");
    end = by = v_int(c, 1);
  }
  bool fixed = constant_of(c, by.type, &n), one = fixed && n == 1;
  /* An index that counts upwards does not fall below its start. */
  v.type = fixed && n > 0 ? index_type(c, i.type, one ? end.type : T_INT)
                          : T_INT;
  uint32_t again = 0;
  if (c->emit) {
    uint32_t t = t_of(c, T_INT);
    v.id = op2(c, SpvOpIAdd, t, i.id,
               one ? k_int(c, c->int_bits, 1) : by.id);
    if (one) {
      again = logical(c, SpvOpSLessThan, i.id, end.id);
    } else {
      again = logical(c, SpvOpINotEqual, end.id, k_int(c, c->int_bits, 0));
      uint32_t left = op2(c, SpvOpISub, t, end.id, k_int(c, c->int_bits, 1));
      set(c, a + at.limit, (val){T_INT, left, 0});
    }
  }
  set_index(c, a, v);
  return again;
}

/* --- blocks --------------------------------------------------------------- */

static bool differs(type entry, type now) {
  unsigned k = KIND(entry), from = KIND(now);
  return k >= T_INT && k <= T_MAYBE_REAL && k != from && from != T_NONE &&
         from != T_CONFLICT;
}

/* Returns true if registers must be converted on the way to a block. */
static bool converts(const compiler *c, const instance *in, int to) {
  const type *entry = in->entry + (size_t)to * in->p->width;
  for (unsigned r = 0; r < in->p->width; r++)
    if (differs(entry[r], c->state[r])) return true;
  return false;
}

static void convert(compiler *c, instance *in, int to) {
  const type *entry = in->entry + (size_t)to * in->p->width;
  for (unsigned r = 0; r < in->p->width; r++)
    if (differs(entry[r], c->state[r]))
      move_to(c, in, r, get(c, r), entry[r]);
}

static void go(compiler *c, instance *in, int to) {
  convert(c, in, to);
  branch(c, in->labels[to]);
}

/* Writes a branch to two blocks; `yes` and `no` are the types of register `reg`
   in the first and the second, `copy` is the register to which TESTSET copies
   it in the first, or -1. */
static void fork(compiler *c, instance *in, const block *b, uint32_t how,
                 unsigned reg, type yes, type no, int copy) {
  uint32_t first = in->labels[b->next[0]], second = in->labels[b->next[1]];
  type was = c->state[reg];
  c->state[reg] = yes;
  bool edge0 = copy >= 0 || converts(c, in, b->next[0]);
  c->state[reg] = no;
  bool edge1 = converts(c, in, b->next[1]);
  c->state[reg] = was;
  if (edge0) first = writer_id(&c->w);
  if (edge1) second = writer_id(&c->w);
  if (first == second) { /* llvm-spirv aborts if both targets are the same */
    branch(c, first);
    return;
  }
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, how, first, second);
  c->open = false;
  if (edge0) {
    label(c, first);
    c->state[reg] = yes;
    type kept = copy >= 0 ? c->state[copy] : T_NONE;
    if (copy >= 0) set(c, (unsigned)copy, get(c, reg));
    go(c, in, b->next[0]);
    if (copy >= 0) c->state[copy] = kept;
  }
  if (edge1) {
    label(c, second);
    c->state[reg] = no;
    go(c, in, b->next[1]);
  }
}

static void give(compiler *c, instance *in, unsigned base, unsigned n) {
  if (in->parent != NULL)
    for (unsigned k = 0; k < in->result_count; k++) {
      if (in->base + k >= in->parent->p->room) break;
      val v = k < n ? get(c, base + k) : (val){T_NIL, 0, 0};
      move_to(c, in->parent, in->base + k, v, in->results[k]);
    }
  branch(c, in->after);
}

static void emit_block(compiler *c, instance *in, int number) {
  const block *b = &in->f->blocks[number];
  const proto *p = in->p;
  memcpy(c->state, in->entry + (size_t)number * p->width,
         p->width * sizeof(type));
  memset(c->state + p->width, 0, (p->room - p->width) * sizeof(type));
  label(c, in->labels[number]);
  c->quotient_for = 0;
  int line = -1;
  size_t pc;
  for (pc = b->first; pc < b->end; pc++) {
    in->pc = pc;
    c->line = p->lines != NULL ? p->lines[pc] : 0;
    if (c->line != line && c->line > 0 && in->file != 0) {
      line = c->line;
      WRITE(&c->w, WRITER_BODY, SpvOpLine, in->file, (uint32_t)line, 0);
    }
    if (pc + 1 < b->end) step(c, pc);
  }
  pc = b->end - 1;
  uint32_t i = p->code[pc], how;
  unsigned a = GET_A(i), reg;
  opcode op = GET_OP(i);
  type yes, no;
  int outcome;
  if (op_is_test(op)) {
    how = condition(c, pc, &reg, &yes, &no, &outcome);
    int copy = op == OP_TESTSET ? (int)a : -1;
    if (outcome == 0) {
      go(c, in, b->next[1]);
    } else if (outcome == 1) {
      if (copy >= 0) set(c, a, get(c, reg));
      go(c, in, b->next[0]);
    } else {
      fork(c, in, b, how, reg, yes, no, copy);
    }
    return;
  }
  switch (op) {
    case OP_JMP: break;
    case OP_FORPREP:
      how = loop_prepare(c, pc);
      fork(c, in, b, how, 0, c->state[0], c->state[0], -1);
      return;
    case OP_FORLOOP:
      how = loop_next(c, pc);
      fork(c, in, b, how, 0, c->state[0], c->state[0], -1);
      return;
    case OP_RETURN0: give(c, in, a, 0); return;
    case OP_RETURN1: give(c, in, a, 1); return;
    case OP_TAILCALL:
      call(c, pc);
      give(c, in, a, in->top - a);
      return;
    case OP_RETURN:
      give(c, in, a, GET_B(i) ? GET_B(i) - 1 : in->top > a ? in->top - a : 0);
      return;
    default: step(c, pc);
  }
  go(c, in, b->next[0]);
}

void emit_instance(compiler *c, instance *in) {
  instance *was = c->at;
  type *state = c->state, here[256] = {0};
  int line = c->line;
  c->at = in;
  c->state = here;
  in->after = writer_id(&c->w);
  const char *file = in->p->file;
  if (in->parent != NULL && in->parent->file != 0 &&
      in->parent->p->file != NULL && file != NULL &&
      strcmp(in->parent->p->file, file) == 0) {
    in->file = in->parent->file;
  } else if (file != NULL) {
    in->file = writer_id(&c->w);
    writer_string(&c->w, WRITER_STRING, SpvOpString, 1, &in->file,
                  file, 0, NULL);
  }
  for (int b = 0; b < in->f->count; b++) in->labels[b] = writer_id(&c->w);
  branch(c, in->labels[0]);
  for (int i = 0; i < in->f->reached; i++)
    if (in->dirty[in->f->order[i]] != 0) emit_block(c, in, in->f->order[i]);
  label(c, in->after);
  c->at = was;
  c->state = state;
  c->line = line;
}
