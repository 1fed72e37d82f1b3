/*
 * spirv_loops.c - finds loops, and the short ones among them.
 * SPDX-License-Identifier: MIT
 *
 * A loop is short if it counts from one constant to another in few rounds: its
 * condition compares a number that is constant before the loop and grows by a
 * constant in the loop. Counters may also be Function variables, as in
 * unoptimised code.
 *
 * The results are estimates: they assume that this comparison ends the loop,
 * and ignore other exits.
 */
#include "spirv_reader.h"

enum {
  MOST_BODY = 256,   /* instructions in a short loop */
  MOST_BEFORE = 32,  /* instructions between a counter's first value and
                        its loop */
  SHORT_OCTAVES = 4, /* rounds of all loops around an instruction: 2^4 */
  MANY_OCTAVES = SHORT_OCTAVES + 1
};

typedef struct loop {
  uint32_t first, last; /* its first label and the branch back to it */
} loop;

/* Returns the condition of the branch that ends a block, or NULL. */
static const spirv_instruction *condition_of(const reader *r,
                                             const spirv_instruction *end)
{
  const spirv_instruction *i =
    end->opcode == SpvOpBranchConditional ? def_of(r, word(end, 1)) : NULL;
  return i != NULL && i->opcode == SpvOpLogicalNot ? def_of(r, word(i, 3)) : i;
}

static bool is_comparison(uint16_t opcode)
{
  return opcode >= SpvOpIEqual && opcode <= SpvOpSLessThanEqual;
}

/* Sets the constant that a sum or a difference adds to its first operand.
   Returns false if it does not add a constant. */
static bool added(const reader *r, const spirv_instruction *i, int64_t *by)
{
  if ((i->opcode != SpvOpIAdd && i->opcode != SpvOpISub) ||
      !signed_constant(r, word(i, 4), by))
    return false;
  if (i->opcode == SpvOpISub && *by != INT64_MIN)
    *by = -*by;
  return true;
}

/* Returns the origin of a compared number: the variable or phi that carries it
   from round to round. */
static const spirv_instruction *counter_of(const reader *r, uint32_t id)
{
  const spirv_instruction *i = def_of(r, id);
  int64_t by;
  if (i != NULL && (i->opcode == SpvOpSConvert || i->opcode == SpvOpUConvert))
    i = def_of(r, word(i, 3));
  if (i != NULL && added(r, i, &by))
    i = def_of(r, word(i, 3));
  if (i != NULL && i->opcode == SpvOpLoad)
    i = def_of(r, word(i, 3));
  return i;
}

/* Sets a counter's first value and step. */
static bool phi_counts(const reader *r, const spirv_instruction *phi,
                       int64_t *begins, int64_t *grows)
{
  if (phi->word_count != 7)
    return false;
  for (unsigned k = 3; k <= 5; k += 2) {
    const spirv_instruction *next = def_of(r, phi->words[8 - k]);
    if (signed_constant(r, phi->words[k], begins) && next != NULL)
      return added(r, next, grows) && word(next, 3) == phi->result;
  }
  return false;
}

static bool variable_counts(const reader *r, loop l,
                            const spirv_instruction *variable, int64_t *begins,
                            int64_t *grows)
{
  bool found = false;
  for (uint32_t at = l.first; at <= l.last; at++) {
    const spirv_instruction *i = &r->ins[at], *sum;
    if (i->opcode != SpvOpStore || word(i, 1) != variable->result)
      continue;
    sum = def_of(r, word(i, 2));
    if (found || sum == NULL || !added(r, sum, grows) ||
        counter_of(r, sum->result) != variable)
      return false;
    found = true;
  }
  for (uint32_t k = 1; found && k <= MOST_BEFORE && k <= l.first; k++) {
    const spirv_instruction *i = &r->ins[l.first - k];
    if (i->opcode == SpvOpStore && word(i, 1) == variable->result)
      return signed_constant(r, word(i, 2), begins);
  }
  return false;
}

/* Returns the estimated rounds of a loop, as a power of two, if that branch
   ends it. */
static int32_t octaves_by(const reader *r, loop l, uint32_t at)
{
  const spirv_instruction *test = condition_of(r, &r->ins[at]), *counter;
  int64_t ends, begins, grows;
  if (test == NULL || !is_comparison(test->opcode))
    return MANY_OCTAVES;
  if (signed_constant(r, word(test, 4), &ends))
    counter = counter_of(r, word(test, 3));
  else if (signed_constant(r, word(test, 3), &ends))
    counter = counter_of(r, word(test, 4));
  else
    return MANY_OCTAVES;
  if (counter == NULL ||
      !(counter->opcode == SpvOpPhi ?
          phi_counts(r, counter, &begins, &grows) :
          is_variable_in(counter, SpvStorageClassFunction) &&
            variable_counts(r, l, counter, &begins, &grows)))
    return MANY_OCTAVES;
  const int64_t most = (int64_t)1 << 31;
  if (grows == 0 || ends > most || ends < -most || begins > most ||
      begins < -most || (ends - begins) / grows < 0)
    return MANY_OCTAVES;
  int32_t octaves = 1;
  for (int64_t rounds = (ends - begins) / grows; rounds > 2; octaves++)
    rounds = (rounds + 1) / 2;
  return octaves;
}

/* Returns the estimated rounds of a loop, as a power of two. Its first block or
   the branch back ends it. */
static int32_t octaves_of(const reader *r, loop l)
{
  uint32_t at = l.first + 1;
  if (l.last - l.first > MOST_BODY)
    return MANY_OCTAVES;
  while (at < l.last && !ends_block(r->ins[at].opcode))
    at++;
  int32_t by_first = octaves_by(r, l, at);
  return by_first < MANY_OCTAVES ? by_first : octaves_by(r, l, l.last);
}

/* Records a branch back to a label. All blocks between them form a loop. */
static void take_branch(reader *r, uint32_t at, uint32_t label,
                        int32_t *octaves)
{
  int64_t target = find_def(r, label);
  if (target < 0 || target > (int64_t)at ||
      r->ins[target].opcode != SpvOpLabel ||
      r->info[target].owner != r->info[at].owner)
    return;
  int32_t n = r->ins[at].opcode == SpvOpSwitch
                ? MANY_OCTAVES
                : octaves_of(r, (loop){(uint32_t)target, at});
  octaves[target] += n;
  octaves[at + 1] -= n;
}

void spirv_find_loops(reader *r, int32_t *octaves)
{
  for (uint32_t at = 0; at < r->ins_count; at++) {
    const spirv_instruction *i = &r->ins[at];
    if (r->info[at].owner == 0)
      continue;
    if (i->opcode == SpvOpBranch || i->opcode == SpvOpBranchConditional ||
        i->opcode == SpvOpSwitch)
      for (unsigned k = 1; k < i->word_count; k++)
        if (is_use(r, i, k))
          take_branch(r, at, i->words[k], octaves);
  }
  for (size_t at = 0; at < r->ins_count; at++) {
    if (at > 0)
      octaves[at] += octaves[at - 1];
    if (r->info[at].owner == 0 || octaves[at] == 0)
      continue;
    r->more[r->info[at].owner - 1].features |=
      octaves[at] > SHORT_OCTAVES ? SPIRV_HAS_LOOPS | SPIRV_HAS_LONG_LOOPS
                                  : SPIRV_HAS_LOOPS;
  }
}
