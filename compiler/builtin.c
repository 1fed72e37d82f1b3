/*
 * builtin.c - math.* and lze.work's functions, by number.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

#include <string.h>

enum { B_REAL1, B_REAL2, B_KNOWN, B_FLOOR, B_CEIL, B_ABS, B_MAX, B_MIN, B_ATAN, B_LOG, B_FMOD,
       B_FMA, B_ID, B_BARRIER, B_DEG, B_RAD, B_ULT, B_ATOMIC,
       B_SWAP, B_ARRAY, B_RANDOM, B_LANE, B_MODF, B_TOINTEGER,
       B_PRINT, B_TYPE, B_NONE };

static const struct builtin {
  const char *name;
  int kind;
  unsigned op;
} builtins[] = {
  {"math.sqrt", B_REAL1, OpenCLstd_Sqrt}, {"math.sin", B_REAL1, OpenCLstd_Sin},
  {"math.cos", B_REAL1, OpenCLstd_Cos}, {"math.tan", B_REAL1, OpenCLstd_Tan},
  {"math.asin", B_REAL1, OpenCLstd_Asin},
  {"math.acos", B_REAL1, OpenCLstd_Acos},
  {"math.exp", B_REAL1, OpenCLstd_Exp}, {"math.atan", B_ATAN, 0},
  {"math.log", B_LOG, 0}, {"math.floor", B_FLOOR, OpenCLstd_Floor},
  {"math.ceil", B_CEIL, OpenCLstd_Ceil}, {"math.abs", B_ABS, 0},
  {"math.max", B_MAX, 0}, {"math.min", B_MIN, 0},
  {"math.fmod", B_FMOD, OpenCLstd_Fmod}, {"math.deg", B_DEG, 0},
  {"math.rad", B_RAD, 0}, {"math.ult", B_ULT, 0},
  {"work.fma", B_FMA, OpenCLstd_Fma},
  {"work.global_id", B_ID, SpvBuiltInGlobalInvocationId},
  {"work.local_id", B_ID, SpvBuiltInLocalInvocationId},
  {"work.group_id", B_ID, SpvBuiltInWorkgroupId},
  {"work.global_size", B_ID, SpvBuiltInGlobalSize},
  {"work.local_size", B_ID, SpvBuiltInWorkgroupSize},
  {"work.num_groups", B_ID, SpvBuiltInNumWorkgroups},
  {"work.barrier", B_BARRIER, 0},
  {"math.modf", B_MODF, OpenCLstd_Trunc}, {"math.tointeger", B_TOINTEGER, 0},
  {"math.type", B_TYPE, 0},
  /* Known by name, but rejected. */
  {"math.random", B_NONE, 0}, {"math.randomseed", B_NONE, 0},
  {"work.print", B_PRINT, 0},
  {"work.local_array", B_ARRAY, SpvStorageClassWorkgroup},
  {"work.private_array", B_ARRAY, SpvStorageClassFunction},
  {"work.atomic_add", B_ATOMIC, SpvOpAtomicIAdd},
  {"work.atomic_sub", B_ATOMIC, SpvOpAtomicISub},
  {"work.atomic_min", B_ATOMIC, SpvOpAtomicSMin},
  {"work.atomic_max", B_ATOMIC, SpvOpAtomicSMax},
  {"work.atomic_and", B_ATOMIC, SpvOpAtomicAnd},
  {"work.atomic_or", B_ATOMIC, SpvOpAtomicOr},
  {"work.atomic_xor", B_ATOMIC, SpvOpAtomicXor},
  {"work.atomic_exchange", B_ATOMIC, SpvOpAtomicExchange},
  {"work.atomic_compare_exchange", B_SWAP, SpvOpAtomicCompareExchange},
  {"work.sub_group_size", B_LANE, SpvBuiltInSubgroupSize},
  {"work.lane", B_LANE, SpvBuiltInSubgroupLocalInvocationId},
  {"work.random", B_RANDOM, 0},
  /* For kernels of arrays, which call them if float.known() is true: option
     `real` is "float", and the device has these functions. */
  {"float.known", B_KNOWN, 0},
  {"float.expm1", B_REAL1, OpenCLstd_Expm1},
  {"float.log1p", B_REAL1, OpenCLstd_Log1p},
  {"float.sinh", B_REAL1, OpenCLstd_Sinh},
  {"float.cosh", B_REAL1, OpenCLstd_Cosh},
  {"float.tanh", B_REAL1, OpenCLstd_Tanh},
  {"float.asinh", B_REAL1, OpenCLstd_Asinh},
  {"float.acosh", B_REAL1, OpenCLstd_Acosh},
  {"float.atanh", B_REAL1, OpenCLstd_Atanh},
  {"float.cbrt", B_REAL1, OpenCLstd_Cbrt},
  {"float.hypot", B_REAL2, OpenCLstd_Hypot},
  {"float.sigmoid", B_REAL1, FUNCTION_SIGMOID}
};
enum { BUILTINS = sizeof builtins / sizeof *builtins };

unsigned lzc_builtin_find(const char *name) {
  for (unsigned i = 0; i < BUILTINS; i++)
    if (strcmp(builtins[i].name, name) == 0) return i + 1;
  return 0;
}

const char *lzc_builtin_name(unsigned builtin) {
  return builtin >= 1 && builtin <= BUILTINS ? builtins[builtin - 1].name
                                             : NULL;
}

/* --- ids ------------------------------------------------------------------ */

/* Returns the size of the sub-group, or the place in it, from 1. */
static val lane(compiler *c, unsigned which) {
  if (!c->input->device.sub_groups) return v_int(c, 1);
  if (!c->emit) return (val){T_INT, 0, 0};
  uint32_t t = t_int(c, 32), id = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpLoad, t, id, builtin_input(c, which, t));
  if (which != SpvBuiltInSubgroupSize)
    id = op2(c, SpvOpIAdd, t, id, k_int(c, 32, 1));
  if (c->int_bits == 64) id = op1(c, SpvOpUConvert, t_int(c, 64), id);
  return (val){T_INT, id, 0};
}

static val id_of(compiler *c, const struct builtin *f, unsigned base,
                 unsigned count) {
  int64_t n = 1;
  val d = count > 0 ? surely(get(c, base + 1)) : v_int(c, 1);
  bool fixed = constant_of(c, d.type, &n);
  if (n < 1 || n > 3 ||
      (KIND(d.type) != T_INT && (d.type != T_NONE || c->emit))) {
    if (d.type != T_TOLD) finding(c, f->name, "needs 1, 2 or 3 as dimension");
    fixed = true;
    n = 1;
  }
  if (!fixed) check_dimension(c, f->name, d);
  bool is_size = f->op == SpvBuiltInGlobalSize ||
                 f->op == SpvBuiltInWorkgroupSize ||
                 f->op == SpvBuiltInNumWorkgroups;
  uint32_t t = t_int(c, 64);
  uint32_t id = builtin_id(c, f->op, fixed ? (unsigned)n - 1 : 2);
  for (unsigned k = 2; k >= 1 && !fixed && c->emit; k--)
    id = op3(c, SpvOpSelect, t,
             logical(c, SpvOpIEqual, d.id, k_int(c, c->int_bits, k)),
             builtin_id(c, f->op, k - 1), id);
  if (c->emit && !is_size)
    id = op2(c, SpvOpIAdd, t, id, k_int(c, 64, 1));
  if (c->emit && c->int_bits == 32)
    id = op1(c, SpvOpUConvert, t_int(c, 32), id);
  return (val){type_range(c, 1, INT64_MAX), id, 0};
}

/* --- arrays --------------------------------------------------------------- */

/* Returns the constant value of a size; captured numbers are compiled in for
   that. */
static bool size_of(compiler *c, type t, int64_t *n) {
  if (constant_of(c, t, n)) return true;
  if (KIND(t) != T_INT || !(DATA(t) & CAPTURED)) return false;
  known *k = c->knowns[DATA(t) & ~CAPTURED];
  k->fixed = k->by_value = true;
  *n = k->value.integer;
  return true;
}

/* Returns the array of this call of local_array or private_array(type, n). */
static val array(compiler *c, const struct builtin *f, unsigned base,
                 unsigned count) {
  type t = count == 2 ? c->state[base + 1] : T_NONE;
  int64_t n = 0;
  lzc_value v = {.kind = LZC_BUFFER, .element = LZC_FLOAT, .rank = 1};
  const lzc_value *name =
      KIND(t) == T_VALUE ? &c->knowns[DATA(t)]->value : NULL;
  const bool named = name != NULL && name->kind == LZC_STRING;
  if (!named || !lzc_element_find(name->bytes, name->size, &v.element)) {
    finding(c, f->name, "takes the name of a type (\"float\", \"int\", ...) "
            "as a constant string, and a size%s%.*s%s",
            named ? ", got \"" : "", named ? (int)name->size : 0,
            named ? (const char *)name->bytes : "", named ? "\"" : "");
    v.element = LZC_FLOAT;
  } else if (!size_of(c, c->state[base + 2], &n) || n < 1 || n > 1 << 24) {
    finding(c, f->name, "needs a size that is known when compiling: a "
            "constant or a captured integer, from 1 to 16777216%s",
            KIND(c->state[base + 2]) == T_REAL
                ? "; this is a real (math.tointeger, before the kernel, makes "
                  "a whole one an integer)"
                : "");
  }
  size_t i = 0;
  while (i < c->known_count && (c->knowns[i]->made_in != c->at ||
                                c->knowns[i]->made_at != c->at->pc))
    i++;
  if (i == c->known_count) {
    i = known_add(c, &v, NULL, 0);
    if (c->a->failed) return v_int(c, 0);
    c->knowns[i]->made_in = c->at;
    c->knowns[i]->made_at = c->at->pc;
  }
  known *k = c->knowns[i];
  k->value.element = v.element;
  k->storage = f->op;
  k->count = n >= 1 && n <= 1 << 24 ? n : 1;
  return (val){TYPE(T_VALUE, i), 0, 0};
}

/* --- atomics -------------------------------------------------------------- */

/* Returns the new value of a floating-point atomic for the old value and v. */
static uint32_t combine(compiler *c, unsigned op, uint32_t t, uint32_t old,
                        uint32_t v) {
  switch (op) {
    case SpvOpAtomicIAdd: return op2(c, SpvOpFAdd, t, old, v);
    case SpvOpAtomicISub: return op2(c, SpvOpFSub, t, old, v);
    default:
      return op3(c, SpvOpSelect, t,
                 logical(c, SpvOpFOrdLessThan, op == SpvOpAtomicSMin ? v : old,
                         op == SpvOpAtomicSMin ? old : v), v, old);
  }
}

static uint32_t compare_exchange(compiler *c, uint32_t t, uint32_t at,
                                 uint32_t scope, uint32_t expected,
                                 uint32_t v) {
  uint32_t id = writer_id(&c->w), relaxed = k_int(c, 32, 0);
  WRITE(&c->w, WRITER_BODY, SpvOpAtomicCompareExchange, t, id, at, scope,
        relaxed, relaxed, v, expected);
  return id;
}

/* Repeats compare-exchange until no other work-item interferes; returns the old
   value, a real of `bits` bits.  `at` points to an integer. */
static uint32_t exchange_loop(compiler *c, unsigned op, unsigned bits,
                              uint32_t at, uint32_t scope, uint32_t v) {
  uint32_t t = t_int(c, bits), r = t_float(c, bits), seen = variable_new(c, t);
  uint32_t loop = writer_id(&c->w), after = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpStore, seen,
        op3(c, SpvOpAtomicLoad, t, at, scope, k_int(c, 32, 0)));
  branch(c, loop);
  label(c, loop);
  uint32_t old = op1(c, SpvOpLoad, t, seen);
  uint32_t f = op1(c, SpvOpBitcast, r, old);
  uint32_t n = op1(c, SpvOpBitcast, t, combine(c, op, r, f, v));
  uint32_t got = compare_exchange(c, t, at, scope, old, n);
  WRITE(&c->w, WRITER_BODY, SpvOpStore, seen, got);
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional,
        logical(c, SpvOpIEqual, got, old), after, loop);
  label(c, after);
  return f;
}

/* Converts the value to the bits of an element. */
static uint32_t to_cell(compiler *c, lzc_element e, val v) {
  unsigned bits = lzc_element_bytes(e) * 8;
  if (is_real(e)) return real_of_bits(c, v, bits);
  return bits == c->int_bits ? v.id
                             : op1(c, SpvOpSConvert, t_int(c, bits), v.id);
}

/* Checks the value that an atomic of integers stores: its result for the old
   value and v, before the element wraps it; for the smaller and the greater
   one, v.  `swapped` is true if a compare-exchange stores v, and 0 for the
   others. */
static void check_stored(compiler *c, known *k, const spot *at, unsigned op,
                         uint32_t old, uint32_t v, uint32_t swapped) {
  uint32_t t = t_of(c, T_INT), stored = v;
  switch (op) {
    case SpvOpAtomicIAdd: stored = op2(c, SpvOpIAdd, t, old, v); break;
    case SpvOpAtomicISub: stored = op2(c, SpvOpISub, t, old, v); break;
    case SpvOpAtomicAnd: stored = op2(c, SpvOpBitwiseAnd, t, old, v); break;
    case SpvOpAtomicOr: stored = op2(c, SpvOpBitwiseOr, t, old, v); break;
    case SpvOpAtomicXor: stored = op2(c, SpvOpBitwiseXor, t, old, v); break;
    default: break;
  }
  if (swapped != 0) stored = op3(c, SpvOpSelect, t, swapped, v, old);
  check_fit(c, k, at, (val){T_INT, stored, 0});
}

/* Compiles an atomic.  The arguments follow the function: x, i and v or, for
   compare-exchange, x, i, expected and v.  Returns the old value. */
static val atomic(compiler *c, const struct builtin *f, unsigned base,
                  unsigned count) {
  bool swap = f->kind == B_SWAP;
  if (count != (swap ? 4u : 3u)) {
    finding(c, f->name, swap ? "takes a buffer, an index, what is expected "
                               "and a value"
                             : "takes a buffer, an index and a value");
    return v_int(c, 0);
  }
  known *k = buffer_of(c, base + 1);
  val i = surely(get(c, base + 2));
  val v = surely(get(c, base + 2 + (swap ? 2 : 1)));
  val expected = swap ? surely(get(c, base + 3)) : v;
  meet(c, v.type, T_INT);
  meet(c, expected.type, T_INT);
  if (k == NULL) return v_int(c, 0);
  lzc_element e = k->value.element;
  bool real = is_real(e);
  val old = {real ? T_REAL : T_INT, 0, 0};
  unsigned bits = lzc_element_bytes(e) * 8, op = f->op;
  if (bits < 32) {
    finding(c, f->name, "needs cells of 32 or 64 bits (int, uint, long, ulong, "
            "float, double), these are of %s", lzc_element_name(e));
  } else if (real && op >= SpvOpAtomicAnd && op <= SpvOpAtomicXor) {
    finding(c, f->name, "needs integers, these are of %s",
            lzc_element_name(e));
  } else if (bits == 64 && !c->input->device.int64_atomics) {
    finding(c, f->name, "needs a buffer of 32 bits: the device has no atomics "
            "of 64 bits");
  } else if (k->value.is_const) {
    finding(c, f->name, "writes to a const buffer");
  } else if (k->storage == SpvStorageClassFunction) {
    finding(c, f->name, "of a private array: nobody else can see it");
  } else if (KIND(i.type) != T_INT || !IS_NUMBER(v.type) ||
             !IS_NUMBER(expected.type) ||
             (!real &&
              (KIND(v.type) != T_INT || KIND(expected.type) != T_INT))) {
    if (c->emit)
      finding(c, f->name, "needs an integer as index and %s as value",
              real ? "a number" : "an integer");
  } else if (c->emit) {
    if (bits == 64) writer_capability(&c->w, SpvCapabilityInt64Atomics);
    if (e == LZC_UINT || e == LZC_ULONG)
      op = op == SpvOpAtomicSMin ? SpvOpAtomicUMin
           : op == SpvOpAtomicSMax ? SpvOpAtomicUMax : op;
    spot where = {.offset = offset_of(c, i), .count = 1};
    uint32_t kept = 0, after = 0, t = t_int(c, bits);
    if (c->input->options.bounds) {
      where.index[0] = to_index(c, i);
      where.size[0] = known_length(c, k);
      where.there = logical(c, SpvOpULessThan, where.offset, where.size[0]);
      kept = variable_new(c, t_of(c, old.type));
      WRITE(&c->w, WRITER_BODY, SpvOpStore, kept,
            real ? k_real(c, 0) : k_int(c, c->int_bits, 0));
      after = check_begin(c, k, &where);
    }
    uint32_t at = address(c, k, where.offset);
    uint32_t scope = k_int(c, 32, k->storage ? SpvScopeWorkgroup
                                             : SpvScopeDevice);
    uint32_t cell = to_cell(c, e, v), wanted = to_cell(c, e, expected);
    if (real)
      at = op1(c, SpvOpBitcast,
               t_pointer(c, k->storage ? k->storage
                                       : SpvStorageClassCrossWorkgroup, t), at);
    if (real && op != SpvOpAtomicExchange && !swap) {
      old.id = exchange_loop(c, op, bits, at, scope, cell);
    } else {
      if (real) {
        cell = op1(c, SpvOpBitcast, t, cell);
        wanted = op1(c, SpvOpBitcast, t, wanted);
      }
      if (swap) {
        old.id = compare_exchange(c, t, at, scope, wanted, cell);
      } else {
        old.id = writer_id(&c->w);
        WRITE(&c->w, WRITER_BODY, op, t, old.id, at, scope, k_int(c, 32, 0),
              cell);
      }
      if (real) old.id = op1(c, SpvOpBitcast, t_float(c, bits), old.id);
    }
    uint32_t swapped = swap && after != 0 && !real
                           ? logical(c, SpvOpIEqual, old.id, wanted) : 0;
    if (real && bits != real_bits(c))
      old.id = op1(c, SpvOpFConvert, t_of(c, T_REAL), old.id);
    if (!real && bits != c->int_bits)
      old.id = op1(c, e == LZC_UINT ? SpvOpUConvert : SpvOpSConvert,
                   t_of(c, T_INT), old.id);
    if (after != 0) {
      if (!real) check_stored(c, k, &where, op, old.id, v.id, swapped);
      WRITE(&c->w, WRITER_BODY, SpvOpStore, kept, old.id);
      check_end(c, after);
      old.id = op1(c, SpvOpLoad, t_of(c, old.type), kept);
    }
  }
  return old;
}

/* --- random numbers ------------------------------------------------------- */

/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
   as 1, 2, 3", SC11).  Key: the low and the high half of seed; counter: the low
   and the high half of counter, 0, 0.  Four integers from 0 to 2^32 - 1. */
static void philox(compiler *c, val seed, val counter, val *results) {
  for (int i = 0; i < 4; i++) results[i] = (val){T_INT, 0, 0};
  if (!c->emit) return;
  uint32_t t = t_int(c, 64), w = t_int(c, 32), by = k_int(c, 64, 32);
  uint32_t k[2] = {0}, x[4] = {0};
  uint32_t words[] = {to_index(c, seed), to_index(c, counter)};
  for (int i = 0; i < 2; i++) {
    uint32_t high = op2(c, SpvOpShiftRightLogical, t, words[i], by);
    uint32_t *to = i == 0 ? k : x;
    to[0] = op1(c, SpvOpUConvert, w, words[i]);
    to[1] = op1(c, SpvOpUConvert, w, high);
  }
  x[2] = x[3] = k_int(c, 32, 0);
  uint32_t m[] = {k_int(c, 64, 0xd2511f53), k_int(c, 64, 0xcd9e8d57)};
  uint32_t step[] = {k_int(c, 32, 0x9e3779b9), k_int(c, 32, 0xbb67ae85)};
  for (int round = 0; round < 10; round++) {
    uint32_t high[2], low[2];
    for (int i = 0; i < 2; i++) {
      uint32_t p = op2(c, SpvOpIMul, t, m[i],
                       op1(c, SpvOpUConvert, t, x[i * 2]));
      low[i] = op1(c, SpvOpUConvert, w, p);
      high[i] = op1(c, SpvOpUConvert, w,
                    op2(c, SpvOpShiftRightLogical, t, p, by));
    }
    uint32_t a = op2(c, SpvOpBitwiseXor, w, high[1], x[1]);
    uint32_t b = op2(c, SpvOpBitwiseXor, w, high[0], x[3]);
    x[0] = op2(c, SpvOpBitwiseXor, w, a, k[0]);
    x[1] = low[1];
    x[2] = op2(c, SpvOpBitwiseXor, w, b, k[1]);
    x[3] = low[0];
    for (int i = 0; i < 2; i++) k[i] = op2(c, SpvOpIAdd, w, k[i], step[i]);
  }
  for (int i = 0; i < 4; i++)
    results[i].id = c->int_bits == 32
                        ? x[i] : op1(c, SpvOpUConvert, t_of(c, T_INT), x[i]);
}

/* --- arithmetic ----------------------------------------------------------- */

/* Returns the function that option `fast` uses in place of one on floats. */
static unsigned native(const compiler *c, unsigned op) {
  if (!c->input->options.fast || real_bits(c) != 32) return op;
  switch (op) {
    case OpenCLstd_Sqrt: return OpenCLstd_Native_sqrt;
    case OpenCLstd_Sin: return OpenCLstd_Native_sin;
    case OpenCLstd_Cos: return OpenCLstd_Native_cos;
    case OpenCLstd_Tan: return OpenCLstd_Native_tan;
    case OpenCLstd_Exp: return OpenCLstd_Native_exp;
    case OpenCLstd_Log: return OpenCLstd_Native_log;
    case OpenCLstd_Log2: return OpenCLstd_Native_log2;
    case OpenCLstd_Log10: return OpenCLstd_Native_log10;
    default: return op;
  }
}

static val real_of(compiler *c, unsigned op, unsigned count, const val *v) {
  uint32_t x[3] = {0};
  for (unsigned i = 0; i < count; i++) x[i] = to_real(c, v[i]).id;
  uint32_t own = function_of_floats(c, op, x[0], x[1]);
  if (own != 0) return (val){T_REAL, own, 0};
  op = native(c, op);
  return (val){T_REAL, ext(c, op, t_of(c, T_REAL), count, x[0], x[1], x[2]),
               0};
}

/* Returns the larger or smaller, as math.max compares: the first of equals, and
   the first if one is a NaN.  The second selection of reals changes no result,
   but without it LLVM 14 simplifies max(3.0, max(x, 3.0)) to the inner one,
   which may be a NaN.  With fmax instead, LLVM 18 gives up on reductions. */
static val extreme(compiler *c, bool max, val a, val b) {
  bool real = KIND(a.type) == T_REAL || KIND(b.type) == T_REAL;
  val r = {real ? T_REAL : T_INT, 0, 0};
  if (real) {
    a = to_real(c, a);
    b = to_real(c, b);
  }
  uint32_t better = max ? compare(c, OP_LT, a, b) : compare(c, OP_LT, b, a);
  if (!c->emit) return r;
  uint32_t t = t_of(c, r.type);
  r.id = op3(c, SpvOpSelect, t, better, b.id, a.id);
  if (real)
    r.id = op3(c, SpvOpSelect, t, logical(c, SpvOpFUnordEqual, a.id, b.id),
               a.id, r.id);
  return r;
}

/* Returns the integer n - 2 min(n, 0).  LLVM 14 recognises other forms as its
   own abs, and gets the negative of that wrong in loops. */
static val absolute(compiler *c, val n) {
  val zero = v_int(c, 0);
  uint32_t minus = compare(c, OP_LT, n, zero);
  if (!c->emit) return (val){T_INT, 0, 0};
  uint32_t t = t_of(c, T_INT);
  uint32_t low = op3(c, SpvOpSelect, t, minus, n.id, zero.id);
  uint32_t high = op2(c, SpvOpISub, t, n.id, low);
  return (val){T_INT, op2(c, SpvOpISub, t, high, low), 0};
}

/* Returns the result of math.max or math.min for `best` and `v`, which is
   ignored if it is missing: a function may have returned fewer results. */
static val better(compiler *c, bool max, val best, val v, uint32_t there) {
  val r = extreme(c, max, best, v);
  if (there == 0) return r;
  if (KIND(r.type) == T_REAL) best = to_real(c, best);
  r.id = op3(c, SpvOpSelect, t_of(c, r.type), there, r.id, best.id);
  return r;
}

/* Returns true if the only argument, in register `reg`, is a quotient, possibly
   of integers, that was computed just before. */
static bool is_quotient(const compiler *c, unsigned reg) {
  size_t pc = c->at->pc;
  if (pc < 2 || c->quotient_for != pc) return false;
  uint32_t i = c->at->p->code[pc - 2];
  return (GET_OP(i) == OP_DIV || GET_OP(i) == OP_DIVK) && GET_A(i) == reg;
}

/* math.log(x, base).  Lua has separate functions for logarithms to the bases 2
   and 10, and uses e if the base is nil (`there` is false).
   Equal constants have equal ids. */
static val logarithm(compiler *c, val x, val base, uint32_t there) {
  static const struct {
    double base;
    unsigned op;
  } own[] = {{2, OpenCLstd_Log2}, {10, OpenCLstd_Log10}};
  val r = {T_REAL, 0, 0};
  if (!c->emit) return r;
  base = to_real(c, base);
  for (int i = 0; i < 2 && there == 0; i++)
    if (base.id == k_real(c, own[i].base)) return real_of(c, own[i].op, 1, &x);
  uint32_t t = t_of(c, T_REAL), e = real_of(c, OpenCLstd_Log, 1, &x).id;
  r.id = op2(c, SpvOpFDiv, t, e, real_of(c, OpenCLstd_Log, 1, &base).id);
  for (int i = 0; i < 2; i++)
    r.id = op3(c, SpvOpSelect, t,
               logical(c, SpvOpFOrdEqual, base.id, k_real(c, own[i].base)),
               real_of(c, own[i].op, 1, &x).id, r.id);
  if (there != 0) r.id = op3(c, SpvOpSelect, t, there, r.id, e);
  return r;
}

/* Notes which numbers a function of math treats as integers if a launch passes
   integers. */
static void meet_arguments(compiler *c, int kind, unsigned count,
                           const val *v) {
  bool reals = kind == B_REAL1 || kind == B_REAL2 || kind == B_FMA || kind == B_ATAN ||
               kind == B_LOG || kind == B_DEG || kind == B_RAD;
  bool either = kind == B_MAX || kind == B_MIN || kind == B_FMOD;
  for (unsigned i = 0; i < count && either; i++)
    reals |= is_sure_real(v[i].type);
  for (unsigned i = 0; i < count && !reals; i++) meet(c, v[i].type, T_INT);
}

/* Returns true if both operands of a quotient are integers: then it is floored.
   Notes that it matters if a launch passes integers. */
static bool are_integers(compiler *c, const val *quotient) {
  meet(c, quotient[0].type, quotient[1].type);
  return KIND(quotient[0].type) == T_INT && KIND(quotient[1].type) == T_INT;
}

static val integer_fmod(compiler *c, val a, val b) {
  if (!c->emit) return (val){T_INT, 0, 0};
  uint32_t t = t_of(c, T_INT), one = k_int(c, c->int_bits, 1);
  check_divisor(c, b);
  uint32_t bad = logical(
      c, SpvOpULessThanEqual, op2(c, SpvOpIAdd, t, b.id, one), one);
  uint32_t d = op3(c, SpvOpSelect, t, bad, one, b.id);
  return (val){T_INT, op2(c, SpvOpSRem, t, a.id, d), 0};
}

/* Returns the whole part as an integer, as math.floor does, and the rest, which
   is 0.0 for infinities. */
static unsigned parts(compiler *c, val v, val *results) {
  results[0] = v;
  results[1] = v_real(c, 0);
  if (KIND(v.type) == T_INT) return 2;
  results[1].type = T_REAL;
  uint32_t t = t_of(c, T_REAL), n = rounded(c, OpenCLstd_Trunc, v.id);
  results[0] = (val){T_INT, whole(c, n), 0};
  if (!c->emit) return 2;
  results[1].id = op3(c, SpvOpSelect, t, logical(c, SpvOpFOrdEqual, n, v.id),
                      k_real(c, 0), op2(c, SpvOpFSub, t, v.id, n));
  return 2;
}

/* Converts a number to the integer with the same value, or nil. */
static val to_integer(compiler *c, val v) {
  if (KIND(v.type) == T_INT) return v;
  val r = {T_MAYBE_INT, whole(c, v.id), 0};
  /* Compared as integers: equal to the integer it converts to, exactly. */
  r.flag = compare(c, OP_EQ, (val){T_INT, r.id, 0}, v);
  return r;
}

/* --- print ---------------------------------------------------------------- */

/* Returns a pointer to constant text with its terminating zero. */
static uint32_t text_pointer(compiler *c, const char *text) {
  uint32_t size = (uint32_t)strlen(text) + 1, t = t_int(c, 8);
  uint32_t *words = arena_new(c->a, size + 1, sizeof *words);
  if (words == NULL) return 0;
  words[0] = writer_once(&c->w, SpvOpTypeArray, 0, 2,
                         (uint32_t[]){t, k_int(c, 32, size)});
  for (uint32_t i = 0; i < size; i++)
    words[i + 1] = k_int(c, 8, (unsigned char)text[i]);
  uint32_t whole = t_pointer(c, SpvStorageClassUniformConstant, words[0]);
  uint32_t all = writer_once(&c->w, SpvOpConstantComposite, 1, size + 1, words);
  uint32_t id = writer_id(&c->w);
  WRITE(&c->w, WRITER_GLOBAL, SpvOpVariable, whole, id,
        SpvStorageClassUniformConstant, all);
  WRITE(&c->w, WRITER_DECORATION, SpvOpDecorate, id, SpvDecorationConstant);
  uint32_t zero = k_int(c, 64, 0), at = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpInBoundsPtrAccessChain,
        t_pointer(c, SpvStorageClassUniformConstant, t), at, id, zero, zero);
  return at;
}

/* A line to print, as far as it is assembled. */
enum { MOST_PRINTED = 24, MOST_FORKS = 6, LINE_ROOM = 1000 };
typedef struct line {
  const struct builtin *f;
  unsigned base, count, next; /* the arguments; the current one */
  int forks;                  /* number of reals that may still fork the line */
  bool there;                 /* the current one is not nil */
  uint32_t used;              /* of words, the operands of printf */
  uint32_t words[MOST_PRINTED + 5];
  size_t n;
  char format[LINE_ROOM + 32];
} line;

static void line_text(line *l, const char *bytes, size_t size) {
  for (size_t k = 0; k < size && l->n < LINE_ROOM; k++) {
    if (bytes[k] == '%') l->format[l->n++] = '%';
    l->format[l->n++] = bytes[k];
  }
}

static void line_number(compiler *c, line *l, val v, const char *conversion) {
  strcpy(l->format + l->n, conversion);
  l->n += strlen(conversion);
  if (!c->emit) return;
  bool real = KIND(v.type) == T_REAL;
  uint32_t id = real ? v.id : to_index(c, v);
  if (real && real_bits(c) == 32 && c->input->device.fp64) {
    writer_capability(&c->w, SpvCapabilityFloat64);
    id = op1(c, SpvOpFConvert, t_float(c, 64), id);
  }
  l->words[l->used++] = id;
}

/* Returns true if Lua prints this real with all its digits and ".0". */
static uint32_t prints_whole(compiler *c, uint32_t real) {
  uint32_t t = t_of(c, T_REAL);
  return logical(
      c, SpvOpLogicalAnd,
      logical(c, SpvOpFOrdEqual, real, ext(c, OpenCLstd_Trunc, t, 1, real,
                                           0, 0)),
      logical(c, SpvOpFOrdLessThan, ext(c, OpenCLstd_Fabs, t, 1, real, 0, 0),
              k_real(c, 1e14)));
}

static void print_from(compiler *c, line *l, uint32_t end);

/* Continues the line with one text or conversion if `yes` is true, and with
   another if not.  Each has a separate printf, because formats are constant,
   and other work-items could interleave with a line printed in pieces. */
static void print_either(compiler *c, const line *l, uint32_t end,
                         uint32_t yes, val v, const char *const texts[2]) {
  uint32_t at[2] = {writer_id(&c->w), writer_id(&c->w)};
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, yes, at[0], at[1]);
  for (int i = 0; i < 2; i++) {
    line way = *l;
    label(c, at[i]);
    if (KIND(v.type) == T_REAL) line_number(c, &way, v, texts[i]);
    else line_text(&way, texts[i], strlen(texts[i]));
    print_from(c, &way, end);
  }
}

/* Continues the line with the next number or, if `there` is false, with nil. */
static void print_maybe(compiler *c, const line *l, uint32_t end,
                        uint32_t there) {
  line yes = *l, no = *l;
  uint32_t at[2] = {writer_id(&c->w), writer_id(&c->w)};
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, there, at[0], at[1]);
  label(c, at[0]);
  yes.there = true;
  print_from(c, &yes, end);
  label(c, at[1]);
  if (no.next++ > 0) line_text(&no, "\t", 1);
  line_text(&no, "nil", 3);
  print_from(c, &no, end);
}

/* Writes the arguments from l->next on, printf, and a branch to `end`. */
static void print_from(compiler *c, line *l, uint32_t end) {
  bool wide = real_bits(c) == 64;
  while (l->next < l->count && l->n < LINE_ROOM) {
    val v = get(c, l->base + 1 + l->next);
    if (is_maybe(v.type) && c->emit && !l->there) {
      print_maybe(c, l, end, v.flag);
      return;
    }
    l->there = false;
    v = surely(v);
    meet(c, v.type, T_INT);
    if (l->next++ > 0) line_text(l, "\t", 1);
    const lzc_value *text =
        KIND(v.type) == T_VALUE ? &c->knowns[DATA(v.type)]->value : NULL;
    if (text != NULL && text->kind == LZC_STRING) {
      line_text(l, text->bytes, text->size);
      if (memchr(text->bytes, 0, text->size) != NULL)
        finding(c, l->f->name, "cannot print the byte 0");
    } else if (KIND(v.type) == T_NIL) {
      line_text(l, "nil", 3);
    } else if (KIND(v.type) == T_INT) {
      line_number(c, l, v, "%ld");
    } else if (KIND(v.type) == T_REAL) {
      /* Without the l, PoCL rounds doubles to float. */
      const char *const texts[] = {wide ? "%.1lf" : "%.1f",
                                   wide ? "%.14lg" : "%.7g"};
      if (c->emit && l->forks-- > 0) {
        print_either(c, l, end, prints_whole(c, v.id), v, texts);
        return;
      }
      line_number(c, l, v, texts[1]);
    } else if (KIND(v.type) == T_BOOL) {
      if (c->emit) {
        print_either(c, l, end, v.id, v, (const char *[]){"true", "false"});
        return;
      }
    } else if (v.type != T_NONE || c->emit) {
      finding(c, l->f->name, "prints numbers, booleans, nil and constant "
              "strings, this is %s", what(c, v.type));
    }
  }
  if (l->n >= LINE_ROOM)
    finding(c, l->f->name, "takes %d bytes of text at most", LINE_ROOM);
  if (!c->emit) return;
  l->format[l->n++] = '\n';
  l->format[l->n] = '\0';
  l->words[0] = t_int(c, 32);
  l->words[4] = text_pointer(c, l->format);
  l->words[1] = writer_id(&c->w);
  l->words[2] = c->import;
  l->words[3] = OpenCLstd_Printf;
  writer_op(&c->w, WRITER_BODY, SpvOpExtInst, l->used, l->words);
  branch(c, end);
}

/* print(...): prints a line by one call of printf in OpenCL.  Each boolean
   doubles the number of calls to choose from, and so do the first reals. */
static void print(compiler *c, const struct builtin *f, unsigned base,
                  unsigned count) {
  line l = {.f = f, .base = base, .used = 5, .forks = MOST_FORKS};
  if (count > MOST_PRINTED)
    finding(c, f->name, "takes %d arguments at most", MOST_PRINTED);
  l.count = count < MOST_PRINTED ? count : MOST_PRINTED;
  for (unsigned i = 0; i < l.count; i++) {
    type t = get(c, base + 1 + i).type;
    if (KIND(t) == T_BOOL || is_maybe(t)) l.forks--;
  }
  if (l.forks < 0)
    finding(c, f->name, "takes %d booleans and numbers that may be nil at "
            "most", MOST_FORKS);
  uint32_t end = c->emit ? writer_id(&c->w) : 0;
  print_from(c, &l, end);
  if (c->emit) label(c, end);
}

unsigned call_builtin(compiler *c, unsigned builtin, unsigned base,
                      unsigned count, val *results) {
  const struct builtin *f = &builtins[builtin - 1];
  val v[8], *r = results;
  uint32_t there[8]; /* condition if it may be nil, else 0 */
  if (f->kind == B_NONE) {
    finding(c, f->name, "has a state that work-items cannot share; "
            "lze.work.random(seed, counter) has none");
    r[0] = v_int(c, 0);
    return 1;
  }
  if (f->kind == B_TYPE && count > 0) {
    val a = get(c, base + 1);
    type t = surely(a).type;
    meet(c, t, T_INT);
    if (is_maybe(a.type))
      finding(c, f->name, "takes no number that may be nil; test that first");
    r[0] = t == T_NONE             ? (val){T_NONE, 0, 0}
           : KIND(t) == T_INT      ? v_string(c, "integer", 7)
           : KIND(t) == T_REAL     ? v_string(c, "float", 5)
                                   : (val){T_NIL, 0, 0};
    return 1;
  }
  if (f->kind == B_PRINT) {
    print(c, f, base, count);
    return 0;
  }
  if (f->kind == B_BARRIER) {
    if (c->emit) {
      uint32_t group = k_int(c, 32, SpvScopeWorkgroup);
      WRITE(&c->w, WRITER_BODY, SpvOpControlBarrier, group, group,
            k_int(c, 32, 0x310));
    }
    return 0;
  }
  if (f->kind == B_ID) {
    r[0] = id_of(c, f, base, count);
    return 1;
  }
  if (f->kind == B_ATOMIC || f->kind == B_SWAP) {
    r[0] = atomic(c, f, base, count);
    return 1;
  }
  if (f->kind == B_ARRAY) {
    r[0] = array(c, f, base, count);
    return 1;
  }
  if (f->kind == B_LANE) {
    r[0] = lane(c, f->op);
    return 1;
  }
  if (f->kind == B_KNOWN) {
    /* Reals without an option are chosen later, after the analysis. */
    r[0] = v_truth(c, c->input->options.real == LZC_FLOAT &&
                          c->input->device.fast_fp64);
    return 1;
  }
  if (f->kind == B_RANDOM) {
    v[0] = v[1] = v_int(c, 0);
    for (unsigned i = 0; i < 2 && i < count; i++)
      v[i] = surely(get(c, base + 1 + i));
    bool none = v[0].type == T_NONE || v[1].type == T_NONE;
    if (count != 2 || KIND(v[0].type) != T_INT || KIND(v[1].type) != T_INT) {
      if (!none || c->emit)
        finding(c, f->name, "takes two integers, a seed and a counter");
      v[0] = v[1] = v_int(c, 0);
    }
    philox(c, v[0], v[1], r);
    return 4;
  }
  unsigned least = f->kind == B_FMA ? 3
                   : f->kind == B_FMOD || f->kind == B_ULT ||
                           f->kind == B_REAL2 ? 2 : 1;
  r[0] = v_int(c, 0);
  if (count < least || count > 8) {
    bool few = count < least;
    finding(c, f->name, "takes at %s %u argument%s, not %u",
            few ? "least" : "most", few ? least : 8,
            few && least == 1 ? "" : "s", count);
    return 1;
  }
  for (unsigned i = 0; i < count; i++) {
    v[i] = get(c, base + 1 + i);
    there[i] = v[i].flag;
    v[i] = surely(v[i]);
    if (IS_NUMBER(v[i].type)) continue;
    if (v[i].type != T_NONE || c->emit)
      finding(c, f->name, "needs a number as argument %u, this is %s", i + 1,
              what(c, v[i].type));
    v[i] = v_int(c, 0);
  }
  meet_arguments(c, f->kind, count, v);
  bool integers = KIND(v[0].type) == T_INT;
  switch (f->kind) {
    case B_REAL1: r[0] = real_of(c, f->op, 1, v); break;
    case B_REAL2: r[0] = real_of(c, f->op, 2, v); break;
    case B_FMA: r[0] = real_of(c, f->op, 3, v); break;
    case B_FLOOR: case B_CEIL:
      if (integers) {
        r[0] = v[0];
      } else if (f->kind == B_FLOOR && count == 1 &&
                 is_quotient(c, base + 1) &&
                 are_integers(c, c->quotient)) {
        /* floor(a / b) of integers is a // b, for any width of reals. */
        check_divisor(c, c->quotient[1]);
        r[0] = arithmetic(c, OP_IDIV, c->quotient[0], c->quotient[1]);
      } else {
        val x = real_of(c, f->op, 1, v);
        r[0] = (val){T_INT, whole(c, x.id), 0};
      }
      break;
    case B_ABS:
      r[0] = integers ? absolute(c, v[0]) : real_of(c, OpenCLstd_Fabs, 1, v);
      break;
    case B_MAX: case B_MIN:
      r[0] = v[0];
      for (unsigned i = 1; i < count; i++)
        r[0] = better(c, f->kind == B_MAX, r[0], v[i], there[i]);
      break;
    case B_ATAN:
      r[0] = count > 1 ? real_of(c, OpenCLstd_Atan2, 2, v)
                       : real_of(c, OpenCLstd_Atan, 1, v);
      break;
    case B_MODF: return parts(c, v[0], r);
    case B_TOINTEGER: r[0] = to_integer(c, v[0]); break;
    case B_LOG:
      r[0] = count > 1 ? logarithm(c, v[0], v[1], there[1])
                       : real_of(c, OpenCLstd_Log, 1, v);
      break;
    case B_FMOD:
      r[0] = integers && KIND(v[1].type) == T_INT
                 ? integer_fmod(c, v[0], v[1]) : real_of(c, f->op, 2, v);
      break;
    case B_DEG:
      r[0] = arithmetic(c, OP_MUL, to_real(c, v[0]),
                        v_real(c, 180.0 / 3.141592653589793));
      break;
    case B_RAD:
      r[0] = arithmetic(c, OP_MUL, to_real(c, v[0]),
                        v_real(c, 3.141592653589793 / 180.0));
      break;
    default:
      if (!integers || KIND(v[1].type) != T_INT) {
        finding(c, f->name, "takes two integers");
        v[0] = v[1] = v_int(c, 0);
      }
      r[0] = v_bool(logical(c, SpvOpULessThan, v[0].id, v[1].id));
  }
  return 1;
}
