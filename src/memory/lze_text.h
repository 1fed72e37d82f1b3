/*
 * lze_text.h - elements of buffers as text: rows of numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_TEXT_H
#define LZE_TEXT_H

#include "base/lze_guard.h"

/* [-0, +0] Adds functions for lua/array_text.lua to the table on top of the
   stack.  A text has one row in each line.  Fields are separated by the
   character `delimiter`, or by blanks if it is "".  The character `comment`
   ("": none) and what follows it in a line are ignored, and so are lines
   without fields.  No function depends on the locale.
     survey(text, skip, delimiter, comment) -> rows, fields in the first row,
       position and number of the line after the first `skip` lines
     parse(text, position, line, buffer, fields, width, places, missing,
         delimiter, comment) -> nothing, or the line, the column (0: the whole
         line) and what is wrong there:
       stores `width` numbers of each row into the buffer.  places[c] is the
       place of column c among them, or false; `fields` is the last of these
       columns.  Without `places`, each row must have exactly `fields` columns.
       `missing` is the number for empty fields, or nil.  Lets hooks run between
       rows
     print(buffer, first, rows, columns, delimiter) -> the text of rows from
       element `first` (from 0) on, each number with the fewest digits that
       identify it */
void lze_add_text_functions(lua_State *L);

#endif
