/*
 * spirv_guard.c - entry points in which work-items beyond the range do
 * nothing, so that a launch may have more work-items than its range.
 * SPDX-License-Identifier: MIT
 *
 * SPIR-V forbids calls of entry points. A kernel's function therefore becomes
 * an ordinary function that two small functions call: one has the kernel's
 * name, the other is guarded. The module's statements about the kernel's entry
 * point and its parameters are repeated for the small functions.
 *
 * A function that reads the global id, or calls a function that does, gets one
 * more parameter: the first id of the launch, which is added to the id. Launch
 * offsets are not used, because some drivers do not support them and PoCL
 * compiles a kernel again for them.
 */
#include "spirv_guard.h"

#include "spirv_reader.h"
#include "spirv_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_PARAMETERS = 255,    /* SPIR-V's limit */
  MOST_NEW_IDS = 2 * MOST_PARAMETERS + 64, /* for each kernel */
  /* An instruction has at most 65535 words. An entry point's words hold its
     name, 4 bytes each, and the variables that it uses. */
  MOST_NAME = 60000,
  MOST_VARIABLES = 45000,
  /* Newer than some packaged headers. */
  CAPABILITY_FUNCTION_POINTERS = 5603,
  CAPABILITY_VECTOR_COMPUTE = 5617,
  CAPABILITY_COOPERATIVE_MATRIX = 6022,
  CAPABILITY_JOINT_MATRIX = 6118,
  FUNCTION_CONTROL_OPT_NONE = 0x10000
};

/* The built-in variables that a guard reads. */
enum { GROUP_ID, GROUP_SIZE, ITEM_ID, INPUTS };

static const struct {
  uint32_t builtin;
  const char *name;
} builtins[INPUTS] = {
  {SpvBuiltInWorkgroupId, "__spirv_BuiltInWorkgroupId"},
  {SpvBuiltInWorkgroupSize, "__spirv_BuiltInWorkgroupSize"},
  {SpvBuiltInGlobalInvocationId, "__spirv_BuiltInGlobalInvocationId"}};

/* The functions that call a kernel's function; PLAIN only if kernels remain. */
enum { PLAIN, GUARDED, COPIES };

/* The writer's notes on an id of the module. */
typedef struct note {
  uint32_t copy[COPIES]; /* of an entry point or its parameter; 0 if absent */
  uint32_t builtin;      /* 1 + the built-in it is decorated as, or 0 */
  bool linked;           /* has linkage */
  bool nameless;         /* a function that loses its name and its linkage */
  bool kernel;           /* an entry point of the module */
  bool gone;             /* an entry point that becomes an ordinary function */
  bool shifted;          /* a function that adds a parameter to the global id */
  uint32_t first;        /* of a shifted function: that parameter */
} note;

typedef struct guard {
  const spirv_module *m;
  bool keep;
  spirv_writer w;
  bool any;                  /* a kernel is guarded */
  note *notes;
  uint32_t input[INPUTS];    /* variables */
  uint32_t size, sizes;      /* the types of an id's component and of an id */
  uint32_t zeros;            /* the id 0, 0, 0 */
} guard;

/* ------------------------------------------------------------------------
 * Reading.
 */

/* Returns the notes on an id, or NULL if the module does not define it. */
static note *note_of(const guard *g, uint32_t id)
{
  return spirv_definition(g->m, id) != NULL ? &g->notes[id] : NULL;
}

/* Returns true if all kernels of a module run as separate work-items, functions
   are used only in calls, and guards and their names fit SPIR-V's limits. */
static bool takes_guards(const spirv_module *m)
{
  /* Each instruction may take two more ids. */
  uint64_t bound = m->bound + m->kernel_count * (uint64_t)MOST_NEW_IDS +
                   2 * (uint64_t)m->instruction_count + 64;
  if (m->address_bits == 0 || bound > MAX_BOUND) return false;
  for (size_t i = 0; i < m->capability_count; i++)
    if (m->capabilities[i] == SpvCapabilityDeviceEnqueue ||
        m->capabilities[i] == CAPABILITY_FUNCTION_POINTERS ||
        m->capabilities[i] == CAPABILITY_VECTOR_COMPUTE ||
        m->capabilities[i] == CAPABILITY_COOPERATIVE_MATRIX ||
        m->capabilities[i] == CAPABILITY_JOINT_MATRIX)
      return false;
  for (size_t i = 0; i < m->kernel_count; i++)
    if (strlen(m->kernels[i].name) > MOST_NAME ||
        spirv_is_guard(m->kernels[i].name))
      return false;
  return true;
}

static bool kernel_takes_guard(const spirv_module *m, const spirv_kernel *k)
{
  const uint32_t notices = SPIRV_USES_BARRIER | SPIRV_USES_LOCAL |
                           SPIRV_USES_GROUP_OPS | SPIRV_USES_SUBGROUP_OPS |
                           SPIRV_USES_UNKNOWN_CALL | SPIRV_READS_ID_IN_PARTS;
  const uint32_t harmless = SPIRV_BUILTIN_GLOBAL_ID | SPIRV_BUILTIN_WORK_DIM;
  const spirv_function *f = &m->functions[k->function];
  const spirv_instruction *in = &m->instructions[f->first];
  const spirv_instruction *type = spirv_definition(m, in->words[4]);
  const spirv_instruction *gives = spirv_definition(m, in->result_type);
  return (k->features & notices) == 0 && (k->builtins & ~harmless) == 0 &&
         !f->imported && gives != NULL && gives->opcode == SpvOpTypeVoid &&
         type != NULL && type->opcode == SpvOpTypeFunction &&
         f->param_count + SPIRV_GUARD_ARGUMENTS <= MOST_PARAMETERS &&
         type->word_count == f->param_count + 3;
}

bool spirv_can_guard(const spirv_module *m, const spirv_kernel *k)
{
  return kernel_takes_guard(m, k) && takes_guards(m);
}

static void note_decorations(guard *g)
{
  const spirv_module *m = g->m;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    note *n = in->opcode == SpvOpDecorate ? note_of(g, in->words[1]) : NULL;
    if (n == NULL) continue;
    if (in->words[2] == SpvDecorationLinkageAttributes) n->linked = true;
    if (in->words[2] == SpvDecorationBuiltIn) n->builtin = in->words[3] + 1;
  }
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    const note *all =
        in->opcode == SpvOpGroupDecorate ? note_of(g, in->words[1]) : NULL;
    for (unsigned k = 2; all != NULL && k < in->word_count; k++) {
      note *n = note_of(g, in->words[k]);
      if (n == NULL) continue;
      n->linked |= all->linked;
      if (all->builtin != 0) n->builtin = all->builtin;
    }
  }
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds the kernels that get a guard. Also finds the functions that no compiler
   may mistake for a kernel or an OpenCL function: former kernels, and other
   functions with the name of a kernel. llvm-spirv mistakes a function with that
   name for the kernel, and fails if the function has an extra parameter. */
static bool note_kernels(guard *g)
{
  const spirv_module *m = g->m;
  const bool room = takes_guards(m);
  const char **names = calloc(m->kernel_count + 1, sizeof *names);
  size_t count = 0;
  if (names == NULL) return false;
  for (size_t i = 0; i < m->kernel_count; i++) {
    const spirv_kernel *k = &m->kernels[i];
    const spirv_function *f = &m->functions[k->function];
    note *n = &g->notes[f->id];
    bool guarded = room && kernel_takes_guard(m, k);
    names[count++] = k->name;
    n->kernel = true;
    if (!guarded && g->keep) continue;
    n->gone = true;
    g->any = g->any || guarded;
    if (!guarded || n->copy[GUARDED] != 0) continue;
    for (int c = g->keep ? PLAIN : GUARDED; c < COPIES; c++) {
      n->copy[c] = writer_id(&g->w);
      for (uint32_t p = 0; p < f->param_count; p++)
        g->notes[f->params[p]].copy[c] = writer_id(&g->w);
    }
  }
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 0; i < m->function_count; i++) {
    const spirv_function *f = &m->functions[i];
    note *n = &g->notes[f->id];
    n->nameless =
        n->gone || (!n->kernel && f->name != NULL && !f->imported &&
                    bsearch(&f->name, names, count, sizeof *names,
                            compare_names) != NULL);
  }
  free(names);
  return true;
}

/* Returns true for a load of the global id. */
static bool is_id_load(const guard *g, const spirv_instruction *in)
{
  const note *n =
      in->opcode == SpvOpLoad ? note_of(g, in->words[3]) : NULL;
  return n != NULL && n->builtin == SpvBuiltInGlobalInvocationId + 1;
}

/* Finds the functions that read the global id, directly or by calls. */
static void note_shifted(guard *g)
{
  const spirv_module *m = g->m;
  for (size_t i = 0; i < m->function_count; i++) {
    const spirv_function *f = &m->functions[i];
    if (f->imported) continue;
    note *n = &g->notes[f->id];
    for (uint32_t k = 0; k < f->count && !n->shifted; k++)
      n->shifted = is_id_load(g, &m->instructions[f->first + k]);
  }
  bool more = true;
  while (more) {
    more = false;
    for (size_t i = 0; i < m->function_count; i++) {
      const spirv_function *f = &m->functions[i];
      note *n = &g->notes[f->id];
      for (uint32_t k = 0; k < f->callee_count && !n->shifted; k++)
        if (g->notes[m->functions[f->callees[k]].id].shifted)
          more = n->shifted = true;
    }
  }
  /* A kernel that remains an entry point gets no extra parameter. */
  for (size_t i = 0; i < m->kernel_count; i++) {
    note *n = &g->notes[m->functions[m->kernels[i].function].id];
    n->shifted = n->shifted && n->gone;
  }
}

/* ------------------------------------------------------------------------
 * The part before the functions.
 */

/* Returns the section of an instruction if its opcode determines it, or -1. */
static int section_of(uint16_t opcode)
{
  switch (opcode) {
  case SpvOpCapability: return WRITER_CAPABILITY;
  case SpvOpExtension: return WRITER_EXTENSION;
  case SpvOpExtInstImport: return WRITER_IMPORT;
  case SpvOpMemoryModel: return WRITER_MODEL;
  case SpvOpEntryPoint: return WRITER_ENTRY;
  case SpvOpExecutionMode:
  case SpvOpExecutionModeId: return WRITER_MODE;
  case SpvOpString:
  case SpvOpSource:
  case SpvOpSourceContinued:
  case SpvOpSourceExtension: return WRITER_STRING;
  case SpvOpName:
  case SpvOpMemberName:
  case SpvOpModuleProcessed: return WRITER_NAME;
  case SpvOpDecorate:
  case SpvOpDecorateId:
  case SpvOpDecorateString:
  case SpvOpMemberDecorate:
  case SpvOpMemberDecorateString:
  case SpvOpDecorationGroup:
  case SpvOpGroupDecorate:
  case SpvOpGroupMemberDecorate: return WRITER_DECORATION;
  default: return -1;
  }
}

static void copy(guard *g, int section, const spirv_instruction *in)
{
  writer_op(&g->w, section, in->opcode, in->word_count - 1u, in->words + 1);
}

/* Copies an instruction about the id in its first operand, for another id. */
static void copy_about(guard *g, int section, const spirv_instruction *in,
                       uint32_t id)
{
  writer_words *w = &g->w.section[section];
  size_t at = w->count;
  copy(g, section, in);
  if (w->count > at) w->at[at + 1] = id;
}

static void write_about_copies(guard *g, int section,
                               const spirv_instruction *in, const note *n)
{
  for (int c = 0; c < COPIES; c++)
    if (n->copy[c] != 0) copy_about(g, section, in, n->copy[c]);
}

static void write_entry(guard *g, const char *prefix, uint32_t function,
                        const char *name, const uint32_t *words, size_t count)
{
  char *full = malloc(strlen(prefix) + strlen(name) + 1);
  if (full == NULL) {
    g->w.failed = true;
    return;
  }
  strcpy(full, prefix);
  strcat(full, name);
  if (count > MOST_VARIABLES) count = MOST_VARIABLES;
  writer_string(&g->w, WRITER_ENTRY, SpvOpEntryPoint, 2,
                (uint32_t[]){SpvExecutionModelKernel, function}, full, count,
                words);
  free(full);
}

/* Writes the guarded entry point of a kernel. Its variables are the kernel's,
   which start at `words`, and the guard's. */
static void write_guarded_entry(guard *g, uint32_t function, const char *name,
                                const uint32_t *words, size_t count)
{
  uint32_t *all = malloc((count + INPUTS) * sizeof *all);
  if (all == NULL) {
    g->w.failed = true;
    return;
  }
  size_t n = 0;
  for (; n < INPUTS; n++) all[n] = g->input[n];
  for (size_t i = 0; i < count; i++) {
    bool known = false;
    for (int k = 0; k < INPUTS; k++) known |= words[i] == g->input[k];
    if (!known) all[n++] = words[i];
  }
  write_entry(g, SPIRV_GUARD_ENTRY, function, name, all, n);
  free(all);
}

/* Writes "PREFIXlze_guarded_NAME.LIST"; `own` extends the list for each of the
   guard's own arguments. */
static void write_list(guard *g, const char *prefix, const char *name,
                       const char *list, const char *own)
{
  if (list == NULL) return;
  size_t room = strlen(prefix) + sizeof SPIRV_GUARD_ENTRY + strlen(name) +
                strlen(list) + SPIRV_GUARD_ARGUMENTS * (strlen(own) + 1) + 2;
  char *text = malloc(room);
  if (text == NULL) {
    g->w.failed = true;
    return;
  }
  int at = snprintf(text, room, "%s" SPIRV_GUARD_ENTRY "%s.%s", prefix, name,
                    list);
  for (int i = 0; i < SPIRV_GUARD_ARGUMENTS; i++)
    at += snprintf(text + at, room - (size_t)at, "%s,", own);
  uint32_t id = writer_id(&g->w);
  writer_string(&g->w, WRITER_STRING, SpvOpString, 1, &id, text, 0, NULL);
  free(text);
}

/* Writes the entry points that replace a kernel's original one. */
static void write_entries(guard *g, const spirv_instruction *in,
                          const spirv_kernel *k)
{
  const note *n = &g->notes[in->words[2]];
  size_t first = 3 + strlen(k->name) / 4 + 1;
  const uint32_t *words = in->words + first;
  size_t count = in->word_count - first;
  if (n->copy[PLAIN] != 0)
    write_entry(g, "", n->copy[PLAIN], k->name, words, count);
  if (n->copy[GUARDED] == 0) return;
  write_guarded_entry(g, n->copy[GUARDED], k->name, words, count);
  write_list(g, "kernel_arg_type.", k->name, k->type_list,
             g->m->address_bits == 64 ? "ulong3" : "uint3");
  write_list(g, "kernel_arg_type_qual.", k->name, k->qualifier_list, "");
}

/* Writes the targets of a decoration group. A group with linkage leaves out
   functions that lose theirs; any other group also decorates the copies. */
static void write_group_decorate(guard *g, const spirv_instruction *in)
{
  const note *all = note_of(g, in->words[1]);
  bool linked = all != NULL && all->linked;
  uint32_t *words = malloc(in->word_count * sizeof *words);
  size_t count = 0;
  if (words == NULL) {
    g->w.failed = true;
    return;
  }
  for (unsigned k = 1; k < in->word_count; k++) {
    const note *n = k > 1 ? note_of(g, in->words[k]) : NULL;
    if (!linked || n == NULL || !n->nameless) words[count++] = in->words[k];
  }
  writer_op(&g->w, WRITER_DECORATION, in->opcode, count, words);
  free(words);
  for (unsigned k = 2; k < in->word_count && !linked; k++) {
    const note *n = note_of(g, in->words[k]);
    for (int c = 0; n != NULL && c < COPIES; c++)
      if (n->copy[c] != 0)
        WRITE(&g->w, WRITER_DECORATION, in->opcode, in->words[1], n->copy[c]);
  }
}

/* Writes an instruction about the id in its first operand. */
static void write_statement(guard *g, int section, const spirv_instruction *in)
{
  const note *n = note_of(g, in->words[1]);
  bool mode = section == WRITER_MODE;
  bool linkage = in->opcode == SpvOpDecorate &&
                 in->words[2] == SpvDecorationLinkageAttributes;
  bool names = in->opcode == SpvOpName || linkage;
  if (n == NULL || !(mode ? n->gone : names && n->nameless))
    copy(g, section, in);
  if (n != NULL && !(names && n->nameless))
    write_about_copies(g, section, in, n);
}

/* Writes an instruction that has a section, except entry points, which are
   written later. Returns false if the instruction has no section. */
static bool write_in_section(guard *g, const spirv_instruction *in)
{
  int section = section_of(in->opcode);
  switch (in->opcode) {
  case SpvOpEntryPoint:
    break;
  case SpvOpExecutionMode:
  case SpvOpExecutionModeId:
  case SpvOpName:
  case SpvOpDecorate:
  case SpvOpDecorateId:
  case SpvOpDecorateString:
    write_statement(g, section, in);
    break;
  case SpvOpGroupDecorate:
    write_group_decorate(g, in);
    break;
  default:
    if (section >= 0) copy(g, section, in);
  }
  return section >= 0;
}

/* Returns a function type extended by `more` ids as parameters, or the type
   itself if it is not a function type. */
static uint32_t longer_type(guard *g, uint32_t type, unsigned more)
{
  const spirv_instruction *in = spirv_definition(g->m, type);
  if (in == NULL || in->opcode != SpvOpTypeFunction) return type;
  const size_t count = in->word_count - 2u;
  uint32_t *words = malloc((count + more) * sizeof *words);
  if (words == NULL) {
    g->w.failed = true;
    return type;
  }
  memcpy(words, in->words + 2, count * sizeof *words);
  for (unsigned k = 0; k < more; k++) words[count + k] = g->sizes;
  type = writer_once(&g->w, SpvOpTypeFunction, 0, count + more, words);
  free(words);
  return type;
}

static void write_function(guard *g, const spirv_instruction *in)
{
  uint32_t words[4];
  memcpy(words, in->words + 1, sizeof words);
  const note *n = note_of(g, in->result);
  /* A former kernel must be as fast as a kernel. */
  if (n != NULL && n->nameless && !(words[2] & FUNCTION_CONTROL_OPT_NONE))
    words[2] = (words[2] & ~(uint32_t)SpvFunctionControlDontInlineMask) |
               SpvFunctionControlInlineMask;
  if (n != NULL && n->shifted) words[3] = longer_type(g, words[3], 1);
  writer_op(&g->w, WRITER_BODY, in->opcode, 4, words);
}

/* Writes a shifted function's extra parameter. */
static void write_first(guard *g, note *n)
{
  n->first = writer_id(&g->w);
  WRITE(&g->w, WRITER_BODY, SpvOpFunctionParameter, g->sizes, n->first);
}

/* Writes a load of the global id, and adds `first` to it. */
static void write_id(guard *g, const spirv_instruction *in, uint32_t first)
{
  uint32_t id = writer_id(&g->w);
  size_t at = g->w.section[WRITER_BODY].count;
  copy(g, WRITER_BODY, in);
  if (g->w.failed) return;
  g->w.section[WRITER_BODY].at[at + 2] = id;
  WRITE(&g->w, WRITER_BODY, SpvOpIAdd, in->result_type, in->result, id, first);
}

/* Writes a call of a shifted function. */
static void write_shifted_call(guard *g, const spirv_instruction *in,
                               uint32_t first)
{
  uint32_t *words = malloc((in->word_count + 1u) * sizeof *words);
  if (words == NULL) {
    g->w.failed = true;
    return;
  }
  const size_t count = in->word_count - 1u;
  memcpy(words, in->words + 1, count * sizeof *words);
  words[count] = first;
  writer_op(&g->w, WRITER_BODY, in->opcode, count + 1, words);
  free(words);
}

/* Writes an instruction of a function. */
static void write_body(guard *g, const spirv_instruction *in, const note *f)
{
  const note *callee =
      in->opcode == SpvOpFunctionCall ? note_of(g, in->words[3]) : NULL;
  if (f->shifted && is_id_load(g, in))
    write_id(g, in, f->first);
  else if (callee != NULL && callee->shifted)
    write_shifted_call(g, in, f->shifted ? f->first : g->zeros);
  else
    copy(g, WRITER_BODY, in);
}

/* Returns the index of the last parameter of the function at i, or i. */
static size_t last_parameter(const spirv_module *m, size_t i)
{
  size_t last = i;
  for (size_t k = i + 1; k < m->instruction_count; k++) {
    uint16_t opcode = m->instructions[k].opcode;
    if (opcode == SpvOpFunctionParameter) last = k;
    else if (opcode != SpvOpLine && opcode != SpvOpNoLine) break;
  }
  return last;
}

/* Writes the functions, which start at instruction i. */
static void write_functions(guard *g, size_t i)
{
  note none = {.first = 0}, *f = &none;
  size_t last = 0;
  for (; i < g->m->instruction_count; i++) {
    const spirv_instruction *in = &g->m->instructions[i];
    if (in->opcode == SpvOpFunction) {
      f = note_of(g, in->result);
      if (f == NULL) f = &none;
      last = last_parameter(g->m, i);
      write_function(g, in);
    } else if (!write_in_section(g, in)) {
      write_body(g, in, f);
    }
    if (i == last && f->shifted) write_first(g, f);
  }
}

/* Writes the types of an id and its components, and an id of zeros. */
static void write_sizes(guard *g)
{
  spirv_writer *w = &g->w;
  if (g->m->address_bits == 64) writer_capability(w, SpvCapabilityInt64);
  g->size = writer_once(w, SpvOpTypeInt, 0, 2,
                        (uint32_t[]){g->m->address_bits, 0});
  g->sizes = writer_once(w, SpvOpTypeVector, 0, 2, (uint32_t[]){g->size, 3});
  g->zeros = writer_once(w, SpvOpConstantNull, 1, 1, &g->sizes);
}

/* Writes the module except its entry points. */
static void write_module(guard *g)
{
  size_t i = 0;
  for (; i < g->m->instruction_count; i++) {
    const spirv_instruction *in = &g->m->instructions[i];
    if (in->opcode == SpvOpFunction) break;
    if (write_in_section(g, in)) continue;
    if (in->opcode >= SpvOpTypeVoid && in->opcode <= SpvOpTypeFunction)
      writer_type(&g->w, in->words);
    else
      copy(g, WRITER_GLOBAL, in);
  }
  if (g->any) write_sizes(g);
  write_functions(g, i);
}

static void write_all_entries(guard *g)
{
  const spirv_module *m = g->m;
  const spirv_kernel *next = m->kernels;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode != SpvOpEntryPoint) continue;
    const spirv_kernel *k =
        in->words[1] == SpvExecutionModelKernel ? next++ : NULL;
    if (k != NULL && g->notes[in->words[2]].gone)
      write_entries(g, in, k);
    else if (g->keep)
      copy(g, WRITER_ENTRY, in);
  }
  if (g->w.section[WRITER_ENTRY].count == 0)
    writer_capability(&g->w, SpvCapabilityLinkage);
}

/* ------------------------------------------------------------------------
 * Guards.
 */

/* Finds the module's own variables for the built-ins that a guard reads.
   Returns true if built-in variables have linkage in the module. */
static bool find_inputs(guard *g, uint32_t pointer)
{
  const spirv_module *m = g->m;
  bool linked = false;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) break;
    if (!is_variable_in(in, SpvStorageClassInput)) continue;
    const note *n = &g->notes[in->result];
    linked |= n->builtin != 0 && n->linked;
    for (int k = 0; k < INPUTS; k++)
      if (n->builtin == builtins[k].builtin + 1 && in->result_type == pointer)
        g->input[k] = in->result;
  }
  return linked;
}

/* Declares the variables that all guards use. */
static void write_inputs(guard *g)
{
  spirv_writer *w = &g->w;
  uint32_t pointer = writer_once(w, SpvOpTypePointer, 0, 2,
                                 (uint32_t[]){SpvStorageClassInput, g->sizes});
  bool linked = find_inputs(g, pointer);
  for (int k = 0; k < INPUTS; k++) {
    if (g->input[k] != 0) continue;
    uint32_t id = g->input[k] = writer_id(w);
    WRITE(w, WRITER_GLOBAL, SpvOpVariable, pointer, id, SpvStorageClassInput);
    if (linked) {
      uint32_t import = SpvLinkageTypeImport;
      writer_string(w, WRITER_DECORATION, SpvOpDecorate, 2,
                    (uint32_t[]){id, SpvDecorationLinkageAttributes},
                    builtins[k].name, 1, &import);
    }
    WRITE(w, WRITER_DECORATION, SpvOpDecorate, id, SpvDecorationConstant);
    WRITE(w, WRITER_DECORATION, SpvOpDecorate, id, SpvDecorationBuiltIn,
          builtins[k].builtin);
  }
}

/* Writes an instruction with two operands. Returns its result. */
static uint32_t apply(guard *g, unsigned opcode, uint32_t type, uint32_t a,
                       uint32_t b)
{
  uint32_t id = writer_id(&g->w);
  writer_op(&g->w, WRITER_BODY, opcode, 4, (uint32_t[]){type, id, a, b});
  return id;
}

static uint32_t load_input(guard *g, int which)
{
  uint32_t id = writer_id(&g->w);
  WRITE(&g->w, WRITER_BODY, SpvOpLoad, g->sizes, id, g->input[which]);
  return id;
}

static uint32_t part(guard *g, uint32_t vector, uint32_t d)
{
  return apply(g, SpvOpCompositeExtract, g->size, vector, d);
}

/* Writes the comparison `opcode` for each of the three dimensions. Returns the
   conjunction. */
static uint32_t compare_all(guard *g, unsigned opcode, const uint32_t *a,
                            uint32_t count)
{
  uint32_t type = writer_once(&g->w, SpvOpTypeBool, 0, 0, NULL), all = 0;
  for (uint32_t d = 0; d < 3; d++) {
    uint32_t holds = apply(g, opcode, type, a[d], part(g, count, d));
    all = d == 0 ? holds : apply(g, SpvOpLogicalAnd, type, all, holds);
  }
  return all;
}

/* Writes a test that all work-items of the group are within the range. */
static uint32_t write_full(guard *g, uint32_t count)
{
  uint32_t groups = load_input(g, GROUP_ID), sizes = load_input(g, GROUP_SIZE);
  uint32_t ends[3];
  for (uint32_t d = 0; d < 3; d++) {
    uint32_t size = part(g, sizes, d);
    uint32_t at = apply(g, SpvOpIMul, g->size, part(g, groups, d), size);
    ends[d] = apply(g, SpvOpIAdd, g->size, at, size);
  }
  return compare_all(g, SpvOpULessThanEqual, ends, count);
}

/* Writes a test that the work-item is within the range. */
static uint32_t write_inside(guard *g, uint32_t count)
{
  uint32_t id = load_input(g, ITEM_ID), ids[3];
  for (uint32_t d = 0; d < 3; d++) ids[d] = part(g, id, d);
  return compare_all(g, SpvOpULessThan, ids, count);
}

/* Writes the call of a kernel's function with the parameters of a copy. Global
   ids start at `first`. */
static void write_call(guard *g, const spirv_function *f, int which,
                       uint32_t first)
{
  uint32_t words[3 + MOST_PARAMETERS] = {
    g->m->instructions[f->first].result_type, writer_id(&g->w), f->id};
  size_t count = 3;
  for (uint32_t p = 0; p < f->param_count; p++)
    words[count++] = g->notes[f->params[p]].copy[which];
  if (g->notes[f->id].shifted) words[count++] = first;
  writer_op(&g->w, WRITER_BODY, SpvOpFunctionCall, count, words);
}

/* Writes a function that calls a kernel's function, up to its first block. */
static void write_start(guard *g, const spirv_function *f, int which,
                        uint32_t type)
{
  const spirv_instruction *in = &g->m->instructions[f->first];
  WRITE(&g->w, WRITER_BODY, SpvOpFunction, in->result_type,
        g->notes[f->id].copy[which], SpvFunctionControlMaskNone, type);
  for (uint32_t p = 0; p < f->param_count; p++)
    WRITE(&g->w, WRITER_BODY, SpvOpFunctionParameter, in[1 + p].result_type,
          g->notes[f->params[p]].copy[which]);
}

static void write_plain(guard *g, const spirv_function *f)
{
  write_start(g, f, PLAIN, g->m->instructions[f->first].words[4]);
  WRITE(&g->w, WRITER_BODY, SpvOpLabel, writer_id(&g->w));
  write_call(g, f, PLAIN, g->zeros);
  writer_op(&g->w, WRITER_BODY, SpvOpReturn, 0, NULL);
  writer_op(&g->w, WRITER_BODY, SpvOpFunctionEnd, 0, NULL);
}

static void write_guarded(guard *g, const spirv_function *f)
{
  spirv_writer *w = &g->w;
  const spirv_instruction *in = &g->m->instructions[f->first];
  uint32_t own[SPIRV_GUARD_ARGUMENTS];
  write_start(g, f, GUARDED,
              longer_type(g, in->words[4], SPIRV_GUARD_ARGUMENTS));
  for (int k = 0; k < SPIRV_GUARD_ARGUMENTS; k++) {
    own[k] = writer_id(w);
    WRITE(w, WRITER_BODY, SpvOpFunctionParameter, g->sizes, own[k]);
  }
  uint32_t test = writer_id(w), call = writer_id(w), done = writer_id(w);
  WRITE(w, WRITER_BODY, SpvOpLabel, writer_id(w));
  uint32_t full = write_full(g, own[SPIRV_GUARD_COUNT]);
  WRITE(w, WRITER_BODY, SpvOpBranchConditional, full, call, test);
  WRITE(w, WRITER_BODY, SpvOpLabel, test);
  uint32_t inside = write_inside(g, own[SPIRV_GUARD_COUNT]);
  WRITE(w, WRITER_BODY, SpvOpBranchConditional, inside, call, done);
  WRITE(w, WRITER_BODY, SpvOpLabel, call);
  write_call(g, f, GUARDED, own[SPIRV_GUARD_FIRST]);
  WRITE(w, WRITER_BODY, SpvOpBranch, done);
  WRITE(w, WRITER_BODY, SpvOpLabel, done);
  writer_op(w, WRITER_BODY, SpvOpReturn, 0, NULL);
  writer_op(w, WRITER_BODY, SpvOpFunctionEnd, 0, NULL);
}

static void write_guards(guard *g)
{
  const spirv_module *m = g->m;
  for (size_t i = 0; i < m->function_count; i++) {
    const spirv_function *f = &m->functions[i];
    const note *n = &g->notes[f->id];
    if (n->copy[PLAIN] != 0) write_plain(g, f);
    if (n->copy[GUARDED] != 0) write_guarded(g, f);
  }
}

/* ------------------------------------------------------------------------ */

uint32_t *spirv_guard(const spirv_module *m, bool keep, size_t *count)
{
  guard g = {.m = m, .keep = keep};
  uint32_t *words = NULL;
  writer_init(&g.w);
  g.w.bound = m->bound;
  g.notes = calloc((size_t)m->bound + 1, sizeof *g.notes);
  if (g.notes != NULL && note_kernels(&g)) {
    note_decorations(&g);
    if (g.any) note_shifted(&g);
    write_module(&g);
    if (g.any) write_inputs(&g);
    write_all_entries(&g);
    write_guards(&g);
    words = writer_finish(&g.w, m->version, count);
  }
  if (words != NULL) words[2] = m->generator;
  writer_free(&g.w);
  free(g.notes);
  return words;
}
