/*
 * spirv_writer.h - the writer of SPIR-V: words, instructions, sections.
 * SPDX-License-Identifier: MIT
 *
 * A module is written into sections, which are joined in the order that SPIR-V
 * requires. Each type or constant with the same words is written once. When
 * memory runs out, the writer only sets `failed`; writer_finish then returns
 * NULL.
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
/* Writes an instruction with `count` operand words. */
void writer_op(spirv_writer *w, int section, unsigned opcode, size_t count,
               const uint32_t *operands);
#define WRITE(w, section, opcode, ...) \
  writer_op(w, section, opcode, \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
            (uint32_t[]){__VA_ARGS__})
/* Writes an instruction with `before` words, a string and `after` words. */
void writer_string(spirv_writer *w, int section, unsigned opcode,
                   size_t before, const uint32_t *words, const char *text,
                   size_t after, const uint32_t *rest);
/* Writes a type or constant to the global section unless it is there. Returns
   the id of the instruction with these operands; its result is operand `result`
   (0 for types, 1 for constants). */
uint32_t writer_once(spirv_writer *w, unsigned opcode, unsigned result,
                     size_t count, const uint32_t *operands);
/* Writes an OpType... instruction of another module with its id in that module;
   writer_once then finds it. */
void writer_type(spirv_writer *w, const uint32_t *instruction);
void writer_capability(spirv_writer *w, uint32_t capability);
/* Returns the whole module for the caller to free; NULL when memory ran out. */
uint32_t *writer_finish(spirv_writer *w, uint32_t version, size_t *count);

#endif
