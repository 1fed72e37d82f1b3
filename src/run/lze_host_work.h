/*
 * lze_host_work.h - work of the host's among the commands.
 * SPDX-License-Identifier: MIT
 *
 * Such work, a message for one, is done by steps of a C function, and reads and
 * writes buffers as a command does: a command stands for it, in a queue of its
 * own whose list has only what such steps copy.  The host begins it when what
 * that command waits for is over, in the order of issue, and signals the
 * command's event when it is done.  There is no thread: calls of lze that wait,
 * ask or enqueue take the steps, while S->works is not NULL.
 */
#ifndef LZE_HOST_WORK_H
#define LZE_HOST_WORK_H

#include "lze.h"
#include "run/lze_command.h"

/* What lze_Api.work does; see lze.h.  [-0, +1] with an event if !wait, else
   +0. */
void lze_host_work(lua_State *L, const lze_WorkSpec *spec, bool wait);

/* What lze_Api.copy does. */
int lze_host_copy(lze_Copies *q, lze_OneCopy **slot, void *to,
                  const void *from, size_t bytes, lze_WorkFailure *failure);

/* At the end of a state: end what can be ended, go on with the rest until the
   deadline, and leak what is used then. */
void lze_host_work_abandon(lze_State *S, uint64_t deadline);

#endif
