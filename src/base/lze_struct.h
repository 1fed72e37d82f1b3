/*
 * lze_struct.h - struct element types.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STRUCT_H
#define LZE_STRUCT_H

#include "base/lze_box.h"
#include "base/lze_types.h"

/* Limits of a struct's size and number of fields. */
enum { LZE_STRUCT_BYTES = LZE_ELEMENT_BYTES, LZE_STRUCT_FIELDS = 64 };

typedef struct lze_StructField {
  const char *name;
  const lze_Type *type;
  uint32_t count;       /* array length; 0 if not an array */
  uint32_t offset;
} lze_StructField;

struct lze_Struct {
  uint32_t count, align;
  lze_StructField fields[];
};

/* A struct in some memory, of lze_element_kind; the userdata of a higher layer
   begin with one. `read` copies its bytes after waiting for pending work on
   them: it may raise, and hooks may run. */
typedef struct lze_Element {
  lze_Box box;
  const lze_Type *type;
  void (*read)(lua_State *L, int index, void *p);
} lze_Element;

/* Returns the type of "struct {float mass; int kind;}", or of the text between
   the braces. Texts that differ only in spaces and aliases give the same type,
   in all states of the process, until the library is unloaded. Returns NULL on
   an error, described in `problem`. */
const lze_Type *lze_struct_type(const char *text, char problem[160]);
/* Returns the field with that name, or NULL. */
const lze_StructField *lze_struct_field(const lze_Type *t, const char *name);
/* Pushes the names of the fields, "mass, kind". [-0, +1] */
const char *lze_struct_names(lua_State *L, const lze_Type *t);
/* Pushes the field of the struct at p: a value, or a table. [-0, +1] */
void lze_struct_push_field(lua_State *L, const lze_StructField *f,
                           const void *p);
/* Stores the value at `index` into p, the field's bytes. On an error, pushes a
   message and returns false; the contents of p are undefined then. */
bool lze_struct_store_field(lua_State *L, const lze_StructField *f, int index,
                            void *p);
/* Returns the type of the lze.struct object at `index`, or NULL. */
const lze_Type *lze_test_struct(lua_State *L, int index);
/* lze.struct. */
void lze_open_struct(lua_State *L);
/* As lze_type_push and lze_type_store, for structs. */
void lze_struct_push(lua_State *L, const lze_Type *t, const void *p);
bool lze_struct_store(lua_State *L, const lze_Type *t, int index, void *p);

#endif
