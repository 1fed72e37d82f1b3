/*
 * spirv.h - the SPIR-V reader of lze and its driver.
 * SPDX-License-Identifier: MIT
 *
 * Describes an OpenCL flavoured SPIR-V module: its kernels, their arguments,
 * and everything they use through the whole call graph. It uses neither Lua nor
 * OpenCL. SPIRV-Tools (spvBinaryParse) decodes modules and refuses malformed
 * ones. Everything returned belongs to the spirv_module and lives until
 * spirv_free. The reader has no state between calls, so any number of threads
 * may use it, each on its own module.
 */
#ifndef LZE_SPIRV_H
#define LZE_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory that a pointer points to (the storage class of OpTypePointer). */
typedef enum spirv_space {
  SPIRV_SPACE_PRIVATE,  /* Function: a by-value struct passed byval */
  SPIRV_SPACE_GLOBAL,   /* CrossWorkgroup */
  SPIRV_SPACE_CONSTANT, /* UniformConstant */
  SPIRV_SPACE_LOCAL,    /* Workgroup */
  SPIRV_SPACE_GENERIC
} spirv_space;

/* How an argument is passed to a kernel. */
typedef enum spirv_class {
  SPIRV_ARG_VALUE,   /* scalar, vector or struct (also byval) */
  SPIRV_ARG_POINTER, /* an address of global, constant or generic memory */
  SPIRV_ARG_LOCAL,   /* a size of local memory, in bytes */
  SPIRV_ARG_IMAGE,
  SPIRV_ARG_SAMPLER,
  SPIRV_ARG_OTHER    /* pipes, queues, events: these cannot be set */
} spirv_class;

typedef enum spirv_kind {
  SPIRV_KIND_UNKNOWN, /* an opaque or untyped pointee */
  SPIRV_KIND_VOID,
  SPIRV_KIND_BOOL,
  SPIRV_KIND_INT,
  SPIRV_KIND_FLOAT,
  SPIRV_KIND_STRUCT,  /* structs, arrays, anything else with a size */
  SPIRV_KIND_POINTER
} spirv_kind;

typedef enum spirv_sign {
  SPIRV_SIGN_UNKNOWN, /* unknown in SPIR-V made from OpenCL C */
  SPIRV_SIGN_SIGNED,
  SPIRV_SIGN_UNSIGNED
} spirv_sign;

/* The type of a value or of a pointee. */
typedef struct spirv_type {
  spirv_kind kind;
  spirv_sign sign;  /* of integers, from the source type if known */
  unsigned bits;    /* of one lane */
  unsigned lanes;   /* 1 for scalars, 2, 3, 4, 8 or 16 for vectors */
  size_t bytes;     /* size in memory; a vector of 3 takes 4 lanes; 0 if
                       unknown */
} spirv_type;

/* The kernel's accesses through a pointer. */
typedef enum spirv_access {
  SPIRV_ACCESS_NONE = 0,  /* proven: never touched */
  SPIRV_ACCESS_READ = 1,  /* proven: only read */
  SPIRV_ACCESS_WRITE = 2, /* proven: only written */
  SPIRV_ACCESS_BOTH = 3   /* both, or unknown */
} spirv_access;

/* The image that an argument requires. */
typedef struct spirv_image {
  uint8_t dimensions;      /* 1, 2 or 3; 0 for other kinds, for example
                              buffers */
  bool is_array, is_depth, is_multisampled;
} spirv_image;

/* Each work-item reaches at least `bytes` plus `by` times its global ids, in
   bytes, for any values of the other arguments. */
typedef struct spirv_extent {
  bool proved;
  bool narrow;             /* valid only if the result is well below 2^31 */
  int64_t bytes, by[3];
} spirv_extent;

typedef struct spirv_arg {
  const char *name;        /* NULL if absent */
  const char *source_type; /* "float*", from kernel_arg_type; NULL if absent */
  spirv_class cls;
  spirv_space space;       /* of POINTER and LOCAL */
  spirv_type type;         /* of the value, or of the pointee */
  size_t bytes;            /* to set it: 8 for a pointer, 0 for LOCAL */
  bool is_const;           /* const in the source, NonWritable or constant */
  bool is_volatile, is_restrict;
  bool is_capture;         /* of a kernel from a Lua function: a capture */
  uint32_t size_of;        /* of a kernel from a Lua function: the number of the
                              argument whose size this is along `dimension`,
                              out of `rank`; both from 1; 0 if not a size */
  uint32_t dimension, rank;
  spirv_extent reach;      /* of POINTER */
  spirv_access access;     /* of POINTER: followed through loads, stores,
                              atomics, calls and Function variables; from
                              const if that is inconclusive. Of IMAGE: its
                              qualifier */
  spirv_image image;       /* of IMAGE */
} spirv_arg;

/* Built-in variables that a kernel reads, as bits of spirv_kernel.builtins. */
enum {
  SPIRV_BUILTIN_GLOBAL_ID = 1 << 0,
  SPIRV_BUILTIN_GLOBAL_SIZE = 1 << 1,
  SPIRV_BUILTIN_GLOBAL_OFFSET = 1 << 2,
  SPIRV_BUILTIN_GLOBAL_LINEAR_ID = 1 << 3,
  SPIRV_BUILTIN_LOCAL_ID = 1 << 4,
  SPIRV_BUILTIN_LOCAL_LINEAR_ID = 1 << 5,
  SPIRV_BUILTIN_GROUP_ID = 1 << 6,
  SPIRV_BUILTIN_GROUP_SIZE = 1 << 7,
  SPIRV_BUILTIN_ENQUEUED_GROUP_SIZE = 1 << 8,
  SPIRV_BUILTIN_NUM_GROUPS = 1 << 9,
  SPIRV_BUILTIN_WORK_DIM = 1 << 10,
  SPIRV_BUILTIN_SUBGROUP = 1 << 11, /* any sub-group variable */
  SPIRV_BUILTIN_OTHER = 1 << 12
};

/* Other properties of a kernel, as bits of spirv_kernel.features. */
enum {
  SPIRV_USES_BARRIER = 1 << 0,     /* control barriers of a group */
  SPIRV_USES_LOCAL = 1 << 1,       /* Workgroup variables or arguments */
  SPIRV_USES_ATOMICS = 1 << 2,
  SPIRV_USES_GROUP_OPS = 1 << 3,   /* OpGroup*, group async copies */
  SPIRV_USES_SUBGROUP_OPS = 1 << 4,
  SPIRV_USES_PRINTF = 1 << 5,
  SPIRV_USES_UNKNOWN_CALL = 1 << 6, /* an imported or indirect callee: assume
                                       that every built-in is used */
  SPIRV_HAS_LOOPS = 1 << 7,
  SPIRV_HAS_LONG_MATHS = 1 << 8,   /* exp, sin, pow ...: many steps each */
  SPIRV_SWEEPS_LOCAL = 1 << 9,     /* fills local memory in loops: the same work
                                      for a group of any size */
  SPIRV_HAS_LONG_LOOPS = 1 << 10,  /* more than a few rounds, or an unknown
                                      number; an estimate */
  SPIRV_READS_ID_IN_PARTS = 1 << 11 /* reads the global id other than by a load
                                       of the whole vector */
};

/* The prefix of entry points of kernels in Lua. Without it, a kernel could have
   the name of an OpenCL or C function, for example printf. */
#define SPIRV_LUA_ENTRY "lze_kernel_"

typedef struct spirv_kernel {
  const char *name;          /* the entry point's name */
  const char *label;         /* the name for users; for a kernel in Lua, its
                                name in the script */
  uint32_t function;         /* index into spirv_module.functions */
  uint32_t arg_count;
  const spirv_arg *args;
  /* The lists of args' source types and qualifiers, "float,float*,"; NULL if
     absent, or for a function's second name. */
  const char *type_list, *qualifier_list;
  uint32_t size_count;       /* number of trailing arguments that are sizes */
  uint32_t required_group[3];   /* LocalSize; zeros if absent */
  uint32_t group_hint[3];       /* LocalSizeHint; zeros if absent */
  uint32_t required_subgroup;   /* SubgroupSize; 0 if absent */
  uint32_t builtins, features;  /* through the whole call graph */
  size_t local_bytes;           /* static Workgroup variables it reaches */
  size_t private_bytes;         /* a work-item's arrays and structs in the
                                   functions it reaches, each function once */
  size_t waiting_bytes;         /* other values in these functions that may live
                                   across a barrier: variables, and values that
                                   more than one block uses */
  /* Accesses to global memory by neighbours along x, y or z. `beside` counts
     accesses within 64 bytes of each other; `apart` counts accesses further
     away or at unknown places. Accesses in loops count more. An access at the
     same address for both neighbours is in neither. `again` counts accesses in
     loops through memory that are beside others, if each work-item visits the
     places that its neighbour along that dimension has visited. `stores` counts
     the writes in `beside`. `spacing` is the greatest distance in bytes between
     neighbours in `beside`. These are estimates, not proofs. */
  uint32_t beside[3], apart[3], again[3], stores[3], spacing[3];
  /* The most work-items along x, y and z, and in all, that can each have a
     place in the kernel's arrays in local memory; 0 if unknown. A larger group
     may write past their ends. */
  uint32_t local_fit[3], local_items;
} spirv_kernel;

/* A function's body: instructions [first, first + count) of the module. */
typedef struct spirv_function {
  uint32_t id;
  const char *name;          /* OpName or linkage name, or NULL */
  bool imported;             /* a declaration with import linkage */
  uint32_t first, count;
  const uint32_t *params;    /* ids of its OpFunctionParameter */
  uint32_t param_count;
  const uint32_t *callees;   /* indices of functions it calls */
  uint32_t callee_count;
} spirv_function;

/* One instruction: opcode, result and words. */
typedef struct spirv_instruction {
  uint16_t opcode, word_count;
  uint32_t result, result_type;  /* 0 if absent */
  const uint32_t *words;         /* word_count words, words[0] included */
} spirv_instruction;

typedef struct spirv_spec_constant {
  uint32_t spec_id, id;
  const char *name;          /* OpName, or NULL */
  spirv_type type;
  uint64_t value;            /* the default's bits, zero-extended */
} spirv_spec_constant;

/* A function or a program-scope CrossWorkgroup variable with linkage or a
   name. */
typedef struct spirv_symbol {
  const char *name;
  uint32_t at;               /* its instruction */
  bool imported, exported;   /* otherwise it is internal */
  bool is_builtin;           /* imported, and in every OpenCL implementation */
} spirv_symbol;

/* The layout of a type's values in memory; 0 if unknown. */
typedef struct spirv_layout {
  size_t bytes;
  uint16_t align;
  bool is_packed;            /* a struct without padding */
} spirv_layout;

typedef struct spirv_module {
  uint32_t version;          /* 0x00010200 for 1.2 */
  uint32_t generator, bound;
  unsigned address_bits;     /* 32 or 64 (OpMemoryModel), 0 for logical */
  const uint32_t *words;     /* the module in this machine's byte order */
  size_t word_count;
  const uint32_t *capabilities;
  size_t capability_count;
  const spirv_kernel *kernels;
  size_t kernel_count;
  const spirv_function *functions;
  size_t function_count;
  const spirv_instruction *instructions;
  size_t instruction_count;
  const uint32_t *definitions;  /* of ids below bound: 1 + the instruction */
  const spirv_layout *layouts;  /* one for each instruction */
  const uint8_t *id_uses;    /* a bit for each word: set for an id that is an
                                operand, not the result or its type */
  const spirv_symbol *symbols;
  size_t symbol_count;
  const spirv_spec_constant *spec_constants;
  size_t spec_constant_count;
  bool has_imports;          /* of functions and variables, without built-ins */
  bool has_exports;          /* a compiler may export every kernel */
  bool has_globals;          /* program-scope CrossWorkgroup variables */
} spirv_module;

/* Returns the instruction that defines an id, or NULL. */
static inline const spirv_instruction *
spirv_definition(const spirv_module *m, uint32_t id)
{
  uint32_t at = id < m->bound ? m->definitions[id] : 0;
  return at > 0 ? &m->instructions[at - 1] : NULL;
}

/*
 * Decodes `size` bytes at `bytes`. Returns NULL if they are not a decodable
 * OpenCL module or if memory runs out, and writes the reason into message (a
 * NUL terminated string of at most `cap` bytes). The bytes are copied and need
 * no alignment. Both byte orders are accepted.
 */
spirv_module *spirv_parse(const void *bytes, size_t size, char *message,
                          size_t cap);

void spirv_free(spirv_module *module); /* NULL is allowed */

/* Returns the kernel with that entry point, or NULL. */
const spirv_kernel *spirv_find(const spirv_module *module, const char *name);

/* Sets, for each kernel, the name of a function that it reaches by calls and
   that neither the module nor every OpenCL implementation defines, or NULL.
   Returns false when memory runs out. */
bool spirv_undefined(const spirv_module *module, const char **names);

/* Returns true if the kernel, or a function that it reaches by calls, compares
   pointers or uses their values, so that it may test for null. Also returns
   true when memory runs out. */
bool spirv_compares_pointers(const spirv_module *module,
                             const spirv_kernel *kernel);

/* Floating-point operations of one work-item, by precision. An operation on a
   vector counts once for each lane; fma and mad count twice. */
typedef struct spirv_flops {
  uint64_t of_half, of_float, of_double;
  bool whole;                /* the counts are exact for each work-item;
                                otherwise they are lower bounds */
} spirv_flops;

/* Counts the operations in the source that each work-item does for any
   arguments; a compiler may remove some of them. Walks through the kernel for
   some milliseconds at most. Returns false when memory runs out. */
bool spirv_count_flops(const spirv_module *module, const spirv_kernel *kernel,
                       spirv_flops *flops);

/* Returns the module without the functions and kernels that reach an undefined
   function: `*size` bytes of words for the caller to free, or NULL when memory
   runs out. */
uint32_t *spirv_defined(const spirv_module *module, size_t *size);

/*
 * Returns the reason why SPIRV-Tools' validator and optimiser must not read a
 * module, or NULL. Newer versions visit a struct's members once for each path
 * to them, and nested structs can have too many paths. The words are in the
 * machine's byte order. The tools report malformed modules themselves.
 */
const char *spirv_too_nested(const uint32_t *words, size_t count);

/*
 * Removes the import and the instructions of the debug information set
 * SPIRV.debug; no other instruction uses them. Older LLVM translators write
 * this set, and SPIRV-Tools does not support it. The words are in the machine's
 * byte order. Returns the number of remaining words. spirv_parse and
 * spirv_validate call this on their copies.
 */
size_t spirv_without_debug(uint32_t *words, size_t count);

/*
 * Validates a module with SPIRV-Tools: up to SPIR-V 1.2 for OpenCL 2.2, newer
 * modules for their SPIR-V version alone. Returns true, or false with the
 * validator's first message. Drivers accept many modules that the validator
 * refuses (one in seven Intel conformance tests), so a refusal is a reason to
 * warn, not to give up.
 */
bool spirv_validate(const void *bytes, size_t size, char *message, size_t cap);

#endif
