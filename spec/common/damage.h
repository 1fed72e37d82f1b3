/*
 * damage.h - damages SPIR-V modules at random, but repeatably.
 * SPDX-License-Identifier: MIT
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* Returns the next number of the sequence of a seed (xorshift). */
static uint32_t draw(uint32_t below)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return below == 0 ? 0 : (uint32_t)((state >> 16) % below);
}

typedef struct input {
  uint32_t *words;
  uint32_t count;
} input;

enum { MOST_WORDS = 1 << 18 };

static input read_input(const char *path)
{
  input in = {malloc(MOST_WORDS * 4), 0};
  FILE *file = fopen(path, "rb");
  if (file == NULL || in.words == NULL) {
    perror(path);
    exit(2);
  }
  in.count = (uint32_t)fread(in.words, 4, MOST_WORDS, file);
  fclose(file);
  if (in.count < 6) {
    fprintf(stderr, "%s: too short\n", path);
    exit(2);
  }
  return in;
}

/* Returns the start of a random instruction. */
static uint32_t draw_instruction(const input *m)
{
  uint32_t target = 5 + draw(m->count - 5), at = 5;
  while (at < m->count) {
    uint32_t next = at + (m->words[at] >> 16);
    if (next == at || next > target)
      break;
    at = next;
  }
  return at < m->count ? at : 5;
}

static void damage(input *m, const input *other)
{
  static const uint32_t odd[] = {
    0, 1, 2, 3, 4, 8, 16, 17, 64, 0x7f, 0xff, 0xffff, 0x10000, 0x3ffffe,
    0x3fffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff
  };
  uint32_t bound = m->words[3] == 0 ? 1 : m->words[3];
  uint32_t at = draw_instruction(m);
  uint32_t length = m->words[at] >> 16;
  if (length == 0 || length > m->count - at)
    length = 1;
  uint32_t inside = at + (length > 1 ? 1 + draw(length - 1) : 0);
  switch (draw(12)) {
  case 0: /* one bit, anywhere */
    m->words[draw(m->count)] ^= 1u << draw(32);
    break;
  case 1: /* an unusual value, anywhere */
    m->words[draw(m->count)] = odd[draw(sizeof odd / sizeof *odd)];
    break;
  case 2:
  case 3:
  case 4: /* most likely another id, in an operand */
    m->words[inside] = 1 + draw(bound);
    break;
  case 5: /* a small number in an operand */
    m->words[inside] = draw(64);
    break;
  case 6: /* remove an instruction */
    m->words[at] = (m->words[at] & 0xffff0000u) | draw(draw(4) ? 420 : 6500);
    break;
  case 7: /* an instruction goes */
    memmove(m->words + at, m->words + at + length,
            (m->count - at - length) * (size_t)4);
    m->count -= length;
    break;
  case 8: /* insert an instruction, from this or another module */
  case 9: {
    const input *from = draw(3) ? m : other;
    uint32_t piece[64];
    uint32_t start = draw_instruction(from);
    uint32_t words = from->words[start] >> 16;
    if (words == 0 || words > 64 || words > from->count - start ||
        m->count + words > MOST_WORDS)
      break;
    memcpy(piece, from->words + start, words * (size_t)4);
    memmove(m->words + at + words, m->words + at, (m->count - at) * (size_t)4);
    memcpy(m->words + at, piece, words * (size_t)4);
    m->count += words;
    break;
  }
  case 10: /* swap two instructions */
    if (at + length < m->count) {
      uint32_t next = m->words[at + length] >> 16;
      if (next == 0 || next > 64 || next > m->count - at - length)
        break;
      uint32_t piece[64];
      memcpy(piece, m->words + at + length, next * (size_t)4);
      memmove(m->words + at + next, m->words + at, length * (size_t)4);
      memcpy(m->words + at, piece, next * (size_t)4);
    }
    break;
  case 11: /* cut off the end */
    if (draw(8) == 0)
      m->count = 5 + draw(m->count - 5);
    break;
  }
  if (m->count < 6)
    m->count = 6;
}

/* Round `n` of a seed damages one of the inputs in one to four ways. */
static void damage_round(input *m, const input *inputs, unsigned files,
                         uint64_t seed, unsigned long n)
{
  state = (seed + 1) * 0x9e3779b97f4a7c15u + n * 0xbf58476d1ce4e5b9u + 1;
  for (int k = 0; k < 4; k++)
    draw(1);
  const input *from = &inputs[draw(files)];
  memcpy(m->words, from->words, from->count * (size_t)4);
  m->count = from->count;
  for (uint32_t times = 1 + draw(4); times > 0; times--)
    damage(m, &inputs[draw(files)]);
}

#endif
