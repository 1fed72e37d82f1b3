/*
 * lze_box.h - userdata: boxes, kinds and their fields.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BOX_H
#define LZE_BOX_H

#include "base/lze_base.h"
#include "base/lze_guard.h"

/* lze_box.c: userdata.  Every userdata of lze begins with an lze_Box whose
 * kind is the address of its type's name, which makes telling one from
 * another two comparisons, whatever metatable a script gave it.
 */

typedef struct lze_Box {
  const char *kind;       /* "buffer": also what lze.type answers */
} lze_Box;

extern const char lze_buffer_kind[], lze_context_kind[], lze_device_kind[],
    lze_driver_kind[], lze_event_kind[], lze_kernel_kind[],
    lze_local_kind[], lze_module_kind[], lze_queue_kind[], lze_graph_kind[],
    lze_plan_kind[], lze_profile_kind[], lze_scratch_kind[], lze_slice_kind[],
    lze_struct_kind[], lze_element_kind[], lze_image_kind[],
    lze_sampler_kind[];
/* Userdata of lua/array.lua; see lze_error.h. */
extern const char lze_array_kind[];

/* [-0, +1] a zeroed userdata of `size` bytes with one user value and the
   metatable of its kind.  Raises when memory runs out. */
void *lze_push_box(lua_State *L, const char *kind, size_t size);
/* The same with so many user values. */
void *lze_push_box_with(lua_State *L, const char *kind, size_t size,
                        int values);
/* At the beginning of a state; and at its end: finalise what finalisers have
   made, which Lua does not once it closes the state. [-0, +0] */
void lze_boxes_open(lua_State *L);
void lze_boxes_close(lua_State *L);
/* The userdata of that kind at `index`, or NULL. */
void *lze_test_box(lua_State *L, int index, const char *kind);
/* The same, or raise "<kind> expected, got ...". */
void *lze_check_box(lua_State *L, int arg, const char *kind);
/* Raise that the object at `arg` is closed: the message names the method, or
   the field, index or operator if a metamethod is running. */
int lze_closed(lua_State *L, int arg, const char *kind)
    __attribute__((noreturn));
/* [-0, +1] a new table: by the name of each kind the table of its methods and
   fields, which is not to be changed. */
void lze_push_kinds(lua_State *L);
/* The kind of the value at `index` if it is one of lze's, else NULL. */
const char *lze_box_kind(lua_State *L, int index);

/* One named field of a kind: pushes its value. The box is at 1, the name at
   2. */
typedef struct lze_Field {
  const char *name;
  int (*get)(lua_State *L);
} lze_Field;

/* Make the metatable of a kind from its metamethods, methods and fields
   (each NULL terminated).  Without an __index among the metamethods, one is
   made that finds methods and fields and otherwise raises, listing what is
   known; lze_box_index does the same for an __index of its own. [-0, +0] */
void lze_new_kind(lua_State *L, const char *kind,
                  const lze_Method *metamethods, const lze_Method *methods,
                  const lze_Field *fields);
/* A metatable for userdata that no script sees, with that __gc. [-0, +1] */
void lze_new_hidden(lua_State *L, lua_CFunction gc);
/* Methods and fields of a kind that a storey above adds. [-0, +0] */
void lze_add_methods(lua_State *L, const char *kind,
                     const lze_Method *methods);
void lze_add_fields(lua_State *L, const char *kind, const lze_Field *fields);
/* What messages say of a value of a kind, "buffer of float": f pushes it for
   the one at 1.  Without, it is the kind's name. [-0, +0] */
void lze_set_describe(lua_State *L, const char *kind, lua_CFunction f);
/* [-0, +1] that for the userdata at `index`; NULL where nothing is known. */
const char *lze_describe_box(lua_State *L, int index);
/* A userdata that shows something native is the same one for as long as a
   script holds it: push what the cache has for `key`, or return false. */
bool lze_push_cached(lua_State *L, const void *key);
/* Remember the userdata on the top for it. [-0, +0] */
void lze_cache_box(lua_State *L, const void *key);
/* Answer for the string key at 2 of the box at 1; upvalue 1 of the running
   function is the table that lze_new_kind gave to all metamethods. */
int lze_box_index(lua_State *L);

#endif
