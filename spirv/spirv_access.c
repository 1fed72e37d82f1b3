/*
 * spirv_access.c - the effects of functions through pointers.
 * SPDX-License-Identifier: MIT
 *
 * Functions are studied one at a time, callees first. Values that may be the
 * same pointer form a class (union-find). Each class has at most one class for
 * the values stored in the memory it points to. So a parameter that is stored
 * in a Function variable and loaded again, any number of times, stays in the
 * parameter's class. The order of instructions does not matter, and everything
 * is linear. A pointer that cannot be followed is `unknown`: an access through
 * it counts for every argument of the kernel.
 */
#include "spirv_reader.h"

#include <string.h>

enum {
  NODE_ROOTED = 4,   /* the origin of some of its pointers is known */
  NODE_OUTSIDE = 8,  /* memory that is visible outside */
  NODE_UNKNOWN = 16, /* it may point anywhere */
  NODE_ESCAPED = 32, /* it was stored in memory that is visible outside */
  NODE_GIVEN = 64,   /* passed to an instruction that may do anything with it */
  NODE_PARAMETER = 128, /* memory that is visible to callers */
  NODE_LOST = NODE_ROOTED | NODE_OUTSIDE | NODE_UNKNOWN | NODE_ESCAPED,
  NODE_ACCESS = SPIRV_ACCESS_BOTH
};

typedef struct node {
  uint32_t parent, content; /* 0: its own root; no content yet */
  uint8_t flags;
} node;

/* NODE_MODULE and NODE_RETURN have no instruction. */
enum { NODE_NONE, NODE_MODULE, NODE_RETURN, NODE_FIRST };

typedef struct flow {
  reader *r;
  node *nodes;
  uint32_t used;
  uint32_t function, at; /* the owner of the nodes' values */
} flow;

static uint32_t flow_find(flow *w, uint32_t n)
{
  while (w->nodes[n].parent != 0) {
    uint32_t up = w->nodes[n].parent;
    if (w->nodes[up].parent != 0)
      w->nodes[n].parent = w->nodes[up].parent;
    n = up;
  }
  return n;
}

static void flow_mark(flow *w, uint32_t n, unsigned flags)
{
  if (n != NODE_NONE)
    w->nodes[flow_find(w, n)].flags |= (uint8_t)flags;
}

/* Returns the node of the values stored in the memory that n points to. Each
   call is for a different word of an instruction, and the table of nodes has
   room for all words. */
static uint32_t flow_content(flow *w, uint32_t n)
{
  if (n == NODE_NONE)
    return NODE_NONE;
  n = flow_find(w, n);
  if (w->nodes[n].content == 0)
    w->nodes[n].content = w->used++;
  return w->nodes[n].content;
}

static void flow_unify(flow *w, uint32_t a, uint32_t b)
{
  while (a != NODE_NONE && b != NODE_NONE) {
    a = flow_find(w, a);
    b = flow_find(w, b);
    if (a == b)
      return;
    node *into = &w->nodes[a], *gone = &w->nodes[b];
    uint32_t next_a = into->content, next_b = gone->content;
    into->flags |= gone->flags;
    gone->parent = a;
    if (next_a == 0)
      into->content = next_b;
    a = next_a;
    b = next_b;
  }
}

/* Returns true if values of a type may contain a pointer. */
static bool carries_pointer(const reader *r, uint32_t type_id)
{
  const spirv_instruction *type = def_of(r, type_id);
  if (type == NULL)
    return false;
  switch (type->opcode) {
  case SpvOpTypePointer:
  case OP_TYPE_UNTYPED_POINTER:
  case SpvOpTypeStruct:
  case SpvOpTypeArray:
    return true;
  case SpvOpTypeVector: {
    const spirv_instruction *part = def_of(r, word(type, 2));
    if (part == NULL || part->opcode == SpvOpTypeFloat ||
        part->opcode == SpvOpTypeBool)
      return false;
    break;
  }
  case SpvOpTypeInt:
    break;
  default:
    return false;
  }
  return info_of(r, type_id)->bytes * 8 >= r->m->pub.address_bits;
}

static bool is_pointer(const reader *r, uint32_t id)
{
  const spirv_instruction *i = def_of(r, id);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  return type != NULL && (type->opcode == SpvOpTypePointer ||
                          type->opcode == OP_TYPE_UNTYPED_POINTER);
}

/* Returns the node of a value, or NODE_NONE if it contains no pointer. */
static uint32_t flow_node(flow *w, uint32_t id)
{
  const reader *r = w->r;
  int64_t d = find_def(r, id);
  if (d < 0 || !carries_pointer(r, r->ins[d].result_type))
    return NODE_NONE;
  if (r->info[d].owner == w->function + 1)
    return NODE_FIRST + (uint32_t)d - w->at;
  switch (r->ins[d].opcode) {
  case SpvOpConstant:
  case SpvOpConstantNull:
  case SpvOpSpecConstant:
  case SpvOpUndef:
    return NODE_NONE;
  default:
    return NODE_MODULE;
  }
}

static void flow_unify_ids(flow *w, uint32_t a, uint32_t b)
{
  flow_unify(w, flow_node(w, a), flow_node(w, b));
}

/* Records an access through a pointer that moves a value to or from `value`. */
static void flow_access(flow *w, uint32_t pointer, uint32_t value,
                        unsigned access)
{
  const reader *r = w->r;
  const spirv_instruction *i = def_of(r, pointer);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  uint32_t n = flow_node(w, pointer), v = flow_node(w, value);
  flow_mark(w, n, access);
  /* Built-in variables contain no pointers. */
  if (v != NODE_NONE &&
      (type == NULL || word(type, 2) != SpvStorageClassInput))
    flow_unify(w, flow_content(w, n), v);
}

/* Records an instruction that may do anything with its operands. */
static void flow_give_up(flow *w, const spirv_instruction *i)
{
  for (unsigned k = 1; k < i->word_count; k++)
    if (is_use(w->r, i, k) && is_pointer(w->r, i->words[k]))
      flow_mark(w, flow_node(w, i->words[k]), NODE_GIVEN | NODE_ESCAPED);
  flow_mark(w, flow_node(w, i->result), NODE_LOST);
}

/* Records a call's effects on one pointer. */
static void flow_called(flow *w, const spirv_instruction *i, uint32_t pointer,
                        unsigned does)
{
  flow_mark(w, pointer, does & NODE_ACCESS);
  if (does & PARAM_ESCAPES)
    flow_mark(w, pointer, NODE_GIVEN | NODE_ESCAPED);
  if (does & PARAM_RETURNED)
    flow_unify(w, flow_node(w, i->result), pointer);
}

static void flow_call(flow *w, const spirv_instruction *i)
{
  reader *r = w->r;
  function_info *caller = &r->more[w->function];
  int64_t n = function_of(r, word(i, 3));
  const function_info *callee = n < 0 ? NULL : &r->more[n];
  if (callee != NULL && callee->known)
    return;
  if (callee == NULL || !callee->done || r->functions[n].imported) {
    caller->unknown = SPIRV_ACCESS_BOTH;
    flow_give_up(w, i);
    return;
  }
  caller->unknown |= callee->unknown;
  for (unsigned k = 0; k < r->functions[n].param_count; k++) {
    uint32_t argument = flow_node(w, word(i, 4 + k));
    unsigned does = callee->summary[k], found = does >> PARAM_FOUND;
    flow_called(w, i, argument, does);
    if (found != 0)
      flow_called(w, i, flow_content(w, argument), found);
    if (does & (SPIRV_ACCESS_WRITE | PARAM_ESCAPES)) /* perhaps a pointer of
                                                        unknown origin */
      flow_mark(w, flow_content(w, argument), NODE_LOST);
  }
  flow_mark(w, flow_node(w, i->result),
            NODE_OUTSIDE | NODE_ROOTED |
            (callee->returns_unknown ? NODE_UNKNOWN : 0));
}

static void flow_ext_inst(flow *w, const spirv_instruction *i)
{
  const reader *r = w->r;
  if (word(i, 3) != r->std_set || r->std_set == 0) {
    if (!is_debug(r, i))
      flow_give_up(w, i);
    return;
  }
  unsigned access;
  switch (word(i, 4)) {
  case OpenCLstd_Vloadn:
  case OpenCLstd_Vload_half:
  case OpenCLstd_Vload_halfn:
  case OpenCLstd_Vloada_halfn:
  case OpenCLstd_Prefetch:
  case OpenCLstd_Printf:
    access = SPIRV_ACCESS_READ;
    break;
  case OpenCLstd_Vstoren:
  case OpenCLstd_Vstore_half:
  case OpenCLstd_Vstore_half_r:
  case OpenCLstd_Vstore_halfn:
  case OpenCLstd_Vstore_halfn_r:
  case OpenCLstd_Vstorea_halfn:
  case OpenCLstd_Vstorea_halfn_r:
  case OpenCLstd_Fract:
  case OpenCLstd_Frexp:
  case OpenCLstd_Lgamma_r:
  case OpenCLstd_Modf:
  case OpenCLstd_Remquo:
  case OpenCLstd_Sincos:
    access = SPIRV_ACCESS_WRITE;
    break;
  default:
    access = SPIRV_ACCESS_BOTH;
    break;
  }
  /* The pointer's memory exchanges values with all other operands and the
     result. */
  for (unsigned k = 5; k < i->word_count; k++) {
    if (!is_pointer(r, i->words[k])) {
      flow_unify_ids(w, i->result, i->words[k]);
      continue;
    }
    flow_access(w, i->words[k], i->result, access);
    if (access == SPIRV_ACCESS_WRITE && k > 5)
      flow_access(w, i->words[k], i->words[5], access);
  }
}

static void flow_atomic(flow *w, const spirv_instruction *i)
{
  switch (i->opcode) {
  case SpvOpAtomicLoad:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    break;
  case SpvOpAtomicStore:
    flow_access(w, word(i, 1), word(i, 4), SPIRV_ACCESS_WRITE);
    break;
  case SpvOpAtomicFlagClear:
    flow_access(w, word(i, 1), 0, SPIRV_ACCESS_WRITE);
    break;
  default:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_BOTH);
    for (unsigned k = 6; k < i->word_count; k++)
      flow_access(w, word(i, 3), i->words[k], SPIRV_ACCESS_BOTH);
  }
}

/* Returns true if the result depends only on the operands. */
static bool is_pure(unsigned op)
{
  return (op >= SpvOpVectorExtractDynamic && op <= SpvOpTranspose) ||
         (op >= SpvOpConvertFToU && op <= SpvOpFwidthCoarse) ||
         op == SpvOpPhi || op == SpvOpCopyLogical;
}

static void flow_instruction(flow *w, uint32_t at)
{
  const reader *r = w->r;
  const spirv_instruction *i = &r->ins[at];
  unsigned op = i->opcode;
  switch (op) {
  case SpvOpFunction:
  case SpvOpFunctionEnd:
  case SpvOpLabel:
  case SpvOpLine:
  case SpvOpNoLine:
  case SpvOpNop:
  case SpvOpUndef:
  case SpvOpPtrEqual:
  case SpvOpPtrNotEqual:
  case SpvOpPtrDiff:
  case SpvOpGenericPtrMemSemantics:
  case SpvOpLifetimeStart:
  case SpvOpLifetimeStop:
    return;
  case SpvOpFunctionParameter:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED | NODE_PARAMETER);
    return;
  case SpvOpVariable:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED);
    flow_unify(w, flow_content(w, flow_node(w, i->result)),
               flow_node(w, word(i, 4)));
    return;
  case OP_UNTYPED_VARIABLE:
    flow_mark(w, flow_node(w, i->result), NODE_ROOTED);
    return;
  case SpvOpLoad:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    return;
  case SpvOpStore:
    flow_access(w, word(i, 1), word(i, 2), SPIRV_ACCESS_WRITE);
    return;
  case SpvOpCopyMemory:
  case SpvOpCopyMemorySized:
    flow_mark(w, flow_node(w, word(i, 1)), SPIRV_ACCESS_WRITE);
    flow_mark(w, flow_node(w, word(i, 2)), SPIRV_ACCESS_READ);
    flow_unify(w, flow_content(w, flow_node(w, word(i, 1))),
               flow_content(w, flow_node(w, word(i, 2))));
    return;
  case SpvOpGroupAsyncCopy:
    flow_mark(w, flow_node(w, word(i, 4)), SPIRV_ACCESS_WRITE);
    flow_mark(w, flow_node(w, word(i, 5)), SPIRV_ACCESS_READ);
    flow_unify(w, flow_content(w, flow_node(w, word(i, 4))),
               flow_content(w, flow_node(w, word(i, 5))));
    return;
  case SpvOpSubgroupBlockReadINTEL:
    flow_access(w, word(i, 3), i->result, SPIRV_ACCESS_READ);
    return;
  case SpvOpSubgroupBlockWriteINTEL:
    flow_access(w, word(i, 1), word(i, 2), SPIRV_ACCESS_WRITE);
    return;
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
  case SpvOpCopyObject:
    flow_unify_ids(w, i->result, word(i, 3));
    return;
  case OP_UNTYPED_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN:
  case OP_UNTYPED_PTR_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN:
    flow_unify_ids(w, i->result, word(i, 4));
    return;
  case SpvOpConvertUToPtr:
  case SpvOpBitcast:
    flow_unify_ids(w, i->result, word(i, 3));
    if (is_pointer(r, i->result) && !is_pointer(r, word(i, 3)))
      flow_mark(w, flow_node(w, i->result), NODE_LOST & ~NODE_ESCAPED);
    return;
  case SpvOpReturnValue:
    flow_unify(w, NODE_RETURN, flow_node(w, word(i, 1)));
    return;
  case SpvOpFunctionCall:
    flow_call(w, i);
    return;
  case SpvOpExtInst:
    flow_ext_inst(w, i);
    return;
  }
  if (spirv_features_of(r, i) & SPIRV_USES_ATOMICS) {
    flow_atomic(w, i);
  } else if (is_pure(op)) {
    for (unsigned k = 3; k < i->word_count; k++)
      if (is_use(r, i, k))
        flow_unify_ids(w, i->result, i->words[k]);
  } else {
    flow_give_up(w, i);
  }
}

/* Returns the summary of a class of pointers. */
static unsigned flow_sum(flow *w, uint32_t n)
{
  n = flow_find(w, n);
  unsigned flags = w->nodes[n].flags, sum = flags & NODE_ACCESS;
  if (flags & NODE_ESCAPED)
    sum |= PARAM_ESCAPES;
  if (n == flow_find(w, NODE_RETURN))
    sum |= PARAM_RETURNED;
  return sum;
}

static void flow_function(flow *w, uint32_t at)
{
  reader *r = w->r;
  const spirv_function *f = &r->functions[at];
  function_info *more = &r->more[at];
  uint32_t values = NODE_FIRST + more->end - more->at;
  w->function = at;
  w->at = more->at;
  w->used = values;
  size_t words = 0;
  for (uint32_t k = more->at; k < more->end; k++)
    words += r->ins[k].word_count;
  memset(w->nodes, 0, (values + words) * sizeof *w->nodes);
  flow_mark(w, NODE_MODULE, NODE_ROOTED | NODE_OUTSIDE);
  for (uint32_t k = more->at; k < more->end; k++)
    flow_instruction(w, k);

  /* Code outside may have stored to memory that is visible to it. If a caller's
     memory is only read here, the caller tracks the origin of its values. */
  const unsigned others = NODE_OUTSIDE | NODE_ESCAPED | NODE_UNKNOWN;
  for (uint32_t k = 1; k < w->used; k++) {
    const node *n = &w->nodes[k];
    if (n->parent != 0 || !(n->flags & (others | NODE_PARAMETER)))
      continue;
    uint32_t c = n->content;
    if (c != 0 && !(n->flags & (others | SPIRV_ACCESS_WRITE))) {
      c = flow_find(w, c);
      w->nodes[c].flags |= NODE_ROOTED;
      c = w->nodes[c].content;
    }
    while (c != 0) {
      c = flow_find(w, c);
      if ((w->nodes[c].flags & NODE_LOST) == NODE_LOST)
        break;
      w->nodes[c].flags |= NODE_LOST;
      c = w->nodes[c].content;
    }
  }
  for (uint32_t k = 1; k < w->used; k++) {
    const node *c = &w->nodes[k];
    if (c->parent != 0 ||
        (c->flags & (NODE_UNKNOWN | NODE_ROOTED)) == NODE_ROOTED)
      continue;
    more->unknown |= c->flags & NODE_GIVEN ? SPIRV_ACCESS_BOTH
                                           : c->flags & NODE_ACCESS;
  }
  uint32_t returned = flow_find(w, NODE_RETURN);
  more->returns_unknown =
    (w->nodes[returned].flags & (NODE_UNKNOWN | NODE_ROOTED)) != NODE_ROOTED;
  for (uint32_t p = 0; p < f->param_count; p++) {
    uint32_t c = flow_node(w, f->params[p]);
    if (c == NODE_NONE)
      continue;
    unsigned sum = flow_sum(w, c);
    uint32_t found = w->nodes[flow_find(w, c)].content;
    /* `unknown` includes accesses through a pointer of unknown origin. */
    if (found != 0 && !(w->nodes[flow_find(w, found)].flags & NODE_UNKNOWN))
      sum |= flow_sum(w, found) << PARAM_FOUND;
    more->summary[p] = (uint8_t)sum;
  }
  more->done = true;
}

/* Summarises all functions, callees before callers. A function in a cycle of
   calls finds the others unfinished and assumes the worst of them. */
bool spirv_follow_pointers(reader *r)
{
  size_t most = 0;
  for (uint32_t n = 0; n < r->function_count; n++) {
    size_t size = NODE_FIRST;
    for (uint32_t k = r->more[n].at; k < r->more[n].end; k++)
      size += 1 + r->ins[k].word_count;
    if (size > most)
      most = size;
  }
  /* The walk's stack of functions, and the next callee of each function. */
  uint32_t *stack = scratch(r, r->function_count, sizeof *stack);
  uint32_t *next = scratch(r, r->function_count, sizeof *next);
  flow w = {.r = r, .nodes = scratch(r, most, sizeof(node))};
  if (stack == NULL || next == NULL || w.nodes == NULL)
    return out_of_memory(r);
  r->round++;
  for (uint32_t root = 0; root < r->function_count; root++) {
    size_t depth = 0;
    if (r->info[r->more[root].at].seen == r->round)
      continue;
    r->info[r->more[root].at].seen = r->round;
    stack[depth++] = root;
    while (depth > 0) {
      uint32_t n = stack[depth - 1];
      const spirv_function *f = &r->functions[n];
      if (next[n] == f->callee_count) {
        flow_function(&w, n);
        depth--;
        continue;
      }
      uint32_t callee = f->callees[next[n]++];
      id_info *info = &r->info[r->more[callee].at];
      if (info->seen != r->round) {
        info->seen = r->round;
        stack[depth++] = callee;
      }
    }
  }
  return true;
}

/* Returns the access of a summary if escaping counts as both. */
static unsigned worst_of(unsigned sum)
{
  return sum & PARAM_ESCAPES ? SPIRV_ACCESS_BOTH : sum & NODE_ACCESS;
}

/* Returns a kernel's accesses through pointers that may point anywhere. These
   include all pointers that it loads from memory, whose origin is unknown. */
static unsigned unknown_access(const spirv_function *f,
                               const function_info *more)
{
  unsigned access = more->unknown;
  for (uint32_t k = 0; k < f->param_count; k++)
    access |= worst_of(more->summary[k] >> PARAM_FOUND);
  return access;
}

/*
 * Returns a kernel's access to an argument, from its summary and its accesses
 * through pointers that may point anywhere. The module's declaration counts
 * only if the code cannot be followed, since const is easily cast away.
 */
static spirv_access access_of(const spirv_arg *arg, unsigned sum,
                              unsigned unknown, uint16_t flags)
{
  unsigned seen = sum & NODE_ACCESS, feared = worst_of(sum) | unknown;
  if (flags & ID_UNTOUCHED)
    feared = SPIRV_ACCESS_NONE;
  if (arg->space == SPIRV_SPACE_CONSTANT)
    return (spirv_access)((seen | feared) & SPIRV_ACCESS_READ);
  if (arg->is_const && (seen & SPIRV_ACCESS_WRITE))
    return SPIRV_ACCESS_BOTH;
  if (arg->is_const)
    feared &= SPIRV_ACCESS_READ;
  return (spirv_access)(seen | feared);
}

void spirv_take_access(const reader *r, uint32_t function, spirv_arg *args)
{
  const spirv_function *f = &r->functions[function];
  const function_info *more = &r->more[function];
  unsigned unknown = unknown_access(f, more);
  for (uint32_t k = 0; k < f->param_count; k++)
    if (args[k].cls == SPIRV_ARG_POINTER)
      args[k].access = access_of(&args[k], more->summary[k], unknown,
                                 r->info[more->param_at + k].flags);
}
