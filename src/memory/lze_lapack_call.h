/*
 * lze_lapack_call.h - calls of LAPACK on the elements of buffers.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LAPACK_CALL_H
#define LZE_LAPACK_CALL_H

#include "base/lze_guard.h"

/* [-0, +1] Pushes a table of functions for the array files:
     about() -> path, kind and type of integers of the library, or nil, why it
       is missing, and the type of integers of the own routines
     has(name, type) -> true if that routine can be called for float or double
     call(name, type, count, list) -> nil or z, info: calls a routine, as
       "getrf", for matrices 1 to count; the list has its arguments:
         a buffer       its elements, a count-th of them for each matrix
         {buffer, n, s} its elements from n (counted from 0) on, s from one
                        matrix to the next
         an integer, a float, or a letter
         "work", "iwork" work space and its size, as the routine requests
         "info"         its result, which should be 0
       Ends at the first matrix whose info is not 0.
     finite(buffer, count) -> nil, or the first matrix with an infinity or NaN
   The host must be able to access the buffers.  Waits for their pending
   commands, and lets hooks run between matrices.  Sizes are not checked. */
void lze_push_lapack_functions(lua_State *L);

#endif
