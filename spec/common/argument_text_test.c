/*
 * argument_text_test.c - argument information from LLVM text, added to SPIR-V.
 * SPDX-License-Identifier: MIT
 */
#include "argument_text.h"
#include "check.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As LLVM's own writer prints it: every pointer points to bytes. */
static const char assembly[] =
  "OpCapability Addresses\n"
  "OpCapability Kernel\n"
  "OpCapability Int8\n"
  "OpMemoryModel Physical64 OpenCL\n"
  "OpEntryPoint Kernel %f \"f\"\n"
  "OpEntryPoint Kernel %g \"g\\\"\"\n"
  "OpExecutionMode %f ContractionOff\n"
  "OpSource OpenCL_C 102000\n"
  "OpName %a \"a\"\n"
  "%void = OpTypeVoid\n"
  "%uchar = OpTypeInt 8 0\n"
  "%uint = OpTypeInt 32 0\n"
  "%gp = OpTypePointer CrossWorkgroup %uchar\n"
  "%lp = OpTypePointer Workgroup %uchar\n"
  "%tf = OpTypeFunction %void %gp %lp %uint %gp\n"
  "%tg = OpTypeFunction %void %gp\n"
  "%f = OpFunction %void None %tf\n"
  "%a = OpFunctionParameter %gp\n"
  "%b = OpFunctionParameter %lp\n"
  "%c = OpFunctionParameter %uint\n"
  "%d = OpFunctionParameter %gp\n"
  "%l = OpLabel\n"
  "OpReturn\n"
  "OpFunctionEnd\n"
  "%g = OpFunction %void None %tg\n"
  "%h = OpFunctionParameter %gp\n"
  "%m = OpLabel\n"
  "OpReturn\n"
  "OpFunctionEnd\n";

static const char llvm[] =
  "; ModuleID = '-'\n"
  "@x = constant [2 x i8] c\"!0\"\n"
  "define spir_kernel void @f(ptr addrspace(1) %a) #0 !kernel_arg_type !3 "
  "!kernel_arg_base_type !12 !kernel_arg_type_qual !5 {\n"
  "}\n"
  "define spir_func void @h() !kernel_arg_base_type !12 {\n"
  "define spir_kernel void @\"g\\22\"(ptr %h) !kernel_arg_base_type !6 {\n"
  "!0 = !{i32 1}\n"
  "!3 = !{!\"number*\", !\"vec*\", !\"size\", !\"pair*\"}\n"
  "!5 = !{!\"const\", !\"\", !\"\", !\"restrict const\"}\n"
  "!6 = !{!\"odd\\5C\\\\*\"}\n"
  "!12 = !{!\"long*\", !\"uint __attribute__((ext_vector_type(4)))*\", "
  "!\"int\", !\"pair*\"}\n";

/* Copies `from` into its own block, so that reads past its end are detected. */
static unsigned char *copy_of(const void *from, size_t size) {
  unsigned char *copy = malloc(size);
  if (copy == NULL) exit(2);
  memcpy(copy, from, size);
  return copy;
}

static void test_types(const void *module, size_t module_size) {
  unsigned char *made = copy_of(module, module_size);
  size_t size = module_size;
  char message[200];
  CHECK(argument_text_add(llvm, &made, &size));
  CHECK(size > module_size);
  CHECK(spirv_validate(made, size, message, sizeof message));
  spirv_module *m = spirv_parse(made, size, message, sizeof message);
  CHECK(m != NULL && m->kernel_count == 2);
  if (m == NULL) return;
  const spirv_arg *a = spirv_find(m, "f")->args;
  CHECK(strcmp(a[0].source_type, "long*") == 0);
  CHECK(a[0].type.bits == 64 && a[0].type.sign == SPIRV_SIGN_SIGNED);
  CHECK(a[0].is_const && strcmp(a[0].name, "a") == 0);
  CHECK(strcmp(a[1].source_type, "uint4*") == 0);
  CHECK(a[1].cls == SPIRV_ARG_LOCAL && a[1].type.bytes == 16);
  CHECK(a[1].type.lanes == 4 && a[1].type.sign == SPIRV_SIGN_UNSIGNED);
  CHECK(a[2].type.sign == SPIRV_SIGN_SIGNED);
  /* The name of a struct does not describe its contents. */
  CHECK(strcmp(a[3].source_type, "pair*") == 0);
  CHECK(a[3].type.kind == SPIRV_KIND_UNKNOWN && a[3].type.bytes == 0);
  CHECK(a[3].is_const && a[3].is_restrict);
  const spirv_arg *g = spirv_find(m, "g\"")->args;
  CHECK(strcmp(g[0].source_type, "odd\\\\*") == 0);
  spirv_free(m);
  /* A module that already has the strings is unchanged. */
  const size_t before = size;
  CHECK(argument_text_add(llvm, &made, &size) && size == before);
  free(made);
}

/* Checks that the same module comes back, byte by byte. */
static void adds_nothing(const char *text, const void *module,
                         size_t module_size) {
  unsigned char *made = copy_of(module, module_size);
  size_t size = module_size;
  CHECK(argument_text_add(text, &made, &size));
  CHECK(size == module_size && memcmp(made, module, size) == 0);
  free(made);
}

static void test_refusals(const void *module, size_t size) {
  static const char *const texts[] = {
    "", "\n\n", "!", "!0 = !{", "define ", "define spir_kernel void @",
    "define spir_kernel void @f(", "define spir_kernel void @f() "
    "!kernel_arg_base_type !", "define spir_kernel void @f() "
    "!kernel_arg_base_type !0 {\n!1 = !{!\"int\"}\n"};
  static const char *const lists[] = {
    "", "}", "!", "!\"", "!\"int", "!\"int\"", "!\"int\\", "!\"int\\2",
    "!\"int\\00\"}", "!\"int\\zz\"}", "!\"int\\2g\"}", "!\"in\nt\"}", "i32 1}",
    "!\"int\", i32 1}", "!\"int\", null}", "!\"int\" }", "!\"int\",!\"int\"}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    adds_nothing(texts[i], module, size);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    char text[200];
    snprintf(text, sizeof text, "define spir_kernel void @f() "
             "!kernel_arg_base_type !0 {\n!0 = !{%s", lists[i]);
    adds_nothing(text, module, size);
  }
  /* Data that is not a module, or is truncated. */
  for (size_t cut = 0; cut < 200; cut++)
    if (cut < 20 || cut % 4 != 0) adds_nothing(llvm, module, cut);
  adds_nothing(llvm, llvm, sizeof llvm - sizeof llvm % 4);
}

/* Returns the next number of a fixed sequence. */
static uint32_t draw(uint32_t below) {
  static uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return (state >> 16) % below;
}

/* Reads damaged text from a block that ends with it. */
static void test_damage(const void *module, size_t module_size) {
  static const char odd[] = "!\"\\{}@ \n(,019f";
  while (checks < 20000) {
    char *text = (char *)copy_of(llvm, sizeof llvm);
    for (uint32_t n = 1 + draw(6); n > 0; n--)
      text[draw(sizeof llvm - 1)] = odd[draw(sizeof odd)];
    char *cut = (char *)copy_of(text, strlen(text) + 1);
    unsigned char *made = copy_of(module, module_size);
    size_t size = module_size;
    char message[200];
    CHECK(argument_text_add(cut, &made, &size) && size >= module_size);
    spirv_module *m = spirv_parse(made, size, message, sizeof message);
    CHECK(m != NULL && m->kernel_count == 2);
    spirv_free(m);
    free(made);
    free(cut);
    free(text);
  }
}

int main(void) {
  spv_binary binary = assembled(SPV_ENV_UNIVERSAL_1_2, assembly);
  const size_t size = binary->wordCount * sizeof *binary->code;
  test_types(binary->code, size);
  test_refusals(binary->code, size);
  test_damage(binary->code, size);
  spvBinaryDestroy(binary);
  printf("argument_text: %d checks, %d failed\n", checks, failures);
  return failures != 0;
}
