/*
 * compile.h - declarations shared by the stages of the compiler.
 * SPDX-License-Identifier: MIT
 *
 * One interpreter walks the bytecode over types: first until these are stable
 * (types.c), writing nothing, then once more with `emit` set (emit.c), writing
 * code and findings.  So the meaning of an instruction is defined in one place
 * (step.c, number.c, builtin.c).
 */
#ifndef LZC_COMPILE_H
#define LZC_COMPILE_H

#include "chunk.h"
#include "lzc.h"
#include "spirv_writer.h"

#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>

/* A type: a kind, and details above its 8 bits. */
typedef uint32_t type;
enum {
  T_NONE,       /* never written */
  T_NIL,        /* NIL_OF and the index of a captured value, or 0 */
  T_BOOL,       /* value of a constant plus 1, or 0 */
  T_INT,        /* number of its range plus 1; CAPTURED and the index of a
                   captured value; or 0 */
  T_REAL,       /* WHOLE, ZERO or NO_INTEGER; or CAPTURED and, from bit 3 on,
                   the index of a number that a launch passes; or 0 */
  T_MAYBE_INT, T_MAYBE_REAL, /* a number or nil */
  T_VALUE,      /* index of a value: buffers, functions, tables, strings */
  T_TUPLE,      /* index of a tuple */
  T_CONFLICT    /* index of a conflict plus 1, or 0 */
};
/* A nil that a finding was already about: what() returns a text with TOLD for
   it, and no finding repeats that. */
#define T_TOLD TYPE(T_NIL, 1)
#define NIL_OF 2
#define TOLD "\a"
#define CAPTURED 0x800000u
/* Bits of a real: whole, if it is finite; a constant that is not the value of
   an integer; 0.0 or -0.0. */
#define WHOLE 1
#define NO_INTEGER 2
#define ZERO (WHOLE | 4)
#define KIND(t) ((t) & 0xff)
#define DATA(t) ((t) >> 8)
#define TYPE(kind, data) ((type)(kind) | (type)(data) << 8)
#define IS_NUMBER(t) (KIND(t) == T_INT || KIND(t) == T_REAL)

/* Bounds of an integer; INT64_MIN and INT64_MAX mean unknown.  If most is
   INT64_MAX, least holds unless a computation wrapped. */
typedef struct range {
  int64_t least, most;
} range;

/* A value of the program: its type and, if code is written, its id. */
typedef struct val {
  type type;
  uint32_t id;
  uint32_t flag;   /* of MAYBE: a bool, true if it is not nil */
} val;

/* A value known at compile time: an argument's buffer or a capture. */
typedef struct known {
  lzc_value value;
  const lzc_path *path;  /* NULL for an argument */
  unsigned argument;     /* from 1 */
  uint32_t pointer, length, number; /* ids of parameters, or 0 */
  uint32_t shape[LZC_MOST_RANK]; /* ids for the sizes of an array, or 0 */
  bool fixed, by_value;
  bool typed;            /* a real; an integer in its place would change the
                            computation */
  uint32_t storage;      /* of arrays made by lze.work functions, else 0 */
  const void *made_in;   /* for those: the call that makes it */
  size_t made_at;
  int64_t count;
} known;

/* A table that is only used as an index, `{i, j}`: it is never made. */
typedef struct tuple {
  const void *made_in;   /* its place: an instance and its SETLIST */
  size_t made_at;
  unsigned count;
  type types[LZC_MOST_RANK];
  uint32_t variables[LZC_MOST_RANK]; /* of items that are not constants, or 0 */
} tuple;

/* Two incompatible types of a register, and the lines that set them. */
typedef struct conflict {
  type types[2];
  int lines[2];
} conflict;

typedef struct parameter {
  uint32_t id, type;
  const char *name, *source, *qualifier;
  const known *size_of;  /* for the size of a buffer or array, else NULL */
} parameter;

/* A function being compiled for types of arguments, at one call. */
typedef struct instance {
  struct instance *parent;
  const proto *p;
  const flow *f;
  const void *function;      /* its identity */
  const char *name;          /* its name in the call; NULL for the kernel */
  type *entry;               /* by block and register; T_NONE: unreached */
  int *where;                /* by block and register: the line that set it */
  char *dirty;
  char *ways;                /* by block: bits of the .next it goes to */
  char *tested;              /* by instruction, for loads: 0 not computed yet, 1
                                not tested for nil, 2 tested */
  /* For the last search of the uses of a value: the registers that hold it at
     the start of each block, the moves that copied it, the results that
     returned it. */
  unsigned char *seen, *moved, given[32];
  size_t question;
  size_t site;               /* the call in the parent */
  type *arguments;
  type *results;
  int *result_where;         /* of each: the line of the first return */
  unsigned result_count;     /* of the return with most results */
  bool returns;
  struct instance **children; /* by instruction */
  uint32_t *variables;       /* by register and kind of variable, 4 each */
  uint32_t *labels;          /* by block */
  uint32_t after;            /* label to which it returns */
  unsigned base;             /* register of the caller for the first result */
  unsigned top;              /* results of the last open call end here */
  size_t pc;
  uint32_t file;             /* its source file, an OpString */
} instance;

typedef struct compiler {
  arena *a;
  const lzc_input *input;
  spirv_writer w;
  bool emit;
  bool open;                 /* the current block has no end yet */
  const char *entry;         /* the name of the kernel's entry point */
  lzc_element real;
  unsigned int_bits;
  instance *at;
  type *state;               /* current types of the registers of `at` */
  int *where;                /* lines that set them; in analysis only */
  conflict *conflicts;
  size_t conflict_count, conflict_room;
  tuple **tuples;
  size_t tuple_count, tuple_room;
  size_t instances, question;
  range *ranges;             /* the ranges of types */
  size_t range_count, range_room;
  uint32_t *range_index;     /* hash table of them: 0, or an index from 1 on */
  size_t range_slots;
  known **knowns;
  size_t known_count, known_room;
  parameter *parameters;
  size_t parameter_count, parameter_room;
  lzc_hidden *hidden;
  size_t hidden_count, hidden_room;
  lzc_finding *findings;
  size_t finding_count, finding_room;
  uint32_t import, kernel;
  uint32_t inputs[64];       /* variables of built-ins */
  uint32_t report;           /* id of the parameter, or 0 */
  lzc_access *accesses;
  size_t access_count, access_room;
  int line;
  size_t local_bytes;
  /* The operands of a quotient, which are integers or may be passed as
     integers, if the instruction before a call in this block computed it, and
     the pc of that call; or 0. */
  val quotient[2];
  size_t quotient_for;
} compiler;

/* --- known.c */
void finding(compiler *c, const char *variable, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t known_add(compiler *c, const lzc_value *value, const lzc_path *path,
                 unsigned argument);
/* Returns a constant string; equal strings are one value. */
val v_string(compiler *c, const char *bytes, size_t size);
uint32_t parameter_add(compiler *c, uint32_t type, const char *name,
                       const char *source, const char *qualifier);
uint32_t known_pointer(compiler *c, known *k);
uint32_t known_length(compiler *c, known *k);
/* Returns the size of an array's dimension, from 1; 64 bits. */
uint32_t known_shape(compiler *c, known *k, unsigned dimension);
/* Adds a hidden argument that does not belong to a value. */
uint32_t report_add(compiler *c);
/* Returns its name in generated code; and in findings about arguments, as
   "argument 2 (x)". */
const char *known_label(const compiler *c, const known *k);
const char *known_name(compiler *c, const known *k);
uint32_t known_number(compiler *c, known *k);
/* Returns the type of a real that a launch passes. */
type known_real(compiler *c, size_t index);
/* Notes, when code is written, that an operation combines these numbers: unless
   one of them is certainly a real, it matters which are integers. */
void meet(compiler *c, type a, type b);
/* Does this for one number, at any time. */
void kind_matters(compiler *c, type t);
/* Returns true if t is a real for every launch. */
bool is_sure_real(type t);

/* --- range.c: bounds of integers */
type type_range(compiler *c, int64_t least, int64_t most);
range range_of(const compiler *c, type t);
bool constant_of(const compiler *c, type t, int64_t *n);
/* Returns true if both ends hold for every computation. */
bool range_is_sure(range r);
bool range_fits(range r, unsigned bits);
/* Return the type of a result, and the union of two types. */
type range_result(compiler *c, opcode op, type a, type b);
type range_join(compiler *c, type a, type b);

/* --- number.c: numbers and their code */
uint32_t t_void(compiler *c), t_bool(compiler *c);
uint32_t t_int(compiler *c, unsigned bits), t_float(compiler *c, unsigned bits);
uint32_t t_pointer(compiler *c, uint32_t storage, uint32_t to);
uint32_t t_element(compiler *c, lzc_element element);
uint32_t t_cell(compiler *c, lzc_element element);
uint32_t t_of(compiler *c, type t);
uint32_t k_int(compiler *c, unsigned bits, int64_t n);
uint32_t k_float(compiler *c, unsigned bits, double n); /* 32 or 64 */
uint32_t k_real(compiler *c, double n);
unsigned real_bits(const compiler *c);
/* Write one instruction and return its result; 0 if nothing is written. */
uint32_t op1(compiler *c, unsigned op, uint32_t t, uint32_t a);
uint32_t op2(compiler *c, unsigned op, uint32_t t, uint32_t a, uint32_t b);
uint32_t op3(compiler *c, unsigned op, uint32_t t, uint32_t a, uint32_t b,
             uint32_t d);
uint32_t ext(compiler *c, unsigned op, uint32_t t, unsigned count, uint32_t a,
             uint32_t b, uint32_t d);
val v_int(compiler *c, int64_t n);
val v_real(compiler *c, double n);
val v_bool(uint32_t id);
val to_real(compiler *c, val v);
uint32_t to_index(compiler *c, val v);       /* 64 bits */
val arithmetic(compiler *c, opcode op, val a, val b); /* but not OP_POW */
val negate(compiler *c, val a);
uint32_t compare(compiler *c, opcode op, val a, val b); /* EQ LT LE */
uint32_t logical(compiler *c, unsigned op, uint32_t a, uint32_t b);
uint32_t whole(compiler *c, uint32_t real);  /* saturated integer; NaN: 0 */
/* Converts a real of any width that is not a NaN to an integer, as above. */
uint32_t truncated(compiler *c, uint32_t real);
uint32_t rounded(compiler *c, unsigned op, uint32_t real); /* floor, ceil */

/* --- function.c */
/* Returns OpenCL's function `op`, or the logistic one, of one real, or of two
   unless y is 0.  Returns 0 if the driver's function must be used: it is not
   known here, reals are double, or the device computes doubles slowly. */
enum { FUNCTION_SIGMOID = 1 << 16 };
uint32_t function_of_floats(compiler *c, unsigned op, uint32_t x, uint32_t y);

/* --- power.c */
val power(compiler *c, val x, val e); /* x ^ e, a real */

/* --- register.c */
void label(compiler *c, uint32_t id);
void branch(compiler *c, uint32_t to);
uint32_t truth(compiler *c, bool b);
val v_truth(compiler *c, bool b);
/* Returns 1 if Lua treats it as true, 0 if false; -1 if unknown. */
int truth_of(type t);
val get(compiler *c, unsigned reg);
void set(compiler *c, unsigned reg, val v);
bool is_maybe(type t);
/* Returns a number that may be nil as one that is not. */
val surely(val v);
/* Declares a new variable of the kernel. */
uint32_t variable_new(compiler *c, uint32_t type);
void move_to(compiler *c, instance *in, unsigned reg, val v, type t);
/* --- step.c */
/* Returns the condition of a test, and the types of its register in both
   branches. *outcome: 1 or 0 if known, else -1. */
uint32_t condition(compiler *c, size_t pc, unsigned *reg, type *yes, type *no,
                   int *outcome);
/* --- memory.c */
const char *what(compiler *c, type t); /* description of a type, for messages */
bool is_real(lzc_element e), is_unsigned(lzc_element e);
/* Offsets of elements have 64 bits and begin at 0. */
uint32_t offset_of(compiler *c, val index);
val load(compiler *c, known *k, uint32_t offset);
void store(compiler *c, known *k, uint32_t offset, val v);
/* Converts a number to a real of `bits` bits, rounded once. */
uint32_t real_of_bits(compiler *c, val v, unsigned bits);
uint32_t address(compiler *c, known *k, uint32_t offset);
/* Reports that the value of a register cannot be indexed. */
void not_indexed(compiler *c, unsigned reg, type t);
/* Returns the buffer in a register, which is indexed by one integer. */
known *buffer_of(compiler *c, unsigned reg);

/* --- input.c */
/* Returns the variable of a built-in, of type t. */
uint32_t builtin_input(compiler *c, unsigned which, uint32_t t);
/* Returns its value: 64 bits, counted from 0. */
uint32_t builtin_id(compiler *c, unsigned which, unsigned dimension);

/* --- check.c: checks in checked kernels */
/* The place of an accessed element. */
typedef struct spot {
  bool asked;            /* `there` must be computed */
  uint32_t offset, there;
  unsigned count;        /* of indices; as in Lua, with their limits */
  uint32_t index[LZC_MOST_RANK], size[LZC_MOST_RANK];
} spot;
/* In checked kernels, code until check_end runs only if the place is inside; a
   place outside is reported. */
uint32_t check_begin(compiler *c, known *k, const spot *at);
void check_end(compiler *c, uint32_t after);
/* Checked kernels report a zero divisor, */
void check_divisor(compiler *c, val divisor);
/* a zero step of a loop, */
void check_step(compiler *c, val step);
/* a dimension that the range does not have, for the function of that name, */
void check_dimension(compiler *c, const char *name, val d);
/* a real without an integer value if an integer is needed, */
void check_whole(compiler *c, val v);
/* and an integer that is stored and does not fit into the element. */
void check_fit(compiler *c, known *k, const spot *at, val v);

/* --- tuple.c */
/* Returns true if the NEWTABLE at pc makes a table that is only an index. */
bool tuple_is_made(const proto *p, size_t pc);
/* Handles its SETLIST. */
void tuple_set(compiler *c, size_t pc);
/* Returns the object that a tuple indexes, and the place in it.  NULL with a
   finding if the object has no element there. */
known *tuple_index(compiler *c, unsigned reg, type index, spot *at);

/* --- types.c */
unsigned call(compiler *c, size_t pc);
void step(compiler *c, size_t pc);

/* --- builtin.c */
unsigned call_builtin(compiler *c, unsigned builtin, unsigned base,
                      unsigned count, val *results);

/* --- types.c, emit.c */
instance *instance_new(compiler *c, instance *parent, const proto *p,
                       const void *function, const char *name);
void analyse_instance(compiler *c, instance *in);
/* Finds endless loops in it, and in the functions that it calls. */
void find_endless(compiler *c, instance *in);
/* Analyses the kernel and all functions that it calls. */
void analyse_all(compiler *c, instance *in);
/* FORPREP and FORLOOP: the condition under which the body runs (again). */
uint32_t loop_prepare(compiler *c, size_t pc);
uint32_t loop_next(compiler *c, size_t pc);
/* Forgets the range of the index at R[A], which is known in the body only. */
void loop_leave(compiler *c, unsigned a);
void emit_instance(compiler *c, instance *in);

#endif
