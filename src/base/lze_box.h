/*
 * lze_box.h - userdata: boxes, kinds and their fields.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BOX_H
#define LZE_BOX_H

#include "base/lze_base.h"
#include "base/lze_guard.h"

/* lze_box.c: userdata. Every lze userdata begins with an lze_Box whose kind is
 * the address of its type's name. Two comparisons therefore identify a
 * userdata, even if a script gave it another metatable.
 */

typedef struct lze_Box {
  const char *kind;       /* "buffer"; lze.type returns it too */
} lze_Box;

extern const char lze_buffer_kind[], lze_context_kind[], lze_device_kind[],
    lze_driver_kind[], lze_event_kind[], lze_kernel_kind[],
    lze_local_kind[], lze_module_kind[], lze_queue_kind[], lze_graph_kind[],
    lze_plan_kind[], lze_profile_kind[], lze_scratch_kind[], lze_slice_kind[],
    lze_struct_kind[], lze_element_kind[], lze_image_kind[],
    lze_sampler_kind[];
/* Userdata of lua/array.lua; see lze_error.h. */
extern const char lze_array_kind[];

/* Pushes a zeroed userdata of `size` bytes with one user value and the
   metatable of its kind. Raises when memory runs out. [-0, +1] */
void *lze_push_box(lua_State *L, const char *kind, size_t size);
/* The same with `values` user values. */
void *lze_push_box_with(lua_State *L, const char *kind, size_t size,
                        int values);
/* Call the first when a state begins and the second when it ends. The second
   finalizes userdata created by finalizers, which Lua does not do while it
   closes the state. [-0, +0] */
void lze_boxes_open(lua_State *L);
void lze_boxes_close(lua_State *L);
/* Returns the userdata of that kind at `index`, or NULL. */
void *lze_test_box(lua_State *L, int index, const char *kind);
/* The same, but raises "<kind> expected, got ..." instead of returning NULL. */
void *lze_check_box(lua_State *L, int arg, const char *kind);
/* Raises an error that the object at `arg` is closed. The message names the
   method, or the field, index or operator if a metamethod is running. */
int lze_closed(lua_State *L, int arg, const char *kind)
    __attribute__((noreturn));
/* Pushes a new table that maps each kind's name to its table of methods and
   fields, which the caller must not change. [-0, +1] */
void lze_push_kinds(lua_State *L);
/* Returns the kind of the value at `index` if it is an lze userdata, else
   NULL. */
const char *lze_box_kind(lua_State *L, int index);

/* One named field of a kind; `get` pushes its value. The box is at 1, the name
   at 2. */
typedef struct lze_Field {
  const char *name;
  int (*get)(lua_State *L);
} lze_Field;

/* Creates the metatable of a kind from its metamethods, methods and fields
   (each list ends with NULL). If the metamethods have no __index, this adds
   one that finds methods and fields and otherwise raises an error that lists
   the valid names; a kind with a custom __index can call lze_box_index for the
   same result. [-0, +0] */
void lze_new_kind(lua_State *L, const char *kind,
                  const lze_Method *metamethods, const lze_Method *methods,
                  const lze_Field *fields);
/* Pushes a metatable with this __gc, for userdata that scripts never see. [-0,
   +1] */
void lze_new_hidden(lua_State *L, lua_CFunction gc);
/* Add methods and fields to a kind from a higher layer. [-0, +0] */
void lze_add_methods(lua_State *L, const char *kind,
                     const lze_Method *methods);
void lze_add_fields(lua_State *L, const char *kind, const lze_Field *fields);
/* Sets how messages describe a value of a kind ("buffer of float"): f pushes
   the text for the value at 1. By default this is the kind's name. [-0, +0] */
void lze_set_describe(lua_State *L, const char *kind, lua_CFunction f);
/* Pushes the description of the userdata at `index` and returns it; NULL if
   the value has no known kind. [-0, +1] */
const char *lze_describe_box(lua_State *L, int index);
/* A native object is represented by the same userdata as long as a script
   holds that userdata. Pushes the cached userdata for `key`, or returns
   false. */
bool lze_push_cached(lua_State *L, const void *key);
/* Caches the userdata on the top for `key`. [-0, +0] */
void lze_cache_box(lua_State *L, const void *key);
/* Implements __index for the string key at 2 of the box at 1. Upvalue 1 of the
   running function must be the table that lze_new_kind gave to all
   metamethods. */
int lze_box_index(lua_State *L);

#endif
