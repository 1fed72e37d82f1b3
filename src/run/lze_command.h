/*
 * lze_command.h - commands in flight: what they use, wait for and come to.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_COMMAND_H
#define LZE_COMMAND_H

#include "device/lze_device.h"

/* A part of a storage that a command uses. */
struct lze_Use {
  lze_Storage *storage;
  size_t first, last;           /* bytes [first, last) */
  bool write;
  bool linked;                  /* is in storage->uses */
  lze_Command *command;
  lze_Use *prev, *next;
};

enum { LZE_INLINE_USES = 8, LZE_INLINE_PINS = 4 };

typedef enum lze_Status {
  LZE_PENDING,
  LZE_DONE,
  LZE_FAILED
} lze_Status;

/* A command in flight, then its completion.  Owners are event userdata; pins
   are commands that wait for it on the device. */
struct lze_Command {
  lze_State *state;
  lze_Queue *queue;             /* pinned while in flight; NULL after */
  uint32_t owners, pins;
  lze_Status status;
  bool raised;                  /* its failure has been raised */
  int error_ref;                /* what to raise instead of it, or 0 */
  uint64_t serial;              /* counts up in the order of issue */
  uint64_t record;              /* number of its record, or 0 */
  struct lze_Tasks *tasks;      /* of a run that is recorded, until it is over:
                                   those of its plan; or NULL */
  bool timed;
  bool submitted;               /* given to the device */
  lze_Outcome failure;          /* why, of a failed one, or one that will have
                                   (lze_command_doom); else no call */
  lze_Context *context;         /* pinned while it is in flight */
  struct lze_EventSlot *event;  /* signalled when all of it is done; NULL as
                                   long as nobody needs to know of this one */
  bool *lazy;                   /* whether its like should begin without;
                                   NULL where that is unknown */
  uint32_t launches;            /* how many it stands for */
  struct lze_EventSlot *first;  /* of the first part of a split launch */
  char name[64];                /* "kernel saxpy", "copy", ... */
  uint64_t queued_ns, start_ns, end_ns, kernel_ns;
  const lze_DeviceInfo *device;
  lze_Use inline_uses[LZE_INLINE_USES], *uses;
  uint32_t use_count, use_capacity;
  lze_Object *inline_pins[LZE_INLINE_PINS], **objects;
  uint32_t object_count, object_capacity;
  lze_Command **waits;          /* commands it waits for, pinned */
  ze_event_handle_t *wait_handles;
  uint32_t wait_count, wait_capacity;
  struct lze_Batch *batch;      /* whose list it is in, until it is over */
  lze_Command *caller;          /* of a run: while its callback is running, the
                                   run in whose callback that is; or NULL */
  lze_Watch *watch;             /* of ev:fd, or NULL */
  bool hosted;                  /* the host signals its event, at the latest
                                   when it is retired */
  bool work;                    /* stands for work of the host's, which is
                                   looked at by steps (lze_host_work.h) */
  struct lze_WorkFailure *told; /* why that has failed, or NULL */
  bool foreign;                 /* shows an event of the host (lze_wrap.c) */
  bool exposed;                 /* its native event was given to the host */
  lze_Command *next;            /* in its queue, its context's foreign ones, or
                                   the free list */
  uint64_t mark;                /* of the last search that has found it */
  lze_Command *found;           /* before it, in that search */
};

/* --- commands: begin, append, end ---------------------------------------
 *
 *   lze_Command *c = lze_begin(L, queue, name, timed, lazy);
 *   lze_command_use(L, c, storage, first, last, write);     any number
 *   lze_command_pin(L, c, object);                          any number
 *   lze_command_after(L, c, other);                         any number
 *   lze_command_order(L, c);        finds the hazards, fills c->waits
 *   ... driver calls with c->wait_handles and lze_command_event(c) ...
 *   lze_end(c);                     or lze_abort(c) when one failed, or
 *                                   lze_strand(c) when an earlier one had not
 *
 * Each of the functions that take L may raise (out of memory, a failed
 * event) and has then aborted the command.  Between lze_begin and lze_end no
 * other call that may raise is allowed.
 *
 * Where `lazy` is not NULL and *lazy is true, the command begins without an
 * event: on a queue in order, one whose storages are all used again by the
 * next is over when the next is, and needs none.  If it turns out to need one
 * a barrier that signals it is appended, and *lazy becomes false; *lazy must
 * live as long as what the command pins.
 */
lze_Command *lze_begin(lua_State *L, lze_Queue *queue, const char *name,
                       bool timed, bool *lazy);
/* A command with room for so many uses and pins, or NULL without memory. It is
   begun by lze_begin_reserved, which raises nothing, for what `event` will tell
   the end of; what fills that room raises nothing then, and may be given no
   Lua state.  lze_unreserve frees one that has not begun; NULL is allowed. */
lze_Command *lze_reserve(lze_State *S, uint32_t uses, uint32_t pins);
void lze_begin_reserved(lze_Command *c, lze_Queue *queue, const char *name,
                        struct lze_EventSlot *event);
void lze_unreserve(lze_Command *c);
void lze_command_use(lua_State *L, lze_Command *c, lze_Storage *storage,
                     size_t first, size_t last, bool write);
void lze_command_pin(lua_State *L, lze_Command *c, lze_Object *object);
void lze_command_after(lua_State *L, lze_Command *c, lze_Command *other);
/* For an `after` value at stack index `index`: an event, or an array of them.
   The first raises unless all are events that a command of the context can
   wait for, with `what` in front; the second makes c wait for them. */
void lze_check_after(lua_State *L, int index, const lze_Context *context,
                     const char *what);
void lze_command_after_all(lua_State *L, lze_Command *c, int index);
void lze_command_order(lua_State *L, lze_Command *c);
/* Give a timed command an event for its first part too. */
void lze_command_time_first(lua_State *L, lze_Command *c);
ze_event_handle_t lze_command_event(const lze_Command *c);
void lze_end(lze_Command *c);
void lze_abort(lze_Command *c);
/* Some of it is on the device, but not what would have told when that is over.
   In an immediate list that keeps the order the next command tells of it; else
   a barrier may, and if that fails what it uses is leaked, with a warning at
   the end of the state. */
void lze_strand(lze_Command *c);

/* The same launch again and again need not be a command each: the newest of a
   queue in order, as long as none waits for it alone, can stand for
   one more.  lze_extensible returns it if it began with this `lazy`;
   lze_command_repeats says whether its i-th use is just this, and no other
   command uses that storage; lze_extend counts one more launch, appended. */
lze_Command *lze_extensible(const lze_Queue *q, const bool *lazy);
bool lze_command_repeats(const lze_Command *c, uint32_t i,
                         const lze_Storage *storage, size_t first, size_t last,
                         bool write);
void lze_extend(lze_Command *c);

/* A command that stands for a native event of the host, with one owner: never
   over, its state is always that of the event. */
lze_Command *lze_command_foreign(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device,
                                 ze_event_handle_t event);

/* Append to c's list, after all that is c, a signal of the native event. */
bool lze_command_signal(const lze_Command *c, ze_event_handle_t event,
                        lze_Outcome *out);
/* The wrapped event at `index`, which a command of the context can signal;
   raises for anything else with `what` in front. */
ze_event_handle_t lze_check_signal(lua_State *L, int index,
                                   const lze_Context *context,
                                   const char *what);

/* A command that is done from the start and was never on a device, with one
   owner. */
lze_Command *lze_command_done(lua_State *L, const lze_DeviceInfo *device,
                              const char *name);

void lze_command_own(lze_Command *c);
void lze_command_disown(lze_Command *c);

/* Whether what the driver says of a command's event, or to giving it one,
   means that it is over.  A failure says nothing of the command, which may
   still run; that the device is lost is believed when the device says so, too:
   what it may use must not be freed, nor its event be used again, before. */
bool lze_command_is_over(const lze_Command *c, const lze_Outcome *out);
/* The same of any event, signalled by that device. */
bool lze_is_over(const lze_DeviceInfo *device, const lze_Outcome *out);

/* Ask the device, without waiting, and retire what is done.  True when the
   command is done or failed. */
bool lze_command_poll(lze_Command *c);
/* The same; raises what the driver says when it does not tell. */
bool lze_command_check(lua_State *L, lze_Command *c);

/* Wait in slices until done or the deadline; true when done.  Raises the
   command's failure (once), what a debug hook raises, and why the driver
   cannot be asked, after which the command is still pending. */
bool lze_command_wait(lua_State *L, lze_Command *c, uint64_t deadline);
/* A wait looks for a debug hook this often: below what a person notices. */
#define LZE_SLICE_NS 50000000u

/* For the files of this storey. */
/* Link a use into those of its storage, and take it out. */
void lze_use_link(lze_Use *u);
void lze_use_unlink(lze_Use *u);
void lze_command_unpin(lze_Command *c);
void lze_command_free(lze_Command *c);
/* Make c wait for another; false where that needs what cannot be had. */
bool lze_command_wait_for(lze_Command *c, lze_Command *other,
                          lze_Outcome *out);
/* Abort c and raise what could not be had. */
void lze_command_refuse(lua_State *L, lze_Command *c, const lze_Outcome *out)
    __attribute__((noreturn));
/* Give a command that has none an event, through a barrier after it. */
bool lze_command_mark(lze_Command *c, lze_Outcome *out);
/* Make c wait for those whose uses conflict with its own; likewise. */
bool lze_command_meet(lze_Command *c, lze_Outcome *out);
/* The command whose event tells that c is over; NULL with the outcome. */
lze_Command *lze_command_marked(lze_Command *c, lze_Outcome *out);
/* Retire c, of which that outcome is final, and what is over with it. */
void lze_command_retire_to(lze_Command *c, const lze_Outcome *out);
/* Raise that the driver does not tell whether c is over. */
void lze_command_untold(lua_State *L, const lze_Command *c,
                        const lze_Outcome *out) __attribute__((noreturn));
/* Keep a queue and its context, which a default queue does not. */
void lze_queue_hold(lze_Queue *q);
void lze_queue_release(lze_Queue *q);
/* The newest command, so that waiting for it waits for all; without order,
   any. */
lze_Command *lze_queue_last(const lze_Queue *q);

/* Whether a pending command waits for `first`, whatever lies in between. */
bool lze_command_follows(const lze_Command *c, const lze_Command *first);

/* Whether a command waits for a run whose callback is running: then nothing in
   there waits for it. */
bool lze_command_is_later(const lze_Command *c);
/* Whether what is enqueued now would come after such a command, and so never
   run. */
bool lze_queue_is_later(const lze_Queue *q);
/* While a callback of a run is called nothing waits for what the run uses; then
   the run waits for what the callback has enqueued.  False with the outcome
   where it cannot. */
void lze_command_suspend(lze_Command *c);
bool lze_command_resume(lze_Command *c, lze_Outcome *out);
/* When the device is done with it, it has failed with that outcome. */
void lze_command_doom(lze_Command *c, const lze_Outcome *out);
/* End a command on the host: it has failed, with the value of a registry
   reference as its error or, without one (0), the outcome. */
void lze_command_fail(lze_Command *c, const lze_Outcome *out, int error_ref);

/* A pending command that conflicts with reading (or, with `write`, writing)
   bytes [first, last) of a storage, or NULL. */
lze_Command *lze_storage_conflict(lze_Storage *s, size_t first, size_t last,
                                  bool write);
/* Wait for the pending commands that touch bytes [first, last) of a storage
   and conflict with reading (or, with `write`, writing) them on the host. */
void lze_storage_wait(lua_State *L, lze_Storage *s, size_t first,
                      size_t last, bool write);
/* Whether there are any; asks the device, does not wait.  Raises as
   lze_command_check does, unless L is NULL. */
bool lze_storage_pending(lua_State *L, lze_Storage *s, size_t first,
                         size_t last, bool write);

/* The commands of a queue that were not submitted have been, from that time on,
   or could not be, and have failed with that outcome. */
void lze_queue_submitted(lze_Queue *q, uint64_t ns, const lze_Outcome *out);

/* Whether a queue has work in flight that the copy would come after for no
   other reason than the order of the queue.  Asks the device, does not wait. */
bool lze_queue_delays(lze_Queue *q, const lze_Copy *copy);

/* Wait for everything on a queue; true when done.  Raises as above. */
bool lze_queue_drain(lua_State *L, lze_Queue *q, uint64_t deadline);
/* The same for all queues of the state. */
bool lze_state_drain(lua_State *L, uint64_t deadline);
/* Whether the open queue can take one more command.  If not, wait, as above,
   for its oldest: then a hook may have closed anything, or made another queue
   the default, and the caller finds its queue again and asks once more.  To be
   called before arguments are checked. */
bool lze_queue_ready(lua_State *L, lze_Queue *q);
/* Wait for the oldest command of the state, if its serial is at most `newest`.
   1 when it is over, 0 when none is waited for, as there is none or it may wait
   for what the script does next; -1 when something raised an error, which is
   then on the stack. */
int lze_state_await_oldest(lua_State *L, lze_State *S, uint64_t newest);
/* Forget a failure that was kept for the next wait. */
void lze_failure_drop(lze_Command **slot);

/* Call f for each queue of the state; f may destroy it.  Whether all calls
   returned true. */
bool lze_each_queue(lze_State *S, bool (*f)(lze_Queue *q, uint64_t number),
                    uint64_t number);
/* Retire what is done on every queue of the state, without waiting. */
void lze_reap(lze_State *S);

/* The limits that a state begins with. */
void lze_gc_init(lze_State *S);
/* Before `bytes` are allocated: reap, and let the collector work as much as
   device memory asks for; false when a wait has raised an error, which is then
   on the stack.  `dropped` says how much of it goes when work in flight is
   over.  After an allocation failed: reap, collect fully, reap.  Both may run
   Lua finalisers and respect a stopped collector. */
bool lze_pressure(lua_State *L, size_t bytes,
                  size_t (*dropped)(const lze_State *S));
void lze_make_room(lua_State *L);

/* Let go of the queues and events that belong to a context. */
void lze_context_drop(lze_Context *context);
/* Close everything made in a context, then the context. */
void lze_context_close(lze_Context *context);
/* The end of a state: wait for its queues, S->close_ns at most. What a hung
   device still uses is leaked, with a warning. */
void lze_state_close(lua_State *L, lze_State *S);

#endif
