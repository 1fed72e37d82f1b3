/*
 * register.c - Lua's registers as variables, read and written; labels.
 * SPDX-License-Identifier: MIT
 *
 * A register has a variable for each kind of number that it ever holds.
 */
#include "compile.h"

enum { V_BOOL, V_INT, V_REAL, V_FLAG };

void label(compiler *c, uint32_t id) {
  WRITE(&c->w, WRITER_BODY, SpvOpLabel, id);
  c->open = true;
}

void branch(compiler *c, uint32_t to) {
  WRITE(&c->w, WRITER_BODY, SpvOpBranch, to);
  c->open = false;
}

uint32_t variable_new(compiler *c, uint32_t t) {
  uint32_t id = writer_id(&c->w);
  WRITE(&c->w, WRITER_VARIABLES, SpvOpVariable,
        t_pointer(c, SpvStorageClassFunction, t), id, SpvStorageClassFunction);
  return id;
}

static uint32_t variable(compiler *c, instance *in, unsigned reg, int kind) {
  uint32_t *at = &in->variables[reg * 4 + (unsigned)kind];
  if (*at != 0) return *at;
  uint32_t t = kind == V_INT ? t_of(c, T_INT)
               : kind == V_REAL ? t_of(c, T_REAL) : t_int(c, 32);
  *at = variable_new(c, t);
  const char *name = chunk_local(in->p, reg, in->pc + 1);
  if (name != NULL && kind != V_FLAG)
    writer_string(&c->w, WRITER_NAME, SpvOpName, 1, at, name, 0, NULL);
  return *at;
}

static uint32_t load_bool(compiler *c, uint32_t from) {
  uint32_t id = op1(c, SpvOpLoad, t_int(c, 32), from);
  return logical(c, SpvOpINotEqual, id, k_int(c, 32, 0));
}

static void store_bool(compiler *c, uint32_t to, uint32_t v) {
  v = op3(c, SpvOpSelect, t_int(c, 32), v, k_int(c, 32, 1), k_int(c, 32, 0));
  WRITE(&c->w, WRITER_BODY, SpvOpStore, to, v);
}

val get(compiler *c, unsigned reg) {
  instance *in = c->at;
  val v = {c->state[reg], 0, 0};
  if (KIND(v.type) == T_CONFLICT) {
    const char *name = chunk_local(in->p, reg, in->pc);
    if (name == NULL) name = "a value here";
    const conflict *two = DATA(v.type) == 0 ? NULL
                          : &c->conflicts[DATA(v.type) - 1];
    if (two != NULL && two->lines[0] != 0 && two->lines[1] != 0)
      finding(c, name, "is %s from line %d and %s from line %d; %s",
              what(c, two->types[0]), two->lines[0], what(c, two->types[1]),
              two->lines[1], KIND(two->types[0]) == T_VALUE &&
                             KIND(two->types[1]) == T_VALUE
                  ? "kernels cannot choose between such, only between numbers"
                  : "give it one type on all ways to this line");
    else
      finding(c, name, "has different types on different ways to this line; "
              "give it one type on all of them");
    v.type = T_TOLD;
  }
  if (!c->emit) return v;
  int64_t n;
  switch (KIND(v.type)) {
    case T_BOOL:
      v.id = load_bool(c, variable(c, in, reg, V_BOOL));
      break;
    case T_INT:
      if (constant_of(c, v.type, &n)) {
        v.id = k_int(c, c->int_bits, n);
        break;
      } /* fallthrough */
    case T_MAYBE_INT:
      v.id = op1(c, SpvOpLoad, t_of(c, T_INT), variable(c, in, reg, V_INT));
      break;
    case T_REAL: case T_MAYBE_REAL:
      v.id = op1(c, SpvOpLoad, t_of(c, T_REAL), variable(c, in, reg, V_REAL));
      break;
    default: break;
  }
  if (is_maybe(v.type))
    v.flag = load_bool(c, variable(c, in, reg, V_FLAG));
  return v;
}

bool is_maybe(type t) {
  return KIND(t) == T_MAYBE_INT || KIND(t) == T_MAYBE_REAL;
}

val surely(val v) {
  if (!is_maybe(v.type)) return v;
  return (val){KIND(v.type) == T_MAYBE_INT ? T_INT : T_REAL, v.id, 0};
}

uint32_t truth(compiler *c, bool b) {
  return writer_once(&c->w, b ? SpvOpConstantTrue : SpvOpConstantFalse, 1, 1,
                     (uint32_t[]){t_bool(c)});
}

val v_truth(compiler *c, bool b) {
  return (val){TYPE(T_BOOL, b ? 2 : 1), truth(c, b), 0};
}
int truth_of(type t) {
  if (KIND(t) == T_BOOL) return (int)DATA(t) - 1;
  if (is_maybe(t)) return -1;
  return KIND(t) != T_NIL && t != T_NONE;
}

void move_to(compiler *c, instance *in, unsigned reg, val v, type t) {
  if (!c->emit) return;
  unsigned k = KIND(t);
  if (k == T_MAYBE_INT || k == T_MAYBE_REAL) {
    uint32_t there = v.flag != 0 ? v.flag : truth(c, IS_NUMBER(v.type));
    store_bool(c, variable(c, in, reg, V_FLAG), there);
    v = surely(v);
    /* An optional value that is not tested reads as 0. */
    if (!IS_NUMBER(v.type)) v = v_int(c, 0);
    k = k == T_MAYBE_INT ? T_INT : T_REAL;
  }
  if (k == T_BOOL && KIND(v.type) == T_BOOL)
    store_bool(c, variable(c, in, reg, V_BOOL), v.id);
  if (k == T_INT && KIND(v.type) == T_INT)
    WRITE(&c->w, WRITER_BODY, SpvOpStore, variable(c, in, reg, V_INT), v.id);
  if (k == T_REAL && IS_NUMBER(v.type))
    WRITE(&c->w, WRITER_BODY, SpvOpStore, variable(c, in, reg, V_REAL),
          to_real(c, v).id);
}

void set(compiler *c, unsigned reg, val v) {
  c->state[reg] = v.type;
  move_to(c, c->at, reg, v, v.type);
}
