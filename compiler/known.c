/*
 * known.c - elements, captures, parameters and findings of a compilation.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *alias, *c;
  unsigned bytes;
} elements[LZC_ELEMENTS] = {
  {"char", "i8", "char", 1}, {"uchar", "u8", "uchar", 1},
  {"short", "i16", "short", 2}, {"ushort", "u16", "ushort", 2},
  {"int", "i32", "int", 4}, {"uint", "u32", "uint", 4},
  {"long", "i64", "long", 8}, {"ulong", "u64", "ulong", 8},
  {"half", "f16", "half", 2}, {"bfloat16", "bf16", "ushort", 2},
  {"float", "f32", "float", 4}, {"double", "f64", "double", 8}
};

const char *lzc_element_name(lzc_element e) { return elements[e].name; }
const char *lzc_element_c(lzc_element e) { return elements[e].c; }
unsigned lzc_element_bytes(lzc_element e) { return elements[e].bytes; }

bool lzc_element_find(const char *name, size_t size, lzc_element *element) {
  for (int e = 0; e < LZC_ELEMENTS; e++)
    if ((strlen(elements[e].name) == size &&
         memcmp(elements[e].name, name, size) == 0) ||
        (strlen(elements[e].alias) == size &&
         memcmp(elements[e].alias, name, size) == 0)) {
      *element = (lzc_element)e;
      return true;
    }
  return false;
}

bool lzc_same_key(const lzc_fixed *f, const lzc_value *v) {
  if (f->value.kind != v->kind || f->value.identity != v->identity ||
      f->value.builtin != v->builtin)
    return false;
  if (!f->by_value) return true;
  if (v->kind == LZC_BOOLEAN) return v->boolean == f->value.boolean;
  if (v->kind == LZC_INTEGER) return v->integer == f->value.integer;
  if (v->kind == LZC_REAL) return v->real == f->value.real;
  return v->size == f->value.size &&
         (v->size == 0 || memcmp(v->bytes, f->value.bytes, v->size) == 0);
}

void finding(compiler *c, const char *variable, const char *format, ...) {
  if (!c->emit) return;
  char text[400];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (strstr(text, TOLD) != NULL) return;
  const proto *p = c->at != NULL ? c->at->p : NULL;
  const char *file = p != NULL ? p->file : NULL;
  const char *in = c->at != NULL && c->at->name != NULL ? c->at->name : "";
  for (size_t i = 0; i < c->finding_count; i++)
    if (c->findings[i].line == c->line &&
        strcmp(c->findings[i].variable ? c->findings[i].variable : "",
               variable != NULL ? variable : "") == 0 &&
        strcmp(c->findings[i].message, text) == 0)
      return;
  c->findings = arena_grow(c->a, c->findings, c->finding_count,
                           &c->finding_room, sizeof *c->findings);
  char *message = arena_text(c->a, "%s", text);
  if (c->a->failed) return;
  c->findings[c->finding_count++] = (lzc_finding){
      file != NULL ? arena_text(c->a, "%s", file) : NULL, c->line,
      arena_text(c->a, "%s", in),
      variable != NULL ? arena_text(c->a, "%s", variable) : NULL, message};
}

size_t known_add(compiler *c, const lzc_value *value, const lzc_path *path,
                 unsigned argument) {
  c->knowns = arena_grow(c->a, c->knowns, c->known_count, &c->known_room,
                         sizeof *c->knowns);
  known *k = arena_new(c->a, 1, sizeof *k);
  if (k == NULL) return 0;
  *k = (known){.value = *value, .path = path, .argument = argument};
  c->knowns[c->known_count] = k;
  return c->known_count++;
}

val v_string(compiler *c, const char *bytes, size_t size) {
  for (size_t i = 0; i < c->known_count; i++) {
    const known *k = c->knowns[i];
    if (k->path == NULL && k->value.kind == LZC_STRING &&
        k->value.size == size && memcmp(k->value.bytes, bytes, size) == 0)
      return (val){TYPE(T_VALUE, i), 0, 0};
  }
  lzc_value v = {.kind = LZC_STRING, .bytes = bytes, .size = size};
  return (val){TYPE(T_VALUE, known_add(c, &v, NULL, 0)), 0, 0};
}

/* --- parameters ----------------------------------------------------------- */

uint32_t parameter_add(compiler *c, uint32_t t, const char *name,
                       const char *source, const char *qualifier) {
  c->parameters = arena_grow(c->a, c->parameters, c->parameter_count,
                             &c->parameter_room, sizeof *c->parameters);
  if (c->a->failed) return 1;
  uint32_t id = writer_id(&c->w);
  c->parameters[c->parameter_count++] =
      (parameter){id, t, name, source, qualifier, NULL};
  return id;
}

static uint32_t hide(compiler *c, lzc_hidden_kind kind, known *k, uint32_t t,
                     lzc_element e, unsigned dimension, const char *suffix) {
  const char *of = k->path != NULL ? k->path->text
                   : c->parameters[k->argument - 1].name;
  const char *name = arena_text(c->a, "%s%s", of, suffix);
  const char *source =
      arena_text(c->a, "%s%s", lzc_element_c(e),
                 kind == LZC_HIDDEN_BUFFER ? "*" : "");
  c->hidden = arena_grow(c->a, c->hidden, c->hidden_count, &c->hidden_room,
                         sizeof *c->hidden);
  if (c->a->failed) return 1;
  c->hidden[c->hidden_count++] =
      (lzc_hidden){kind, e, k->argument, dimension, k->value.rank, k->path,
                   name, false};
  uint32_t id = parameter_add(c, t, name, source, "capture");
  if (!c->a->failed &&
      (kind == LZC_HIDDEN_LENGTH || kind == LZC_HIDDEN_SHAPE))
    c->parameters[c->parameter_count - 1].size_of = k;
  return id;
}

uint32_t report_add(compiler *c) {
  c->hidden = arena_grow(c->a, c->hidden, c->hidden_count, &c->hidden_room,
                         sizeof *c->hidden);
  if (c->a->failed) return 1;
  c->hidden[c->hidden_count++] = (lzc_hidden){
      LZC_HIDDEN_REPORT, LZC_LONG, 0, 1, 1, NULL, "lze.report", false};
  return parameter_add(c, t_pointer(c, SpvStorageClassCrossWorkgroup,
                                    t_int(c, 64)), "lze.report", "long*", "");
}

/* Declares an array that a function of lze.work made. */
static uint32_t make_array(compiler *c, known *k) {
  uint32_t id = writer_id(&c->w);
  uint32_t t = writer_once(&c->w, SpvOpTypeArray, 0, 2,
                           (uint32_t[]){t_cell(c, k->value.element),
                                        k_int(c, 32, k->count)});
  bool local = k->storage == SpvStorageClassWorkgroup;
  WRITE(&c->w, local ? WRITER_GLOBAL : WRITER_VARIABLES, SpvOpVariable,
        t_pointer(c, k->storage, t), id, k->storage);
  unsigned bytes = lzc_element_bytes(k->value.element);
  WRITE(&c->w, WRITER_DECORATION, SpvOpDecorate, id, SpvDecorationAlignment,
        bytes);
  if (local) {
    /* PoCL 3.1 recognises a kernel's local variables by this form of name. */
    const char *name =
        arena_text(c->a, "%s.array%u", c->entry, id);
    if (name != NULL)
      writer_string(&c->w, WRITER_NAME, SpvOpName, 1, &id, name, 0, NULL);
    c->local_bytes += (size_t)k->count * bytes;
  }
  return id;
}

uint32_t known_pointer(compiler *c, known *k) {
  if (c->emit && k->storage != 0 && k->pointer == 0)
    k->pointer = make_array(c, k);
  if (c->emit && k->pointer == 0)
    k->pointer = hide(c, LZC_HIDDEN_BUFFER, k,
                      t_pointer(c, SpvStorageClassCrossWorkgroup,
                                t_element(c, k->value.element)),
                      k->value.element, 1, "");
  return k->pointer;
}

uint32_t known_length(compiler *c, known *k) {
  if (c->emit && k->storage != 0) return k_int(c, 64, k->count);
  if (c->emit && k->length == 0)
    k->length = hide(c, LZC_HIDDEN_LENGTH, k, t_int(c, 64), LZC_LONG, 1,
                     ".length");
  return k->length;
}

uint32_t known_shape(compiler *c, known *k, unsigned dimension) {
  if (k->value.kind == LZC_BUFFER) return known_length(c, k);
  uint32_t *id = &k->shape[dimension - 1];
  if (c->emit && *id == 0)
    *id = hide(c, LZC_HIDDEN_SHAPE, k, t_int(c, 64), LZC_LONG, dimension,
               arena_text(c->a, ".size%u", dimension));
  return *id;
}

const char *known_label(const compiler *c, const known *k) {
  if (k->path != NULL) return k->path->text;
  if (!c->emit) return "";
  return k->argument != 0  ? c->parameters[k->argument - 1].name
         : k->storage == 0 ? ""
         : k->storage == SpvStorageClassWorkgroup ? "local array"
                                                  : "private array";
}

const char *known_name(compiler *c, const known *k) {
  const char *label = known_label(c, k);
  if (!c->emit || k->argument == 0) return label;
  return arena_text(c->a, "argument %u (%s)", k->argument, label);
}

/* --- reals in whose place a launch may pass integers
   ----------------------- */

type known_real(compiler *c, size_t index) {
  if (index < CAPTURED >> 3) return TYPE(T_REAL, CAPTURED | index << 3);
  c->knowns[index]->typed = true;
  return T_REAL;
}

bool is_sure_real(type t) {
  return KIND(t) == T_MAYBE_REAL ||
         (KIND(t) == T_REAL && !(DATA(t) & CAPTURED));
}

void kind_matters(compiler *c, type t) {
  if (KIND(t) == T_REAL && (DATA(t) & CAPTURED))
    c->knowns[(DATA(t) & ~CAPTURED) >> 3]->typed = true;
}

void meet(compiler *c, type a, type b) {
  if (!c->emit || is_sure_real(a) || is_sure_real(b)) return;
  kind_matters(c, a);
  kind_matters(c, b);
}

uint32_t known_number(compiler *c, known *k) {
  if (!c->emit) return 0;
  bool real = k->value.kind == LZC_REAL;
  lzc_element e = real ? c->real : c->int_bits == 32 ? LZC_INT : LZC_LONG;
  if (k->number == 0)
    k->number = hide(c, LZC_HIDDEN_NUMBER, k, t_element(c, e), e, 1, "");
  return k->number;
}
