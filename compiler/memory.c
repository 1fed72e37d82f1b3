/*
 * memory.c - elements of buffers, loaded and stored.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

bool is_real(lzc_element e) { return e >= LZC_HALF; }
bool is_unsigned(lzc_element e) {
  return e < LZC_HALF && ((unsigned)e & 1) != 0;
}

/* Returns a description of a value with its name. */
static const char *named(compiler *c, type t, const char *kind) {
  const char *name = known_label(c, c->knowns[DATA(t)]);
  return *name == '\0' ? kind : arena_text(c->a, "%s (%s)", kind, name);
}

const char *what(compiler *c, type t) {
  switch (KIND(t)) {
    case T_NONE: return "nil";
    case T_NIL:
      return t == T_TOLD ? TOLD
             : DATA(t) < NIL_OF ? "nil"
                 : arena_text(c->a, "nil (%s)",
                              c->knowns[DATA(t) - NIL_OF]->path->text);
    case T_BOOL: return "a boolean";
    case T_INT:
      return DATA(t) & CAPTURED
                 ? arena_text(c->a, "an integer (%s)",
                              c->knowns[DATA(t) & ~CAPTURED]->path->text)
                 : "an integer";
    case T_REAL: return "a real";
    case T_MAYBE_INT: case T_MAYBE_REAL: return "a number or nil";
    case T_TUPLE: return "a table";
    case T_VALUE:
      switch (c->knowns[DATA(t)]->value.kind) {
        case LZC_STRING: return named(c, t, "a string");
        case LZC_BUFFER: return named(c, t, "a buffer");
        case LZC_ARRAY: return named(c, t, "an array");
        case LZC_TABLE: return named(c, t, "a table");
        case LZC_BUILTIN: case LZC_FUNCTION:
          return named(c, t, "a function");
        case LZC_OTHER:
          if (c->knowns[DATA(t)]->value.bytes != NULL)
            return named(c, t, c->knowns[DATA(t)]->value.bytes);
          /* fallthrough */
        default: return "a value that kernels do not have";
      }
    default: return "of several types";
  }
}

/* --- memory --------------------------------------------------------------- */

void not_indexed(compiler *c, unsigned reg, type t) {
  const char *name = chunk_local(c->at->p, reg, c->at->pc);
  if (t == T_NONE && !c->emit) return;
  bool is_table = KIND(t) == T_VALUE &&
                  c->knowns[DATA(t)]->value.kind == LZC_TABLE;
  finding(c, name, "%s%s%s indexed here; kernels index buffers and arrays%s",
          name != NULL ? "is " : "", what(c, t), name != NULL ? " and" : " is",
          is_table ? ", and read fields of captured tables by name" : "");
}

known *buffer_of(compiler *c, unsigned reg) {
  val v = get(c, reg);
  if (KIND(v.type) == T_VALUE) {
    known *k = c->knowns[DATA(v.type)];
    if (k->value.kind == LZC_BUFFER) {
      if (k->value.rank == 0) k->value.rank = 1;
      return k;
    }
    if (k->value.kind == LZC_ARRAY) {
      finding(c, known_name(c, k), "is an array of %u dimensions, and is "
              "indexed by one number here; a[{i, j}] is an element",
              k->value.rank);
      return NULL;
    }
  }
  not_indexed(c, reg, v.type);
  return NULL;
}

uint32_t offset_of(compiler *c, val index) {
  int64_t n;
  if (constant_of(c, index.type, &n)) return k_int(c, 64, n - 1);
  /* As wide as the index: `i - 1` of the global id is the id again, so drivers
     recognise a row of elements. */
  if (c->int_bits == 32)
    return c->emit ? op1(c, SpvOpSConvert, t_int(c, 64),
                         op2(c, SpvOpISub, t_int(c, 32), index.id,
                             k_int(c, 32, 1))) : 0;
  return op2(c, SpvOpISub, t_int(c, 64), to_index(c, index), k_int(c, 64, 1));
}

/* Returns the address of an element; halves in buffers are addressed by their
   offset. */
uint32_t address(compiler *c, known *k, uint32_t offset) {
  uint32_t storage = k->storage ? k->storage : SpvStorageClassCrossWorkgroup;
  uint32_t t = t_pointer(c, storage, t_cell(c, k->value.element));
  return op2(c, k->storage != 0 ? SpvOpInBoundsAccessChain
                                : SpvOpInBoundsPtrAccessChain,
             t, known_pointer(c, k), offset);
}

/* Returns the type of the integers in elements. */
static type element_type(compiler *c, lzc_element e) {
  unsigned bits = lzc_element_bytes(e) * 8;
  bool positive = is_unsigned(e);
  if (bits + positive > c->int_bits || bits == 64) return T_INT;
  int64_t most = ((int64_t)1 << (bits - !positive)) - 1;
  return type_range(c, positive ? 0 : -most - 1, most);
}

/* Returns the pointer for vload_half and vstore_half, and sets the offset from
   it. */
static uint32_t half_at(compiler *c, known *k, uint32_t *offset) {
  if (k->storage == 0) return known_pointer(c, k);
  uint32_t at = address(c, k, *offset);
  *offset = k_int(c, 64, 0);
  return op1(c, SpvOpBitcast, t_pointer(c, k->storage, t_float(c, 16)), at);
}

val load(compiler *c, known *k, uint32_t offset) {
  lzc_element e = k->value.element;
  val v = {is_real(e) ? T_REAL : element_type(c, e), 0, 0};
  if (!c->emit) return v;
  unsigned bits = lzc_element_bytes(e) * 8, want = c->int_bits;
  if (e == LZC_HALF) {
    uint32_t from = half_at(c, k, &offset);
    v.id = ext(c, OpenCLstd_Vload_half, t_float(c, 32), 2, offset, from, 0);
    bits = 32;
  } else {
    uint32_t at = address(c, k, offset), id = writer_id(&c->w);
    WRITE(&c->w, WRITER_BODY, SpvOpLoad, t_element(c, e), id, at,
          SpvMemoryAccessAlignedMask, bits / 8);
    v.id = id;
  }
  if (e == LZC_BFLOAT16) {
    v.id = op1(c, SpvOpUConvert, t_int(c, 32), v.id);
    v.id = op2(c, SpvOpShiftLeftLogical, t_int(c, 32), v.id, k_int(c, 32, 16));
    v.id = op1(c, SpvOpBitcast, t_float(c, 32), v.id);
    bits = 32;
  }
  if (is_real(e)) {
    if (bits != real_bits(c))
      v.id = op1(c, SpvOpFConvert, t_of(c, T_REAL), v.id);
  } else if (bits != want) {
    v.id = op1(c, is_unsigned(e) ? SpvOpUConvert : SpvOpSConvert,
               t_of(c, T_INT), v.id);
  }
  return v;
}

uint32_t real_of_bits(compiler *c, val v, unsigned bits) {
  bool is_int = KIND(v.type) == T_INT;
  if (!is_int && bits == real_bits(c)) return v.id;
  return op1(c, is_int ? SpvOpConvertSToF : SpvOpFConvert, t_float(c, bits),
             v.id);
}

/* Returns the bits of `f`, the float nearest to a number.  If it is not exactly
   the number, returns the odd one of the two floats around the number: rounded
   to fewer bits, it gives the same result as the number itself (round to odd,
   Boldo and Melquiond 2008). */
static uint32_t odd_bits(compiler *c, val v, uint32_t f) {
  uint32_t t = t_int(c, 32), b = op1(c, SpvOpBitcast, t, f);
  bool is_int = KIND(v.type) == T_INT;
  if (!is_int && real_bits(c) == 32) return b;
  uint32_t near = is_int ? truncated(c, f)
                         : op1(c, SpvOpFConvert, t_of(c, T_REAL), f);
  uint32_t none = k_int(c, 32, 0), one = k_int(c, 32, 1);
  unsigned less = is_int ? SpvOpSLessThan : SpvOpFOrdLessThan;
  uint32_t step = op3(c, SpvOpSelect, t, logical(c, less, v.id, near),
                      k_int(c, 32, -1), none);
  step = op3(c, SpvOpSelect, t, logical(c, less, near, v.id), one, step);
  uint32_t zero = is_int ? k_int(c, c->int_bits, 0) : k_real(c, 0);
  step = op3(c, SpvOpSelect, t, logical(c, less, v.id, zero),
             op1(c, SpvOpSNegate, t, step), step);
  uint32_t odd = op2(c, SpvOpBitwiseAnd, t, b, one);
  step = op3(c, SpvOpSelect, t, logical(c, SpvOpIEqual, odd, one), none, step);
  return op2(c, SpvOpIAdd, t, b, step);
}

/* Returns the upper half of a number as a float, rounded to even; a NaN stays a
   NaN. */
static uint32_t to_bfloat16(compiler *c, val v) {
  uint32_t t = t_int(c, 32), f = real_of_bits(c, v, 32);
  uint32_t b = odd_bits(c, v, f);
  uint32_t odd = op2(c, SpvOpShiftRightLogical, t, b, k_int(c, 32, 16));
  odd = op2(c, SpvOpBitwiseAnd, t, odd, k_int(c, 32, 1));
  uint32_t r = op2(c, SpvOpIAdd, t, b, k_int(c, 32, 0x7fff));
  r = op2(c, SpvOpIAdd, t, r, odd);
  uint32_t nan = op2(c, SpvOpBitwiseOr, t, b, k_int(c, 32, 0x400000));
  r = op3(c, SpvOpSelect, t, logical(c, SpvOpFUnordNotEqual, f, f), nan, r);
  r = op2(c, SpvOpShiftRightLogical, t, r, k_int(c, 32, 16));
  return op1(c, SpvOpUConvert, t_int(c, 16), r);
}

void store(compiler *c, known *k, uint32_t offset, val v) {
  lzc_element e = k->value.element;
  if (k->value.is_const)
    finding(c, known_label(c, k), "is a const buffer, and is written here");
  if (!is_real(e) && KIND(v.type) == T_REAL && !(DATA(v.type) & WHOLE)) {
    finding(c, known_label(c, k), "holds %s, and a real is stored; "
            "math.floor, math.ceil, `//` or `| 0` make it whole",
            lzc_element_name(e));
    return;
  }
  if (!c->emit) return;
  unsigned bits = lzc_element_bytes(e) * 8;
  if (e == LZC_BFLOAT16) {
    v.id = to_bfloat16(c, v);
  } else if (e == LZC_HALF) {
    uint32_t to = half_at(c, k, &offset), id = writer_id(&c->w);
    WRITE(&c->w, WRITER_BODY, SpvOpExtInst, t_void(c), id, c->import,
          OpenCLstd_Vstore_half, to_real(c, v).id, offset, to);
    return;
  } else if (is_real(e)) {
    v.id = real_of_bits(c, v, bits);
  } else {
    if (KIND(v.type) == T_REAL) v.id = whole(c, v.id);
    if (bits != c->int_bits)
      v.id = op1(c, SpvOpSConvert, t_int(c, bits), v.id);
  }
  uint32_t at = address(c, k, offset);
  WRITE(&c->w, WRITER_BODY, SpvOpStore, at, v.id, SpvMemoryAccessAlignedMask,
        bits / 8);
}
