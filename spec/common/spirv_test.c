/*
 * spirv_test.c - values that the reader of SPIR-V returns for modules.
 * SPDX-License-Identifier: MIT
 *
 * Runs in the top directory; reads the .spv files of kernels/ and modules that
 * are assembled here.
 */
#include "check.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------
 * Modules.
 */

typedef struct bytes {
  unsigned char *data;
  size_t size;
} bytes;

static bytes assemble(const char *text)
{
  bytes b = {NULL, 0};
  spv_binary binary = assembled(SPV_ENV_UNIVERSAL_1_6, text);
  b.size = binary->wordCount * 4;
  b.data = malloc(b.size);
  if (b.data == NULL)
    exit(2);
  memcpy(b.data, binary->code, b.size);
  spvBinaryDestroy(binary);
  return b;
}

static bytes read_file(const char *path)
{
  bytes b = {malloc(1 << 20), 0};
  FILE *file = fopen(path, "rb");
  if (file == NULL || b.data == NULL) {
    perror(path);
    exit(2);
  }
  b.size = fread(b.data, 1, 1 << 20, file);
  fclose(file);
  return b;
}

/* The start of every module here. */
#define HEAD \
  "OpCapability Addresses\n" \
  "OpCapability Kernel\n" \
  "OpCapability Linkage\n" \
  "OpCapability Int64\n" \
  "OpCapability Int16\n" \
  "OpCapability Int8\n" \
  "OpCapability Float64\n" \
  "OpCapability Vector16\n" \
  "%std = OpExtInstImport \"OpenCL.std\"\n" \
  "OpMemoryModel Physical64 OpenCL\n"

/* Types that most modules use. */
#define TYPES \
  "%void = OpTypeVoid\n" \
  "%bool = OpTypeBool\n" \
  "%uchar = OpTypeInt 8 0\n" \
  "%ushort = OpTypeInt 16 0\n" \
  "%uint = OpTypeInt 32 0\n" \
  "%ulong = OpTypeInt 64 0\n" \
  "%float = OpTypeFloat 32\n" \
  "%double = OpTypeFloat 64\n" \
  "%v3ulong = OpTypeVector %ulong 3\n" \
  "%c0 = OpConstant %uint 0\n" \
  "%c1 = OpConstant %uint 1\n" \
  "%c2 = OpConstant %uint 2\n" \
  "%c3 = OpConstant %uint 3\n" \
  "%c272 = OpConstant %uint 272\n" \
  "%l0 = OpConstant %ulong 0\n" \
  "%l4 = OpConstant %ulong 4\n" \
  "%gp = OpTypePointer CrossWorkgroup %float\n" \
  "%gip = OpTypePointer CrossWorkgroup %uint\n" \
  "%glp = OpTypePointer CrossWorkgroup %ulong\n" \
  "%fgp = OpTypePointer Function %gp\n" \
  "%flp = OpTypePointer Function %ulong\n" \
  "%inp = OpTypePointer Input %v3ulong\n" \
  "%wf = OpTypePointer Workgroup %float\n" \
  "%f1 = OpConstant %float 1\n"

static spirv_module *parse(const char *text)
{
  char message[200];
  bytes b = assemble(text);
  spirv_module *m = spirv_parse(b.data, b.size, message, sizeof message);
  free(b.data);
  if (m == NULL) {
    fprintf(stderr, "parse: %s\n", message);
    failures++;
  }
  return m;
}

/* ------------------------------------------------------------------------
 * The kernels of this project.
 */

static void check_saxpy(const spirv_module *m)
{
  CHECK_INT(m->version, 0x10000);
  CHECK_INT(m->address_bits, 64);
  CHECK_INT(m->words[0], 0x07230203);
  CHECK_INT(m->capability_count, 4);
  CHECK_INT(m->kernel_count, 1);
  CHECK_INT(m->has_imports, false);
  CHECK_INT(m->has_globals, false);
  CHECK(spirv_find(m, "none") == NULL);
  const spirv_kernel *k = spirv_find(m, "saxpy");
  CHECK(k == &m->kernels[0]);
  CHECK_TEXT(k->name, "saxpy");
  CHECK_INT(k->builtins, SPIRV_BUILTIN_GLOBAL_ID);
  CHECK_INT(k->features, 0);
  CHECK_INT(k->local_bytes, 0);
  CHECK_INT(k->required_group[0], 0);
  CHECK_INT(k->group_hint[0], 0);
  CHECK_INT(k->required_subgroup, 0);
  CHECK_INT(k->arg_count, 3);
  CHECK_TEXT(k->args[0].name, "a");
  CHECK_TEXT(k->args[0].source_type, "float");
  CHECK_INT(k->args[0].cls, SPIRV_ARG_VALUE);
  CHECK_INT(k->args[0].type.kind, SPIRV_KIND_FLOAT);
  CHECK_INT(k->args[0].type.bits, 32);
  CHECK_INT(k->args[0].type.lanes, 1);
  CHECK_INT(k->args[0].bytes, 4);
  CHECK_TEXT(k->args[1].name, "x");
  CHECK_TEXT(k->args[1].source_type, "float*");
  CHECK_INT(k->args[1].cls, SPIRV_ARG_POINTER);
  CHECK_INT(k->args[1].space, SPIRV_SPACE_GLOBAL);
  CHECK_INT(k->args[1].bytes, 8);
  CHECK_INT(k->args[1].type.bytes, 4);
  CHECK_INT(k->args[1].is_const, true);
  CHECK_INT(k->args[1].access, SPIRV_ACCESS_READ);
  CHECK_TEXT(k->args[2].name, "y");
  CHECK_INT(k->args[2].is_const, false);
  CHECK_INT(k->args[2].access, SPIRV_ACCESS_BOTH);

  /* The entry point calls the function that holds the body. */
  const spirv_function *f = &m->functions[k->function];
  CHECK_INT(m->function_count, 2);
  CHECK_INT(f->param_count, 3);
  CHECK_INT(f->callee_count, 1);
  CHECK_INT(f->imported, false);
  const spirv_function *body = &m->functions[f->callees[0]];
  CHECK_TEXT(body->name, "saxpy");
  CHECK_INT(body->callee_count, 0);
  CHECK_INT(m->instructions[body->first].opcode, 54 /* OpFunction */);
  CHECK_INT(m->instructions[body->first].result, body->id);
  CHECK_INT(m->instructions[body->first + body->count - 1].opcode,
            56 /* OpFunctionEnd */);
  CHECK_INT(m->instructions[body->first + 1].result, body->params[0]);
}

static void test_saxpy(void)
{
  char message[200];
  bytes b = read_file("kernels/saxpy.spv");
  spirv_module *m = spirv_parse(b.data, b.size, message, sizeof message);
  CHECK(m != NULL);
  check_saxpy(m);
  spirv_free(m);
  CHECK(spirv_validate(b.data, b.size, message, sizeof message));
  CHECK_TEXT(message, "");

  /* The other byte order, at an odd address. */
  unsigned char *other = malloc(b.size + 1);
  if (other == NULL)
    exit(2);
  for (size_t k = 0; k < b.size; k++)
    other[1 + k] = b.data[k ^ 3];
  m = spirv_parse(other + 1, b.size, message, sizeof message);
  CHECK(m != NULL);
  check_saxpy(m);
  spirv_free(m);
  CHECK(spirv_validate(other + 1, b.size, message, sizeof message));
  free(other);
  free(b.data);
}

static void test_histogram(void)
{
  char message[200];
  bytes b = read_file("kernels/histogram.spv");
  CHECK(spirv_validate(b.data, b.size, message, sizeof message));
  spirv_module *m = spirv_parse(b.data, b.size, message, sizeof message);
  free(b.data);
  const spirv_kernel *k = spirv_find(m, "histogram");
  CHECK(k != NULL);
  CHECK_INT(k->builtins,
            SPIRV_BUILTIN_GLOBAL_ID | SPIRV_BUILTIN_GLOBAL_SIZE |
            SPIRV_BUILTIN_LOCAL_ID | SPIRV_BUILTIN_GROUP_SIZE);
  CHECK_INT(k->features,
            SPIRV_USES_BARRIER | SPIRV_USES_LOCAL | SPIRV_USES_ATOMICS |
            SPIRV_HAS_LOOPS | SPIRV_SWEEPS_LOCAL | SPIRV_HAS_LONG_LOOPS);
  CHECK_INT(k->local_bytes, 1024);
  CHECK_INT(k->arg_count, 3);
  CHECK_TEXT(k->args[0].source_type, "uchar*");
  CHECK_INT(k->args[0].type.sign, SPIRV_SIGN_UNSIGNED);
  CHECK_INT(k->args[0].type.bits, 8);
  CHECK_INT(k->args[0].access, SPIRV_ACCESS_READ);
  CHECK_TEXT(k->args[1].name, "n");
  CHECK_INT(k->args[1].type.kind, SPIRV_KIND_INT);
  CHECK_INT(k->args[1].type.sign, SPIRV_SIGN_UNSIGNED);
  CHECK_INT(k->args[1].bytes, 4);
  CHECK_TEXT(k->args[2].source_type, "uint*");
  CHECK_INT(k->args[2].access, SPIRV_ACCESS_BOTH);
  spirv_free(m);
}

/* ------------------------------------------------------------------------
 * Arguments.
 */

static void test_classes(void)
{
  spirv_module *m = parse(
    HEAD
    "OpCapability GenericPointer\n"
    "OpCapability ImageBasic\n"
    "OpCapability Pipes\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpDecorate %s FuncParamAttr ByVal\n"
    "OpDecorate %c FuncParamAttr Sext\n"
    "OpDecorate %d FuncParamAttr Zext\n"
    "OpDecorate %ro FuncParamAttr NoWrite\n"
    "OpDecorate %nw NonWritable\n"
    "OpDecorate %na FuncParamAttr NoAlias\n"
    "OpDecorate %vo Volatile\n"
    "OpDecorate %packed CPacked\n"
    "OpName %s \"s\"\n"
    TYPES
    "%char_signed = OpTypeInt 8 1\n"
    "%half = OpTypeFloat 16\n"
    "%v3float = OpTypeVector %float 3\n"
    "%v16uchar = OpTypeVector %uchar 16\n"
    "%l3 = OpConstant %ulong 3\n"
    "%array = OpTypeArray %ushort %l3\n"
    "%struct = OpTypeStruct %uchar %v3float %array %gp\n"
    "%packed = OpTypeStruct %uchar %ulong\n"
    "%sp = OpTypePointer Function %struct\n"
    "%gs = OpTypePointer CrossWorkgroup %packed\n"
    "%cp = OpTypePointer UniformConstant %v16uchar\n"
    "%wp = OpTypePointer Workgroup %double\n"
    "%ep = OpTypePointer Generic %uint\n"
    "%gg = OpTypePointer CrossWorkgroup %gp\n"
    "%opaque = OpTypeOpaque \"thing\"\n"
    "%go = OpTypePointer CrossWorkgroup %opaque\n"
    "%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly\n"
    "%sampler = OpTypeSampler\n"
    "%event = OpTypeEvent\n"
    "%fn = OpTypeFunction %void %sp %uchar %ushort %char_signed %v3float "
    "%cp %wp %ep %gg %go %image %sampler %event %gs %gp %gp %gp %gp %packed "
    "%half\n"
    "%k = OpFunction %void None %fn\n"
    "%s = OpFunctionParameter %sp\n"
    "%c = OpFunctionParameter %uchar\n"
    "%d = OpFunctionParameter %ushort\n"
    "%e = OpFunctionParameter %char_signed\n"
    "%v = OpFunctionParameter %v3float\n"
    "%co = OpFunctionParameter %cp\n"
    "%lo = OpFunctionParameter %wp\n"
    "%ge = OpFunctionParameter %ep\n"
    "%pp = OpFunctionParameter %gg\n"
    "%op = OpFunctionParameter %go\n"
    "%im = OpFunctionParameter %image\n"
    "%sa = OpFunctionParameter %sampler\n"
    "%ev = OpFunctionParameter %event\n"
    "%pk = OpFunctionParameter %gs\n"
    "%ro = OpFunctionParameter %gp\n"
    "%nw = OpFunctionParameter %gp\n"
    "%na = OpFunctionParameter %gp\n"
    "%vo = OpFunctionParameter %gp\n"
    "%st = OpFunctionParameter %packed\n"
    "%ha = OpFunctionParameter %half\n"
    "%b = OpLabel\n"
    "%x1 = OpLoad %float %ro\n"
    "%x2 = OpLoad %float %nw\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  const spirv_kernel *k = spirv_find(m, "k");
  CHECK_INT(k->arg_count, 20);
  CHECK_INT(k->features, SPIRV_USES_LOCAL);
  const spirv_arg *a = k->args;
  /* uchar, float3 at 16, ushort[3] at 32, pointer at 40. */
  CHECK_TEXT(a->name, "s");
  CHECK_INT(a->cls, SPIRV_ARG_VALUE);
  CHECK_INT(a->space, SPIRV_SPACE_PRIVATE);
  CHECK_INT(a->type.kind, SPIRV_KIND_STRUCT);
  CHECK_INT(a->bytes, 48);
  a++;
  CHECK_TEXT(a->name, NULL);
  CHECK_TEXT(a->source_type, NULL);
  CHECK_INT(a->type.sign, SPIRV_SIGN_SIGNED);
  CHECK_INT(a->bytes, 1);
  a++;
  CHECK_INT(a->type.sign, SPIRV_SIGN_UNSIGNED);
  CHECK_INT(a->bytes, 2);
  a++;
  CHECK_INT(a->type.sign, SPIRV_SIGN_SIGNED);
  a++;
  CHECK_INT(a->type.kind, SPIRV_KIND_FLOAT);
  CHECK_INT(a->type.lanes, 3);
  CHECK_INT(a->bytes, 16);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_POINTER);
  CHECK_INT(a->space, SPIRV_SPACE_CONSTANT);
  CHECK_INT(a->type.lanes, 16);
  CHECK_INT(a->type.bytes, 16);
  CHECK_INT(a->type.sign, SPIRV_SIGN_UNKNOWN);
  CHECK_INT(a->is_const, true);
  CHECK_INT(a->bytes, 8);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_LOCAL);
  CHECK_INT(a->space, SPIRV_SPACE_LOCAL);
  CHECK_INT(a->type.bits, 64);
  CHECK_INT(a->bytes, 0);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_POINTER);
  CHECK_INT(a->space, SPIRV_SPACE_GENERIC);
  a++;
  CHECK_INT(a->type.kind, SPIRV_KIND_POINTER);
  CHECK_INT(a->type.bytes, 8);
  a++;
  CHECK_INT(a->type.kind, SPIRV_KIND_UNKNOWN);
  CHECK_INT(a->cls, SPIRV_ARG_POINTER);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_IMAGE);
  CHECK_INT(a->bytes, 8);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_SAMPLER);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_OTHER);
  CHECK_INT(a->bytes, 0);
  a++;
  CHECK_INT(a->type.kind, SPIRV_KIND_STRUCT);
  CHECK_INT(a->type.bytes, 9);
  a++;
  CHECK_INT(a->is_const, true);
  CHECK_INT(a->access, SPIRV_ACCESS_READ);
  a++;
  CHECK_INT(a->is_const, true);
  CHECK_INT(a->access, SPIRV_ACCESS_READ);
  a++;
  CHECK_INT(a->is_restrict, true);
  CHECK_INT(a->is_const, false);
  CHECK_INT(a->access, SPIRV_ACCESS_NONE);
  a++;
  CHECK_INT(a->is_volatile, true);
  a++;
  CHECK_INT(a->cls, SPIRV_ARG_VALUE);
  CHECK_INT(a->bytes, 9);
  a++;
  CHECK_INT(a->type.bits, 16);
  CHECK_INT(a->bytes, 2);
  spirv_free(m);
}

/* Strings of llvm-spirv override a module whose pointees are all bytes, as in
   modules made with opaque pointers. */
static void test_source_types(void)
{
  spirv_module *m = parse(
    HEAD
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpEntryPoint Kernel %j \"j\"\n"
    "%t = OpString \"kernel_arg_type.k.int,uint4,float3*,struct thing*,void*,"
    "long**,unsigned int*,double,mine*,\"\n"
    "%q = OpString \"kernel_arg_type_qual.k.,,const,restrict const,volatile,"
    ",,,,\"\n"
    "%u = OpString \"kernel_arg_type.j.int,int,\"\n"
    TYPES
    "%v4 = OpTypeVector %uint 4\n"
    "%bp = OpTypePointer CrossWorkgroup %uchar\n"
    "%bw = OpTypePointer Workgroup %uchar\n"
    "%fn = OpTypeFunction %void %uint %v4 %bp %bp %bp %bp %bw %uint %gip\n"
    "%fj = OpTypeFunction %void %uint\n"
    "%k = OpFunction %void None %fn\n"
    "%a1 = OpFunctionParameter %uint\n"
    "%a2 = OpFunctionParameter %v4\n"
    "%a3 = OpFunctionParameter %bp\n"
    "%a4 = OpFunctionParameter %bp\n"
    "%a5 = OpFunctionParameter %bp\n"
    "%a6 = OpFunctionParameter %bp\n"
    "%a7 = OpFunctionParameter %bw\n"
    "%a8 = OpFunctionParameter %uint\n"
    "%a9 = OpFunctionParameter %gip\n"
    "%b = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%j = OpFunction %void None %fj\n"
    "%b1 = OpFunctionParameter %uint\n"
    "%c = OpLabel\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  const spirv_arg *a = spirv_find(m, "k")->args;
  CHECK_TEXT(a[0].source_type, "int");
  CHECK_INT(a[0].type.sign, SPIRV_SIGN_SIGNED);
  CHECK_INT(a[1].type.sign, SPIRV_SIGN_UNSIGNED);
  CHECK_INT(a[1].type.lanes, 4);
  CHECK_INT(a[1].bytes, 16);
  CHECK_TEXT(a[2].source_type, "float3*");
  CHECK_INT(a[2].type.kind, SPIRV_KIND_FLOAT);
  CHECK_INT(a[2].type.lanes, 3);
  CHECK_INT(a[2].type.bytes, 16);
  CHECK_INT(a[2].is_const, true);
  CHECK_INT(a[3].type.kind, SPIRV_KIND_UNKNOWN);
  CHECK_INT(a[3].type.bytes, 0);
  CHECK_INT(a[3].is_const, true);
  CHECK_INT(a[3].is_restrict, true);
  CHECK_INT(a[4].type.kind, SPIRV_KIND_VOID);
  CHECK_INT(a[4].is_volatile, true);
  CHECK_INT(a[4].is_const, false);
  CHECK_INT(a[5].type.kind, SPIRV_KIND_POINTER);
  CHECK_INT(a[6].cls, SPIRV_ARG_LOCAL);
  CHECK_INT(a[6].type.sign, SPIRV_SIGN_UNSIGNED);
  CHECK_INT(a[6].type.bits, 32);
  /* The module takes precedence if the string contradicts it. */
  CHECK_TEXT(a[7].source_type, "double");
  CHECK_INT(a[7].type.kind, SPIRV_KIND_INT);
  CHECK_INT(a[7].bytes, 4);
  /* The program's own type name: typed pointers still give the type. */
  CHECK_TEXT(a[8].source_type, "mine*");
  CHECK_INT(a[8].type.kind, SPIRV_KIND_INT);
  CHECK_INT(a[8].type.bits, 32);
  /* A string with a different number of arguments is ignored. */
  const spirv_kernel *j = spirv_find(m, "j");
  CHECK_TEXT(j->args[0].source_type, NULL);
  CHECK_INT(j->args[0].type.sign, SPIRV_SIGN_UNKNOWN);
  spirv_free(m);
}

/* ------------------------------------------------------------------------
 * Accesses through pointers.
 */

/* Parses a function of `params` pointers to float, whose body uses %p1 to %p6,
   and checks how it accesses each of them ("rwbn-"). */
#define CHECK_ACCESS(body, expected) \
  check_access("", body, expected, __LINE__)

static void check_access(const char *before, const char *body,
                         const char *expected, int line)
{
  const char *parts[] = {
    HEAD
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpDecorate %gid BuiltIn GlobalInvocationId\n"
    "OpDecorate %import LinkageAttributes \"far\" Import\n"
    TYPES
    "%struct = OpTypeStruct %ulong %gp\n"
    "%fsp = OpTypePointer Function %struct\n"
    "%v4float = OpTypeVector %float 4\n"
    "%event = OpTypeEvent\n"
    "%ev0 = OpConstantNull %event\n"
    "%gid = OpVariable %inp Input\n"
    "%tile = OpVariable %wf Workgroup\n"
    "%fn = OpTypeFunction %void %gp %gp %gp %gp\n"
    "%f1p = OpTypeFunction %void %gp\n"
    "%f2p = OpTypeFunction %gp %gp %gp\n"
    "%fout = OpTypeFunction %void %fgp %gp\n"
    "%import = OpFunction %void None %f1p\n"
    "%im1 = OpFunctionParameter %gp\n"
    "OpFunctionEnd\n",
    before,
    "%k = OpFunction %void None %fn\n"
    "%p1 = OpFunctionParameter %gp\n"
    "%p2 = OpFunctionParameter %gp\n"
    "%p3 = OpFunctionParameter %gp\n"
    "%p4 = OpFunctionParameter %gp\n"
    "%entry = OpLabel\n",
    body,
    "OpReturn\n"
    "OpFunctionEnd\n"
  };
  char text[8192] = "";
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    strncat(text, parts[k], sizeof text - strlen(text) - 1);
  spirv_module *m = parse(text);
  if (m == NULL) {
    fprintf(stderr, "  at line %d\n", line);
    return;
  }
  const spirv_kernel *k = spirv_find(m, "k");
  char got[5] = "----";
  for (unsigned n = 0; n < 4; n++)
    got[n] = "-rwb"[k->args[n].access];
  check_text(got, expected, "access", line);
  spirv_free(m);
}

static void test_access(void)
{
  CHECK_ACCESS("", "----");
  CHECK_ACCESS("%a = OpLoad %float %p1\nOpStore %p2 %a\n", "rw--");
  CHECK_ACCESS("OpCopyMemory %p2 %p1\n", "rw--");
  CHECK_ACCESS("OpCopyMemorySized %p2 %p1 %l4\n", "rw--");
  /* Through chains, casts, phis and selects. */
  CHECK_ACCESS("%a = OpInBoundsPtrAccessChain %gp %p1 %l4\n"
               "%b = OpBitcast %gip %a\n"
               "%c = OpPtrAccessChain %gip %b %l4\n"
               "OpStore %c %c1\n", "w---");
  CHECK_ACCESS("%c = OpIEqual %bool %c0 %c1\n"
               "%a = OpSelect %gp %c %p1 %p2\n"
               "%b = OpLoad %float %a\n"
               "OpStore %p3 %b\n", "rrw-");
  CHECK_ACCESS("OpBranch %next\n"
               "%next = OpLabel\n"
               "%a = OpPhi %gp %p1 %entry %b %next\n"
               "%b = OpPtrAccessChain %gp %a %l4\n"
               "OpStore %b %f1\n"
               "%c = OpIEqual %bool %c0 %c1\n"
               "OpBranchConditional %c %next %last\n"
               "%last = OpLabel\n", "w---");
  /* Stored in a variable, as in unoptimised code, even as an integer. */
  CHECK_ACCESS("%v = OpVariable %fgp Function\n"
               "%w = OpVariable %fgp Function %p2\n"
               "OpStore %v %p1\n"
               "%a = OpLoad %gp %v\n"
               "%b = OpLoad %gp %w\n"
               "%c = OpLoad %float %a\n"
               "OpStore %b %c\n", "rw--");
  CHECK_ACCESS("%v = OpVariable %flp Function\n"
               "%a = OpConvertPtrToU %ulong %p1\n"
               "OpStore %v %a\n"
               "%b = OpLoad %ulong %v\n"
               "%c = OpIAdd %ulong %b %l4\n"
               "%d = OpConvertUToPtr %gp %c\n"
               "%e = OpLoad %float %d\n", "rrrr");
  CHECK_ACCESS("%v = OpVariable %fsp Function\n"
               "%w = OpVariable %fsp Function\n"
               "%a = OpInBoundsAccessChain %fgp %v %c1\n"
               "OpStore %a %p1\n"
               "OpCopyMemory %w %v\n"
               "%b = OpInBoundsAccessChain %fgp %w %c1\n"
               "%c = OpLoad %gp %b\n"
               "OpStore %c %f1\n", "w---");
  CHECK_ACCESS("%v = OpVariable %fsp Function\n"
               "%g = OpLoad %v3ulong %gid\n"
               "%i = OpCompositeExtract %ulong %g 0\n"
               "%z = OpUndef %struct\n"
               "%y = OpCompositeInsert %struct %i %z 0\n"
               "%x = OpCompositeInsert %struct %p2 %y 1\n"
               "OpStore %v %x\n"
               "%u = OpLoad %struct %v\n"
               "%t = OpCompositeExtract %gp %u 1\n"
               "%s = OpLoad %float %t\n", "-r--");
  /* A comparison is not an access and does not create a pointer. */
  CHECK_ACCESS("%a = OpConvertPtrToU %ulong %p1\n"
               "%b = OpConvertPtrToU %ulong %p2\n"
               "%c = OpIEqual %bool %a %b\n"
               "OpStore %p2 %f1\n", "-w--");
  /* Atomics. */
  CHECK_ACCESS("%a = OpBitcast %gip %p1\n"
               "%b = OpBitcast %gip %p2\n"
               "%c = OpBitcast %gip %p3\n"
               "%d = OpAtomicLoad %uint %a %c1 %c0\n"
               "OpAtomicStore %b %c1 %c0 %d\n"
               "%e = OpAtomicIAdd %uint %c %c1 %c0 %d\n", "rwb-");
  CHECK_ACCESS("%b = OpBitcast %gip %p4\n"
               "%e = OpAtomicCompareExchange %uint %b %c1 %c0 %c0 %c1 %c2\n",
               "---b");
  /* Library functions with pointers. */
  CHECK_ACCESS("%a = OpExtInst %v4float %std vloadn %l4 %p1 4\n"
               "OpBranch %x\n%x = OpLabel\n"
               "%b = OpExtInst %void %std vstoren %a %l4 %p2\n"
               "%c = OpExtInst %float %std fract %f1 %p3\n"
               "%d = OpExtInst %void %std prefetch %p4 %l4\n", "rwwr");
  CHECK_ACCESS("%a = OpGroupAsyncCopy %event %c2 %tile %p1 %l4 %l4 %ev0\n"
               "%b = OpGroupAsyncCopy %event %c2 %p2 %tile %l4 %l4 %ev0\n",
               "rw--");
  /* Stored in visible memory, so any access is possible. */
  CHECK_ACCESS("%a = OpBitcast %glp %p2\n"
               "%b = OpConvertPtrToU %ulong %p1\n"
               "OpStore %a %b\n", "bw--");
  /* Through a pointer from memory, which may be any of them. */
  CHECK_ACCESS("%g = OpBitcast %glp %p1\n"
               "%a = OpLoad %ulong %g\n"
               "%b = OpConvertUToPtr %gp %a\n"
               "OpStore %b %f1\n", "bwww");
  CHECK_ACCESS("%v = OpVariable %fgp Function\n"
               "%a = OpLoad %gp %v\n"
               "%b = OpLoad %float %a\n", "rrrr");
  /* Through calls: each call of a helper counts separately. */
  const char *helpers =
    "%get = OpFunction %void None %f1p\n"
    "%g1 = OpFunctionParameter %gp\n"
    "%gl = OpLabel\n"
    "%g2 = OpLoad %float %g1\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%put = OpFunction %void None %f1p\n"
    "%q1 = OpFunctionParameter %gp\n"
    "%ql = OpLabel\n"
    "%qv = OpVariable %fgp Function\n"
    "OpStore %qv %q1\n"
    "%q2 = OpLoad %gp %qv\n"
    "OpStore %q2 %f1\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%both = OpFunction %void None %f1p\n"
    "%o1 = OpFunctionParameter %gp\n"
    "%ol = OpLabel\n"
    "%o2 = OpFunctionCall %void %get %o1\n"
    "%o3 = OpFunctionCall %void %put %o1\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%first = OpFunction %gp None %f2p\n"
    "%i1 = OpFunctionParameter %gp\n"
    "%i2 = OpFunctionParameter %gp\n"
    "%il = OpLabel\n"
    "%i3 = OpPtrAccessChain %gp %i1 %l4\n"
    "OpReturnValue %i3\n"
    "OpFunctionEnd\n"
    "%setter = OpFunction %void None %fout\n"
    "%s1 = OpFunctionParameter %fgp\n"
    "%s2 = OpFunctionParameter %gp\n"
    "%sl = OpLabel\n"
    "OpStore %s1 %s2\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%loop = OpFunction %void None %f1p\n"
    "%r1 = OpFunctionParameter %gp\n"
    "%rl = OpLabel\n"
    "%r2 = OpFunctionCall %void %loop %r1\n"
    "OpReturn\n"
    "OpFunctionEnd\n";
  check_access(helpers,
               "%a = OpFunctionCall %void %get %p1\n"
               "%b = OpFunctionCall %void %put %p2\n"
               "%c = OpFunctionCall %void %both %p3\n", "rwb-", __LINE__);
  check_access(helpers,
               "%a = OpFunctionCall %gp %first %p1 %p2\n"
               "OpStore %a %f1\n", "w---", __LINE__);
  check_access(helpers,
               "%v = OpVariable %fgp Function\n"
               "%a = OpFunctionCall %void %setter %v %p1\n"
               "%b = OpLoad %gp %v\n"
               "%c = OpLoad %float %b\n", "brrr", __LINE__);
  check_access(helpers, "%a = OpFunctionCall %void %loop %p1\n", "bbbb",
               __LINE__);
  check_access(helpers, "%a = OpFunctionCall %void %import %p1\n", "bbbb",
               __LINE__);
  /* A declaration is trusted if the code cannot be followed: here p1 escapes
     and p2 is written by its address. */
  const char *declared =
    "OpDecorate %p1 FuncParamAttr NoWrite\n"
    "OpDecorate %p2 NonWritable\n"
    "OpDecorate %p3 FuncParamAttr NoReadWrite\n";
  check_access(declared,
               "%a = OpFunctionCall %void %import %p1\n"
               "%b = OpConvertPtrToU %ulong %p2\n"
               "%c = OpBitwiseOr %ulong %b %l4\n"
               "%d = OpConvertUToPtr %gp %c\n"
               "OpStore %d %f1\n", "rb-b", __LINE__);
  check_access(declared, "%a = OpFunctionCall %void %import %p3\n", "rr-b",
               __LINE__);
  /* The code overrides a declaration. */
  check_access(declared, "OpStore %p1 %f1\n"
                         "OpStore %p2 %f1\n"
                         "OpStore %p3 %f1\n", "bbw-", __LINE__);
  check_access(declared, "OpCopyMemory %p4 %p1\n"
                         "%e = OpLoad %float %p2\n", "rr-w", __LINE__);
  check_access(declared, "", "----", __LINE__);
}

/* ------------------------------------------------------------------------
 * Built-ins, features, call graphs, modes, constants.
 */

static void test_call_graph(void)
{
  spirv_module *m = parse(
    HEAD
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpEntryPoint Kernel %k \"also\"\n"
    "OpEntryPoint Kernel %j \"j\"\n"
    "OpEntryPoint Kernel %h \"h\"\n"
    "OpExecutionMode %k LocalSize 8 4 2\n"
    "OpExecutionMode %j LocalSizeHint 16 1 1\n"
    "OpExecutionMode %j SubgroupSize 8\n"
    "OpExecutionModeId %h LocalSizeId %c1 %c2 %c3\n"
    "OpName %deep \"deep\"\n"
    "OpDecorate %imported LinkageAttributes \"_Z14get_num_groupsj\" Import\n"
    "OpDecorate %far LinkageAttributes \"_Z3farv\" Import\n"
    "OpDecorate %deep LinkageAttributes \"deeper\" Export\n"
    "OpDecorate %gid BuiltIn GlobalInvocationId\n"
    "OpDecorate %gid LinkageAttributes \"gid\" Import\n"
    "OpDecorate %lin BuiltIn LocalInvocationIndex\n"
    "OpDecorate %grouped BuiltIn SubgroupId\n"
    "%grouped = OpDecorationGroup\n"
    "OpGroupDecorate %grouped %sub\n"
    TYPES
    "%gid = OpVariable %inp Input\n"
    "%inl = OpTypePointer Input %ulong\n"
    "%lin = OpVariable %inl Input\n"
    "%sub = OpVariable %inl Input\n"
    "%c100 = OpConstant %uint 100\n"
    "%arr = OpTypeArray %float %c100\n"
    "%warr = OpTypePointer Workgroup %arr\n"
    "%tile = OpVariable %warr Workgroup\n"
    "%tile2 = OpVariable %warr Workgroup\n"
    "%elem = OpSpecConstantOp %wf InBoundsPtrAccessChain %tile2 %c0 %c1\n"
    "%glob = OpVariable %gp CrossWorkgroup %f1\n"
    "%fn = OpTypeFunction %void\n"
    "%fi = OpTypeFunction %ulong %uint\n"
    "%imported = OpFunction %ulong None %fi\n"
    "%im1 = OpFunctionParameter %uint\n"
    "OpFunctionEnd\n"
    "%far = OpFunction %void None %fn\n"
    "OpFunctionEnd\n"
    "%k = OpFunction %void None %fn\n"
    "%kl = OpLabel\n"
    "%k1 = OpFunctionCall %void %mid\n"
    "%k2 = OpFunctionCall %void %mid\n"
    "%k3 = OpFunctionCall %void %deep\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%mid = OpFunction %void None %fn\n"
    "%ml = OpLabel\n"
    "%m1 = OpFunctionCall %void %deep\n"
    "%m2 = OpFunctionCall %ulong %imported %c0\n"
    "%m3 = OpLoad %ulong %lin\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%deep = OpFunction %void None %fn\n"
    "%dl = OpLabel\n"
    "%d1 = OpAccessChain %inl %gid %c0\n"
    "%d2 = OpLoad %ulong %d1\n"
    "OpStore %elem %f1\n"
    "OpControlBarrier %c2 %c2 %c272\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%j = OpFunction %void None %fn\n"
    "%jl = OpLabel\n"
    "%j1 = OpLoad %ulong %sub\n"
    "OpControlBarrier %c3 %c3 %c272\n"
    "%j2 = OpGroupIAdd %uint %c3 Reduce %c1\n"
    "%j3 = OpGroupIAdd %uint %c2 Reduce %c1\n"
    "%j4 = OpExtInst %uint %std printf %glob\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%h = OpFunction %void None %fn\n"
    "%hl = OpLabel\n"
    "%h1 = OpFunctionCall %void %far\n"
    "%h2 = OpLoad %float %glob\n"
    "%h3 = OpAtomicIIncrement %uint %gi %c1 %c0\n"
    "%gi = OpBitcast %gip %glob\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  CHECK_INT(m->kernel_count, 4);
  CHECK_INT(m->has_imports, true);
  CHECK_INT(m->has_exports, true);
  CHECK_INT(m->has_globals, true);
  const spirv_kernel *k = spirv_find(m, "k");
  CHECK_INT(k->builtins, SPIRV_BUILTIN_GLOBAL_ID | SPIRV_BUILTIN_NUM_GROUPS |
                         SPIRV_BUILTIN_LOCAL_LINEAR_ID);
  CHECK_INT(k->features, SPIRV_USES_BARRIER | SPIRV_USES_LOCAL |
                         SPIRV_READS_ID_IN_PARTS);
  CHECK_INT(k->local_bytes, 400); /* tile is never reached */
  CHECK_INT(k->required_group[0], 8);
  CHECK_INT(k->required_group[1], 4);
  CHECK_INT(k->required_group[2], 2);
  CHECK_INT(k->arg_count, 0);
  CHECK_INT(m->functions[k->function].callee_count, 2);
  const spirv_kernel *also = spirv_find(m, "also");
  CHECK_TEXT(also->name, "also");
  CHECK_INT(also->function, k->function);
  CHECK_INT(also->features, k->features);
  const spirv_kernel *j = spirv_find(m, "j");
  CHECK_INT(j->builtins, SPIRV_BUILTIN_SUBGROUP);
  CHECK_INT(j->features, SPIRV_USES_SUBGROUP_OPS | SPIRV_USES_GROUP_OPS |
                         SPIRV_USES_PRINTF);
  CHECK_INT(j->group_hint[0], 16);
  CHECK_INT(j->required_group[0], 0);
  CHECK_INT(j->required_subgroup, 8);
  CHECK_INT(j->local_bytes, 0);
  const spirv_kernel *h = spirv_find(m, "h");
  CHECK_INT(h->features, SPIRV_USES_UNKNOWN_CALL | SPIRV_USES_ATOMICS);
  CHECK_INT(h->required_group[0], 1);
  CHECK_INT(h->required_group[1], 2);
  CHECK_INT(h->required_group[2], 3);
  CHECK_TEXT(m->functions[0].name, "_Z14get_num_groupsj");
  CHECK_INT(m->functions[0].imported, true);
  CHECK_TEXT(m->functions[4].name, "deeper");
  spirv_free(m);
}

/* Functions that call each other: every kernel still gets all it reaches. */
static void test_recursion(void)
{
  spirv_module *m = parse(
    HEAD
    "OpEntryPoint Kernel %k \"k\"\n"
    "OpDecorate %gid BuiltIn WorkgroupId\n"
    TYPES
    "%gid = OpVariable %inp Input\n"
    "%fn = OpTypeFunction %void\n"
    "%k = OpFunction %void None %fn\n"
    "%kl = OpLabel\n"
    "%k1 = OpFunctionCall %void %a\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%a = OpFunction %void None %fn\n"
    "%al = OpLabel\n"
    "%a1 = OpFunctionCall %void %b\n"
    "OpReturn\n"
    "OpFunctionEnd\n"
    "%b = OpFunction %void None %fn\n"
    "%bl = OpLabel\n"
    "%b1 = OpFunctionCall %void %a\n"
    "%b2 = OpLoad %v3ulong %gid\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  CHECK_INT(m->kernels[0].builtins, SPIRV_BUILTIN_GROUP_ID);
  CHECK_INT(m->kernels[0].features, 0);
  spirv_free(m);
}

/* Debug information refers to functions and variables without using them. */
static void test_debug(void)
{
  spirv_module *m = parse(
    HEAD
    "OpExtension \"SPV_KHR_non_semantic_info\"\n"
    "%debug = OpExtInstImport \"OpenCL.DebugInfo.100\"\n"
    "%more = OpExtInstImport \"NonSemantic.Mine\"\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    "%name = OpString \"k\"\n"
    "OpDecorate %gid BuiltIn WorkgroupId\n"
    TYPES
    "%gid = OpVariable %inp Input\n"
    "%fn = OpTypeFunction %void\n"
    "%none = OpExtInst %void %debug DebugInfoNone\n"
    "%file = OpExtInst %void %debug DebugSource %name\n"
    "%unit = OpExtInst %void %debug DebugCompilationUnit 65536 5 %file "
    "OpenCL_C\n"
    "%type = OpExtInst %void %debug DebugTypeFunction FlagIsPublic %void\n"
    "%func = OpExtInst %void %debug DebugFunction %name %type %file 1 1 %unit "
    "%name FlagIsPublic 1 %k\n"
    "%var = OpExtInst %void %debug DebugGlobalVariable %name %type %file 1 1 "
    "%unit %name %gid FlagIsPublic\n"
    "%k = OpFunction %void None %fn\n"
    "%kl = OpLabel\n"
    "%k1 = OpExtInst %void %debug DebugScope %func\n"
    "%k2 = OpExtInst %void %debug DebugScope %var\n"
    "%k3 = OpExtInst %void %more 1 %k\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  CHECK_INT(m->kernels[0].features, 0);
  CHECK_INT(m->kernels[0].builtins, 0);
  spirv_free(m);
}

/* With 32-bit addresses, pointers in structs have 32 bits too.  An argument is
   still a host pointer. */
static void test_physical32(void)
{
  spirv_module *m = parse(
    "OpCapability Addresses\n"
    "OpCapability Kernel\n"
    "OpMemoryModel Physical32 OpenCL\n"
    "OpEntryPoint Kernel %k \"k\"\n"
    "%void = OpTypeVoid\n"
    "%float = OpTypeFloat 32\n"
    "%gp = OpTypePointer CrossWorkgroup %float\n"
    "%struct = OpTypeStruct %gp %float %gp\n"
    "%fs = OpTypePointer Function %struct\n"
    "%fgp = OpTypePointer Function %gp\n"
    "%fn = OpTypeFunction %void %fs %gp\n"
    "%k = OpFunction %void None %fn\n"
    "%a = OpFunctionParameter %fs\n"
    "%b = OpFunctionParameter %gp\n"
    "%l = OpLabel\n"
    "%v = OpVariable %fgp Function\n"
    "OpStore %v %b\n"
    "%w = OpLoad %gp %v\n"
    "%x = OpLoad %float %w\n"
    "OpReturn\n"
    "OpFunctionEnd\n");
  if (m == NULL)
    return;
  CHECK_INT(m->address_bits, 32);
  CHECK_INT(m->kernels[0].args[0].bytes, 12);
  CHECK_INT(m->kernels[0].args[1].bytes, 8);
  CHECK_INT(m->kernels[0].args[1].access, SPIRV_ACCESS_READ);
  spirv_free(m);
}

static void test_spec_constants(void)
{
  spirv_module *m = parse(
    HEAD
    "OpName %n \"n\"\n"
    "OpDecorate %n SpecId 7\n"
    "OpDecorate %t SpecId 3\n"
    "OpDecorate %f SpecId 4\n"
    "OpDecorate %l SpecId 9\n"
    "OpDecorate %c SpecId 11\n"
    TYPES
    "%n = OpSpecConstant %uint 42\n"
    "%t = OpSpecConstantTrue %bool\n"
    "%f = OpSpecConstant %float 1\n"
    "%l = OpSpecConstant %ulong 0x123456789abcdef0\n"
    "%c = OpSpecConstant %uchar 255\n");
  if (m == NULL)
    return;
  CHECK_INT(m->kernel_count, 0);
  CHECK_INT(m->spec_constant_count, 5);
  const spirv_spec_constant *c = m->spec_constants;
  CHECK_INT(c[0].spec_id, 7);
  CHECK_TEXT(c[0].name, "n");
  CHECK_INT(c[0].type.kind, SPIRV_KIND_INT);
  CHECK_INT(c[0].type.bits, 32);
  CHECK_INT(c[0].value, 42);
  CHECK_INT(c[1].spec_id, 3);
  CHECK_TEXT(c[1].name, NULL);
  CHECK_INT(c[1].type.kind, SPIRV_KIND_BOOL);
  CHECK_INT(c[1].value, 1);
  CHECK_INT(c[2].value, 0x3f800000);
  CHECK_INT(c[3].value, 0x123456789abcdef0);
  CHECK_INT(c[4].value, 255);
  spirv_free(m);
}

/* ------------------------------------------------------------------------
 * Refused modules.
 */

static void check_refused(const void *data, size_t size, const char *expected,
                          int line)
{
  char message[200];
  spirv_module *m = spirv_parse(data, size, message, sizeof message);
  checks++;
  if (m != NULL) {
    failures++;
    fprintf(stderr, "%s:%d: was not refused\n", __FILE__, line);
    spirv_free(m);
    return;
  }
  check_text(message, expected, "message", line);
}

static void test_refusals(void)
{
  check_refused(NULL, 0, "0 bytes are too few for a SPIR-V module", __LINE__);
  check_refused("abc", 3, "3 bytes are too few for a SPIR-V module", __LINE__);
  check_refused("abcdefghijklmnopqrstuv", 22,
                "22 bytes are not whole 32-bit words", __LINE__);
  check_refused("abcdefghijklmnopqrst", 20,
                "not SPIR-V: it does not start with the magic number",
                __LINE__);
  bytes b = read_file("kernels/saxpy.spv");
  char message[200]; /* the message of SPIRV-Tools; its end differs by
                        version */
  CHECK(spirv_parse(b.data, 100, message, sizeof message) == NULL);
  message[41] = '\0';
  CHECK_TEXT(message, "End of input reached while decoding OpEnt");
  unsigned char bound[4];
  memcpy(bound, b.data + 12, 4);
  memcpy(b.data + 12, "\xff\xff\xff\xff", 4);
  check_refused(b.data, b.size,
                "its id bound 4294967295 is above the 4194303 of SPIR-V",
                __LINE__);
  memcpy(b.data + 12, "\x05\0\0\0", 4);
  check_refused(b.data, b.size, "id 44 is not below the bound 5", __LINE__);
  memcpy(b.data + 12, bound, 4);
  /* A short message buffer is filled and terminated; a missing one is
     ignored. */
  char tiny[5];
  CHECK(spirv_parse(b.data, 3, tiny, sizeof tiny) == NULL);
  CHECK_TEXT(tiny, "3 by");
  CHECK(spirv_parse(b.data, 3, NULL, 0) == NULL);
  free(b.data);

  b = assemble("OpCapability Shader\n"
               "OpMemoryModel Logical GLSL450\n");
  check_refused(b.data, b.size,
                "not a module for OpenCL: its memory model is another",
                __LINE__);
  free(b.data);
  b = assemble("OpCapability Kernel\n");
  check_refused(b.data, b.size,
                "not a module for OpenCL: its memory model is missing",
                __LINE__);
  free(b.data);
  b = assemble(HEAD "OpEntryPoint Kernel %void \"k\"\n%void = OpTypeVoid\n");
  check_refused(b.data, b.size, "kernel k has no function", __LINE__);
  free(b.data);
  spirv_free(NULL);
}

static void test_validation(void)
{
  char message[200];
  CHECK(!spirv_validate("x", 1, message, sizeof message));
  CHECK_TEXT(message, "1 bytes are too few for a SPIR-V module");
  bytes b = assemble(HEAD TYPES);
  CHECK(spirv_validate(b.data, b.size, message, sizeof message));
  /* SPIR-V 1.4 is too new for any OpenCL, but valid. */
  b.data[5] = 0;
  b.data[6] = 1;
  b.data[5] = 4;
  CHECK(spirv_validate(b.data, b.size, message, sizeof message));
  free(b.data);
  b = assemble(HEAD "%v = OpTypeVector %f 2\n%f = OpTypeFloat 32\n");
  CHECK(!spirv_validate(b.data, b.size, message, sizeof message));
  CHECK(strstr(message, "OpTypeVector %float 2") != NULL);
  free(b.data);
}

int main(void)
{
  test_saxpy();
  test_histogram();
  test_classes();
  test_source_types();
  test_access();
  test_call_graph();
  test_recursion();
  test_debug();
  test_physical32();
  test_spec_constants();
  test_refusals();
  test_validation();
  printf("spirv: %d checks, %d failed\n", checks, failures);
  return failures != 0;
}
