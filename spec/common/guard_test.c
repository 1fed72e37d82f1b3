/*
 * guard_test.c - modules with guarded entry points, as the reader parses them.
 * SPDX-License-Identifier: MIT
 *
 * Runs in the top directory.  Arguments name other directories of modules to
 * check.  spec/driver/guard_test.c tests what guards do.
 */
#include "check.h"
#include "spirv.h"
#include "spirv_guard.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

static bool may_be_invalid; /* the current module */

/* ------------------------------------------------------------------------
 * Modules.
 */

static spirv_module *parse(const void *words, size_t size)
{
  char message[200];
  spirv_module *m = spirv_parse(words, size, message, sizeof message);
  if (m == NULL) {
    fprintf(stderr, "%s: %s\n", module_name, message);
    exit(2);
  }
  return m;
}

static spirv_module *assemble(const char *text)
{
  spv_binary binary = assembled(SPV_ENV_UNIVERSAL_1_6, text);
  /* Debian's assembler writes version 1.6 into every module; these are 1.2. */
  if (binary->code[1] > 0x10200 && strstr(text, "; 1.4") == NULL)
    binary->code[1] = 0x10200;
  else if (binary->code[1] > 0x10400)
    binary->code[1] = 0x10400;
  spirv_module *m = parse(binary->code, binary->wordCount * 4);
  spvBinaryDestroy(binary);
  return m;
}

/* Returns the module as text, which the caller frees. */
static char *disassemble(const spirv_module *m)
{
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  spv_text text = NULL;
  if (spvBinaryToText(context, m->words, m->word_count,
                      SPV_BINARY_TO_TEXT_OPTION_NO_HEADER, &text, NULL) !=
      SPV_SUCCESS)
    exit(2);
  char *copy = strdup(text->str);
  spvTextDestroy(text);
  spvContextDestroy(context);
  return copy;
}

/* Counts the occurrences of `part` in `text`. */
static int count_text(const char *text, const char *part)
{
  int n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

/* Returns the module with guards, which must be valid if the original is. */
static spirv_module *guard(const spirv_module *m, bool keep)
{
  char message[300];
  bool was = spirv_validate(m->words, m->word_count * 4, message,
                            sizeof message);
  size_t count = 0;
  uint32_t *words = spirv_guard(m, keep, &count);
  if (words == NULL) exit(2);
  CHECK_INT(was || may_be_invalid, true);
  if (was && !spirv_validate(words, count * 4, message, sizeof message)) {
    failures++;
    fprintf(stderr, "%s, keep = %d: %s\n", module_name, keep, message);
  }
  checks++;
  CHECK_INT(words[1], m->version);
  CHECK_INT(words[2], m->generator);
  spirv_module *g = parse(words, count * 4);
  free(words);
  return g;
}

static const spirv_kernel *guarded(const spirv_module *m, const char *name)
{
  char full[300];
  snprintf(full, sizeof full, SPIRV_GUARD_ENTRY "%s", name);
  return spirv_find(m, full);
}

/* Checks that an argument is as in the module without guards.  The reader need
   not follow a call to find what is beyond the entry point itself. */
static void check_argument(const spirv_arg *a, const spirv_arg *b)
{
  CHECK_TEXT(a->name, b->name);
  CHECK_TEXT(a->source_type, b->source_type);
  CHECK_INT(a->cls, b->cls);
  CHECK_INT(a->space, b->space);
  CHECK_INT(a->type.kind, b->type.kind);
  CHECK_INT(a->type.sign, b->type.sign);
  CHECK_INT(a->bytes, b->bytes);
  CHECK_INT(a->is_const, b->is_const);
  CHECK_INT(a->is_volatile, b->is_volatile);
  CHECK_INT(a->is_restrict, b->is_restrict);
  CHECK_INT(a->is_capture, b->is_capture);
  CHECK_INT(a->access, b->access);
}

static void check_kernel(const spirv_module *m, const spirv_kernel *a,
                         const spirv_kernel *b, bool has_guard)
{
  uint32_t more = has_guard ? SPIRV_GUARD_ARGUMENTS : 0;
  CHECK_INT(a->arg_count, b->arg_count + more);
  for (uint32_t i = 0; i < b->arg_count; i++)
    check_argument(&a->args[i], &b->args[i]);
  for (uint32_t i = b->arg_count; i < a->arg_count; i++) {
    CHECK_INT(a->args[i].cls, SPIRV_ARG_VALUE);
    CHECK_INT(a->args[i].type.kind, SPIRV_KIND_INT);
    CHECK_INT(a->args[i].type.lanes, 3);
    CHECK_INT(a->args[i].bytes, m->address_bits / 8 * 4);
    CHECK(a->args[i].name == NULL);
    if (b->type_list != NULL)
      CHECK_TEXT(a->args[i].source_type,
                 m->address_bits == 64 ? "ulong3" : "uint3");
  }
  for (int d = 0; d < 3; d++) {
    CHECK_INT(a->required_group[d], b->required_group[d]);
    CHECK_INT(a->group_hint[d], b->group_hint[d]);
  }
  CHECK_INT(a->required_subgroup, b->required_subgroup);
  CHECK_INT(a->features, b->features);
  CHECK_INT(a->local_bytes, b->local_bytes);
  CHECK_INT(a->builtins,
            b->builtins |
                (has_guard ? SPIRV_BUILTIN_GLOBAL_ID |
                                 SPIRV_BUILTIN_GROUP_ID |
                                 SPIRV_BUILTIN_GROUP_SIZE
                           : 0));
}

/* Checks that a guarded entry point tests each work-item only if its group is
   not full. */
static void check_branches(const spirv_module *m, const spirv_kernel *k)
{
  const spirv_function *f = &m->functions[k->function];
  const uint32_t *branches[3] = {NULL, NULL, NULL};
  int count = 0;
  for (uint32_t i = f->first; i < f->first + f->count && count < 3; i++)
    if (m->instructions[i].opcode == SpvOpBranchConditional)
      branches[count++] = m->instructions[i].words;
  CHECK_INT(count, 2);
  if (count != 2) return;
  CHECK_INT(branches[0][2], branches[1][2]);
  CHECK(branches[0][3] != branches[1][3]);
  CHECK(branches[0][3] != branches[0][2]);
}

/* Returns true if `id` is the variable of the global id, decorated directly or
   in a group of decorations. */
static bool is_global_id(const spirv_module *m, uint32_t id)
{
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpDecorate && in->words[1] == id &&
        in->words[2] == SpvDecorationBuiltIn)
      return in->words[3] == SpvBuiltInGlobalInvocationId;
    if (in->opcode != SpvOpGroupDecorate) continue;
    for (unsigned w = 2; w < in->word_count; w++)
      if (in->words[w] == id && is_global_id(m, in->words[1])) return true;
  }
  return false;
}

static const spirv_function *function_of(const spirv_module *m, uint32_t id)
{
  for (size_t i = 0; i < m->function_count; i++)
    if (m->functions[i].id == id) return &m->functions[i];
  return NULL;
}

/* Returns the kernel's function, which its guarded entry point calls. */
static const spirv_function *called_by(const spirv_module *m,
                                       const spirv_kernel *k)
{
  const spirv_function *f = &m->functions[k->function];
  CHECK_INT(f->callee_count, 1);
  return &m->functions[f->callees[0]];
}

/* Checks that a function adds its last parameter to the ids that it loads, and
   passes this parameter to functions that take one.  Returns true if it loads
   the id or calls a function that does. */
static bool check_shift(const spirv_module *m, const spirv_function *f,
                        bool *checked)
{
  bool shifted = false;
  size_t index = (size_t)(f - m->functions);
  if (checked[index]) return false;
  checked[index] = true;
  uint32_t last = f->param_count > 0 ? f->params[f->param_count - 1] : 0;
  for (uint32_t i = f->first; i < f->first + f->count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpLoad && is_global_id(m, in->words[3])) {
      shifted = true;
      CHECK_INT(in[1].opcode, SpvOpIAdd);
      CHECK_INT(in[1].result_type, in->result_type);
      CHECK_INT(in[1].words[3], in->result);
      CHECK_INT(in[1].words[4], last);
    } else if (in->opcode == SpvOpFunctionCall) {
      const spirv_function *to = function_of(m, in->words[3]);
      if (!check_shift(m, to, checked)) continue;
      shifted = true;
      CHECK_INT(in->words[in->word_count - 1], last);
    }
  }
  return shifted;
}

/* Checks that a guarded entry point passes on its arguments and, if the kernel
   uses the global ids, their start. */
static void check_first(const spirv_module *m, const spirv_kernel *k)
{
  const spirv_function *f = &m->functions[k->function];
  const spirv_function *kernel = called_by(m, k);
  bool *checked = calloc(m->function_count, sizeof *checked);
  if (checked == NULL) exit(2);
  bool shifted = check_shift(m, kernel, checked);
  free(checked);
  uint32_t own = f->param_count - SPIRV_GUARD_ARGUMENTS;
  CHECK_INT(kernel->param_count, own + shifted);
  for (uint32_t i = f->first; i < f->first + f->count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode != SpvOpFunctionCall) continue;
    for (uint32_t p = 0; p < own; p++)
      CHECK_INT(in->words[4 + p], f->params[p]);
    if (shifted)
      CHECK_INT(in->words[4 + own], f->params[own + SPIRV_GUARD_FIRST]);
  }
}

/* Checks the rules for every module; returns the number of guarded kernels. */
static size_t check_module(const spirv_module *m)
{
  size_t count = 0;
  for (size_t i = 0; i < m->kernel_count; i++)
    count += spirv_can_guard(m, &m->kernels[i]);
  for (int keep = 0; keep <= 1; keep++) {
    spirv_module *g = guard(m, keep);
    CHECK_INT(g->kernel_count, count + (keep ? m->kernel_count : 0));
    CHECK_INT(g->spec_constant_count, m->spec_constant_count);
    CHECK_INT(g->has_globals, m->has_globals);
    for (size_t i = 0; i < m->kernel_count; i++) {
      const spirv_kernel *k = &m->kernels[i];
      const spirv_kernel *plain = spirv_find(g, k->name);
      const spirv_kernel *with = guarded(g, k->name);
      CHECK_INT(with != NULL, spirv_can_guard(m, k));
      CHECK_INT(plain != NULL, keep);
      if (plain != NULL) check_kernel(m, plain, k, false);
      if (with == NULL) continue;
      check_kernel(m, with, k, true);
      check_branches(g, with);
      check_first(g, with);
      CHECK(!spirv_can_guard(g, with));
      /* No function has the kernel's name. */
      for (size_t f = 0; f < g->function_count; f++)
        CHECK(g->functions[f].name == NULL ||
              strcmp(g->functions[f].name, k->name) != 0);
    }
    spirv_free(g);
  }
  return count;
}

/* ------------------------------------------------------------------------
 * Modules of this project.
 */

static size_t check_directory(const char *path)
{
  DIR *dir = opendir(path);
  size_t count = 0;
  if (dir == NULL) {
    perror(path);
    exit(2);
  }
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    char name[400];
    if (strstr(e->d_name, ".spv") == NULL ||
        strstr(e->d_name, ".spvasm") != NULL)
      continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    static char bytes[1 << 20];
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
      perror(name);
      exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    module_name = name;
    spirv_module *m = parse(bytes, size);
    count += check_module(m);
    spirv_free(m);
    module_name = "";
  }
  closedir(dir);
  return count;
}

/* ------------------------------------------------------------------------
 * Modules written here.
 */

#define HEAD(capabilities) \
  "OpCapability Addresses\n" \
  "OpCapability Kernel\n" \
  "OpCapability Linkage\n" \
  "OpCapability Int64\n" \
  capabilities \
  "%std = OpExtInstImport \"OpenCL.std\"\n" \
  "OpMemoryModel Physical64 OpenCL\n"

#define TYPES \
  "%void = OpTypeVoid\n" \
  "%bool = OpTypeBool\n" \
  "%uint = OpTypeInt 32 0\n" \
  "%ulong = OpTypeInt 64 0\n" \
  "%float = OpTypeFloat 32\n" \
  "%v3ulong = OpTypeVector %ulong 3\n" \
  "%inp = OpTypePointer Input %v3ulong\n" \
  "%c2 = OpConstant %uint 2\n" \
  "%c3 = OpConstant %uint 3\n" \
  "%c272 = OpConstant %uint 272\n" \
  "%fn = OpTypeFunction %void\n"

/* A kernel that only does what `body` does. */
#define FUNCTION(name, body) \
  "%" name " = OpFunction %void None %fn\n" \
  "%l_" name " = OpLabel\n" body \
  "OpReturn\n" \
  "OpFunctionEnd\n"

/* Kernels that depend on their grouping, also in helper functions. */
static void test_refused(void)
{
  static const struct {
    const char *head, *body;
    bool can;
  } cases[] = {
    {"", "", true},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpLoad %v3ulong %v\n", true},
    {"OpDecorate %v BuiltIn WorkgroupId\n", "%x = OpLoad %v3ulong %v\n",
     false},
    {"OpDecorate %v BuiltIn WorkgroupSize\n", "%x = OpLoad %v3ulong %v\n",
     false},
    {"OpDecorate %v BuiltIn EnqueuedWorkgroupSize\n",
     "%x = OpLoad %v3ulong %v\n", false},
    {"OpDecorate %v BuiltIn LocalInvocationId\n", "%x = OpLoad %v3ulong %v\n",
     false},
    {"OpDecorate %v BuiltIn NumWorkgroups\n", "%x = OpLoad %v3ulong %v\n",
     false},
    {"OpDecorate %v BuiltIn GlobalSize\n", "%x = OpLoad %v3ulong %v\n", false},
    {"OpDecorate %v BuiltIn GlobalOffset\n", "%x = OpLoad %v3ulong %v\n",
     false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "OpControlBarrier %c2 %c2 %c272\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "OpControlBarrier %c3 %c3 %c272\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "OpMemoryBarrier %c2 %c272\n", true},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpGroupIAdd %uint %c2 Reduce %c2\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpGroupIAdd %uint %c3 Reduce %c2\n", false},
    {"OpDecorate %far LinkageAttributes \"far\" Import\n",
     "%x = OpFunctionCall %void %far\n", false},
    {"OpDecorate %far LinkageAttributes \"_Z12get_group_idj\" Import\n",
     "%x = OpFunctionCall %void %far\n", false},
    {"OpDecorate %far LinkageAttributes \"_Z13get_global_idj\" Import\n",
     "%x = OpFunctionCall %void %far\n", false},
    {"OpDecorate %far LinkageAttributes \"_Z12get_work_dimv\" Import\n",
     "%x = OpFunctionCall %void %far\n", true},
    /* The id, but not loaded as a whole. */
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpInBoundsAccessChain %part %v %c0\n"
     "%y = OpLoad %ulong %x\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpAccessChain %part %v %c0\n"
     "%y = OpLoad %ulong %x\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpCopyObject %inp %v\n"
     "%y = OpLoad %v3ulong %x\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "OpCopyMemory %here %v\n", false},
    {"OpDecorate %v BuiltIn GlobalInvocationId\n",
     "%x = OpLoad %ulong %chain\n", false},
    {"OpDecorate %all BuiltIn GlobalInvocationId\n"
     "%all = OpDecorationGroup\n"
     "OpGroupDecorate %all %v\n",
     "%x = OpLoad %ulong %chain\n", false},
    {"", "OpStore %tile %c2\n", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4000], name[30];
    bool far = strstr(cases[i].head, "%far") != NULL;
    snprintf(name, sizeof name, "case %lu", (unsigned long)i);
    module_name = name;
    const char *const parts[] = {
      HEAD("OpCapability Groups\n")
      "OpEntryPoint Kernel %k \"k\" %v\n"
      "OpEntryPoint Kernel %other \"other\"\n"
      "OpDecorate %v Constant\n",
      cases[i].head,
      TYPES
      "%v = OpVariable %inp Input\n"
      "%wp = OpTypePointer Workgroup %uint\n"
      "%tile = OpVariable %wp Workgroup\n"
      "%own = OpTypePointer Function %v3ulong\n"
      "%part = OpTypePointer Input %ulong\n"
      "%c0 = OpConstant %uint 0\n"
      "%chain = OpSpecConstantOp %part InBoundsAccessChain %v %c0\n",
      far ? "%far = OpFunction %void None %fn\nOpFunctionEnd\n" : "",
      "%deep = OpFunction %void None %fn\n"
      "%l_deep = OpLabel\n"
      "%here = OpVariable %own Function\n",
      cases[i].body,
      "OpReturn\n"
      "OpFunctionEnd\n"
      FUNCTION("helper", "%call_1 = OpFunctionCall %void %deep\n")
      FUNCTION("k", "%call_2 = OpFunctionCall %void %helper\n")
      FUNCTION("other", "")};
    text[0] = '\0';
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
      strcat(text, parts[k]);
    spirv_module *m = assemble(text);
    CHECK_INT(spirv_can_guard(m, spirv_find(m, "k")), cases[i].can);
    CHECK(spirv_can_guard(m, spirv_find(m, "other")));
    check_module(m);
    spirv_free(m);
  }
  module_name = "";
}

/* Old releases of llvm-spirv give entry points linkage. */
static void test_arguments(bool linked)
{
  module_name = linked ? "exported" : "arguments";
  may_be_invalid = linked;
  static char text_of[6000];
  snprintf(text_of, sizeof text_of, "%s%s%s",
    HEAD("OpCapability ImageBasic\n"
         "OpCapability Float16Buffer\n"
         "OpCapability Float64\n"
         "OpCapability Int8\n")
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpExecutionMode %k LocalSize 8 4 2\n"
    "OpExecutionMode %k VecTypeHint 4\n"
    "OpExecutionMode %k ContractionOff\n"
    "%types = OpString \"kernel_arg_type.k.struct s,uchar,half,double,"
    "float*,float*,image2d_t,sampler_t,float4,\"\n"
    "%quals = OpString \"kernel_arg_type_qual.k.,,,,const,volatile,,,,\"\n"
    "OpSource OpenCL_C 102000\n"
    "OpName %k \"k\"\n"
    "OpName %s \"s\"\n"
    "OpName %g1 \"g1\"\n"
    "OpModuleProcessed \"by hand\"\n"
    , linked ? "OpDecorate %k LinkageAttributes \"k\" Export\n" : "",
    "OpDecorate %s FuncParamAttr ByVal\n"
    "OpDecorate %c FuncParamAttr Zext\n"
    "OpDecorate %g1 FuncParamAttr NoCapture\n"
    "OpDecorate %g1 MaxByteOffset 64\n"
    "OpDecorate %both Restrict\n"
    "OpDecorate %both Alignment 16\n"
    "%both = OpDecorationGroup\n"
    "OpGroupDecorate %both %g1 %g2\n"
    "OpDecorate %g2 Volatile\n"
    TYPES
    "%uchar = OpTypeInt 8 0\n"
    "%half = OpTypeFloat 16\n"
    "%double = OpTypeFloat 64\n"
    "%v4float = OpTypeVector %float 4\n"
    "%struct = OpTypeStruct %uchar %v4float\n"
    "%sp = OpTypePointer Function %struct\n"
    "%gp = OpTypePointer CrossWorkgroup %float\n"
    "%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly\n"
    "%sampler = OpTypeSampler\n"
    "%all = OpTypeFunction %void %sp %uchar %half %double %gp %gp %image "
    "%sampler %v4float\n"
    "%k = OpFunction %void DontInline %all\n"
    "%s = OpFunctionParameter %sp\n"
    "%c = OpFunctionParameter %uchar\n"
    "%h = OpFunctionParameter %half\n"
    "%d = OpFunctionParameter %double\n"
    "%g1 = OpFunctionParameter %gp\n"
    "%g2 = OpFunctionParameter %gp\n"
    "%i = OpFunctionParameter %image\n"
    "%p = OpFunctionParameter %sampler\n"
    "%v = OpFunctionParameter %v4float\n"
    "%l = OpLabel\n"
    "%x = OpLoad %float %g1\n"
    "OpStore %g2 %x\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  spirv_module *m = assemble(text_of);
  CHECK_INT(check_module(m), 1);
  spirv_module *g = guard(m, true);
  CHECK_TEXT(guarded(g, "k")->type_list,
             "struct s,uchar,half,double,float*,float*,image2d_t,sampler_t,"
             "float4,ulong3,ulong3,");
  CHECK_TEXT(guarded(g, "k")->qualifier_list, ",,,,const,volatile,,,,,,");
  CHECK(guarded(g, "k")->args[4].is_restrict);
  CHECK(guarded(g, "k")->args[5].is_volatile);
  CHECK_INT(guarded(g, "k")->args[0].space, SPIRV_SPACE_PRIVATE);
  char *text = disassemble(g);
  CHECK_INT(count_text(text, "LinkageAttributes"), 0);
  CHECK_INT(count_text(text, "FuncParamAttr ByVal"), 3);
  CHECK_INT(count_text(text, "FuncParamAttr NoCapture"), 3);
  CHECK_INT(count_text(text, "MaxByteOffset 64"), 3);
  CHECK_INT(count_text(text, "OpGroupDecorate"), 1 + 4);
  CHECK_INT(count_text(text, "LocalSize 8 4 2"), 2);
  CHECK_INT(count_text(text, "VecTypeHint 4"), 2);
  CHECK_INT(count_text(text, "ContractionOff"), 2);
  CHECK_INT(count_text(text, "DontInline"), 0);
  CHECK_INT(count_text(text, " Inline %"), 1);
  free(text);
  spirv_free(g);
  spirv_free(m);
  module_name = "";
  may_be_invalid = false;
}

/* Counts the occurrences of `part` in the module with guards. */
static int count_in(const spirv_module *m, bool keep, const char *part)
{
  spirv_module *g = guard(m, keep);
  char *text = disassemble(g);
  int n = count_text(text, part);
  free(text);
  spirv_free(g);
  return n;
}

/* Line numbers, debug information and specialization constants are
   preserved. */
static void test_debug(void)
{
  module_name = "debug";
  spirv_module *m = assemble(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpCapability Int64\n"
    "%debug = OpExtInstImport \"OpenCL.DebugInfo.100\"\n"
    "OpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    "%name = OpString \"k\"\n"
    "%path = OpString \"k.cl\"\n"
    "OpSource OpenCL_C 102000 %path\n"
    "OpName %n \"n\"\n"
    "OpDecorate %n SpecId 7\n"
    TYPES
    "OpLine %path 1 1\n"
    "%n = OpSpecConstant %uint 42\n"
    "OpNoLine\n"
    "%none = OpExtInst %void %debug DebugInfoNone\n"
    "%file = OpExtInst %void %debug DebugSource %path\n"
    "%unit = OpExtInst %void %debug DebugCompilationUnit 65536 5 %file "
    "OpenCL_C\n"
    "%type = OpExtInst %void %debug DebugTypeFunction FlagIsPublic %void\n"
    "%func = OpExtInst %void %debug DebugFunction %name %type %file 1 1 %unit "
    "%name FlagIsPublic 1 %k\n"
    "OpLine %path 2 1\n"
    "%k = OpFunction %void None %fn\n"
    "%l = OpLabel\n"
    "OpLine %path 3 1\n"
    "%scope = OpExtInst %void %debug DebugScope %func\n"
    "%x = OpIAdd %uint %n %n\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  CHECK_INT(check_module(m), 1);
  CHECK_INT(count_in(m, true, "OpLine"), 3);
  CHECK_INT(count_in(m, true, "SpecId 7"), 1);
  CHECK_INT(count_in(m, true, "DebugScope"), 1);
  spirv_free(m);
  module_name = "";
}

/* A function with several names, functions with the same arguments, one of them
   with the arguments of a guarded entry point, and a kernel that calls
   another. */
static void test_several(void)
{
  module_name = "several";
  spirv_module *m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %a \"a\"\n"
    "OpEntryPoint Kernel %a \"also\"\n"
    "OpEntryPoint Kernel %b \"b\"\n"
    "OpEntryPoint Kernel %c \"c\"\n"
    "OpExecutionModeId %a LocalSizeId %c2 %c3 %c2\n"
    "OpExecutionMode %c LocalSizeHint 7 1 1\n"
    "%types = OpString \"kernel_arg_type.a.float*,\"\n"
    "%others = OpString \"kernel_arg_type.also.float*,\"\n"
    "OpName %named \"a\"\n"
    "OpName %x \"x\"\n"
    "OpDecorate %named LinkageAttributes \"a\" Export\n"
    "OpDecorate %other LinkageAttributes \"other\" Export\n"
    TYPES
    "%gp = OpTypePointer CrossWorkgroup %float\n"
    "%one = OpTypeFunction %void %gp\n"
    "%three = OpTypeFunction %void %gp %v3ulong %v3ulong\n"
    "%named = OpFunction %void DontInline %one\n"
    "%n1 = OpFunctionParameter %gp\n"
    "%nl = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%other = OpFunction %void DontInline %one\n"
    "%o1 = OpFunctionParameter %gp\n"
    "%ol = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%a = OpFunction %void None %one\n"
    "%x = OpFunctionParameter %gp\n"
    "%al = OpLabel\n"
    "%a1 = OpFunctionCall %void %named %x\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%b = OpFunction %void None %one\n"
    "%b1 = OpFunctionParameter %gp\n"
    "%bl = OpLabel\n"
    "%b2 = OpFunctionCall %void %other %b1\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%c = OpFunction %void None %three\n"
    "%c4 = OpFunctionParameter %gp\n"
    "%c5 = OpFunctionParameter %v3ulong\n"
    "%c6 = OpFunctionParameter %v3ulong\n"
    "%cl = OpLabel\n"
    "%c8 = OpFunctionCall %void %named %c4\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  CHECK_INT(check_module(m), 4);
  spirv_module *g = guard(m, true);
  CHECK_INT(guarded(g, "a")->function, guarded(g, "also")->function);
  CHECK_INT(spirv_find(g, "a")->function, spirv_find(g, "also")->function);
  CHECK_TEXT(guarded(g, "a")->type_list, "float*,ulong3,ulong3,");
  CHECK_INT(guarded(g, "also")->required_group[1], 3);
  CHECK_INT(g->function_count, 5 + 6);
  CHECK_INT(g->has_exports, true);
  spirv_free(g);
  CHECK_INT(count_in(m, true, "LocalSizeId"), 2);
  CHECK_INT(count_in(m, true, "OpTypeFunction"), 4);
  CHECK_INT(count_in(m, true, "LinkageAttributes"), 1);
  CHECK_INT(count_in(m, true, " Inline"), 4);
  CHECK_INT(count_in(m, true, "DontInline"), 1);
  CHECK_INT(count_in(m, false, "LocalSizeHint"), 1);
  CHECK_INT(count_in(m, false, "OpFunction "), 5 + 3);
  CHECK_INT(count_in(m, false, "OpULessThanEqual"), 9);
  CHECK_INT(count_in(m, false, "OpULessThan "), 9);
  spirv_free(m);

  /* A kernel that is not guarded is either unchanged or no longer a kernel. */
  module_name = "other kernels";
  may_be_invalid = true;
  m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %a \"a\" %v\n"
    "OpEntryPoint GLCompute %b \"b\"\n"
    "OpExecutionMode %a LocalSize 4 1 1\n"
    "OpName %a \"a\"\n"
    "OpName %b \"b\"\n"
    "OpDecorate %v BuiltIn WorkgroupId\n"
    TYPES
    "%v = OpVariable %inp Input\n"
    FUNCTION("a", "%x = OpLoad %v3ulong %v\n")
    FUNCTION("b", ""));
  CHECK_INT(check_module(m), 0);
  CHECK_INT(count_in(m, true, "OpEntryPoint"), 2);
  CHECK_INT(count_in(m, true, "LocalSize"), 1);
  CHECK_INT(count_in(m, true, "OpName"), 2);
  CHECK_INT(count_in(m, true, "OpFunction "), 2);
  CHECK_INT(count_in(m, false, "OpEntryPoint"), 0);
  CHECK_INT(count_in(m, false, "LocalSize"), 0);
  CHECK_INT(count_in(m, false, "OpName"), 1);
  CHECK_INT(count_in(m, false, "OpFunction "), 2);
  spirv_free(m);

  /* A function that must not be optimised may not be inlined. */
  module_name = "slow";
  m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %k \"k\"\n"
    TYPES
    "%k = OpFunction %void OptNoneINTEL|DontInline %fn\n"
    "%l = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  CHECK_INT(count_in(m, false, "DontInline"), 1);
  spirv_free(m);
  may_be_invalid = false;
  module_name = "";
}

static const spirv_function *named(const spirv_module *m, const char *name)
{
  for (size_t i = 0; i < m->function_count; i++)
    if (m->functions[i].name != NULL &&
        strcmp(m->functions[i].name, name) == 0)
      return &m->functions[i];
  CHECK_TEXT(NULL, name);
  return &m->functions[0];
}

/* Checks that calls in `f` pass zeros to add to the ids. */
static void check_zeros(const spirv_module *m, const spirv_function *f)
{
  for (uint32_t i = f->first; i < f->first + f->count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode != SpvOpFunctionCall) continue;
    uint32_t last = in->words[in->word_count - 1], zeros = 0;
    for (size_t k = 0; k < m->instruction_count; k++)
      if (m->instructions[k].opcode == SpvOpConstantNull)
        zeros = m->instructions[k].result;
    CHECK_INT(last, zeros);
  }
}

/* Functions that read the id, directly or through other functions, with and
   without parameters, called from guarded kernels and from one that is not. */
static void test_shifted(void)
{
  module_name = "shifted";
  spirv_module *m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %a \"a\" %v\n"
    "OpEntryPoint Kernel %b \"b\" %v\n"
    "OpEntryPoint Kernel %c \"c\" %v\n"
    "OpEntryPoint Kernel %d \"d\"\n"
    "%path = OpString \"k.cl\"\n"
    "OpName %c \"c\"\n"
    "OpName %near \"near\"\n"
    "OpName %far \"far\"\n"
    "OpName %bare \"bare\"\n"
    "OpName %unused \"unused\"\n"
    "OpDecorate %v BuiltIn GlobalInvocationId\n"
    TYPES
    "%v = OpVariable %inp Input\n"
    "%get = OpTypeFunction %ulong %uint %ulong\n"
    FUNCTION("farthest", "%farthest_x = OpFunctionCall %void %farther\n")
    FUNCTION("farther", "%farther_x = OpFunctionCall %void %far\n")
    "%far = OpFunction %void None %fn\n"
    "%far_l = OpLabel\n"
    "%far_x = OpFunctionCall %void %near\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%near = OpFunction %void None %fn\n"
    "OpLine %path 3 1\n"
    "%near_l = OpLabel\n"
    "%near_x = OpLoad %v3ulong %v Aligned 32\n"
    "%near_y = OpCompositeExtract %ulong %near_x 2\n"
    "%near_z = OpFunctionCall %ulong %add %c3 %near_y\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%add = OpFunction %ulong Pure %get\n"
    "%add_d = OpFunctionParameter %uint\n"
    "%add_n = OpFunctionParameter %ulong\n"
    "%add_l = OpLabel\n"
    "%add_x = OpLoad %v3ulong %v\n"
    "%add_y = OpLoad %v3ulong %v\n"
    "%add_i = OpVectorExtractDynamic %ulong %add_x %add_d\n"
    "OpReturnValue %add_i\n"
    "OpFunctionEnd\n"
    FUNCTION("bare", "")
    "%unused = OpFunction %ulong None %get\n"
    "OpLine %path 7 1\n"
    "%unused_d = OpFunctionParameter %uint\n"
    "OpLine %path 8 1\n"
    "%unused_n = OpFunctionParameter %ulong\n"
    "OpNoLine\n"
    "%unused_l = OpLabel\n"
    "%unused_x = OpLoad %v3ulong %v\n"
    "OpReturnValue %unused_n\n"
    "OpFunctionEnd\n"
    FUNCTION("a", "%ax = OpFunctionCall %void %farthest\n"
                  "%ay = OpFunctionCall %void %bare\n")
    FUNCTION("b", "%bx = OpLoad %v3ulong %v\n"
                  "%by = OpFunctionCall %void %near\n")
    FUNCTION("c", "OpControlBarrier %c2 %c2 %c272\n"
                  "%cx = OpLoad %v3ulong %v\n"
                  "%cy = OpFunctionCall %void %far\n")
    FUNCTION("d", "%dx = OpFunctionCall %void %bare\n"));
  CHECK_INT(check_module(m), 3);
  spirv_module *g = guard(m, true);
  CHECK_INT(named(g, "far")->param_count, 1);
  CHECK_INT(named(g, "near")->param_count, 1);
  CHECK_INT(named(g, "bare")->param_count, 0);
  CHECK_INT(called_by(g, guarded(g, "a"))->param_count, 1);
  CHECK_INT(called_by(g, guarded(g, "b"))->param_count, 1);
  CHECK_INT(called_by(g, guarded(g, "d"))->param_count, 0);
  /* Kernels that are kept use the ids as the driver gives them. */
  const spirv_function *c = named(g, "c");
  CHECK_INT(c->param_count, 0);
  CHECK_INT(c->id, g->functions[spirv_find(g, "c")->function].id);
  check_zeros(g, c);
  check_zeros(g, &g->functions[spirv_find(g, "a")->function]);
  check_zeros(g, &g->functions[spirv_find(g, "b")->function]);
  spirv_free(g);
  CHECK_INT(count_in(m, true, "OpIAdd"), 1 + 2 + 1 + 1 + 3 * 3);
  CHECK_INT(count_in(m, true, "Aligned 32"), 1);
  CHECK_INT(count_in(m, true, "OpConstantNull"), 1);
  /* If the kernel is dropped, its function takes a parameter like any other. */
  CHECK_INT(count_in(m, false, "OpIAdd"), 1 + 2 + 1 + 1 + 1 + 3 * 3);
  CHECK_INT(count_in(m, false, "OpLoad"), 6 + 3 * 3);
  spirv_free(m);
  module_name = "";
}

/* clang's kernels call a function that has the kernel's name.  llvm-spirv takes
   it for the kernel, so the name must go. */
static void test_wrapped(void)
{
  module_name = "wrapped";
  may_be_invalid = true; /* an exported function then has no name */
  spirv_module *m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %a \"a\" %v\n"
    "OpEntryPoint Kernel %c \"c\" %v\n"
    "OpName %in_a \"a\"\n"
    "OpName %in_c \"c\"\n"
    "OpName %c \"c\"\n"
    "OpDecorate %in_c LinkageAttributes \"c\" Export\n"
    "OpDecorate %v BuiltIn GlobalInvocationId\n"
    TYPES
    "%v = OpVariable %inp Input\n"
    FUNCTION("in_a", "%ax = OpLoad %v3ulong %v\n")
    FUNCTION("in_c", "OpControlBarrier %c2 %c2 %c272\n"
                     "%cx = OpLoad %v3ulong %v\n")
    FUNCTION("a", "%ay = OpFunctionCall %void %in_a\n")
    FUNCTION("c", "%cy = OpFunctionCall %void %in_c\n"));
  CHECK_INT(check_module(m), 1);
  CHECK_INT(count_in(m, true, "OpName"), 1);
  CHECK_INT(count_in(m, true, "LinkageAttributes"), 0);
  spirv_module *g = guard(m, true);
  CHECK_INT(named(g, "c")->id, g->functions[spirv_find(g, "c")->function].id);
  spirv_free(g);
  CHECK_INT(count_in(m, false, "OpName"), 0);
  spirv_free(m);
  may_be_invalid = false;
  module_name = "";
}

/* A module whose only kernel cannot be guarded loses it if kernels are
   dropped. */
static void test_nothing_left(void)
{
  module_name = "nothing left";
  spirv_module *m = assemble(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpCapability Int64\n"
    "OpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    TYPES
    FUNCTION("k", "OpControlBarrier %c2 %c2 %c272\n"));
  CHECK_INT(check_module(m), 0);
  CHECK_INT(count_in(m, true, "OpCapability Linkage"), 0);
  CHECK_INT(count_in(m, false, "OpCapability Linkage"), 1);
  spirv_free(m);
  module_name = "";
}

/* Guards use the module's own built-in variables. */
static void test_inputs(void)
{
  static const struct {
    const char *name, *head, *type;
    int ids, groups, linked; /* variables of the global and the group id */
  } cases[] = {
    {"plain", "OpDecorate %v BuiltIn WorkgroupId\n"
              "OpDecorate %w BuiltIn GlobalInvocationId\n", "%inp", 1, 1, 0},
    {"linked",
     "OpDecorate %v LinkageAttributes \"__spirv_BuiltInWorkgroupId\" Import\n"
     "OpDecorate %v BuiltIn WorkgroupId\n"
     "OpDecorate %w LinkageAttributes \"w\" Import\n"
     "OpDecorate %w BuiltIn GlobalInvocationId\n", "%inp", 1, 1, 3},
    {"in a group", "OpDecorate %all BuiltIn GlobalInvocationId\n"
                   "OpDecorate %all Constant\n"
                   "%all = OpDecorationGroup\n"
                   "OpGroupDecorate %all %w\n"
                   "OpDecorate %v BuiltIn WorkgroupId\n", "%inp", 1, 1, 0},
    {"of another type", "OpDecorate %v BuiltIn WorkgroupId\n"
                        "OpDecorate %w BuiltIn GlobalInvocationId\n",
     "%inw", 1, 2, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4000] = "";
    const char *const parts[] = {
      HEAD("")
      "OpEntryPoint Kernel %k \"k\" %w\n"
      "OpEntryPoint Kernel %j \"j\" %v\n",
      cases[i].head,
      TYPES
      "%v3uint = OpTypeVector %uint 3\n"
      "%inw = OpTypePointer Input %v3uint\n"
      "%v = OpVariable ", cases[i].type, " Input\n"
      "%w = OpVariable %inp Input\n"
      FUNCTION("k", "%x = OpLoad %v3ulong %w\n"),
      i == 3 ? FUNCTION("j", "%y = OpLoad %v3uint %v\n")
             : FUNCTION("j", "%y = OpLoad %v3ulong %v\n")};
    module_name = cases[i].name;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
      strcat(text, parts[k]);
    spirv_module *m = assemble(text);
    CHECK_INT(check_module(m), 1);
    CHECK_INT(count_in(m, true, "BuiltIn GlobalInvocationId"), cases[i].ids);
    CHECK_INT(count_in(m, true, "BuiltIn WorkgroupId"), cases[i].groups);
    CHECK_INT(count_in(m, true, "BuiltIn GlobalOffset"), 0);
    CHECK_INT(count_in(m, true, "BuiltIn WorkgroupSize"), 1);
    CHECK_INT(count_in(m, true, "LinkageAttributes"), cases[i].linked);
    if (i == 0) CHECK_INT(count_in(m, true, " Constant\n"), 1);
    spirv_free(m);
  }
  module_name = "";
}

/* Modules that lack types for a guard, have 32-bit addresses, or list all
   variables of an entry point. */
static void test_kinds(void)
{
  module_name = "without types";
  spirv_module *m = assemble(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    "%types = OpString \"kernel_arg_type.k.uint,\"\n"
    "%void = OpTypeVoid\n"
    "%uint = OpTypeInt 32 0\n"
    "%fn = OpTypeFunction %void %uint\n"
    "%k = OpFunction %void None %fn\n"
    "%n = OpFunctionParameter %uint\n"
    "%l = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  CHECK_INT(check_module(m), 1);
  CHECK_INT(count_in(m, false, "OpCapability Int64"), 1);
  CHECK_INT(count_in(m, false, "LinkageAttributes"), 0);
  spirv_free(m);

  module_name = "32 bits";
  m = assemble(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpMemoryModel Physical32 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\" %v\n"
    "%types = OpString \"kernel_arg_type.k.uint,\"\n"
    "OpDecorate %v BuiltIn GlobalInvocationId\n"
    "%void = OpTypeVoid\n"
    "%uint = OpTypeInt 32 0\n"
    "%v3uint = OpTypeVector %uint 3\n"
    "%inp = OpTypePointer Input %v3uint\n"
    "%v = OpVariable %inp Input\n"
    "%fn = OpTypeFunction %void %uint\n"
    "%k = OpFunction %void None %fn\n"
    "%n = OpFunctionParameter %uint\n"
    "%l = OpLabel\n"
    "%x = OpLoad %v3uint %v\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  CHECK_INT(check_module(m), 1);
  CHECK_INT(count_in(m, false, "OpCapability Int64"), 0);
  CHECK_INT(count_in(m, false, "BuiltIn GlobalInvocationId"), 1);
  spirv_module *g = guard(m, false);
  CHECK_TEXT(guarded(g, "k")->type_list, "uint,uint3,uint3,");
  CHECK_INT(guarded(g, "k")->args[2].bytes, 16);
  spirv_free(g);
  spirv_free(m);

  /* Ids and sizes of different widths, which no driver provides. */
  module_name = "32 bits, wide ids";
  may_be_invalid = true;
  m = assemble(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpCapability Int64\n"
    "OpMemoryModel Physical32 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\" %v\n"
    "OpDecorate %v BuiltIn GlobalInvocationId\n"
    TYPES
    "%v = OpVariable %inp Input\n"
    FUNCTION("k", "%x = OpLoad %v3ulong %v\n"));
  CHECK_INT(check_module(m), 0);
  spirv_free(m);
  may_be_invalid = false;

  module_name = "1.4";
  m = assemble(
    "; 1.4\n"
    HEAD("")
    "OpEntryPoint Kernel %k \"k\" %v %global\n"
    "OpDecorate %v BuiltIn GlobalInvocationId\n"
    TYPES
    "%gp = OpTypePointer CrossWorkgroup %uint\n"
    "%global = OpVariable %gp CrossWorkgroup %c2\n"
    "%v = OpVariable %inp Input\n"
    FUNCTION("k", "%x = OpLoad %v3ulong %v\n"
                  "OpStore %global %c3\n"));
  CHECK_INT(m->version, 0x10400);
  CHECK_INT(check_module(m), 1);
  spirv_free(m);
  module_name = "";
}

/* Modules in which no kernel can be guarded. */
static void test_hopeless(void)
{
  may_be_invalid = true;
  static const struct {
    const char *name, *start, *model, *entry, *other;
  } cases[] = {
    {"logical", "", "Logical", "k", ""},
    {"VectorComputeINTEL", "OpCapability VectorComputeINTEL\n", "Physical64",
     "k", ""},
    {"DeviceEnqueue", "OpCapability DeviceEnqueue\n", "Physical64", "k", ""},
    {"FunctionPointersINTEL", "OpCapability FunctionPointersINTEL\n",
     "Physical64", "k", ""},
    {"guarded", "", "Physical64", "lze_guarded_k", ""},
    {"guarded by somebody", "", "Physical64", "k",
     "OpEntryPoint Kernel %k \"lze_guarded_k\"\n"}};
  for (size_t i = 0; i <= sizeof cases / sizeof *cases; i++) {
    bool last = i == sizeof cases / sizeof *cases; /* this one can be guarded */
    char text[4000] = "";
    const char *const parts[] = {
      "OpCapability Addresses\n"
      "OpCapability Kernel\n"
      "OpCapability Linkage\n"
      "OpCapability Int64\n",
      last ? "" : cases[i].start,
      "OpMemoryModel ", last ? "Physical64" : cases[i].model, " OpenCL\n"
      "OpEntryPoint Kernel %k \"", last ? "k" : cases[i].entry, "\"\n",
      last ? "" : cases[i].other,
      TYPES
      FUNCTION("k", "")};
    module_name = last ? "hopeful" : cases[i].name;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
      strcat(text, parts[k]);
    spirv_module *m = assemble(text);
    CHECK_INT(spirv_can_guard(m, &m->kernels[0]), last);
    for (int keep = 0; keep <= 1; keep++) {
      spirv_module *g = guard(m, keep);
      CHECK_INT(g->kernel_count,
                (keep ? m->kernel_count : 0) + (last ? 1 : 0));
      spirv_free(g);
    }
    spirv_free(m);
  }
  module_name = "";
  may_be_invalid = false;
}

/* Checks an assembled module, of which `count` kernels have guards. */
static void check_assembled(const char *name, const char *text, size_t count)
{
  module_name = name;
  spirv_module *m = assemble(text);
  CHECK_INT(check_module(m), count);
  spirv_free(m);
}

/* Kernels that cannot be guarded, and exported or imported names. */
static void test_odd(void)
{
  may_be_invalid = true;
  check_assembled(
    "without a body",
    HEAD("")
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpName %k \"mem_fence\"\n"
    TYPES
    "%k = OpFunction %void None %fn\n"
    "OpFunctionEnd\n", 0);

  check_assembled(
    "with a result",
    HEAD("")
    "OpEntryPoint Kernel %k \"k\"\n"
    TYPES
    "%number = OpTypeFunction %uint\n"
    "%k = OpFunction %uint None %number\n"
    "%l = OpLabel\n"
    "OpReturnValue %c2\n"
    "OpFunctionEnd\n", 0);

  module_name = "linkage in a group";
  spirv_module *m = assemble(
    HEAD("")
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpEntryPoint Kernel %j \"j\"\n"
    "OpDecorate %exported LinkageAttributes \"k\" Export\n"
    "%exported = OpDecorationGroup\n"
    "OpGroupDecorate %exported %k %j\n"
    "OpDecorate %import LinkageAttributes \"j\" Import\n"
    TYPES
    "%import = OpFunction %void None %fn\n"
    "OpFunctionEnd\n"
    FUNCTION("k", "")
    FUNCTION("j", "%x = OpFunctionCall %void %import\n"));
  CHECK_INT(spirv_can_guard(m, spirv_find(m, "k")), true);
  CHECK_INT(spirv_can_guard(m, spirv_find(m, "j")), false);
  spirv_module *g = guard(m, false);
  for (size_t i = 0; i < g->function_count; i++)
    CHECK_TEXT(g->functions[i].name, i == 0 ? "j" : NULL);
  spirv_free(g);
  spirv_free(m);
  module_name = "";
  may_be_invalid = false;
}

/* The maximum of parameters that SPIR-V guarantees, and one more; a long
   name. */
static void test_limits(void)
{
  for (int n = 253; n <= 254; n++) {
    static char text[40000], name[30];
    snprintf(name, sizeof name, "%d parameters", n);
    module_name = name;
    strcpy(text, HEAD("") "OpEntryPoint Kernel %k \"k\"\n" TYPES
                 "%t = OpTypeFunction %void");
    for (int i = 0; i < n; i++) strcat(text, " %uint");
    strcat(text, "\n%k = OpFunction %void None %t\n");
    for (int i = 0; i < n; i++)
      sprintf(text + strlen(text), "%%p%d = OpFunctionParameter %%uint\n", i);
    strcat(text, "%l = OpLabel\nOpReturn\nOpFunctionEnd\n");
    spirv_module *m = assemble(text);
    CHECK_INT(check_module(m), n == 253);
    spirv_free(m);
  }
  for (int n = 60000; n <= 60001; n++) {
    static char text[70000];
    module_name = n == 60000 ? "long name" : "longer name";
    strcpy(text, HEAD("") "OpEntryPoint Kernel %k \"");
    size_t at = strlen(text);
    memset(text + at, 'k', (size_t)n);
    strcpy(text + at + n, "\"\n" TYPES FUNCTION("k", ""));
    spirv_module *m = assemble(text);
    CHECK_INT(spirv_can_guard(m, &m->kernels[0]), n == 60000);
    spirv_module *g = guard(m, false);
    CHECK_INT(g->kernel_count, n == 60000);
    spirv_free(g);
    spirv_free(m);
  }
  module_name = "";
}

int main(int argc, char **argv)
{
  may_be_invalid = true;
  for (int i = 1; i < argc; i++) check_directory(argv[i]);
  may_be_invalid = false;
  CHECK(check_directory("kernels") > 10);
  CHECK(check_directory("bench/kernels") > 20);
  check_directory("spec/driver/kernels");
  test_refused();
  test_arguments(false);
  test_arguments(true);
  test_debug();
  test_several();
  test_shifted();
  test_wrapped();
  test_nothing_left();
  test_inputs();
  test_kinds();
  test_hopeless();
  test_odd();
  test_limits();
  printf("guard: %d checks, %d failed\n", checks, failures);
  return failures != 0;
}
