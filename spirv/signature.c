/*
 * signature.c - SPIR-V for kernels that have only a declaration.
 * SPDX-License-Identifier: MIT
 */
#include "signature.h"

#include "spirv_writer.h"
#include "tool.h"

#include <ctype.h>
#include <spirv/unified1/spirv.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 1024, MOST_PARAMETERS = 255 /* SPIR-V's limit */ };

typedef struct stub {
  const char *at;            /* the rest of the text */
  char token[NAME_SIZE];     /* the next word or character, "" at the end */
  spirv_writer w;
  uint32_t nothing, ids, local_id; /* void, the type of ids, the variable of
                                      the local id */
  tool_text seen;            /* the kernels' names, in quotes */
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

/* Returns true if the token is the keyword, with or without OpenCL C's two
   underscores. */
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

static uint32_t integer_type(stub *s, uint32_t bits)
{
  return writer_once(&s->w, SpvOpTypeInt, 0, 2, (uint32_t[]){bits, 0});
}

static uint32_t pointer_type(stub *s, uint32_t storage, uint32_t element)
{
  return writer_once(&s->w, SpvOpTypePointer, 0, 2,
                     (uint32_t[]){storage, element});
}

/* Returns the element type for a name, "uchar" or "float4", or 0 if unknown.
   The type has no sign; only the strings do. */
static uint32_t element_type(stub *s, const char *name)
{
  static const struct {
    const char *name;
    uint32_t bits;
    bool real;
  } known[] = {
    {"char", 8, false}, {"uchar", 8, false}, {"short", 16, false},
    {"ushort", 16, false}, {"int", 32, false}, {"uint", 32, false},
    {"long", 64, false}, {"ulong", 64, false}, {"half", 16, true},
    {"float", 32, true}, {"double", 64, true}};
  static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
  size_t stem = strcspn(name, "0123456789");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strlen(known[i].name) != stem ||
        memcmp(known[i].name, name, stem) != 0)
      continue;
    for (size_t n = 0; n < sizeof widths / sizeof *widths; n++) {
      if (strcmp(widths[n], name + stem) != 0) continue;
      uint32_t scalar = !known[i].real
          ? integer_type(s, known[i].bits)
          : writer_once(&s->w, SpvOpTypeFloat, 0, 1, &known[i].bits);
      if (n == 0) return scalar;
      uint32_t width = (uint32_t)strtoul(widths[n], NULL, 10);
      return writer_once(&s->w, SpvOpTypeVector, 0, 2,
                         (uint32_t[]){scalar, width});
    }
  }
  return 0;
}

/* Returns a struct of `bytes` bytes. */
static uint32_t struct_type(stub *s, uint32_t bytes)
{
  uint32_t word = integer_type(s, 32), byte = integer_type(s, 8);
  uint32_t length =
      writer_once(&s->w, SpvOpConstant, 1, 2, (uint32_t[]){word, bytes});
  uint32_t array =
      writer_once(&s->w, SpvOpTypeArray, 0, 2, (uint32_t[]){byte, length});
  return writer_once(&s->w, SpvOpTypeStruct, 0, 1, &array);
}

/* Returns the image or sampler type for a name, or 0 if unknown. */
static uint32_t opaque_type(stub *s, const char *name, uint32_t access)
{
  static const struct {
    const char *name;
    uint32_t dim, arrayed;
  } known[] = {
    {"image1d_t", SpvDim1D, 0}, {"image1d_array_t", SpvDim1D, 1},
    {"image2d_t", SpvDim2D, 0}, {"image2d_array_t", SpvDim2D, 1},
    {"image3d_t", SpvDim3D, 0}};
  if (strcmp(name, "sampler_t") == 0)
    return writer_once(&s->w, SpvOpTypeSampler, 0, 0, NULL);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0)
      return writer_once(&s->w, SpvOpTypeImage, 0, 8,
                         (uint32_t[]){s->nothing, known[i].dim, 0,
                                      known[i].arrayed, 0, 0,
                                      SpvImageFormatUnknown, access});
  return 0;
}

/* --- declarations ------------------------------------------------------- */

/* The kernel being read. */
typedef struct declaration {
  char name[NAME_SIZE];
  uint32_t id, parameters;
  struct {
    uint32_t id, type, element; /* an element to read, or 0 */
    bool is_const;
  } parameter[MOST_PARAMETERS];
  tool_text types, qualifiers;
} declaration;

/* Reads a number of at least 1, and the token after it. */
static bool number(stub *s, const char *what, uint32_t *n, const char *behind)
{
  char *end;
  unsigned long value = strtoul(s->token, &end, 10);
  if (*s->token == '\0' || *end != '\0' || value < 1 || value > 1u << 30)
    return wrong(s, "%s: a size expected, got '%s'", what, s->token);
  *n = (uint32_t)value;
  next(s);
  return is(s, behind) || expect(s, behind);
}

static bool parameter(stub *s, declaration *d)
{
  const uint32_t none = UINT32_MAX;
  uint32_t storage = none, access = SpvAccessQualifierReadOnly, bytes = 0;
  const char *sign = NULL;
  bool is_const = false, pointer = false, tagged = false;
  char type[NAME_SIZE] = "", name[NAME_SIZE] = "", full[2 * NAME_SIZE];
  for (; *s->token != '\0' && !is(s, ",") && !is(s, ")"); next(s)) {
    if (is_keyword(s, "global")) storage = SpvStorageClassCrossWorkgroup;
    else if (is_keyword(s, "constant"))
      storage = SpvStorageClassUniformConstant;
    else if (is_keyword(s, "local")) storage = SpvStorageClassWorkgroup;
    else if (is(s, "const")) is_const = is_const || !pointer;
    else if (is_keyword(s, "private") || is_keyword(s, "restrict") ||
             is(s, "volatile")) continue;
    else if (is(s, "struct") || is(s, "union") || is(s, "enum")) tagged = true;
    else if (is_keyword(s, "read_only")) access = SpvAccessQualifierReadOnly;
    else if (is_keyword(s, "write_only")) access = SpvAccessQualifierWriteOnly;
    else if (is_keyword(s, "read_write")) access = SpvAccessQualifierReadWrite;
    else if (is(s, "signed")) sign = "";
    else if (is(s, "unsigned")) sign = "u";
    else if (is(s, "*")) {
      if (pointer)
        return wrong(s, "kernel %s: parameter %u: a pointer to a pointer",
                     d->name, d->parameters + 1);
      pointer = true;
    } else if (is(s, "(") && tagged && *type == '\0') {
      next(s);
      if (!number(s, "struct", &bytes, ")")) return false;
      strcpy(type, "struct");
    } else if (!is_word((unsigned char)*s->token))
      return wrong(s, "kernel %s: parameter %u: unexpected '%s'", d->name,
                   d->parameters + 1, s->token);
    else if (*type == '\0') strcpy(type, s->token);
    else if (*name == '\0') strcpy(name, s->token);
    else
      return wrong(s, "kernel %s: parameter %u: unexpected '%s'", d->name,
                   d->parameters + 1, s->token);
  }
  snprintf(full, sizeof full, "%s%s", sign != NULL ? sign : "", type);
  if (sign != NULL && *name == '\0' && element_type(s, full) == 0) {
    strcpy(name, type); /* "unsigned", "unsigned n" */
    snprintf(full, sizeof full, "%sint", sign);
  }
  if (*full == '\0')
    return wrong(s, "kernel %s: parameter %u: a type expected", d->name,
                 d->parameters + 1);
  uint32_t element =
      bytes > 0 ? struct_type(s, bytes) : element_type(s, full);
  uint32_t opaque = pointer ? 0 : opaque_type(s, full, access);
  if (!pointer && opaque == 0 && (element == 0 || storage != none))
    return wrong(s, "kernel %s: parameter %u: a scalar, vector, image or "
                    "sampler type, struct(SIZE), or a pointer expected, got "
                    "'%s'", d->name, d->parameters + 1, full);
  if (d->parameters == MOST_PARAMETERS)
    return wrong(s, "kernel %s: more than %d parameters", d->name,
                 MOST_PARAMETERS);
  if (element == 0) element = integer_type(s, 8); /* the string has its name */
  if (storage == none) storage = SpvStorageClassCrossWorkgroup;
  if (storage == SpvStorageClassUniformConstant) is_const = true;
  uint32_t id = writer_id(&s->w), p = d->parameters++;
  d->parameter[p].id = id;
  d->parameter[p].type =
      pointer       ? pointer_type(s, storage, element)
      : opaque != 0 ? opaque
                    : element;
  d->parameter[p].element =
      pointer && storage != SpvStorageClassWorkgroup ? element : 0;
  d->parameter[p].is_const = is_const;
  tool_text_add(&d->types, "%s%s,", full, pointer ? "*" : "");
  tool_text_add(&d->qualifiers, "%s,", pointer && is_const ? "const" : "");
  if (*name != '\0')
    writer_string(&s->w, WRITER_NAME, SpvOpName, 1, &id, name, 0, NULL);
  return true;
}

/* Reads reqd_work_group_size(x, y, z), after its name. */
static bool required_size(stub *s, uint32_t kernel)
{
  uint32_t size[3];
  if (!expect(s, "(")) return false;
  for (int i = 0; i < 3; i++) {
    if (!number(s, "reqd_work_group_size", &size[i], i < 2 ? "," : ")"))
      return false;
    next(s);
  }
  WRITE(&s->w, WRITER_MODE, SpvOpExecutionMode, kernel,
        SpvExecutionModeLocalSize, size[0], size[1], size[2]);
  return true;
}

static bool declaration_read(stub *s, declaration *d)
{
  bool sized = false;
  d->id = writer_id(&s->w);
  for (;; next(s)) {
    if (is_keyword(s, "kernel") || is(s, "void") || is(s, "extern")) continue;
    if (!is(s, "__attribute__")) break;
    next(s);
    if (!expect(s, "(") || !expect(s, "(")) return false;
    if (!is(s, "reqd_work_group_size") || sized)
      return wrong(s, "unexpected attribute '%s'", s->token);
    sized = true;
    next(s);
    if (!required_size(s, d->id) || !expect(s, ")")) return false;
    if (!is(s, ")")) return expect(s, ")");
  }
  if (!is_word((unsigned char)*s->token) || isdigit((unsigned char)*s->token))
    return wrong(s, "the name of a kernel expected, got %s",
                 *s->token ? s->token : "the end");
  strcpy(d->name, s->token);
  char quoted[NAME_SIZE + 2];
  snprintf(quoted, sizeof quoted, "\"%s\"", d->name);
  if (s->seen.text != NULL && strstr(s->seen.text, quoted) != NULL)
    return wrong(s, "kernel %s is declared twice", d->name);
  tool_text_add(&s->seen, "%s", quoted);
  next(s);
  if (!expect(s, "(")) return false;
  const char *before = s->at;
  if (is(s, "void")) { /* (void), or a pointer to void */
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

/* Writes "kernel_arg_type.NAME.TEXT". */
static void write_string(stub *s, const char *key, const declaration *d,
                         const tool_text *text)
{
  tool_text whole = {0};
  tool_text_add(&whole, "%s.%s.", key, d->name);
  tool_text_append(&whole, text);
  s->w.failed = s->w.failed || text->lost || whole.lost;
  uint32_t id = writer_id(&s->w);
  if (!whole.lost)
    writer_string(&s->w, WRITER_STRING, SpvOpString, 1, &id, whole.text, 0,
                  NULL);
  free(whole.text);
}

/* Adds a kernel to the module. */
static void declaration_add(stub *s, const declaration *d)
{
  spirv_writer *w = &s->w;
  writer_string(w, WRITER_ENTRY, SpvOpEntryPoint, 2,
                (uint32_t[]){SpvExecutionModelKernel, d->id}, d->name, 1,
                &s->local_id);
  write_string(s, "kernel_arg_type", d, &d->types);
  write_string(s, "kernel_arg_type_qual", d, &d->qualifiers);
  uint32_t words[1 + MOST_PARAMETERS] = {s->nothing};
  for (uint32_t i = 0; i < d->parameters; i++)
    words[1 + i] = d->parameter[i].type;
  uint32_t type =
      writer_once(w, SpvOpTypeFunction, 0, 1 + d->parameters, words);
  WRITE(w, WRITER_BODY, SpvOpFunction, s->nothing, d->id, 0, type);
  for (uint32_t i = 0; i < d->parameters; i++)
    WRITE(w, WRITER_BODY, SpvOpFunctionParameter, d->parameter[i].type,
          d->parameter[i].id);
  WRITE(w, WRITER_BODY, SpvOpLabel, writer_id(w));
  WRITE(w, WRITER_BODY, SpvOpLoad, s->ids, writer_id(w), s->local_id);
  for (uint32_t i = 0; i < d->parameters; i++) {
    uint32_t element = d->parameter[i].element;
    if (element == 0) continue;
    uint32_t value = writer_id(w);
    WRITE(w, WRITER_BODY, SpvOpLoad, element, value, d->parameter[i].id,
          SpvMemoryAccessAlignedMask, 1);
    if (!d->parameter[i].is_const)
      WRITE(w, WRITER_BODY, SpvOpStore, d->parameter[i].id, value,
            SpvMemoryAccessAlignedMask, 1);
  }
  writer_op(w, WRITER_BODY, SpvOpReturn, 0, NULL);
  writer_op(w, WRITER_BODY, SpvOpFunctionEnd, 0, NULL);
}

static bool read_all(stub *s)
{
  next(s);
  if (*s->token == '\0') return wrong(s, "no kernel is declared");
  bool ok = true;
  while (ok && *s->token != '\0') {
    declaration d;
    memset(&d, 0, sizeof d);
    ok = declaration_read(s, &d);
    if (ok) declaration_add(s, &d);
    free(d.types.text);
    free(d.qualifiers.text);
    while (ok && take(s, ";"))
      ;
  }
  return ok;
}

/* --- the module --------------------------------------------------------- */

/* Writes everything before the kernels; they read a local id of
   `address_bits`. */
static void write_head(stub *s, uint32_t address_bits)
{
  static const uint32_t needs[] = {SpvCapabilityAddresses,
    SpvCapabilityKernel, SpvCapabilityInt8, SpvCapabilityInt16,
    SpvCapabilityInt64, SpvCapabilityFloat16Buffer, SpvCapabilityFloat64,
    SpvCapabilityVector16, SpvCapabilityImageBasic,
    SpvCapabilityImageReadWrite, SpvCapabilitySampled1D};
  spirv_writer *w = &s->w;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    writer_capability(w, needs[i]);
  WRITE(w, WRITER_MODEL, SpvOpMemoryModel,
        address_bits == 32 ? SpvAddressingModelPhysical32
                           : SpvAddressingModelPhysical64,
        SpvMemoryModelOpenCL);
  s->nothing = writer_once(w, SpvOpTypeVoid, 0, 0, NULL);
  s->ids = element_type(s, address_bits == 32 ? "uint3" : "ulong3");
  s->local_id = writer_id(w);
  WRITE(w, WRITER_DECORATION, SpvOpDecorate, s->local_id, SpvDecorationBuiltIn,
        SpvBuiltInLocalInvocationId);
  WRITE(w, WRITER_DECORATION, SpvOpDecorate, s->local_id,
        SpvDecorationConstant);
  WRITE(w, WRITER_GLOBAL, SpvOpVariable,
        pointer_type(s, SpvStorageClassInput, s->ids), s->local_id,
        SpvStorageClassInput);
}

void *signature_spirv(const char *text, unsigned address_bits, size_t *size,
                      char *message, size_t cap)
{
  stub s;
  memset(&s, 0, sizeof s);
  s.at = text;
  s.message = message;
  s.cap = cap;
  writer_init(&s.w);
  write_head(&s, address_bits);
  uint32_t *words = NULL;
  if (read_all(&s)) {
    size_t count;
    words = s.seen.lost ? NULL : writer_finish(&s.w, 0x10200, &count);
    if (words == NULL) wrong(&s, "out of memory");
    else *size = count * sizeof *words;
  }
  writer_free(&s.w);
  free(s.seen.text);
  return words;
}
