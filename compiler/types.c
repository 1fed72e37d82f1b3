/*
 * types.c - types of registers, by fixpoint over a function's blocks.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

#include <string.h>

enum { MOST_CALLS = 500, MOST_DEPTH = 32 };

instance *instance_new(compiler *c, instance *parent, const proto *p,
                       const void *function, const char *name) {
  long odd;
  const flow *f = flow_make(c->a, p, &odd);
  if (f == NULL) return NULL;
  if (odd >= 0) {
    instance *at = c->at, here = {.parent = parent, .p = p, .name = name};
    bool was = c->emit;
    c->emit = true;
    c->at = &here;
    if (p->lines != NULL) c->line = p->lines[odd];
    finding(c, NULL, "a loop has two entries (by goto); give it one");
    c->emit = was;
    c->at = at;
    return NULL;
  }
  instance *in = arena_new(c->a, 1, sizeof *in);
  if (in == NULL) return NULL;
  size_t n = (size_t)f->count;
  *in = (instance){.parent = parent, .p = p, .f = f, .function = function,
                   .name = name};
  in->entry = arena_new(c->a, n * p->width + 1, sizeof(type));
  in->where = arena_new(c->a, n * p->width + 1, sizeof(int));
  in->dirty = arena_new(c->a, n + 1, 1);
  in->ways = arena_new(c->a, n + 1, 1);
  in->tested = arena_new(c->a, p->code_count, 1);
  in->arguments = arena_new(c->a, p->parameters + 1, sizeof(type));
  in->results = arena_new(c->a, 256, sizeof(type));
  in->result_where = arena_new(c->a, 256, sizeof(int));
  in->variables = arena_new(c->a, (size_t)p->room * 4 + 4, sizeof(uint32_t));
  in->labels = arena_new(c->a, n + 1, sizeof(uint32_t));
  in->children = arena_new(c->a, p->code_count, sizeof(instance *));
  c->instances++;
  return c->a->failed ? NULL : in;
}

/* Joins two types: an integer and a real make a real, a number and nil a number
   that may be nil; a type that a finding was about stays.  Returns true if
   *into changed. */
static bool join_into(compiler *c, type *into, type t) {
  type a = *into, r;
  if (a == t || KIND(t) == T_NONE || KIND(a) == T_CONFLICT || a == T_TOLD)
    return false;
  unsigned x = KIND(a), y = KIND(t);
  bool nil = x == T_NIL || y == T_NIL || x == T_MAYBE_INT ||
             y == T_MAYBE_INT || x == T_MAYBE_REAL || y == T_MAYBE_REAL;
  bool numbers = x >= T_NIL && x != T_BOOL && x <= T_MAYBE_REAL &&
                 y >= T_NIL && y != T_BOOL && y <= T_MAYBE_REAL;
  bool real = x == T_REAL || y == T_REAL || x == T_MAYBE_REAL ||
              y == T_MAYBE_REAL;
  bool reals = x == T_REAL && y == T_REAL;
  if (x != T_NONE && !(reals && (is_sure_real(a) || is_sure_real(t)))) {
    kind_matters(c, a);
    kind_matters(c, t);
  }
  if (x == T_NONE || t == T_TOLD) r = t;
  else if (x == T_NIL && y == T_NIL) r = T_NIL;
  else if (numbers && nil) r = real ? T_MAYBE_REAL : T_MAYBE_INT;
  else if (reals)
    r = TYPE(T_REAL, DATA(a) & DATA(t) & (WHOLE | ZERO | NO_INTEGER));
  else if (numbers) r = real ? T_REAL : range_join(c, a, t);
  else if (x == T_BOOL && y == T_BOOL) r = T_BOOL;
  else r = T_CONFLICT;
  if (r == a) return false;
  *into = r;
  return true;
}

/* Joins types with the lines that set them: for two types without a join, both
   lines are kept. */
static bool join_at(compiler *c, type *into, int *where, type t, int line) {
  type was = *into;
  if (was == T_NONE) *where = line;
  if (!join_into(c, into, t)) return false;
  if (KIND(*into) != T_CONFLICT) return true;
  if (KIND(t) == T_CONFLICT) {
    *into = t;
    return true;
  }
  c->conflicts = arena_grow(c->a, c->conflicts, c->conflict_count,
                            &c->conflict_room, sizeof *c->conflicts);
  if (c->a->failed || c->conflict_count >= 0xffffff) return true;
  c->conflicts[c->conflict_count++] = (conflict){{was, t}, {*where, line}};
  *into = TYPE(T_CONFLICT, c->conflict_count);
  return true;
}

static void flow_into(compiler *c, instance *in, int b) {
  if (b < 0) return;
  type *entry = in->entry + (size_t)b * in->p->width;
  int *where = in->where + (size_t)b * in->p->width;
  bool changed = in->dirty[b] == 0;
  for (unsigned r = 0; r < in->p->width; r++)
    changed |= join_at(c, &entry[r], &where[r], c->state[r], c->where[r]);
  if (changed) in->dirty[b] = 2;
}

/* Records the results of a return.  A result that only some returns have is nil
   in the others. */
static void returned(compiler *c, instance *in, unsigned base, unsigned n) {
  unsigned had = in->result_count, most = n > had ? n : had;
  int line = in->p->lines != NULL ? in->p->lines[in->pc] : 0;
  for (unsigned k = 0; k < most && k < 255; k++) {
    type *into = &in->results[k];
    int *where = &in->result_where[k];
    if (k >= had && in->returns) join_at(c, into, where, T_NIL, line);
    join_at(c, into, where, k < n ? c->state[base + k] : T_NIL, line);
  }
  in->returns = true;
  in->result_count = most;
}

/* Analyses one instruction, and records the line for the registers it sets. */
static void analyse_step(compiler *c, const proto *p, size_t pc) {
  step(c, pc);
  if (p->lines == NULL) return;
  for (unsigned r = GET_A(p->code[pc]); r < p->width; r++) {
    if (!writes(p, pc, r)) break;
    c->where[r] = p->lines[pc];
  }
}

/* Records that a block goes to one of its next ones. */
static void take(compiler *c, instance *in, int number, int way) {
  int to = in->f->blocks[number].next[way];
  if (to >= 0) in->ways[number] |= (char)(1 << way);
  flow_into(c, in, to);
}

static void walk(compiler *c, instance *in, int number) {
  const block *b = &in->f->blocks[number];
  const proto *p = in->p;
  memcpy(c->state, in->entry + (size_t)number * p->width,
         p->width * sizeof(type));
  memset(c->state + p->width, 0, (p->room - p->width) * sizeof(type));
  memcpy(c->where, in->where + (size_t)number * p->width,
         p->width * sizeof(int));
  size_t pc = b->first;
  c->quotient_for = 0;
  for (; pc + 1 < b->end; pc++) {
    in->pc = pc;
    analyse_step(c, p, pc);
  }
  in->pc = pc;
  uint32_t i = p->code[pc];
  opcode op = GET_OP(i);
  unsigned a = GET_A(i), reg;
  type yes, no;
  int outcome;
  if (op_is_test(op)) {
    condition(c, pc, &reg, &yes, &no, &outcome);
    type was = c->state[a];
    if (outcome != 0) {
      c->state[reg] = yes;
      if (op == OP_TESTSET) c->state[a] = yes;
      take(c, in, number, 0);
    }
    if (op == OP_TESTSET) c->state[a] = was;
    c->state[reg] = no;
    if (outcome != 1) take(c, in, number, 1);
    return;
  }
  switch (op) {
    case OP_JMP: break;
    case OP_FORPREP:
      loop_prepare(c, pc);
      take(c, in, number, 0);
      loop_leave(c, a);
      take(c, in, number, 1);
      return;
    case OP_FORLOOP:
      loop_next(c, pc);
      take(c, in, number, 0);
      loop_leave(c, a);
      take(c, in, number, 1);
      return;
    case OP_RETURN0: returned(c, in, a, 0); return;
    case OP_RETURN1: returned(c, in, a, 1); return;
    case OP_TAILCALL:
      call(c, pc);
      returned(c, in, a, in->top - a);
      return;
    case OP_RETURN:
      returned(c, in, a, GET_B(i) ? GET_B(i) - 1 : in->top > a ? in->top - a
                                                               : 0);
      return;
    default: analyse_step(c, p, pc);
  }
  take(c, in, number, 0);
}

/* Makes the analysis visit all of an instance again. */
static void forget(instance *in) {
  for (int b = 0; b < in->f->count; b++)
    if (in->dirty[b] != 0) in->dirty[b] = 2;
  for (size_t pc = 0; pc < in->p->code_count; pc++) {
    if (in->tested[pc] == 1) in->tested[pc] = 0;
    if (in->children[pc] != NULL) forget(in->children[pc]);
  }
}

void analyse_all(compiler *c, instance *in) {
  analyse_instance(c, in);
  /* Which reads are tested for nil depends on the functions that receive
     them. */
  for (size_t had = 1; c->instances > had && !c->a->failed;) {
    had = c->instances;
    forget(in);
    analyse_instance(c, in);
  }
}

void analyse_instance(compiler *c, instance *in) {
  instance *was = c->at;
  type *state = c->state, here[256] = {0};
  int line = c->line, *where = c->where, set_in[256] = {0};
  c->at = in;
  c->state = here;
  c->where = set_in;
  for (unsigned k = 0; k < in->p->parameters; k++) here[k] = in->arguments[k];
  flow_into(c, in, 0);
  for (bool again = true; again && !c->a->failed;) {
    again = false;
    for (int i = 0; i < in->f->reached; i++) {
      int b = in->f->order[i];
      if (in->dirty[b] != 2) continue;
      in->dirty[b] = 1;
      walk(c, in, b);
      again = true;
    }
  }
  c->at = was;
  c->state = state;
  c->where = where;
  c->line = line;
}

/* PoCL compiles nothing of a kernel with barriers and an endless loop, even if
   the loop is never entered. */
void find_endless(compiler *c, instance *in) {
  const flow *f = in->f;
  instance *was = c->at;
  char *ends = arena_new(c->a, (size_t)f->count + 1, 1);
  if (ends == NULL) return;
  for (bool again = true; again;) {
    again = false;
    for (int i = f->reached - 1; i >= 0; i--) {
      const block *b = &f->blocks[f->order[i]];
      opcode op = GET_OP(in->p->code[b->end - 1]);
      bool end = op >= OP_TAILCALL && op <= OP_RETURN1;
      for (int k = 0; k < 2; k++)
        end |= (in->ways[f->order[i]] >> k & 1) && ends[b->next[k]];
      again |= end && !ends[f->order[i]];
      ends[f->order[i]] = end;
    }
  }
  c->at = in;
  for (int b = 0; b < f->count; b++) {
    if (!f->blocks[b].is_loop || in->dirty[b] == 0 || ends[b]) continue;
    c->line = in->p->lines != NULL ? in->p->lines[f->blocks[b].first] : 0;
    finding(c, NULL, "a loop never ends: nothing leads out of it");
  }
  for (size_t pc = 0; pc < in->p->code_count; pc++)
    if (in->children[pc] != NULL) find_endless(c, in->children[pc]);
  c->at = was;
}

/* --- calls ---------------------------------------------------------------- */

static const char *called(compiler *c, const instance *in) {
  if (in->name != NULL) return in->name;
  return c->input->options.name != NULL ? c->input->options.name
                                        : "the kernel";
}

/* Reports that the function `k`, which is also `from`, is called again. */
static void recursion(compiler *c, const instance *from, const known *k) {
  const char *cycle = called(c, from);
  for (const instance *in = c->at; in != from; in = in->parent) {
    const char *rest = cycle;
    cycle = arena_text(c->a, "%s calls %s", called(c, in), rest);
    if (cycle == NULL) return;
  }
  finding(c, k->path ? k->path->text : NULL, "calls itself (%s calls %s); "
          "kernels have no recursion, write a loop", called(c, from), cycle);
}

/* Returns the function's identity; NULL if it is not a function. */
static const void *function_of(const compiler *c, type t) {
  if (KIND(t) != T_VALUE) return NULL;
  const known *k = c->knowns[DATA(t)];
  if (k->value.kind == LZC_FUNCTION) return k->value.identity;
  return k->value.kind == LZC_BUILTIN ? k : NULL;
}

/* Returns true if the function of an instance is passed the same functions
   again: only then does it call itself without an end known at compile time. */
static bool same_functions(const compiler *c, const instance *in, unsigned base,
                           unsigned count) {
  for (unsigned n = 0; n < in->p->parameters; n++)
    if (function_of(c, in->arguments[n]) !=
        function_of(c, n < count ? c->state[base + n] : T_NIL))
      return false;
  return true;
}

/* Returns the function of lze.work with the same name, or NULL. */
static const char *own_name(compiler *c, const known *k) {
  if (k->path == NULL || k->path->text == NULL) return NULL;
  const char *dot = strrchr(k->path->text, '.');
  const char *name = arena_text(c->a, "work.%s",
                                dot != NULL ? dot + 1 : k->path->text);
  return name != NULL ? lzc_builtin_name(lzc_builtin_find(name)) : NULL;
}

static instance *child_of(compiler *c, size_t pc, known *k, unsigned base,
                          unsigned count) {
  instance *in = c->at, *child = in->children[pc];
  if (child != NULL && child->function != k->value.identity) return NULL;
  if (child == NULL) {
    int depth = 0;
    for (const instance *up = in; up != NULL; up = up->parent, depth++)
      if (k->value.identity == (up->parent == NULL ? c->input->identity
                                                   : up->function) &&
          same_functions(c, up, base, count)) {
        recursion(c, up, k);
        return NULL;
      }
    if (depth > MOST_DEPTH) {
      finding(c, NULL, "more than %d calls within each other; write a loop, or "
              "put functions that call each other into one", MOST_DEPTH);
      return NULL;
    }
    if (c->instances > MOST_CALLS) {
      finding(c, NULL, "more than %d calls, with those in the functions that "
              "are called, each of which is compiled in its place; call from "
              "a loop, or make several kernels", MOST_CALLS);
      return NULL;
    }
    const char *message;
    const proto *p = chunk_read(c->a, k->value.bytes, k->value.size, &message);
    if (p == NULL) {
      finding(c, k->path ? k->path->text : NULL, "%s", message);
      return NULL;
    }
    child = instance_new(c, in, p, k->value.identity,
                         k->path != NULL ? k->path->text : NULL);
    if (child == NULL) return NULL;
    child->site = pc;
    in->children[pc] = child;
  }
  if (!c->emit) {
    bool changed = child->dirty[0] != 1;
    for (unsigned n = 0; n < child->p->parameters; n++)
      changed |= join_into(c, &child->arguments[n],
                           n < count ? c->state[base + n] : T_NIL);
    if (changed) analyse_instance(c, child);
  }
  return child;
}

/* Calls the function in R[A]; returns the number of results, which start at
   R[A] and end at in->top if all are wanted. */
unsigned call(compiler *c, size_t pc) {
  instance *in = c->at;
  uint32_t i = in->p->code[pc];
  unsigned a = GET_A(i), n = 0;
  unsigned count = GET_B(i) ? GET_B(i) - 1 : in->top > a ? in->top - a - 1 : 0;
  bool all = GET_OP(i) == OP_TAILCALL || GET_C(i) == 0;
  unsigned wanted = all ? 0 : GET_C(i) - 1;
  type t = c->state[a], missing = T_NIL;
  known *k = KIND(t) == T_VALUE ? c->knowns[DATA(t)] : NULL;
  val results[8];
  if (k != NULL && k->value.kind == LZC_BUILTIN) {
    n = call_builtin(c, k->value.builtin, a, count, results);
    if (a + n > in->p->room) n = in->p->room - a;
    for (unsigned r = 0; r < n; r++) set(c, a + r, results[r]);
  } else if (k != NULL && k->value.kind == LZC_FUNCTION) {
    instance *child = child_of(c, pc, k, a + 1, count);
    if (child != NULL) {
      n = child->result_count;
      if (a + n > in->p->room) n = in->p->room - a;
      child->base = a;
      child->top = n;
      if (c->emit) {
        for (unsigned r = 0; r < child->p->parameters; r++) {
          val v = r < count ? get(c, a + 1 + r) : (val){T_NIL, 0, 0};
          move_to(c, child, r, v, child->arguments[r]);
        }
        emit_instance(c, child);
      }
      for (unsigned r = 0; r < n; r++) c->state[a + r] = child->results[r];
    } else {
      missing = T_TOLD;
    }
  } else if (t != T_NONE || c->emit) {
    const char *own = k != NULL ? own_name(c, k) : NULL;
    if (own != NULL)
      finding(c, NULL, "%s is called here; kernels call lze.%s", what(c, t),
              own);
    else
      finding(c, NULL, "%s is called here; kernels call functions of math, of "
              "lze.work, and those that are written in Lua", what(c, t));
    missing = T_TOLD;
  }
  if (all && missing == T_TOLD) c->state[a + n++] = T_TOLD;
  if (all) in->top = a + n;
  for (unsigned r = n; r < wanted; r++) c->state[a + r] = missing;
  return n;
}
