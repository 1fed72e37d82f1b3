/*
 * lze_command.h - commands in flight: their uses, waits and results.
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

/* A command in flight, later its completion.  Owners are event userdata; pins
   are commands that wait for it on the device. */
struct lze_Command {
  lze_State *state;
  lze_Queue *queue;             /* pinned while in flight; then NULL */
  uint32_t owners, pins;
  lze_Status status;
  bool raised;                  /* its failure has been raised */
  int error_ref;                /* error to raise in its place, or 0 */
  uint64_t serial;              /* counts up in the order of issue */
  uint64_t record;              /* number of its record, or 0 */
  struct lze_Tasks *tasks;      /* tasks of its plan, if it is a recorded run
                                   that is not over; or NULL */
  bool timed;
  bool submitted;               /* submitted to the device */
  lze_Outcome failure;          /* why it failed or will fail
                                   (lze_command_doom); else no call */
  lze_Context *context;         /* pinned while it is in flight */
  struct lze_EventSlot *event;  /* signalled when all of it is done; NULL while
                                   no other code needs to wait for it */
  bool *lazy;                   /* true if such a command should begin without
                                   an event; NULL if unknown */
  uint32_t launches;            /* how many it represents */
  struct lze_EventSlot *first;  /* for the first part of a split launch */
  char name[64];                /* "kernel saxpy", "copy", ... */
  uint64_t queued_ns, start_ns, end_ns, kernel_ns;
  const lze_DeviceInfo *device;
  lze_Use inline_uses[LZE_INLINE_USES], *uses;
  uint32_t use_count, use_capacity;
  lze_Object *inline_pins[LZE_INLINE_PINS], **objects;
  uint32_t object_count, object_capacity;
  lze_Command **waits;          /* commands that it waits for, pinned */
  ze_event_handle_t *wait_handles;
  uint32_t wait_count, wait_capacity;
  struct lze_Batch *batch;      /* the batch whose list it is in, until it is
                                   over */
  lze_Command *caller;          /* for a run whose callback is running: the run
                                   whose callback started it; or NULL */
  lze_Watch *watch;             /* for ev:fd, or NULL */
  bool hosted;                  /* the host signals its event, at the latest
                                   when it is retired */
  bool work;                    /* represents host work, done in steps
                                   (lze_host_work.h) */
  struct lze_WorkFailure *work_failure; /* why that work failed, or NULL */
  bool foreign;                 /* represents an event of the embedding program
                                   (lze_wrap.c) */
  bool exposed;                 /* its native event was given to the embedding
                                   program */
  lze_Command *next;            /* in its queue, its context's foreign ones, or
                                   the free list */
  uint64_t mark;                /* of the last search that found it */
  lze_Command *found;           /* the previous command in that search */
};

/* --- commands: begin, append, end ---------------------------------------
 *
 *   lze_Command *c = lze_begin(L, queue, name, timed, lazy);
 *   lze_command_use(L, c, storage, first, last, write);     any number
 *   lze_command_pin(L, c, object);                          any number
 *   lze_command_after(L, c, other);                         any number
 *   lze_command_order(L, c);        finds the hazards, fills c->waits
 *   ... driver calls with c->wait_handles and lze_command_event(c) ...
 *   lze_end(c);                     or lze_abort(c) if the first call failed,
 *                                   or lze_abandon(c) if a later call failed
 *
 * If one of the functions with L raises (out of memory, a failed event), it has
 * aborted the command.  No other call that may raise is allowed between
 * lze_begin and lze_end.
 *
 * If `lazy` is not NULL and *lazy is true, the command begins without an event:
 * on an ordered queue, a command whose storages are all used again by the next
 * one is over when the next one is, and needs no event.  If it turns out to
 * need one, a barrier that signals it is appended, and *lazy becomes false;
 * *lazy must live as long as the objects that the command pins.
 */
lze_Command *lze_begin(lua_State *L, lze_Queue *queue, const char *name,
                       bool timed, bool *lazy);
/* Returns a command with room for this number of uses and pins, or NULL if
   memory runs out. lze_begin_reserved, which never raises, begins it; `event`
   reports its end.  Functions that fill that room then do not raise, and L may
   be NULL. lze_unreserve frees a command that has not begun; NULL is
   allowed. */
lze_Command *lze_reserve(lze_State *S, uint32_t uses, uint32_t pins);
void lze_begin_reserved(lze_Command *c, lze_Queue *queue, const char *name,
                        struct lze_EventSlot *event);
void lze_unreserve(lze_Command *c);
void lze_command_use(lua_State *L, lze_Command *c, lze_Storage *storage,
                     size_t first, size_t last, bool write);
void lze_command_pin(lua_State *L, lze_Command *c, lze_Object *object);
void lze_command_after(lua_State *L, lze_Command *c, lze_Command *other);
/* Checks the `after` value at stack index `index`: an event, or an array of
   events.  The first function raises, with `what` in front, unless a command of
   the context can wait for each event; the second makes c wait for them. */
void lze_check_after(lua_State *L, int index, const lze_Context *context,
                     const char *what);
void lze_command_after_all(lua_State *L, lze_Command *c, int index);
void lze_command_order(lua_State *L, lze_Command *c);
/* Gives a timed command another event, for its first part. */
void lze_command_time_first(lua_State *L, lze_Command *c);
ze_event_handle_t lze_command_event(const lze_Command *c);
void lze_end(lze_Command *c);
void lze_abort(lze_Command *c);
/* Ends a command of which a part is on the device, but not the signal of its
   end.  In an immediate list that keeps the order, the next command reports the
   end; otherwise a barrier may.  If that fails, the resources that the command
   uses are leaked, with a warning at the end of the state. */
void lze_abandon(lze_Command *c);

/* Repeated launches of one kernel can share a command: the newest command of an
   ordered queue, if no other command waits for it alone, can represent one more
   launch.  lze_extensible returns it if it began with this `lazy`;
   lze_command_repeats returns true if its i-th use is exactly this one and no
   other command uses that storage; lze_extend counts one more launch, already
   appended. */
lze_Command *lze_extensible(const lze_Queue *q, const bool *lazy);
bool lze_command_repeats(const lze_Command *c, uint32_t i,
                         const lze_Storage *storage, size_t first, size_t last,
                         bool write);
void lze_extend(lze_Command *c);

/* Returns a command with one owner that represents a native event of the
   embedding program: it is never over, its state is always that of the
   event. */
lze_Command *lze_command_foreign(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device,
                                 ze_event_handle_t event);

/* Appends a signal of the native event to c's list, after all parts of c. */
bool lze_command_signal(const lze_Command *c, ze_event_handle_t event,
                        lze_Outcome *out);
/* Returns the wrapped event at `index`, which a command of the context can
   signal; raises for anything else, with `what` in front. */
ze_event_handle_t lze_check_signal(lua_State *L, int index,
                                   const lze_Context *context,
                                   const char *what);

/* Returns a command that is done from the start and was never on a device, with
   one owner. */
lze_Command *lze_command_done(lua_State *L, const lze_DeviceInfo *device,
                              const char *name);

void lze_command_own(lze_Command *c);
void lze_command_disown(lze_Command *c);

/* Returns true if the driver's result, of a query of the command's event or of
   giving it one, means that the command is over.  A failure does not mean that:
   the command may still run.  A lost device counts only if the device itself
   also reports it: before that, memory that the command may use must not be
   freed, nor its event be reused. */
bool lze_command_is_over(const lze_Command *c, const lze_Outcome *out);
/* Like lze_command_is_over, for any event that this device signals. */
bool lze_is_over(const lze_DeviceInfo *device, const lze_Outcome *out);

/* Queries the device, without waiting, and retires finished commands.  Returns
   true if the command is done or failed. */
bool lze_command_poll(lze_Command *c);
/* Like lze_command_poll, but raises the driver's error if the query fails. */
bool lze_command_check(lua_State *L, lze_Command *c);

/* Waits in slices until the command is done or the deadline has passed; returns
   true if it is done.  Raises the command's failure (once), errors of a debug
   hook, and the driver's error if the command cannot be queried; in that case
   the command is still pending. */
bool lze_command_wait(lua_State *L, lze_Command *c, uint64_t deadline);
/* The interval at which a wait calls the debug hook: too short for a person to
   notice. */
#define LZE_SLICE_NS 50000000u

/* For the files of this layer. */
/* Links a use into the list of its storage; the second function unlinks it. */
void lze_use_link(lze_Use *u);
void lze_use_unlink(lze_Use *u);
void lze_command_unpin(lze_Command *c);
void lze_command_free(lze_Command *c);
/* Makes c wait for another command; returns false if a resource for that is
   missing. */
bool lze_command_wait_for(lze_Command *c, lze_Command *other,
                          lze_Outcome *out);
/* Aborts c and raises the outcome of the missing resource. */
void lze_command_refuse(lua_State *L, lze_Command *c, const lze_Outcome *out)
    __attribute__((noreturn));
/* Gives a command an event if it lacks one, through a barrier after it. */
bool lze_command_mark(lze_Command *c, lze_Outcome *out);
/* Makes c wait for the commands whose uses conflict with its own; returns like
   lze_command_wait_for. */
bool lze_command_meet(lze_Command *c, lze_Outcome *out);
/* Returns the command whose event reports that c is over; returns NULL, with
   the outcome, if that fails. */
lze_Command *lze_command_marked(lze_Command *c, lze_Outcome *out);
/* Retires c with its final outcome, and the commands that are over with it. */
void lze_command_retire_to(lze_Command *c, const lze_Outcome *out);
/* Raises that the driver does not report whether c is over. */
void lze_command_unreported(lua_State *L, const lze_Command *c,
                        const lze_Outcome *out) __attribute__((noreturn));
/* Retains a queue and its context; a default queue does not retain its
   context. */
void lze_queue_hold(lze_Queue *q);
void lze_queue_release(lze_Queue *q);
/* Returns the command to wait for if all commands must be over: the newest or,
   without order, any. */
lze_Command *lze_queue_last(const lze_Queue *q);

/* Returns true if pending command `c` waits for `first`, directly or
   indirectly. */
bool lze_command_follows(const lze_Command *c, const lze_Command *first);

/* Returns true if a command waits for a run whose callback is running: in this
   case nothing inside that callback may wait for it. */
bool lze_command_is_later(const lze_Command *c);
/* Returns true if a command enqueued now would run after a command of that
   kind, and would therefore never run. */
bool lze_queue_is_later(const lze_Queue *q);
/* Called before and after a callback of a run.  During the callback, nothing
   waits for the storages that the run uses; afterwards the run waits for the
   commands that the callback has enqueued.  The second function returns false,
   with the outcome, if it cannot. */
void lze_command_suspend(lze_Command *c);
bool lze_command_resume(lze_Command *c, lze_Outcome *out);
/* Makes c fail with that outcome when the device has finished it. */
void lze_command_doom(lze_Command *c, const lze_Outcome *out);
/* Ends a command on the host as failed: its error is the value of a registry
   reference or, without a reference (0), the outcome. */
void lze_command_fail(lze_Command *c, const lze_Outcome *out, int error_ref);

/* Returns a pending command that conflicts with reading (or, with `write`,
   writing) bytes [first, last) of a storage, or NULL. */
lze_Command *lze_storage_conflict(lze_Storage *s, size_t first, size_t last,
                                  bool write);
/* Waits for the pending commands that touch bytes [first, last) of a storage
   and conflict with reading (or, with `write`, writing) them on the host. */
void lze_storage_wait(lua_State *L, lze_Storage *s, size_t first,
                      size_t last, bool write);
/* Returns true if such commands are pending; queries the device, does not wait.
   Raises like lze_command_check, unless L is NULL. */
bool lze_storage_pending(lua_State *L, lze_Storage *s, size_t first,
                         size_t last, bool write);

/* Marks the unsubmitted commands of a queue as submitted at that time or, if
   submitting failed, as failed with that outcome. */
void lze_queue_submitted(lze_Queue *q, uint64_t ns, const lze_Outcome *out);

/* Returns true if a queue has work in flight that the copy would follow only
   because of the order of the queue.  Queries the device, does not wait. */
bool lze_queue_delays(lze_Queue *q, const lze_Copy *copy);

/* Waits for everything on a queue; returns true if it is done.  Raises like
   lze_command_wait. */
bool lze_queue_drain(lua_State *L, lze_Queue *q, uint64_t deadline);
/* Waits for all queues of the state. */
bool lze_state_drain(lua_State *L, uint64_t deadline);
/* Returns true if the open queue can take one more command.  If not, waits for
   its oldest command, like lze_command_wait.  A hook may then have closed
   anything, or made another queue the default, so the caller finds its queue
   again and repeats the call.  Must be called before arguments are checked. */
bool lze_queue_ready(lua_State *L, lze_Queue *q);
/* Waits for the oldest command of the state, if its serial is at most `newest`.
   Returns 1 when it is over; 0 if it did not wait, because the command does not
   exist or may depend on what the script does next; -1 if something raised an
   error, which is then on the stack. */
int lze_state_await_oldest(lua_State *L, lze_State *S, uint64_t newest);
/* Drops a failure that was retained for the next wait. */
void lze_failure_drop(lze_Command **slot);

/* Calls f for each queue of the state; f may destroy it.  Returns true if f
   always returned true. */
bool lze_each_queue(lze_State *S, bool (*f)(lze_Queue *q, uint64_t number),
                    uint64_t number);
/* Retires finished commands on every queue of the state, without waiting. */
void lze_reap(lze_State *S);

/* Sets the initial limits of a state. */
void lze_gc_init(lze_State *S);
/* lze_pressure, called before `bytes` bytes are allocated, reaps and runs the
   collector as much as the pressure on device memory requires.  It returns
   false if a wait has raised an error, which is then on the stack; `dropped`
   returns how much memory is freed when work in flight is over.  lze_make_room,
   called after a failed allocation, reaps, collects fully and reaps again.
   Both may run Lua finalizers and respect a stopped collector. */
bool lze_pressure(lua_State *L, size_t bytes,
                  size_t (*dropped)(const lze_State *S));
void lze_make_room(lua_State *L);

/* Releases the queues and events that belong to a context. */
void lze_context_drop(lze_Context *context);
/* Closes everything made in a context, then the context. */
void lze_context_close(lze_Context *context);
/* Ends a state: waits for its queues, at most S->close_ns.  Resources that a
   hung device still uses are leaked, with a warning. */
void lze_state_close(lua_State *L, lze_State *S);

#endif
