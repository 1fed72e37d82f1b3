/*
 * lze_hazard.c - conflicts between commands, and the waits they cause.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_storage.h"

void lze_use_unlink(lze_Use *u) {
  if (!u->linked) return;
  if (u->prev != NULL)
    u->prev->next = u->next;
  else
    u->storage->uses = u->next;
  if (u->next != NULL) u->next->prev = u->prev;
  u->linked = false;
}

static bool use_conflicts(const lze_Use *u, size_t first, size_t last,
                          bool write) {
  return (write || u->write) && u->first < last && first < u->last;
}

/* Returns true if every command that waits for `newer` also waits for `older`.
   A run that continues after a callback is linked again, behind later ones. */
static bool use_covers(const lze_Use *newer, const lze_Use *older) {
  return newer->command->queue == older->command->queue &&
         newer->command->queue->ordered &&
         newer->command->serial >= older->command->serial &&
         newer->first <= older->first && newer->last >= older->last &&
         (newer->write || !older->write);
}

void lze_use_link(lze_Use *u) {
  lze_Storage *s = u->storage;
  for (lze_Use *old = s->uses, *next; old != NULL; old = next) {
    next = old->next;
    if (use_covers(u, old)) lze_use_unlink(old);
  }
  u->prev = NULL;
  u->next = s->uses;
  if (u->next != NULL) u->next->prev = u;
  s->uses = u;
  u->linked = true;
}

/* Adds the commands that a command waits for to the list of a search, once
   each. */
static void command_find_waits(const lze_Command *c, uint64_t mark,
                               lze_Command **found) {
  for (uint32_t i = 0; i < c->wait_count; i++) {
    lze_Command *w = c->waits[i];
    if (w->mark == mark) continue;
    w->mark = mark;
    w->found = *found;
    *found = w;
  }
}

bool lze_command_follows(const lze_Command *c, const lze_Command *first) {
  const uint64_t mark = ++c->state->marks;
  lze_Command *found = NULL;
  while (c != first) {
    if (c->status == LZE_PENDING && c->serial >= first->serial) {
      command_find_waits(c, mark, &found);
      bool ordered = c->queue != NULL && c->queue->ordered;
      for (lze_Command *o = ordered ? c->queue->head : NULL;
           o != NULL && o != c; o = o->next) {
        if (o == first) return true;
        if (o->mark != mark) command_find_waits(o, mark, &found);
        o->mark = mark;
      }
    }
    if (found == NULL) return false;
    c = found;
    found = found->found;
  }
  return true;
}

bool lze_command_is_later(const lze_Command *c) {
  const lze_Command *calling = c->state->calling;
  while (calling != NULL && !lze_command_follows(c, calling))
    calling = calling->caller;
  return calling != NULL;
}

/* Returns true if `c`, which comes after `old` in an ordered queue, uses every
   storage again that `old` is still linked to: then no caller will need to wait
   for the end of `old` alone. */
static bool command_is_covered(const lze_Command *old, const lze_Command *c) {
  for (uint32_t i = 0; i < old->use_count; i++) {
    if (!old->uses[i].linked) continue;
    const lze_Use *u = &old->uses[i];
    uint32_t j = 0;
    while (j < c->use_count && (c->uses[j].storage != u->storage ||
                                !use_covers(&c->uses[j], u)))
      j++;
    if (j == c->use_count) return false;
  }
  return true;
}

bool lze_queue_is_later(const lze_Queue *q) {
  if (q->o.context->state->calling == NULL || q->tail == NULL) return false;
  if (q->ordered) return lze_command_is_later(q->tail);
  /* A device may keep the order anyway. */
  const lze_Command *c = q->head;
  while (c != NULL && !lze_command_is_later(c)) c = c->next;
  return c != NULL;
}

void lze_command_order(lua_State *L, lze_Command *c) {
  lze_Queue *q = c->queue;
  lze_Command *old = q->tail;
  if (old != NULL && old->lazy != NULL) {
    *old->lazy = command_is_covered(old, c);
    lze_Outcome out;
    if (!*old->lazy && !lze_command_mark(old, &out))
      lze_command_refuse(L, c, &out);
  }
  /* If the driver does not keep a list in order, each command waits for the
     last. */
  if (q->ordered && !q->native_order && q->tail != NULL)
    lze_command_after(L, c, q->tail);
  lze_Outcome out;
  if (!lze_command_meet(c, &out)) lze_command_refuse(L, c, &out);
}

bool lze_command_meet(lze_Command *c, lze_Outcome *out) {
  const lze_Queue *q = c->queue;
  if (!q->hazards) return true;
  const lze_Queue *kept = q->ordered ? q : NULL; /* already in order */
  for (uint32_t i = 0; i < c->use_count; i++) {
    const lze_Use *mine = &c->uses[i];
    for (lze_Use *u = mine->storage->uses; u != NULL; u = u->next)
      if (u->command->queue != kept &&
          use_conflicts(u, mine->first, mine->last, mine->write) &&
          !lze_command_is_later(u->command) &&
          !lze_command_wait_for(c, u->command, out))
        return false;
  }
  return true;
}

void lze_command_suspend(lze_Command *c) {
  for (uint32_t i = 0; i < c->use_count; i++) lze_use_unlink(&c->uses[i]);
}

bool lze_command_resume(lze_Command *c, lze_Outcome *out) {
  for (uint32_t i = 0; i < c->wait_count; i++) lze_command_unpin(c->waits[i]);
  c->wait_count = 0;
  bool good = true;
  for (uint32_t i = 0; i < c->use_count && good; i++) {
    const lze_Use *mine = &c->uses[i];
    for (lze_Use *u = mine->storage->uses; u != NULL && good; u = u->next) {
      /* Commands issued after the run also run after it. */
      if (use_conflicts(u, mine->first, mine->last, mine->write) &&
          u->command->serial <= c->serial &&
          !lze_command_follows(u->command, c))
        good = lze_command_wait_for(c, u->command, out);
    }
  }
  for (uint32_t i = 0; i < c->use_count; i++) lze_use_link(&c->uses[i]);
  return good;
}

lze_Command *lze_storage_conflict(lze_Storage *s, size_t first, size_t last,
                                  bool write) {
  for (lze_Use *u = s->uses; u != NULL; u = u->next)
    if (use_conflicts(u, first, last, write) &&
        !lze_command_is_later(u->command))
      return u->command;
  return NULL;
}

bool lze_storage_pending(lua_State *L, lze_Storage *s, size_t first,
                         size_t last, bool write) {
  lze_Command *c;
  lze_State *S = s->o.context->state;
  if (S->works != NULL) S->steps->advance(S, NULL, 0);
  while ((c = lze_storage_conflict(s, first, last, write)) != NULL) {
    if (!c->submitted) lze_queue_flush(c->queue); /* otherwise it would stay
                                                     pending */
    if (!(L != NULL ? lze_command_check(L, c) : lze_command_poll(c)))
      return true;
  }
  return false;
}

bool lze_queue_delays(lze_Queue *q, const lze_Copy *copy) {
  /* A copy that must wait for the newest command waits for all of them
     anyway. */
  while (q->tail != NULL &&
         lze_storage_conflict(copy->to, copy->to_offset,
                          copy->to_offset + copy->bytes, true) != q->tail &&
         lze_storage_conflict(copy->from, copy->from_offset,
                          copy->from_offset + copy->bytes, false) != q->tail)
    if (!lze_command_poll(q->tail)) return true;
  return false;
}
