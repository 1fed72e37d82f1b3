/*
 * zocl_link.c - combines the code of several modules into one.
 * SPDX-License-Identifier: MIT
 *
 * Imported functions and variables are copied from the modules that export
 * them, and every program-scope variable becomes the constant address of its
 * memory.  Both steps rewrite SPIR-V, so compilers need not support them:
 * the instructions of all parts are sorted into the sections of one module, ids
 * are renumbered, and equal types and constants are merged.
 */
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

/* A growing array of words. */
typedef struct words {
  uint32_t *at;
  size_t count, room;
} words;

/* The order that SPIR-V prescribes. */
typedef enum section {
  SECTION_CAPABILITIES,
  SECTION_EXTENSIONS,
  SECTION_IMPORTS,
  SECTION_MODEL,
  SECTION_ENTRIES,
  SECTION_MODES,
  SECTION_SOURCE,
  SECTION_NAMES,
  SECTION_PROCESSED,
  SECTION_ANNOTATIONS,
  SECTION_GLOBALS,
  SECTION_DECLARATIONS,
  SECTION_FUNCTIONS,
  SECTIONS
} section;

/* The fate of an id. */
enum {
  KEPT,
  PLACED, /* a variable that became an address: not decorated any more */
  GONE    /* replaced by another id, or removed */
};

typedef struct part {
  const zocl_module *module;
  const spirv_module *spirv;
  spirv_module *parsed;  /* owned, if spirv is not the module's own */
  bool has_forward;      /* pointers that are used before their type */
  bool is_main;          /* the result has its kernels and exports */
  bool has_globals;      /* the result has its globals */
  uint32_t *map;         /* from its ids to the result's */
  uint8_t *fate;         /* for each id */
} part;

typedef struct linker {
  part *parts;           /* the main part last, unless all are main */
  uint32_t part_count;
  words out[SECTIONS];
  uint32_t version;      /* of the result: the latest of all parts */
  uint32_t bound;        /* of the ids in the result */
  uint32_t *buckets;     /* hash table: 1 + an entry that may be equal */
  struct entry {
    uint32_t at, next;   /* index in SECTION_GLOBALS, 1 + an entry */
  } *entries;
  uint32_t entry_count, entry_room;
  bool join;             /* every part is a main part */
  bool failed;           /* out of memory */
  tool_text *log;
} linker;

enum { BUCKETS = 1 << 12 };

/* ------------------------------------------------------------------------
 * Writing.
 */

static uint32_t *words_add(linker *l, section s, size_t count)
{
  words *w = &l->out[s];
  if (w->room - w->count < count) {
    size_t room = 2 * w->room + count + 64;
    uint32_t *more = realloc(w->at, room * sizeof *more);
    if (more == NULL) {
      l->failed = true;
      return NULL;
    }
    w->at = more;
    w->room = room;
  }
  w->count += count;
  return w->at + w->count - count;
}

static bool is_id_use(const spirv_module *m, const spirv_instruction *in,
                      unsigned k)
{
  size_t w = (size_t)(in->words - m->words) + k;
  return m->id_uses[w / 8] >> (w % 8) & 1;
}

/* Returns an id of the result.  Code that was decoded but not validated may
   contain any id. */
static uint32_t mapped(const part *p, uint32_t id)
{
  return id < p->spirv->bound ? p->map[id] : 0;
}

static int fate_of(const part *p, uint32_t id)
{
  return id < p->spirv->bound ? p->fate[id] : GONE;
}

/* Copies an instruction and renumbers its ids. */
static uint32_t *copy(linker *l, const part *p, section s,
                      const spirv_instruction *in)
{
  uint32_t *to = words_add(l, s, in->word_count);
  if (to == NULL) return NULL;
  memcpy(to, in->words, in->word_count * sizeof *to);
  unsigned k = 1;
  if (in->result_type != 0) to[k++] = mapped(p, in->result_type);
  if (in->result != 0) to[k++] = p->map[in->result];
  for (; k < in->word_count; k++)
    if (is_id_use(p->spirv, in, k)) to[k] = mapped(p, in->words[k]);
  return to;
}

/* ------------------------------------------------------------------------
 * Equal types and constants.
 */

/* Returns the index of the result of an instruction in SECTION_GLOBALS. */
static unsigned result_word(const uint32_t *in)
{
  switch (in[0] & 0xffff) {
  case SpvOpConstantTrue:
  case SpvOpConstantFalse:
  case SpvOpConstant:
  case SpvOpConstantComposite:
  case SpvOpConstantSampler:
  case SpvOpConstantNull: return 2;
  default: return 1;
  }
}

static uint32_t same_hash(const uint32_t *in)
{
  unsigned count = in[0] >> 16, result = result_word(in);
  uint64_t hash = in[0];
  for (unsigned k = 1; k < count; k++)
    if (k != result) hash = (hash ^ in[k]) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(hash >> 40) % BUCKETS;
}

/* If an instruction equal to the last one of the section exists, removes the
   last one and returns the other's id.  Otherwise, or if `only_remember`, adds
   the last one to the table and returns 0. */
static uint32_t same_find(linker *l, const uint32_t *in, bool only_remember)
{
  words *w = &l->out[SECTION_GLOBALS];
  unsigned count = in[0] >> 16, result = result_word(in);
  uint32_t *bucket = &l->buckets[same_hash(in)];
  for (uint32_t e = only_remember ? 0 : *bucket; e != 0;
       e = l->entries[e - 1].next) {
    const uint32_t *other = w->at + l->entries[e - 1].at;
    bool same = other[0] == in[0];
    for (unsigned k = 1; same && k < count; k++)
      same = k == result || other[k] == in[k];
    if (!same) continue;
    w->count -= count;
    return other[result];
  }
  if (l->entry_count == l->entry_room) {
    uint32_t room = 2 * l->entry_room + 256;
    struct entry *more = realloc(l->entries, room * sizeof *more);
    if (more == NULL) {
      l->failed = true;
      return 0;
    }
    l->entries = more;
    l->entry_room = room;
  }
  l->entries[l->entry_count++] =
      (struct entry){(uint32_t)(in - w->at), *bucket};
  *bucket = l->entry_count;
  return 0;
}

/* Returns true if equal instructions of this kind may be merged.  Decorated
   ones may not: specialized constants and packed structs. */
static bool may_be_same(const part *p, const spirv_instruction *in)
{
  switch (in->opcode) {
  case SpvOpTypeVoid:
  case SpvOpTypeBool:
  case SpvOpTypeInt:
  case SpvOpTypeFloat:
  case SpvOpTypeVector:
  case SpvOpTypeImage:
  case SpvOpTypeSampler:
  case SpvOpTypeSampledImage:
  case SpvOpTypeArray:
  case SpvOpTypeOpaque:
  case SpvOpTypeFunction:
  case SpvOpTypeEvent:
  case SpvOpTypeDeviceEvent:
  case SpvOpTypeReserveId:
  case SpvOpTypeQueue:
  case SpvOpTypePipe:
  case SpvOpConstantTrue:
  case SpvOpConstantFalse:
  case SpvOpConstant:
  case SpvOpConstantComposite:
  case SpvOpConstantSampler:
  case SpvOpConstantNull: return true;
  case SpvOpTypePointer: return !p->has_forward;
  case SpvOpTypeStruct:
    return !p->spirv->layouts[in - p->spirv->instructions].is_packed;
  default: return false;
  }
}

/* Returns the id of an instruction with these words, existing or new. */
static uint32_t constant_id(linker *l, const uint32_t *in)
{
  unsigned count = in[0] >> 16;
  uint32_t *to = words_add(l, SECTION_GLOBALS, count);
  if (to == NULL) return 0;
  memcpy(to, in, count * sizeof *to);
  uint32_t id = same_find(l, to, false);
  if (id != 0) return id;
  return to[result_word(to)] = l->bound++;
}

/* ------------------------------------------------------------------------
 * The sections.
 */

static section section_of(const spirv_instruction *in)
{
  switch (in->opcode) {
  case SpvOpCapability: return SECTION_CAPABILITIES;
  case SpvOpExtension: return SECTION_EXTENSIONS;
  case SpvOpExtInstImport: return SECTION_IMPORTS;
  case SpvOpMemoryModel: return SECTION_MODEL;
  case SpvOpEntryPoint: return SECTION_ENTRIES;
  case SpvOpExecutionMode:
  case SpvOpExecutionModeId: return SECTION_MODES;
  case SpvOpString:
  case SpvOpSource:
  case SpvOpSourceExtension:
  case SpvOpSourceContinued: return SECTION_SOURCE;
  case SpvOpName:
  case SpvOpMemberName: return SECTION_NAMES;
  case SpvOpModuleProcessed: return SECTION_PROCESSED;
  case SpvOpDecorate:
  case SpvOpMemberDecorate:
  case SpvOpDecorationGroup:
  case SpvOpGroupDecorate:
  case SpvOpGroupMemberDecorate:
  case SpvOpDecorateId:
  case SpvOpDecorateString:
  case SpvOpMemberDecorateString: return SECTION_ANNOTATIONS;
  default: return SECTION_GLOBALS;
  }
}

/* Replaces a program-scope variable by the address of its memory. */
static void place(linker *l, part *p, const zocl_global *global,
                  const spirv_instruction *in)
{
  bool wide = p->spirv->address_bits == 64;
  uint64_t address = (uintptr_t)global->address;
  const uint32_t type[4] = {4u << 16 | SpvOpTypeInt, 0, wide ? 64 : 32, 0};
  uint32_t type_id = constant_id(l, type);
  const uint32_t constant[5] = {(wide ? 5u : 4u) << 16 | SpvOpConstant,
                                type_id, 0, (uint32_t)address,
                                (uint32_t)(address >> 32)};
  uint32_t constant_of = constant_id(l, constant);
  uint32_t *to = words_add(l, SECTION_GLOBALS, 5);
  if (to == NULL) return;
  to[0] = 5u << 16 | SpvOpSpecConstantOp;
  to[1] = mapped(p, in->result_type);
  to[2] = p->map[in->result];
  to[3] = SpvOpConvertUToPtr;
  to[4] = constant_of;
  p->fate[in->result] = PLACED;
}

static const zocl_global *global_at(const part *p, uint32_t at)
{
  if (p->parsed != NULL) return NULL; /* already placed */
  for (uint32_t i = 0; i < p->module->global_count; i++)
    if (p->module->globals[i].at == at) return &p->module->globals[i];
  return NULL;
}

/* Returns true if a section already has these words. */
static bool section_has(const words *w, const spirv_instruction *in,
                        unsigned from)
{
  for (size_t at = 0; at < w->count; at += w->at[at] >> 16)
    if (w->at[at] == in->words[0] &&
        memcmp(w->at + at + from, in->words + from,
               (in->word_count - from) * sizeof *w->at) == 0)
      return true;
  return false;
}

/* Adds to a kernel's interface the variables that the functions of a part may
   use: up to SPIR-V 1.3 variables of class Input, since 1.4 all variables. */
static void entry_extend(linker *l, const part *p, size_t at)
{
  words *w = &l->out[SECTION_ENTRIES];
  const spirv_module *m = p->spirv;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) return;
    if (in->opcode != SpvOpVariable || p->fate[in->result] != KEPT ||
        (l->version < 0x10400 && in->words[3] != SpvStorageClassInput))
      continue;
    uint32_t id = p->map[in->result];
    bool listed = false;
    size_t k = at + 3; /* at the name, whose last word ends in a zero byte */
    while (k < w->count && w->at[k] >> 24 != 0) k++;
    while (++k < w->count && !listed) listed = w->at[k] == id;
    uint32_t *to = listed ? NULL : words_add(l, SECTION_ENTRIES, 1);
    if (to == NULL) continue;
    *to = id;
    w->at[at] += 1u << 16;
  }
}

/* Copies an entry point without the ids that became constants. */
static void entry_copy(linker *l, const part *p, const spirv_instruction *in)
{
  size_t at = l->out[SECTION_ENTRIES].count;
  uint32_t *to = copy(l, p, SECTION_ENTRIES, in);
  if (to == NULL) return;
  unsigned count = 0;
  for (unsigned k = 0; k < in->word_count; k++)
    if (k < 3 || !is_id_use(p->spirv, in, k) ||
        fate_of(p, in->words[k]) != PLACED)
      to[count++] = to[k];
  to[0] = count << 16 | SpvOpEntryPoint;
  l->out[SECTION_ENTRIES].count -= in->word_count - count;
  for (uint32_t i = 0; i < l->part_count; i++)
    if (&l->parts[i] != p || l->version > p->spirv->version)
      entry_extend(l, &l->parts[i], at);
}

/* Copies a group decoration without targets that are not decorated any more. */
static void group_copy(linker *l, const part *p, const spirv_instruction *in)
{
  uint32_t *to = copy(l, p, SECTION_ANNOTATIONS, in);
  unsigned step = in->opcode == SpvOpGroupDecorate ? 1 : 2, count = 2;
  if (to == NULL) return;
  for (unsigned k = 2; k + step <= in->word_count; k += step)
    if (fate_of(p, in->words[k]) == KEPT) {
      memmove(to + count, to + k, step * sizeof *to);
      count += step;
    }
  to[0] = count << 16 | in->opcode;
  l->out[SECTION_ANNOTATIONS].count -= in->word_count - count;
}

/* Copies everything that precedes the types. */
static void part_head(linker *l, part *p)
{
  const spirv_module *m = p->spirv;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) return;
    section s = section_of(in);
    switch (s) {
    case SECTION_CAPABILITIES:
    case SECTION_EXTENSIONS:
      if (section_has(&l->out[s], in, 1)) continue;
      break;
    case SECTION_IMPORTS:
      if (p->fate[in->result] == GONE) continue;
      break;
    case SECTION_MODEL:
      if (!p->is_main || l->out[s].count > 0) continue;
      break;
    case SECTION_MODES:
      if (!p->is_main) continue;
      break;
    case SECTION_ENTRIES:
      if (p->is_main) entry_copy(l, p, in);
      continue;
    case SECTION_NAMES:
      if (fate_of(p, in->words[1]) == GONE) continue;
      break;
    case SECTION_ANNOTATIONS:
      if (in->opcode == SpvOpGroupDecorate ||
          in->opcode == SpvOpGroupMemberDecorate) {
        group_copy(l, p, in);
        continue;
      }
      if (fate_of(p, in->words[1]) != KEPT) continue;
      /* Specialization ids and exported names of one module do not apply to
         another. */
      if (in->opcode == SpvOpDecorate &&
          ((in->words[2] == SpvDecorationSpecId &&
            (l->join || !p->is_main)) ||
           (in->words[2] == SpvDecorationLinkageAttributes && !p->is_main &&
            in->words[in->word_count - 1] == SpvLinkageTypeExport)))
        continue;
      break;
    case SECTION_GLOBALS: continue;
    default: break;
    }
    copy(l, p, s, in);
  }
}

static void part_functions(linker *l, part *p)
{
  const spirv_module *m = p->spirv;
  for (size_t f = 0; f < m->function_count; f++) {
    const spirv_function *function = &m->functions[f];
    if (p->fate[function->id] == GONE) continue;
    section s = SECTION_DECLARATIONS;
    for (uint32_t i = 0; i < function->count; i++)
      if (m->instructions[function->first + i].opcode == SpvOpLabel)
        s = SECTION_FUNCTIONS;
    for (uint32_t i = 0; i < function->count; i++)
      copy(l, p, s, &m->instructions[function->first + i]);
  }
}

/* ------------------------------------------------------------------------
 * Finding the exporter of an import.
 */

static const spirv_symbol *symbol_export(const spirv_module *m,
                                         const char *name)
{
  for (size_t i = 0; i < m->symbol_count; i++)
    if (m->symbols[i].exported && strcmp(m->symbols[i].name, name) == 0)
      return &m->symbols[i];
  return NULL;
}

const spirv_symbol *zocl_link_export(const zocl_module *module,
                                     const char *name)
{
  return symbol_export(module->spirv, name);
}

/* Removes a function and everything that it defines. */
static void function_drop(part *p, uint32_t id)
{
  const spirv_module *m = p->spirv;
  p->fate[id] = GONE;
  for (size_t f = 0; f < m->function_count; f++)
    if (m->functions[f].id == id)
      for (uint32_t i = 0; i < m->functions[f].count; i++) {
        uint32_t result = m->instructions[m->functions[f].first + i].result;
        if (result != 0) p->fate[result] = GONE;
      }
}

/* Returns another part that exports a name; NULL if absent. */
static part *exporter_of(linker *l, const part *importer, const char *name)
{
  for (uint32_t i = 0; i < l->part_count; i++)
    if (&l->parts[i] != importer &&
        zocl_link_export(l->parts[i].module, name) != NULL)
      return &l->parts[i];
  return NULL;
}

/* Resolves a part's imports.  Variables in CrossWorkgroup memory already have
   their addresses; other imports are left to the compiler. */
static bool part_resolve(linker *l, part *p)
{
  const spirv_module *m = p->spirv;
  for (size_t i = 0; i < m->symbol_count; i++) {
    const spirv_symbol *import = &m->symbols[i];
    const spirv_instruction *in = &m->instructions[import->at];
    if (!import->imported || global_at(p, import->at) != NULL) continue;
    part *other = exporter_of(l, p, import->name);
    if (other != NULL) {
      const spirv_symbol *there = symbol_export(other->spirv, import->name);
      const spirv_instruction *target =
          there != NULL ? &other->spirv->instructions[there->at] : NULL;
      if (target == NULL || target->opcode != in->opcode) {
        tool_text_add(l->log, "%s is imported as what it is not\n",
                      import->name);
        return false;
      }
      p->map[in->result] = other->map[target->result];
    } else {
      /* Another part may have the same import; declare it once. */
      const part *first = NULL;
      for (part *q = l->parts; q < p && first == NULL; q++)
        for (size_t j = 0; j < q->spirv->symbol_count; j++) {
          const spirv_symbol *s = &q->spirv->symbols[j];
          const spirv_instruction *there = &q->spirv->instructions[s->at];
          if (!s->imported || strcmp(s->name, import->name) != 0 ||
              there->opcode != in->opcode || global_at(q, s->at) != NULL)
            continue;
          first = q;
          p->map[in->result] = q->map[there->result];
          break;
        }
      if (first == NULL) continue;
    }
    if (in->opcode == SpvOpFunction)
      function_drop(p, in->result);
    else
      p->fate[in->result] = GONE;
  }
  return true;
}

/* Copies types, constants and variables of a part, after the parts that it
   imports variables from.  Comes before the other sections because it decides
   which ids exist. */
static void part_globals(linker *l, part *p)
{
  const spirv_module *m = p->spirv;
  if (p->has_globals) return;
  p->has_globals = true;
  for (size_t i = 0; i < m->symbol_count; i++) {
    const spirv_symbol *import = &m->symbols[i];
    part *other = import->imported && m->instructions[import->at].opcode ==
                                          SpvOpVariable
                      ? exporter_of(l, p, import->name) : NULL;
    if (other != NULL) part_globals(l, other);
  }
  const bool is_first = l->out[SECTION_GLOBALS].count == 0;
  for (uint32_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) return;
    if (section_of(in) != SECTION_GLOBALS ||
        (in->result != 0 && p->fate[in->result] == GONE))
      continue;
    const zocl_global *global =
        in->opcode == SpvOpVariable ? global_at(p, i) : NULL;
    if (global != NULL) {
      place(l, p, global, in);
      continue;
    }
    uint32_t *to = copy(l, p, SECTION_GLOBALS, in);
    if (to == NULL) return;
    p->has_forward |= in->opcode == SpvOpTypeForwardPointer;
    /* In one module, equal structs may be distinct types with different
       names. */
    bool only_remember = in->opcode == SpvOpTypeStruct && is_first;
    uint32_t same = may_be_same(p, in) ? same_find(l, to, only_remember) : 0;
    if (same != 0) {
      p->map[in->result] = same;
      p->fate[in->result] = GONE;
    }
  }
}

/* ------------------------------------------------------------------------
 * Linking.
 */

static bool part_new(linker *l, const zocl_module *module, bool is_main)
{
  part *p = &l->parts[l->part_count++];
  *p = (part){.module = module, .spirv = module->spirv, .is_main = is_main};
  /* The code of a built module already contains its imports. */
  if (!is_main && module->program != NULL && module->code != module->words) {
    p->parsed = spirv_parse(module->code, module->code_size, NULL, 0);
    p->spirv = p->parsed;
    if (p->parsed == NULL) return false;
  }
  const spirv_module *m = p->spirv;
  if (m->version > l->version) l->version = m->version;
  p->map = malloc((m->bound + 1u) * sizeof *p->map);
  p->fate = calloc(m->bound + 1u, 1);
  if (p->map == NULL || p->fate == NULL) return false;
  for (uint32_t id = 0; id < m->bound; id++) p->map[id] = l->bound + id;
  l->bound += m->bound;
  for (size_t i = 0; i < m->kernel_count && !is_main; i++)
    function_drop(p, m->functions[m->kernels[i].function].id);
  return true;
}

/* Merges imports of instruction sets, such as OpenCL.std, by name. */
static void part_imports(linker *l, part *p)
{
  for (size_t i = 0; i < p->spirv->instruction_count; i++) {
    const spirv_instruction *in = &p->spirv->instructions[i];
    if (in->opcode != SpvOpExtInstImport) continue;
    for (part *q = l->parts; q < p && p->fate[in->result] == KEPT; q++)
      for (size_t j = 0; j < q->spirv->instruction_count; j++) {
        const spirv_instruction *other = &q->spirv->instructions[j];
        if (other->opcode != SpvOpExtInstImport ||
            other->word_count != in->word_count ||
            memcmp(other->words + 2, in->words + 2,
                   (in->word_count - 2u) * sizeof *in->words) != 0)
          continue;
        p->map[in->result] = q->map[other->result];
        p->fate[in->result] = GONE;
        break;
      }
  }
}

/* Combines all parts. */
static bool linker_run(linker *l)
{
  bool ok = true;
  for (uint32_t i = 0; i < l->part_count; i++) part_imports(l, &l->parts[i]);
  for (uint32_t i = 0; i < l->part_count && ok; i++)
    ok = part_resolve(l, &l->parts[i]);
  for (uint32_t i = 0; i < l->part_count && ok; i++)
    part_globals(l, &l->parts[i]);
  for (uint32_t i = 0; i < l->part_count && ok; i++)
    part_head(l, &l->parts[i]);
  for (uint32_t i = 0; i < l->part_count && ok; i++)
    part_functions(l, &l->parts[i]);
  return ok;
}

/* Returns all sections after one header, malloc'ed; NULL with the reason in the
   log.  If a part is invalid, the result may be invalid too. */
static uint32_t *linker_write(linker *l, size_t *size)
{
  static const uint32_t int64[2] = {2u << 16 | SpvOpCapability,
                                    SpvCapabilityInt64};
  const spirv_instruction wide = {.word_count = 2, .words = int64};
  const spirv_module *last = l->parts[l->part_count - 1].spirv;
  size_t count = 5;
  if (last->address_bits == 64 &&
      !section_has(&l->out[SECTION_CAPABILITIES], &wide, 1)) {
    uint32_t *to = words_add(l, SECTION_CAPABILITIES, 2);
    if (to != NULL) memcpy(to, int64, sizeof int64);
  }
  for (int s = 0; s < SECTIONS; s++) count += l->out[s].count;
  uint32_t *code = l->failed ? NULL : malloc(count * sizeof *code);
  if (code == NULL) {
    tool_text_add(l->log, "out of memory\n");
    return NULL;
  }
  const uint32_t head[5] = {SpvMagicNumber, l->version, last->generator,
                            l->bound, 0};
  memcpy(code, head, sizeof head);
  count = 5;
  for (int s = 0; s < SECTIONS; s++) {
    if (l->out[s].count == 0) continue;
    memcpy(code + count, l->out[s].at, l->out[s].count * sizeof *code);
    count += l->out[s].count;
  }
  *size = count * sizeof *code;
  char message[1024];
  bool valid = spirv_validate(code, *size, message, sizeof message), was = true;
  for (uint32_t i = 0; i < l->part_count && was && !valid; i++) {
    const spirv_module *m = l->parts[i].spirv;
    was = spirv_validate(m->words, m->word_count * sizeof *m->words, NULL, 0);
  }
  if (valid || !was) return code;
  tool_text_add(l->log, "the modules do not fit together: %s\n", message);
  free(code);
  return NULL;
}

static bool linker_new(linker *l, uint32_t count, tool_text *log)
{
  *l = (linker){.log = log, .bound = 1};
  l->parts = calloc(count, sizeof *l->parts);
  l->buckets = calloc(BUCKETS, sizeof *l->buckets);
  return l->parts != NULL && l->buckets != NULL;
}

static void linker_free(linker *l)
{
  for (uint32_t i = 0; i < l->part_count; i++) {
    spirv_free(l->parts[i].parsed);
    free(l->parts[i].map);
    free(l->parts[i].fate);
  }
  for (int s = 0; s < SECTIONS; s++) free(l->out[s].at);
  free(l->entries);
  free(l->buckets);
  free(l->parts);
}

static bool exports_for(const zocl_module *exporter,
                        const zocl_module *importer)
{
  const spirv_module *m = importer->spirv;
  for (size_t i = 0; i < m->symbol_count; i++)
    if (m->symbols[i].imported &&
        zocl_link_export(exporter, m->symbols[i].name) != NULL)
      return true;
  return false;
}

/* Marks the other modules that this one needs, directly or through another. */
static void mark_needed(const zocl_module *module, zocl_module *const *others,
                        uint32_t count, bool *needed)
{
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < count; i++) {
      if (needed[i] || others[i] == module) continue;
      needed[i] = exports_for(others[i], module);
      for (uint32_t j = 0; j < count && !needed[i]; j++)
        needed[i] = needed[j] && exports_for(others[i], others[j]);
      changed |= needed[i];
    }
  }
}

bool zocl_link(zocl_module *module, zocl_module *const *others, uint32_t count,
               tool_text *log)
{
  linker l;
  bool ok = linker_new(&l, count + 1u, log);
  bool *needed = ok ? calloc(count + 1u, sizeof *needed) : NULL;
  ok = needed != NULL;
  if (ok) mark_needed(module, others, count, needed);
  for (uint32_t i = 0; i < count && ok; i++)
    if (needed[i]) {
      ok = part_new(&l, others[i], false) &&
           zocl_globals_hold(module, others[i]);
      /* Includes the modules that it was linked with before. */
      cache_key_add(&module->origin, &others[i]->origin,
                    sizeof others[i]->origin);
    }
  ok = ok && part_new(&l, module, true);
  if (!ok)
    tool_text_add(log, "out of memory\n");
  else if ((ok = linker_run(&l))) {
    size_t size = 0;
    uint32_t *code = linker_write(&l, &size);
    ok = code != NULL;
    if (ok) {
      if (module->code != module->words) free(module->code);
      module->code = code;
      module->code_size = size;
    }
  }
  linker_free(&l);
  free(needed);
  return ok;
}

uint32_t *zocl_link_join(zocl_module *const *modules, uint32_t count,
                         tool_text *log, size_t *size)
{
  linker l;
  uint32_t *code = NULL;
  bool ok = linker_new(&l, count, log);
  l.join = true;
  for (uint32_t i = 0; i < count && ok; i++)
    ok = part_new(&l, modules[i], true);
  if (!ok)
    tool_text_add(log, "out of memory\n");
  else if (linker_run(&l))
    code = linker_write(&l, size);
  linker_free(&l);
  return code;
}
