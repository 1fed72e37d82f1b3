/*
 * lze_file.h - files that hold the elements of a buffer.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_FILE_H
#define LZE_FILE_H

#include "base/lze_guard.h"

/* [-0, +1] a table of functions for lua/array_file.lua.  A file has no methods;
   it is closed by its end as a to-be-closed variable or when it is collected.
   What the system refuses is raised as an error object.
     open(path) -> file, its size or nil where that is not a plain file
     read(file, n) -> string of n bytes, fewer at the end
     load(file, buffer, swap, truth) -> how many bytes the file lacks:
       all elements of the buffer, straight into its storage; of each `swap`
       bytes the order is turned round (1: none); with `truth` bytes that are
       not 0 become 1
     create(path) -> file: what is written becomes visible under that name, in
       place of an older file, only when it is all there:
     commit(file).  A file closed before leaves nothing.
     write(file, string), save(file, buffer)
     picture(file, buffer, width, height, channels, compress): a PNG of bytes
     size(type) -> bytes of an element
     fail(call, code, message): raises an error object
   load and save let hooks run between pieces. */
void lze_push_file_functions(lua_State *L);

/* Returns true if the rest of a file is to be read that starts with these
   LZE_FILE_START bytes. */
enum { LZE_FILE_START = 20 };
typedef bool lze_FileStart(const char *bytes);
/* Push the bytes of a file, which may be a pipe: those at its start alone if
   `good` returns false for them.  Returns an errno, and pushes nothing, if the
   file cannot be opened.  Lets hooks run between pieces. */
int lze_push_file(lua_State *L, const char *path, lze_FileStart *good);

#endif
