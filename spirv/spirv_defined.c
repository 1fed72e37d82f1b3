/*
 * spirv_defined.c - removes functions that need undefined ones.
 * SPDX-License-Identifier: MIT
 */
#include "spirv.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

/* Returns, for each function, 1 + the undefined function that it reaches by
   calls, or 0; NULL when memory runs out. Follows the calls backwards from each
   undefined function. */
static uint32_t *undefined_reached(const spirv_module *m)
{
  const size_t n = m->function_count;
  size_t calls = 0, waiting = 0;
  for (size_t i = 0; i < n; i++) calls += m->functions[i].callee_count;
  uint32_t *reached = calloc(n + 1, sizeof *reached);
  uint32_t *callers = calloc(calls + 1, sizeof *callers);
  size_t *first = calloc(n + 2, sizeof *first); /* of a function's callers */
  uint32_t *todo = calloc(n + 1, sizeof *todo);
  bool *undefined = calloc(m->instruction_count + 1, sizeof *undefined);
  if (reached == NULL || callers == NULL || first == NULL || todo == NULL ||
      undefined == NULL) {
    free(reached);
    reached = NULL;
    goto done;
  }
  for (size_t i = 0; i < m->symbol_count; i++)
    undefined[m->symbols[i].at] =
        m->symbols[i].imported && !m->symbols[i].is_builtin;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < m->functions[i].callee_count; k++)
      first[m->functions[i].callees[k] + 2]++;
  for (size_t i = 2; i < n + 2; i++) first[i] += first[i - 1];
  /* Each entry advances as that function's callers are written, and ends at the
     start of the next function's callers. */
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < m->functions[i].callee_count; k++)
      callers[first[m->functions[i].callees[k] + 1]++] = (uint32_t)i;
  for (size_t i = 0; i < n; i++)
    if (undefined[m->functions[i].first]) {
      reached[i] = (uint32_t)i + 1;
      todo[waiting++] = (uint32_t)i;
    }
  while (waiting > 0) {
    uint32_t f = todo[--waiting];
    for (size_t k = first[f]; k < first[f + 1]; k++)
      if (reached[callers[k]] == 0) {
        reached[callers[k]] = reached[f];
        todo[waiting++] = callers[k];
      }
  }

done:
  free(callers);
  free(first);
  free(todo);
  free(undefined);
  return reached;
}

bool spirv_undefined(const spirv_module *m, const char **names)
{
  uint32_t *reached = undefined_reached(m);
  for (size_t i = 0; reached != NULL && i < m->kernel_count; i++) {
    uint32_t which = reached[m->kernels[i].function];
    names[i] = which > 0 ? m->functions[which - 1].name : NULL;
  }
  free(reached);
  return reached != NULL;
}

/* Marks the ids that removed functions define. */
static void ids_mark(const spirv_module *m, const uint32_t *reached,
                     bool *gone, bool *inside)
{
  for (size_t i = 0; i < m->function_count; i++) {
    const spirv_function *f = &m->functions[i];
    if (reached[i] == 0) continue;
    for (uint32_t k = 0; k < f->count; k++) {
      inside[f->first + k] = true;
      gone[m->instructions[f->first + k].result] = true;
    }
  }
  gone[0] = false;
}

/* Returns true if an instruction before the functions is about a removed
   id. */
static bool is_about(const spirv_module *m, const spirv_instruction *in,
                     const bool *gone)
{
  unsigned k;
  switch (in->opcode) {
  case SpvOpEntryPoint: k = 2; break;
  case SpvOpName:
  case SpvOpDecorate:
  case SpvOpDecorateId:
  case SpvOpExecutionMode:
  case SpvOpExecutionModeId: k = 1; break;
  default: return false;
  }
  return k < in->word_count && in->words[k] < m->bound && gone[in->words[k]];
}

uint32_t *spirv_defined(const spirv_module *m, size_t *size)
{
  uint32_t *reached = undefined_reached(m);
  bool *gone = calloc(m->bound + 1, sizeof *gone);
  bool *inside = calloc(m->instruction_count + 1, sizeof *inside);
  uint32_t *words = malloc((m->word_count + 1) * sizeof *words);
  size_t count = 5;
  if (reached == NULL || gone == NULL || inside == NULL || words == NULL) {
    free(words);
    words = NULL;
    goto done;
  }
  ids_mark(m, reached, gone, inside);
  memcpy(words, m->words, count * sizeof *words);
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (inside[i] || is_about(m, in, gone)) continue;
    memcpy(words + count, in->words, in->word_count * sizeof *words);
    count += in->word_count;
  }
  *size = count * sizeof *words;

done:
  free(reached);
  free(gone);
  free(inside);
  return words;
}
