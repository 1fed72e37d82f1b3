/*
 * lze_expression.h - the functions in C for array expressions.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_EXPRESSION_H
#define LZE_EXPRESSION_H

#include "memory/lze_buffer.h"

/* expressions(meta, handle) -> functions for expressions, by name; arrays have
   these metatables.  lze_expression.c describes each function. */
int lze_expression_functions(lua_State *L);

#endif
