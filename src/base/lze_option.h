/*
 * lze_option.h - tables of options.
 * SPDX-License-Identifier: MIT
 *
 * Options are read raw, so that no metamethod of a script runs.  `t` is the
 * stack index of the table, 0 for none: then nothing is given.  A value that
 * will not do raises "option KEY: EXPECTED expected, got ...".
 */
#ifndef LZE_OPTION_H
#define LZE_OPTION_H

#include "base/lze_base.h"

/* A key of the table that is not in the NULL terminated list `known` raises
   and lists what is known; `what` names the table. */
void lze_check_keys(lua_State *L, int t, const char *what,
                    const char *const *known);

/* The length of the array at `index`.  Where it has another key than its
   numbers, that is pushed and the length is -1. */
lua_Integer lze_list_length(lua_State *L, int index);

/* Whether the string at `index` has a zero within, where C would take the text
   for complete. */
bool lze_has_zero(lua_State *L, int index);

/* As lua_getfield, but raw. [-0, +1] */
int lze_getoption(lua_State *L, int t, const char *key);

/* Each returns `otherwise` where the key is not there. [-0, +0] `expected`
   says what is, with the bounds: "a positive integer". */
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
/* The position of a word in the NULL terminated list `words`. */
int lze_opt_word(lua_State *L, int t, const char *key,
                 const char *const *words, int otherwise);

/* The string, without a zero in it, pushed to keep it alive; nil and NULL where
   the key is not there. [-0, +1] */
const char *lze_opt_string(lua_State *L, int t, const char *key);
/* Whether there is a table, which is pushed, else nil. [-0, +1] */
bool lze_opt_table(lua_State *L, int t, const char *key);
/* A userdata of that kind, pushed to keep it alive; nil and NULL where the key
   is not there. [-0, +1] */
void *lze_opt_box(lua_State *L, int t, const char *key, const char *kind);

/* Raise that the value on the top of the stack is not what is expected. */
int lze_opt_expected(lua_State *L, const char *key, const char *expected)
    __attribute__((noreturn));

#endif
