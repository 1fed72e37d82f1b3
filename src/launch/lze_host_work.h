/*
 * lze_host_work.h - host work among the commands.
 * SPDX-License-Identifier: MIT
 *
 * Host work, a message for example, is done in steps by a C function, and reads
 * and writes buffers as a command does: a command represents it, in a separate
 * queue whose list contains only the copies of these steps.  The host begins
 * the work when everything that the command waits for is over, in the order of
 * issue, and signals the command's event when it is done.  No thread is
 * involved: calls of lze that wait, query or enqueue run the steps while
 * S->works is not NULL.
 */
#ifndef LZE_HOST_WORK_H
#define LZE_HOST_WORK_H

#include "queue/lze_command.h"
#include "lze.h"

/* [-0, +1] with an event if !wait, else +0.  Implements lze_Api.work; see
   lze.h. */
void lze_host_work(lua_State *L, const lze_WorkSpec *spec, bool wait);

/* Implements lze_Api.copy. */
int lze_host_copy(lze_Copies *q, lze_OneCopy **slot, void *to,
                  const void *from, size_t bytes, lze_WorkFailure *failure);

/* Ends, at the end of a state, the work that can be ended, continues the rest
   until the deadline, and leaks what the rest still uses. */
void lze_host_work_abandon(lze_State *S, uint64_t deadline);

#endif
