/*
 * lze_open.h - functions that add each area to the module table.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_OPEN_H
#define LZE_OPEN_H

#include "base/lze_base.h"

/* Each adds to the table on the top of the stack. [-0, +0] */
void lze_open_context(lua_State *L);
void lze_open_device(lua_State *L);
void lze_open_info(lua_State *L);
void lze_open_gc(lua_State *L);
void lze_open_memory(lua_State *L);
void lze_open_element(lua_State *L);
void lze_open_image(lua_State *L);
void lze_open_event(lua_State *L);
void lze_open_queue(lua_State *L);
void lze_open_module(lua_State *L);
void lze_open_kernel(lua_State *L);
void lze_open_lua_kernel(lua_State *L);
void lze_open_lua_check(lua_State *L);
void lze_open_work(lua_State *L);
void lze_open_spirv(lua_State *L);
void lze_open_compile(lua_State *L);
void lze_open_wrap(lua_State *L);
void lze_open_graph(lua_State *L);
void lze_open_tune(lua_State *L);
void lze_open_plan(lua_State *L);
void lze_open_share(lua_State *L);
void lze_open_parallel(lua_State *L);
void lze_open_arrays(lua_State *L);
void lze_open_capi(lua_State *L);
void lze_open_profile(lua_State *L);
void lze_open_help(lua_State *L);
/* Makes unknown fields of lze, lze.spirv and lze.work errors. Call it after
   all others and after lze_show_module, whose metatable it extends. */
void lze_open_names(lua_State *L);
/* Pushes the table lze.array, loading it if necessary. [-0, +1] */
void lze_push_arrays(lua_State *L);
/* help(word) -> the text that lze.help shows for it, true if the manual has
   it */
int lze_push_help(lua_State *L);
/* Called when a state ends: writes the output that LZE_PROFILE requests. */
void lze_profile_end(lze_State *S);
/* Called when a state ends: invalidates the plans that C has kept of it. */
void lze_plans_forget(lze_State *S);

#endif
