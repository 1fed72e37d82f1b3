/*
 * lze_file.h - files that hold the elements of a buffer.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_FILE_H
#define LZE_FILE_H

#include "base/lze_guard.h"

/* [-0, +1] Pushes a table of functions for lua/array_file.lua.  A file has no
   methods; it is closed when it goes out of scope as a to-be-closed variable,
   or when it is collected.  Errors of the system are raised as error objects.
     open(path) -> file, its size or nil if it is not a plain file
     read(file, n) -> string of n bytes, fewer at the end
     load(file, buffer, swap, truth) -> how many bytes the file lacks:
       reads all elements of the buffer directly into its storage; reverses the
       order of each `swap` bytes (1: no change); with `truth`, bytes other
       than 0 become 1
     create(path) -> file
     commit(file): the data becomes visible under that name, in place of an
       older file; a file that is closed before this leaves nothing
     write(file, string), save(file, buffer)
     picture(file, buffer, width, height, channels, compress): a PNG of bytes
     seek(file, position): leaves a member
     member(file, compressed, packed, bytes, crc) -> false if the system has no
       zlib: read and load read a member of an archive, which begins here, has
       `packed` bytes in the file, `bytes` bytes if expanded, and that CRC-32
     rest(file) -> how many bytes of the member have not been read, and true if
       the CRC-32 of the others is right
     begin(file, compressed) -> false if the system has no zlib: write and save
       write a member
     finish(file) -> CRC-32 of the member, its bytes in the file
     patch(file, position, string): overwrites bytes
     map(file, position, type, count, write, device) -> a buffer of the elements
       at a position, which are read when they are used; nil if the device,
       or the default device, cannot use the system's memory.  With `write`,
       writes to the buffer change the file, else only memory
     size(type) -> bytes of an element
     fail(call, code, message): raises an error object
   load and save let hooks run between pieces. */
void lze_push_file_functions(lua_State *L);

/* Returns true if a file that starts with these LZE_FILE_START bytes should be
   read to its end. */
enum { LZE_FILE_START = 20 };
typedef bool lze_FileStart(const char *bytes);
/* Pushes the bytes of a file, which may be a pipe: only the bytes at its start
   if `good` is not NULL and returns false for them.  Returns an errno, and
   pushes nothing, if the file cannot be opened.  Lets hooks run between
   pieces. */
int lze_push_file(lua_State *L, const char *path, lze_FileStart *good);

#endif
