/*
 * lzc_test.c - Lua functions become valid SPIR-V; damaged chunks do no harm.
 * SPDX-License-Identifier: MIT
 *
 *   lzc_test [DAMAGED]          how many damaged chunks, 4000 by default;
 *                               a million take a minute
 *   lzc_test FILE.lua FILE.spv "id double* const-long*"
 *                               compiles the function that FILE.lua returns
 */
#include "lzc.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(bool ok, const char *what, const char *detail) {
  if (ok) return;
  fprintf(stderr, "lzc_test: %s: %s\n", what, detail);
  failures++;
}

/* The chunk of what Lua text returns; the caller frees it. */
static unsigned char *dump_as(const char *text, const char *strip,
                              size_t *size) {
  char name[] = "/tmp/lzc_testXXXXXX", command[200];
  int fd = mkstemp(name);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (f == NULL) exit(1);
  fputs(text, f);
  fclose(f);
  snprintf(command, sizeof command,
           "lua5.4 -e 'io.write(string.dump(dofile(\"%s\"), %s))'", name,
           strip);
  FILE *p = popen(command, "r");
  unsigned char *bytes = malloc(1 << 20);
  *size = p == NULL || bytes == NULL ? 0 : fread(bytes, 1, 1 << 20, p);
  if (p != NULL) pclose(p);
  remove(name);
  return bytes;
}

static unsigned char *dump(const char *text, size_t *size) {
  return dump_as(text, "false", size);
}

/* Captures: math, a number `a`, a boolean `yes`, a function `twice`. */
static unsigned char *twice;
static size_t twice_size;

static bool resolve(void *context, const lzc_path *path, lzc_value *out) {
  (void)context;
  char name[64];
  memset(out, 0, sizeof *out);
  if (strcmp(path->text, "_ENV") == 0 || strcmp(path->text, "math") == 0 ||
      strcmp(path->text, "w") == 0) {
    out->kind = LZC_TABLE;
  } else if (strcmp(path->text, "a") == 0) {
    out->kind = LZC_REAL;
  } else if (strcmp(path->text, "yes") == 0) {
    out->kind = LZC_BOOLEAN;
    out->boolean = true;
  } else if (strcmp(path->text, "twice") == 0) {
    out->kind = LZC_FUNCTION;
    out->bytes = twice;
    out->size = twice_size;
    out->identity = &twice;
  } else {
    bool work = strncmp(path->text, "w.", 2) == 0;
    snprintf(name, sizeof name, "%s%s", work ? "work." : "",
             path->text + (work ? 2 : 0));
    out->builtin = lzc_builtin_find(name);
    out->kind = out->builtin ? LZC_BUILTIN : LZC_NIL;
    if (out->builtin) out->identity = lzc_builtin_name(out->builtin);
  }
  return true;
}

/* Arguments from words: "id" an index, "double*", "const-int*", "float*3" an
   array of three dimensions, "long". */
static lzc_result *compile(const void *bytes, size_t size, const char *types) {
  lzc_value arguments[16];
  lzc_input in = {.bytes = bytes, .size = size, .arguments = arguments,
                  .resolve = resolve,
                  .options = {.name = "k", .real = LZC_ELEMENTS},
                  .device = {.fp64 = true, .version = 0x00010000}};
  char text[200];
  snprintf(text, sizeof text, "%s", types);
  char *rest;
  for (char *w = strtok_r(text, " ", &rest); w != NULL;
       w = strtok_r(NULL, " ", &rest)) {
    if (strcmp(w, "id") == 0) {
      in.dimensions++;
      continue;
    }
    lzc_value *v = &arguments[in.argument_count++];
    memset(v, 0, sizeof *v);
    if (strncmp(w, "const-", 6) == 0) {
      v->is_const = true;
      w += 6;
    }
    size_t n = strlen(w);
    const char *star = strchr(w, '*');
    v->kind = star == NULL ? LZC_SCALAR : star[1] ? LZC_ARRAY : LZC_BUFFER;
    if (star != NULL) n = (size_t)(star - w);
    if (v->kind == LZC_ARRAY) v->rank = (unsigned)atoi(star + 1);
    lzc_element_find(w, n, &v->element);
  }
  return lzc_compile(&in);
}

static const char *const good[][2] = {
  {"return function(i, x, y) y[i] = 2.5 * x[i] + y[i] end",
   "id const-float* float*"},
  {"return function(i, x) local s = 0 for j = 1, i do s = s + x[j] end "
   "x[i] = s end", "id double*"},
  {"return function(i, x) for j = 10, 1, -3 do x[i] = j // 3 % 5 end "
   "for t = 0.0, 1.0, 0.25 do x[i] = x[i] + 1 end end", "id long*"},
  {"return function(i, x, y) y[i] = (x[i - 1] or 0) + x[i] + "
   "(x[i + 1] or 0) end", "id const-int* short*"},
  {"return function(i, x) local n = 0 while n < 10 and x[i] ~= n do "
   "n = n + 1 if n == 5 then goto out end end ::out:: x[i] = n << i end",
   "id uint*"},
  {"return function(i, x) x[i] = math.max(math.sqrt(a), x[i]) ^ 2 "
   "if yes then x[i] = twice(x[i], 3) + #x end end", "id half*"},
  {"return function(i, x) local v = x[i] if v == nil then v = 1 end "
   "x[i] = not (v > 2) and 1 or v end", "id bfloat16*"},
  {"return function(i, x) x[i] = math.floor(x[i] / 3) | 0 end", "id uchar*"},
  {"return function(i, x, n) x[i] = w.atomic_add(n, x[i] % 4 + 1, 1) + "
   "w.atomic_max(n, 5, i) end", "id int* uint*"},
  {"return function(i, x) local t = w.private_array('float', 9) t[i % 9 + 1] = "
   "i w.atomic_add(x, 1, t[3]) local a, b = w.random(i, 7) x[i] = a - b end",
   "id float*"},
  {"return function(i, j, a, b) b[{j, i}] = i > 3 and a[{i, -j}] or "
   "(a[{i + 1, 2}] or #a) end", "id id const-float*2 float*2"},
  {"return function(i, a, x) for k = #x, 1, -1 do "
   "a[{k, x[k], -1}] = x[k] > 5 and k or -k end end", "id half*3 const-int*"},
  {"return function(i, a) a[{i, 1}] = a[{1, i}] end", "id uchar*"},
};

static const struct {
  const char *text, *types, *says;
} bad[] = {
  {"return function(i, x) x[i] = x[i] / 2 end", "id int*", "math.floor"},
  {"return function(i, x) local t = {} x[i] = 1 end", "id int*",
   "a table is made here"},
  {"return function(i, x) a = 1 end", "id int*", "a global is assigned"},
  {"return function(i, x) x[i] = nothing end", "id int*", "is nil"},
  {"return function(i, x) x[i] = 1 end", "id const-int*", "const buffer"},
  {"return function(i, x, y) end", "id int*", "has 3 parameters"},
  {"return function(i, x) w.atomic_add(x, i, 1) end", "id long*", "64 bits"},
  {"return function(i, ...) end", "id", "not ..."},
  {"return function(i, x) for j = 1, i, 0 do x[j] = j end end", "id int*",
   "step 0"},
  {"return function(i, a) a[{i, 1}] = 1 end", "id int*3",
   "is an array of 3 dimensions; 2 indices stand here"},
  {"return function(i, a) a[i] = 1 end", "id int*2",
   "is indexed by one number here"},
  {"return function(i, a) a[i] = 1 a[{i, 1}] = 2 end", "id int*",
   "is a buffer; an array of 2 dimensions is needed here"},
  {"return function(i, a) local t = {i, 1} a[t] = 2 end", "id int*2",
   "a table is made here"},
};

/* A stripped chunk is little but code: what is damaged there gets further.
   What is compiled none the less must be valid. */
static void damage(long count) {
  uint64_t seed = 12345;
  size_t rows = sizeof good / sizeof *good;
  long compiled = 0;
  for (size_t g = 0; g < 2 * rows; g++) {
    size_t size;
    const char *const *row = good[g / 2];
    unsigned char *bytes = dump_as(row[0], g % 2 ? "true" : "false", &size);
    unsigned char *copy = malloc(size + 1);
    for (long n = 0; n < count / (2 * (long)rows); n++) {
      memcpy(copy, bytes, size);
      for (int k = 0; k < 1 + (int)(n % 3); k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned char *at = &copy[(seed >> 33) % size];
        unsigned bit = 1u << (seed >> 25) % 8;
        *at = (unsigned char)(n % 2 ? seed >> 25 : *at ^ bit);
      }
      size_t kept = n % 7 == 0 ? (seed >> 40) % size : size;
      lzc_result *r = compile(copy, kept, row[1]);
      if (r != NULL && r->words != NULL) {
        char message[400];
        compiled++;
        check(spirv_validate(r->words, r->word_count * 4, message,
                             sizeof message), row[0], message);
      }
      lzc_result_free(r);
    }
    free(copy);
    free(bytes);
  }
  check(compiled > count / 20, "of the damaged chunks",
        "hardly one is a function still");
}

int main(int argc, char **argv) {
  char message[400];
  twice = dump("return function(v, n) if n > 1 then return v * 2, 1 end "
               "return v end", &twice_size);
  if (argc == 4) {
    char text[300];
    size_t size;
    snprintf(text, sizeof text, "return dofile('%s')", argv[1]);
    unsigned char *bytes = dump(text, &size);
    lzc_result *r = compile(bytes, size, argv[3]);
    for (size_t i = 0; r != NULL && i < r->finding_count; i++)
      printf("%s:%d: %s: %s\n", r->findings[i].file, r->findings[i].line,
             r->findings[i].variable ? r->findings[i].variable : "",
             r->findings[i].message);
    FILE *f = r == NULL || r->words == NULL ? NULL : fopen(argv[2], "wb");
    if (f == NULL) return 1;
    fwrite(r->words, 4, r->word_count, f);
    fclose(f);
    lzc_result_free(r);
    free(bytes);
    free(twice);
    return 0;
  }
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    size_t size;
    unsigned char *bytes = dump(good[i][0], &size);
    lzc_result *r = compile(bytes, size, good[i][1]);
    if (r == NULL || r->words == NULL) {
      check(false, good[i][0],
            r == NULL ? "out of memory" : r->findings[0].message);
    } else {
      check(spirv_validate(r->words, r->word_count * 4, message,
                           sizeof message), good[i][0], message);
      spirv_module *m =
          spirv_parse(r->words, r->word_count * 4, message, sizeof message);
      check(m != NULL && m->kernel_count == 1, good[i][0], "reflection");
      if (m != NULL)
        check(m->kernels[0].builtins == SPIRV_BUILTIN_GLOBAL_ID, good[i][0],
              "uses more than the global id");
      spirv_free(m);
    }
    lzc_result_free(r);
    free(bytes);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    size_t size;
    unsigned char *bytes = dump(bad[i].text, &size);
    lzc_result *r = compile(bytes, size, bad[i].types);
    const char *says = r != NULL && r->finding_count > 0
                           ? r->findings[0].message : "nothing";
    check(r != NULL && r->words == NULL && strstr(says, bad[i].says) != NULL,
          bad[i].text, says);
    lzc_result_free(r);
    free(bytes);
  }
  /* The head of a chunk of Lua 5.5. */
  static const unsigned char newer[] =
      "\x1bLua\x55\x00\x19\x93\r\n\x1a\n"
      "\x04\x88\xa9\xff\xff\x04\x78\x56\x34\x12";
  lzc_summary *s = lzc_analyse(newer, sizeof newer, message, sizeof message);
  check(s == NULL && strcmp(message, "a chunk of Lua 5.5; those of Lua 5.4 are "
                                     "read") == 0, "5.5", message);
  lzc_summary_free(s);
  damage(argc > 1 ? atol(argv[1]) : 4000);
  free(twice);
  return failures != 0;
}
