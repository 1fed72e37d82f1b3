/*
 * lzc.h - the compiler of Lua functions: chunks in, SPIR-V out.
 * SPDX-License-Identifier: MIT
 *
 * Needs neither a Lua state nor a driver.  A function is given as the bytes of
 * lua_dump (Lua 5.4 or 5.5, stripped or not); what it captures is described by
 * a callback.  Chunks are not trusted: damaged ones are errors, never crashes.
 * Nothing here keeps state between calls; any number of threads may compile.
 *
 *   1. lzc_analyse tells what a function takes and which captures it reads.
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

/* The name as lze has it ("uchar", "bfloat16"), that in OpenCL C ("ushort" for
   bfloat16), and the bytes. */
const char *lzc_element_name(lzc_element element);
const char *lzc_element_c(lzc_element element);
unsigned lzc_element_bytes(lzc_element element);
/* The element of a name as lze has them, aliases included; false if none. */
bool lzc_element_find(const char *name, size_t size, lzc_element *element);

typedef enum lzc_kind {
  LZC_NIL,      /* a capture that is nil */
  LZC_BOOLEAN,  /* .boolean */
  LZC_INTEGER,  /* .integer; of an argument: any Lua integer */
  LZC_REAL,     /* .real; of an argument: any Lua float, as wide as reals */
  LZC_SCALAR,   /* arguments only: declared, of type .element */
  LZC_STRING,   /* .bytes, .size */
  LZC_BUFFER,   /* .element, .is_const, .rank: 1, or 0 for what may turn out
                   to be an array */
  LZC_ARRAY,    /* .element, .is_const, .rank: row-major, of 2 or more */
  LZC_TABLE,    /* captures only: fields are resolved by a longer path */
  LZC_BUILTIN,  /* .builtin */
  LZC_FUNCTION, /* captures only: .bytes, .size are its chunk, .identity names
                   it in later calls of the resolver */
  LZC_OTHER     /* anything else; .bytes says what, for messages */
} lzc_kind;

/* What a value is.  Bytes stay the caller's and must outlive the result. */
typedef struct lzc_value {
  lzc_kind kind;
  bool boolean, is_const;
  lzc_element element;
  unsigned rank, builtin;
  int64_t integer;
  double real;
  const void *bytes;
  size_t size;
  const void *identity;   /* equal for the same Lua object: lua_topointer */
  const void *variable;   /* of a path without fields: equal for the same local,
                             which functions may share: lua_upvalueid */
} lzc_value;

/* Functions known by identity.  Returns the number of "math.sqrt" or
   "work.barrier", to be set as .builtin, or 0. */
unsigned lzc_builtin_find(const char *name);
/* Its name, or NULL past the last: 1, 2, ... enumerate them all. */
const char *lzc_builtin_name(unsigned builtin);

/* A capture: an upvalue of a function and constant fields of it. */
typedef struct lzc_path {
  const void *function;       /* .identity of the function; NULL: the kernel */
  unsigned upvalue;           /* from 1, as lua_getupvalue counts */
  size_t count;
  const char *const *fields;
  const char *text;           /* "cfg.dt"; "upvalue 2" where names were
                                 stripped; "x" for the global x */
} lzc_path;

/* Describes what a path reads, raw.  False when a field of what is not a table
   is asked for; an absent field is LZC_NIL.  Must answer alike when asked
   again during one compilation. */
typedef bool lzc_resolve(void *context, const lzc_path *path, lzc_value *out);

/* --- 1 ------------------------------------------------------------------- */

typedef struct lzc_summary {
  unsigned parameters;
  bool is_vararg;
  const char *source;           /* "@try.lua"; NULL when stripped */
  int line;                     /* where it is defined; 0 when stripped */
  size_t upvalue_count;
  const char *const *upvalues;  /* names; NULL each when stripped */
  const char *const *names;     /* of the parameters; likewise */
  size_t path_count;            /* read in its own body, without repetition */
  const lzc_path *paths;
} lzc_summary;

/* Returns NULL when the bytes are not a sound chunk of Lua, or memory ran
   out, and says why in message (at most cap bytes).  Free with
   lzc_summary_free. */
lzc_summary *lzc_analyse(const void *bytes, size_t size, char *message,
                         size_t cap);
void lzc_summary_free(lzc_summary *summary);

/* --- 2 ------------------------------------------------------------------- */

/* What the device can do. */
typedef struct lzc_device {
  bool fp64, fp16, int64_atomics, float_atomics;
  bool sub_groups;            /* of several work-items; else each is one */
  unsigned version;           /* SPIR-V: 0x00010000 ... */
} lzc_device;

typedef struct lzc_options {
  const char *name;           /* the kernel's */
  lzc_element real;           /* LZC_FLOAT, LZC_DOUBLE, or LZC_ELEMENTS: by
                                 the contract's rule */
  bool int32;                 /* integers of 32 bits rather than 64 */
  bool fast;                  /* contraction and native functions */
  bool bounds;                /* checked accesses, divisions of integers, steps
                                 and conversions, see LZC_HIDDEN_REPORT */
} lzc_options;

typedef struct lzc_input {
  const void *bytes;
  size_t size;
  const void *identity;       /* as that of a captured function */
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
  LZC_HIDDEN_BUFFER,  /* a captured buffer or array's data, a pointer */
  LZC_HIDDEN_LENGTH,  /* elements of a buffer, size 1 of an array: long */
  LZC_HIDDEN_SHAPE,   /* size .dimension (from 1) of an array: long */
  LZC_HIDDEN_REPORT   /* a pointer to an LZC_REPORT_ROOM of longs, zeros; the
                         first fault is told there, see LZC_REPORT_DONE */
} lzc_hidden_kind;

/* What is where in a report: 1 where there was a fault, the index into
   .accesses, the three global ids of the work-item (from 0), how many indices
   these are, 0 where there is no access, and they and what each must not exceed; or, in
   place of the first limit, the integer that does not fit. */
enum { LZC_REPORT_DONE, LZC_REPORT_ACCESS, LZC_REPORT_ID,
       LZC_REPORT_COUNT = LZC_REPORT_ID + 3, LZC_REPORT_INDEX,
       LZC_REPORT_SIZE = LZC_REPORT_INDEX + LZC_MOST_RANK,
       LZC_REPORT_ROOM = LZC_REPORT_SIZE + LZC_MOST_RANK };

/* Where something may go wrong: in an access, whose buffer has a name, in a
   store of an integer, whose element has one, or elsewhere: the name then says
   what is wrong. */
typedef struct lzc_access {
  const char *file;           /* NULL when stripped */
  int line;
  const char *name;
  const char *element;        /* that an integer does not fit into; or NULL */
} lzc_access;

/* An argument that follows the declared ones, in this order. */
typedef struct lzc_hidden {
  lzc_hidden_kind kind;
  lzc_element element;
  unsigned argument;          /* whose: from 1, the index of input.arguments
                                 plus 1; 0: the captured .path's */
  unsigned dimension;
  unsigned rank;              /* of the buffer, 1, or array */
  const lzc_path *path;
  const char *name;           /* as the parameter is named in SPIR-V */
  bool typed;                 /* of a real: an integer in its place would
                                 compute otherwise */
} lzc_hidden;

/* What was compiled in: the variant holds as long as the path still has a
   value that lzc_same_key says is the same. */
typedef struct lzc_fixed {
  const lzc_path *path;
  lzc_value value;
  bool by_value;              /* a number used as a size, a string, a boolean;
                                 else kind, type and identity only */
} lzc_fixed;

bool lzc_same_key(const lzc_fixed *fixed, const lzc_value *value);

/* A finding: why it cannot be compiled, and what to do instead. */
typedef struct lzc_finding {
  const char *file;           /* "try.lua"; NULL when stripped */
  int line;                   /* 0 when stripped */
  const char *function;       /* of the Lua function, "" for the kernel's */
  const char *variable;       /* NULL where none is concerned */
  const char *message;
} lzc_finding;

typedef struct lzc_result {
  const uint32_t *words;      /* NULL: see the findings */
  size_t word_count;
  lzc_element real;           /* the kernel's real width */
  lzc_kind gives;             /* what its first return value is: LZC_INTEGER,
                                 LZC_REAL, LZC_BOOLEAN, LZC_NIL, LZC_OTHER */
  const char *given;          /* the same in words, for messages */
  size_t hidden_count;
  const lzc_hidden *hidden;
  size_t fixed_count;
  const lzc_fixed *fixed;
  const lzc_element *types;   /* for each argument: of the scalar or element */
  const unsigned *ranks;      /* likewise: how many indices its use has, 0 where
                                 it is not indexed */
  const bool *typed;          /* likewise: of a real, whether an integer in its
                                 place would compute otherwise */
  size_t local_bytes;         /* of local memory */
  size_t access_count;        /* what a report's access is */
  const lzc_access *accesses;
  size_t finding_count;
  const lzc_finding *findings;
} lzc_result;

/* Returns NULL only when memory ran out. */
lzc_result *lzc_compile(const lzc_input *input);
void lzc_result_free(lzc_result *result);

#endif
