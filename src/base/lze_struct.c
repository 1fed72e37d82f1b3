/*
 * lze_struct.c - struct element types, laid out as in OpenCL C.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_struct.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The deepest nesting of structs. */
enum { DEEPEST = 8 };

/* A struct type that was requested. It is kept until the library is unloaded,
   because buffers of other states and threads may use it; a program has only a
   few. */
typedef struct Known {
  struct Known *next;
  lze_Type type;
  struct lze_Struct layout;
} Known;

static Known *known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

/* Frees a struct type with its text and field names, which are one block. */
static void known_free(Known *k) {
  if (k == NULL) return;
  free((char *)k->type.name);
  if (k->layout.count > 0) free((char *)k->layout.fields[0].name);
  free(k);
}

__attribute__((destructor)) static void known_end(void) {
  while (known != NULL) {
    Known *next = known->next;
    known_free(known);
    known = next;
  }
}

/* --- the text ----------------------------------------------------------- */

typedef struct Reader {
  const char *at;
  char *problem;
  int depth;
} Reader;

__attribute__((format(printf, 2, 3)))
static bool reader_fails(Reader *r, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(r->problem, 160, format, list);
  va_end(list);
  return false;
}

static void reader_skip(Reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

/* Skips `c` and returns true if it is the next character. */
static bool reader_takes(Reader *r, char c) {
  reader_skip(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

enum { NAME_SIZE = 64 };

/* Reads the next name, cut if it is too long; "" if there is no name. Returns
   its full length. */
static size_t reader_name(Reader *r, char name[NAME_SIZE]) {
  size_t n = 0;
  reader_skip(r);
  if (!isdigit((unsigned char)*r->at))
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_') n++;
  snprintf(name, NAME_SIZE, "%.*s", (int)n, r->at);
  r->at += n;
  return n;
}

/* Returns the remaining text, for a message. */
static const char *reader_here(const Reader *r) {
  return *r->at == '\0' ? "the end" : r->at;
}

static const lze_Type *struct_read(Reader *r, bool braces);

uint32_t lze_type_align(const lze_Type *t) {
  return t->fields != NULL ? t->fields->align : t->bytes;
}

static bool field_type(Reader *r, const lze_Type **type) {
  char word[NAME_SIZE];
  reader_name(r, word);
  if (strcmp(word, "struct") == 0) {
    if (!reader_takes(r, '{'))
      return reader_fails(r, "{ expected after struct, at '%.40s'",
                          reader_here(r));
    *type = struct_read(r, true);
    return *type != NULL;
  }
  *type = *word != '\0' ? lze_type_find(word) : NULL;
  if (*type != NULL) return true;
  return reader_fails(r, *word != '\0' ? "unknown type '%.40s'"
                                       : "a type expected at '%.40s'",
                      *word != '\0' ? word : reader_here(r));
}

/* Reads one field after its type: "name" or "name[4]". */
static bool field_read(Reader *r, Known *k, const lze_Type *type,
                       char names[][NAME_SIZE], uint64_t *end) {
  uint32_t i = k->layout.count;
  if (i == LZE_STRUCT_FIELDS)
    return reader_fails(r, "more than %d fields", LZE_STRUCT_FIELDS);
  size_t length = reader_name(r, names[i]);
  if (length == 0)
    return reader_fails(r, "a field's name expected at '%.40s'",
                        reader_here(r));
  if (length >= NAME_SIZE)
    return reader_fails(r, "field %.40s...: its name has more than %d letters",
                        names[i], NAME_SIZE - 1);
  for (uint32_t j = 0; j < i; j++)
    if (strcmp(names[i], names[j]) == 0)
      return reader_fails(r, "two fields are called %.40s", names[i]);
  unsigned long count = 0;
  if (reader_takes(r, '[')) {
    char *after;
    reader_skip(r);
    count = isdigit((unsigned char)*r->at) ? strtoul(r->at, &after, 10) : 0;
    if (count == 0 || count > LZE_STRUCT_BYTES)
      return reader_fails(r, "field %.40s: a length from 1 to %d expected",
                          names[i], LZE_STRUCT_BYTES);
    r->at = after;
    if (!reader_takes(r, ']'))
      return reader_fails(r, "] expected at '%.40s'", reader_here(r));
  }
  uint32_t align = lze_type_align(type);
  uint64_t offset = (*end + align - 1) / align * align;
  *end = offset + (uint64_t)type->bytes * (count > 0 ? count : 1);
  if (*end > LZE_STRUCT_BYTES)
    return reader_fails(r, "a struct of more than %d bytes", LZE_STRUCT_BYTES);
  k->layout.fields[i] = (lze_StructField){
      .type = type, .count = (uint32_t)count, .offset = (uint32_t)offset};
  if (align > k->layout.align) k->layout.align = align;
  k->layout.count++;
  return true;
}

static bool fields_read(Reader *r, Known *k, bool braces,
                        char names[][NAME_SIZE], uint64_t *end) {
  while (reader_skip(r), *r->at != (braces ? '}' : '\0')) {
    const lze_Type *type = NULL;
    if (!field_type(r, &type)) return false;
    do {
      if (!field_read(r, k, type, names, end)) return false;
    } while (reader_takes(r, ','));
    reader_skip(r);
    if (*r->at != (braces ? '}' : '\0') && !reader_takes(r, ';'))
      return reader_fails(r, "; expected at '%.40s'", reader_here(r));
  }
  if (k->layout.count == 0) return reader_fails(r, "no fields");
  if (braces) r->at++;
  return true;
}

/* Sets the names of the fields and the type's canonical text, which is equal
   for equal structs. */
static bool known_name(Known *k, char names[][NAME_SIZE]) {
  char *text = NULL, *all = NULL;
  size_t length, names_length;
  FILE *out = open_memstream(&text, &length);
  FILE *list = open_memstream(&all, &names_length);
  bool good = out != NULL && list != NULL;
  if (good) fputs("struct {", out);
  for (uint32_t i = 0; good && i < k->layout.count; i++) {
    const lze_StructField *f = &k->layout.fields[i];
    fprintf(out, "%s%s %s", i > 0 ? " " : "", f->type->name, names[i]);
    if (f->count > 0) fprintf(out, "[%u]", (unsigned)f->count);
    fputc(';', out);
    fprintf(list, "%s%c", names[i], '\0');
  }
  if (good) fputc('}', out);
  if (out != NULL && fclose(out) != 0) good = false;
  if (list != NULL && fclose(list) != 0) good = false;
  k->type.name = text;
  const char *name = k->layout.fields[0].name = all;
  for (uint32_t i = 0; good && i < k->layout.count; i++) {
    k->layout.fields[i].name = name;
    name += strlen(name) + 1;
  }
  return good;
}

/* Returns the existing equal type, or registers and returns this one. */
static const lze_Type *known_keep(Known *k) {
  pthread_mutex_lock(&known_lock);
  const Known *old = known;
  while (old != NULL && strcmp(old->type.name, k->type.name) != 0)
    old = old->next;
  if (old == NULL) {
    k->next = known;
    known = k;
  }
  pthread_mutex_unlock(&known_lock);
  if (old == NULL) return &k->type;
  known_free(k);
  return &old->type;
}

static const lze_Type *struct_read(Reader *r, bool braces) {
  if (++r->depth > DEEPEST) {
    reader_fails(r, "structs nested more than %d deep", DEEPEST);
    return NULL;
  }
  Known *k = calloc(1, sizeof *k + LZE_STRUCT_FIELDS * sizeof(lze_StructField));
  char(*names)[NAME_SIZE] = calloc(LZE_STRUCT_FIELDS, sizeof *names);
  uint64_t end = 0;
  bool good = k != NULL && names != NULL;
  if (!good) {
    reader_fails(r, LZE_NO_MEMORY_TEXT);
  } else if (!fields_read(r, k, braces, names, &end)) {
    k->layout.count = 0;
    good = false;
  } else if (!known_name(k, names)) {
    good = reader_fails(r, LZE_NO_MEMORY_TEXT);
  }
  free(names);
  if (!good) {
    known_free(k);
    return NULL;
  }
  r->depth--;
  uint32_t align = k->layout.align;
  k->type.fields = &k->layout;
  k->type.scalar_bytes = 1;
  k->type.bytes = ((uint32_t)end + align - 1) / align * align;
  return known_keep(k);
}

/* Returns true if the first braces, after "struct", enclose the whole text, so
   that no field of that type follows. */
static bool reader_is_braced(Reader *r) {
  char word[NAME_SIZE];
  reader_name(r, word);
  if (strcmp(word, "struct") != 0 || !reader_takes(r, '{')) return false;
  for (int depth = 1; depth > 0 && *r->at != '\0'; r->at++)
    depth += (*r->at == '{') - (*r->at == '}');
  reader_takes(r, ';');
  reader_skip(r);
  return *r->at == '\0';
}

const lze_Type *lze_struct_type(const char *text, char problem[160]) {
  Reader r = {text, problem, 0};
  bool braces = reader_is_braced(&r);
  r.at = braces ? strchr(text, '{') + 1 : text;
  const lze_Type *type = struct_read(&r, braces);
  reader_takes(&r, ';');
  reader_skip(&r);
  if (type == NULL || *r.at == '\0') return type;
  reader_fails(&r, "nothing more expected, got '%.40s'", r.at);
  return NULL;
}

/* --- values ------------------------------------------------------------- */

const lze_StructField *lze_struct_field(const lze_Type *t, const char *name) {
  for (uint32_t i = 0; i < t->fields->count; i++)
    if (strcmp(t->fields->fields[i].name, name) == 0)
      return &t->fields->fields[i];
  return NULL;
}

const char *lze_struct_names(lua_State *L, const lze_Type *t) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (uint32_t i = 0; i < t->fields->count; i++) {
    if (i > 0) luaL_addstring(&b, ", ");
    luaL_addstring(&b, t->fields->fields[i].name);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

void lze_struct_push_field(lua_State *L, const lze_StructField *f,
                           const void *p) {
  if (f->count == 0) {
    lze_type_push(L, f->type, p);
    return;
  }
  luaL_checkstack(L, 3, NULL);
  lua_createtable(L, (int)f->count, 0);
  lze_type_push_table(L, f->type, -1, 1, f->count, p);
}

void lze_struct_push(lua_State *L, const lze_Type *t, const void *p) {
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, 0, (int)t->fields->count);
  for (uint32_t i = 0; i < t->fields->count; i++) {
    const lze_StructField *f = &t->fields->fields[i];
    lze_struct_push_field(L, f, (const char *)p + f->offset);
    lua_setfield(L, -2, f->name);
  }
}

/* Puts "field mass: " before the message on the top. */
static bool field_fails(lua_State *L, const char *name) {
  lua_pushfstring(L, "field %s: %s", name, lua_tostring(L, -1));
  lua_remove(L, -2);
  return false;
}

bool lze_struct_store_field(lua_State *L, const lze_StructField *f, int index,
                            void *p) {
  luaL_checkstack(L, 4, NULL);
  if (f->count == 0)
    return lze_type_store(L, f->type, index, p) || field_fails(L, f->name);
  if (!lua_istable(L, index) || lua_rawlen(L, index) != f->count) {
    if (lua_istable(L, index))
      lua_pushfstring(L, "a table of %d %s expected, got one of %I",
                      (int)f->count, f->type->name,
                      (LUAI_UACINT)lua_rawlen(L, index));
    else
      lua_pushfstring(L, "a table of %d %s expected, got %s", (int)f->count,
                      f->type->name, luaL_typename(L, index));
    return field_fails(L, f->name);
  }
  size_t n = lze_type_store_table(L, f->type, index, 1, f->count, p);
  if (n == f->count) return true;
  lua_pushfstring(L, "index %d: %s", (int)n + 1, lua_tostring(L, -1));
  lua_remove(L, -2);
  return field_fails(L, f->name);
}

/* Accepts a string of its bytes, a table with all of its fields, or an
   element. */
bool lze_struct_store(lua_State *L, const lze_Type *t, int index, void *p) {
  const int top = lua_gettop(L);
  index = lua_absindex(L, index);
  if (lua_type(L, index) == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, index, &length);
    if (length == t->bytes) {
      memcpy(p, bytes, length);
      return true;
    }
    lua_pushfstring(L, "%s (%d bytes) expected, got a string of %I", t->name,
                    (int)t->bytes, (LUAI_UACINT)length);
    return false;
  }
  const lze_Element *e = lze_test_box(L, index, lze_element_kind);
  if (e != NULL && e->type == t) {
    e->read(L, index, p);
    return true;
  }
  if (!lua_istable(L, index)) {
    lua_pushfstring(L, "%s expected (a table of its fields), got %s", t->name,
                    lze_describe(L, index));
    lua_remove(L, -2);
    return false;
  }
  char bytes[LZE_STRUCT_BYTES];
  memset(bytes, 0, t->bytes); /* the padding between fields */
  uint64_t seen = 0;
  luaL_checkstack(L, 4, NULL);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const lze_StructField *f =
        lua_type(L, -2) == LUA_TSTRING
            ? lze_struct_field(t, lua_tostring(L, -2)) : NULL;
    if (f == NULL) {
      lua_pop(L, 1);
      const char *what = lze_describe(L, -1);
      lua_pushfstring(L, "unknown field %s (known: %s)", what,
                      lze_struct_names(L, t));
      lua_replace(L, top + 1); /* replaces the key */
      lua_settop(L, top + 1);
      return false;
    }
    if (!lze_struct_store_field(L, f, -1, bytes + f->offset)) {
      lua_replace(L, top + 1);
      lua_settop(L, top + 1);
      return false;
    }
    seen |= (uint64_t)1 << (f - t->fields->fields);
  }
  for (uint32_t i = 0; i < t->fields->count; i++)
    if ((seen >> i & 1) == 0) {
      lua_pushfstring(L, "field %s is missing", t->fields->fields[i].name);
      return false;
    }
  memcpy(p, bytes, t->bytes);
  return true;
}

/* --- lze.struct --------------------------------------------------------- */

typedef struct Struct {
  lze_Box box;
  const lze_Type *type;
} Struct;

static const lze_Type *check_struct(lua_State *L) {
  return ((Struct *)lze_check_box(L, 1, lze_struct_kind))->type;
}

const lze_Type *lze_test_struct(lua_State *L, int index) {
  const Struct *s = lze_test_box(L, index, lze_struct_kind);
  return s != NULL ? s->type : NULL;
}

/* lze.struct(fields) -> struct: an element type. `fields` is written as
   between the braces of a struct in OpenCL C: "float mass; int kind; float4
   pos; float w[3]". */
static int struct_new(lua_State *L) {
  lua_settop(L, 1);
  char problem[160];
  lze_argexpected(L, lua_type(L, 1) == LUA_TSTRING, 1, "string");
  size_t length;
  const char *text = lua_tolstring(L, 1, &length);
  if (strlen(text) != length) lze_argerror(L, 1, "a zero in the text");
  const lze_Type *type = lze_struct_type(text, problem);
  if (type == NULL) lze_argerror(L, 1, problem);
  Struct *s = lze_push_box(L, lze_struct_kind, sizeof *s);
  s->type = type;
  return 1;
}

/* S(table) -> the bytes of one struct, a string. Kernels accept it for an
   argument by value, and it can be stored anywhere as an element. */
static int struct_call(lua_State *L) {
  lua_settop(L, 2);
  const lze_Type *t = check_struct(L);
  char bytes[LZE_STRUCT_BYTES];
  if (!lze_struct_store(L, t, 2, bytes))
    return luaL_error(L, "%s", lua_tostring(L, -1));
  lua_pushlstring(L, bytes, t->bytes);
  return 1;
}

/* S:unpack(bytes) -> table */
static int struct_unpack(lua_State *L) {
  lua_settop(L, 2);
  const lze_Type *t = check_struct(L);
  lze_argexpected(L, lua_type(L, 2) == LUA_TSTRING, 2, "string");
  char bytes[LZE_STRUCT_BYTES];
  if (!lze_struct_store(L, t, 2, bytes))
    lze_argerror(L, 2, lua_tostring(L, -1));
  lze_struct_push(L, t, bytes);
  return 1;
}

static int struct_tostring(lua_State *L) {
  lua_pushstring(L, check_struct(L)->name);
  return 1;
}

static int struct_equal(lua_State *L) {
  const lze_Type *t = lze_test_struct(L, 1);
  lua_pushboolean(L, t != NULL && t == lze_test_struct(L, 2));
  return 1;
}

static int struct_bytes(lua_State *L) {
  lua_pushinteger(L, check_struct(L)->bytes);
  return 1;
}

/* S.fields -> array of {name, type, offset [, count]} */
static int struct_fields(lua_State *L) {
  const struct lze_Struct *s = check_struct(L)->fields;
  lua_createtable(L, (int)s->count, 0);
  for (uint32_t i = 0; i < s->count; i++) {
    const lze_StructField *f = &s->fields[i];
    lua_createtable(L, 0, 4);
    lua_pushstring(L, f->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, f->type->name);
    lua_setfield(L, -2, "type");
    lua_pushinteger(L, f->offset);
    lua_setfield(L, -2, "offset");
    if (f->count > 0) {
      lua_pushinteger(L, f->count);
      lua_setfield(L, -2, "count");
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const lze_Method struct_methods[] = {
    {"unpack", struct_unpack, LZE_GUARDED}, {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method struct_metamethods[] = {
    {"__call", struct_call, LZE_GUARDED},
    {"__eq", struct_equal, LZE_UNGUARDED},
    {"__tostring", struct_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field struct_field_list[] = {
    {"name", struct_tostring}, {"bytes", struct_bytes},
    {"fields", struct_fields}, {NULL, NULL}};

static const lze_Method functions[] = {
    {"struct", struct_new, LZE_GUARDED}, {NULL, NULL, LZE_UNGUARDED}};

void lze_open_struct(lua_State *L) {
  lze_new_kind(L, lze_struct_kind, struct_metamethods, struct_methods,
               struct_field_list);
  lze_set_methods(L, functions, 0);
}
