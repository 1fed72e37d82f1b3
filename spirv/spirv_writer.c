/*
 * spirv_writer.c - the writer of SPIR-V: words, instructions, sections.
 * SPDX-License-Identifier: MIT
 */
#include "spirv_writer.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

void writer_init(spirv_writer *w) {
  memset(w, 0, sizeof *w);
  w->bound = 1;
}

void writer_free(spirv_writer *w) {
  for (int i = 0; i < WRITER_SECTIONS; i++) free(w->section[i].at);
  free(w->index);
}

uint32_t writer_id(spirv_writer *w) { return w->bound++; }

/* Returns room for `count` more words, or NULL. */
static uint32_t *more(spirv_writer *w, int section, size_t count) {
  writer_words *s = &w->section[section];
  if (s->room - s->count < count) {
    size_t room = s->room * 2 + count + 64;
    uint32_t *at = realloc(s->at, room * sizeof *at);
    if (at == NULL) {
      w->failed = true;
      return NULL;
    }
    s->at = at;
    s->room = room;
  }
  uint32_t *at = s->at + s->count;
  s->count += count;
  return at;
}

void writer_op(spirv_writer *w, int section, unsigned opcode, size_t count,
               const uint32_t *operands) {
  uint32_t *at = more(w, section, count + 1);
  if (at == NULL) return;
  at[0] = (uint32_t)(count + 1) << 16 | opcode;
  if (count > 0) memcpy(at + 1, operands, count * sizeof *at);
}

void writer_string(spirv_writer *w, int section, unsigned opcode,
                   size_t before, const uint32_t *words, const char *text,
                   size_t after, const uint32_t *rest) {
  size_t size = strlen(text);
  if (size > 200000) size = 200000; /* an instruction has at most 65535 words */
  size_t length = size / 4 + 1;
  uint32_t *at = more(w, section, 1 + before + length + after);
  if (at == NULL) return;
  at[0] = (uint32_t)(1 + before + length + after) << 16 | opcode;
  if (before > 0) memcpy(at + 1, words, before * sizeof *at);
  for (size_t i = 0; i < length; i++) {
    uint32_t word = 0;
    for (size_t j = 0; j < 4 && i * 4 + j < size; j++)
      word |= (uint32_t)(unsigned char)text[i * 4 + j] << (8 * j);
    at[1 + before + i] = word;
  }
  if (after > 0) memcpy(at + 1 + before + length, rest, after * sizeof *at);
}

static uint32_t hash(unsigned opcode, size_t count, const uint32_t *operands) {
  uint32_t h = opcode * 2654435761u + (uint32_t)count;
  for (size_t i = 0; i < count; i++) h = (h ^ operands[i]) * 16777619u;
  return h ^ h >> 15;
}

/* Returns true if the instruction at `at` is the given one, except for its
   result. */
static bool same(const uint32_t *at, unsigned opcode, unsigned result,
                 size_t count, const uint32_t *operands) {
  if (at[0] != ((uint32_t)(count + 2) << 16 | opcode)) return false;
  for (size_t i = 0; i < count; i++)
    if (at[1 + i + (i >= result)] != operands[i]) return false;
  return true;
}

/* Doubles the size of the hash table. Each entry holds the offset of an
   instruction and the hash of its opcode and operands. */
static void grow_index(spirv_writer *w) {
  size_t size = w->index_size == 0 ? 128 : w->index_size * 2;
  uint32_t *index = calloc(size * 2, sizeof *index);
  if (index == NULL) {
    w->failed = true;
    return;
  }
  for (size_t i = 0; i < w->index_size; i++) {
    if (w->index[2 * i] == 0) continue;
    size_t slot = w->index[2 * i + 1] & (size - 1);
    while (index[2 * slot] != 0) slot = (slot + 1) & (size - 1);
    index[2 * slot] = w->index[2 * i];
    index[2 * slot + 1] = w->index[2 * i + 1];
  }
  free(w->index);
  w->index = index;
  w->index_size = size;
}

/* Returns the id of an instruction. Adds the instruction if it is absent, with
   the id `given`, or with a new id if `given` is 0. */
static uint32_t find_or_add(spirv_writer *w, unsigned opcode, unsigned result,
                            size_t count, const uint32_t *operands,
                            uint32_t given) {
  if (w->index_count * 2 >= w->index_size) grow_index(w);
  if (w->failed) return 1;
  writer_words *s = &w->section[WRITER_GLOBAL];
  uint32_t h = hash(opcode, count, operands);
  size_t slot = h & (w->index_size - 1);
  for (; w->index[2 * slot] != 0; slot = (slot + 1) & (w->index_size - 1)) {
    const uint32_t *at = s->at + w->index[2 * slot] - 1;
    if (same(at, opcode, result, count, operands)) return at[1 + result];
  }
  uint32_t offset = (uint32_t)s->count;
  uint32_t *at = more(w, WRITER_GLOBAL, count + 2);
  if (at == NULL) return 1;
  uint32_t id = given != 0 ? given : writer_id(w);
  at[0] = (uint32_t)(count + 2) << 16 | opcode;
  for (size_t i = 0; i < count; i++) at[1 + i + (i >= result)] = operands[i];
  at[1 + result] = id;
  w->index[2 * slot] = offset + 1;
  w->index[2 * slot + 1] = h;
  w->index_count++;
  return id;
}

uint32_t writer_once(spirv_writer *w, unsigned opcode, unsigned result,
                     size_t count, const uint32_t *operands) {
  return find_or_add(w, opcode, result, count, operands, 0);
}

void writer_type(spirv_writer *w, const uint32_t *instruction) {
  unsigned opcode = instruction[0] & 0xffff;
  size_t count = (instruction[0] >> 16) - 2;
  uint32_t id = instruction[1];
  /* A module may have the same pointer or structure twice. */
  if (find_or_add(w, opcode, 0, count, instruction + 2, id) != id)
    writer_op(w, WRITER_GLOBAL, opcode, count + 1, instruction + 1);
}

void writer_capability(spirv_writer *w, uint32_t capability) {
  const writer_words *s = &w->section[WRITER_CAPABILITY];
  for (size_t i = 0; i + 1 < s->count; i += 2)
    if (s->at[i + 1] == capability) return;
  WRITE(w, WRITER_CAPABILITY, SpvOpCapability, capability);
}

uint32_t *writer_finish(spirv_writer *w, uint32_t version, size_t *count) {
  size_t total = 5;
  for (int i = 0; i < WRITER_SECTIONS; i++) total += w->section[i].count;
  uint32_t *words = w->failed ? NULL : malloc(total * sizeof *words);
  if (words == NULL) return NULL;
  words[0] = SpvMagicNumber;
  words[1] = version;
  words[2] = 0;
  words[3] = w->bound;
  words[4] = 0;
  size_t at = 5;
  for (int i = 0; i < WRITER_SECTIONS; i++) {
    const writer_words *s = &w->section[i];
    if (s->count > 0) memcpy(words + at, s->at, s->count * sizeof *words);
    at += s->count;
  }
  *count = total;
  return words;
}
