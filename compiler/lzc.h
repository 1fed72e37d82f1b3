/*
 * lzc.h - the compiler of Lua functions: chunks in, SPIR-V out.
 * SPDX-License-Identifier: MIT
 *
 * Needs neither a Lua state nor a driver.  A function is passed as the bytes of
 * lua_dump (Lua 5.4 or 5.5, stripped or not); a callback describes its
 * captures.  Chunks are not trusted: damaged ones are errors, never crashes.
 * The compiler keeps no state between calls; any number of threads may compile.
 *
 *   1. lzc_analyse returns the parameters and the captures of a function.
 *   2. lzc_compile makes SPIR-V for given types of arguments.
 */
#ifndef LZC_H
#define LZC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dimensions of an array. */
enum { LZC_MOST_RANK = 8 };

/* Types of elements and of declared scalars. */
typedef enum lzc_element {
  LZC_CHAR, LZC_UCHAR, LZC_SHORT, LZC_USHORT, LZC_INT, LZC_UINT, LZC_LONG,
  LZC_ULONG, LZC_HALF, LZC_BFLOAT16, LZC_FLOAT, LZC_DOUBLE, LZC_ELEMENTS
} lzc_element;

/* Return lze's name ("uchar", "bfloat16"), the name in OpenCL C ("ushort" for
   bfloat16), and the bytes. */
const char *lzc_element_name(lzc_element element);
const char *lzc_element_c(lzc_element element);
unsigned lzc_element_bytes(lzc_element element);
/* Finds the element with lze's name, aliases included; false if it is
   unknown. */
bool lzc_element_find(const char *name, size_t size, lzc_element *element);

typedef enum lzc_kind {
  LZC_NIL,      /* a capture that is nil */
  LZC_BOOLEAN,  /* .boolean */
  LZC_INTEGER,  /* .integer; of an argument: any Lua integer */
  LZC_REAL,     /* .real; of an argument: any Lua float, in the kernel's real
                   width */
  LZC_SCALAR,   /* declared arguments of type .element */
  LZC_STRING,   /* .bytes, .size */
  LZC_BUFFER,   /* .element, .is_const, .rank: 1, or 0 for one that may turn out
                   to be an array */
  LZC_ARRAY,    /* .element, .is_const, .rank: row-major, of 2 or more */
  LZC_TABLE,    /* captures only: fields are resolved by a longer path */
  LZC_BUILTIN,  /* .builtin */
  LZC_FUNCTION, /* captures only: .bytes, .size are its chunk, .identity
                   identifies it in later calls of the resolver */
  LZC_OTHER     /* anything else; .bytes describes it in messages */
} lzc_kind;

/* A description of a value.  The caller owns the bytes, which must outlive the
   result. */
typedef struct lzc_value {
  lzc_kind kind;
  bool boolean, is_const;
  lzc_element element;
  unsigned rank, builtin;
  int64_t integer;
  double real;
  const void *bytes;
  size_t size;
  const void *identity;   /* lua_topointer: the same for the same object */
  const void *variable;   /* of a path without fields: lua_upvalueid, the same
                             for one local that functions share */
} lzc_value;

/* Built-in functions have numbers.  Returns the number of "math.sqrt" or
   "work.barrier", to be set as .builtin, or 0. */
unsigned lzc_builtin_find(const char *name);
/* Returns its name, or NULL past the last: 1, 2, ... enumerate all names. */
const char *lzc_builtin_name(unsigned builtin);

/* A capture: an upvalue of a function, and constant fields of the upvalue. */
typedef struct lzc_path {
  const void *function;       /* .identity of the function; NULL for the
                                 kernel */
  unsigned upvalue;           /* from 1, as lua_getupvalue counts */
  size_t count;
  const char *const *fields;
  const char *text;           /* "cfg.dt"; "upvalue 2" if stripped; "x" for the
                                 global x */
} lzc_path;

/* Describes the raw value that a path reads.  False if it reads a field of a
   value that is not a table; a missing field is LZC_NIL.  Must return the same
   answer each time during one compilation. */
typedef bool lzc_resolve(void *context, const lzc_path *path, lzc_value *out);

/* --- 1 ------------------------------------------------------------------- */

typedef struct lzc_summary {
  unsigned parameters;
  bool is_vararg;
  const char *source;           /* "@try.lua"; NULL when stripped */
  int line;                     /* of its definition; 0 when stripped */
  size_t upvalue_count;
  const char *const *upvalues;  /* names; NULL each when stripped */
  const char *const *names;     /* of parameters; NULL each when stripped */
  size_t path_count;            /* read in its own body, without repetition */
  const lzc_path *paths;
} lzc_summary;

/* Returns NULL if the bytes are not a valid chunk of Lua, or if memory runs
   out, with the reason in message (at most cap bytes).  Free with
   lzc_summary_free. */
lzc_summary *lzc_analyse(const void *bytes, size_t size, char *message,
                         size_t cap);
void lzc_summary_free(lzc_summary *summary);

/* --- 2 ------------------------------------------------------------------- */

/* Capabilities of the device. */
typedef struct lzc_device {
  bool fp64, fp16, int64_atomics, float_atomics;
  bool fast_fp64;             /* doubles take about twice the time of floats */
  bool sub_groups;            /* with several work-items; else each has one */
  unsigned version;           /* SPIR-V: 0x00010000 ... */
} lzc_device;

typedef struct lzc_options {
  const char *name;           /* of the kernel */
  lzc_element real;           /* LZC_FLOAT, LZC_DOUBLE, or LZC_ELEMENTS: chosen
                                 by the compiler's rule */
  bool int32;                 /* integers of 32 bits instead of 64 */
  bool fast;                  /* contraction and native functions */
  bool bounds;                /* checked accesses, integer divisions, steps and
                                 conversions, see LZC_HIDDEN_REPORT */
} lzc_options;

typedef struct lzc_input {
  const void *bytes;
  size_t size;
  const void *identity;       /* as for a captured function */
  unsigned dimensions;        /* leading parameters that are indices */
  size_t argument_count;
  const lzc_value *arguments; /* the other parameters, in order */
  lzc_resolve *resolve;
  void *context;
  lzc_options options;
  lzc_device device;
} lzc_input;

typedef enum lzc_hidden_kind {
  LZC_HIDDEN_NUMBER,  /* a captured number, as .element */
  LZC_HIDDEN_BUFFER,  /* data of a captured buffer or array: a pointer */
  LZC_HIDDEN_LENGTH,  /* elements of a buffer, size 1 of an array: long */
  LZC_HIDDEN_SHAPE,   /* size .dimension (from 1) of an array: long */
  LZC_HIDDEN_REPORT   /* a pointer to LZC_REPORT_ROOM zeroed longs; the first
                         fault is reported there, see LZC_REPORT_DONE */
} lzc_hidden_kind;

/* Positions in a report: 1 if there was a fault, the index into .accesses, the
   three global ids of the work-item (from 0), the number of indices, or 0 if it
   is not about an access, the indices and their limits; or, in place of the
   first limit, the integer that does not fit. */
enum { LZC_REPORT_DONE, LZC_REPORT_ACCESS, LZC_REPORT_ID,
       LZC_REPORT_COUNT = LZC_REPORT_ID + 3, LZC_REPORT_INDEX,
       LZC_REPORT_SIZE = LZC_REPORT_INDEX + LZC_MOST_RANK,
       LZC_REPORT_ROOM = LZC_REPORT_SIZE + LZC_MOST_RANK };

/* A place of a possible fault: an access, with the name of its buffer; a store
   of an integer, with the name of its element; or another, whose name describes
   the problem. */
typedef struct lzc_access {
  const char *file;           /* NULL when stripped */
  int line;
  const char *name;
  const char *element;        /* into which an integer does not fit; or NULL */
} lzc_access;

/* An argument that follows the declared ones, in this order. */
typedef struct lzc_hidden {
  lzc_hidden_kind kind;
  lzc_element element;
  unsigned argument;          /* its owner: from 1, the index of input.arguments
                                 plus 1; 0: the captured .path */
  unsigned dimension;
  unsigned rank;              /* of the array; 1 for a buffer */
  const lzc_path *path;
  const char *name;           /* name of the parameter in SPIR-V */
  bool typed;                 /* a real; an integer in its place would change
                                 the computation */
} lzc_hidden;

/* A compiled-in value: the variant is valid as long as lzc_same_key returns
   true for the current value of the path. */
typedef struct lzc_fixed {
  const lzc_path *path;
  lzc_value value;
  bool by_value;              /* a number used as a size, a string, a boolean;
                                 else only kind, type and identity count */
} lzc_fixed;

bool lzc_same_key(const lzc_fixed *fixed, const lzc_value *value);

/* A finding: the reason why it cannot be compiled, and what to do instead. */
typedef struct lzc_finding {
  const char *file;           /* "try.lua"; NULL when stripped */
  int line;                   /* 0 when stripped */
  const char *function;       /* the Lua function, "" for the kernel */
  const char *variable;       /* NULL if it concerns no variable */
  const char *message;
} lzc_finding;

typedef struct lzc_result {
  const uint32_t *words;      /* NULL: see the findings */
  size_t word_count;
  lzc_element real;           /* real width of the kernel */
  lzc_kind gives;             /* kind of its first result: LZC_INTEGER,
                                 LZC_REAL, LZC_BOOLEAN, LZC_NIL, LZC_OTHER */
  const char *given;          /* described in words, for messages */
  size_t hidden_count;
  const lzc_hidden *hidden;
  size_t fixed_count;
  const lzc_fixed *fixed;
  const lzc_element *types;   /* by argument: scalar or element type */
  const unsigned *ranks;      /* by argument: number of indices, 0 if not
                                 indexed */
  const bool *typed;          /* by argument: a real; an integer in its place
                                 would change the computation */
  size_t local_bytes;         /* bytes of local memory */
  size_t access_count;        /* for the access numbers of reports */
  const lzc_access *accesses;
  size_t finding_count;
  const lzc_finding *findings;
} lzc_result;

/* Returns NULL only if memory runs out. */
lzc_result *lzc_compile(const lzc_input *input);
void lzc_result_free(lzc_result *result);

#endif
