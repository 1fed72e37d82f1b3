/*
 * lze_text.c - elements of buffers as text: rows of numbers.
 * SPDX-License-Identifier: MIT
 *
 * Numbers are read and written exactly: a real is rounded once, to the nearest
 * number of its type, and is written with enough digits to read it back.
 */
#include "memory/lze_text.h"
#include "base/lze_error.h"
#include "memory/lze_buffer.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 Wide;

/* --- numbers ------------------------------------------------------------- */

/* A decimal number: digits * 10^exponent. */
typedef struct Number {
  const char *text;
  uint64_t digits;
  int exponent;
  bool negative;
  bool cut;     /* there are more digits; `digits` and `exponent` are wrong */
  bool whole;   /* it has neither a point nor an exponent */
  double word;  /* of "nan" and "inf", else 0 */
} Number;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Adds a digit, which is behind the point if `scale` is 1. */
static void number_add(Number *n, char c, int scale) {
  uint64_t more;
  if (n->cut) return;
  if (n->exponent > -100000 && !__builtin_mul_overflow(n->digits, 10, &more) &&
      !__builtin_add_overflow(more, (uint64_t)(c - '0'), &more)) {
    n->digits = more;
    n->exponent -= scale;
  } else {
    n->cut = true;
  }
}

/* Reads the exponent at p, if there is one; returns its end. */
static const char *number_exponent(Number *n, const char *p, const char *end) {
  if (p == end || (*p != 'e' && *p != 'E')) return p;
  const char *q = p + 1;
  bool negative = q < end && *q == '-';
  int value = 0;
  if (q < end && (*q == '-' || *q == '+')) q++;
  if (q == end || !is_digit(*q)) return p;
  for (; q < end && is_digit(*q); q++)
    if (value < 100000) value = value * 10 + (*q - '0');
  n->exponent += negative ? -value : value;
  n->whole = false;
  return q;
}

/* Reads "nan", "inf" or "infinity" at p; returns its end, or NULL. */
static const char *number_word(Number *n, const char *p, const char *end) {
  static const char *const words[] = {"infinity", "inf", "nan"};
  for (int i = 0; i < 3; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - p) < length || strncasecmp(p, words[i], length) != 0)
      continue;
    n->word = i < 2 ? HUGE_VAL : (double)NAN;
    return p + length;
  }
  return NULL;
}

/* Reads a number at p; returns its end, or NULL if p has other text. */
static const char *number_scan(Number *n, const char *p, const char *end) {
  *n = (Number){.text = p, .whole = true};
  if (p < end && (*p == '-' || *p == '+')) n->negative = *p++ == '-';
  const char *first = p;
  while (p < end && is_digit(*p)) number_add(n, *p++, 0);
  ptrdiff_t count = p - first;
  if (p < end && *p == '.') {
    n->whole = false;
    first = ++p;
    while (p < end && is_digit(*p)) number_add(n, *p++, 1);
    count += p - first;
  }
  if (count == 0) return n->whole ? number_word(n, first, end) : NULL;
  return number_exponent(n, p, end);
}

/* Returns `value` * 2^exponent, rounded once to nearest, ties to even; `more`
   is true if the value has a rest below its last bit.  The result is normal. */
static double number_round(Wide value, bool more, int exponent) {
  uint64_t high = (uint64_t)(value >> 64);
  int length = high != 0 ? 128 - __builtin_clzll(high)
                         : 64 - __builtin_clzll((uint64_t)value);
  if (length > 53) {
    int shift = length - 53;
    Wide rest = value & (((Wide)1 << shift) - 1), half = (Wide)1 << (shift - 1);
    value >>= shift;
    exponent += shift;
    if (rest > half || (rest == half && (more || (value & 1) != 0))) value++;
  }
  return ldexp((double)(uint64_t)value, exponent);
}

/* The largest power of 5 below 2^63. */
enum { MOST_FIVES = 27 };

static double number_by_library(const Number *n, bool narrow) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double v = narrow ? (double)strtof_l(n->text, NULL, plain)
                    : strtod_l(n->text, NULL, plain);
  freelocale(plain);
  return v;
}

/* Returns a number as a double, rounded once.  The number is followed by the
   end of the text or by a character that cannot continue it. */
static double number_double(const Number *n) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                                1e18, 1e19, 1e20, 1e21, 1e22};
  const int e = n->exponent, a = e < 0 ? -e : e;
  double v;
  if (n->word != 0) {
    v = n->word;
  } else if (n->digits == 0 && !n->cut) {
    v = 0;
  } else if (n->cut || a > MOST_FIVES) {
    return number_by_library(n, false);
  } else if (n->digits < UINT64_C(1) << 53 && a <= 22) {
    /* Both operands are exact, so the result is rounded once. */
    v = e < 0 ? (double)n->digits / tens[a] : (double)n->digits * tens[a];
  } else {
    uint64_t five = 1;
    for (int i = 0; i < a; i++) five *= 5;
    if (e >= 0) {
      v = number_round((Wide)n->digits * five, false, e);
    } else {
      int up = 64 + __builtin_clzll(n->digits);
      Wide value = (Wide)n->digits << up;
      v = number_round(value / five, value % five != 0, e - up);
    }
  }
  return n->negative ? -v : v;
}

/* Returns a number as a float, rounded once. */
static float number_float(const Number *n) {
  double v = number_double(n);
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  bool tie = (bits & 0x1fffffff) == 0x10000000;
  bool normal = v == 0 || fabs(v) > 0x1p-126;
  return (float)(n->word == 0 && (tie || !normal) ? number_by_library(n, true)
                                                   : v);
}

/* --- elements from numbers ----------------------------------------------- */

/* Stores an integer that has only digits; returns false if it does not fit. */
static bool store_whole(const lze_Type *type, const Number *n, void *to) {
  const bool has_sign = type->scalar == LZE_I8 || type->scalar == LZE_I16 ||
                        type->scalar == LZE_I32 || type->scalar == LZE_I64;
  const int bits = 8 * type->scalar_bytes;
  const uint64_t most = UINT64_MAX >> (64 - bits + (has_sign ? 1 : 0));
  if (n->digits > most + (n->negative ? 1 : 0)) return false;
  if (n->negative && !has_sign && n->digits != 0) return false;
  uint64_t v = n->negative ? 0 - n->digits : n->digits;
  memcpy(to, &v, type->scalar_bytes); /* little-endian */
  return true;
}

/* Stores a number as an element.  If it does not fit, returns false and pushes
   what is wrong. */
static bool store_number(lua_State *L, const lze_Type *type, const Number *n,
                         void *to) {
  if (type->scalar == LZE_F64) {
    double v = number_double(n);
    memcpy(to, &v, sizeof v);
    return true;
  }
  if (type->scalar == LZE_F32) {
    float v = number_float(n);
    memcpy(to, &v, sizeof v);
    return true;
  }
  const bool real = type->scalar == LZE_F16 || type->scalar == LZE_BF16;
  const bool plain = !real && n->whole && !n->cut && n->word == 0;
  if (plain && store_whole(type, n, to)) return true;
  if (plain && n->digits <= INT64_MAX)
    lua_pushinteger(L, n->negative ? -(lua_Integer)n->digits
                                   : (lua_Integer)n->digits);
  else
    lua_pushnumber(L, number_double(n));
  bool fits = lze_type_store(L, type, lua_gettop(L), to);
  lua_remove(L, fits ? -1 : -2);
  return fits;
}

/* --- rows ---------------------------------------------------------------- */

typedef struct Rows {
  const char *next, *end;       /* the rest of the text */
  lua_Integer line;             /* number of lines before `next` */
  int delimiter, comment;       /* 0: blanks; none */
} Rows;

static bool rows_blank(const Rows *r, char c) {
  return (c == ' ' || c == '\t') && c != r->delimiter;
}

static const char *rows_skip(const Rows *r, const char *p, const char *to) {
  while (p < to && rows_blank(r, *p)) p++;
  return p;
}

/* Returns the end of a quoted text, which starts at p, or NULL. */
static const char *rows_unquote(const char *p, const char *to) {
  for (p++; p < to; p++) {
    if (*p != '"') continue;
    if (p + 1 == to || p[1] != '"') return p + 1;
    p++;
  }
  return NULL;
}

/* Returns the end of the field at p: its delimiter or the end of the line. */
static const char *rows_field_end(const Rows *r, const char *p,
                                  const char *to) {
  const char *q = rows_skip(r, p, to);
  if (q < to && *q == '"') {
    const char *end = rows_unquote(q, to);
    if (end != NULL) p = end;
  }
  if (r->delimiter != 0) {
    const char *end = memchr(p, r->delimiter, (size_t)(to - p));
    return end == NULL ? to : end;
  }
  while (p < to && !rows_blank(r, *p)) p++;
  return p;
}

/* Returns the start of a comment outside of quotes, or the line's end. */
static const char *rows_uncomment(const Rows *r, const char *p,
                                  const char *to) {
  const char *found = memchr(p, r->comment, (size_t)(to - p));
  if (found == NULL) return to;
  if (memchr(p, '"', (size_t)(found - p)) == NULL) return found;
  while (p < to && *p != r->comment) {
    const char *end = *p == '"' ? rows_unquote(p, to) : NULL;
    p = end != NULL ? end : p + 1;
  }
  return p;
}

/* Moves to the next line; returns false at the end of the text. */
static bool rows_line(Rows *r, const char **from, const char **to) {
  if (r->next == r->end) return false;
  const char *p = r->next;
  const char *end = memchr(p, '\n', (size_t)(r->end - p));
  r->next = end == NULL ? r->end : end + 1;
  r->line++;
  if (end == NULL) end = r->end;
  if (end > p && end[-1] == '\r') end--;
  *from = p;
  *to = end;
  return true;
}

/* Moves to the next line that has fields; returns false at the end. */
static bool rows_next(Rows *r, const char **from, const char **to) {
  while (rows_line(r, from, to)) {
    if (r->comment != 0) *to = rows_uncomment(r, *from, *to);
    if (rows_skip(r, *from, *to) < *to) return true;
  }
  return false;
}

static lua_Integer rows_fields(const Rows *r, const char *p, const char *to) {
  lua_Integer n = 0;
  if (r->delimiter == 0) p = rows_skip(r, p, to);
  while (p < to) {
    n++;
    p = rows_field_end(r, p, to);
    if (r->delimiter == 0) p = rows_skip(r, p, to);
    else if (p < to && ++p == to) n++; /* the last field is empty */
  }
  return n;
}

/* Lets a hook run, which may raise, from time to time. */
static void rows_pause(lua_State *L, lua_Integer row) {
  if (row % 16384 == 0 && lze_run_hook(L) != LUA_OK) lua_error(L);
}

static Rows rows_at(lua_State *L, lua_Integer position, int delimiter) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  return (Rows){.next = text + position, .end = text + size,
                .delimiter = *luaL_checkstring(L, delimiter),
                .comment = *luaL_checkstring(L, delimiter + 1)};
}

static int text_survey(lua_State *L) {
  const char *from, *to;
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  bool marked = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
  Rows r = rows_at(L, marked ? 3 : 0, 3);
  lua_Integer skip = luaL_checkinteger(L, 2), rows = 0, fields = 0;
  while (skip-- > 0 && rows_line(&r, &from, &to)) continue;
  lua_Integer position = r.next - text, line = r.line;
  while (rows_next(&r, &from, &to)) {
    if (rows++ == 0) fields = rows_fields(&r, from, to);
    rows_pause(L, rows);
  }
  lua_pushinteger(L, rows);
  lua_pushinteger(L, fields);
  lua_pushinteger(L, position);
  lua_pushinteger(L, line);
  return 4;
}

/* The numbers of each row that are stored. */
typedef struct Wanted {
  const lze_Type *type;
  lua_Integer fields;           /* of a row, or the last of them to store */
  const lua_Integer *places;    /* by field, -1: none; or NULL: all in order */
  const char *missing;          /* the element for empty fields, or NULL */
} Wanted;

/* Pushes why there is no number at p. */
static void push_no_number(lua_State *L, const Rows *r, const char *p,
                           const char *to) {
  const char *end = rows_field_end(r, p, to);
  char shown[41];
  size_t n = 0;
  for (p = rows_skip(r, p, to); p < end && n < sizeof shown - 1; p++)
    shown[n++] = *p < ' ' || *p > '~' ? '?' : *p;
  shown[n] = '\0';
  if (n == 0) lua_pushliteral(L, "a number expected, got nothing");
  else lua_pushfstring(L, "a number expected, got '%s'", shown);
}

/* Reads the number of a field at p into an element; returns its end.  Pushes
   what is wrong and returns NULL if that fails. */
static const char *field_read(lua_State *L, const Rows *r, const Wanted *w,
                              const char *p, const char *to, char *element) {
  Number n;
  const char *q = rows_skip(r, p, to);
  if (w->missing != NULL && (q == to || *q == r->delimiter)) {
    memcpy(element, w->missing, w->type->bytes);
    return q;
  }
  bool quoted = q < to && *q == '"';
  if (quoted) q = rows_skip(r, q + 1, to);
  q = number_scan(&n, q, to);
  if (q != NULL && quoted) {
    q = rows_skip(r, q, to);
    q = q < to && *q == '"' ? q + 1 : NULL;
  }
  const char *end = q == NULL ? NULL : rows_skip(r, q, to);
  if (end == NULL ||
      (end < to && (r->delimiter != 0 ? *end != r->delimiter : end == q))) {
    push_no_number(L, r, p, to);
    return NULL;
  }
  return store_number(L, w->type, &n, element) ? end : NULL;
}

/* Reads one row; returns 0, or the column (or -1 for the row) at which
   something is wrong, which is then pushed. */
static lua_Integer row_read(lua_State *L, const Rows *r, const Wanted *w,
                            const char *p, const char *to, char *row) {
  const size_t size = w->type->bytes;
  for (lua_Integer column = 0; column < w->fields; column++) {
    lua_Integer place = w->places == NULL ? column : w->places[column];
    if (r->delimiter == 0) p = rows_skip(r, p, to);
    if (p > to || (r->delimiter == 0 && p == to)) {
      lua_pushfstring(L, "%I columns expected, got %I",
                      (LUAI_UACINT)w->fields, (LUAI_UACINT)column);
      return -1;
    }
    if (place < 0)
      p = rows_field_end(r, p, to);
    else
      p = field_read(L, r, w, p, to, row + (size_t)place * size);
    if (p == NULL) return column + 1;
    if (r->delimiter != 0) p++; /* behind the delimiter or the end */
  }
  if (r->delimiter == 0) p = rows_skip(r, p, to);
  if (w->places == NULL && p <= to && (r->delimiter != 0 || p < to)) {
    lua_pushfstring(L, "%I columns expected, got more",
                    (LUAI_UACINT)w->fields);
    return -1;
  }
  return 0;
}

/* Returns, and pushes, the places of the list at 7 as row_read takes them;
   NULL if it is nil. */
static const lua_Integer *push_places(lua_State *L, lua_Integer fields) {
  if (lua_isnil(L, 7)) return NULL;
  lua_Integer *places =
      lua_newuserdatauv(L, (size_t)fields * sizeof *places, 0);
  for (lua_Integer i = 0; i < fields; i++) {
    lua_rawgeti(L, 7, i + 1);
    places[i] = lua_tointeger(L, -1) - 1; /* false: -1 */
    lua_pop(L, 1);
  }
  return places;
}

static int text_parse(lua_State *L) {
  lua_settop(L, 10);
  char missing[sizeof(double)];
  const char *from, *to;
  Rows r = rows_at(L, luaL_checkinteger(L, 2), 9);
  r.line = luaL_checkinteger(L, 3);
  const lze_Buffer *b = lze_check_buffer(L, 4);
  Wanted w = {.type = b->type, .fields = luaL_checkinteger(L, 5)};
  const size_t step = (size_t)luaL_checkinteger(L, 6) * b->type->bytes;
  w.places = push_places(L, w.fields);
  if (!lua_isnil(L, 8) && lze_type_store(L, w.type, 8, missing))
    w.missing = missing;
  const lua_Integer rows = step == 0 ? 0
      : (lua_Integer)((size_t)b->count * b->type->bytes / step);
  lze_buffer_wait(L, 4, b, 0, (size_t)b->count, true);
  for (lua_Integer i = 0; i < rows && rows_next(&r, &from, &to); i++) {
    rows_pause(L, i);
    b = lze_check_buffer(L, 4);
    lua_Integer column =
        row_read(L, &r, &w, from, to, lze_buffer_data(b) + (size_t)i * step);
    if (column == 0) continue;
    lua_pushinteger(L, r.line);
    lua_pushinteger(L, column < 0 ? 0 : column);
    lua_rotate(L, -3, 2);
    return 3;
  }
  return 0;
}

/* --- text from elements -------------------------------------------------- */

/* Replaces the decimal point of the locale, which may have several bytes. */
static void point(char *text) {
  char *to = text;
  for (const char *p = text; *p != '\0'; p++) {
    if (is_digit(*p) || *p == '-' || *p == '+' || *p == 'e') *to++ = *p;
    else if (to > text && to[-1] != '.') *to++ = '.';
  }
  *to = '\0';
}

enum { ROOM = 32 }; /* for the text of a number */

/* Writes a real with the fewest digits that identify it among its type. */
static void print_real(char text[ROOM], double v, bool narrow) {
  if (v != v || fabs(v) == HUGE_VAL) {
    strcpy(text, v != v ? "nan" : v > 0 ? "inf" : "-inf");
    return;
  }
  const bool small = fabs(v) < (narrow ? 0x1p-126 : 0x1p-1022);
  const int least = small ? 1 : narrow ? 6 : 15, most = narrow ? 9 : 17;
  for (int digits = least; digits <= most; digits++) {
    Number n;
    snprintf(text, ROOM, "%.*g", digits, v);
    point(text);
    number_scan(&n, text, text + strlen(text));
    if ((narrow ? (double)number_float(&n) : number_double(&n)) == v) return;
  }
}

/* Writes the element at p; the stack may be used. */
static void print_element(lua_State *L, char text[ROOM], const lze_Type *type,
                          const char *p) {
  lze_type_push(L, type, p);
  if (!lua_isinteger(L, -1))
    print_real(text, lua_tonumber(L, -1), type->scalar != LZE_F64);
  else if (type->scalar == LZE_U64)
    snprintf(text, ROOM, "%llu", (unsigned long long)lua_tointeger(L, -1));
  else
    snprintf(text, ROOM, "%lld", (long long)lua_tointeger(L, -1));
  lua_pop(L, 1);
}

static int text_print(lua_State *L) {
  luaL_Buffer out;
  lua_settop(L, 5);
  const lze_Buffer *b = lze_check_buffer(L, 1);
  const lze_Type *type = b->type;
  size_t first = (size_t)luaL_checkinteger(L, 2);
  size_t rows = (size_t)luaL_checkinteger(L, 3);
  size_t columns = (size_t)luaL_checkinteger(L, 4);
  const char delimiter = *luaL_checkstring(L, 5);
  const char *p = lze_buffer_bytes(L, 1, b, first, rows * columns);
  char *text = luaL_buffinitsize(L, &out, rows * (columns * ROOM + 1));
  char *to = text;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++, p += type->bytes) {
      if (j > 0) *to++ = delimiter;
      print_element(L, to, type, p);
      to += strlen(to);
    }
    *to++ = '\n';
  }
  luaL_pushresultsize(&out, (size_t)(to - text));
  return 1;
}

static const lze_Method functions[] = {
    {"survey", text_survey, LZE_UNGUARDED},
    {"parse", text_parse, LZE_UNGUARDED},
    {"print", text_print, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_add_text_functions(lua_State *L) {
  lze_set_methods(L, functions, 0);
}
