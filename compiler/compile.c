/*
 * compile.c - a compilation from its input to its result.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a compilation -------------------------------------------------------- */

typedef struct whole_result {
  lzc_result result;
  arena a;
} whole_result;

/* Chooses the width of reals: double if anything is declared double; without
   any real, the widest of the device. */
static void choose_real(compiler *c, lzc_element *types) {
  const lzc_input *in = c->input;
  bool any = false, wide = false;
  for (size_t i = 0; i < c->known_count; i++) {
    const lzc_value *v = &c->knowns[i]->value;
    bool holds = v->kind == LZC_BUFFER || v->kind == LZC_ARRAY ||
                 v->kind == LZC_SCALAR;
    any |= holds && v->element >= LZC_HALF;
    wide |= holds && v->element == LZC_DOUBLE;
  }
  c->real = wide || (!any && in->device.fp64) ? LZC_DOUBLE : LZC_FLOAT;
  if (in->options.real == LZC_FLOAT || in->options.real == LZC_DOUBLE)
    c->real = in->options.real;
  for (size_t i = 0; i < in->argument_count; i++)
    types[i] = in->arguments[i].kind == LZC_REAL ? c->real
               : in->arguments[i].kind == LZC_INTEGER
                   ? (c->int_bits == 32 ? LZC_INT : LZC_LONG)
                   : in->arguments[i].element;
  if ((c->real == LZC_DOUBLE || wide) && !in->device.fp64) {
    c->emit = true;
    finding(c, NULL, "double is used and the device has none; give "
            "real = \"float\" and float buffers");
  }
}

static type argument_type(compiler *c, size_t index) {
  const lzc_value *v = &c->input->arguments[index];
  switch (v->kind) {
    case LZC_INTEGER: return T_INT;
    case LZC_REAL: return known_real(c, index);
    case LZC_SCALAR: return v->element >= LZC_HALF ? T_REAL : T_INT;
    default: return TYPE(T_VALUE, index);
  }
}

static const char *parameter_name(compiler *c, const proto *p, unsigned r) {
  const char *name = chunk_local(p, r, p->is_vararg ? 1 : 0);
  return name != NULL ? name : arena_text(c->a, "a%u", r + 1);
}

/* Sets up the kernel's own parameters, and their values on entry. */
static void enter(compiler *c, instance *in, const lzc_element *types) {
  const lzc_input *input = c->input;
  for (unsigned k = 0; k < input->argument_count; k++) {
    const char *name = parameter_name(c, in->p, input->dimensions + k);
    const lzc_value *v = &input->arguments[k];
    uint32_t t = t_element(c, types[k]);
    bool pointer = v->kind == LZC_BUFFER || v->kind == LZC_ARRAY;
    if (pointer) t = t_pointer(c, SpvStorageClassCrossWorkgroup, t);
    const char *source = arena_text(c->a, "%s%s", lzc_element_c(types[k]),
                                    pointer ? "*" : "");
    uint32_t id = parameter_add(c, t, name, source,
                                v->is_const ? "const" : "");
    if (pointer) c->knowns[k]->pointer = id;
  }
  for (unsigned d = 0; d < input->dimensions; d++) {
    uint32_t id = builtin_id(c, SpvBuiltInGlobalInvocationId, d);
    if (c->int_bits == 32) id = op1(c, SpvOpUConvert, t_int(c, 32), id);
    id = op2(c, SpvOpIAdd, t_of(c, T_INT), id, k_int(c, c->int_bits, 1));
    move_to(c, in, d, (val){T_INT, id, 0}, T_INT);
  }
  for (unsigned k = 0; k < input->argument_count; k++) {
    val v = {argument_type(c, k), 0, 0};
    if (!IS_NUMBER(v.type)) continue;
    unsigned bits = lzc_element_bytes(types[k]) * 8;
    bool real = KIND(v.type) == T_REAL;
    v.id = c->parameters[k].id;
    if (bits != (real ? real_bits(c) : c->int_bits))
      v.id = op1(c, real ? SpvOpFConvert
                    : types[k] & 1 ? SpvOpUConvert : SpvOpSConvert,
                 t_of(c, v.type), v.id);
    move_to(c, in, input->dimensions + k, v, v.type);
  }
}

/* Moves sizes that a launch can take from a buffer behind the captures, and
   names the owner of each: "size1_3_2", the first of three sizes of argument
   2. */
static void order_hidden(compiler *c) {
  size_t first = c->input->argument_count, n = c->hidden_count, at = 0;
  parameter *p = arena_new(c->a, n + 1, sizeof *p);
  lzc_hidden *h = arena_new(c->a, n + 1, sizeof *h);
  if (p == NULL || h == NULL) return;
  for (int sizes = 0; sizes <= 1; sizes++)
    for (size_t i = 0; i < n; i++) {
      const known *k = c->parameters[first + i].size_of;
      bool told = k != NULL && k->pointer != 0;
      if (told != (sizes == 1)) continue;
      p[at] = c->parameters[first + i];
      h[at++] = c->hidden[i];
    }
  if (n > 0) memcpy(c->parameters + first, p, n * sizeof *p);
  if (n > 0) memcpy(c->hidden, h, n * sizeof *h);
  for (size_t i = 0; i < n; i++) {
    const known *k = c->parameters[first + i].size_of;
    size_t of = 0;
    while (k != NULL && of < first + n && c->parameters[of].id != k->pointer)
      of++;
    if (k == NULL || of == first + n) continue;
    const char *text =
        arena_text(c->a, "size%u_%u_%u", c->hidden[i].dimension,
                   k->value.rank, (unsigned)of + 1);
    if (text != NULL) c->parameters[first + i].qualifier = text;
  }
}

/* Writes the code before the body, now that all parameters are known. */
static void write_head(compiler *c) {
  const char *name = c->entry;
  uint32_t words[260] = {t_void(c)};
  uint32_t n = 1, kernel = c->kernel;
  char types[4000], qualifiers[4000];
  size_t a = (size_t)snprintf(types, sizeof types, "kernel_arg_type.%.200s.",
                              name);
  size_t b = (size_t)snprintf(qualifiers, sizeof qualifiers,
                              "kernel_arg_type_qual.%.200s.", name);
  order_hidden(c);
  if (c->a->failed) return;
  if (c->parameter_count > 250) {
    finding(c, NULL, "a kernel takes at most 250 arguments and captures");
    return;
  }
  for (size_t i = 0; i < c->parameter_count; i++) {
    const parameter *p = &c->parameters[i];
    words[n++] = p->type;
    a += (size_t)snprintf(types + a, sizeof types - a, "%s,", p->source);
    b += (size_t)snprintf(qualifiers + b, sizeof qualifiers - b, "%s,",
                          p->qualifier);
    writer_string(&c->w, WRITER_NAME, SpvOpName, 1, &p->id, p->name, 0, NULL);
  }
  uint32_t t = writer_once(&c->w, SpvOpTypeFunction, 0, n, words);
  WRITE(&c->w, WRITER_HEAD, SpvOpFunction, t_void(c), kernel, 0, t);
  for (size_t i = 0; i < c->parameter_count; i++)
    WRITE(&c->w, WRITER_HEAD, SpvOpFunctionParameter, c->parameters[i].type,
          c->parameters[i].id);
  WRITE(&c->w, WRITER_HEAD, SpvOpLabel, writer_id(&c->w));
  uint32_t id = writer_id(&c->w);
  writer_string(&c->w, WRITER_STRING, SpvOpString, 1, &id, types, 0, NULL);
  id = writer_id(&c->w);
  writer_string(&c->w, WRITER_STRING, SpvOpString, 1, &id, qualifiers, 0,
                NULL);
  WRITE(&c->w, WRITER_STRING, SpvOpSource, 0, 0);
  writer_string(&c->w, WRITER_NAME, SpvOpName, 1, &kernel, name, 0, NULL);
  uint32_t inputs[64], count = 0;
  for (int i = 0; i < 64; i++)
    if (c->inputs[i] != 0) inputs[count++] = c->inputs[i];
  writer_string(&c->w, WRITER_ENTRY, SpvOpEntryPoint, 2,
                (uint32_t[]){SpvExecutionModelKernel, kernel}, name, count,
                inputs);
  if (!c->input->options.fast)
    WRITE(&c->w, WRITER_MODE, SpvOpExecutionMode, kernel,
          SpvExecutionModeContractionOff);
}

static void write_module(compiler *c, instance *in,
                         const lzc_element *types) {
  static const uint32_t needs[] = {SpvCapabilityAddresses,
      SpvCapabilityLinkage, SpvCapabilityKernel, SpvCapabilityInt64};
  for (size_t i = 0; i < 4; i++) writer_capability(&c->w, needs[i]);
  c->import = writer_id(&c->w);
  writer_string(&c->w, WRITER_IMPORT, SpvOpExtInstImport, 1, &c->import,
                "OpenCL.std", 0, NULL);
  WRITE(&c->w, WRITER_MODEL, SpvOpMemoryModel, SpvAddressingModelPhysical64,
        SpvMemoryModelOpenCL);
  c->kernel = writer_id(&c->w);
  enter(c, in, types);
  emit_instance(c, in);
  writer_op(&c->w, WRITER_BODY, SpvOpReturn, 0, NULL);
  writer_op(&c->w, WRITER_BODY, SpvOpFunctionEnd, 0, NULL);
  write_head(c);
}

/* Stores the kind and the description of the first result. */
static void tell_result(compiler *c, const instance *in, lzc_result *r) {
  type t = in->result_count > 0 ? in->results[0] : T_NIL;
  r->given = KIND(t) == T_CONFLICT ? "values of several types" : what(c, t);
  r->gives = KIND(t) == T_NIL    ? LZC_NIL
             : KIND(t) == T_BOOL ? LZC_BOOLEAN
             : KIND(t) == T_INT  ? LZC_INTEGER
             : KIND(t) == T_REAL ? LZC_REAL
                                 : LZC_OTHER;
}

/* Asks about indices: findings may be caused by a launch with one argument too
   many.  The function then has no indices, and a buffer is in the place of the
   index. */
static void ask_of_indices(compiler *c) {
  unsigned n = (unsigned)c->input->argument_count;
  if (c->finding_count == 0 || c->input->dimensions > 0 || n < 2) return;
  lzc_kind first = c->input->arguments[0].kind;
  bool asks = first != LZC_BUFFER && first != LZC_ARRAY;
  for (size_t i = 0; i < c->known_count && !asks; i++) {
    const lzc_value *v = &c->knowns[i]->value;
    asks = v->kind == LZC_BUILTIN &&
           strncmp(lzc_builtin_name(v->builtin), "work.", 5) == 0;
  }
  if (!asks)
    finding(c, NULL, "%u arguments and %u parameters: no indices; was one "
            "argument too many?", n, n);
}

static void compile(compiler *c, lzc_element *types, lzc_result *result) {
  const lzc_input *input = c->input;
  const char *message;
  const proto *p = chunk_read(c->a, input->bytes, input->size, &message);
  c->emit = true;
  if (p == NULL) {
    finding(c, NULL, "%s", message);
    return;
  }
  c->line = p->line;
  c->emit = false;
  for (size_t k = 0; k < input->argument_count; k++)
    known_add(c, &input->arguments[k], NULL, (unsigned)k + 1);
  instance *in = instance_new(c, NULL, p, NULL, NULL);
  if (in == NULL) return;
  c->at = in;
  c->emit = true;
  if (p->is_vararg)
    finding(c, NULL, "a kernel takes a fixed number of arguments, not ...");
  else if (input->dimensions + input->argument_count != p->parameters)
    finding(c, NULL, "the function has %u parameters, for %u indices and %u "
            "arguments", p->parameters, input->dimensions,
            (unsigned)input->argument_count);
  if (c->finding_count > 0) return;
  c->emit = false;
  for (unsigned r = 0; r < p->parameters; r++)
    in->arguments[r] = r < input->dimensions ? type_range(c, 1, INT64_MAX)
        : argument_type(c, r - input->dimensions);
  analyse_all(c, in);
  if (c->a->failed) return;
  tell_result(c, in, result);
  choose_real(c, types);
  c->emit = true;
  const char *name = input->options.name;
  c->entry = arena_text(c->a, SPIRV_LUA_ENTRY "%s",
                        name != NULL ? name : "kernel");
  find_endless(c, in);
  if (c->entry != NULL) write_module(c, in, types);
  ask_of_indices(c);
}

lzc_result *lzc_compile(const lzc_input *input) {
  whole_result *all = calloc(1, sizeof *all);
  if (all == NULL) return NULL;
  compiler c = {.a = &all->a, .input = input,
                .int_bits = input->options.int32 ? 32 : 64};
  lzc_result *r = &all->result;
  writer_init(&c.w);
  lzc_element *types = arena_new(c.a, input->argument_count + 1,
                                 sizeof *types);
  if (types != NULL) compile(&c, types, r);
  unsigned *ranks = arena_new(c.a, input->argument_count + 1, sizeof *ranks);
  bool *typed = arena_new(c.a, input->argument_count + 1, sizeof *typed);
  lzc_fixed *fixed = arena_new(c.a, c.known_count + 1, sizeof *fixed);
  for (size_t i = 0; i < c.known_count && ranks != NULL && typed != NULL; i++) {
    const known *k = c.knowns[i];
    if (k->argument != 0) {
      ranks[k->argument - 1] = k->value.rank;
      typed[k->argument - 1] = k->typed;
    }
    for (size_t h = 0; h < c.hidden_count && k->typed; h++)
      if (c.hidden[h].path == k->path && k->path != NULL)
        c.hidden[h].typed = true;
  }
  for (size_t i = 0; i < c.known_count && fixed != NULL; i++)
    if (c.knowns[i]->path != NULL)
      fixed[r->fixed_count++] = (lzc_fixed){
          c.knowns[i]->path, c.knowns[i]->value, c.knowns[i]->by_value};
  uint32_t version = input->device.version > 0x00010200 ? 0x00010200
                     : input->device.version >= 0x00010000
                         ? input->device.version : 0x00010000;
  uint32_t *words = NULL;
  if (c.finding_count == 0 && !c.a->failed && !c.w.failed) {
    uint32_t *made = writer_finish(&c.w, version, &r->word_count);
    if (made != NULL) {
      words = arena_new(c.a, r->word_count, sizeof *words);
      if (words != NULL) memcpy(words, made, r->word_count * 4);
      free(made);
    }
  }
  writer_free(&c.w);
  r->words = words;
  r->real = c.real;
  r->hidden = c.hidden;
  r->hidden_count = c.hidden_count;
  r->fixed = fixed;
  r->findings = c.findings;
  r->accesses = c.accesses;
  r->access_count = c.access_count;
  r->finding_count = c.finding_count;
  r->types = types;
  r->ranks = ranks;
  r->typed = typed;
  r->local_bytes = c.local_bytes;
  if (c.a->failed || (words == NULL && c.finding_count == 0)) {
    lzc_result_free(r);
    return NULL;
  }
  return r;
}

void lzc_result_free(lzc_result *result) {
  if (result == NULL) return;
  whole_result *all = (whole_result *)(void *)result;
  arena a = all->a;
  arena_free(&a);
  free(all);
}

/* --- analysis ------------------------------------------------------------- */

typedef struct whole_summary {
  lzc_summary summary;
  arena a;
} whole_summary;

lzc_summary *lzc_analyse(const void *bytes, size_t size, char *message,
                         size_t cap) {
  whole_summary *all = calloc(1, sizeof *all);
  const char *why = "out of memory";
  const proto *p =
      all == NULL ? NULL : chunk_read(&all->a, bytes, size, &why);
  lzc_path *paths =
      p == NULL ? NULL : arena_new(&all->a, p->code_count, sizeof *paths);
  const char **names =
      p == NULL ? NULL : arena_new(&all->a, p->parameters + 1, sizeof *names);
  if (paths == NULL || names == NULL) {
    snprintf(message, cap, "%s", why);
    if (all != NULL) arena_free(&all->a);
    free(all);
    return NULL;
  }
  lzc_summary *s = &all->summary;
  for (unsigned r = 0; r < p->parameters; r++)
    names[r] = chunk_local(p, r, p->is_vararg ? 1 : 0);
  /* Chains of constant fields as the parser writes them: each instruction reads
     the register that the previous one wrote. */
  for (size_t pc = 0; pc < p->code_count; pc++) {
    uint32_t i = p->code[pc];
    if (GET_OP(i) != OP_GETUPVAL && GET_OP(i) != OP_GETTABUP) continue;
    const char **fields = arena_new(&all->a, 17, sizeof *fields);
    if (fields == NULL) break;
    lzc_path path = {NULL, GET_B(i) + 1, 0, fields, p->upvalues[GET_B(i)]};
    if (GET_OP(i) == OP_GETTABUP)
      fields[path.count++] = p->constants[GET_C(i)].string;
    unsigned reg = GET_A(i);
    for (size_t n = pc + 1; n < p->code_count && path.count < 16; n++) {
      i = p->code[n];
      if (GET_OP(i) != OP_GETFIELD || GET_B(i) != reg) break;
      fields[path.count++] = p->constants[GET_C(i)].string;
      reg = GET_A(i);
    }
    const char *text = path.text;
    if (text == NULL) text = arena_text(&all->a, "upvalue %u", path.upvalue);
    for (size_t k = 0; k < path.count; k++)
      text = k == 0 && path.text != NULL && strcmp(path.text, "_ENV") == 0
                 ? fields[0] : arena_text(&all->a, "%s.%s", text, fields[k]);
    path.text = text;
    size_t old = 0;
    while (old < s->path_count &&
           (paths[old].upvalue != path.upvalue || text == NULL ||
            strcmp(paths[old].text, text) != 0))
      old++;
    if (old == s->path_count) paths[s->path_count++] = path;
  }
  s->parameters = p->parameters;
  s->is_vararg = p->is_vararg;
  s->source = p->source;
  s->line = p->line;
  s->upvalue_count = p->upvalue_count;
  s->upvalues = p->upvalues;
  s->names = names;
  s->paths = paths;
  return s;
}

void lzc_summary_free(lzc_summary *summary) {
  if (summary == NULL) return;
  whole_summary *all = (whole_summary *)(void *)summary;
  arena a = all->a;
  arena_free(&a);
  free(all);
}
