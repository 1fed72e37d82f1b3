/*
 * chunk.h - functions in the format of lua_dump, read and checked.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZC_CHUNK_H
#define LZC_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that lives until the end of a compilation. */
typedef struct arena {
  struct arena_piece *pieces;
  size_t bytes;
  bool failed;
} arena;

/* Returns zeroed memory; NULL if memory runs out, which sets a->failed. */
void *arena_new(arena *a, size_t count, size_t size);
/* Make room for one more than `count`: returns `at`, or a copy of it. */
void *arena_grow(arena *a, void *at, size_t count, size_t *room, size_t size);
char *arena_text(arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void arena_free(arena *a);

#define OPCODES(X) \
  X(MOVE) X(LOADI) X(LOADF) X(LOADK) X(LOADKX) X(LOADFALSE) X(LFALSESKIP) \
  X(LOADTRUE) X(LOADNIL) X(GETUPVAL) X(SETUPVAL) X(GETTABUP) X(GETTABLE) \
  X(GETI) X(GETFIELD) X(SETTABUP) X(SETTABLE) X(SETI) X(SETFIELD) \
  X(NEWTABLE) X(SELF) X(ADDI) X(ADDK) X(SUBK) X(MULK) X(MODK) X(POWK) \
  X(DIVK) X(IDIVK) X(BANDK) X(BORK) X(BXORK) X(SHRI) X(SHLI) X(ADD) X(SUB) \
  X(MUL) X(MOD) X(POW) X(DIV) X(IDIV) X(BAND) X(BOR) X(BXOR) X(SHL) X(SHR) \
  X(MMBIN) X(MMBINI) X(MMBINK) X(UNM) X(BNOT) X(NOT) X(LEN) X(CONCAT) \
  X(CLOSE) X(TBC) X(JMP) X(EQ) X(LT) X(LE) X(EQK) X(EQI) X(LTI) X(LEI) \
  X(GTI) X(GEI) X(TEST) X(TESTSET) X(CALL) X(TAILCALL) X(RETURN) \
  X(RETURN0) X(RETURN1) X(FORLOOP) X(FORPREP) X(TFORPREP) X(TFORCALL) \
  X(TFORLOOP) X(SETLIST) X(CLOSURE) X(VARARG) X(VARARGPREP) X(EXTRAARG)
#define OPCODE(name) OP_##name,
typedef enum opcode { OPCODES(OPCODE) OP_COUNT } opcode;
#undef OPCODE

#define GET_OP(i) ((opcode)((i) & 0x7f))
#define GET_A(i) ((i) >> 7 & 0xff)
#define GET_K(i) ((i) >> 15 & 1)
#define GET_B(i) ((i) >> 16 & 0xff)
#define GET_C(i) ((i) >> 24)
#define GET_SB(i) ((int)GET_B(i) - 127)
#define GET_SC(i) ((int)GET_C(i) - 127)
#define GET_BX(i) ((i) >> 15)
#define GET_SBX(i) ((int)GET_BX(i) - 65535)
#define GET_SJ(i) ((int)((i) >> 7) - 16777215)

typedef enum constant_kind {
  CONSTANT_NIL, CONSTANT_FALSE, CONSTANT_TRUE, CONSTANT_INTEGER,
  CONSTANT_REAL, CONSTANT_STRING
} constant_kind;

typedef struct constant {
  constant_kind kind;
  int64_t integer;
  double real;
  const char *string;
  size_t size;
} constant;

typedef struct local_name {
  const char *name;
  uint32_t first, end;        /* range of instructions in which it lives */
} local_name;

/* The registers of a numeric `for`, relative to its register A.  Before FORPREP
   these are the start, the limit and the step. */
typedef struct loop_form {
  unsigned char index, limit, step, variable, last;
} loop_form;

/* Instructions are in the format of 5.4 for chunks of either version, except
   the registers of loops. */
typedef struct proto {
  loop_form loop;
  const char *source;         /* NULL when stripped */
  const char *file;           /* NULL when stripped; the source as in
                                 messages */
  int line;
  unsigned parameters, width; /* width: registers */
  unsigned room;              /* width, plus registers that all results of a
                                 call may take until the next instruction; at
                                 most 255 */
  bool is_vararg;
  uint32_t *code;
  size_t code_count;
  constant *constants;
  size_t constant_count;
  size_t upvalue_count;
  const char **upvalues;      /* NULL each when stripped */
  int *lines;                 /* one an instruction; NULL when stripped */
  local_name *locals;
  size_t local_count;
} proto;

/* Reads and checks a chunk of Lua 5.4 or 5.5: every register, constant, upvalue
   and jump of its main function's code is in range, a comparison has its jump,
   the last instruction returns.  NULL with a message if it is invalid. */
proto *chunk_read(arena *a, const void *bytes, size_t size,
                  const char **message);

/* Returns the local variable that register holds at instruction pc, or NULL. */
const char *chunk_local(const proto *p, unsigned reg, size_t pc);

/* --- blocks --------------------------------------------------------------- */

typedef struct block {
  uint32_t first, end;        /* instructions; the last one branches */
  int next[2];                /* blocks, or -1.  For tests: taken if the
                                 condition is k, not taken */
  int order;                  /* in reverse postorder; -1 if unreachable */
  bool is_loop;               /* a back edge leads here */
} block;

typedef struct flow {
  block *blocks;
  int count;
  int *order;                 /* reachable blocks in reverse postorder */
  int reached;
} flow;

/* Returns NULL if memory runs out. *irreducible: an instruction of a loop that
   has two entries, or -1. */
flow *flow_make(arena *a, const proto *p, long *irreducible);

bool op_is_test(opcode op);
/* Returns true if the instruction at pc writes the register. */
bool writes(const proto *p, size_t pc, unsigned reg);

#endif
