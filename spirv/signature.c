/*
 * signature.c - kernels of which only the declaration is known, as SPIR-V.
 * SPDX-License-Identifier: MIT
 */
#include "signature.h"

#include "spirv_tools.h"
#include "tool.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/* A module's sections, in the order that SPIR-V demands. */
typedef struct stub {
  const char *at;            /* what is still to be read */
  char token[NAME_SIZE];     /* the next word or character, "" at the end */
  char vector[16];           /* the last vector type */
  unsigned address_bits, kernels;
  tool_text entries, modes, strings, names, types, bodies;
  char *message;
  size_t cap;
} stub;

static bool wrong(stub *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(stub *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(s->message, s->cap, format, args);
  va_end(args);
  return false;
}

/* --- reading ------------------------------------------------------------ */

static bool is_word(int c)
{
  return isalnum(c) || c == '_';
}

static void next(stub *s)
{
  while (isspace((unsigned char)*s->at)) s->at++;
  size_t n = 0;
  if (is_word((unsigned char)*s->at))
    while (is_word((unsigned char)s->at[n])) n++;
  else if (*s->at != '\0')
    n = 1;
  size_t kept = n < NAME_SIZE ? n : NAME_SIZE - 1;
  memcpy(s->token, s->at, kept);
  s->token[kept] = '\0';
  s->at += n;
}

static bool is(const stub *s, const char *token)
{
  return strcmp(s->token, token) == 0;
}

/* The same with or without the two underscores that OpenCL C allows. */
static bool is_keyword(const stub *s, const char *word)
{
  const char *t = s->token;
  return strcmp(strncmp(t, "__", 2) == 0 ? t + 2 : t, word) == 0;
}

static bool take(stub *s, const char *token)
{
  if (!is(s, token)) return false;
  next(s);
  return true;
}

static bool expect(stub *s, const char *token)
{
  return take(s, token) ||
         wrong(s, "'%s' expected, got %s%s%s", token, *s->token ? "'" : "",
               *s->token ? s->token : "the end", *s->token ? "'" : "");
}

/* --- types -------------------------------------------------------------- */

/* Declare a type, once. */
static void type_add(stub *s, const char *line)
{
  if (s->types.text == NULL || strstr(s->types.text, line) == NULL)
    tool_text_add(&s->types, "%s", line);
}

/* The SPIR-V name of an element type, declared: "i32", "v4float"; NULL for
   what is not one.  Signs live in the strings alone. */
static const char *element_type(stub *s, const char *name)
{
  static const struct {
    const char *name, *spirv;
  } known[] = {
    {"char", "i8"}, {"uchar", "i8"}, {"short", "i16"}, {"ushort", "i16"},
    {"int", "i32"}, {"uint", "i32"}, {"long", "i64"}, {"ulong", "i64"},
    {"half", "half"}, {"float", "float"}, {"double", "double"}};
  static const char *const widths[] = {"2", "3", "4", "8", "16"};
  size_t stem = strcspn(name, "0123456789");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strlen(known[i].name) != stem ||
        memcmp(known[i].name, name, stem) != 0)
      continue;
    if (name[stem] == '\0') return known[i].spirv;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
      if (strcmp(widths[w], name + stem) != 0) continue;
      char line[64];
      snprintf(s->vector, sizeof s->vector, "v%s%s", widths[w],
               known[i].spirv);
      snprintf(line, sizeof line, "%%%s = OpTypeVector %%%s %s\n", s->vector,
               known[i].spirv, widths[w]);
      type_add(s, line);
      return s->vector;
    }
  }
  return NULL;
}

/* Declare a pointer: "%CrossWorkgroup_i32". */
static void pointer_type(stub *s, const char *storage, const char *element)
{
  char line[96];
  snprintf(line, sizeof line, "%%%s_%s = OpTypePointer %s %%%s\n", storage,
           element, storage, element);
  type_add(s, line);
}

/* --- declarations ------------------------------------------------------- */

/* The sections of the kernel that is being read. */
typedef struct declaration {
  char name[NAME_SIZE];
  unsigned number, parameters;
  tool_text types, strings, quals, params, body;
} declaration;

static bool parameter(stub *s, declaration *d)
{
  const char *storage = NULL, *sign = "";
  bool is_const = false, pointer = false;
  char type[NAME_SIZE] = "", name[NAME_SIZE] = "", full[2 * NAME_SIZE];
  for (; *s->token != '\0' && !is(s, ",") && !is(s, ")"); next(s)) {
    if (is_keyword(s, "global")) storage = "CrossWorkgroup";
    else if (is_keyword(s, "constant")) storage = "UniformConstant";
    else if (is_keyword(s, "local")) storage = "Workgroup";
    else if (is(s, "const")) is_const = is_const || !pointer;
    else if (is_keyword(s, "private") || is_keyword(s, "restrict") ||
             is(s, "volatile") || is(s, "struct") || is(s, "signed")) continue;
    else if (is(s, "unsigned")) sign = "u";
    else if (is(s, "*")) {
      if (pointer)
        return wrong(s, "kernel %s: parameter %u: a pointer to a pointer",
                     d->name, d->parameters + 1);
      pointer = true;
    } else if (!is_word((unsigned char)*s->token))
      return wrong(s, "kernel %s: parameter %u: unexpected '%s'", d->name,
                   d->parameters + 1, s->token);
    else if (*type == '\0') strcpy(type, s->token);
    else if (*name == '\0') strcpy(name, s->token);
    else
      return wrong(s, "kernel %s: parameter %u: unexpected '%s'", d->name,
                   d->parameters + 1, s->token);
  }
  if (*type == '\0' && *sign != '\0') strcpy(type, "int");
  if (*type == '\0')
    return wrong(s, "kernel %s: parameter %u: a type expected", d->name,
                 d->parameters + 1);
  snprintf(full, sizeof full, "%s%s", sign, type);
  const char *element = element_type(s, full);
  if (!pointer && (element == NULL || storage != NULL))
    return wrong(s, "kernel %s: parameter %u: a value of a scalar or vector "
                    "type, or a pointer, expected, got '%s'", d->name,
                 d->parameters + 1, full);
  if (element == NULL) element = "i8"; /* the string says what it is */
  if (storage == NULL) storage = "CrossWorkgroup";
  if (strcmp(storage, "UniformConstant") == 0) is_const = true;
  unsigned p = d->parameters++;
  tool_text_add(&d->strings, "%s%s,", full, pointer ? "*" : "");
  tool_text_add(&d->quals, "%s,", pointer && is_const ? "const" : "");
  if (*name != '\0')
    tool_text_add(&s->names, "OpName %%k%u_%u \"%s\"\n", d->number, p, name);
  char given[64];
  snprintf(given, sizeof given, "%s%s%s", pointer ? storage : "",
           pointer ? "_" : "", element);
  if (pointer) pointer_type(s, storage, element);
  tool_text_add(&d->types, " %%%s", given);
  tool_text_add(&d->params, "%%k%u_%u = OpFunctionParameter %%%s\n",
                d->number, p, given);
  if (!pointer || strcmp(storage, "Workgroup") == 0) return true;
  tool_text_add(&d->body, "%%k%u_%u_v = OpLoad %%%s %%k%u_%u Aligned 1\n",
                d->number, p, element, d->number, p);
  if (!is_const)
    tool_text_add(&d->body, "OpStore %%k%u_%u %%k%u_%u_v Aligned 1\n",
                  d->number, p, d->number, p);
  return true;
}

/* reqd_work_group_size(x, y, z), with the name already taken. */
static bool required_size(stub *s, unsigned number)
{
  unsigned size[3];
  for (int i = 0; i < 3; i++) {
    char *end;
    if (!expect(s, i == 0 ? "(" : ",")) return false;
    unsigned long n = strtoul(s->token, &end, 10);
    if (*s->token == '\0' || *end != '\0' || n < 1 || n > 1u << 30)
      return wrong(s, "reqd_work_group_size: a size expected, got '%s'",
                   s->token);
    size[i] = (unsigned)n;
    next(s);
  }
  tool_text_add(&s->modes, "OpExecutionMode %%k%u LocalSize %u %u %u\n",
                number, size[0], size[1], size[2]);
  return expect(s, ")");
}

static bool declaration_read(stub *s, declaration *d)
{
  bool sized = false;
  d->number = s->kernels;
  for (;; next(s)) {
    if (is_keyword(s, "kernel") || is(s, "void") || is(s, "extern")) continue;
    if (!is(s, "__attribute__")) break;
    next(s);
    if (!expect(s, "(") || !expect(s, "(")) return false;
    if (!is(s, "reqd_work_group_size") || sized)
      return wrong(s, "unexpected attribute '%s'", s->token);
    sized = true;
    next(s);
    if (!required_size(s, d->number) || !expect(s, ")")) return false;
    if (!is(s, ")")) return expect(s, ")");
  }
  if (!is_word((unsigned char)*s->token) || isdigit((unsigned char)*s->token))
    return wrong(s, "the name of a kernel expected, got %s",
                 *s->token ? s->token : "the end");
  strcpy(d->name, s->token);
  char entry[NAME_SIZE + 8];
  snprintf(entry, sizeof entry, " \"%s\" ", d->name);
  if (s->entries.text != NULL && strstr(s->entries.text, entry) != NULL)
    return wrong(s, "kernel %s is declared twice", d->name);
  next(s);
  if (!expect(s, "(")) return false;
  const char *before = s->at;
  if (is(s, "void")) { /* (void), or a pointer to it */
    next(s);
    if (!is(s, ")")) {
      s->at = before;
      strcpy(s->token, "void");
    }
  }
  if (!is(s, ")")) {
    do {
      if (!parameter(s, d)) return false;
    } while (take(s, ","));
  }
  return expect(s, ")");
}

/* Add what was read to the module. */
static void declaration_add(stub *s, const declaration *d)
{
  unsigned n = s->kernels++;
  static const char empty[] = "";
  tool_text_add(&s->entries, "OpEntryPoint Kernel %%k%u \"%s\" %%lid\n", n,
                d->name);
  tool_text_add(&s->strings, "%%s%u = OpString \"kernel_arg_type.%s.%s\"\n", n,
                d->name, d->strings.text ? d->strings.text : empty);
  tool_text_add(&s->strings,
                "%%q%u = OpString \"kernel_arg_type_qual.%s.%s\"\n", n,
                d->name, d->quals.text ? d->quals.text : empty);
  tool_text_add(&s->types, "%%t%u = OpTypeFunction %%void%s\n", n,
                d->types.text ? d->types.text : empty);
  tool_text_add(&s->bodies,
                "%%k%u = OpFunction %%void None %%t%u\n%s%%l%u = OpLabel\n"
                "%%i%u = OpLoad %%v3i%u %%lid\n%sOpReturn\nOpFunctionEnd\n",
                n, n, d->params.text ? d->params.text : empty, n, n,
                s->address_bits, d->body.text ? d->body.text : empty);
  s->bodies.lost = s->bodies.lost || d->strings.lost || d->quals.lost ||
                   d->types.lost || d->params.lost || d->body.lost;
}

static bool read_all(stub *s)
{
  bool ok = true;
  for (next(s); ok && *s->token != '\0';) {
    declaration d;
    memset(&d, 0, sizeof d);
    ok = declaration_read(s, &d);
    if (ok) declaration_add(s, &d);
    tool_text *own[] = {&d.types, &d.strings, &d.quals, &d.params, &d.body};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]->text);
    while (ok && take(s, ";"))
      ;
  }
  return ok && (s->kernels > 0 || wrong(s, "no kernel is declared"));
}

/* --- the module --------------------------------------------------------- */

static void *assemble(stub *s, size_t *size)
{
  static const char head[] =
    "OpCapability Addresses\nOpCapability Kernel\n"
    "OpCapability Int8\nOpCapability Int16\nOpCapability Int64\n"
    "OpCapability Float16Buffer\n"
    "OpCapability Float64\nOpCapability Vector16\n";
  static const char types[] =
    "OpDecorate %lid BuiltIn LocalInvocationId\n"
    "OpDecorate %lid Constant\n"
    "%void = OpTypeVoid\n%i8 = OpTypeInt 8 0\n%i16 = OpTypeInt 16 0\n"
    "%i32 = OpTypeInt 32 0\n%i64 = OpTypeInt 64 0\n%half = OpTypeFloat 16\n"
    "%float = OpTypeFloat 32\n%double = OpTypeFloat 64\n";
  tool_text text = {0};
  tool_text_add(&text, "%sOpMemoryModel Physical%u OpenCL\n", head,
                s->address_bits);
  tool_text *const parts[] = {&s->entries, &s->modes, &s->strings, &s->names};
  /* One by one, as tool_text_add takes so much at once only. */
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    tool_text_append(&text, parts[i]);
  tool_text_add(&text, "%s", types);
  tool_text_append(&text, &s->types);
  tool_text_add(&text, "%%ids = OpTypePointer Input %%v3i%u\n"
                       "%%lid = OpVariable %%ids Input\n",
                s->address_bits);
  tool_text_append(&text, &s->bodies);
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_2);
  spv_binary binary = NULL;
  spv_diagnostic diagnostic = NULL;
  void *bytes = NULL;
  if (!text.lost &&
      spvTextToBinary(context, text.text, text.size, &binary, &diagnostic) ==
          SPV_SUCCESS) {
    *size = binary->wordCount * sizeof *binary->code;
    bytes = malloc(*size);
    if (bytes != NULL) memcpy(bytes, binary->code, *size);
  }
  if (bytes == NULL)
    wrong(s, "%s", diagnostic != NULL ? diagnostic->error : "out of memory");
  spvDiagnosticDestroy(diagnostic);
  spvBinaryDestroy(binary);
  spvContextDestroy(context);
  free(text.text);
  return bytes;
}

void *signature_spirv(const char *text, unsigned address_bits, size_t *size,
                      char *message, size_t cap)
{
  stub s;
  memset(&s, 0, sizeof s);
  s.at = text;
  s.address_bits = address_bits;
  s.message = message;
  s.cap = cap;
  element_type(&s, address_bits == 32 ? "uint3" : "ulong3"); /* of ids */
  void *bytes = read_all(&s) ? assemble(&s, size) : NULL;
  tool_text *own[] = {&s.entries, &s.modes, &s.strings,
                      &s.names,   &s.types, &s.bodies};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]->text);
  return bytes;
}
