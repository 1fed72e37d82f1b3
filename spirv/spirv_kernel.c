/*
 * spirv_kernel.c - kernels, their arguments and specialization constants.
 * SPDX-License-Identifier: MIT
 */
#include "spirv_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The prefixes of the strings in which llvm-spirv stores OpenCL C's types and
   qualifiers. */
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
    const char *s = spirv_text_at(r, &r->ins[k], 2);
    if (s == NULL)
      return out_of_memory(r);
    if (strncmp(s, type_prefix, sizeof type_prefix - 1) == 0 ||
        strncmp(s, qual_prefix, sizeof qual_prefix - 1) == 0)
      t->items[t->count++] = s;
  }
  qsort(t->items, t->count, sizeof *t->items, compare_texts);
  return true;
}

/* Returns the text after "PREFIX" "NAME." in one of the strings, or NULL. */
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

/* Splits "float,float*," into `count` pieces. Returns NULL if it does not have
   that many. */
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

/* Parses the name of an OpenCL C type: "uint4", "unsigned int", "void". */
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

/* Returns a type as the module declares it. */
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
    /* Types from OpenCL C always have 0, so a 1 is intended. */
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

/* Corrects an argument's type from its source type. */
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
    /* With opaque pointers every pointee is declared as a byte. So a byte means
       nothing if the source type has another name. */
    arg->type = (spirv_type){.kind = SPIRV_KIND_UNKNOWN, .lanes = 1};
  }
}

/* Parses "size2_3_1", the second of three sizes of the first argument. Kernels
   made from Lua functions use this form. */
static void apply_size(spirv_arg *arg, const char *s)
{
  unsigned dimension, rank, of;
  if (sscanf(s, "size%2u_%2u_%4u", &dimension, &rank, &of) != 3 ||
      dimension == 0 || dimension > rank)
    return;
  arg->rank = rank;
  arg->size_of = of;
  arg->dimension = dimension;
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
    else if (n == 7 && memcmp(s, "capture", n) == 0)
      arg->is_capture = true;
    else if (n > 4 && memcmp(s, "size", 4) == 0)
      apply_size(arg, s);
    s += n;
    s += strspn(s, " ");
  }
}

/* Reads an OpTypeImage. */
static void classify_image(const spirv_instruction *i, spirv_arg *arg)
{
  static const uint8_t dimensions[] = {1, 2, 3};
  uint32_t dim = word(i, 3);
  if (dim < sizeof dimensions)
    arg->image.dimensions = dimensions[dim];
  arg->image.is_depth = word(i, 4) == 1;
  arg->image.is_array = word(i, 5) != 0;
  arg->image.is_multisampled = word(i, 6) != 0;
  /* The qualifier is the last word, and may be missing. */
  arg->access = SPIRV_ACCESS_BOTH;
  if (i->word_count > 9 && word(i, 9) == SpvAccessQualifierReadOnly)
    arg->access = SPIRV_ACCESS_READ;
  else if (i->word_count > 9 && word(i, 9) == SpvAccessQualifierWriteOnly)
    arg->access = SPIRV_ACCESS_WRITE;
}

/* Sets the class, space, type and size of a parameter. */
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
    classify_image(i, arg);
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
    if (!spirv_name_of(r, at, &arg->name))
      return false;
    classify(r, r->ins[at].result_type, arg);
    if (more->reach != NULL && arg->cls == SPIRV_ARG_POINTER)
      arg->reach = more->reach[k];
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
  }
  kernel->type_list = type != NULL ? list : NULL;
  kernel->qualifier_list = qual != NULL ? quals : NULL;
  spirv_take_access(r, kernel->function, args);
  kernel->args = args;
  kernel->arg_count = f->param_count;
  uint32_t given = f->param_count;
  while (given > 0 && args[given - 1].size_of != 0)
    given--;
  kernel->size_count = f->param_count - given;
  for (uint32_t k = 0; k < f->param_count; k++)
    if (args[k].size_of > given)
      kernel->size_count = 0;
  return true;
}

/* Reads the sizes of OpExecutionMode and OpExecutionModeId. */
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

bool spirv_read_kernels(reader *r)
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
    const char *name = spirv_text_at(r, i, 3);
    if (name == NULL)
      return out_of_memory(r);
    int64_t n = function_of(r, word(i, 2));
    if (n < 0) {
      spirv_say(r->message, r->cap, "kernel %.80s has no function", name);
      return false;
    }
    function_info *more = &r->more[n];
    if (more->kernel != 0) {
      /* A function's second name shares everything, so that many names need no
         more memory than the module. */
      *kernel = kernels[more->kernel - 1];
      kernel->name = name;
      kernel->type_list = kernel->qualifier_list = NULL;
    } else {
      kernel->name = name;
      kernel->function = (uint32_t)n;
      memcpy(kernel->required_group, more->local_size,
             sizeof more->local_size);
      memcpy(kernel->group_hint, more->local_hint, sizeof more->local_hint);
      kernel->required_subgroup = more->subgroup;
      if (!read_args(r, kernel, &t))
        return false;
      spirv_reach(r, kernel, todo);
      more->kernel = (uint32_t)pub->kernel_count + 1;
    }
    size_t mark = sizeof SPIRV_LUA_ENTRY - 1;
    bool marked = strncmp(name, SPIRV_LUA_ENTRY, mark) == 0;
    kernel->label = name + (marked ? mark : 0);
    pub->kernel_count++;
  }
  return true;
}

bool spirv_read_spec_constants(reader *r)
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
    if (!spirv_name_of(r, k, &c->name))
      return false;
  }
  return true;
}
