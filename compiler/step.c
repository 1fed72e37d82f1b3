/*
 * step.c - the effect of one instruction, on types and in code.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

#include <math.h>
#include <string.h>

/* --- findings ------------------------------------------------------------- */

static const char *name_of(compiler *c, unsigned reg) {
  return chunk_local(c->at->p, reg, c->at->pc);
}

/* Returns the number in a register, or 0 with a finding.  A value that may be
   nil is a number from here on: if it were nil, Lua would raise here, and
   k:check does. */
static val number(compiler *c, unsigned reg, const char *purpose) {
  val v = surely(get(c, reg));
  c->state[reg] = v.type;
  if (IS_NUMBER(v.type)) return v;
  const char *name = name_of(c, reg);
  if (v.type != T_NONE || c->emit)
    finding(c, NULL, "%s needs a number, %s is %s", purpose,
            name != NULL ? name : "this", what(c, v.type));
  return v_int(c, 0);
}

static const char *symbol_of(opcode op) {
  static const char *const symbols[] = {"+", "-", "*", "%", "^", "/", "//",
                                        "&", "|", "~", "<<", ">>"};
  return symbols[op - OP_ADD];
}

/* Returns an integer of the source.  An unsigned one of 32 bits is taken modulo
   2^32, as in hash functions. */
static val written(compiler *c, int64_t n) {
  if (c->int_bits == 32 && (n < INT32_MIN || n > UINT32_MAX))
    finding(c, NULL, "%lld does not fit integers of 32 bits (int = \"int\")",
            (long long)n);
  return v_int(c, n);
}

/* Returns a real of the source, which like a captured one must fit the kernel's
   width. */
static val written_real(compiler *c, double n) {
  const double limit = 0x1.ffffffp127; /* the least that rounds to infinity */
  if (real_bits(c) == 32 && fabs(n) >= limit && !isinf(n))
    finding(c, NULL, "%g does not fit float, which this kernel's reals are; "
            "math.huge is larger than all", n);
  return v_real(c, n);
}

static val constant_value(compiler *c, const constant *k) {
  switch (k->kind) {
    case CONSTANT_INTEGER: return written(c, k->integer);
    case CONSTANT_REAL: return written_real(c, k->real);
    case CONSTANT_NIL: return (val){T_NIL, 0, 0};
    case CONSTANT_STRING: return v_string(c, k->string, k->size);
    default:
      return v_truth(c, k->kind == CONSTANT_TRUE);
  }
}

/* --- captures ------------------------------------------------------------- */

static bool same_path(const lzc_path *a, const lzc_path *b) {
  if (a->function != b->function || a->upvalue != b->upvalue ||
      a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(a->fields[i], b->fields[i]) != 0) return false;
  return true;
}

/* Returns true if it is math.pi or another constant of math, judged by name and
   value: constants are compiled in. */
static bool is_constant(const lzc_path *path, const lzc_value *v) {
  static const struct {
    const char *name;
    double real;
    int64_t integer;
  } constants[] = {{"pi", 3.141592653589793, 0},
                   {"huge", INFINITY, 0},
                   {"maxinteger", 0, INT64_MAX},
                   {"mininteger", 0, INT64_MIN}};
  for (size_t i = 0; i < 4 && path->count > 0; i++)
    if (strcmp(path->fields[path->count - 1], constants[i].name) == 0)
      return v->kind == LZC_REAL ? v->real == constants[i].real
                                 : v->integer == constants[i].integer;
  return false;
}

/* Returns the value that a path reads.  Functions that capture the same local
   share it. */
static val capture(compiler *c, const lzc_path *path) {
  size_t i = 0;
  while (i < c->known_count && (c->knowns[i]->path == NULL ||
                                !same_path(c->knowns[i]->path, path)))
    i++;
  lzc_value v = {.kind = LZC_NIL};
  if (i == c->known_count) {
    if (c->input->resolve == NULL ||
        !c->input->resolve(c->input->context, path, &v))
      v.kind = LZC_OTHER;
    for (i = 0; i < c->known_count; i++)
      if (v.variable != NULL && c->knowns[i]->value.variable == v.variable)
        break;
  }
  if (i == c->known_count) {
    lzc_path *copy = arena_new(c->a, 1, sizeof *copy);
    if (copy == NULL) return v_int(c, 0);
    *copy = *path;
    known_add(c, &v, copy, 0);
    if (c->a->failed) return v_int(c, 0);
  }
  known *k = c->knowns[i];
  if ((k->value.kind == LZC_INTEGER || k->value.kind == LZC_REAL) &&
      is_constant(path, &k->value)) {
    k->fixed = k->by_value = true;
    return k->value.kind == LZC_REAL ? v_real(c, k->value.real)
                                     : written(c, k->value.integer);
  }
  switch (k->value.kind) {
    case LZC_INTEGER:
      return (val){TYPE(T_INT, CAPTURED | i), known_number(c, k), 0};
    case LZC_REAL: return (val){known_real(c, i), known_number(c, k), 0};
    case LZC_BUFFER: case LZC_ARRAY: break;
    case LZC_BOOLEAN: case LZC_STRING: k->by_value = true; /* fallthrough */
    default: k->fixed = true;
  }
  if (k->value.kind == LZC_BOOLEAN) return v_truth(c, k->value.boolean);
  if (k->value.kind == LZC_NIL) return (val){TYPE(T_NIL, NIL_OF + i), 0, 0};
  return (val){TYPE(T_VALUE, i), 0, 0};
}

static void get_upvalue(compiler *c, unsigned to, unsigned upvalue) {
  const char *name = c->at->p->upvalues[upvalue];
  lzc_path path = {c->at->function, upvalue + 1, 0, NULL, name};
  if (name == NULL)
    path.text = arena_text(c->a, "upvalue %u", upvalue + 1);
  set(c, to, capture(c, &path));
}

/* Returns the number of letters that must be changed, at most 3. */
static unsigned distance(const char *a, const char *b, unsigned most) {
  while (*a != 0 && *a == *b) a++, b++;
  if (*a == 0 && *b == 0) return 0;
  if (most == 0) return 1;
  unsigned d = 1 + (*a && *b ? distance(a + 1, b + 1, most - 1) : most);
  if (*a != 0) {
    unsigned e = 1 + distance(a + 1, b, most - 1);
    if (e < d) d = e;
  }
  if (*b != 0) {
    unsigned e = 1 + distance(a, b + 1, most - 1);
    if (e < d) d = e;
  }
  return d;
}

/* Returns the function of math or lze.work whose name is nearest to a field's,
   or NULL.  The table with the field must also contain that function. */
static const char *did_you_mean(compiler *c, const lzc_path *path) {
  if (path->text == NULL) return NULL;
  const char *best = NULL;
  unsigned least = 3;
  for (unsigned n = 1; lzc_builtin_name(n) != NULL; n++) {
    const char *name = strchr(lzc_builtin_name(n), '.') + 1;
    unsigned d = distance(name, path->fields[path->count - 1], 2);
    if (d >= least || d + 1 >= strlen(name)) continue;
    lzc_path other = *path;
    const char **fields = arena_new(c->a, path->count, sizeof *fields);
    if (fields == NULL) return NULL;
    memcpy(fields, path->fields, path->count * sizeof *fields);
    fields[path->count - 1] = name;
    other.fields = fields;
    other.text = arena_text(c->a, "%.*s%s", (int)(strlen(path->text) -
        strlen(path->fields[path->count - 1])), path->text, name);
    lzc_value v = {.kind = LZC_NIL};
    if (other.text == NULL ||
        !c->input->resolve(c->input->context, &other, &v) ||
        v.kind != LZC_BUILTIN || v.builtin != n)
      continue;
    best = other.text;
    least = d;
  }
  return best;
}

/* Returns true unless only numbers are ever put into a register. */
static bool may_be_nil(const instance *in, unsigned reg) {
  const proto *p = in->p;
  if (reg < p->parameters && in->parent != NULL) return true;
  for (size_t pc = 0; pc < p->code_count; pc++) {
    opcode op = GET_OP(p->code[pc]);
    bool any = op == OP_MOVE || op == OP_LOADNIL || op == OP_GETTABLE ||
               op == OP_GETI || op == OP_CALL || op == OP_TESTSET;
    if (any && writes(p, pc, reg)) return true;
  }
  return false;
}

static bool tests(const instance *in, uint32_t i, unsigned reg) {
  const proto *p = in->p;
  unsigned a = GET_A(i), b = GET_B(i);
  switch (GET_OP(i)) {
    case OP_EQ: /* nil equals nil */
      return (a == reg && may_be_nil(in, b)) || (b == reg && may_be_nil(in, a));
    case OP_TEST: return a == reg;
    case OP_TESTSET: case OP_NOT: return b == reg;
    case OP_EQK:
      return a == reg && p->constants[b].kind == CONSTANT_NIL;
    default: return false;
  }
}

/* A place of a value: a register before an instruction of a block. */
typedef struct whereabouts {
  instance *in;
  size_t at;
  int home;                  /* the block */
  unsigned reg;
} whereabouts;

typedef struct trail {
  whereabouts *stack;
  size_t top, room;
} trail;

static void follow(compiler *c, trail *t, instance *in, size_t at, int home,
                   unsigned reg) {
  t->stack = arena_grow(c->a, t->stack, t->top, &t->room, sizeof *t->stack);
  if (!c->a->failed) t->stack[t->top++] = (whereabouts){in, at, home, reg};
}

static bool first_time(unsigned char *set, size_t bit) {
  bool is = !(set[bit / 8] >> bit % 8 & 1);
  set[bit / 8] |= (unsigned char)(1 << bit % 8);
  return is;
}

/* Clears an instance's notes for this search; false if memory runs out. */
static bool notes(compiler *c, instance *in) {
  if (in->question == c->question) return true;
  size_t n = (size_t)in->f->count * in->p->width / 8 + 1;
  size_t m = in->p->code_count / 8 + 1;
  if (in->seen == NULL) in->seen = arena_new(c->a, n, 1);
  if (in->moved == NULL) in->moved = arena_new(c->a, m, 1);
  if (c->a->failed) return false;
  memset(in->seen, 0, n);
  memset(in->moved, 0, m);
  memset(in->given, 0, sizeof in->given);
  in->question = c->question;
  return true;
}

static void follow_block(compiler *c, trail *t, instance *in, int home,
                         unsigned reg) {
  if (reg < in->p->width && notes(c, in) &&
      first_time(in->seen, (size_t)home * in->p->width + reg))
    follow(c, t, in, in->f->blocks[home].first, home, reg);
}

/* Follows the n-th result of a function, from 0 on, to its caller. */
static void follow_result(compiler *c, trail *t, instance *in, unsigned n) {
  for (; in->parent != NULL && n < 255; in = in->parent) {
    instance *to = in->parent;
    uint32_t i = to->p->code[in->site];
    if (!notes(c, in) || !first_time(in->given, n)) return;
    if (GET_OP(i) == OP_TAILCALL) continue;
    if ((GET_C(i) != 0 && n + 1 >= GET_C(i)) || GET_A(i) + n >= to->p->room)
      return;
    int b = 0;
    while (to->f->blocks[b].end <= in->site) b++;
    follow(c, t, to, in->site + 1, b, GET_A(i) + n);
    return;
  }
}

/* Follows the value in a register at an instruction, except to the next
   instruction. */
static void follow_step(compiler *c, trail *t, const whereabouts *w,
                        size_t at) {
  instance *in = w->in, *child = in->children[at];
  uint32_t i = in->p->code[at];
  unsigned a = GET_A(i), b = GET_B(i), reg = w->reg;
  switch (GET_OP(i)) {
    case OP_MOVE:
      if (b == reg && notes(c, in) && first_time(in->moved, at))
        follow(c, t, in, at + 1, w->home, a);
      break;
    case OP_CALL: case OP_TAILCALL:
      if (child != NULL && reg > a && (b == 0 || reg < a + b) &&
          reg - a - 1 < child->p->parameters)
        follow_block(c, t, child, 0, reg - a - 1);
      break;
    case OP_RETURN1:
      if (reg == a) follow_result(c, t, in, 0);
      break;
    case OP_RETURN:
      if (reg >= a && (b == 0 || reg - a + 1 < b))
        follow_result(c, t, in, reg - a);
      break;
    default: break;
  }
}

/* Returns true if the value that instruction pc loads into a register is tested
   for nil, there or at any place to which it is moved, passed or returned. */
static bool tested_later(compiler *c, size_t pc, unsigned reg) {
  instance *in = c->at;
  if (in->tested[pc] != 0) return in->tested[pc] == 2;
  in->tested[pc] = 1;
  trail t = {0};
  int first = 0;
  while (in->f->blocks[first].end <= pc) first++;
  c->question++;
  follow(c, &t, in, pc + 1, first, reg);
  while (t.top > 0 && !c->a->failed) {
    whereabouts now = t.stack[--t.top];
    const proto *p = now.in->p;
    const block *b = &now.in->f->blocks[now.home];
    bool gone = false;
    for (size_t at = now.at; at < b->end && !gone; at++) {
      if (tests(now.in, p->code[at], now.reg)) {
        in->tested[pc] = 2;
        return true;
      }
      follow_step(c, &t, &now, at);
      /* On one of the ways from a TESTSET the register is unchanged. */
      gone = writes(p, at, now.reg) && GET_OP(p->code[at]) != OP_TESTSET;
    }
    for (int k = 0; !gone && k < 2; k++)
      if (b->next[k] >= 0)
        follow_block(c, &t, now.in, b->next[k], now.reg);
  }
  return false;
}

/* Returns the known value of that kind, or NULL. */
static const known *value_of(const compiler *c, type t, lzc_kind kind) {
  const known *k = KIND(t) == T_VALUE ? c->knowns[DATA(t)] : NULL;
  return k != NULL && k->value.kind == kind ? k : NULL;
}

/* Reads a field of a captured table.  A nil field is an error, most likely a
   wrong name, unless the code only tests it for nil. */
static void get_field(compiler *c, unsigned to, type t, const constant *name) {
  const char *field = name->string;
  const known *k = value_of(c, t, LZC_TABLE);
  if (k == NULL || k->path == NULL) {
    finding(c, NULL, "field '%s' of %s; kernels read fields of captured "
            "tables only", field, what(c, t));
    c->state[to] = T_TOLD;
    return;
  }
  if (strlen(field) != name->size) {
    finding(c, NULL, "a field of %s has a zero byte in its name; kernels do "
            "not read such", what(c, t));
    c->state[to] = T_TOLD;
    return;
  }
  lzc_path path = *k->path;
  const char **fields = arena_new(c->a, path.count + 1, sizeof *fields);
  if (fields == NULL) return;
  for (size_t i = 0; i < path.count; i++) fields[i] = k->path->fields[i];
  fields[path.count++] = field;
  path.fields = fields;
  bool global = path.count == 1 && strcmp(k->path->text, "_ENV") == 0;
  path.text = global ? field : arena_text(c->a, "%s.%s", k->path->text, field);
  val v = capture(c, &path);
  if (KIND(v.type) == T_NIL && c->emit && c->input->resolve != NULL &&
      !tested_later(c, c->at->pc, to)) {
    const char *meant = did_you_mean(c, &path);
    if (meant != NULL)
      finding(c, path.text, "is nil; did you mean %s?", meant);
    else
      finding(c, path.text, "is nil%s; set it before the kernel is compiled",
              global ? " (a global)" : "");
    v.type = T_TOLD;
  }
  set(c, to, v);
}

/* --- memory --------------------------------------------------------------- */

/* Returns the object that is indexed, by an integer or a tuple, and the place
   in it.  NULL with a finding if it cannot be indexed so. */
static known *place(compiler *c, unsigned reg, val index, spot *at) {
  at->asked |= c->input->options.bounds;
  if (KIND(index.type) == T_TUPLE) return tuple_index(c, reg, index.type, at);
  known *k = index.type != T_TOLD ? buffer_of(c, reg) : NULL;
  index = surely(index);
  if (k == NULL) return NULL;
  if (KIND(index.type) != T_INT) {
    if (index.type != T_NONE || c->emit)
      finding(c, known_label(c, k), "needs an integer as index, this is %s "
              "(`//` and math.floor give integers)", what(c, index.type));
    return NULL;
  }
  at->count = 1;
  at->offset = offset_of(c, index);
  if (!at->asked || !c->emit) return k;
  at->index[0] = to_index(c, index);
  at->size[0] = known_length(c, k);
  /* In 64 bits: the difference in 32 bits may have wrapped. */
  uint32_t offset = op2(c, SpvOpISub, t_int(c, 64), at->index[0],
                        k_int(c, 64, 1));
  at->there = logical(c, SpvOpULessThan, offset, at->size[0]);
  return k;
}

static void get_element(compiler *c, size_t pc, unsigned to, unsigned from,
                        val index) {
  bool tested = tested_later(c, pc, to);
  spot at = {.asked = tested};
  known *k = place(c, from, index, &at);
  if (k == NULL) {
    set(c, to, v_int(c, 0));
    if (c->emit) c->state[to] = T_TOLD;
    return;
  }
  bool real = is_real(k->value.element);
  if (!tested) {
    if (c->input->options.bounds) set(c, to, real ? v_real(c, 0) : v_int(c, 0));
    uint32_t after = check_begin(c, k, &at);
    set(c, to, load(c, k, at.offset));
    check_end(c, after);
    return;
  }
  type t = real ? T_MAYBE_REAL : T_MAYBE_INT;
  if (c->emit) {
    uint32_t yes = writer_id(&c->w), after = writer_id(&c->w);
    val missing = {T_NIL, 0, at.there};
    move_to(c, c->at, to, missing, t);
    WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, at.there, yes,
          after);
    c->open = false;
    label(c, yes);
    val v = load(c, k, at.offset);
    move_to(c, c->at, to, v, v.type);
    branch(c, after);
    label(c, after);
  }
  c->state[to] = t;
}

static void set_element(compiler *c, unsigned into, val index, val v) {
  spot at = {.asked = false};
  known *k = place(c, into, index, &at);
  if (k == NULL) return;
  v = surely(v);
  if (!IS_NUMBER(v.type)) {
    finding(c, known_label(c, k), "needs a number to hold, this is %s",
            what(c, v.type));
    return;
  }
  /* A narrower real is rounded from the integer itself, not from a real. */
  if (lzc_element_bytes(k->value.element) * 8 != real_bits(c))
    kind_matters(c, v.type);
  uint32_t after = check_begin(c, k, &at);
  if (KIND(v.type) == T_INT || DATA(v.type) & WHOLE) check_fit(c, k, &at, v);
  store(c, k, at.offset, v);
  check_end(c, after);
}

static void length_of(compiler *c, unsigned to, unsigned reg) {
  val of = get(c, reg);
  known *k = KIND(of.type) == T_VALUE ? c->knowns[DATA(of.type)] : NULL;
  bool is_array = k != NULL && k->value.kind == LZC_ARRAY;
  if (k == NULL || (!is_array && k->value.kind != LZC_BUFFER)) {
    if (of.type != T_NONE)
      finding(c, NULL, "the length of %s is asked here; kernels know those of "
              "buffers and arrays", what(c, of.type));
    set(c, to, v_int(c, 0));
    return;
  }
  if (k->storage != 0) {
    set(c, to, v_int(c, k->count));
    return;
  }
  val v = {type_range(c, 0, INT64_MAX),
           is_array ? known_shape(c, k, 1) : known_length(c, k), 0};
  if (c->emit && c->int_bits == 32)
    v.id = op1(c, SpvOpSConvert, t_int(c, 32), v.id);
  set(c, to, v);
}

/* --- instructions --------------------------------------------------------- */

static val rk(compiler *c, uint32_t i) {
  return GET_K(i) ? constant_value(c, &c->at->p->constants[GET_C(i)])
                  : get(c, GET_C(i));
}

static void binary(compiler *c, opcode op, unsigned to, val a, val b) {
  if ((op == OP_IDIV || op == OP_MOD) && KIND(a.type) == T_INT &&
      KIND(b.type) == T_INT)
    check_divisor(c, b);
  if (op >= OP_BAND && op <= OP_SHR) {
    check_whole(c, a);
    check_whole(c, b);
  }
  if (op != OP_DIV && op != OP_POW) meet(c, a.type, b.type);
  val v = op == OP_POW ? power(c, a, b) : arithmetic(c, op, a, b);
  if (op == OP_IDIV && KIND(v.type) == T_REAL) v.type = TYPE(T_REAL, WHOLE);
  if (op == OP_DIV) {
    /* OP_MMBIN is between. */
    bool reals = is_sure_real(a.type) || is_sure_real(b.type);
    c->quotient_for = reals ? 0 : c->at->pc + 2;
    c->quotient[0] = a;
    c->quotient[1] = b;
  }
  set(c, to, v);
}

/* Returns true if an assignment to a field of an upvalue sets a global. */
static bool sets_global(const proto *p, uint32_t i) {
  const char *name = p->upvalues[GET_A(i)];
  return name == NULL || strcmp(name, "_ENV") == 0;
}

static void refuse(compiler *c, opcode op) {
  static const char reads_only[] =
      "is assigned; kernels only read captures (write to a buffer)";
  const proto *p = c->at->p;
  uint32_t i = p->code[c->at->pc];
  const char *thing = "this", *name = NULL;
  const char *why = "is not something that kernels can do";
  switch (op) {
    case OP_SETUPVAL:
      thing = "a captured local";
      name = p->upvalues[GET_B(i)];
      why = reads_only;
      break;
    case OP_SETTABUP:
      thing = sets_global(p, i) ? "a global" : "a field";
      name = p->constants[GET_B(i)].string;
      why = reads_only;
      break;
    case OP_SETFIELD:
      thing = "a field";
      name = p->constants[GET_B(i)].string;
      why = "is assigned; kernels write to buffers only";
      break;
    case OP_NEWTABLE: case OP_SETLIST:
      thing = "a table";
      why = "is made here; kernels have none (w.local_array and "
            "w.private_array make arrays)";
      break;
    case OP_SELF:
      thing = "a method";
      if (GET_K(i) && p->constants[GET_C(i)].kind == CONSTANT_STRING)
        name = p->constants[GET_C(i)].string;
      why = "is called; kernels have none";
      break;
    case OP_CONCAT:
      thing = "strings";
      why = "are joined; kernels have none";
      break;
    case OP_CLOSURE:
      thing = "a function";
      why = "is made here; make it outside and capture it";
      break;
    case OP_VARARG: case OP_VARARGPREP:
      thing = "a kernel's functions";
      why = "take a fixed number of arguments, not ...";
      break;
    case OP_TFORPREP: case OP_TFORCALL: case OP_TFORLOOP:
      thing = "kernels";
      why = "have no `for ... in`; write `for i = 1, #x do`";
      break;
    case OP_TBC:
      thing = "kernels";
      why = "have no <close> variables";
      break;
    default: break;
  }
  if (name != NULL) finding(c, NULL, "%s (%s) %s", thing, name, why);
  else finding(c, NULL, "%s %s", thing, why);
}

void step(compiler *c, size_t pc) {
  const proto *p = c->at->p;
  uint32_t i = p->code[pc];
  opcode op = GET_OP(i);
  unsigned a = GET_A(i), b = GET_B(i);
  const constant *ks = p->constants;
  switch (op) {
    case OP_MOVE: {
      val v = get(c, b);
      set(c, a, v);
      break;
    }
    case OP_LOADI: set(c, a, v_int(c, GET_SBX(i))); break;
    case OP_LOADF: set(c, a, v_real(c, GET_SBX(i))); break;
    case OP_LOADK: set(c, a, constant_value(c, &ks[GET_BX(i)])); break;
    case OP_LOADKX:
      set(c, a, constant_value(c, &ks[p->code[pc + 1] >> 7]));
      break;
    case OP_LOADFALSE: case OP_LFALSESKIP:
      set(c, a, v_truth(c, false));
      break;
    case OP_LOADTRUE: set(c, a, v_truth(c, true)); break;
    case OP_LOADNIL:
      for (unsigned r = a; r <= a + b; r++) c->state[r] = T_NIL;
      break;
    case OP_GETUPVAL: get_upvalue(c, a, b); break;
    case OP_GETTABUP:
      get_upvalue(c, a, b);
      get_field(c, a, c->state[a], &ks[GET_C(i)]);
      break;
    case OP_GETFIELD:
      get_field(c, a, get(c, b).type, &ks[GET_C(i)]);
      break;
    case OP_GETTABLE: {
      /* A field name after a function's 256th constant is in a register. */
      val key = get(c, GET_C(i));
      const known *k = value_of(c, key.type, LZC_STRING);
      if (k != NULL && k->path == NULL &&
          value_of(c, get(c, b).type, LZC_TABLE) != NULL)
        get_field(c, a, get(c, b).type,
                  &(constant){.string = k->value.bytes, .size = k->value.size});
      else
        get_element(c, pc, a, b, key);
      break;
    }
    case OP_GETI: get_element(c, pc, a, b, v_int(c, GET_C(i))); break;
    case OP_SETTABLE: set_element(c, a, get(c, b), rk(c, i)); break;
    case OP_SETI: set_element(c, a, v_int(c, b), rk(c, i)); break;
    case OP_ADDI:
      binary(c, OP_ADD, a, number(c, b, "+"), v_int(c, GET_SC(i)));
      break;
    case OP_ADDK: case OP_SUBK: case OP_MULK: case OP_MODK: case OP_POWK:
    case OP_DIVK: case OP_IDIVK: case OP_BANDK: case OP_BORK: case OP_BXORK: {
      val k = constant_value(c, &ks[GET_C(i)]);
      if (!IS_NUMBER(k.type)) k = v_int(c, 0);
      opcode of = (opcode)(op - OP_ADDK + OP_ADD);
      binary(c, of, a, number(c, b, symbol_of(of)), k);
      break;
    }
    case OP_SHRI:
      binary(c, OP_SHR, a, number(c, b, ">>"), v_int(c, GET_SC(i)));
      break;
    case OP_SHLI:
      binary(c, OP_SHL, a, v_int(c, GET_SC(i)), number(c, b, "<<"));
      break;
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_MOD: case OP_POW:
    case OP_DIV: case OP_IDIV: case OP_BAND: case OP_BOR: case OP_BXOR:
    case OP_SHL: case OP_SHR: {
      val x = number(c, b, symbol_of(op));
      binary(c, op, a, x, number(c, GET_C(i), symbol_of(op)));
      break;
    }
    case OP_UNM: {
      val v = number(c, b, "-");
      meet(c, v.type, T_INT);
      set(c, a, negate(c, v));
      break;
    }
    case OP_BNOT:
      binary(c, OP_BXOR, a, number(c, b, "~"), v_int(c, -1));
      break;
    case OP_NOT: {
      val v = get(c, b);
      int outcome = truth_of(v.type);
      if (outcome >= 0) {
        set(c, a, v_truth(c, !outcome));
        break;
      }
      uint32_t id = KIND(v.type) == T_BOOL ? v.id : v.flag;
      set(c, a, v_bool(c->emit ? op1(c, SpvOpLogicalNot, t_bool(c), id) : 0));
      break;
    }
    case OP_LEN: length_of(c, a, b); break;
    case OP_NEWTABLE:
      if (!tuple_is_made(p, pc)) refuse(c, op);
      c->state[a] = tuple_is_made(p, pc) ? T_TUPLE : T_TOLD;
      break;
    case OP_SETLIST:
      if (c->state[a] == T_TUPLE) tuple_set(c, pc);
      else if (c->state[a] != T_TOLD) refuse(c, op);
      break;
    case OP_CALL: call(c, pc); break;
    case OP_MMBIN: case OP_MMBINI: case OP_MMBINK: case OP_CLOSE:
    case OP_EXTRAARG: break;
    case OP_SELF: case OP_CONCAT: case OP_CLOSURE:
      refuse(c, op);
      c->state[a] = T_TOLD;
      break;
    case OP_VARARG: case OP_TFORPREP: case OP_TFORCALL: case OP_TFORLOOP:
      refuse(c, op);
      for (unsigned r = op == OP_VARARG ? a : a + 3; r < p->room; r++)
        c->state[r] = T_TOLD;
      /* Pretend `...` gave enough values, so calls report neither missing nor
         extra ones. */
      if (op == OP_VARARG) c->at->top = a + 6 < p->room ? a + 6 : p->room;
      break;
    default: refuse(c, op);
  }
}

/* --- tests ---------------------------------------------------------------- */

/* Returns 1 if two values that are not numbers are the same, else 0; -1 if
   unknown: values captured or passed twice may be the same. */
static int same_value(const compiler *c, type a, type b) {
  if (KIND(a) != KIND(b)) return 0;
  if (KIND(a) == T_NIL || DATA(a) == DATA(b)) return 1;
  if (KIND(a) != T_VALUE) return 0;
  const known *k = c->knowns[DATA(a)], *n = c->knowns[DATA(b)];
  const lzc_value *x = &k->value, *y = &n->value;
  if (x->identity != NULL || y->identity != NULL)
    return x->identity == y->identity;
  if (x->kind != y->kind || k->storage != n->storage) return 0;
  if (x->kind == LZC_STRING)
    return x->size == y->size && memcmp(x->bytes, y->bytes, x->size) == 0;
  return k->storage != 0 ? 0 : -1;
}

/* Compares values of any type for equality. */
static uint32_t equal(compiler *c, val a, val b, int *outcome) {
  type x = surely(a).type, y = surely(b).type;
  if (IS_NUMBER(x) && IS_NUMBER(y)) {
    uint32_t fa = a.flag, fb = b.flag;
    meet(c, x, y);
    a.type = x;
    b.type = y;
    uint32_t id = compare(c, OP_EQ, a, b);
    if (fa == 0 && fb == 0) return id;
    if (fa == 0 || fb == 0)
      return logical(c, SpvOpLogicalAnd, id, fa != 0 ? fa : fb);
    /* Both are numbers and equal, or both are nil. */
    id = logical(c, SpvOpLogicalOr, id, op1(c, SpvOpLogicalNot, t_bool(c), fa));
    return logical(c, SpvOpLogicalAnd, id,
                   logical(c, SpvOpLogicalEqual, fa, fb));
  }
  if (KIND(x) == T_BOOL && KIND(y) == T_BOOL) {
    if (DATA(x) != 0 && DATA(y) != 0) *outcome = x == y;
    return logical(c, SpvOpLogicalEqual, a.id, b.id);
  }
  if (is_maybe(a.type) && KIND(b.type) == T_NIL)
    return c->emit ? op1(c, SpvOpLogicalNot, t_bool(c), a.flag) : 0;
  if (is_maybe(b.type) && KIND(a.type) == T_NIL)
    return c->emit ? op1(c, SpvOpLogicalNot, t_bool(c), b.flag) : 0;
  *outcome = same_value(c, a.type, b.type);
  if (*outcome < 0) {
    finding(c, NULL, "%s is compared with %s; kernels compare numbers, "
            "booleans, strings and functions", what(c, a.type),
            what(c, b.type));
    *outcome = 0;
  }
  return truth(c, *outcome != 0);
}

/* a < b or a <= b. */
static uint32_t ordered(compiler *c, opcode op, val a, val b) {
  meet(c, a.type, b.type);
  return compare(c, op, a, b);
}

uint32_t condition(compiler *c, size_t pc, unsigned *reg, type *yes, type *no,
                   int *outcome) {
  uint32_t i = c->at->p->code[pc], id;
  opcode op = GET_OP(i);
  unsigned a = GET_A(i);
  *outcome = -1;
  *reg = op == OP_TESTSET ? GET_B(i) : a;
  type t = c->state[*reg];
  *yes = *no = t;
  int s = GET_SB(i);
  val n;
  switch (op) {
    case OP_EQ: id = equal(c, get(c, a), get(c, GET_B(i)), outcome); break;
    case OP_EQK:
      id = equal(c, get(c, a),
                 constant_value(c, &c->at->p->constants[GET_B(i)]), outcome);
      if (c->at->p->constants[GET_B(i)].kind == CONSTANT_NIL)
        *no = surely((val){t, 0, 0}).type;
      break;
    case OP_EQI: id = equal(c, get(c, a), v_int(c, s), outcome); break;
    case OP_LT: case OP_LE:
      n = number(c, a, "a comparison");
      id = ordered(c, op, n, number(c, GET_B(i), "a comparison"));
      break;
    case OP_LTI: case OP_LEI:
      id = ordered(c, op == OP_LTI ? OP_LT : OP_LE,
                   number(c, a, "a comparison"), v_int(c, s));
      break;
    case OP_GTI: case OP_GEI:
      id = ordered(c, op == OP_GTI ? OP_LT : OP_LE, v_int(c, s),
                   number(c, a, "a comparison"));
      break;
    default: {
      val v = get(c, *reg);
      *outcome = truth_of(v.type);
      id = is_maybe(v.type) ? v.flag : v.id;
      *yes = surely((val){t, 0, 0}).type;
      if (!is_maybe(v.type) && KIND(v.type) != T_BOOL)
        id = truth(c, *outcome != 0);
    }
  }
  if (!GET_K(i)) {
    /* The jump is taken if the condition is k. */
    type swap = *yes;
    *yes = *no;
    *no = swap;
    if (*outcome >= 0) *outcome = !*outcome;
    if (c->emit) id = op1(c, SpvOpLogicalNot, t_bool(c), id);
  }
  return id;
}
