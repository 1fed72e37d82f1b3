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
#include "spirv_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

static void check(bool ok, const char *what, const char *detail) {
  checks++;
  if (ok) return;
  fprintf(stderr, "lzc_test: %s: %s\n", what, detail);
  failures++;
}

/* Returns the chunk of the value that Lua text returns; the caller frees it. */
static unsigned char *dump_as(const char *text, const char *strip,
                              size_t *size) {
  char name[] = "/tmp/lzc_testXXXXXX", command[400];
  int fd = mkstemp(name);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (f == NULL) exit(1);
  fputs(text, f);
  fclose(f);
  snprintf(command, sizeof command,
           LUA_COMMAND " -e 'io.write(string.dump(dofile(\"%s\"), %s))'", name,
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

/* Compiles with arguments from words: "id" an index, "double*", "const-int*",
   "float*3" an array of three dimensions, "long". */
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
  {"return function(i, x) local r = 0x1p63 x[i] = 2.0 | -0x1p63 | -r end",
   "id long*"},
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

/* Chunks that Lua 5.5.1 makes of similar functions, for systems with 5.4. */
static const char *const newer[][2] = {
  {"1b4c7561550019930d0a1a0a0488a9ffff04785634120888a9ffffffffffff0800000000"
   "002877c0000101020007170001810480810100800102fe7f4a0104009c0204003002000c"
   "99020501b00201090c030104a2020506ae02060690000005498104000281ff7f82010080"
   "030201004a0102008c02010095020580af02800690000005498102004701010003030603"
   "0a13000000000000d03f0000033d6b001700000000000000000000000000000000000000"
   "000000000008026900001702780000170c28666f722073746174652900030d0004030d02"
   "6a00040c0004101600041016027400111500",
   "id long*"},
  {"1b4c7561550019930d0a1a0a0488a9ffff04785634120888a9ffffffffffff0800000000"
   "002877c000010103000a1300b4010200010200808102ff7fca8106001303c00054000000"
   "800305000c0402058104ff7f4e0303008c030205c0038400b8000080c383050038000080"
   "b103050090000607c9010700c7010100000000000000000000",
   "id half*3 const-int*"},
  {"1b4c7561550019930d0a1a0a0488a9ffff04785634120888a9ffffffffffff0800000000"
   "002877c00001810d0300091b8181ff7f0102008080020200010300804a820900ac030600"
   "2e030010a2030307ae010706210400812f008111a2030708ae030806200406842f838410"
   "a2010708ae03080683030000ba030300b8000080b80100803600010097010301b0010107"
   "49020a009000000347020100020387adf3a262038f500000033d6b001b00000000000000"
   "000000000000000000000000000000800080800003000000160000008d00000018000000"
   "01000000190000008d00000007026900001b027800001b026e00001b027300011b0c2866"
   "6f722073746174652900041900060419026a00051800",
   "id uint* long"},
  {"1b4c7561550019930d0a1a0a0488a9ffff04785634120888a9ffffffffffff0800000000"
   "002877c00001010200040c000c0101003c01000038000080038100004081810038010080"
   "83010100c2810000380000808001020090000003c7010100030003bfffffffffff7e03f5"
   "deb4290000000000000000",
   "id bfloat16*"},
};

static const struct {
  const char *text, *types, *says;
} bad[] = {
  {"return function(i, x) x[i] = x[i] / 2 end", "id int*", "math.floor"},
  {"return function(i, x) local t = {} x[i] = 1 end", "id int*",
   "a table is made here"},
  {"return function(i, x) a = 1 end", "id int*", "a global (a) is assigned"},
  {"local t = {} return function(i, x) t.a = 1 end", "id int*",
   "a field (a) is assigned"},
  {"return function(i, x) x[i] = nothing end", "id int*", "is nil"},
  {"return function(i, x) x[i] = 1 end", "id const-int*", "const buffer"},
  {"return function(i, x, y) end", "id int*", "has 3 parameters"},
  {"return function(i, x) w.atomic_add(x, i, 1) end", "id long*", "64 bits"},
  {"return function(i, ...) end", "id", "not ..."},
  {"return function(i, x) for j = 1, i, 0 do x[j] = j end end", "id int*",
   "step 0"},
  {"return function(i, x) for j = 0.5, i, 0 do x[i] = 1 end end", "id int*",
   "step 0"},
  {"return function(i, x) for j = 1, i, 0.0 do x[i] = 1 end end", "id int*",
   "step 0"},
  {"return function(i, x) for j = i, 1, -0.0 do x[i] = 1 end end", "id float*",
   "step 0"},
  {"return function(i, x) x[i] = 2.5 | 0 end", "id int*",
   "no integer representation"},
  {"return function(i, x) local r = -0.5 x[i] = i << r end", "id int*",
   "no integer representation"},
  {"return function(i, x) x[i] = ~0x1p63 end", "id int*",
   "no integer representation"},
  {"return function(i, a) a[{i, 1}] = 1 end", "id int*3",
   "is an array of 3 dimensions; 2 indices stand here"},
  {"return function(i, a) a[i] = 1 end", "id int*2",
   "is indexed by one number here"},
  {"return function(i, a) a[i] = 1 a[{i, 1}] = 2 end", "id int*",
   "is a buffer; an array of 2 dimensions is needed here"},
  {"return function(i, a) local t = {i, 1} a[t] = 2 end", "id int*2",
   "a table is made here"},
};

static unsigned char *bytes_of(const char *digits, size_t *size) {
  *size = strlen(digits) / 2;
  unsigned char *bytes = malloc(*size + 1);
  if (bytes == NULL) exit(1);
  for (size_t i = 0; i < *size; i++) {
    char two[] = {digits[2 * i], digits[2 * i + 1], 0};
    bytes[i] = (unsigned char)strtoul(two, NULL, 16);
  }
  return bytes;
}

/* Checks that a module stays valid if its kernel gets a guard, which must be
   possible unless the kernel queries its group. */
static void check_guarded(const char *what, const lzc_result *r) {
  char message[400] = "out of memory";
  spirv_module *m =
      spirv_parse(r->words, r->word_count * 4, message, sizeof message);
  check(m != NULL, what, message);
  for (int keep = 0; m != NULL && keep <= 1; keep++) {
    size_t count;
    uint32_t *words = spirv_guard(m, keep, &count);
    check(words != NULL && spirv_validate(words, count * 4, message,
                                          sizeof message), what, message);
    free(words);
  }
  if (m != NULL && m->kernels[0].builtins == SPIRV_BUILTIN_GLOBAL_ID &&
      m->kernels[0].local_bytes == 0)
    check(spirv_can_guard(m, &m->kernels[0]), what, "cannot be guarded");
  spirv_free(m);
}

/* A stripped chunk is mostly code, so damage to it gets further.  If it is
   compiled anyway, the result must be valid. */
static void damage(long count) {
  uint64_t seed = 12345;
  size_t rows = sizeof good / sizeof *good;
  size_t chunks = 2 * rows + sizeof newer / sizeof *newer;
  long compiled = 0;
  for (size_t g = 0; g < chunks; g++) {
    size_t size;
    const char *const *row = g < 2 * rows ? good[g / 2] : newer[g - 2 * rows];
    unsigned char *bytes =
        g < 2 * rows ? dump_as(row[0], g % 2 ? "true" : "false", &size)
                     : bytes_of(row[0], &size);
    unsigned char *copy = malloc(size + 1);
    for (long n = 0; n < count / (long)chunks; n++) {
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
        if (n % 4 == 0) check_guarded(row[0], r);
      }
      lzc_result_free(r);
    }
    free(copy);
    free(bytes);
  }
  check(compiled > count / 20, "of the damaged chunks",
        "hardly one is a function still");
}

/* A damaged chunk, in which a jump over an instruction leaves an index table
   without its contents. */
static void skipped(void) {
  static const unsigned char load[] = {0x01, 0x82, 0x00, 0x80}, skip = 0x06;
  size_t size, at = 0;
  unsigned char *bytes =
      dump("return function(i, a) a[{i, 2}] = 1 end", &size);
  while (at + sizeof load <= size && memcmp(bytes + at, load, sizeof load) != 0)
    at++;
  check(at + sizeof load <= size, "skipped", "there is no LOADI 4 2");
  if (at + sizeof load <= size) {
    bytes[at] = skip;
    lzc_result *r = compile(bytes, size, "id int*2");
    check(r != NULL && r->words == NULL && r->finding_count == 1 &&
          strcmp(r->findings[0].message, "an index has 1 to 8 numbers") == 0,
          "skipped", r != NULL && r->finding_count > 0
                         ? r->findings[0].message : "nothing is said");
    lzc_result_free(r);
  }
  free(bytes);
}

static void is_kernel(const char *what, const void *bytes, size_t size,
                      const char *types) {
  char message[400];
  lzc_result *r = compile(bytes, size, types);
  if (r == NULL || r->words == NULL) {
    check(false, what, r == NULL ? "out of memory" : r->findings[0].message);
  } else {
    check(spirv_validate(r->words, r->word_count * 4, message, sizeof message),
          what, message);
    spirv_module *m =
        spirv_parse(r->words, r->word_count * 4, message, sizeof message);
    check(m != NULL && m->kernel_count == 1, what, "reflection");
    if (m != NULL)
      check(m->kernels[0].builtins == SPIRV_BUILTIN_GLOBAL_ID, what,
            "uses more than the global id");
    spirv_free(m);
    check_guarded(what, r);
  }
  lzc_result_free(r);
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
  size_t size, rows = sizeof good / sizeof *good;
  for (size_t i = 0; i < rows; i++) {
    unsigned char *bytes = dump(good[i][0], &size);
    is_kernel(good[i][0], bytes, size, good[i][1]);
    free(bytes);
  }
  for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
    unsigned char *bytes = bytes_of(newer[i][0], &size);
    is_kernel(newer[i][1], bytes, size, newer[i][1]);
    free(bytes);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    unsigned char *bytes = dump(bad[i].text, &size);
    lzc_result *r = compile(bytes, size, bad[i].types);
    const char *says = r != NULL && r->finding_count > 0
                           ? r->findings[0].message : "nothing";
    check(r != NULL && r->words == NULL && strstr(says, bad[i].says) != NULL,
          bad[i].text, says);
    lzc_result_free(r);
    free(bytes);
  }
  /* The header of a chunk of a later Lua. */
  static const unsigned char later[] =
      "\x1bLua\x56\x00\x19\x93\r\n\x1a\n"
      "\x04\x88\xa9\xff\xff\x04\x78\x56\x34\x12";
  lzc_summary *s = lzc_analyse(later, sizeof later, message, sizeof message);
  check(s == NULL && strcmp(message, "a chunk of Lua 5.6; those of Lua 5.4 and "
                                     "5.5 are read") == 0, "5.6", message);
  lzc_summary_free(s);
  skipped();
  damage(argc > 1 ? atol(argv[1]) : 4000);
  free(twice);
  printf("lzc: %d checks, %d failed\n", checks, failures);
  return failures != 0;
}
