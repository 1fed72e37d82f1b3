/*
 * compile.h - what the stages of the compiler share.
 * SPDX-License-Identifier: MIT
 *
 * One interpreter walks the bytecode over types: first until these are stable
 * (types.c), writing nothing, then once more with `emit` set (emit.c), writing
 * code and findings.  So the meaning of an instruction stands in one place
 * (step.c, number.c, builtin.c).
 */
#ifndef LZC_COMPILE_H
#define LZC_COMPILE_H

#include "chunk.h"
#include "lzc.h"
#include "spirv_writer.h"

#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>

/* A type: a kind, and above its 8 bits what belongs to it. */
typedef uint32_t type;
enum {
  T_NONE,       /* never written */
  T_NIL,        /* NIL_OF and the index of a captured value, or 0 */
  T_BOOL,       /* a constant's value plus 1, or 0 */
  T_INT,        /* the number of its range plus 1, CAPTURED and the index of a
                   captured value, or 0 */
  T_REAL,       /* WHOLE, ZERO or NO_INTEGER; or CAPTURED and the index of a
                   number that a launch gives, from bit 3 on; or 0 */
  T_MAYBE_INT, T_MAYBE_REAL, /* a number or nil */
  T_VALUE,      /* index of a value: buffers, functions, tables, strings */
  T_TUPLE,      /* index of a tuple */
  T_CONFLICT    /* index of a conflict plus 1, or 0 */
};
/* Nil that a finding was about: what() says TOLD of it, and no finding is made
   that says this again. */
#define T_TOLD TYPE(T_NIL, 1)
#define NIL_OF 2
#define TOLD "\a"
#define CAPTURED 0x800000u
/* Bits of a real: whole, if it is finite; a constant that is no integer's
   value; 0.0 or -0.0. */
#define WHOLE 1
#define NO_INTEGER 2
#define ZERO (WHOLE | 4)
#define KIND(t) ((t) & 0xff)
#define DATA(t) ((t) >> 8)
#define TYPE(kind, data) ((type)(kind) | (type)(data) << 8)
#define IS_NUMBER(t) (KIND(t) == T_INT || KIND(t) == T_REAL)

/* Between which values an integer is; INT64_MIN and INT64_MAX: nothing is
   known.  Where most is INT64_MAX, least holds unless a computation wrapped. */
typedef struct range {
  int64_t least, most;
} range;

/* A value of the program: its type and, when code is written, its id. */
typedef struct val {
  type type;
  uint32_t id;
  uint32_t flag;   /* of MAYBE: whether it is there, a bool */
} val;

/* Something known when compiling: an argument's buffer or a capture. */
typedef struct known {
  lzc_value value;
  const lzc_path *path;  /* NULL: argument */
  unsigned argument;     /* from 1 */
  uint32_t pointer, length, number; /* parameters' ids; 0: not yet */
  uint32_t shape[LZC_MOST_RANK]; /* likewise: the sizes of an array */
  bool fixed, by_value;
  bool typed;            /* a real, in whose place an integer would compute
                            otherwise */
  uint32_t storage;      /* of arrays made by work functions, else 0 */
  const void *made_in;   /* these: by which call */
  size_t made_at;
  int64_t count;
} known;

/* A table that only is an index, `{i, j}`: it is never made. */
typedef struct tuple {
  const void *made_in;   /* where: an instance and its SETLIST */
  size_t made_at;
  unsigned count;
  type types[LZC_MOST_RANK];
  uint32_t variables[LZC_MOST_RANK]; /* of what are not constants; 0: not yet */
} tuple;

/* Two types of a register that do not go together, and where each was set. */
typedef struct conflict {
  type types[2];
  int lines[2];
} conflict;

typedef struct parameter {
  uint32_t id, type;
  const char *name, *source, *qualifier;
  const known *size_of;  /* of the size of a buffer or array, else NULL */
} parameter;

/* A function being compiled for types of arguments, at one place. */
typedef struct instance {
  struct instance *parent;
  const proto *p;
  const flow *f;
  const void *function;      /* its identity */
  const char *name;          /* as it is called; NULL: the kernel */
  type *entry;               /* per block and register; T_NONE: unreached */
  int *where;                /* likewise: the line that set it */
  char *dirty;
  char *ways;                /* per block: bits of .next, which it goes to */
  char *tested;              /* by instruction, of loads: 0 not asked yet, 1
                                not looked at for nil, 2 looked at */
  /* Of the last question where a value goes: blocks and registers it is in at
     their start, moves it took, results it was. */
  unsigned char *seen, *moved, given[32];
  size_t question;
  size_t site;               /* where the parent calls it */
  type *arguments;
  type *results;
  int *result_where;         /* likewise: the line of the first return */
  unsigned result_count;     /* of the return with most */
  bool returns;
  struct instance **children; /* by instruction */
  uint32_t *variables;       /* by register and kind of variable, 4 each */
  uint32_t *labels;          /* by block */
  uint32_t after;            /* where it returns to */
  unsigned base;             /* the caller's register of its first result */
  unsigned top;              /* results of the last open call end here */
  size_t pc;
  uint32_t file;             /* its source, an OpString */
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
  type *state;               /* registers of `at` now */
  int *where;                /* the lines that set them; of analysis only */
  conflict *conflicts;
  size_t conflict_count, conflict_room;
  tuple **tuples;
  size_t tuple_count, tuple_room;
  size_t instances, question;
  range *ranges;             /* that types name */
  size_t range_count, range_room;
  uint32_t *range_index;     /* a hash of them: 0, or one from 1 on */
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
  uint32_t report;           /* the parameter's id; 0: not yet */
  lzc_access *accesses;
  size_t access_count, access_room;
  int line;
  size_t local_bytes;
  /* The operands of a quotient, which are integers or may be given as such,
     that the instruction before a call made in this block, and that call's pc;
     0: none. */
  val quotient[2];
  size_t quotient_for;
} compiler;

/* --- known.c */
void finding(compiler *c, const char *variable, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t known_add(compiler *c, const lzc_value *value, const lzc_path *path,
                 unsigned argument);
/* A constant string, which is the same value wherever it stands. */
val v_string(compiler *c, const char *bytes, size_t size);
uint32_t parameter_add(compiler *c, uint32_t type, const char *name,
                       const char *source, const char *qualifier);
uint32_t known_pointer(compiler *c, known *k);
uint32_t known_length(compiler *c, known *k);
/* The size of an array's dimension, from 1; 64 bits. */
uint32_t known_shape(compiler *c, known *k, unsigned dimension);
/* A hidden argument that is not about a value. */
uint32_t report_add(compiler *c);
/* Its name, once code is made; and as findings about arguments have it,
   "argument 2 (x)". */
const char *known_label(const compiler *c, const known *k);
const char *known_name(compiler *c, const known *k);
uint32_t known_number(compiler *c, known *k);
/* The type of a real that a launch gives. */
type known_real(compiler *c, size_t index);
/* Notes, when code is written, that an operation meets these numbers: unless
   one of them is a real whatever a launch gives, it matters which of them are
   integers. */
void meet(compiler *c, type a, type b);
/* The same of one number, at any time. */
void kind_matters(compiler *c, type t);
/* Returns true if t is a real whatever a launch gives. */
bool is_sure_real(type t);
type known_type(compiler *c, size_t index);

/* --- range.c: between which values integers are */
type type_range(compiler *c, int64_t least, int64_t most);
range range_of(const compiler *c, type t);
bool constant_of(const compiler *c, type t, int64_t *n);
/* Whether both ends hold whatever was computed. */
bool range_is_sure(range r);
bool range_fits(range r, unsigned bits);
/* The types of a result, and of either of two integers. */
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
uint32_t k_real(compiler *c, double n);
unsigned real_bits(const compiler *c);
/* One instruction with a result; 0 when nothing is written. */
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
val arithmetic(compiler *c, opcode op, val a, val b);
val negate(compiler *c, val a);
uint32_t compare(compiler *c, opcode op, val a, val b); /* EQ LT LE */
uint32_t logical(compiler *c, unsigned op, uint32_t a, uint32_t b);
uint32_t whole(compiler *c, uint32_t real);  /* saturated integer; NaN: 0 */
/* The same of a real of any width that is not a NaN. */
uint32_t truncated(compiler *c, uint32_t real);
uint32_t rounded(compiler *c, unsigned op, uint32_t real); /* floor, ceil */

/* --- register.c */
void label(compiler *c, uint32_t id);
void branch(compiler *c, uint32_t to);
uint32_t truth(compiler *c, bool b);
val v_truth(compiler *c, bool b);
/* Whether Lua takes it for true; -1 where this is not known. */
int truth_of(type t);
val get(compiler *c, unsigned reg);
void set(compiler *c, unsigned reg, val v);
bool is_maybe(type t);
/* A number that may be missing as one that is there. */
val surely(val v);
/* A new variable of the kernel. */
uint32_t variable_new(compiler *c, uint32_t type);
void move_to(compiler *c, instance *in, unsigned reg, val v, type t);
/* --- step.c */
/* A test's condition, and what the register it looks at is on either side.
   *outcome: 1 or 0 where it is known, else -1. */
uint32_t condition(compiler *c, size_t pc, unsigned *reg, type *yes, type *no,
                   int *outcome);
/* --- memory.c */
const char *what(compiler *c, type t); /* a type, for messages */
bool is_real(lzc_element e), is_unsigned(lzc_element e);
/* Elements stand at offsets, of 64 bits and from 0. */
uint32_t offset_of(compiler *c, val index);
val load(compiler *c, known *k, uint32_t offset);
void store(compiler *c, known *k, uint32_t offset, val v);
/* A number as a real of so many bits, rounded once. */
uint32_t real_of_bits(compiler *c, val v, unsigned bits);
uint32_t address(compiler *c, known *k, uint32_t offset);
/* The finding that what a register holds cannot be indexed. */
void not_indexed(compiler *c, unsigned reg, type t);
/* What is indexed by one integer. */
known *buffer_of(compiler *c, unsigned reg);

/* --- input.c */
/* The variable of a built-in, of type t. */
uint32_t builtin_input(compiler *c, unsigned which, uint32_t t);
/* Its value: 64 bits, counted from 0. */
uint32_t builtin_id(compiler *c, unsigned which, unsigned dimension);

/* --- check.c: what checked kernels look at */
/* Where an element stands that is accessed. */
typedef struct spot {
  bool asked;            /* whether `there` is asked for */
  uint32_t offset, there;
  unsigned count;        /* of indices; as they are in Lua, and their limits */
  uint32_t index[LZC_MOST_RANK], size[LZC_MOST_RANK];
} spot;
/* Code until check_end runs only where `spot` is inside, in checked kernels;
   elsewhere this is reported. */
uint32_t check_begin(compiler *c, known *k, const spot *at);
void check_end(compiler *c, uint32_t after);
/* In checked kernels a divisor that is zero is reported, */
void check_divisor(compiler *c, val divisor);
/* a loop's step that is, */
void check_step(compiler *c, val step);
/* a dimension of the range that there is not, for the function of that name, */
void check_dimension(compiler *c, const char *name, val d);
/* and a real where an integer is needed, if it is not one's value. */
void check_whole(compiler *c, val v);
/* Likewise an integer that is stored and does not fit into the element. */
void check_fit(compiler *c, known *k, const spot *at, val v);

/* --- tuple.c */
/* Whether the NEWTABLE at pc makes a table that only is an index. */
bool tuple_is_made(const proto *p, size_t pc);
/* Its SETLIST. */
void tuple_set(compiler *c, size_t pc);
/* What a tuple indexes, and where.  NULL with a finding where there is no such
   element. */
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
/* Finds loops in it, and in what it calls, that no way leads out of. */
void find_endless(compiler *c, instance *in);
/* Of the kernel and all that it calls. */
void analyse_all(compiler *c, instance *in);
/* FORPREP and FORLOOP: the condition under which the body runs (again). */
uint32_t loop_prepare(compiler *c, size_t pc);
uint32_t loop_next(compiler *c, size_t pc);
/* What is known of the index at R[A] holds in the body only. */
void loop_leave(compiler *c, unsigned a);
void emit_instance(compiler *c, instance *in);

#endif
