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
  uint8_t lanes;          /* what a script sees: 3 for float3 */
  uint8_t scalar_bytes;
  uint32_t bytes;         /* what an element occupies: 16 for float3 */
  const struct lze_Struct *fields; /* of a struct, which has no lanes */
};

/* The largest element. */
enum { LZE_ELEMENT_BYTES = 4096 };

/* The type of that name or alias, "struct {...}" too, or NULL. */
const lze_Type *lze_type_find(const char *name);
const lze_Type *lze_type_of(lze_Scalar scalar, unsigned lanes);
/* The type at `index`: a name or a struct; or NULL. */
const lze_Type *lze_to_type(lua_State *L, int index);
/* Push what is wrong with what is no type, and list what there is. [-0, +n] */
const char *lze_push_untyped(lua_State *L, int index);
/* The type at `arg`, or raise that. */
const lze_Type *lze_check_type(lua_State *L, int arg);
/* What addresses of its elements are multiples of: of a struct what its largest
   field needs, of others the size. */
uint32_t lze_type_align(const lze_Type *t);
/* Push the element at p. [-0, +1] */
void lze_type_push(lua_State *L, const lze_Type *t, const void *p);
/* Store the value at `index` into p, or leave that and return false.  Nothing
   of Lua's runs. */
/* The table of a vector that lies in a buffer, see lze_element.c, has one of
   these, a copy, at this key. */
typedef struct lze_Vector {
  const lze_Type *type;
  char bytes[16 * 8];
} lze_Vector;
extern const char lze_vector_key;
/* It, if there is one at `index`; else NULL. */
lze_Vector *lze_test_vector(lua_State *L, int index);
bool lze_type_try(lua_State *L, const lze_Type *t, int index, void *p);
/* Store the value at `index` into p.  False when it does not fit, with what
   is wrong pushed as a string ("expected ..., got ..."); p is untouched.  For a
   struct that may wait, and run hooks. */
bool lze_type_store(lua_State *L, const lze_Type *t, int index, void *p);
/* Store `n` elements of the table at `t`, from `from` on.  Returns n, or how
   many were stored before one did not fit, with what is wrong pushed. */
size_t lze_type_store_table(lua_State *L, const lze_Type *type, int t,
                            lua_Integer from, size_t n, void *p);
void lze_type_push_table(lua_State *L, const lze_Type *type, int t,
                         lua_Integer at, size_t n, const void *p);

#endif
