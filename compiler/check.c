/*
 * check.c - checked accesses: those outside are skipped, and reported.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

/* Returns the number of a new access with this name, at the current line. */
static size_t access_add(compiler *c, const char *name, const char *element) {
  const char *file = c->at->p->file;
  c->accesses = arena_grow(c->a, c->accesses, c->access_count, &c->access_room,
                           sizeof *c->accesses);
  if (c->a->failed) return 0;
  c->accesses[c->access_count] = (lzc_access){
      file != NULL ? arena_text(c->a, "%s", file) : NULL, c->line,
      arena_text(c->a, "%s", name), element};
  return c->access_count++;
}

static void report(compiler *c, unsigned at, uint32_t v) {
  uint32_t to = op2(c, SpvOpInBoundsPtrAccessChain,
                    t_pointer(c, SpvStorageClassCrossWorkgroup, t_int(c, 64)),
                    c->report, k_int(c, 64, at));
  WRITE(&c->w, WRITER_BODY, SpvOpStore, to, v, SpvMemoryAccessAlignedMask, 8);
}

/* Writes code that reports a fault; only the first fault is stored. */
static void fault(compiler *c, const char *name, const char *element,
                  const spot *at) {
  uint32_t word = t_int(c, 32), first = writer_id(&c->w);
  uint32_t after = writer_id(&c->w), zero = k_int(c, 32, 0);
  if (c->report == 0) c->report = report_add(c);
  uint32_t flag = op1(c, SpvOpBitcast,
                      t_pointer(c, SpvStorageClassCrossWorkgroup, word),
                      c->report);
  uint32_t old = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpAtomicCompareExchange, word, old, flag,
        k_int(c, 32, SpvScopeDevice), zero, zero, k_int(c, 32, 1), zero);
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional,
        logical(c, SpvOpIEqual, old, zero), first, after);
  label(c, first);
  report(c, LZC_REPORT_ACCESS,
         k_int(c, 64, (int64_t)access_add(c, name, element)));
  report(c, LZC_REPORT_COUNT, k_int(c, 64, at != NULL ? at->count : 0));
  for (unsigned d = 0; d < 3; d++)
    report(c, LZC_REPORT_ID + d,
           builtin_id(c, SpvBuiltInGlobalInvocationId, d));
  for (unsigned d = 0; at != NULL && d < at->count; d++) {
    report(c, LZC_REPORT_INDEX + d, at->index[d]);
    report(c, LZC_REPORT_SIZE + d, at->size[d]);
  }
  branch(c, after);
  label(c, after);
}

static bool checks(const compiler *c) {
  return c->emit && c->input->options.bounds;
}

/* Writes code that reports a fault if `wrong` is true. */
static void mistake(compiler *c, uint32_t wrong, const char *name,
                    const char *element, const spot *at) {
  uint32_t yes = writer_id(&c->w), after = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, wrong, yes, after);
  label(c, yes);
  fault(c, name, element, at);
  branch(c, after);
  label(c, after);
}

uint32_t check_begin(compiler *c, known *k, const spot *at) {
  if (!checks(c)) return 0;
  uint32_t yes = writer_id(&c->w), no = writer_id(&c->w);
  uint32_t after = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpBranchConditional, at->there, yes, no);
  label(c, no);
  fault(c, known_label(c, k), NULL, at);
  branch(c, after);
  label(c, yes);
  return after;
}

void check_end(compiler *c, uint32_t after) {
  if (after == 0) return;
  branch(c, after);
  label(c, after);
}

static void check_zero(compiler *c, val v, const char *says) {
  int64_t n = 0;
  if (!checks(c) || (constant_of(c, v.type, &n) && n != 0)) return;
  mistake(c, compare(c, OP_EQ, v, v_int(c, 0)), says, NULL, NULL);
}

void check_divisor(compiler *c, val divisor) {
  check_zero(c, divisor, "an integer is divided by zero");
}

void check_step(compiler *c, val step) {
  check_zero(c, step, "'for' step is zero");
}

void check_dimension(compiler *c, const char *name, val d) {
  if (!checks(c)) return;
  uint32_t from = op2(c, SpvOpISub, t_of(c, T_INT), d.id,
                      k_int(c, c->int_bits, 1));
  mistake(c, logical(c, SpvOpUGreaterThan, from, k_int(c, c->int_bits, 2)),
          arena_text(c->a, "%s needs 1, 2 or 3 as dimension", name), NULL,
          NULL);
}

void check_whole(compiler *c, val v) {
  static const char says[] = "number has no integer representation";
  if (KIND(v.type) != T_REAL) return;
  if (DATA(v.type) == NO_INTEGER) finding(c, NULL, says);
  if (!checks(c)) return;
  uint32_t same = compare(c, OP_EQ, (val){T_INT, whole(c, v.id), 0}, v);
  mistake(c, op1(c, SpvOpLogicalNot, t_bool(c), same), says, NULL, NULL);
}

void check_fit(compiler *c, known *k, const spot *at, val v) {
  lzc_element e = k->value.element;
  unsigned bits = lzc_element_bytes(e) * 8;
  if (!checks(c) || is_real(e)) return;
  check_whole(c, v);
  if (bits >= c->int_bits) return;
  if (KIND(v.type) == T_REAL) v.id = whole(c, v.id);
  uint32_t kept = op1(c, SpvOpSConvert, t_int(c, bits), v.id);
  kept = op1(c, is_unsigned(e) ? SpvOpUConvert : SpvOpSConvert,
             t_of(c, T_INT), kept);
  spot stored = *at;
  stored.size[0] = to_index(c, (val){T_INT, v.id, 0});
  mistake(c, logical(c, SpvOpINotEqual, kept, v.id), known_label(c, k),
          lzc_element_name(e), &stored);
}
