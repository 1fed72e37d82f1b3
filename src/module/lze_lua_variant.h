/*
 * lze_lua_variant.h - a kernel made of a Lua function, and its variants.
 * SPDX-License-Identifier: MIT
 *
 * The userdata's first user value is a table that keeps objects that C points
 * to: the function at 1, the signature at 0 if there is one, and each
 * variant's kernel at a slot, starting with LZE_FIRST_SLOT. The negative slot
 * holds a table, indexed by lightuserdata, of the strings that the variant
 * captures and of the functions that it reaches through captures. For fast
 * launches, the second user value is also the function, and the third is the
 * kernel of the last variant.
 */
#ifndef LZE_LUA_VARIANT_H
#define LZE_LUA_VARIANT_H

#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"

#include "lzc.h"

enum {
  LZE_AT_SIGNATURE = 0,
  LZE_AT_FUNCTION = 1,
  LZE_PENDING_SLOT = 1,
  LZE_FIRST_SLOT = 2
};
enum { LZE_OWN_VALUE = 1, LZE_FUNCTION_VALUE, LZE_LAST_VALUE };

typedef struct lze_LuaVariant {
  lze_KernelBox *box;           /* kept alive by the kernel's table, at
                                   `slot` */
  int slot;
  int dims;                     /* leading parameters that are indices */
  int count;                    /* number of arguments */
  lzc_kind *kinds;              /* of the arguments: a buffer, array, integer
                                   or real */
  const lze_Type **types;       /* of buffers and arrays */
  const void **seen;            /* buffers accepted before, valid while the
                                   state's buffers_gone equals seen_at */
  uint64_t seen_at;
  unsigned *ranks;              /* of buffers and arrays */
  bool checked;                 /* its accesses are checked and reported */
  bool int32;                   /* its integers have 32 bits */
  lzc_result *result;           /* hidden arguments, and compiled-in values */
  const lzc_fixed **checks;     /* the compiled-in values that each launch must
                                   check */
  size_t check_count;
  uint64_t used;                /* time of the last use, in the kernel's uses */
} lze_LuaVariant;

typedef struct lze_LuaKernel {
  lze_KernelBox head;           /* its `kernel` is NULL */
  lze_LuaVariant *last;         /* the one used last, or NULL */
  lze_LuaVariant *plain;        /* the same if it is plain, or NULL */
  lze_LuaVariant **variants;
  uint32_t count, capacity;
  lze_LuaVariant *pending;      /* being compiled, or NULL */
  uint64_t uses;
  lzc_summary *summary;
  lzc_value *declared;          /* the arguments that a signature declares */
  int declared_count;           /* -1 without a signature */
  lzc_options options;          /* `bounds` applies only to launches */
  char name[56];
} lze_LuaKernel;

/* The stack indices of values that a compilation keeps. */
typedef struct lze_LuaSources {
  lua_State *L;
  int own;                      /* the kernel's table */
  int kept;                     /* the pending variant's table in it */
  int chunks;                   /* a table of the chunks read */
  int failed;                   /* the error raised during compilation, or 0 */
} lze_LuaSources;

/* The input of lze_lua_compile_variant; the arguments are on its stack. */
typedef struct lze_LuaRequest {
  lze_LuaKernel *kernel;
  lze_Place place;
  int dims, count;
  bool checked;
} lze_LuaRequest;

/* --- values that the compiler requests: lze_lua_value.c ------------------- */

/* Finds the element type of a kernel; returns false for vectors and structs. */
bool lze_lua_element(const lze_Type *t, lzc_element *element);
/* Returns how many indices the value at `index`, whose buffer is `b`, takes: 1
   for a buffer, 0 if an array's shape does not match its number of elements. */
unsigned lze_lua_rank(lua_State *L, int index, const lze_Buffer *b);
/* Describes the value on the top of the stack, except the bytes of
   functions. */
void lze_lua_describe(lua_State *L, lzc_value *out);
/* Pushes the current value at a path of the variant at `slot`. If the path
   leads through a value that is not a table, pushes nil and returns false.
   [-0, +1] */
bool lze_lua_push_path(lua_State *L, int own, int slot, const lzc_path *p);
/* For lzc_compile, which manages its own memory: no error may pass through
   it. */
bool lze_lua_resolve(void *data, const lzc_path *path, lzc_value *out);

/* --- variants: lze_lua_variant.c ------------------------------------------ */

lze_LuaKernel *lze_lua_kernel_test(lua_State *L, int index);
void lze_lua_variant_free(lze_LuaVariant *v);
/* Pushes the function's parameters, "i, x, y". [-0, +1] */
const char *lze_lua_push_parameters(lua_State *L, const lze_LuaKernel *k);
/* Pushes the size in one dimension, from 1, of the value on the top of the
   stack, whose buffer is `b`. [-0, +1] */
void lze_lua_push_size(lua_State *L, const lze_Buffer *b, int dimension);
/* Raises if 32-bit integers cannot represent n, which is `what`: the last index
   of a range or the size of a variable. */
void lze_lua_check_int32(lua_State *L, const char *kernel, const char *what,
                         lua_Integer n);
/* Compiles for the described values; stores the result in the pending variant.
   Pushes values that must stay on the stack until the result is used. [-0,
   +some] */
void lze_lua_compile(lua_State *L, lze_LuaKernel *k, int own,
                     const lzc_value *values, int dims, int count,
                     bool checked, const lze_DeviceInfo *device);
/* Called guarded with a lze_LuaRequest, the kernel and the arguments: compiles
   a variant and adds it. */
int lze_lua_compile_variant(lua_State *L);
/* Returns the variant for a launch and pushes its hidden arguments; NULL if
   not found. */
lze_LuaVariant *lze_lua_find_variant(lua_State *L, lze_LuaKernel *k, int own,
                                     const lze_Place *place, bool checked,
                                     int dims, int range, int count);
/* Records a variant as the last of the kernel at `kernel`. [-0, +0] */
void lze_lua_set_last(lua_State *L, lze_LuaKernel *k, int kernel,
                      lze_LuaVariant *v);
/* Returns true if the value at `at` can be passed as a number that was
   compiled as an integer or a real. `typed`: this real does not accept
   integers. */
static inline bool lze_lua_takes_number(lua_State *L, int at, bool integer,
                                        bool typed) {
  if (integer) return lua_isinteger(L, at);
  return lua_type(L, at) == LUA_TNUMBER && !(typed && lua_isinteger(L, at));
}

#endif
