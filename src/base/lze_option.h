/*
 * lze_option.h - tables of options.
 * SPDX-License-Identifier: MIT
 *
 * Options are read raw, so that no metamethod of a script runs. `t` is the
 * stack index of the table, or 0 if there is no table and every option is
 * absent. An invalid value raises "option KEY: EXPECTED expected, got ...".
 */
#ifndef LZE_OPTION_H
#define LZE_OPTION_H

#include "base/lze_base.h"

/* Raises if the table has a key that is not in the NULL-terminated list
   `known`; the message lists the known keys. `what` names the table. */
void lze_check_keys(lua_State *L, int t, const char *what,
                    const char *const *known);

/* Returns the length of the array at `index`. If the table has a key outside
   1..length, pushes that key and returns -1. */
lua_Integer lze_list_length(lua_State *L, int index);

/* Returns true if the string at `index` contains a zero byte, which C would
   take for its end. */
bool lze_has_zero(lua_State *L, int index);

/* As lua_getfield, but raw. [-0, +1] */
int lze_getoption(lua_State *L, int t, const char *key);

/* Each returns `otherwise` if the key is absent. [-0, +0] `expected` describes
   a valid value with its bounds: "a positive integer". */
lua_Integer lze_opt_integer(lua_State *L, int t, const char *key,
                            lua_Integer low, lua_Integer high,
                            const char *expected, lua_Integer otherwise);
/* A positive integer. */
lua_Integer lze_opt_positive(lua_State *L, int t, const char *key,
                             lua_Integer otherwise);
lua_Number lze_opt_number(lua_State *L, int t, const char *key, lua_Number low,
                          lua_Number high, const char *expected,
                          lua_Number otherwise);
bool lze_opt_boolean(lua_State *L, int t, const char *key, bool otherwise);
/* Returns the position of the value in the NULL-terminated list `words`. */
int lze_opt_word(lua_State *L, int t, const char *key,
                 const char *const *words, int otherwise);

/* Returns the string, which must not contain a zero byte, and pushes it to
   keep it alive. If the key is absent, pushes nil and returns NULL. [-0, +1] */
const char *lze_opt_string(lua_State *L, int t, const char *key);
/* Returns true and pushes the table if there is one, else pushes nil. [-0,
   +1] */
bool lze_opt_table(lua_State *L, int t, const char *key);
/* Returns a userdata of that kind and pushes it to keep it alive. If the key
   is absent, pushes nil and returns NULL. [-0, +1] */
void *lze_opt_box(lua_State *L, int t, const char *key, const char *kind);

/* Raises an error that the value on the top of the stack is not `expected`. */
int lze_opt_expected(lua_State *L, const char *key, const char *expected)
    __attribute__((noreturn));

#endif
