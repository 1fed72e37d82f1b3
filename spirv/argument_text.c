/*
 * argument_text.c - copies kernel arguments' types from LLVM's text to SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * In that text a kernel is one line, and each list it refers to is another:
 *
 *   define spir_kernel void @f(...) #0 !kernel_arg_base_type !6 {
 *   !6 = !{!"float*", !"uint __attribute__((ext_vector_type(4)))"}
 */
#include "argument_text.h"
#include "spirv_writer.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

/* A list, "!6 = !{...": its number and its items. */
typedef struct list {
  unsigned long number;
  const char *items;
} list;

typedef struct lists {
  list *at; /* sorted */
  size_t count;
} lists;

static bool starts(const char *s, const char *with) {
  return strncmp(s, with, strlen(with)) == 0;
}

static const char *line_end(const char *p) { return p + strcspn(p, "\n"); }

static const char *next_line(const char *p) {
  p = line_end(p);
  return *p == '\0' ? p : p + 1;
}

static int compare_lists(const void *a, const void *b) {
  const list *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

static bool lists_read(const char *llvm, lists *l) {
  size_t room = 0;
  for (const char *p = llvm; *p != '\0'; p = next_line(p)) room += *p == '!';
  l->at = malloc((room + 1) * sizeof *l->at);
  if (l->at == NULL) return false;
  for (const char *p = llvm; *p != '\0'; p = next_line(p)) {
    if (*p != '!') continue;
    char *after;
    unsigned long number = strtoul(p + 1, &after, 10);
    if (starts(after, " = !{")) l->at[l->count++] = (list){number, after + 5};
  }
  qsort(l->at, l->count, sizeof *l->at, compare_lists);
  return true;
}

static int hex_digit(char c) {
  static const char digits[] = "0123456789ABCDEF";
  const char *at = c == '\0' ? NULL : strchr(digits, c);
  return at == NULL ? -1 : (int)(at - digits);
}

/* Copies the quoted text at p to *out, which it advances. Returns the text
   after the quotes, or NULL if p is not at a quote. */
static const char *copy_quoted(const char *p, char **out) {
  if (*p != '"') return NULL;
  for (p++; *p != '"'; p++) {
    char c = *p;
    if (c == '\0' || c == '\n') return NULL;
    if (c == '\\' && p[1] == '\\') {
      p++;
    } else if (c == '\\') {
      int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]);
      if (low < 0 || high + low == 0) return NULL;
      c = (char)(high * 16 + low);
      p += 2;
    }
    *(*out)++ = c;
  }
  return p + 1;
}

/* Shortens "uint __attribute__((ext_vector_type(4)))*" to "uint4*". Returns its
   end. */
static char *shorten_vector(char *type) {
  static const char before[] = " __attribute__((ext_vector_type(";
  static const char after[] = ")))";
  char *at = strstr(type, before);
  if (at != NULL) {
    char *lanes = at + strlen(before);
    size_t n = strspn(lanes, "0123456789");
    if (starts(lanes + n, after)) {
      char *rest = lanes + n + strlen(after);
      memmove(at, lanes, n);
      memmove(at + n, rest, strlen(rest) + 1);
    }
  }
  return type + strlen(type);
}

/* Writes every item, followed by a comma, to `out`, the end of a text, as
   llvm-spirv does. Returns false if an item is not a string or the list is
   malformed. */
static bool copy_items(const char *p, char *out) {
  while (*p != '}') {
    char *start = out;
    if (*p != '!' || (p = copy_quoted(p + 1, &out)) == NULL) return false;
    *out = '\0';
    out = shorten_vector(start);
    *out++ = ',';
    *out = '\0';
    if (starts(p, ", ")) p += 2;
    else if (*p != '}') return false;
  }
  return true;
}

/* Writes the strings of the kernel that `line` defines. Returns false when
   memory runs out. */
static bool kernel_write(const char *line, const lists *l, spirv_writer *w) {
  static const struct {
    const char *refers, *prefix;
  } kept[] = {{"!kernel_arg_base_type !", "kernel_arg_type."},
              {"!kernel_arg_type_qual !", "kernel_arg_type_qual."}};
  const char *end = line_end(line);
  size_t length = (size_t)(end - line);
  const char *name = memchr(line, '@', length);
  if (name++ == NULL ||
      memmem(line, (size_t)(name - line), " spir_kernel ", 13) == NULL)
    return true;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    const char *refers = kept[i].refers, *prefix = kept[i].prefix;
    const char *at = memmem(line, length, refers, strlen(refers));
    if (at == NULL) continue;
    const list wanted = {strtoul(at + strlen(refers), NULL, 10), NULL};
    const list *found = bsearch(&wanted, l->at, l->count, sizeof *l->at,
                                compare_lists);
    if (found == NULL || *found->items == '}') continue;
    /* A comma replaces the quotes of each item. */
    char *text = malloc(strlen(prefix) + length + 2 +
                        (size_t)(line_end(found->items) - found->items));
    if (text == NULL) return false;
    char *out = stpcpy(text, prefix);
    bool whole = true;
    if (*name == '"') {
      whole = copy_quoted(name, &out) != NULL;
    } else {
      size_t n = strcspn(name, "(\n");
      out = mempcpy(out, name, n);
    }
    *out++ = '.';
    if (whole && copy_items(found->items, out)) {
      const uint32_t id = writer_id(w);
      writer_string(w, WRITER_STRING, SpvOpString, 1, &id, text, 0, NULL);
    }
    free(text);
  }
  return true;
}

/* Returns the position for strings in a module, or 0 if it is not a module or
   already has these strings. */
static size_t strings_place(const uint32_t *words, size_t count) {
  size_t place = 0;
  if (count < 5 || words[0] != SpvMagicNumber) return 0;
  for (size_t at = 5; at < count; at += words[at] >> 16) {
    const size_t n = words[at] >> 16;
    if (n == 0 || n > count - at) return 0;
    switch (words[at] & 0xffff) {
      case SpvOpCapability:
      case SpvOpExtension:
      case SpvOpExtInstImport:
      case SpvOpMemoryModel:
      case SpvOpEntryPoint:
      case SpvOpExecutionMode:
      case SpvOpExecutionModeId: continue;
      case SpvOpString:
        if (n > 5 && memcmp(words + at + 2, "kernel_arg_type", 15) == 0)
          return 0;
        break;
      case SpvOpSource:
      case SpvOpSourceExtension:
      case SpvOpSourceContinued: break;
      default: return place != 0 ? place : at;
    }
    if (place == 0) place = at;
  }
  return place;
}

bool argument_text_add(const char *llvm, unsigned char **spirv, size_t *size) {
  const uint32_t *words = (const void *)*spirv;
  const size_t count = *size / sizeof *words;
  const size_t place = strings_place(words, count);
  if (place == 0 || *size % sizeof *words != 0) return true;
  lists l = {0};
  spirv_writer w;
  writer_init(&w);
  w.bound = words[3];
  bool done = lists_read(llvm, &l);
  for (const char *p = llvm; done && *p != '\0'; p = next_line(p))
    if (starts(p, "define ")) done = kernel_write(p, &l, &w);
  free(l.at);
  const writer_words *s = &w.section[WRITER_STRING];
  uint32_t *made = NULL;
  done = done && !w.failed &&
         (made = malloc((count + s->count) * sizeof *made)) != NULL;
  if (done) {
    uint32_t *at = mempcpy(made, words, place * sizeof *made);
    if (s->count > 0) at = mempcpy(at, s->at, s->count * sizeof *at);
    memcpy(at, words + place, (count - place) * sizeof *at);
    made[3] = w.bound;
    free(*spirv);
    *spirv = (unsigned char *)made;
    *size = (count + s->count) * sizeof *made;
  }
  writer_free(&w);
  return done;
}
