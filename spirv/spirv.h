/*
 * spirv.h - one reader of SPIR-V for lze and for its driver.
 * SPDX-License-Identifier: MIT
 *
 * Answers what both need to know of an OpenCL flavoured SPIR-V module: its
 * kernels, their arguments, what they use through the whole call graph.  No
 * Lua and no OpenCL in here; decoding is SPIRV-Tools' (spvBinaryParse), which
 * also refuses what cannot be decoded.  Everything returned belongs to the
 * spirv_module and lives until spirv_free.  The reader keeps no state between
 * calls and may be used from any number of threads, each on its own module.
 */
#ifndef LZE_SPIRV_H
#define LZE_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a pointer points (the storage class of OpTypePointer). */
typedef enum spirv_space {
  SPIRV_SPACE_PRIVATE,  /* Function: a by-value struct passed byval */
  SPIRV_SPACE_GLOBAL,   /* CrossWorkgroup */
  SPIRV_SPACE_CONSTANT, /* UniformConstant */
  SPIRV_SPACE_LOCAL,    /* Workgroup */
  SPIRV_SPACE_GENERIC
} spirv_space;

/* How an argument is given to a kernel. */
typedef enum spirv_class {
  SPIRV_ARG_VALUE,   /* its bytes: scalar, vector or struct (byval too) */
  SPIRV_ARG_POINTER, /* an address of global, constant or generic memory */
  SPIRV_ARG_LOCAL,   /* a count of bytes of local memory */
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
  SPIRV_SIGN_UNKNOWN, /* SPIR-V made from OpenCL C does not say */
  SPIRV_SIGN_SIGNED,
  SPIRV_SIGN_UNSIGNED
} spirv_sign;

/* The type of a value or of what a pointer points to. */
typedef struct spirv_type {
  spirv_kind kind;
  spirv_sign sign;  /* of integers, from the source type where it is known */
  unsigned bits;    /* of one lane */
  unsigned lanes;   /* 1 for scalars, 2, 3, 4, 8 or 16 for vectors */
  size_t bytes;     /* size in memory; a vector of 3 takes 4 lanes; 0 unknown */
} spirv_type;

/* What the kernel does through a pointer. */
typedef enum spirv_access {
  SPIRV_ACCESS_NONE = 0,  /* proven: never touched */
  SPIRV_ACCESS_READ = 1,  /* proven: only read */
  SPIRV_ACCESS_WRITE = 2, /* proven: only written */
  SPIRV_ACCESS_BOTH = 3   /* both, or it cannot be told */
} spirv_access;

/* What an argument that is an image has to be. */
typedef struct spirv_image {
  uint8_t dimensions;      /* 1, 2 or 3; 0 for a buffer and the like */
  bool is_array, is_depth, is_multisampled;
} spirv_image;

/* Each work-item accesses the bytes below `bytes` plus `by` times its global
   ids, whatever the values of the other arguments are. */
typedef struct spirv_extent {
  bool proved;
  bool narrow;             /* only where that is well below 2^31 */
  int64_t bytes, by[3];
} spirv_extent;

typedef struct spirv_arg {
  const char *name;        /* NULL where the module has none */
  const char *source_type; /* "float*", from kernel_arg_type; NULL if absent */
  spirv_class cls;
  spirv_space space;       /* of POINTER and LOCAL */
  spirv_type type;         /* of the value, or of the pointee */
  size_t bytes;            /* to be set for it: 8 for a pointer, 0 for LOCAL */
  bool is_const;           /* const in the source, NonWritable or constant */
  bool is_volatile, is_restrict;
  bool is_capture;         /* of a kernel made of a Lua function: a capture */
  uint32_t size_of;        /* likewise: the size of this argument, from 1, along
                              `dimension`, from 1, of `rank`; 0 for others */
  uint32_t dimension, rank;
  spirv_extent reach;      /* of POINTER */
  spirv_access access;     /* of POINTER: followed through loads, stores,
                              atomics, calls and Function variables; const
                              where that cannot tell.  Of IMAGE: its
                              qualifier */
  spirv_image image;       /* of IMAGE */
} spirv_arg;

/* Built-in variables a kernel reads, as bits of spirv_kernel.builtins. */
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

/* Other things a kernel does, as bits of spirv_kernel.features. */
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
  SPIRV_SWEEPS_LOCAL = 1 << 9,     /* fills local memory in loops: work of the
                                      group, whatever its size */
  SPIRV_HAS_LONG_LOOPS = 1 << 10   /* of more than a few rounds, or of an
                                      unknown number.  A good guess */
};

/* What stands before the name of a kernel in Lua in its entry point's: by
   itself such a name may be one that OpenCL or C has, as printf is. */
#define SPIRV_LUA_ENTRY "lze_kernel_"

typedef struct spirv_kernel {
  const char *name;          /* its entry point's */
  const char *label;         /* what people call it: of Lua's, as there */
  uint32_t function;         /* index into spirv_module.functions */
  uint32_t arg_count;
  const spirv_arg *args;
  /* The lists that args have their source types and qualifiers from,
     "float,float*,"; NULL if the module has none, or for a second name. */
  const char *type_list, *qualifier_list;
  uint32_t size_count;       /* the last arguments that are sizes of others */
  uint32_t required_group[3];   /* LocalSize; zeros when there is none */
  uint32_t group_hint[3];       /* LocalSizeHint; zeros likewise */
  uint32_t required_subgroup;   /* SubgroupSize; 0 likewise */
  uint32_t builtins, features;  /* through the whole call graph */
  size_t local_bytes;           /* static Workgroup variables it reaches */
  size_t private_bytes;         /* arrays and structs of a work-item in the
                                   functions it reaches, once each */
  /* Accesses to global memory that work-items which are neighbours along x, y
     or z make side by side, within 64 bytes, and those they make further
     apart, or at unknown places; those in loops count more.  What has the
     same address for both is in neither.  `again` are those of them in loops
     that go through memory, each work-item along that dimension where its
     neighbour has been, side by side with others.  `stores` are those side by
     side that write, and `spacing` the most bytes from one of them all to the
     next.  A good guess, not a proof. */
  uint32_t beside[3], apart[3], again[3], stores[3], spacing[3];
  /* The most work-items along x, y and z, and in all, for which its arrays in
     local memory have a place each; 0 where they do not tell.  A group that is
     larger may well write past their ends. */
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

/* One instruction: opcode, result and the words it is made of. */
typedef struct spirv_instruction {
  uint16_t opcode, word_count;
  uint32_t result, result_type;  /* 0 where it has none */
  const uint32_t *words;         /* word_count words, words[0] included */
} spirv_instruction;

typedef struct spirv_spec_constant {
  uint32_t spec_id, id;
  const char *name;          /* OpName, or NULL */
  spirv_type type;
  uint64_t value;            /* the default's bits, zero-extended */
} spirv_spec_constant;

/* A function or a program-scope CrossWorkgroup variable that has linkage or
   at least a name. */
typedef struct spirv_symbol {
  const char *name;
  uint32_t at;               /* its instruction */
  bool imported, exported;   /* else it is the module's own affair */
  bool is_builtin;           /* imported, but of every OpenCL's own */
} spirv_symbol;

/* Of a type: what its values take in memory; 0 where that is not known. */
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
  const uint8_t *id_uses;    /* a bit for each word: an id as an operand, but
                                for results and their types */
  const spirv_symbol *symbols;
  size_t symbol_count;
  const spirv_spec_constant *spec_constants;
  size_t spec_constant_count;
  bool has_imports;          /* of functions and variables, built-ins apart */
  bool has_exports;          /* a compiler may well export every kernel */
  bool has_globals;          /* program-scope CrossWorkgroup variables */
} spirv_module;

/*
 * Decode `size` bytes at `bytes`.  Returns NULL when they are not a decodable
 * SPIR-V module of the OpenCL kind, or memory ran out, and then writes why
 * into message (a NUL terminated string of at most `cap` bytes).  The bytes
 * are copied and need no alignment; both byte orders are read.
 */
spirv_module *spirv_parse(const void *bytes, size_t size, char *message,
                          size_t cap);

void spirv_free(spirv_module *module); /* NULL is allowed */

/* The kernel whose entry point has that name, or NULL. */
const spirv_kernel *spirv_find(const spirv_module *module, const char *name);

/* For each of the module's kernels the name of a function that it reaches by
   calls and that neither the module nor every OpenCL defines, or NULL.  False
   where memory has run out. */
bool spirv_undefined(const spirv_module *module, const char **names);

/* Whether the kernel, or what it calls, compares pointers or takes their
   values, and so may look if one is null; true where memory has run out. */
bool spirv_compares_pointers(const spirv_module *module,
                             const spirv_kernel *kernel);

/* Floating-point operations of one work-item, by what they compute with; those
   of a vector are one for each lane, fma and mad two. */
typedef struct spirv_flops {
  uint64_t of_half, of_float, of_double;
  bool whole;                /* each work-item does these; else at least */
} spirv_flops;

/* What the source has each work-item of a kernel do, whatever its arguments
   are; a compiler may leave some of it out.  Walks through the kernel: some
   milliseconds at most.  False where memory has run out. */
bool spirv_count_flops(const spirv_module *module, const spirv_kernel *kernel,
                       spirv_flops *flops);

/* The module without the functions, kernels among them, that reach such a
   function: words for the caller to free, `*size` bytes, or NULL where memory
   has run out. */
uint32_t *spirv_defined(const spirv_module *module, size_t *size);

/*
 * Why neither SPIRV-Tools' validator nor its optimiser is to be asked about a
 * module, or NULL: newer ones visit the members of a struct once for each way
 * to them, of which nested structs have more than can be waited for.  The words
 * are in the order of the machine; what is not a module is left to the tools.
 */
const char *spirv_too_nested(const uint32_t *words, size_t count);

/*
 * Validate by SPIRV-Tools: for OpenCL 2.2 up to SPIR-V 1.2, and what is newer,
 * which it knows no OpenCL for, by its version alone.  Returns true, or false
 * with the validator's first message.  Drivers take much that it refuses (one
 * in seven of the modules of Intel's conformance tests), so a refusal is a
 * reason to warn, not to give up.
 */
bool spirv_validate(const void *bytes, size_t size, char *message, size_t cap);

#endif
