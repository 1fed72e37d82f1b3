/*
 * lze_types.c - the element types of buffers and arguments, one table.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_types.h"
#include "base/lze_error.h"
#include "base/lze_struct.h"
#include "base/lze_guard.h"

#include <math.h>
#include <string.h>

/* name, aliases, scalar, bytes; "int8" and "float16" are vectors */
#define SCALARS(X)                                                           \
  X("char", "i8", NULL, LZE_I8, 1)                                           \
  X("uchar", "u8", NULL, LZE_U8, 1)                                          \
  X("short", "i16", NULL, LZE_I16, 2)                                        \
  X("ushort", "u16", NULL, LZE_U16, 2)                                       \
  X("int", "i32", "int32", LZE_I32, 4)                                       \
  X("uint", "u32", "uint32", LZE_U32, 4)                                     \
  X("long", "i64", "int64", LZE_I64, 8)                                      \
  X("ulong", "u64", "uint64", LZE_U64, 8)                                    \
  X("half", "f16", NULL, LZE_F16, 2)                                         \
  X("bfloat16", "bf16", NULL, LZE_BF16, 2)                                   \
  X("float", "f32", "float32", LZE_F32, 4)                                   \
  X("double", "f64", "float64", LZE_F64, 8)

/* A scalar and its vectors; a vector of 3 occupies 4 lanes, as in OpenCL C. */
#define ROW(name, alias, other, scalar, size)                                \
  {name, scalar, 1, size, size, NULL},                                       \
      {name "2", scalar, 2, size, 2 * size, NULL},                           \
      {name "3", scalar, 3, size, 4 * size, NULL},                           \
      {name "4", scalar, 4, size, 4 * size, NULL},                           \
      {name "8", scalar, 8, size, 8 * size, NULL},                           \
      {name "16", scalar, 16, size, 16 * size, NULL},

static const lze_Type types[] = {SCALARS(ROW)};

enum { WIDTHS = 6 }; /* table rows per scalar */

static const struct {
  const char *name, *alias, *other;
} scalar_names[] = {
#define X(name, alias, other, scalar, size) {name, alias, other},
    SCALARS(X)
#undef X
};

const lze_Type *lze_type_of(lze_Scalar scalar, unsigned lanes) {
  for (size_t i = 0; i < WIDTHS; i++)
    if (types[WIDTHS * scalar + i].lanes == lanes)
      return &types[WIDTHS * scalar + i];
  return NULL;
}

/* Names of vectors that hold complex numbers. */
static const struct {
  const char *alias;
  lze_Scalar scalar;
} complex_names[] = {{"complex64", LZE_F32}, {"complex128", LZE_F64}};

/* Returns true if the name is a struct's text. */
static bool type_is_struct(const char *name) {
  return strncmp(name, "struct {", 8) == 0;
}

const lze_Type *lze_type_find(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++)
    if (strcmp(scalar_names[i].alias, name) == 0 ||
        (scalar_names[i].other != NULL &&
         strcmp(scalar_names[i].other, name) == 0))
      return &types[WIDTHS * i];
  for (size_t i = 0; i < sizeof complex_names / sizeof *complex_names; i++)
    if (strcmp(complex_names[i].alias, name) == 0)
      return lze_type_of(complex_names[i].scalar, 2);
  char problem[160];
  return type_is_struct(name) ? lze_struct_type(name, problem) : NULL;
}

const lze_Type *lze_to_type(lua_State *L, int index) {
  size_t length;
  if (lua_type(L, index) != LUA_TSTRING) return lze_test_struct(L, index);
  const char *name = lua_tolstring(L, index, &length);
  /* A zero byte in the string does not end the name. */
  return strlen(name) == length ? lze_type_find(name) : NULL;
}

const char *lze_push_untyped(lua_State *L, int index) {
  const char *name = lua_type(L, index) == LUA_TSTRING
                         ? lua_tostring(L, index)
                         : "";
  char problem[160];
  if (type_is_struct(name) && lze_struct_type(name, problem) == NULL)
    return lua_pushfstring(L, "type: %s", problem);
  const char *got = lze_describe(L, index);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "type: one of");
  for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++) {
    luaL_addchar(&b, ' ');
    luaL_addstring(&b, scalar_names[i].name);
  }
  luaL_addstring(&b, " (or a vector such as float4) expected, got ");
  luaL_addstring(&b, got);
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

const lze_Type *lze_check_type(lua_State *L, int arg) {
  const lze_Type *t = lze_to_type(L, arg);
  if (t == NULL) lze_argerror(L, arg, lze_push_untyped(L, arg));
  return t;
}

/* --- half precision ----------------------------------------------------- */

/* Rounds the bits of a finite double to a float with `exponent_bits` and
   `mantissa_bits`, to nearest, ties to even (IEEE 754-2019, 4.3.1), in one
   step; going through float would round twice. Overflow gives infinity. */
static uint16_t half_round(double value, int exponent_bits,
                           int mantissa_bits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t mantissa = bits & 0xfffffffffffffu;
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint16_t infinity =
      (uint16_t)(((1 << exponent_bits) - 1) << mantissa_bits);
  if (exponent == 1024) /* infinity, or a quiet NaN, which stays one */
    return (uint16_t)(sign | infinity |
                      (mantissa != 0 ? (1u << (mantissa_bits - 1)) |
                                           (mantissa >> (52 - mantissa_bits))
                                     : 0));
  if (exponent > bias) return sign | infinity;
  mantissa |= (uint64_t)1 << 52;
  int shift = 52 - mantissa_bits;
  int biased = exponent + bias;
  if (biased <= 0) { /* denormal in the target format */
    shift += 1 - biased;
    biased = 0;
    if (shift > 54) return sign; /* below half of the smallest number */
  } else {
    mantissa &= ~((uint64_t)1 << 52);
  }
  uint64_t rest = mantissa & (((uint64_t)1 << shift) - 1);
  uint64_t middle = (uint64_t)1 << (shift - 1);
  uint32_t result =
      (uint32_t)(((uint64_t)biased << mantissa_bits) + (mantissa >> shift));
  if (rest > middle || (rest == middle && (result & 1))) result++;
  return (uint16_t)(sign | result); /* a carry correctly increments the
                                       exponent */
}

static double half_value(uint16_t h, int exponent_bits, int mantissa_bits) {
  int exponent = h >> mantissa_bits & ((1 << exponent_bits) - 1);
  int mantissa = h & ((1 << mantissa_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double v;
  if (exponent == (1 << exponent_bits) - 1) {
    if (mantissa != 0) { /* keep a NaN's payload */
      uint64_t bits = (uint64_t)(h >> 15) << 63 | (uint64_t)0x7ff << 52 |
                      (uint64_t)mantissa << (52 - mantissa_bits);
      memcpy(&v, &bits, sizeof v);
      return v;
    }
    v = HUGE_VAL;
  } else if (exponent == 0) {
    v = ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    v = ldexp(mantissa + (1 << mantissa_bits),
              exponent - bias - mantissa_bits);
  }
  return h >> 15 ? -v : v;
}

/* --- one scalar --------------------------------------------------------- */

static void scalar_push(lua_State *L, lze_Scalar scalar, const void *p) {
#define INTEGER(ctype)                                                       \
  {                                                                          \
    ctype v;                                                                 \
    memcpy(&v, p, sizeof v);                                                 \
    lua_pushinteger(L, (lua_Integer)v);                                      \
    return;                                                                  \
  }
  switch (scalar) {
    case LZE_I8: INTEGER(int8_t)
    case LZE_U8: INTEGER(uint8_t)
    case LZE_I16: INTEGER(int16_t)
    case LZE_U16: INTEGER(uint16_t)
    case LZE_I32: INTEGER(int32_t)
    case LZE_U32: INTEGER(uint32_t)
    case LZE_I64: INTEGER(int64_t)
    case LZE_U64: INTEGER(uint64_t)
    case LZE_F16:
    case LZE_BF16: {
      uint16_t h;
      memcpy(&h, p, sizeof h);
      lua_pushnumber(L, scalar == LZE_F16 ? half_value(h, 5, 10)
                                          : half_value(h, 8, 7));
      return;
    }
    case LZE_F32: {
      float v;
      memcpy(&v, p, sizeof v);
      lua_pushnumber(L, (lua_Number)v);
      return;
    }
    case LZE_F64: {
      double v;
      memcpy(&v, p, sizeof v);
      lua_pushnumber(L, v);
      return;
    }
  }
#undef INTEGER
}

static bool scalar_is_integer(lze_Scalar scalar) { return scalar <= LZE_U64; }

/* The range of each integer type. 64-bit types accept every Lua integer, as
   string.pack's J does. */
static const struct {
  lua_Integer low, high;
} integer_range[] = {
    [LZE_I8] = {INT8_MIN, INT8_MAX},   [LZE_U8] = {0, UINT8_MAX},
    [LZE_I16] = {INT16_MIN, INT16_MAX}, [LZE_U16] = {0, UINT16_MAX},
    [LZE_I32] = {INT32_MIN, INT32_MAX}, [LZE_U32] = {0, UINT32_MAX},
    [LZE_I64] = {LUA_MININTEGER, LUA_MAXINTEGER},
    [LZE_U64] = {LUA_MININTEGER, LUA_MAXINTEGER},
};

/* The largest double that rounds to a finite half, bfloat16 or float. A value
   half a unit in the last place above the largest finite number is already
   infinity. */
static const double float_limit[] = {
    [LZE_F16] = 65520.0,
    [LZE_BF16] = 0x1.ffp127,
    [LZE_F32] = 0x1.ffffffp127,
};

/* Converts an integer to a double that rounds to a float, or a narrower type,
   exactly as the integer would: the lost bits are recorded in the last bit
   ("round to odd": Boldo and Melquiond, IEEE Transactions on Computers 57(4),
   2008). */
static double integer_value(lua_Integer n) {
  uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
  int shift = 0;
  for (; size >> 53 != 0; shift++) size = size >> 1 | (size & 1);
  double v = ldexp((double)size, shift);
  return n < 0 ? -v : v;
}

/* Stores the value at `index`. On failure, returns false, leaves p unchanged
   and pushes nothing. */
static bool scalar_store(lua_State *L, lze_Scalar scalar, int index,
                         void *p) {
  if (lua_type(L, index) != LUA_TNUMBER) return false;
  if (scalar_is_integer(scalar)) {
    int exact;
    lua_Integer n = lua_tointegerx(L, index, &exact);
    if (!exact || n < integer_range[scalar].low ||
        n > integer_range[scalar].high)
      return false;
    switch (scalar) {
      case LZE_I8:
      case LZE_U8: {
        uint8_t v = (uint8_t)n;
        memcpy(p, &v, sizeof v);
        return true;
      }
      case LZE_I16:
      case LZE_U16: {
        uint16_t v = (uint16_t)n;
        memcpy(p, &v, sizeof v);
        return true;
      }
      case LZE_I32:
      case LZE_U32: {
        uint32_t v = (uint32_t)n;
        memcpy(p, &v, sizeof v);
        return true;
      }
      default: memcpy(p, &n, sizeof n); return true;
    }
  }
  double v = (double)lua_tonumber(L, index);
  if (scalar == LZE_F64) {
    memcpy(p, &v, sizeof v);
    return true;
  }
  if (lua_isinteger(L, index)) v = integer_value(lua_tointeger(L, index));
  if (fabs(v) >= float_limit[scalar] && !isinf(v)) return false;
  if (scalar == LZE_F32) {
    float f = (float)v;
    memcpy(p, &f, sizeof f);
  } else {
    uint16_t h =
        scalar == LZE_F16 ? half_round(v, 5, 10) : half_round(v, 8, 7);
    memcpy(p, &h, sizeof h);
  }
  return true;
}

/* Pushes why the value at `index` cannot be a scalar of that type. */
static void scalar_complain(lua_State *L, const lze_Type *t, int index) {
  const char *name = types[WIDTHS * t->scalar].name;
  index = lua_absindex(L, index);
  const char *got = lze_describe(L, index);
  if (!scalar_is_integer(t->scalar)) {
    if (lua_type(L, index) == LUA_TNUMBER)
      lua_pushfstring(L, "%s does not fit %s", got, name);
    else
      lua_pushfstring(L, "%s expected, got %s", name, got);
  } else {
    lua_pushfstring(L, "%s expected (an integer from %I to %I), got %s", name,
                    (LUAI_UACINT)integer_range[t->scalar].low,
                    (LUAI_UACINT)integer_range[t->scalar].high, got);
  }
  lua_remove(L, -2);
}

/* --- elements ----------------------------------------------------------- */

void lze_type_push(lua_State *L, const lze_Type *t, const void *p) {
  if (t->fields != NULL) {
    lze_struct_push(L, t, p);
    return;
  }
  if (t->lanes == 1) {
    scalar_push(L, t->scalar, p);
    return;
  }
  lua_createtable(L, t->lanes, 0);
  for (int i = 0; i < t->lanes; i++) {
    scalar_push(L, t->scalar, (const char *)p + i * t->scalar_bytes);
    lua_rawseti(L, -2, i + 1);
  }
}

const char lze_vector_key = 0;

lze_Vector *lze_test_vector(lua_State *L, int index) {
  if (!lua_istable(L, index)) return NULL;
  lua_rawgetp(L, index, &lze_vector_key);
  lze_Vector *v = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return v;
}

/* The number of lanes in the table at `index`; push_lane pushes lane i. [-0,
   +1] */
static lua_Unsigned table_lanes(lua_State *L, int index) {
  const lze_Vector *v = lze_test_vector(L, index);
  return v != NULL ? v->type->lanes : (lua_Unsigned)lua_rawlen(L, index);
}

static void push_lane(lua_State *L, int index, int i) {
  const lze_Vector *v = lze_test_vector(L, index);
  if (v == NULL) lua_rawgeti(L, index, i);
  else if (i > v->type->lanes) lua_pushnil(L);
  else scalar_push(L, v->type->scalar,
                   v->bytes + (i - 1) * v->type->scalar_bytes);
}

/* Stores the value at `index` and returns -1. On failure, returns the first
   lane of its table (from 1) that is invalid, or 0 if the value as a whole
   is. */
static int element_store(lua_State *L, const lze_Type *t, int index, void *p) {
  if (t->lanes == 1) return scalar_store(L, t->scalar, index, p) ? -1 : 0;
  if (!lua_istable(L, index) || table_lanes(L, index) > t->lanes) return 0;
  char element[16 * 8] = {0}; /* the padding lane of a vector of 3 is 0 */
  index = lua_absindex(L, index);
  for (int i = 0; i < t->lanes; i++) {
    push_lane(L, index, i + 1);
    bool good = scalar_store(L, t->scalar, -1, element + i * t->scalar_bytes);
    lua_pop(L, 1);
    if (!good) return i + 1;
  }
  memcpy(p, element, t->bytes);
  return -1;
}

/* Accepts scalars and vectors: the types of kernel arguments. */
bool lze_type_try(lua_State *L, const lze_Type *t, int index, void *p) {
  return element_store(L, t, index, p) < 0;
}

bool lze_type_store(lua_State *L, const lze_Type *t, int index, void *p) {
  if (t->fields != NULL) return lze_struct_store(L, t, index, p);
  int lane = element_store(L, t, index, p);
  if (lane < 0) return true;
  if (t->lanes == 1) {
    scalar_complain(L, t, index);
  } else if (lane > 0) {
    push_lane(L, index, lane);
    scalar_complain(L, t, -1);
    lua_pushfstring(L, "lane %d: %s", lane, lua_tostring(L, -1));
    lua_replace(L, -3);
    lua_pop(L, 1);
  } else if (lua_istable(L, index)) {
    lua_pushfstring(L, "%s expected (a table of %d), got one of %I", t->name,
                    t->lanes, (LUAI_UACINT)table_lanes(L, index));
  } else {
    lua_pushfstring(L, "%s expected (a table of %d), got %s", t->name,
                    t->lanes, lze_describe(L, index));
    lua_remove(L, -2);
  }
  return false;
}

/* The usual case: floats, without the overhead of scalar_store. Reads AT_ONCE
   values at a time, to pop them together. Returns how many were stored: n, or
   fewer if one of the next AT_ONCE is not a number, or is so large that it may
   be an integer that a double cannot represent. */
enum { AT_ONCE = 8 };

static size_t floats_store(lua_State *L, int t, lua_Integer from, size_t n,
                           char *to) {
  int top = lua_gettop(L);
  luaL_checkstack(L, AT_ONCE, NULL);
  for (size_t i = 0, more = AT_ONCE; i < n; i += more) {
    bool numbers = true;
    if (more > n - i) more = n - i;
    for (size_t j = 0; j < more; j++)
      numbers &= lua_rawgeti(L, t, from + (lua_Integer)(i + j)) == LUA_TNUMBER;
    for (size_t j = 0; j < more; j++, to += sizeof(float)) {
      lua_Number v = lua_tonumber(L, top + 1 + (int)j);
      if (!numbers || (fabs(v) >= 0x1p53 && !isinf(v))) {
        lua_settop(L, top);
        return i + j;
      }
      float f = (float)v;
      memcpy(to, &f, sizeof f);
    }
    lua_settop(L, top);
  }
  return n;
}

size_t lze_type_store_table(lua_State *L, const lze_Type *type, int t,
                            lua_Integer from, size_t n, void *p) {
  t = lua_absindex(L, t);
  size_t i = type->lanes == 1 && type->scalar == LZE_F32
                 ? floats_store(L, t, from, n, p) : 0;
  for (char *to = (char *)p + i * type->bytes; i < n; i++, to += type->bytes) {
    lua_rawgeti(L, t, from + (lua_Integer)i);
    if (type->lanes == 1 && scalar_store(L, type->scalar, -1, to)) {
      lua_pop(L, 1);
      continue;
    }
    if (!lze_type_store(L, type, -1, to)) {
      lua_remove(L, -2);
      return i;
    }
    lua_pop(L, 1);
  }
  return n;
}

void lze_type_push_table(lua_State *L, const lze_Type *type, int t,
                         lua_Integer at, size_t n, const void *p) {
  const char *from = p;
  t = lua_absindex(L, t);
  for (size_t i = 0; i < n; i++, from += type->bytes) {
    lze_type_push(L, type, from);
    lua_rawseti(L, t, at + (lua_Integer)i);
  }
}
