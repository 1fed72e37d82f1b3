/*
 * spirv.c - one reader of SPIR-V for lze and for its driver.
 * SPDX-License-Identifier: MIT
 *
 * Every step is linear in the size of the module, nothing recurses, and no
 * table is larger than the module warrants, because the bytes may be anybody's.
 */
#include "spirv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The largest id bound SPIR-V promises to support (its universal limits); the
   table of ids is a direct one, so this bounds it to 16 MiB. */
#define MAX_BOUND 0x3fffffu

/* Far above any type OpenCL C can declare, and small enough that sums and
   products of two sizes never overflow a 64-bit size. */
#define MAX_BYTES ((size_t)1 << 31)

/* How often all searches of call graphs together may come by something: half
   a second of work. Only a module made for it, with thousands of kernels that
   all reach the same thousands of functions, needs more; the rest of its
   kernels then count as calling what is not known. */
#define MOST_VISITS ((size_t)1 << 26)

/* ------------------------------------------------------------------------
 * Memory: blocks in a list, all released together.
 */

typedef struct block {
  struct block *next;
  max_align_t data[];
} block;

/* Zeroed room for count items of size bytes, or NULL. */
static void *pool_get(block **pool, size_t count, size_t size)
{
  if (count == 0)
    count = 1;
  if (size > (SIZE_MAX - sizeof(block)) / count)
    return NULL;
  block *b = calloc(1, sizeof *b + count * size);
  if (b == NULL)
    return NULL;
  b->next = *pool;
  *pool = b;
  return b->data;
}

static void pool_free(block **pool)
{
  while (*pool != NULL) {
    block *next = (*pool)->next;
    free(*pool);
    *pool = next;
  }
}

/* ------------------------------------------------------------------------
 * What is known of an id, kept at the instruction that defines it.
 */

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
  ID_PACKED = 1 << 11
};

typedef struct id_info {
  uint32_t owner;    /* 1 + index of the function it is in, 0 outside */
  uint32_t name;     /* 1 + index of its OpName */
  uint32_t linkage;  /* 1 + index of its LinkageAttributes decoration */
  uint32_t builtin, spec_id;
  uint32_t seen;     /* the last round of a search that came by here */
  uint16_t flags;
  uint16_t align;    /* of a type, in bytes */
  size_t bytes;      /* of a type, 0 where it has none or it is not known */
} id_info;

/* What a call does with one parameter: spirv_access, and these; shifted, the
   same of the pointers that it finds where the parameter points. */
enum { PARAM_RETURNED = 4, PARAM_ESCAPES = 8, PARAM_FOUND = 4 };

/* What is known of a function beside the public part. */
typedef struct function_info {
  uint32_t at;               /* its OpFunction */
  uint32_t end;              /* after its last instruction */
  uint32_t param_at;         /* its first OpFunctionParameter */
  const uint32_t *uses;      /* what else it mentions, by instruction */
  uint32_t use_count;
  uint32_t builtins, features; /* of its own body */
  uint32_t kernel;           /* 1 + index of the first kernel it is */
  uint32_t local_size[3], local_hint[3], subgroup;
  uint8_t *summary;          /* a byte for each parameter */
  uint8_t unknown;           /* spirv_access through unknown pointers */
  bool returns_unknown, done, known;
} function_info;

typedef struct reader {
  struct module *m;
  block *scratch;
  char *message;
  size_t cap;
  uint32_t *def;        /* id -> 1 + the instruction that defines it */
  uint8_t *is_id;       /* a bit for each word: it is the use of an id */
  id_info *info;        /* one for each instruction */
  spirv_instruction *ins;
  size_t ins_count, ins_cap, at, id_words;
  spirv_function *functions;
  function_info *more;
  uint32_t function_count;
  uint32_t round;       /* of searches */
  size_t visits;        /* of call graphs */
  uint32_t std_set;     /* the id of OpenCL.std */
  bool failed;          /* out of memory inside a callback */
} reader;

typedef struct module {
  spirv_module pub;
  block *pool;
} module;

static void say(char *message, size_t cap, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

/* Write a message; SPIRV-Tools ends some of its own with new lines. */
static void say(char *message, size_t cap, const char *format, ...)
{
  if (cap == 0)
    return;
  va_list ap;
  va_start(ap, format);
  vsnprintf(message, cap, format, ap);
  va_end(ap);
  size_t length = strlen(message);
  while (length > 0 && message[length - 1] == '\n')
    message[--length] = '\0';
}

static bool out_of_memory(reader *r)
{
  say(r->message, r->cap, "out of memory");
  return false;
}

static void *scratch(reader *r, size_t count, size_t size)
{
  return pool_get(&r->scratch, count, size);
}

static void *keep(reader *r, size_t count, size_t size)
{
  return pool_get(&r->m->pool, count, size);
}

/* The index of the instruction that defines an id, or -1. */
static int64_t find_def(const reader *r, uint32_t id)
{
  return id < r->m->pub.bound ? (int64_t)r->def[id] - 1 : -1;
}

/* That instruction, or NULL. */
static const spirv_instruction *def_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 ? NULL : &r->ins[d];
}

/* What is known of it, or NULL. */
static id_info *info_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 ? NULL : &r->info[d];
}

/* Whether word k of an instruction is the use of an id. */
static bool is_use(const reader *r, const spirv_instruction *i, unsigned k)
{
  size_t w = (size_t)(i->words - r->m->pub.words) + k;
  return r->is_id[w / 8] >> (w % 8) & 1;
}

/* Word k, or 0 past the end. */
static uint32_t word(const spirv_instruction *i, unsigned k)
{
  return k < i->word_count ? i->words[k] : 0;
}

/* The literal string from word k on, NULL when memory runs out.  Its first
   byte is in the low bits of the first word whatever the machine. */
static const char *text_at(reader *r, const spirv_instruction *i, unsigned k)
{
  size_t n = i->word_count > k ? (i->word_count - k) * (size_t)4 : 0;
  char *s = keep(r, n + 1, 1);
  if (s == NULL)
    return NULL;
  for (size_t b = 0; b < n; b++) {
    s[b] = (char)(i->words[k + b / 4] >> (b % 4 * 8) & 0xff);
    if (s[b] == '\0')
      break;
  }
  return s;
}

/* The value of an integer constant; a spec constant's default. */
static bool constant_of(const reader *r, uint32_t id, uint64_t *value)
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

/* ------------------------------------------------------------------------
 * Decoding.
 */

static spv_result_t take_header(void *data, spv_endianness_t endian,
                                uint32_t magic, uint32_t version,
                                uint32_t generator, uint32_t bound,
                                uint32_t reserved)
{
  reader *r = data;
  (void)endian, (void)magic, (void)reserved;
  r->m->pub.version = version;
  r->m->pub.generator = generator;
  r->m->pub.bound = bound;
  if (bound > MAX_BOUND) {
    say(r->message, r->cap, "its id bound %lu is above the %lu of SPIR-V",
        (unsigned long)bound, (unsigned long)MAX_BOUND);
    return SPV_REQUESTED_TERMINATION;
  }
  r->def = scratch(r, bound, sizeof *r->def);
  if (r->def == NULL) {
    r->failed = true;
    return SPV_REQUESTED_TERMINATION;
  }
  return SPV_SUCCESS;
}

static spv_result_t take_instruction(void *data,
                                     const spv_parsed_instruction_t *p)
{
  reader *r = data;
  if (r->ins_count == r->ins_cap) {
    /* A module has at least a word for each instruction; doubling keeps the
       table within a small multiple of what is really there. */
    size_t cap = r->ins_cap ? r->ins_cap * 2 : 256;
    spirv_instruction *more = keep(r, cap, sizeof *more);
    if (more == NULL) {
      r->failed = true;
      return SPV_REQUESTED_TERMINATION;
    }
    if (r->ins_count != 0)
      memcpy(more, r->ins, r->ins_count * sizeof *more);
    r->ins = more;
    r->ins_cap = cap;
  }
  for (unsigned k = 0; k < p->num_operands; k++) {
    spv_operand_type_t type = p->operands[k].type;
    if (type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_SCOPE_ID ||
        type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID) {
      size_t w = r->at + p->operands[k].offset;
      r->is_id[w / 8] |= (uint8_t)(1u << (w % 8));
      r->id_words++;
    }
  }
  if (p->result_id != 0) {
    if (p->result_id >= r->m->pub.bound) {
      say(r->message, r->cap, "id %lu is not below the bound %lu",
          (unsigned long)p->result_id, (unsigned long)r->m->pub.bound);
      return SPV_REQUESTED_TERMINATION;
    }
    r->def[p->result_id] = (uint32_t)r->ins_count + 1;
  }
  r->ins[r->ins_count++] = (spirv_instruction){
    .opcode = p->opcode, .word_count = p->num_words,
    .result = p->result_id, .result_type = p->type_id,
    .words = r->m->pub.words + r->at
  };
  r->at += p->num_words;
  return SPV_SUCCESS;
}

/* The words of a module in this machine's byte order, from the pool. */
static const uint32_t *copy_words(block **pool, const void *bytes, size_t size,
                                  char *message, size_t cap)
{
  if (bytes == NULL || size < 20) {
    say(message, cap, "%lu bytes are too few for a SPIR-V module",
        (unsigned long)size);
    return NULL;
  }
  if (size % 4 != 0) {
    say(message, cap, "%lu bytes are not whole 32-bit words",
        (unsigned long)size);
    return NULL;
  }
  if (size / 4 > UINT32_MAX / 8) {
    say(message, cap, "%lu bytes are too many for a SPIR-V module",
        (unsigned long)size);
    return NULL;
  }
  uint32_t *words = pool_get(pool, size / 4, 4);
  if (words == NULL) {
    say(message, cap, "out of memory");
    return NULL;
  }
  memcpy(words, bytes, size);
  if (words[0] == 0x03022307u)
    for (size_t k = 0; k < size / 4; k++)
      words[k] = words[k] >> 24 | (words[k] >> 8 & 0xff00) |
                 (words[k] << 8 & 0xff0000) | words[k] << 24;
  if (words[0] != SpvMagicNumber) {
    say(message, cap, "not SPIR-V: it does not start with the magic number");
    return NULL;
  }
  return words;
}

static bool decode(reader *r)
{
  spirv_module *pub = &r->m->pub;
  r->at = 5;
  r->is_id = scratch(r, pub->word_count / 8 + 1, 1);
  if (r->is_id == NULL)
    return out_of_memory(r);
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  if (context == NULL)
    return out_of_memory(r);
  spv_diagnostic diagnostic = NULL;
  spv_result_t result = spvBinaryParse(context, r, pub->words,
                                       pub->word_count, take_header,
                                       take_instruction, &diagnostic);
  if (r->failed)
    out_of_memory(r);
  else if (diagnostic != NULL)
    say(r->message, r->cap, "%s", diagnostic->error);
  else if (result != SPV_SUCCESS && result != SPV_REQUESTED_TERMINATION)
    say(r->message, r->cap, "not decodable (code %d)", (int)result);
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  pub->instructions = r->ins;
  pub->instruction_count = r->ins_count;
  return result == SPV_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Names, decorations and functions: one pass over the module.
 */

static void take_decoration(reader *r, uint32_t at)
{
  const spirv_instruction *i = &r->ins[at];
  id_info *info = info_of(r, word(i, 1));
  if (info == NULL)
    return;
  switch (word(i, 2)) {
  case SpvDecorationBuiltIn:
    info->flags |= ID_BUILTIN;
    info->builtin = word(i, 3);
    break;
  case SpvDecorationSpecId:
    info->flags |= ID_SPEC;
    info->spec_id = word(i, 3);
    break;
  case SpvDecorationLinkageAttributes: {
    uint32_t type = i->words[i->word_count - 1];
    info->flags |= type == SpvLinkageTypeImport ? ID_IMPORT : ID_EXPORT;
    info->linkage = at + 1;
    break;
  }
  case SpvDecorationCPacked:
    info->flags |= ID_PACKED;
    break;
  case SpvDecorationNonWritable:
    info->flags |= ID_READ_ONLY;
    break;
  case SpvDecorationRestrict:
    info->flags |= ID_RESTRICT;
    break;
  case SpvDecorationVolatile:
    info->flags |= ID_VOLATILE;
    break;
  case SpvDecorationFuncParamAttr:
    switch (word(i, 3)) {
    case SpvFunctionParameterAttributeByVal:
      info->flags |= ID_BYVAL;
      break;
    case SpvFunctionParameterAttributeNoAlias:
      info->flags |= ID_RESTRICT;
      break;
    case SpvFunctionParameterAttributeNoWrite:
      info->flags |= ID_READ_ONLY;
      break;
    case SpvFunctionParameterAttributeNoReadWrite:
      info->flags |= ID_UNTOUCHED;
      break;
    case SpvFunctionParameterAttributeSext:
      info->flags |= ID_SIGN_EXTENDED;
      break;
    case SpvFunctionParameterAttributeZext:
      info->flags |= ID_ZERO_EXTENDED;
      break;
    }
    break;
  }
}

static void take_group_decoration(reader *r, const spirv_instruction *i)
{
  const id_info *group = info_of(r, word(i, 1));
  if (group == NULL)
    return;
  for (unsigned k = 2; k < i->word_count; k++) {
    id_info *info = info_of(r, i->words[k]);
    if (info == NULL)
      continue;
    info->flags |= group->flags;
    if (group->flags & ID_BUILTIN)
      info->builtin = group->builtin;
    if (group->flags & ID_SPEC)
      info->spec_id = group->spec_id;
    if (group->linkage != 0)
      info->linkage = group->linkage;
  }
}

/* The size of a type whose parts are defined before it, as they must be. */
static void measure_type(reader *r, uint32_t at)
{
  const spirv_instruction *i = &r->ins[at];
  id_info *info = &r->info[at];
  size_t bytes = 0, align = 1;
  switch (i->opcode) {
  case SpvOpTypeBool:
    bytes = 1;
    break;
  case SpvOpTypeInt:
  case SpvOpTypeFloat:
    if (word(i, 2) >= 1 && word(i, 2) <= 4096)
      for (bytes = 1; bytes * 8 < word(i, 2);)
        bytes *= 2;
    align = bytes;
    break;
  case SpvOpTypePointer:
  case OP_TYPE_UNTYPED_POINTER:
    bytes = align = r->m->pub.address_bits / 8;
    break;
  case SpvOpTypeVector: {
    const id_info *part = info_of(r, word(i, 2));
    size_t lanes = word(i, 3) == 3 ? 4 : word(i, 3);
    if (part != NULL && part < info && lanes <= 16)
      bytes = align = part->bytes * lanes;
    break;
  }
  case SpvOpTypeArray: {
    const id_info *part = info_of(r, word(i, 2));
    uint64_t count;
    if (part != NULL && part < info && constant_of(r, word(i, 3), &count) &&
        count <= MAX_BYTES) {
      bytes = part->bytes * (size_t)count;
      align = part->align;
    }
    break;
  }
  case SpvOpTypeStruct:
    for (unsigned k = 2; k < i->word_count; k++) {
      const id_info *part = info_of(r, i->words[k]);
      if (part == NULL || part >= info || part->bytes == 0) {
        bytes = 0;
        break;
      }
      if (!(info->flags & ID_PACKED)) {
        bytes = (bytes + part->align - 1) / part->align * part->align;
        if (part->align > align)
          align = part->align;
      }
      bytes += part->bytes;
      if (bytes > MAX_BYTES)
        break;
    }
    bytes = (bytes + align - 1) / align * align;
    break;
  default:
    return;
  }
  if (bytes > MAX_BYTES || align > UINT16_MAX)
    bytes = 0;
  info->bytes = bytes;
  info->align = bytes == 0 || align == 0 ? 1 : (uint16_t)align;
}

/* Everything that stands in the module's head, and where its functions are. */
static bool survey(reader *r)
{
  spirv_module *pub = &r->m->pub;
  size_t capabilities = 0, functions = 0, params = 0;
  const char *model = "missing"; /* or what is wrong with it */
  for (size_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    switch (i->opcode) {
    case SpvOpCapability: capabilities++; break;
    case SpvOpFunction: functions++; break;
    case SpvOpFunctionParameter: params++; break;
    case SpvOpMemoryModel:
      pub->address_bits = word(i, 1) == SpvAddressingModelPhysical64 ? 64 :
                          word(i, 1) == SpvAddressingModelPhysical32 ? 32 : 0;
      model = word(i, 2) == SpvMemoryModelOpenCL ? NULL : "another";
      break;
    }
  }
  if (model != NULL) {
    say(r->message, r->cap, "not a module for OpenCL: its memory model is %s",
        model);
    return false;
  }

  uint32_t *capability = keep(r, capabilities, sizeof *capability);
  uint32_t *param = keep(r, params, sizeof *param);
  r->functions = keep(r, functions, sizeof *r->functions);
  r->more = scratch(r, functions, sizeof *r->more);
  r->info = scratch(r, r->ins_count, sizeof *r->info);
  if (capability == NULL || param == NULL || r->functions == NULL ||
      r->more == NULL || r->info == NULL)
    return out_of_memory(r);
  pub->capabilities = capability;
  pub->functions = r->functions;

  spirv_function *f = NULL; /* the one we are in */
  function_info *more = NULL;
  for (uint32_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    id_info *info;
    switch (i->opcode) {
    case SpvOpCapability:
      capability[pub->capability_count++] = word(i, 1);
      break;
    case SpvOpExtInstImport: {
      const char *name = text_at(r, i, 2);
      if (name == NULL)
        return out_of_memory(r);
      if (strcmp(name, "OpenCL.std") == 0)
        r->std_set = i->result;
      break;
    }
    case SpvOpName:
      info = info_of(r, word(i, 1));
      if (info != NULL)
        info->name = k + 1;
      break;
    case SpvOpDecorate:
      take_decoration(r, k);
      break;
    case SpvOpGroupDecorate:
      take_group_decoration(r, i);
      break;
    case SpvOpVariable:
    case OP_UNTYPED_VARIABLE:
      if (f == NULL && word(i, 3) == SpvStorageClassCrossWorkgroup)
        pub->has_globals = true;
      break;
    case SpvOpFunction:
      f = &r->functions[pub->function_count];
      more = &r->more[pub->function_count++];
      f->id = i->result;
      f->first = more->at = k;
      f->params = param;
      break;
    case SpvOpFunctionParameter:
      /* Parameters stand together at the head; strays are not arguments. */
      if (f != NULL && k == f->first + 1 + f->param_count) {
        if (f->param_count++ == 0)
          more->param_at = k;
        *param++ = i->result;
      }
      break;
    }
    measure_type(r, k);
    if (f != NULL) {
      r->info[k].owner = (uint32_t)pub->function_count;
      f->count = k + 1 - f->first;
      more->end = k + 1;
    }
    if (i->opcode == SpvOpFunctionEnd)
      f = NULL;
  }
  r->function_count = (uint32_t)pub->function_count;
  return true;
}

/* The function an id names, or -1. */
static int64_t function_of(const reader *r, uint32_t id)
{
  int64_t d = find_def(r, id);
  return d < 0 || r->ins[d].opcode != SpvOpFunction ?
    -1 : (int64_t)r->info[d].owner - 1;
}

/* The OpName of what instruction `at` defines; *name is NULL without one. */
static bool name_of(reader *r, uint32_t at, const char **name)
{
  uint32_t k = r->info[at].name;
  *name = k == 0 ? NULL : text_at(r, &r->ins[k - 1], 2);
  return k == 0 || *name != NULL || out_of_memory(r);
}

/* ------------------------------------------------------------------------
 * Built-ins and features.
 */

static uint32_t builtin_bit(uint32_t builtin)
{
  switch (builtin) {
  case SpvBuiltInGlobalInvocationId: return SPIRV_BUILTIN_GLOBAL_ID;
  case SpvBuiltInGlobalSize: return SPIRV_BUILTIN_GLOBAL_SIZE;
  case SpvBuiltInGlobalOffset: return SPIRV_BUILTIN_GLOBAL_OFFSET;
  case SpvBuiltInGlobalLinearId: return SPIRV_BUILTIN_GLOBAL_LINEAR_ID;
  case SpvBuiltInLocalInvocationId: return SPIRV_BUILTIN_LOCAL_ID;
  case SpvBuiltInLocalInvocationIndex: return SPIRV_BUILTIN_LOCAL_LINEAR_ID;
  case SpvBuiltInWorkgroupId: return SPIRV_BUILTIN_GROUP_ID;
  case SpvBuiltInWorkgroupSize: return SPIRV_BUILTIN_GROUP_SIZE;
  case SpvBuiltInEnqueuedWorkgroupSize:
    return SPIRV_BUILTIN_ENQUEUED_GROUP_SIZE;
  case SpvBuiltInNumWorkgroups: return SPIRV_BUILTIN_NUM_GROUPS;
  case SpvBuiltInWorkDim: return SPIRV_BUILTIN_WORK_DIM;
  case SpvBuiltInSubgroupSize:
  case SpvBuiltInSubgroupMaxSize:
  case SpvBuiltInNumSubgroups:
  case SpvBuiltInNumEnqueuedSubgroups:
  case SpvBuiltInSubgroupId:
  case SpvBuiltInSubgroupLocalInvocationId:
  case SpvBuiltInSubgroupEqMask:
  case SpvBuiltInSubgroupGeMask:
  case SpvBuiltInSubgroupGtMask:
  case SpvBuiltInSubgroupLeMask:
  case SpvBuiltInSubgroupLtMask:
    return SPIRV_BUILTIN_SUBGROUP;
  default: return SPIRV_BUILTIN_OTHER;
  }
}

/* What an imported function of that name reads or does. */
typedef struct known_import {
  const char *name;
  uint32_t builtins, features;
} known_import;

static const known_import known_imports[] = {
  {"get_global_id", SPIRV_BUILTIN_GLOBAL_ID, 0},
  {"get_global_size", SPIRV_BUILTIN_GLOBAL_SIZE, 0},
  {"get_global_offset", SPIRV_BUILTIN_GLOBAL_OFFSET, 0},
  {"get_global_linear_id", SPIRV_BUILTIN_GLOBAL_LINEAR_ID, 0},
  {"get_local_id", SPIRV_BUILTIN_LOCAL_ID, 0},
  {"get_local_linear_id", SPIRV_BUILTIN_LOCAL_LINEAR_ID, 0},
  {"get_local_size", SPIRV_BUILTIN_GROUP_SIZE, 0},
  {"get_enqueued_local_size", SPIRV_BUILTIN_ENQUEUED_GROUP_SIZE, 0},
  {"get_group_id", SPIRV_BUILTIN_GROUP_ID, 0},
  {"get_num_groups", SPIRV_BUILTIN_NUM_GROUPS, 0},
  {"get_work_dim", SPIRV_BUILTIN_WORK_DIM, 0},
  {"get_sub_group_size", SPIRV_BUILTIN_SUBGROUP, 0},
  {"get_max_sub_group_size", SPIRV_BUILTIN_SUBGROUP, 0},
  {"get_num_sub_groups", SPIRV_BUILTIN_SUBGROUP, 0},
  {"get_enqueued_num_sub_groups", SPIRV_BUILTIN_SUBGROUP, 0},
  {"get_sub_group_id", SPIRV_BUILTIN_SUBGROUP, 0},
  {"get_sub_group_local_id", SPIRV_BUILTIN_SUBGROUP, 0},
  {"barrier", 0, SPIRV_USES_BARRIER},
  {"work_group_barrier", 0, SPIRV_USES_BARRIER},
  {"sub_group_barrier", 0, SPIRV_USES_SUBGROUP_OPS},
  {"mem_fence", 0, 0},
  {"read_mem_fence", 0, 0},
  {"write_mem_fence", 0, 0},
  {"__spirv_BuiltInGlobalInvocationId", SPIRV_BUILTIN_GLOBAL_ID, 0},
  {"__spirv_BuiltInGlobalSize", SPIRV_BUILTIN_GLOBAL_SIZE, 0},
  {"__spirv_BuiltInGlobalOffset", SPIRV_BUILTIN_GLOBAL_OFFSET, 0},
  {"__spirv_BuiltInGlobalLinearId", SPIRV_BUILTIN_GLOBAL_LINEAR_ID, 0},
  {"__spirv_BuiltInLocalInvocationId", SPIRV_BUILTIN_LOCAL_ID, 0},
  {"__spirv_BuiltInLocalInvocationIndex", SPIRV_BUILTIN_LOCAL_LINEAR_ID, 0},
  {"__spirv_BuiltInWorkgroupId", SPIRV_BUILTIN_GROUP_ID, 0},
  {"__spirv_BuiltInWorkgroupSize", SPIRV_BUILTIN_GROUP_SIZE, 0},
  {"__spirv_BuiltInEnqueuedWorkgroupSize",
   SPIRV_BUILTIN_ENQUEUED_GROUP_SIZE, 0},
  {"__spirv_BuiltInNumWorkgroups", SPIRV_BUILTIN_NUM_GROUPS, 0},
  {"__spirv_BuiltInWorkDim", SPIRV_BUILTIN_WORK_DIM, 0},
  {"__spirv_BuiltInSubgroupSize", SPIRV_BUILTIN_SUBGROUP, 0},
  {"__spirv_BuiltInSubgroupMaxSize", SPIRV_BUILTIN_SUBGROUP, 0},
  {"__spirv_BuiltInNumSubgroups", SPIRV_BUILTIN_SUBGROUP, 0},
  {"__spirv_BuiltInNumEnqueuedSubgroups", SPIRV_BUILTIN_SUBGROUP, 0},
  {"__spirv_BuiltInSubgroupId", SPIRV_BUILTIN_SUBGROUP, 0},
  {"__spirv_BuiltInSubgroupLocalInvocationId", SPIRV_BUILTIN_SUBGROUP, 0}
};

/* The entry of an imported function's name, plain or with C++ mangling
   (_Z13get_global_idj), or NULL. */
static const known_import *import_of(const char *name)
{
  if (name == NULL)
    return NULL;
  size_t length = strlen(name);
  if (strncmp(name, "_Z", 2) == 0) {
    size_t said = 0, k = 2;
    while (name[k] >= '0' && name[k] <= '9' && said < length)
      said = said * 10 + (size_t)(name[k++] - '0');
    if (said == 0 || said > length - k)
      return NULL;
    name += k;
    length = said;
  }
  for (size_t k = 0; k < sizeof known_imports / sizeof *known_imports; k++)
    if (strlen(known_imports[k].name) == length &&
        memcmp(known_imports[k].name, name, length) == 0)
      return &known_imports[k];
  return NULL;
}

/* The features of an operation of the scope in word k. */
static uint32_t scoped(const reader *r, const spirv_instruction *i, unsigned k,
                       uint32_t group)
{
  uint64_t scope;
  if (constant_of(r, word(i, k), &scope) && scope == SpvScopeSubgroup)
    return SPIRV_USES_SUBGROUP_OPS;
  return group;
}

static uint32_t features_of(const reader *r, const spirv_instruction *i)
{
  unsigned op = i->opcode;
  if ((op >= SpvOpAtomicLoad && op <= SpvOpAtomicXor) ||
      op == SpvOpAtomicFlagTestAndSet || op == SpvOpAtomicFlagClear ||
      op == SpvOpAtomicFMinEXT || op == SpvOpAtomicFMaxEXT ||
      op == OP_ATOMIC_FADD)
    return SPIRV_USES_ATOMICS;
  if ((op >= SpvOpGroupAsyncCopy && op <= SpvOpGroupSMax) ||
      (op >= SpvOpGroupReserveReadPipePackets &&
       op <= SpvOpGroupCommitWritePipe))
    return scoped(r, i, op == SpvOpGroupWaitEvents ||
                        op == SpvOpGroupCommitReadPipe ||
                        op == SpvOpGroupCommitWritePipe ? 1 : 3,
                  SPIRV_USES_GROUP_OPS);
  if (op >= OP_GROUP_IMUL && op <= OP_GROUP_LOGICAL_XOR)
    return scoped(r, i, 3, SPIRV_USES_GROUP_OPS);
  if ((op >= SpvOpGroupNonUniformElect && op <= SpvOpGroupNonUniformQuadSwap) ||
      (op >= SpvOpSubgroupBallotKHR && op <= SpvOpSubgroupFirstInvocationKHR) ||
      (op >= SpvOpSubgroupAllKHR && op <= SpvOpSubgroupReadInvocationKHR) ||
      (op >= SpvOpSubgroupShuffleINTEL &&
       op <= SpvOpSubgroupImageMediaBlockWriteINTEL))
    return SPIRV_USES_SUBGROUP_OPS;
  switch (op) {
  case SpvOpControlBarrier:
  case OP_CONTROL_BARRIER_ARRIVE:
  case OP_CONTROL_BARRIER_WAIT:
    return scoped(r, i, 1, SPIRV_USES_BARRIER);
  case SpvOpNamedBarrierInitialize:
  case SpvOpMemoryNamedBarrier:
    return SPIRV_USES_BARRIER | SPIRV_USES_SUBGROUP_OPS;
  case SpvOpExtInst:
    return r->std_set != 0 && word(i, 3) == r->std_set &&
           word(i, 4) == OpenCLstd_Printf ? SPIRV_USES_PRINTF : 0;
  case SpvOpFunctionPointerCallINTEL:
  case SpvOpEnqueueKernel:
  case SpvOpEnqueueMarker:
    return SPIRV_USES_UNKNOWN_CALL;
  default:
    return 0;
  }
}

/* What each function calls, mentions and does itself. */
static bool study_functions(reader *r)
{
  uint32_t *uses = scratch(r, r->id_words, sizeof *uses);
  uint32_t *callees = keep(r, r->id_words, sizeof *callees);
  if (uses == NULL || callees == NULL)
    return out_of_memory(r);
  for (uint32_t n = 0; n < r->function_count; n++) {
    spirv_function *f = &r->functions[n];
    function_info *more = &r->more[n];
    id_info *info = &r->info[more->at];
    bool body = false;
    f->callees = callees;
    more->uses = uses;
    more->summary = scratch(r, f->param_count, 1);
    if (more->summary == NULL)
      return out_of_memory(r);
    r->round++;
    for (uint32_t k = more->at; k < more->end; k++) {
      const spirv_instruction *i = &r->ins[k];
      body = body || i->opcode == SpvOpLabel;
      more->features |= features_of(r, i);
      for (unsigned w = 1; w < i->word_count; w++) {
        if (!is_use(r, i, w))
          continue;
        int64_t d = find_def(r, i->words[w]);
        if (d < 0)
          continue;
        bool callee = i->opcode == SpvOpFunctionCall && w == 3;
        bool function = r->ins[d].opcode == SpvOpFunction;
        if (callee != function)
          more->features |= SPIRV_USES_UNKNOWN_CALL;
        if (r->info[d].seen == r->round || (r->info[d].owner != 0 && !function))
          continue;
        r->info[d].seen = r->round;
        *uses++ = (uint32_t)d;
        more->use_count++;
        if (callee && function) {
          *callees++ = r->info[d].owner - 1;
          f->callee_count++;
        }
      }
      if (i->opcode == SpvOpFunctionCall && def_of(r, word(i, 3)) == NULL)
        more->features |= SPIRV_USES_UNKNOWN_CALL;
    }
    if (info->linkage != 0) {
      f->name = text_at(r, &r->ins[info->linkage - 1], 3);
      if (f->name == NULL)
        return out_of_memory(r);
    } else if (!name_of(r, more->at, &f->name)) {
      return false;
    }
    if (info->flags & ID_EXPORT)
      r->m->pub.has_exports = true;
    if (!body) {
      const known_import *known = import_of(f->name);
      f->imported = true;
      more->known = known != NULL;
      if (known != NULL) {
        more->builtins = known->builtins;
        more->features |= known->features;
      } else {
        more->features |= SPIRV_USES_UNKNOWN_CALL;
        r->m->pub.has_imports = true;
      }
    }
  }
  for (uint32_t k = 0; k < r->ins_count; k++)
    if (r->ins[k].opcode == SpvOpVariable && r->info[k].owner == 0) {
      if (r->info[k].flags & ID_EXPORT)
        r->m->pub.has_exports = true;
      if ((r->info[k].flags & (ID_IMPORT | ID_BUILTIN)) == ID_IMPORT)
        r->m->pub.has_imports = true;
    }
  return true;
}

static bool is_local(const spirv_instruction *i)
{
  return (i->opcode == SpvOpVariable || i->opcode == OP_UNTYPED_VARIABLE) &&
         word(i, 3) == SpvStorageClassWorkgroup;
}

/* The size of a variable of local memory.  At most MAX_BYTES, of which no
   module has enough to overflow a 64-bit sum. */
static size_t local_size(const reader *r, const spirv_instruction *i)
{
  const spirv_instruction *type = def_of(r, i->result_type);
  if (type == NULL)
    return 0;
  const id_info *pointee = info_of(r, type->opcode == SpvOpTypePointer ?
                                        word(type, 3) : word(i, 4));
  return pointee == NULL ? 0 : pointee->bytes;
}

/* Whether what a kernel reaches mentions instruction d for the first time. */
static bool reach_mark(reader *r, int64_t d)
{
  if (d < 0 || r->info[d].seen == r->round)
    return false;
  r->info[d].seen = r->round;
  return true;
}

/*
 * Sum up what a kernel reaches: functions by calls, and by what they mention
 * variables and the constants made of those.  `todo` has room for every
 * instruction.
 */
static void reach(reader *r, spirv_kernel *kernel, uint32_t *todo)
{
  size_t count = 0;
  todo[count++] = r->functions[kernel->function].first;
  r->info[todo[0]].seen = ++r->round;
  while (count > 0) {
    uint32_t at = todo[--count];
    const spirv_instruction *i = &r->ins[at];
    const id_info *info = &r->info[at];
    if (r->visits > MOST_VISITS) {
      kernel->features |= SPIRV_USES_UNKNOWN_CALL;
      return;
    }
    if (i->opcode == SpvOpFunction) {
      const function_info *more = &r->more[info->owner - 1];
      kernel->builtins |= more->builtins;
      kernel->features |= more->features;
      r->visits += 1 + more->use_count;
      for (uint32_t k = 0; k < more->use_count; k++)
        if (reach_mark(r, more->uses[k]))
          todo[count++] = more->uses[k];
      continue;
    }
    if (info->flags & ID_BUILTIN)
      kernel->builtins |= builtin_bit(info->builtin);
    if (is_local(i)) {
      kernel->features |= SPIRV_USES_LOCAL;
      kernel->local_bytes += local_size(r, i);
    }
    r->visits += i->word_count;
    if (i->result_type == 0)
      continue;
    for (unsigned w = 3; w < i->word_count; w++) {
      int64_t d = is_use(r, i, w) ? find_def(r, i->words[w]) : -1;
      if (d >= 0 && r->ins[d].opcode == SpvOpFunction)
        kernel->features |= SPIRV_USES_UNKNOWN_CALL;
      else if (d >= 0 && r->info[d].owner == 0 && reach_mark(r, d))
        todo[count++] = (uint32_t)d;
    }
  }
}

/* ------------------------------------------------------------------------
 * What is done through pointers.
 *
 * One function at a time, callees first.  Values that may be the same pointer
 * form a class (union-find); each class has at most one class of what is
 * stored where it points.  So a parameter kept in a Function variable and
 * loaded again is in the parameter's class, however often.  Order does not
 * matter and everything is linear.  What cannot be followed is `unknown`: an
 * access through it counts for every argument of the kernel.
 */

enum {
  NODE_ROOTED = 4,   /* it is known where some of its pointers come from */
  NODE_OUTSIDE = 8,  /* memory that others can see too */
  NODE_UNKNOWN = 16, /* it may point anywhere */
  NODE_ESCAPED = 32, /* it was stored where others can see it */
  NODE_GIVEN = 64,   /* handed to what may do anything with it */
  NODE_PARAMETER = 128, /* memory that callers can see too */
  NODE_LOST = NODE_ROOTED | NODE_OUTSIDE | NODE_UNKNOWN | NODE_ESCAPED,
  NODE_ACCESS = SPIRV_ACCESS_BOTH
};

typedef struct node {
  uint32_t parent, content; /* 0: itself, nothing yet */
  uint8_t flags;
} node;

/* Two nodes stand for things without an instruction. */
enum { NODE_NONE, NODE_MODULE, NODE_RETURN, NODE_FIRST };

typedef struct flow {
  reader *r;
  node *nodes;
  uint32_t used;
  uint32_t function, at; /* whose values the nodes are */
} flow;

static uint32_t flow_find(flow *w, uint32_t n)
{
  while (w->nodes[n].parent != 0) {
    uint32_t up = w->nodes[n].parent;
    if (w->nodes[up].parent != 0)
      w->nodes[n].parent = w->nodes[up].parent;
    n = up;
  }
  return n;
}

static void flow_mark(flow *w, uint32_t n, unsigned flags)
{
  if (n != NODE_NONE)
    w->nodes[flow_find(w, n)].flags |= (uint8_t)flags;
}

/* What is stored where n points.  Every call is on behalf of another word of
   an instruction, which is what the table of nodes has room for. */
static uint32_t flow_content(flow *w, uint32_t n)
{
  if (n == NODE_NONE)
    return NODE_NONE;
  n = flow_find(w, n);
  if (w->nodes[n].content == 0)
    w->nodes[n].content = w->used++;
  return w->nodes[n].content;
}

static void flow_unify(flow *w, uint32_t a, uint32_t b)
{
  while (a != NODE_NONE && b != NODE_NONE) {
    a = flow_find(w, a);
    b = flow_find(w, b);
    if (a == b)
      return;
    node *into = &w->nodes[a], *gone = &w->nodes[b];
    uint32_t next_a = into->content, next_b = gone->content;
    into->flags |= gone->flags;
    gone->parent = a;
    if (next_a == 0)
      into->content = next_b;
    a = next_a;
    b = next_b;
  }
}

/* Whether values of a type may carry a pointer. */
static bool carries_pointer(const reader *r, uint32_t type_id)
{
  const spirv_instruction *type = def_of(r, type_id);
  if (type == NULL)
    return false;
  switch (type->opcode) {
  case SpvOpTypePointer:
  case OP_TYPE_UNTYPED_POINTER:
  case SpvOpTypeStruct:
  case SpvOpTypeArray:
    return true;
  case SpvOpTypeVector: {
    const spirv_instruction *part = def_of(r, word(type, 2));
    if (part == NULL || part->opcode == SpvOpTypeFloat ||
        part->opcode == SpvOpTypeBool)
      return false;
    break;
  }
  case SpvOpTypeInt:
    break;
  default:
    return false;
  }
  return info_of(r, type_id)->bytes * 8 >= r->m->pub.address_bits;
}

static bool is_pointer(const reader *r, uint32_t id)
{
  const spirv_instruction *i = def_of(r, id);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  return type != NULL && (type->opcode == SpvOpTypePointer ||
                          type->opcode == OP_TYPE_UNTYPED_POINTER);
}

/* The node of a value, NODE_NONE for what carries no pointer. */
static uint32_t flow_node(flow *w, uint32_t id)
{
  const reader *r = w->r;
  int64_t d = find_def(r, id);
  if (d < 0 || !carries_pointer(r, r->ins[d].result_type))
    return NODE_NONE;
  if (r->info[d].owner == w->function + 1)
    return NODE_FIRST + (uint32_t)d - w->at;
  switch (r->ins[d].opcode) {
  case SpvOpConstant:
  case SpvOpConstantNull:
  case SpvOpSpecConstant:
  case SpvOpUndef:
    return NODE_NONE;
  default:
    return NODE_MODULE;
  }
}

static void flow_unify_ids(flow *w, uint32_t a, uint32_t b)
{
  flow_unify(w, flow_node(w, a), flow_node(w, b));
}

/* An access through a pointer that moves a value to or from `value`. */
static void flow_access(flow *w, uint32_t pointer, uint32_t value,
                        unsigned access)
{
  const reader *r = w->r;
  const spirv_instruction *i = def_of(r, pointer);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  uint32_t n = flow_node(w, pointer), v = flow_node(w, value);
  flow_mark(w, n, access);
  /* Built-in variables hold no pointers. */
  if (v != NODE_NONE &&
      (type == NULL || word(type, 2) != SpvStorageClassInput))
    flow_unify(w, flow_content(w, n), v);
}

/* An instruction that may do anything with its operands. */
static void flow_give_up(flow *w, const spirv_instruction *i)
{
  for (unsigned k = 1; k < i->word_count; k++)
    if (is_use(w->r, i, k) && is_pointer(w->r, i->words[k]))
      flow_mark(w, flow_node(w, i->words[k]), NODE_GIVEN | NODE_ESCAPED);
  flow_mark(w, flow_node(w, i->result), NODE_LOST);
}

/* What a call does with one pointer. */
static void flow_called(flow *w, const spirv_instruction *i, uint32_t pointer,
                        unsigned does)
{
  flow_mark(w, pointer, does & NODE_ACCESS);
  if (does & PARAM_ESCAPES)
    flow_mark(w, pointer, NODE_GIVEN | NODE_ESCAPED);
  if (does & PARAM_RETURNED)
    flow_unify(w, flow_node(w, i->result), pointer);
}

static void flow_call(flow *w, const spirv_instruction *i)
{
  reader *r = w->r;
  function_info *caller = &r->more[w->function];
  int64_t n = function_of(r, word(i, 3));
  const function_info *callee = n < 0 ? NULL : &r->more[n];
  if (callee != NULL && callee->known)
    return;
  if (callee == NULL || !callee->done || r->functions[n].imported) {
    caller->unknown = SPIRV_ACCESS_BOTH;
    flow_give_up(w, i);
    return;
  }
  caller->unknown |= callee->unknown;
  for (unsigned k = 0; k < r->functions[n].param_count; k++) {
    uint32_t argument = flow_node(w, word(i, 4 + k));
    unsigned does = callee->summary[k], found = does >> PARAM_FOUND;
    flow_called(w, i, argument, does);
    if (found != 0)
      flow_called(w, i, flow_content(w, argument), found);
    if (does & (SPIRV_ACCESS_WRITE | PARAM_ESCAPES)) /* perhaps a pointer
                                                        nobody knows */
      flow_mark(w, flow_content(w, argument), NODE_LOST);
  }
  flow_mark(w, flow_node(w, i->result),
            NODE_OUTSIDE | NODE_ROOTED |
            (callee->returns_unknown ? NODE_UNKNOWN : 0));
}

static void flow_ext_inst(flow *w, const spirv_instruction *i)
{
  const reader *r = w->r;
  if (word(i, 3) != r->std_set || r->std_set == 0) {
    const spirv_instruction *set = def_of(r, word(i, 3));
    char start[13] = "";
    for (unsigned b = 0; set != NULL && b < 12; b++)
      start[b] = (char)(word(set, 2 + b / 4) >> (b % 4 * 8) & 0xff);
    /* Debug information only mentions things. */
    if (strcmp(start, "NonSemantic.") != 0 && strcmp(start, "OpenCL.Debug") != 0
        && strncmp(start, "DebugInfo", 9) != 0)
      flow_give_up(w, i);
    return;
  }
  unsigned access;
  switch (word(i, 4)) {
  case OpenCLstd_Vloadn:
  case OpenCLstd_Vload_half:
  case OpenCLstd_Vload_halfn:
  case OpenCLstd_Vloada_halfn:
  case OpenCLstd_Prefetch:
  case OpenCLstd_Printf:
    access = SPIRV_ACCESS_READ;
    break;
  case OpenCLstd_Vstoren:
  case OpenCLstd_Vstore_half:
  case OpenCLstd_Vstore_half_r:
  case OpenCLstd_Vstore_halfn:
  case OpenCLstd_Vstore_halfn_r:
  case OpenCLstd_Vstorea_halfn:
  case OpenCLstd_Vstorea_halfn_r:
  case OpenCLstd_Fract:
  case OpenCLstd_Frexp:
  case OpenCLstd_Lgamma_r:
  case OpenCLstd_Modf:
  case OpenCLstd_Remquo:
  case OpenCLstd_Sincos:
    access = SPIRV_ACCESS_WRITE;
    break;
  default:
    access = SPIRV_ACCESS_BOTH;
    break;
  }
  /* The one pointer against everything else that goes in or comes out. */
  for (unsigned k = 5; k < i->word_count; k++) {
    if (!is_pointer(r, i->words[k])) {
      flow_unify_ids(w, i->result, i->words[k]);
      continue;
    }
    flow_access(w, i->words[k], i->result, access);
    if (access == SPIRV_ACCESS_WRITE && k > 5)
      flow_access(w, i->words[k], i->words[5], access);
  }
}

static void flow_atomic(flow *w, const spirv_instruction *i)
{
  switch (i->opcode) {
  case SpvOpAtomicLoad:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    break;
  case SpvOpAtomicStore:
    flow_access(w, word(i, 1), word(i, 4), SPIRV_ACCESS_WRITE);
    break;
  case SpvOpAtomicFlagClear:
    flow_access(w, word(i, 1), 0, SPIRV_ACCESS_WRITE);
    break;
  default:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_BOTH);
    for (unsigned k = 6; k < i->word_count; k++)
      flow_access(w, word(i, 3), i->words[k], SPIRV_ACCESS_BOTH);
  }
}

/* An instruction whose result is made of its operands and nothing else. */
static bool is_pure(unsigned op)
{
  return (op >= SpvOpVectorExtractDynamic && op <= SpvOpTranspose) ||
         (op >= SpvOpConvertFToU && op <= SpvOpFwidthCoarse) ||
         op == SpvOpPhi || op == SpvOpCopyLogical;
}

static void flow_instruction(flow *w, uint32_t at)
{
  const reader *r = w->r;
  const spirv_instruction *i = &r->ins[at];
  unsigned op = i->opcode;
  switch (op) {
  case SpvOpFunction:
  case SpvOpFunctionEnd:
  case SpvOpLabel:
  case SpvOpLine:
  case SpvOpNoLine:
  case SpvOpNop:
  case SpvOpUndef:
  case SpvOpPtrEqual:
  case SpvOpPtrNotEqual:
  case SpvOpPtrDiff:
  case SpvOpGenericPtrMemSemantics:
  case SpvOpLifetimeStart:
  case SpvOpLifetimeStop:
    return;
  case SpvOpFunctionParameter:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED | NODE_PARAMETER);
    return;
  case SpvOpVariable:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED);
    flow_unify(w, flow_content(w, flow_node(w, i->result)),
               flow_node(w, word(i, 4)));
    return;
  case OP_UNTYPED_VARIABLE:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED);
    return;
  case SpvOpLoad:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    return;
  case SpvOpStore:
    flow_access(w, word(i, 1), word(i, 2), SPIRV_ACCESS_WRITE);
    return;
  case SpvOpCopyMemory:
  case SpvOpCopyMemorySized:
    flow_mark(w, flow_node(w, word(i, 1)), SPIRV_ACCESS_WRITE);
    flow_mark(w, flow_node(w, word(i, 2)), SPIRV_ACCESS_READ);
    flow_unify(w, flow_content(w, flow_node(w, word(i, 1))),
               flow_content(w, flow_node(w, word(i, 2))));
    return;
  case SpvOpGroupAsyncCopy:
    flow_mark(w, flow_node(w, word(i, 4)), SPIRV_ACCESS_WRITE);
    flow_mark(w, flow_node(w, word(i, 5)), SPIRV_ACCESS_READ);
    flow_unify(w, flow_content(w, flow_node(w, word(i, 4))),
               flow_content(w, flow_node(w, word(i, 5))));
    return;
  case SpvOpSubgroupBlockReadINTEL:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    return;
  case SpvOpSubgroupBlockWriteINTEL:
    flow_access(w, word(i, 1), word(i, 2), SPIRV_ACCESS_WRITE);
    return;
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
  case SpvOpCopyObject:
    flow_unify_ids(w, i->result, word(i, 3));
    return;
  case OP_UNTYPED_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN:
  case OP_UNTYPED_PTR_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN:
    flow_unify_ids(w, i->result, word(i, 4));
    return;
  case SpvOpConvertUToPtr:
  case SpvOpBitcast:
    flow_unify_ids(w, i->result, word(i, 3));
    if (is_pointer(r, i->result) && !is_pointer(r, word(i, 3)))
      flow_mark(w, flow_node(w, i->result), NODE_LOST & ~NODE_ESCAPED);
    return;
  case SpvOpReturnValue:
    flow_unify(w, NODE_RETURN, flow_node(w, word(i, 1)));
    return;
  case SpvOpFunctionCall:
    flow_call(w, i);
    return;
  case SpvOpExtInst:
    flow_ext_inst(w, i);
    return;
  }
  if (features_of(r, i) & SPIRV_USES_ATOMICS) {
    flow_atomic(w, i);
  } else if (is_pure(op)) {
    for (unsigned k = 3; k < i->word_count; k++)
      if (is_use(r, i, k))
        flow_unify_ids(w, i->result, i->words[k]);
  } else {
    flow_give_up(w, i);
  }
}

/* What the summary says of the pointers of a class. */
static unsigned flow_sum(flow *w, uint32_t n)
{
  n = flow_find(w, n);
  unsigned flags = w->nodes[n].flags, sum = flags & NODE_ACCESS;
  if (flags & NODE_ESCAPED)
    sum |= PARAM_ESCAPES;
  if (n == flow_find(w, NODE_RETURN))
    sum |= PARAM_RETURNED;
  return sum;
}

static void flow_function(flow *w, uint32_t at)
{
  reader *r = w->r;
  const spirv_function *f = &r->functions[at];
  function_info *more = &r->more[at];
  uint32_t values = NODE_FIRST + more->end - more->at;
  w->function = at;
  w->at = more->at;
  w->used = values;
  size_t words = 0;
  for (uint32_t k = more->at; k < more->end; k++)
    words += r->ins[k].word_count;
  memset(w->nodes, 0, (values + words) * sizeof *w->nodes);
  flow_mark(w, NODE_MODULE, NODE_ROOTED | NODE_OUTSIDE);
  for (uint32_t k = more->at; k < more->end; k++)
    flow_instruction(w, k);

  /* What memory holds that others see, they may have put there; what is found
     in a caller's memory that is only read here, the caller knows. */
  const unsigned others = NODE_OUTSIDE | NODE_ESCAPED | NODE_UNKNOWN;
  for (uint32_t k = 1; k < w->used; k++) {
    const node *n = &w->nodes[k];
    if (n->parent != 0 || !(n->flags & (others | NODE_PARAMETER)))
      continue;
    uint32_t c = n->content;
    if (c != 0 && !(n->flags & (others | SPIRV_ACCESS_WRITE))) {
      c = flow_find(w, c);
      w->nodes[c].flags |= NODE_ROOTED;
      c = w->nodes[c].content;
    }
    while (c != 0) {
      c = flow_find(w, c);
      if ((w->nodes[c].flags & NODE_LOST) == NODE_LOST)
        break;
      w->nodes[c].flags |= NODE_LOST;
      c = w->nodes[c].content;
    }
  }
  for (uint32_t k = 1; k < w->used; k++) {
    const node *c = &w->nodes[k];
    if (c->parent != 0 ||
        (c->flags & (NODE_UNKNOWN | NODE_ROOTED)) == NODE_ROOTED)
      continue;
    more->unknown |= c->flags & NODE_GIVEN ? SPIRV_ACCESS_BOTH
                                           : c->flags & NODE_ACCESS;
  }
  uint32_t returned = flow_find(w, NODE_RETURN);
  more->returns_unknown =
    (w->nodes[returned].flags & (NODE_UNKNOWN | NODE_ROOTED)) != NODE_ROOTED;
  for (uint32_t p = 0; p < f->param_count; p++) {
    uint32_t c = flow_node(w, f->params[p]);
    if (c == NODE_NONE)
      continue;
    unsigned sum = flow_sum(w, c);
    uint32_t found = w->nodes[flow_find(w, c)].content;
    /* Where it is not the caller's to know, it is in `unknown`. */
    if (found != 0 && !(w->nodes[flow_find(w, found)].flags & NODE_UNKNOWN))
      sum |= flow_sum(w, found) << PARAM_FOUND;
    more->summary[p] = (uint8_t)sum;
  }
  more->done = true;
}

/* All functions, callees before callers; one that is in a cycle of calls
   finds the others not done and takes the worst of them. */
static bool flow_module(reader *r)
{
  size_t most = 0;
  for (uint32_t n = 0; n < r->function_count; n++) {
    size_t size = NODE_FIRST;
    for (uint32_t k = r->more[n].at; k < r->more[n].end; k++)
      size += 1 + r->ins[k].word_count;
    if (size > most)
      most = size;
  }
  /* A function on the stack of the walk, and which callee is its next. */
  uint32_t *stack = scratch(r, r->function_count, sizeof *stack);
  uint32_t *next = scratch(r, r->function_count, sizeof *next);
  flow w = {.r = r, .nodes = scratch(r, most, sizeof(node))};
  if (stack == NULL || next == NULL || w.nodes == NULL)
    return out_of_memory(r);
  r->round++;
  for (uint32_t root = 0; root < r->function_count; root++) {
    size_t depth = 0;
    if (r->info[r->more[root].at].seen == r->round)
      continue;
    r->info[r->more[root].at].seen = r->round;
    stack[depth++] = root;
    while (depth > 0) {
      uint32_t n = stack[depth - 1];
      const spirv_function *f = &r->functions[n];
      if (next[n] == f->callee_count) {
        flow_function(&w, n);
        depth--;
        continue;
      }
      uint32_t callee = f->callees[next[n]++];
      id_info *info = &r->info[r->more[callee].at];
      if (info->seen != r->round) {
        info->seen = r->round;
        stack[depth++] = callee;
      }
    }
  }
  return true;
}

/* ------------------------------------------------------------------------
 * Kernels and their arguments.
 */

/* The strings in which llvm-spirv keeps what OpenCL C said. */
static const char type_prefix[] = "kernel_arg_type.";
static const char qual_prefix[] = "kernel_arg_type_qual.";

typedef struct texts {
  const char **items; /* sorted */
  size_t count;
} texts;

static int compare_texts(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool collect_texts(reader *r, texts *t)
{
  size_t count = 0;
  for (size_t k = 0; k < r->ins_count; k++)
    count += r->ins[k].opcode == SpvOpString;
  t->items = scratch(r, count, sizeof *t->items);
  if (t->items == NULL)
    return out_of_memory(r);
  for (size_t k = 0; k < r->ins_count; k++) {
    if (r->ins[k].opcode != SpvOpString)
      continue;
    const char *s = text_at(r, &r->ins[k], 2);
    if (s == NULL)
      return out_of_memory(r);
    if (strncmp(s, type_prefix, sizeof type_prefix - 1) == 0 ||
        strncmp(s, qual_prefix, sizeof qual_prefix - 1) == 0)
      t->items[t->count++] = s;
  }
  qsort(t->items, t->count, sizeof *t->items, compare_texts);
  return true;
}

/* What follows "PREFIX" "NAME." in one of the strings, or NULL. */
static const char *find_text(const texts *t, const char *prefix,
                             const char *name)
{
  size_t np = strlen(prefix), nn = strlen(name), low = 0, high = t->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const char *s = t->items[middle];
    int order = strncmp(s, prefix, np);
    if (order == 0)
      order = strncmp(s + np, name, nn);
    if (order == 0)
      order = (s[np + nn] > '.') - (s[np + nn] < '.');
    if (order == 0)
      return s + np + nn + 1;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

/* Cut "float,float*," into count pieces; NULL unless it has exactly those. */
static const char **split_text(reader *r, const char *list, size_t count,
                               bool *failed)
{
  size_t commas = 0;
  for (const char *s = list; *s != '\0'; s++)
    commas += *s == ',';
  size_t length = strlen(list);
  if (commas != count || (length > 0 && list[length - 1] != ','))
    return NULL;
  const char **pieces = keep(r, count, sizeof *pieces);
  char *copy = keep(r, length + 1, 1);
  if (pieces == NULL || copy == NULL) {
    *failed = true;
    return NULL;
  }
  memcpy(copy, list, length);
  for (size_t k = 0; k < count; k++) {
    pieces[k] = copy;
    copy = strchr(copy, ',');
    *copy++ = '\0';
  }
  return pieces;
}

/* A type of OpenCL C by name: "uint4", "unsigned int", "void". */
static bool type_by_name(const char *name, size_t length, spirv_type *type)
{
  static const struct {
    const char *name;
    spirv_kind kind;
    spirv_sign sign;
    unsigned bits;
  } known[] = {
    {"void", SPIRV_KIND_VOID, SPIRV_SIGN_UNKNOWN, 0},
    {"bool", SPIRV_KIND_BOOL, SPIRV_SIGN_UNKNOWN, 8},
    {"char", SPIRV_KIND_INT, SPIRV_SIGN_SIGNED, 8},
    {"signed char", SPIRV_KIND_INT, SPIRV_SIGN_SIGNED, 8},
    {"uchar", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 8},
    {"unsigned char", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 8},
    {"short", SPIRV_KIND_INT, SPIRV_SIGN_SIGNED, 16},
    {"ushort", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 16},
    {"unsigned short", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 16},
    {"int", SPIRV_KIND_INT, SPIRV_SIGN_SIGNED, 32},
    {"uint", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 32},
    {"unsigned int", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 32},
    {"long", SPIRV_KIND_INT, SPIRV_SIGN_SIGNED, 64},
    {"ulong", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 64},
    {"unsigned long", SPIRV_KIND_INT, SPIRV_SIGN_UNSIGNED, 64},
    {"half", SPIRV_KIND_FLOAT, SPIRV_SIGN_UNKNOWN, 16},
    {"float", SPIRV_KIND_FLOAT, SPIRV_SIGN_UNKNOWN, 32},
    {"double", SPIRV_KIND_FLOAT, SPIRV_SIGN_UNKNOWN, 64}
  };
  unsigned lanes = 1;
  size_t stem = length;
  while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
    stem--;
  if (stem < length) {
    size_t digits = length - stem;
    const char *d = name + stem;
    if (digits == 1 && strchr("2348", d[0]) != NULL)
      lanes = (unsigned)(d[0] - '0');
    else if (digits == 2 && d[0] == '1' && d[1] == '6')
      lanes = 16;
    else
      return false;
  }
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    if (strlen(known[k].name) != stem ||
        memcmp(known[k].name, name, stem) != 0)
      continue;
    if (lanes > 1 && known[k].kind != SPIRV_KIND_INT &&
        known[k].kind != SPIRV_KIND_FLOAT)
      return false;
    *type = (spirv_type){
      .kind = known[k].kind, .sign = known[k].sign, .bits = known[k].bits,
      .lanes = lanes, .bytes = known[k].bits / 8 * (lanes == 3 ? 4 : lanes)
    };
    return true;
  }
  return false;
}

/* A type as the module itself states it. */
static spirv_type type_of(const reader *r, uint32_t id)
{
  spirv_type t = {.kind = SPIRV_KIND_UNKNOWN, .lanes = 1};
  const spirv_instruction *i = def_of(r, id);
  if (i == NULL)
    return t;
  t.bytes = info_of(r, id)->bytes;
  if (i->opcode == SpvOpTypeVector && t.bytes != 0) {
    const spirv_instruction *part = def_of(r, word(i, 2));
    if (part != NULL) {
      t.lanes = word(i, 3);
      i = part;
    }
  }
  switch (i->opcode) {
  case SpvOpTypeVoid:
    t.kind = SPIRV_KIND_VOID;
    break;
  case SpvOpTypeBool:
    t.kind = SPIRV_KIND_BOOL;
    t.bits = 8;
    break;
  case SpvOpTypeInt:
    t.kind = SPIRV_KIND_INT;
    t.bits = word(i, 2);
    /* Kernels say 0 whatever the source said; a 1 can only be meant. */
    if (word(i, 3) == 1)
      t.sign = SPIRV_SIGN_SIGNED;
    break;
  case SpvOpTypeFloat:
    t.kind = SPIRV_KIND_FLOAT;
    t.bits = word(i, 2);
    break;
  case SpvOpTypePointer:
  case OP_TYPE_UNTYPED_POINTER:
    t.kind = SPIRV_KIND_POINTER;
    t.bits = r->m->pub.address_bits;
    break;
  default:
    if (t.bytes != 0)
      t.kind = SPIRV_KIND_STRUCT;
    break;
  }
  return t;
}

/* Let the source's own words correct what the module says of an argument. */
static void apply_source_type(spirv_arg *arg)
{
  const char *s = arg->source_type;
  size_t length = strlen(s);
  spirv_type said;
  if (arg->cls == SPIRV_ARG_VALUE) {
    if (type_by_name(s, length, &said) && said.kind == SPIRV_KIND_INT &&
        arg->type.kind == SPIRV_KIND_INT && said.bits == arg->type.bits)
      arg->type.sign = said.sign;
    return;
  }
  if (arg->cls != SPIRV_ARG_POINTER && arg->cls != SPIRV_ARG_LOCAL)
    return;
  if (length == 0 || s[length - 1] != '*')
    return;
  length--;
  if (type_by_name(s, length, &said)) {
    arg->type = said;
  } else if (length > 0 && s[length - 1] == '*') {
    arg->type = (spirv_type){.kind = SPIRV_KIND_POINTER, .bits = 64,
                             .lanes = 1, .bytes = 8};
  } else if (arg->type.kind == SPIRV_KIND_INT && arg->type.bits == 8) {
    /* Where pointers are opaque every pointee is called a byte, so a byte
       says nothing of a type with a name of its own. */
    arg->type = (spirv_type){.kind = SPIRV_KIND_UNKNOWN, .lanes = 1};
  }
}

static void apply_qualifiers(spirv_arg *arg, const char *s)
{
  while (*s != '\0') {
    size_t n = strcspn(s, " ");
    if (n == 5 && memcmp(s, "const", n) == 0)
      arg->is_const = true;
    else if (n == 8 && memcmp(s, "volatile", n) == 0)
      arg->is_volatile = true;
    else if (n == 8 && memcmp(s, "restrict", n) == 0)
      arg->is_restrict = true;
    s += n;
    s += strspn(s, " ");
  }
}

/* The class, space, type and size of a parameter. */
static void classify(const reader *r, uint32_t type_id, spirv_arg *arg)
{
  const spirv_instruction *i = def_of(r, type_id);
  arg->cls = SPIRV_ARG_OTHER;
  arg->type = type_of(r, type_id);
  if (i == NULL)
    return;
  switch (i->opcode) {
  case SpvOpTypeBool:
  case SpvOpTypeInt:
  case SpvOpTypeFloat:
  case SpvOpTypeVector:
  case SpvOpTypeArray:
  case SpvOpTypeStruct:
    arg->cls = SPIRV_ARG_VALUE;
    arg->bytes = arg->type.bytes;
    break;
  case SpvOpTypeImage:
    arg->cls = SPIRV_ARG_IMAGE;
    arg->bytes = 8;
    break;
  case SpvOpTypeSampler:
    arg->cls = SPIRV_ARG_SAMPLER;
    arg->bytes = 8;
    break;
  case SpvOpTypePointer:
  case OP_TYPE_UNTYPED_POINTER:
    arg->type = type_of(r, word(i, 3));
    arg->cls = SPIRV_ARG_POINTER;
    arg->bytes = 8;
    switch (word(i, 2)) {
    case SpvStorageClassFunction:
      arg->cls = SPIRV_ARG_VALUE;
      arg->space = SPIRV_SPACE_PRIVATE;
      arg->bytes = arg->type.bytes;
      break;
    case SpvStorageClassWorkgroup:
      arg->cls = SPIRV_ARG_LOCAL;
      arg->space = SPIRV_SPACE_LOCAL;
      arg->bytes = 0;
      break;
    case SpvStorageClassUniformConstant:
      arg->space = SPIRV_SPACE_CONSTANT;
      break;
    case SpvStorageClassGeneric:
      arg->space = SPIRV_SPACE_GENERIC;
      break;
    case SpvStorageClassCrossWorkgroup:
    case SpvStorageClassDeviceOnlyINTEL:
    case SpvStorageClassHostOnlyINTEL:
      arg->space = SPIRV_SPACE_GLOBAL;
      break;
    default:
      arg->cls = SPIRV_ARG_OTHER;
      arg->bytes = 0;
    }
    break;
  }
}

/* The access that a summary comes to where escaping counts as both. */
static unsigned worst_of(unsigned sum)
{
  return sum & PARAM_ESCAPES ? SPIRV_ACCESS_BOTH : sum & NODE_ACCESS;
}

/* What a kernel does through pointers that may be any: of those it finds in
   memory nobody knows the origin. */
static unsigned unknown_access(const spirv_function *f,
                               const function_info *more)
{
  unsigned access = more->unknown;
  for (uint32_t k = 0; k < f->param_count; k++)
    access |= worst_of(more->summary[k] >> PARAM_FOUND);
  return access;
}

/*
 * What a kernel does through an argument, by its summary and what it does
 * through pointers that may be any.  What the module declares is believed
 * where the code cannot be followed, and not where it can and does otherwise:
 * const is easily cast away.
 */
static spirv_access access_of(const spirv_arg *arg, unsigned sum,
                              unsigned unknown, uint16_t flags)
{
  unsigned seen = sum & NODE_ACCESS, feared = worst_of(sum) | unknown;
  if (flags & ID_UNTOUCHED)
    feared = SPIRV_ACCESS_NONE;
  if (arg->space == SPIRV_SPACE_CONSTANT)
    return (spirv_access)((seen | feared) & SPIRV_ACCESS_READ);
  if (arg->is_const && (seen & SPIRV_ACCESS_WRITE))
    return SPIRV_ACCESS_BOTH;
  if (arg->is_const)
    feared &= SPIRV_ACCESS_READ;
  return (spirv_access)(seen | feared);
}

static bool read_args(reader *r, spirv_kernel *kernel, const texts *t)
{
  const spirv_function *f = &r->functions[kernel->function];
  const function_info *more = &r->more[kernel->function];
  spirv_arg *args = keep(r, f->param_count, sizeof *args);
  if (args == NULL)
    return out_of_memory(r);
  const char *list = find_text(t, type_prefix, kernel->name);
  const char *quals = find_text(t, qual_prefix, kernel->name);
  const char **type = NULL, **qual = NULL;
  unsigned unknown = unknown_access(f, more);
  bool failed = false;
  if (list != NULL)
    type = split_text(r, list, f->param_count, &failed);
  if (quals != NULL)
    qual = split_text(r, quals, f->param_count, &failed);
  if (failed)
    return out_of_memory(r);

  for (uint32_t k = 0; k < f->param_count; k++) {
    spirv_arg *arg = &args[k];
    uint32_t at = more->param_at + k;
    uint16_t flags = r->info[at].flags;
    if (!name_of(r, at, &arg->name))
      return false;
    classify(r, r->ins[at].result_type, arg);
    if (arg->cls == SPIRV_ARG_LOCAL)
      kernel->features |= SPIRV_USES_LOCAL;
    if (arg->type.kind == SPIRV_KIND_INT &&
        arg->type.sign == SPIRV_SIGN_UNKNOWN && arg->cls == SPIRV_ARG_VALUE) {
      if (flags & ID_SIGN_EXTENDED)
        arg->type.sign = SPIRV_SIGN_SIGNED;
      else if (flags & ID_ZERO_EXTENDED)
        arg->type.sign = SPIRV_SIGN_UNSIGNED;
    }
    if (type != NULL) {
      arg->source_type = type[k];
      apply_source_type(arg);
    }
    arg->is_restrict = (flags & ID_RESTRICT) != 0;
    arg->is_volatile = (flags & ID_VOLATILE) != 0;
    arg->is_const = (flags & ID_READ_ONLY) != 0 ||
      (arg->cls == SPIRV_ARG_POINTER && arg->space == SPIRV_SPACE_CONSTANT);
    if (qual != NULL)
      apply_qualifiers(arg, qual[k]);
    if (arg->cls == SPIRV_ARG_POINTER)
      arg->access = access_of(arg, more->summary[k], unknown, flags);
  }
  kernel->args = args;
  kernel->arg_count = f->param_count;
  return true;
}

/* Sizes that OpExecutionMode and OpExecutionModeId give to functions. */
static void take_execution_mode(reader *r, const spirv_instruction *i)
{
  int64_t n = function_of(r, word(i, 1));
  if (n < 0)
    return;
  function_info *more = &r->more[n];
  uint32_t mode = word(i, 2);
  uint32_t value[3];
  for (unsigned k = 0; k < 3; k++) {
    uint64_t constant = 0;
    value[k] = word(i, 3 + k);
    if (i->opcode == SpvOpExecutionModeId)
      value[k] = constant_of(r, value[k], &constant) ? (uint32_t)constant : 0;
  }
  if (mode == SpvExecutionModeLocalSize || mode == SpvExecutionModeLocalSizeId)
    memcpy(more->local_size, value, sizeof value);
  else if (mode == SpvExecutionModeLocalSizeHint ||
           mode == SpvExecutionModeLocalSizeHintId)
    memcpy(more->local_hint, value, sizeof value);
  else if (mode == SpvExecutionModeSubgroupSize)
    more->subgroup = value[0];
}

static bool read_kernels(reader *r)
{
  spirv_module *pub = &r->m->pub;
  size_t count = 0;
  for (size_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    if (i->opcode == SpvOpEntryPoint && word(i, 1) == SpvExecutionModelKernel)
      count++;
    else if (i->opcode == SpvOpExecutionMode ||
             i->opcode == SpvOpExecutionModeId)
      take_execution_mode(r, i);
  }
  spirv_kernel *kernels = keep(r, count, sizeof *kernels);
  uint32_t *todo = scratch(r, r->ins_count, sizeof *todo);
  texts t = {NULL, 0};
  if (kernels == NULL || todo == NULL)
    return out_of_memory(r);
  if (!collect_texts(r, &t))
    return false;
  pub->kernels = kernels;
  for (size_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    if (i->opcode != SpvOpEntryPoint || word(i, 1) != SpvExecutionModelKernel)
      continue;
    spirv_kernel *kernel = &kernels[pub->kernel_count];
    const char *name = text_at(r, i, 3);
    if (name == NULL)
      return out_of_memory(r);
    int64_t n = function_of(r, word(i, 2));
    if (n < 0) {
      say(r->message, r->cap, "kernel %.80s has no function", name);
      return false;
    }
    function_info *more = &r->more[n];
    if (more->kernel != 0) {
      /* A second name of one function shares everything, so that many names
         cost no more than they take in the module. */
      *kernel = kernels[more->kernel - 1];
      kernel->name = name;
    } else {
      kernel->name = name;
      kernel->function = (uint32_t)n;
      memcpy(kernel->required_group, more->local_size,
             sizeof more->local_size);
      memcpy(kernel->group_hint, more->local_hint, sizeof more->local_hint);
      kernel->required_subgroup = more->subgroup;
      if (!read_args(r, kernel, &t))
        return false;
      reach(r, kernel, todo);
      more->kernel = (uint32_t)pub->kernel_count + 1;
    }
    pub->kernel_count++;
  }
  return true;
}

static bool read_spec_constants(reader *r)
{
  spirv_module *pub = &r->m->pub;
  size_t count = 0;
  for (size_t k = 0; k < r->ins_count; k++)
    count += (r->info[k].flags & ID_SPEC) != 0;
  spirv_spec_constant *all = keep(r, count, sizeof *all);
  if (all == NULL)
    return out_of_memory(r);
  pub->spec_constants = all;
  for (uint32_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    if (!(r->info[k].flags & ID_SPEC) ||
        (i->opcode != SpvOpSpecConstant && i->opcode != SpvOpSpecConstantTrue &&
         i->opcode != SpvOpSpecConstantFalse))
      continue;
    spirv_spec_constant *c = &all[pub->spec_constant_count++];
    c->spec_id = r->info[k].spec_id;
    c->id = i->result;
    c->type = type_of(r, i->result_type);
    c->value = i->opcode == SpvOpSpecConstantTrue ? 1 :
               word(i, 3) | (uint64_t)word(i, 4) << 32;
    if (c->type.bits < 64 && c->type.bits > 0)
      c->value &= ((uint64_t)1 << c->type.bits) - 1;
    if (!name_of(r, k, &c->name))
      return false;
  }
  return true;
}

/* ------------------------------------------------------------------------
 * The interface.
 */

spirv_module *spirv_parse(const void *bytes, size_t size, char *message,
                          size_t cap)
{
  if (cap > 0)
    message[0] = '\0';
  module *m = calloc(1, sizeof *m);
  if (m == NULL) {
    say(message, cap, "out of memory");
    return NULL;
  }
  reader r = {.m = m, .message = message, .cap = cap};
  m->pub.words = copy_words(&m->pool, bytes, size, message, cap);
  m->pub.word_count = size / 4;
  bool ok = m->pub.words != NULL && decode(&r) && survey(&r) &&
            study_functions(&r) && flow_module(&r) && read_kernels(&r) &&
            read_spec_constants(&r);
  pool_free(&r.scratch);
  if (ok)
    return &m->pub;
  spirv_free(&m->pub);
  return NULL;
}

void spirv_free(spirv_module *pub)
{
  module *m = (module *)pub; /* its first member */
  if (m == NULL)
    return;
  pool_free(&m->pool);
  free(m);
}

const spirv_kernel *spirv_find(const spirv_module *m, const char *name)
{
  for (size_t k = 0; k < m->kernel_count; k++)
    if (strcmp(m->kernels[k].name, name) == 0)
      return &m->kernels[k];
  return NULL;
}

/* The strictest environment SPIRV-Tools has for OpenCL and a version: OpenCL
   2.2 up to 1.2; what is newer no OpenCL it knows of defines. */
static spv_target_env environment_of(uint32_t version)
{
  switch (version >> 8) {
  case 0x100:
  case 0x101:
  case 0x102:
    return SPV_ENV_OPENCL_2_2;
  case 0x103:
    return SPV_ENV_UNIVERSAL_1_3;
  case 0x104:
    return SPV_ENV_UNIVERSAL_1_4;
  case 0x105:
    return SPV_ENV_UNIVERSAL_1_5;
  default:
    return SPV_ENV_UNIVERSAL_1_6;
  }
}

bool spirv_validate(const void *bytes, size_t size, char *message, size_t cap)
{
  block *pool = NULL;
  if (cap > 0)
    message[0] = '\0';
  const uint32_t *words = copy_words(&pool, bytes, size, message, cap);
  if (words == NULL) {
    pool_free(&pool);
    return false;
  }
  spv_context context = spvContextCreate(environment_of(words[1]));
  spv_diagnostic diagnostic = NULL;
  spv_result_t result = SPV_ERROR_OUT_OF_MEMORY;
  if (context != NULL) {
    spv_const_binary_t binary = {words, size / 4};
    result = spvValidate(context, &binary, &diagnostic);
  }
  if (result != SPV_SUCCESS) {
    if (diagnostic != NULL)
      say(message, cap, "%s", diagnostic->error);
    else
      say(message, cap, "not valid (code %d)", (int)result);
  }
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  pool_free(&pool);
  return result == SPV_SUCCESS;
}
