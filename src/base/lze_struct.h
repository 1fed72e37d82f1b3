/*
 * lze_struct.h - element types that are structs.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STRUCT_H
#define LZE_STRUCT_H

#include "base/lze_box.h"
#include "base/lze_types.h"

/* How large and how long a struct may be. */
enum { LZE_STRUCT_BYTES = LZE_ELEMENT_BYTES, LZE_STRUCT_FIELDS = 64 };

typedef struct lze_StructField {
  const char *name;
  const lze_Type *type;
  uint32_t count;       /* of an array; 0 where it is not an array */
  uint32_t offset;
} lze_StructField;

struct lze_Struct {
  uint32_t count, align;
  lze_StructField fields[];
};

/* A struct that lies somewhere, of lze_element_kind: what a storey above makes
   begins with one.  `read` copies its bytes, after the work that they wait for:
   it may raise, and hooks may run. */
typedef struct lze_Element {
  lze_Box box;
  const lze_Type *type;
  void (*read)(lua_State *L, int index, void *p);
} lze_Element;

/* The type of "struct {float mass; int kind;}", or of what stands between the
   braces.  The same text, but for spaces and aliases, gives the same type, in
   all states of the process, until the library is unloaded.  NULL with what is
   wrong in `problem`. */
const lze_Type *lze_struct_type(const char *text, char problem[160]);
/* The field of that name, or NULL. */
const lze_StructField *lze_struct_field(const lze_Type *t, const char *name);
/* Push the names of the fields, "mass, kind". [-0, +1] */
const char *lze_struct_names(lua_State *L, const lze_Type *t);
/* Push the field of the struct at p: a value, or a table. [-0, +1] */
void lze_struct_push_field(lua_State *L, const lze_StructField *f,
                           const void *p);
/* Store the value at `index` into p, a field's own bytes.  False with what is
   wrong pushed; p is then anything. */
bool lze_struct_store_field(lua_State *L, const lze_StructField *f, int index,
                            void *p);
/* The type of what lze.struct has given at `index`, or NULL. */
const lze_Type *lze_test_struct(lua_State *L, int index);
/* lze.struct. */
void lze_open_struct(lua_State *L);
/* As lze_type_push and lze_type_store do. */
void lze_struct_push(lua_State *L, const lze_Type *t, const void *p);
bool lze_struct_store(lua_State *L, const lze_Type *t, int index, void *p);

#endif
