/*
 * chunk.c - functions in the format of lua_dump, read and checked.
 * SPDX-License-Identifier: MIT
 *
 * Reads the formats of Lua 5.4 and 5.5; chunks of 5.5 are converted to the
 * equivalent of 5.4.  Nothing in a chunk is trusted.
 */
#include "chunk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_piece {
  struct arena_piece *next;
  size_t used, room;
  _Alignas(16) unsigned char at[];
};

void *arena_new(arena *a, size_t count, size_t size) {
  size_t limit = (size_t)1 << 30;
  if (a->failed || (size != 0 && count > limit / size)) {
    a->failed = true;
    return NULL;
  }
  size_t bytes = (count * size + 15) & ~(size_t)15;
  struct arena_piece *p = a->pieces;
  if (p == NULL || p->room - p->used < bytes) {
    size_t room = bytes > 16000 ? bytes : 16000;
    p = malloc(sizeof *p + room);
    if (p == NULL) {
      a->failed = true;
      return NULL;
    }
    p->next = a->pieces;
    p->used = 0;
    p->room = room;
    a->pieces = p;
  }
  void *at = p->at + p->used;
  p->used += bytes;
  a->bytes += bytes;
  return memset(at, 0, bytes);
}

void *arena_grow(arena *a, void *at, size_t count, size_t *room, size_t size) {
  if (count < *room) return at;
  size_t larger = *room * 2 + 16;
  void *now = arena_new(a, larger, size);
  if (now == NULL) return at;
  if (count > 0) memcpy(now, at, count * size);
  *room = larger;
  return now;
}

char *arena_text(arena *a, const char *format, ...) {
  char text[600];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  char *copy = arena_new(a, strlen(text) + 1, 1);
  return copy == NULL ? NULL : strcpy(copy, text);
}

void arena_free(arena *a) {
  while (a->pieces != NULL) {
    struct arena_piece *next = a->pieces->next;
    free(a->pieces);
    a->pieces = next;
  }
}

/* --- bytes ---------------------------------------------------------------- */

typedef struct saved_string {
  const char *text;
  size_t size;
} saved_string;

typedef struct reader {
  arena *a;
  const unsigned char *start, *at, *end;
  const char *error;
  bool is_55;
  saved_string *strings;        /* of 5.5, which refers to earlier strings by
                                   number */
  size_t string_count, string_room;
} reader;

static size_t left(const reader *r) { return (size_t)(r->end - r->at); }

static const unsigned char *take(reader *r, size_t size) {
  if (r->error != NULL || left(r) < size) {
    if (r->error == NULL) r->error = "the chunk is cut off";
    return NULL;
  }
  const unsigned char *at = r->at;
  r->at += size;
  return at;
}

static unsigned byte(reader *r) {
  const unsigned char *at = take(r, 1);
  return at == NULL ? 0 : *at;
}

/* Reads groups of 7 bits, the most significant first.  Bit 7 marks the last one
   in 5.4, all others in 5.5. */
static uint64_t number(reader *r, uint64_t limit) {
  uint64_t n = 0;
  for (;;) {
    unsigned b = byte(r);
    if (r->error != NULL) return 0;
    if (n > limit >> 7) {
      r->error = "a size in the chunk is too large";
      return 0;
    }
    n = n << 7 | (b & 0x7f);
    if ((b >> 7 != 0) != r->is_55) return n;
  }
}

/* Reads the number of items that follow, of at least `size` bytes each. */
static size_t count_of(reader *r, size_t size) {
  size_t n = (size_t)number(r, INT32_MAX);
  if (r->error == NULL && n > left(r) / size)
    r->error = "the chunk is cut off";
  return r->error != NULL ? 0 : n;
}

/* In 5.5, padding precedes arrays. */
static void align(reader *r, size_t size) {
  size_t over = (size_t)(r->at - r->start) % size;
  if (r->is_55 && over != 0) take(r, size - over);
}

static const char *saved(reader *r, size_t *length) {
  uint64_t n = number(r, UINT64_MAX);
  if (n == 0) return NULL;
  if (n > r->string_count) {
    if (r->error == NULL) r->error = "a string of the chunk is not there";
    return NULL;
  }
  *length = r->strings[n - 1].size;
  return r->strings[n - 1].text;
}

static const char *string(reader *r, size_t *length) {
  size_t size = (size_t)number(r, SIZE_MAX >> 1);
  *length = 0;
  if (size == 0) return r->is_55 && r->error == NULL ? saved(r, length) : NULL;
  const unsigned char *at = take(r, r->is_55 ? size : size - 1);
  if (at == NULL) return NULL;
  char *copy = arena_new(r->a, size, 1);
  if (copy == NULL) return NULL;
  memcpy(copy, at, size - 1);
  *length = size - 1;
  if (!r->is_55) return copy;
  r->strings = arena_grow(r->a, r->strings, r->string_count, &r->string_room,
                          sizeof *r->strings);
  if (r->string_count < r->string_room)
    r->strings[r->string_count++] = (saved_string){copy, size - 1};
  return copy;
}

static int64_t integer(reader *r) {
  int64_t n = 0;
  if (r->is_55) {
    uint64_t code = number(r, UINT64_MAX);
    return (int64_t)(code & 1 ? ~(code >> 1) : code >> 1);
  }
  const unsigned char *at = take(r, 8);
  if (at != NULL) memcpy(&n, at, 8);
  return n;
}

static double real(reader *r) {
  double n = 0;
  const unsigned char *at = take(r, 8);
  if (at != NULL) memcpy(&n, at, 8);
  return n;
}

static void read_constant(reader *r, constant *k) {
  switch (byte(r)) {
    case 0x00: k->kind = CONSTANT_NIL; return;
    case 0x01: k->kind = CONSTANT_FALSE; return;
    case 0x11: k->kind = CONSTANT_TRUE; return;
    case 0x03:
      k->kind = CONSTANT_INTEGER;
      k->integer = integer(r);
      return;
    case 0x13:
      k->kind = CONSTANT_REAL;
      k->real = real(r);
      return;
    case 0x04:
    case 0x14:
      k->kind = CONSTANT_STRING;
      k->string = string(r, &k->size);
      if (k->string == NULL && r->error == NULL)
        r->error = "a constant string has no bytes";
      return;
    default:
      if (r->error == NULL) r->error = "a constant has an unknown type";
  }
}

static uint32_t word(reader *r) {
  uint32_t n = 0;
  const unsigned char *at = take(r, 4);
  if (at != NULL) memcpy(&n, at, 4);
  return n;
}

/* Reads lines as differences, with absolute ones for large steps. */
static void read_lines(reader *r, proto *p) {
  size_t count = count_of(r, 1);
  const unsigned char *steps = take(r, count);
  size_t marks = count_of(r, r->is_55 ? 8 : 2);
  if (marks > 0) align(r, 4);
  bool has = count == p->code_count && count > 0;
  if (has) p->lines = arena_new(r->a, count, sizeof *p->lines);
  if (p->lines == NULL || steps == NULL) has = false;
  int64_t line = p->line;
  size_t done = 0;
  for (size_t i = 0; i <= marks && r->error == NULL; i++) {
    size_t pc = count;
    int64_t mark = 0;
    if (i < marks) {
      pc = r->is_55 ? word(r) : (size_t)number(r, INT32_MAX);
      mark = r->is_55 ? word(r) : (int64_t)number(r, INT32_MAX);
    }
    for (; has && done < count && done < pc; done++) {
      line += (signed char)steps[done];
      p->lines[done] = (int)(line & INT32_MAX);
    }
    if (has && i < marks && done < count) {
      line = mark;
      p->lines[done++] = (int)line;
    }
  }
}

/* Converts an instruction of 5.5 to 5.4; returns UINT32_MAX if it is
   unknown. */
static uint32_t translated(uint32_t i) {
  enum { SHLI = 32, SHRI, GETVARG = 81, ERRNNIL, VARARGPREP, EXTRAARG };
  unsigned op = GET_OP(i), size;
  uint32_t rest = i & ~(uint32_t)0x7f;
  switch (op) {
    case SHLI: return rest | OP_SHLI;
    case SHRI: return rest | OP_SHRI;
    case GETVARG: return rest | OP_VARARG;
    /* Part of `global x = 1`; the assignment that follows is rejected. */
    case ERRNNIL: return rest | OP_CLOSE;
    case VARARGPREP: return rest | OP_VARARGPREP;
    case EXTRAARG: return rest | OP_EXTRAARG;
    case OP_SELF: return i | 1u << 15; /* its name is always a constant */
    case OP_NEWTABLE: case OP_SETLIST:
      /* 6 and 10 bits for B and C; sizes above 255 become 255, which is still
         above any limit. */
      size = i >> 22 > 255 ? 255 : i >> 22;
      return (i & 0xffff) | (i >> 16 & 0x3f) << 16 | size << 24;
    default: return op > EXTRAARG ? UINT32_MAX : i;
  }
}

static const loop_form loops[] = {{0, 1, 2, 3, 3}, {2, 0, 1, 2, 2}};

/* Reads a function, or only skips its bytes if p is NULL; functions nest at
   most 200 deep, as in Lua itself. */
static void read_function(reader *r, proto *p, int depth) {
  proto other = {0};
  size_t length;
  bool keep = p != NULL;
  if (!keep) p = &other;
  if (depth > 200) r->error = "functions nest too deep";
  if (r->error != NULL) return;
  p->loop = loops[r->is_55];
  if (!r->is_55) p->source = string(r, &length);
  p->line = (int)number(r, INT32_MAX);
  number(r, INT32_MAX);
  p->parameters = byte(r);
  p->is_vararg = (byte(r) & 3) != 0;
  p->width = byte(r);
  p->code_count = count_of(r, 4);
  align(r, 4);
  const unsigned char *code = take(r, p->code_count * 4);
  if (keep && code != NULL) {
    p->code = arena_new(r->a, p->code_count + 1, 4);
    if (p->code == NULL) return;
    memcpy(p->code, code, p->code_count * 4);
    for (size_t i = 0; r->is_55 && i < p->code_count; i++)
      p->code[i] = translated(p->code[i]);
  }
  p->constant_count = count_of(r, 1);
  if (keep)
    p->constants = arena_new(r->a, p->constant_count + 1, sizeof(constant));
  for (size_t i = 0; i < p->constant_count && r->error == NULL; i++) {
    constant k = {0};
    read_constant(r, &k);
    if (p->constants != NULL) p->constants[i] = k;
  }
  p->upvalue_count = count_of(r, 3);
  take(r, p->upvalue_count * 3);
  if (p->upvalue_count > 255 && r->error == NULL)
    r->error = "a function has too many upvalues";
  if (keep) p->upvalues = arena_new(r->a, p->upvalue_count + 1, sizeof(char *));
  size_t inner = count_of(r, 10);
  for (size_t i = 0; i < inner && r->error == NULL; i++)
    read_function(r, NULL, depth + 1);
  if (r->is_55) p->source = string(r, &length);
  read_lines(r, p);
  size_t locals = count_of(r, 3);
  if (keep) p->locals = arena_new(r->a, locals + 1, sizeof(local_name));
  p->local_count = locals;
  for (size_t i = 0; i < locals && r->error == NULL; i++) {
    local_name l = {0};
    l.name = string(r, &length);
    l.first = (uint32_t)number(r, INT32_MAX);
    l.end = (uint32_t)number(r, INT32_MAX);
    if (p->locals != NULL) p->locals[i] = l;
  }
  size_t names = count_of(r, 1);
  for (size_t i = 0; i < names && r->error == NULL; i++) {
    const char *name = string(r, &length);
    if (p->upvalues != NULL && i < p->upvalue_count) p->upvalues[i] = name;
  }
}

/* --- instructions --------------------------------------------------------- */

bool op_is_test(opcode op) { return op >= OP_EQ && op <= OP_TESTSET; }

bool writes(const proto *p, size_t pc, unsigned reg) {
  uint32_t i = p->code[pc];
  opcode op = GET_OP(i);
  unsigned a = GET_A(i);
  if (op == OP_SETUPVAL || (op >= OP_SETTABUP && op <= OP_SETFIELD) ||
      (op >= OP_MMBIN && op <= OP_MMBINK) || op == OP_CLOSE || op == OP_TBC ||
      op == OP_JMP || (op >= OP_EQ && op <= OP_TEST) ||
      (op >= OP_RETURN && op <= OP_RETURN1))
    return false;
  if (op == OP_LOADNIL) return reg >= a && reg <= a + GET_B(i);
  if (op == OP_CALL || op == OP_TAILCALL) return reg >= a;
  if (op == OP_FORLOOP || op == OP_FORPREP)
    return reg >= a && reg <= a + p->loop.last;
  return reg == a;
}

/* Kinds of A, B and C of an opcode: r a register, A also the one behind the
   last if there are no results, R two, F the registers of a loop, k a constant,
   s a constant string, u an upvalue, K a constant if the bit k is set, else a
   register, . anything. */
static const char operands[OP_COUNT][4] = {
  [OP_MOVE] = "rr.", [OP_LOADI] = "r..", [OP_LOADF] = "r..",
  [OP_LOADK] = "rx.", [OP_LOADKX] = "r..", [OP_LOADFALSE] = "r..",
  [OP_LFALSESKIP] = "r..", [OP_LOADTRUE] = "r..", [OP_LOADNIL] = "rn.",
  [OP_GETUPVAL] = "ru.", [OP_SETUPVAL] = "ru.", [OP_GETTABUP] = "rus",
  [OP_GETTABLE] = "rrr", [OP_GETI] = "rr.", [OP_GETFIELD] = "rrs",
  [OP_SETTABUP] = "usK", [OP_SETTABLE] = "rrK", [OP_SETI] = "r.K",
  [OP_SETFIELD] = "rsK", [OP_NEWTABLE] = "r..", [OP_SELF] = "RrK",
  [OP_ADDI] = "rr.", [OP_ADDK] = "rrk", [OP_SUBK] = "rrk",
  [OP_MULK] = "rrk", [OP_MODK] = "rrk", [OP_POWK] = "rrk",
  [OP_DIVK] = "rrk", [OP_IDIVK] = "rrk", [OP_BANDK] = "rrk",
  [OP_BORK] = "rrk", [OP_BXORK] = "rrk", [OP_SHRI] = "rr.",
  [OP_SHLI] = "rr.", [OP_ADD] = "rrr", [OP_SUB] = "rrr", [OP_MUL] = "rrr",
  [OP_MOD] = "rrr", [OP_POW] = "rrr", [OP_DIV] = "rrr", [OP_IDIV] = "rrr",
  [OP_BAND] = "rrr", [OP_BOR] = "rrr", [OP_BXOR] = "rrr",
  [OP_SHL] = "rrr", [OP_SHR] = "rrr", [OP_MMBIN] = "rr.",
  [OP_MMBINI] = "r..", [OP_MMBINK] = "rk.", [OP_UNM] = "rr.",
  [OP_BNOT] = "rr.", [OP_NOT] = "rr.", [OP_LEN] = "rr.",
  [OP_CONCAT] = "r..", [OP_CLOSE] = "r..", [OP_TBC] = "r..",
  [OP_JMP] = "...", [OP_EQ] = "rr.", [OP_LT] = "rr.", [OP_LE] = "rr.",
  [OP_EQK] = "rk.", [OP_EQI] = "r..", [OP_LTI] = "r..", [OP_LEI] = "r..",
  [OP_GTI] = "r..", [OP_GEI] = "r..", [OP_TEST] = "r..",
  [OP_TESTSET] = "rr.", [OP_CALL] = "rc.", [OP_TAILCALL] = "rc.",
  [OP_RETURN] = "Ac.", [OP_RETURN0] = "...", [OP_RETURN1] = "r..",
  [OP_FORLOOP] = "F..", [OP_FORPREP] = "F..", [OP_TFORPREP] = "F..",
  [OP_TFORCALL] = "F..", [OP_TFORLOOP] = "F..", [OP_SETLIST] = "r..",
  [OP_CLOSURE] = "r..", [OP_VARARG] = "r..", [OP_VARARGPREP] = "...",
  [OP_EXTRAARG] = "..."
};

static bool operand_sound(const proto *p, uint32_t i, char kind, unsigned v) {
  switch (kind) {
    case 'r': return v < p->width;
    case 'A': return v < p->width || (v == p->width && GET_B(i) == 1);
    case 'R': return v + 1 < p->width;
    case 'F': return v + p->loop.last < p->width;
    case 'n': return GET_A(i) + v < p->width;
    case 'c': return v == 0 || GET_A(i) + v - 1 <= p->width;
    case 'u': return v < p->upvalue_count;
    case 'k': return v < p->constant_count;
    case 'x': return GET_BX(i) < p->constant_count;
    case 's':
      return v < p->constant_count &&
             p->constants[v].kind == CONSTANT_STRING;
    case 'K':
      return GET_K(i) ? v < p->constant_count : v < p->width;
    default: return true;
  }
}

static const char *check(const proto *p) {
  size_t n = p->code_count;
  if (p->width == 0 || p->parameters > p->width)
    return "a function has too few registers";
  if (n == 0) return "a function has no code";
  opcode last = GET_OP(p->code[n - 1]);
  if (last != OP_RETURN && last != OP_RETURN0 && last != OP_RETURN1)
    return "a function does not end with a return";
  for (size_t pc = 0; pc < n; pc++) {
    uint32_t i = p->code[pc];
    opcode op = GET_OP(i);
    if (op >= OP_COUNT) return "an instruction is unknown";
    if (!operand_sound(p, i, operands[op][0], GET_A(i)) ||
        !operand_sound(p, i, operands[op][1], GET_B(i)) ||
        !operand_sound(p, i, operands[op][2], GET_C(i)))
      return "an operand of an instruction is out of range";
    int64_t to = (int64_t)pc + 1;
    if (op == OP_JMP) to += GET_SJ(i);
    if (op == OP_FORLOOP || op == OP_TFORLOOP) to -= GET_BX(i);
    if (op == OP_FORPREP) to += (int64_t)GET_BX(i) + 1;
    if (op == OP_TFORPREP) to += GET_BX(i);
    if (op == OP_LFALSESKIP) to += 1;
    if (to < 0 || (to >= (int64_t)n && pc + 1 != n))
      return "a jump leads out of its function";
    if (op == OP_CALL && GET_C(i) > 0 && GET_A(i) + GET_C(i) - 1u > p->width)
      return "an operand of an instruction is out of range";
    if (op == OP_SETLIST && GET_A(i) + GET_B(i) >= p->width)
      return "an operand of an instruction is out of range";
    if (op_is_test(op) &&
        (pc + 2 >= n || GET_OP(p->code[pc + 1]) != OP_JMP))
      return "a comparison has no jump";
    if (op == OP_LOADKX &&
        (pc + 1 >= n || GET_OP(p->code[pc + 1]) != OP_EXTRAARG ||
         p->code[pc + 1] >> 7 >= p->constant_count))
      return "a constant is out of range";
  }
  return NULL;
}

/* Returns true if all results of a call, or all of ..., are passed or
   returned. */
static bool has_open_call(const proto *p) {
  for (size_t pc = 0; pc < p->code_count; pc++) {
    opcode op = GET_OP(p->code[pc]);
    if (op == OP_TAILCALL || ((op == OP_CALL || op == OP_VARARG) &&
                              GET_C(p->code[pc]) == 0))
      return true;
  }
  return false;
}

/* Returns a source as in Lua's own messages: for a text, its beginning. */
static const char *shown(arena *a, const char *source) {
  enum { MOST = 45 };
  if (*source == '@' || *source == '=') return source + 1;
  size_t size = strlen(source), line = strcspn(source, "\n");
  bool cut = line < size || size >= MOST;
  return arena_text(a, "[string \"%.*s%s\"]", (int)(line < MOST ? line : MOST),
                    source, cut ? "..." : "");
}

proto *chunk_read(arena *a, const void *bytes, size_t size,
                  const char **message) {
  static const unsigned char head_54[23] =
      "\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08\x78\x56\0\0\0\0\0";
  static const unsigned char head_55[32] =
      "\x1bLua\x55\x00\x19\x93\r\n\x1a\n\x04\x88\xa9\xff\xff\x04\x78\x56\x34"
      "\x12\x08\x88\xa9\xff\xff\xff\xff\xff\xff\x08";
  reader r = {.a = a, .start = bytes, .at = bytes,
              .end = (const unsigned char *)bytes + size};
  unsigned version = size > 4 ? r.at[4] : 0;
  if (size > 4 && memcmp(bytes, head_54, 4) == 0 && version != 0x54 &&
      version != 0x55) {
    *message = arena_text(a, "a chunk of Lua %d.%d; those of Lua 5.4 and 5.5 "
                          "are read", version >> 4, version & 15);
    if (*message == NULL) *message = "out of memory";
    return NULL;
  }
  r.is_55 = version == 0x55;
  size_t length = r.is_55 ? sizeof head_55 : sizeof head_54;
  const unsigned char *at = take(&r, length);
  double sample = real(&r);
  if (at == NULL || memcmp(at, r.is_55 ? head_55 : head_54, length) != 0 ||
      sample != (r.is_55 ? -370.5 : 370.5)) {
    *message = "not a chunk of Lua as this machine writes them";
    return NULL;
  }
  byte(&r);
  proto *p = arena_new(a, 1, sizeof *p);
  if (p != NULL) read_function(&r, p, 0);
  if (p != NULL && p->source != NULL) p->file = shown(a, p->source);
  if (a->failed) r.error = "out of memory";
  if (r.error == NULL) r.error = check(p);
  if (r.error == NULL) p->room = has_open_call(p) ? 255 : p->width;
  *message = r.error;
  return r.error != NULL ? NULL : p;
}

const char *chunk_local(const proto *p, unsigned reg, size_t pc) {
  for (size_t i = 0; i < p->local_count && p->locals[i].first <= pc; i++)
    if (pc < p->locals[i].end && reg-- == 0) return p->locals[i].name;
  return NULL;
}
