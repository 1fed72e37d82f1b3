/*
 * lze_types.h - element types.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_TYPES_H
#define LZE_TYPES_H

#include "base/lze_base.h"

typedef enum lze_Scalar {
  LZE_I8, LZE_U8, LZE_I16, LZE_U16, LZE_I32, LZE_U32, LZE_I64, LZE_U64,
  LZE_F16, LZE_BF16, LZE_F32, LZE_F64
} lze_Scalar;

struct lze_Type {
  const char *name;       /* "float4" */
  lze_Scalar scalar;
  uint8_t lanes;          /* as scripts see it: 3 for float3 */
  uint8_t scalar_bytes;
  uint32_t bytes;         /* the space that an element occupies: 16 for
                             float3 */
  const struct lze_Struct *fields; /* of a struct, which has no lanes */
};

/* The size of the largest element. */
enum { LZE_ELEMENT_BYTES = 4096 };

/* Returns the type with that name or alias, including "struct {...}", or
   NULL. */
const lze_Type *lze_type_find(const char *name);
const lze_Type *lze_type_of(lze_Scalar scalar, unsigned lanes);
/* Returns the type at `index`, which is a name or a struct; or NULL. */
const lze_Type *lze_to_type(lua_State *L, int index);
/* Pushes and returns what is wrong with an invalid type, and lists the valid
   types. [-0, +n] */
const char *lze_push_untyped(lua_State *L, int index);
/* Returns the type at `arg`, or raises that message. */
const lze_Type *lze_check_type(lua_State *L, int arg);
/* Returns the alignment of the type's elements: for a struct, that of the
   field with the largest alignment; for other types, their size. */
uint32_t lze_type_align(const lze_Type *t);
/* Pushes the element at p. [-0, +1] */
void lze_type_push(lua_State *L, const lze_Type *t, const void *p);
/* Stores the value at `index` into p, or leaves p unchanged and returns false.
   Runs no Lua code. */
/* The table of a vector that lies in a buffer (see lze_element.c) holds one of
   these, a copy, at this key. */
typedef struct lze_Vector {
  const lze_Type *type;
  char bytes[16 * 8];
} lze_Vector;
extern const char lze_vector_key;
/* Returns the lze_Vector of the table at `index`, or NULL. */
lze_Vector *lze_test_vector(lua_State *L, int index);
bool lze_type_try(lua_State *L, const lze_Type *t, int index, void *p);
/* Stores the value at `index` into p. If it does not fit, returns false,
   pushes what is wrong ("expected ..., got ...") and leaves p unchanged. For a
   struct this may wait and run hooks. */
bool lze_type_store(lua_State *L, const lze_Type *t, int index, void *p);
/* Stores `n` elements of the table at `t`, starting at `from`. Returns n, or
   the number stored before one did not fit; then it pushes what is wrong. */
size_t lze_type_store_table(lua_State *L, const lze_Type *type, int t,
                            lua_Integer from, size_t n, void *p);
void lze_type_push_table(lua_State *L, const lze_Type *type, int t,
                         lua_Integer at, size_t n, const void *p);

#endif
