/*
 * lze_record_launch.c - what profiles record of a launch: its groups and
 * arguments.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_launch.h"
#include "queue/lze_command.h"
#include "queue/lze_record.h"

#include <stdio.h>
#include <string.h>

/* Returns the word that is recorded for an argument: for a value of one number
   its type, recorded with the bits of the number; else one of these words. */
static const char *given_word(const lze_Argument *a) {
  switch (a->info->cls) {
    case SPIRV_ARG_POINTER: return "*";     /* GIVEN_COUNT and so on, or 0 */
    case SPIRV_ARG_LOCAL: return "local";   /* bytes */
    case SPIRV_ARG_IMAGE: return "image";
    case SPIRV_ARG_SAMPLER: return "sampler";
    default: return a->type != NULL ? a->type->name : "struct";
  }
}

/* Bits of a pointer argument: elements of the buffer, and its type. */
#define GIVEN_LANES 52
#define GIVEN_SCALAR 60
#define GIVEN_COUNT ((UINT64_C(1) << GIVEN_LANES) - 1)

static uint64_t given_value(const lze_Argument *a) {
  uint64_t v = 0;
  if (a->info->cls == SPIRV_ARG_LOCAL) return a->bytes;
  if (a->info->cls == SPIRV_ARG_POINTER) {
    if (a->buffer == NULL) return 0;
    const lze_Type *t = a->buffer->type;
    return (uint64_t)t->scalar << GIVEN_SCALAR |
           (uint64_t)t->lanes << GIVEN_LANES |
           ((uint64_t)a->buffer->count & GIVEN_COUNT);
  }
  memcpy(&v, a->value, sizeof v); /* all of a single number */
  return v;
}

/* Returns the number of arguments that the script passes, which come first. */
static uint32_t kernel_given(const lze_Kernel *k) {
  return k->info->arg_count - k->info->size_count;
}

/* Returns a string with a line for each of these arguments: its name and its
   word. */
static uint32_t given_form(lze_Names *names, const lze_Kernel *k) {
  char text[512] = "";
  size_t used = 0, whole = 0;
  for (uint32_t i = 0; i < kernel_given(k); i++) {
    const lze_Argument *a = &k->arguments[i];
    used += (size_t)snprintf(text + used, sizeof text - used, "%s\t%s\n",
                             a->info->name != NULL ? a->info->name : "",
                             given_word(a));
    if (used >= sizeof text) break;
    whole = used;
  }
  text[whole] = '\0';
  return lze_names_add(names, text);
}

/* `first` is the number of the recorder's first record. */
static void record_given(lze_Record *record, const lze_State *S,
                         lze_Kernel *k, uint64_t first) {
  if (k->recorded != first) {
    k->form = given_form(lze_recorder_names(S), k);
    k->recorded = first;
  }
  record->form = k->form;
  const uint32_t given = kernel_given(k);
  for (uint32_t i = 0; i < given && i < LZE_GIVEN; i++)
    record->given[i] = given_value(&k->arguments[i]);
}

static void push_given(lua_State *L, const char *word, uint64_t v) {
  if (strcmp(word, "*") == 0) {
    const lze_Type *t = lze_type_of((lze_Scalar)(v >> GIVEN_SCALAR),
                                    (unsigned)(v >> GIVEN_LANES & 0xff));
    if (v == 0) lua_pushliteral(L, "nil");
    else lua_pushfstring(L, "%s[%I]", t != NULL ? t->name : "struct",
                         (LUAI_UACINT)(v & GIVEN_COUNT));
  } else if (strcmp(word, "local") == 0) {
    lua_pushfstring(L, "%I bytes of local memory", (LUAI_UACINT)v);
  } else {
    const lze_Type *t = lze_type_find(word);
    if (t == NULL || t->lanes != 1) {
      lua_pushstring(L, word);
    } else {
      lze_type_push(L, t, &v);
      luaL_tolstring(L, -1, NULL);
      lua_remove(L, -2);
    }
  }
}

void lze_given_push(lua_State *L, const lze_Names *names,
                    const lze_Record *r) {
  const char *line = lze_name(names, r->form);
  luaL_Buffer b;
  if (line == NULL || *line == '\0') {
    lua_pushnil(L);
    return;
  }
  luaL_buffinit(L, &b);
  for (int i = 0; *line != '\0'; i++) {
    if (i > 0) luaL_addstring(&b, ", ");
    if (i == LZE_GIVEN) {
      luaL_addstring(&b, "...");
      break;
    }
    char word[32] = "";
    size_t name = strcspn(line, "\t\n");
    if (name > 0) {
      luaL_addlstring(&b, line, name);
      luaL_addstring(&b, " = ");
    }
    line += name;
    line += *line == '\t';
    size_t n = strcspn(line, "\n");
    if (n < sizeof word) memcpy(word, line, n);
    push_given(L, word, r->given[i]);
    luaL_addvalue(&b);
    line += n;
    line += *line == '\n';
  }
  luaL_pushresult(&b);
}

static lze_Shape grouping_shape(lze_Names *names, const lze_Grouping *g,
                           const spirv_flops *flops) {
  const uint64_t *global = g->in.global;
  lze_Shape shape = {
      .why = lze_names_number(names, LZE_ROLE_WHY, g->choice.why),
      .dims = (uint8_t)g->in.dims};
  memcpy(shape.global, global, sizeof shape.global);
  memcpy(shape.group, g->choice.parts[0].group, sizeof shape.group);
  lze_shape_flops(&shape, flops, global[0] * global[1] * global[2]);
  return shape;
}

void lze_record_launch(const lze_Command *c, lze_Kernel *k) {
  lze_Record *record = lze_record_of(c);
  if (record == NULL) return;
  const uint64_t first = lze_recorder_first(c->state);
  lze_Grouping *g = k->grouping;
  if (g->recorded != first) {
    g->shape = grouping_shape(lze_recorder_names(c->state), g,
                              lze_kernel_flops(k));
    g->recorded = first;
  }
  record->kind = LZE_RECORD_KERNEL;
  record->bytes = lze_kernel_bytes(k);
  record->shape = g->shape;
  record_given(record, c->state, k, first);
}
