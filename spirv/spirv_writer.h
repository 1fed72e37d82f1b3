/*
 * spirv_writer.h - the writer of SPIR-V: words, instructions, sections.
 * SPDX-License-Identifier: MIT
 *
 * A module is written into sections that are joined in the order SPIR-V wants.
 * Types and constants are written once each, by their words.  When memory runs
 * out the writer only remembers so; writer_finish then returns NULL.
 */
#ifndef SPIRV_WRITER_H
#define SPIRV_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct writer_words {
  uint32_t *at;
  size_t count, room;
} writer_words;

enum {
  WRITER_CAPABILITY, WRITER_EXTENSION, WRITER_IMPORT, WRITER_MODEL,
  WRITER_ENTRY, WRITER_MODE, WRITER_STRING, WRITER_NAME, WRITER_DECORATION,
  WRITER_GLOBAL, WRITER_HEAD, WRITER_VARIABLES, WRITER_BODY, WRITER_SECTIONS
};

typedef struct spirv_writer {
  writer_words section[WRITER_SECTIONS];
  uint32_t bound;
  bool failed;
  uint32_t *index;            /* hash of types and constants: offset + 1 */
  size_t index_size, index_count;
} spirv_writer;

void writer_init(spirv_writer *w);
void writer_free(spirv_writer *w);
uint32_t writer_id(spirv_writer *w);
/* One instruction of `count` operand words. */
void writer_op(spirv_writer *w, int section, unsigned opcode, size_t count,
               const uint32_t *operands);
#define WRITE(w, section, opcode, ...) \
  writer_op(w, section, opcode, \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
            (uint32_t[]){__VA_ARGS__})
/* The same with a string after `before` words and `after` words behind it. */
void writer_string(spirv_writer *w, int section, unsigned opcode,
                   size_t before, const uint32_t *words, const char *text,
                   size_t after, const uint32_t *rest);
/* A type or constant of the global section, written once: the id of the
   instruction with these operands, whose result stands at `result` (0 for
   types, 1 for constants). */
uint32_t writer_once(spirv_writer *w, unsigned opcode, unsigned result,
                     size_t count, const uint32_t *operands);
/* An instruction OpType... of another module with the id it has there;
   writer_once then finds it. */
void writer_type(spirv_writer *w, const uint32_t *instruction);
void writer_capability(spirv_writer *w, uint32_t capability);
/* The whole module, to be freed by the caller; NULL when memory ran out. */
uint32_t *writer_finish(spirv_writer *w, uint32_t version, size_t *count);

#endif
