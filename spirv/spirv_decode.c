/*
 * spirv_decode.c - decodes a module's head, its functions and their uses.
 * SPDX-License-Identifier: MIT
 */
#include "spirv_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest size of a type. It is far above any OpenCL C type, and sums and
   products of two sizes never overflow a 64-bit size. */
#define MAX_BYTES ((size_t)1 << 31)

/* The limit of steps for all searches of call graphs together: half a second of
   work. Only a module that is made to exceed it, with thousands of kernels that
   all reach the same thousands of functions, needs more. Its remaining kernels
   then count as calling unknown functions. */
#define MOST_VISITS ((size_t)1 << 26)

/* ------------------------------------------------------------------------
 * Memory: blocks in a list, all released together.
 */

typedef struct spirv_block {
  struct spirv_block *next;
  max_align_t data[];
} spirv_block;

/* Returns zeroed room for `count` items of `size` bytes, or NULL. */
void *spirv_pool_get(spirv_block **pool, size_t count, size_t size)
{
  if (count == 0)
    count = 1;
  if (size > (SIZE_MAX - sizeof(spirv_block)) / count)
    return NULL;
  spirv_block *b = calloc(1, sizeof *b + count * size);
  if (b == NULL)
    return NULL;
  b->next = *pool;
  *pool = b;
  return b->data;
}

void spirv_pool_free(spirv_block **pool)
{
  while (*pool != NULL) {
    spirv_block *next = (*pool)->next;
    free(*pool);
    *pool = next;
  }
}

/* Writes a message without newlines at its end; some of SPIRV-Tools' messages
   have them. */
void spirv_say(char *message, size_t cap, const char *format, ...)
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

/* Returns the literal string that starts at word k; NULL when memory runs out.
   Its first byte is in the low bits of the first word on any machine. */
const char *spirv_text_at(reader *r, const spirv_instruction *i, unsigned k)
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
    spirv_say(r->message, r->cap, "its id bound %lu is above the %lu of SPIR-V",
              (unsigned long)bound, (unsigned long)MAX_BOUND);
    return SPV_REQUESTED_TERMINATION;
  }
  r->def = keep(r, bound, sizeof *r->def);
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
    /* A module has at least one word for each instruction. With doubling, the
       table is at most a small multiple of the number of instructions. */
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
      spirv_say(r->message, r->cap, "id %lu is not below the bound %lu",
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

bool spirv_decode(reader *r)
{
  spirv_module *pub = &r->m->pub;
  r->at = 5;
  r->is_id = keep(r, pub->word_count / 8 + 1, 1);
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
    spirv_say(r->message, r->cap, "%s", diagnostic->error);
  else if (result != SPV_SUCCESS && result != SPV_REQUESTED_TERMINATION)
    spirv_say(r->message, r->cap, "not decodable (code %d)", (int)result);
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  pub->instructions = r->ins;
  pub->id_uses = r->is_id;
  pub->definitions = r->def;
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

/* Computes the size of a type. Its parts must be defined before it. */
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

/* Copies the layouts of types for users of spirv.h. */
static bool publish_layouts(reader *r)
{
  spirv_layout *layouts = keep(r, r->ins_count, sizeof *layouts);
  if (layouts == NULL)
    return out_of_memory(r);
  for (size_t k = 0; k < r->ins_count; k++)
    layouts[k] = (spirv_layout){r->info[k].bytes, r->info[k].align,
                                r->info[k].flags & ID_PACKED};
  r->m->pub.layouts = layouts;
  return true;
}

/* Returns true if the instructions of an extended set with that name are debug
   information. */
static bool is_debug_set(const char *name)
{
  return strncmp(name, "NonSemantic.", 12) == 0 ||
         strncmp(name, "OpenCL.Debug", 12) == 0 ||
         strncmp(name, "DebugInfo", 9) == 0;
}

/* Reads the module's head and finds its functions. */
bool spirv_survey(reader *r)
{
  spirv_module *pub = &r->m->pub;
  size_t capabilities = 0, functions = 0, params = 0;
  const char *model = "missing"; /* or the reason to refuse it */
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
    spirv_say(r->message, r->cap,
              "not a module for OpenCL: its memory model is %s", model);
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

  spirv_function *f = NULL; /* the current one */
  function_info *more = NULL;
  for (uint32_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    id_info *info;
    switch (i->opcode) {
    case SpvOpCapability:
      capability[pub->capability_count++] = word(i, 1);
      break;
    case SpvOpExtInstImport: {
      const char *name = spirv_text_at(r, i, 2);
      if (name == NULL)
        return out_of_memory(r);
      if (strcmp(name, "OpenCL.std") == 0)
        r->std_set = i->result;
      if (is_debug_set(name))
        r->info[k].flags |= ID_DEBUG;
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
      /* Parameters come first in a function; later ones are not arguments. */
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
  if (f != NULL) { /* not all compilers notice */
    spirv_say(r->message, r->cap, "the module was cut short: its last function "
              "has no end");
    return false;
  }
  r->function_count = (uint32_t)pub->function_count;
  return publish_layouts(r);
}

/* Sets *name to the OpName of the result of instruction `at`; NULL if
   absent. */
bool spirv_name_of(reader *r, uint32_t at, const char **name)
{
  uint32_t k = r->info[at].name;
  *name = k == 0 ? NULL : spirv_text_at(r, &r->ins[k - 1], 2);
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

/* The built-ins that an imported function reads, and its features. */
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

/* Returns the entry for an imported function's name, plain or with C++ mangling
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

/* Returns the features of an operation whose scope is in word k. */
static uint32_t scoped(const reader *r, const spirv_instruction *i, unsigned k,
                       uint32_t group)
{
  uint64_t scope;
  if (constant_of(r, word(i, k), &scope) && scope == SpvScopeSubgroup)
    return SPIRV_USES_SUBGROUP_OPS;
  return group;
}

uint32_t spirv_features_of(const reader *r, const spirv_instruction *i)
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

/* Returns the type of a variable's value, or NULL. */
static const spirv_instruction *variable_type(const reader *r,
                                              const spirv_instruction *i)
{
  const spirv_instruction *type = def_of(r, i->result_type);
  return type == NULL ? NULL :
    def_of(r, type->opcode == SpvOpTypePointer ? word(type, 3) : word(i, 4));
}

/* Returns the size of a variable, at most MAX_BYTES. No module has enough
   variables to overflow a 64-bit sum. */
static size_t variable_size(const reader *r, const spirv_instruction *i)
{
  const spirv_instruction *type = variable_type(r, i);
  return type == NULL ? 0 : r->info[type - r->ins].bytes;
}

/* Returns the size of an instruction's result if it may have to live across
   blocks: a variable that is not an array, or a value. */
static size_t value_size(const reader *r, const spirv_instruction *i)
{
  if (i->opcode == SpvOpVariable)
    return is_variable_in(i, SpvStorageClassFunction) ? variable_size(r, i) : 0;
  const spirv_instruction *type =
    i->opcode == SpvOpFunctionParameter ? NULL : def_of(r, i->result_type);
  return type == NULL ? 0 : r->info[type - r->ins].bytes;
}

/* Returns true for a work-item's variable that a compiler may have to place in
   memory. */
static bool is_private_array(const reader *r, const spirv_instruction *i)
{
  const spirv_instruction *type =
    is_variable_in(i, SpvStorageClassFunction) ? variable_type(r, i) : NULL;
  return type != NULL && (type->opcode == SpvOpTypeArray ||
                          type->opcode == SpvOpTypeStruct);
}

static bool is_global_id(const reader *r, int64_t d)
{
  return (r->info[d].flags & ID_BUILTIN) &&
         r->info[d].builtin == SpvBuiltInGlobalInvocationId;
}

/* Returns true for a load of a vector of three sizes. */
static bool loads_id(const reader *r, const spirv_instruction *i)
{
  const spirv_instruction *type = def_of(r, i->result_type);
  const spirv_instruction *part =
    type != NULL && type->opcode == SpvOpTypeVector && word(type, 3) == 3
      ? def_of(r, word(type, 2)) : NULL;
  return i->opcode == SpvOpLoad && part != NULL &&
         part->opcode == SpvOpTypeInt &&
         word(part, 2) == r->m->pub.address_bits;
}

/* Finds each function's calls, references, built-ins and features. */
bool spirv_study_functions(reader *r)
{
  uint32_t *uses = scratch(r, r->id_words, sizeof *uses);
  uint32_t *callees = keep(r, r->id_words, sizeof *callees);
  /* Each instruction's block, or COUNTED once its value is counted. */
  const uint32_t COUNTED = UINT32_MAX;
  uint32_t *home = scratch(r, r->ins_count, sizeof *home), block = 0;
  if (uses == NULL || callees == NULL || home == NULL)
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
      block += i->opcode == SpvOpLabel;
      if (is_private_array(r, i)) {
        home[k] = COUNTED;
        more->private_bytes += variable_size(r, i);
      } else if (i->opcode == SpvOpVariable || i->opcode == SpvOpPhi) {
        more->waiting_bytes += home[k] != COUNTED ? value_size(r, i) : 0;
        home[k] = COUNTED;
      } else if (home[k] != COUNTED) {
        home[k] = block;
      }
      more->features |= spirv_features_of(r, i);
      for (unsigned w = 1; w < i->word_count && !is_debug(r, i); w++) {
        if (!is_use(r, i, w))
          continue;
        int64_t d = find_def(r, i->words[w]);
        if (d < 0)
          continue;
        if (is_global_id(r, d) && !loads_id(r, i))
          more->features |= SPIRV_READS_ID_IN_PARTS;
        bool callee = i->opcode == SpvOpFunctionCall && w == 3;
        bool function = r->ins[d].opcode == SpvOpFunction;
        if (callee != function)
          more->features |= SPIRV_USES_UNKNOWN_CALL;
        if (d >= more->at && d < more->end && home[d] != block &&
            home[d] != COUNTED) {
          more->waiting_bytes += value_size(r, &r->ins[d]);
          home[d] = COUNTED;
        }
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
      f->name = spirv_text_at(r, &r->ins[info->linkage - 1], 3);
      if (f->name == NULL)
        return out_of_memory(r);
    } else if (!spirv_name_of(r, more->at, &f->name)) {
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
        if (known->builtins & SPIRV_BUILTIN_GLOBAL_ID)
          more->features |= SPIRV_READS_ID_IN_PARTS;
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

/* Lists functions and variables of CrossWorkgroup memory by their names. */
bool spirv_read_symbols(reader *r)
{
  spirv_symbol *symbols = keep(r, r->ins_count, sizeof *symbols);
  size_t count = 0;
  if (symbols == NULL)
    return out_of_memory(r);
  for (uint32_t k = 0; k < r->ins_count; k++) {
    const spirv_instruction *i = &r->ins[k];
    const id_info *info = &r->info[k];
    bool function = i->opcode == SpvOpFunction;
    if (!function && !(i->opcode == SpvOpVariable && info->owner == 0 &&
                       (word(i, 3) == SpvStorageClassCrossWorkgroup ||
                        info->linkage != 0)))
      continue;
    spirv_symbol *s = &symbols[count];
    *s = (spirv_symbol){.at = k, .imported = info->flags & ID_IMPORT,
                        .exported = info->flags & ID_EXPORT};
    if (function) {
      s->name = r->functions[info->owner - 1].name;
      s->is_builtin = s->imported && r->more[info->owner - 1].known;
    } else {
      s->is_builtin = info->flags & ID_BUILTIN;
      if (info->linkage == 0) {
        if (!spirv_name_of(r, k, &s->name))
          return false;
      } else if ((s->name = spirv_text_at(r, &r->ins[info->linkage - 1], 3)) ==
                 NULL)
        return out_of_memory(r);
    }
    if (s->name != NULL)
      count++;
  }
  r->m->pub.symbols = symbols;
  r->m->pub.symbol_count = count;
  return true;
}

/* Marks instruction d; returns true for the first reference of this kernel. */
static bool reach_mark(reader *r, int64_t d)
{
  if (d < 0 || r->info[d].seen == r->round)
    return false;
  r->info[d].seen = r->round;
  return true;
}

static uint32_t add_counts(uint32_t a, uint32_t b)
{
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/*
 * Sums up everything that a kernel reaches: functions by calls, and variables,
 * and constants made of variables, by references. `todo` has room for every
 * instruction.
 */
void spirv_reach(reader *r, spirv_kernel *kernel, uint32_t *todo)
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
      kernel->private_bytes += more->private_bytes;
      kernel->waiting_bytes += more->waiting_bytes;
      for (int d = 0; d < 3; d++) {
        kernel->beside[d] = add_counts(kernel->beside[d], more->beside[d]);
        kernel->apart[d] = add_counts(kernel->apart[d], more->apart[d]);
        kernel->again[d] = add_counts(kernel->again[d], more->again[d]);
        kernel->stores[d] = add_counts(kernel->stores[d], more->stores[d]);
        if (more->spacing[d] > kernel->spacing[d])
          kernel->spacing[d] = more->spacing[d];
        spirv_fit(&kernel->local_fit[d], more->local_fit[d]);
      }
      spirv_fit(&kernel->local_items, more->local_items);
      r->visits += 1 + more->use_count;
      for (uint32_t k = 0; k < more->use_count; k++)
        if (reach_mark(r, more->uses[k]))
          todo[count++] = more->uses[k];
      continue;
    }
    if (info->flags & ID_BUILTIN)
      kernel->builtins |= builtin_bit(info->builtin);
    if (is_variable_in(i, SpvStorageClassWorkgroup)) {
      kernel->features |= SPIRV_USES_LOCAL;
      kernel->local_bytes += variable_size(r, i);
    }
    r->visits += i->word_count;
    if (i->result_type == 0)
      continue;
    for (unsigned w = 3; w < i->word_count; w++) {
      int64_t d = is_use(r, i, w) ? find_def(r, i->words[w]) : -1;
      if (d >= 0 && is_global_id(r, d))
        kernel->features |= SPIRV_READS_ID_IN_PARTS;
      if (d >= 0 && r->ins[d].opcode == SpvOpFunction)
        kernel->features |= SPIRV_USES_UNKNOWN_CALL;
      else if (d >= 0 && r->info[d].owner == 0 && reach_mark(r, d))
        todo[count++] = (uint32_t)d;
    }
  }
}
