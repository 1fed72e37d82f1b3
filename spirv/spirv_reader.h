/*
 * spirv_reader.h - the private interface of the SPIR-V reader's files.
 * SPDX-License-Identifier: MIT
 *
 * spirv_decode.c decodes a module and finds its functions. spirv_access.c
 * follows pointers. spirv_stride.c finds how addresses depend on the position
 * of a work-item. spirv_extent.c proves how far all work-items reach.
 * spirv_kernel.c sums up kernels. spirv_defined.c removes functions that reach
 * undefined ones. spirv_flops.c counts arithmetic. spirv_guard.c adds entry
 * points for any range.
 *
 * Modules are untrusted input. Therefore every step is linear in the size of
 * the module, nothing recurses, and tables are no larger than the module
 * warrants.
 */
#ifndef LZE_SPIRV_READER_H
#define LZE_SPIRV_READER_H

#include "spirv.h"

#include "spirv_tools.h"
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>

/* Newer than some packaged headers. */
enum {
  OP_CONTROL_BARRIER_ARRIVE = 6142,
  OP_CONTROL_BARRIER_WAIT = 6143,
  OP_ATOMIC_FADD = 6035,
  OP_TYPE_UNTYPED_POINTER = 4417,
  OP_UNTYPED_VARIABLE = 4418,
  OP_UNTYPED_ACCESS_CHAIN = 4419,
  OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN = 4420,
  OP_UNTYPED_PTR_ACCESS_CHAIN = 4423,
  OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN = 4424,
  OP_GROUP_ROTATE = 4431,
  OP_GROUP_IMUL = 6401,
  OP_GROUP_LOGICAL_XOR = 6408
};

/* The largest id bound in SPIR-V's universal limits. The table of ids has an
   entry for each id below the bound, so this limits it to 16 MiB. */
#define MAX_BOUND 0x3fffffu

/* Blocks of memory in a list, all released together. */
typedef struct spirv_block spirv_block;

/* Returns zeroed room for `count` items of `size` bytes, or NULL. */
void *spirv_pool_get(spirv_block **pool, size_t count, size_t size);
void spirv_pool_free(spirv_block **pool);

/* Facts about an id, stored for the instruction that defines it. */
enum {
  ID_BYVAL = 1 << 0,
  ID_READ_ONLY = 1 << 1,
  ID_UNTOUCHED = 1 << 2,
  ID_RESTRICT = 1 << 3,
  ID_VOLATILE = 1 << 4,
  ID_SIGN_EXTENDED = 1 << 5,
  ID_ZERO_EXTENDED = 1 << 6,
  ID_IMPORT = 1 << 7,
  ID_EXPORT = 1 << 8,
  ID_BUILTIN = 1 << 9,
  ID_SPEC = 1 << 10,
  ID_PACKED = 1 << 11,
  ID_DEBUG = 1 << 12 /* a set of instructions that are debug information */
};

typedef struct id_info {
  uint32_t owner;    /* 1 + index of the function it is in, or 0 */
  uint32_t name;     /* 1 + index of its OpName */
  uint32_t linkage;  /* 1 + index of its LinkageAttributes decoration */
  uint32_t builtin, spec_id;
  uint32_t seen;     /* the last round of a search that visited it */
  uint16_t flags;
  uint16_t align;    /* of a type, in bytes */
  size_t bytes;      /* of a type; 0 if it has no size or that is unknown */
} id_info;

/* A call's effects on one parameter, in addition to spirv_access. The same bits
   shifted by PARAM_FOUND: its effects on pointers in the parameter's memory. */
enum { PARAM_RETURNED = 4, PARAM_ESCAPES = 8, PARAM_FOUND = 4 };

/* The facts about a function that are not public. */
typedef struct function_info {
  uint32_t at;               /* its OpFunction */
  uint32_t end;              /* after its last instruction */
  uint32_t param_at;         /* its first OpFunctionParameter */
  const uint32_t *uses;      /* the other definitions it uses, by instruction */
  uint32_t use_count;
  uint32_t builtins, features; /* without callees */
  size_t private_bytes, waiting_bytes; /* without callees */
  uint32_t kernel;           /* 1 + index of its first kernel, or 0 */
  uint32_t local_size[3], local_hint[3], subgroup;
  /* As in spirv_kernel, but without callees. */
  uint32_t beside[3], apart[3], again[3], stores[3], spacing[3];
  uint32_t local_fit[3], local_items;
  spirv_extent *reach;        /* of a kernel's parameters, or NULL */
  uint8_t *summary;          /* a byte for each parameter */
  uint8_t unknown;           /* spirv_access through unknown pointers */
  bool returns_unknown, done, known;
} function_info;

typedef struct reader {
  struct module *m;
  spirv_block *scratch;
  char *message;
  size_t cap;
  uint32_t *def;        /* id -> 1 + the instruction that defines it */
  uint8_t *is_id;       /* a bit for each word: set if it uses an id */
  id_info *info;        /* one for each instruction */
  spirv_instruction *ins;
  size_t ins_count, ins_cap, at, id_words;
  spirv_function *functions;
  function_info *more;
  uint32_t function_count;
  uint32_t round;       /* number of the current search */
  size_t visits;        /* steps of all searches of call graphs */
  uint32_t std_set;     /* the id of OpenCL.std */
  bool failed;          /* out of memory inside a callback */
} reader;

typedef struct module {
  spirv_module pub;
  spirv_block *pool;
} module;

/* Writes a message without newlines at its end; some of SPIRV-Tools' messages
   have them. */
void spirv_say(char *message, size_t cap, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

static inline bool out_of_memory(reader *r)
{
  spirv_say(r->message, r->cap, "out of memory");
  return false;
}

static inline void *scratch(reader *r, size_t count, size_t size)
{
  return spirv_pool_get(&r->scratch, count, size);
}

static inline void *keep(reader *r, size_t count, size_t size)
{
  return spirv_pool_get(&r->m->pool, count, size);
}

/* Returns the index of the instruction that defines an id, or -1. */
static inline int64_t find_def(const reader *r, uint32_t id)
{
  return id < r->m->pub.bound ? (int64_t)r->def[id] - 1 : -1;
}

/* Returns the instruction that defines an id, or NULL. */
static inline const spirv_instruction *def_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 ? NULL : &r->ins[d];
}

/* Returns the facts about an id, or NULL. */
static inline id_info *info_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 ? NULL : &r->info[d];
}

/* Returns true if word k of an instruction uses an id. */
static inline bool is_use(const reader *r, const spirv_instruction *i,
                          unsigned k)
{
  size_t w = (size_t)(i->words - r->m->pub.words) + k;
  return r->is_id[w / 8] >> (w % 8) & 1;
}

/* Returns word k, or 0 past the end. */
static inline uint32_t word(const spirv_instruction *i, unsigned k)
{
  return k < i->word_count ? i->words[k] : 0;
}

/* Returns true for debug information: it mentions ids without using them. */
static inline bool is_debug(const reader *r, const spirv_instruction *i)
{
  const id_info *set =
    i->opcode == SpvOpExtInst ? info_of(r, word(i, 3)) : NULL;
  return set != NULL && (set->flags & ID_DEBUG) != 0;
}

/* Returns true for a variable of that storage class. */
static inline bool is_variable_in(const spirv_instruction *i,
                                  SpvStorageClass storage)
{
  return (i->opcode == SpvOpVariable || i->opcode == OP_UNTYPED_VARIABLE) &&
         word(i, 3) == (uint32_t)storage;
}

/* Returns true if an instruction ends its block or the function. */
static inline bool ends_block(uint16_t opcode)
{
  switch (opcode) {
  case SpvOpBranch:
  case SpvOpBranchConditional:
  case SpvOpSwitch:
  case SpvOpReturn:
  case SpvOpReturnValue:
  case SpvOpUnreachable:
  case SpvOpKill:
  case SpvOpFunctionEnd:
  case SpvOpLabel: /* in a malformed function */
    return true;
  default:
    return false;
  }
}

/* Sets the value of an integer constant, or the default of a spec constant.
   Returns false if the id is not an integer constant. */
static inline bool constant_of(const reader *r, uint32_t id, uint64_t *value)
{
  const spirv_instruction *i = def_of(r, id);
  if (i == NULL ||
      (i->opcode != SpvOpConstant && i->opcode != SpvOpSpecConstant))
    return false;
  const spirv_instruction *type = def_of(r, i->result_type);
  if (type == NULL || type->opcode != SpvOpTypeInt)
    return false;
  *value = word(i, 3) | (uint64_t)word(i, 4) << 32;
  return true;
}

/* Does the same as constant_of, with the sign. */
static inline bool signed_constant(const reader *r, uint32_t id,
                                   int64_t *value)
{
  uint64_t bits;
  if (!constant_of(r, id, &bits))
    return false;
  bool wide = info_of(r, def_of(r, id)->result_type)->bytes == 8;
  *value = wide ? (int64_t)bits : (int64_t)(int32_t)(uint32_t)bits;
  return true;
}

/* Returns the index of the function with that id, or -1. */
static inline int64_t function_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 || r->ins[d].opcode != SpvOpFunction ?
    -1 : (int64_t)r->info[d].owner - 1;
}

/* Lowers a limit to `other` if that is less; 0 means unlimited. */
static inline void spirv_fit(uint32_t *limit, uint32_t other)
{
  if (other != 0 && (*limit == 0 || other < *limit))
    *limit = other;
}

/* Returns the literal string that starts at word k, which belongs to the
   module; NULL when memory runs out. */
const char *spirv_text_at(reader *r, const spirv_instruction *i, unsigned k);

/* Sets *name to the OpName of the result of instruction `at`; NULL if absent.
   Returns false when memory runs out. */
bool spirv_name_of(reader *r, uint32_t at, const char **name);

/* Returns the features (SPIRV_USES_*) of an instruction. */
uint32_t spirv_features_of(const reader *r, const spirv_instruction *i);

/* Sums up everything that a kernel reaches: functions by calls, and variables,
   and constants made of variables, by references. `todo` has room for every
   instruction. */
void spirv_reach(reader *r, spirv_kernel *kernel, uint32_t *todo);

/* Fills in the effects of all functions through pointers: summary and
   unknown. */
bool spirv_follow_pointers(reader *r);

/* Fills in the features of loops. For each instruction, sets `octaves` to the
   estimated number of rounds of all loops around it, as a power of two; 0
   outside of loops. `octaves` has room for one more and holds zeros. */
void spirv_find_loops(reader *r, int32_t *octaves);

/* Fills in how functions step through memory: beside, apart, again, local_fit,
   local_items and features. */
bool spirv_find_strides(reader *r);

/* Fills in how far every work-item of a kernel provably reaches: reach. */
bool spirv_find_extents(reader *r);

/* Fills in the access of a kernel's arguments, which are otherwise complete. */
void spirv_take_access(const reader *r, uint32_t function, spirv_arg *args);

/* Fills in the kernels and the specialization constants. */
bool spirv_read_kernels(reader *r);
bool spirv_read_spec_constants(reader *r);

/* The steps of decoding, in this order. They return false with the error in
   `message`. */
bool spirv_decode(reader *r);
bool spirv_survey(reader *r);
bool spirv_study_functions(reader *r);
bool spirv_read_symbols(reader *r);

#endif
