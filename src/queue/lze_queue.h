/*
 * lze_queue.h - queues, events and the driver events behind them.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_QUEUE_H
#define LZE_QUEUE_H

#include "base/lze_box.h"
#include "queue/lze_command.h"

/* A command list of a batched queue. */
typedef struct lze_Batch {
  ze_command_list_handle_t list;
  uint32_t pending;             /* commands in it that are not over */
  struct lze_Batch *next;
} lze_Batch;

typedef enum lze_Priority {
  LZE_PRIORITY_NORMAL,
  LZE_PRIORITY_LOW,
  LZE_PRIORITY_HIGH
} lze_Priority;

struct lze_Queue {
  lze_Object o;
  const lze_DeviceInfo *device;
  uint32_t number;              /* in the order of creation, from 1 */
  ze_command_list_handle_t list; /* commands are appended to it */
  bool batched;                 /* else the list is an immediate one */
  bool ordered;                 /* commands run in the order of issue */
  bool native_order;            /* and the driver ensures that order itself */
  bool copy_engine;
  bool hazards;                 /* commands wait for commands they conflict
                                   with */
  lze_Context *home;            /* for a default queue: its context, which owns
                                   it; each other owner of the queue also owns
                                   the context */
  bool transfers;               /* for lze_transfer_queue only */
  bool works;                   /* for lze_host_queue only */
  bool foreign;                 /* the list belongs to the embedding program */
  lze_Priority priority;
  uint32_t ordinal;
  /* only if batched: */
  ze_command_queue_handle_t native;
  bool dirty;                   /* the list has commands not yet submitted */
  lze_Batch *open;              /* the batch with this list */
  lze_Batch *batches;           /* submitted to the device, oldest first */

  lze_Command *head, *tail;     /* in flight, oldest first */
  uint32_t in_flight;           /* launches and other commands */
  uint32_t unmarked;            /* number of the newest of these without an
                                   event */
  lze_Command *probe;           /* the next command that lze_begin polls */
  uint32_t since_probe;         /* commands begun since the last poll */
  lze_Command *failed;          /* an unreported failure */
  lze_Queue *next;              /* in the context */
};

typedef struct lze_EventSlot {
  ze_event_handle_t handle;
  struct lze_EventSlot *next;
  bool timed;
} lze_EventSlot;

typedef struct lze_Event {
  lze_Box box;
  lze_Command *command;         /* NULL once closed */
} lze_Event;

/* Returns the command of an open event: NULL if it is closed or, if it shows an
   event of the embedding program, its context is. */
lze_Command *lze_event_command(const lze_Event *e);

/* Takes an event that is not signalled; returns NULL, with the driver's
   outcome, if that fails. */
lze_EventSlot *lze_event_take(lze_Context *context, bool timed,
                              lze_Outcome *out);
void lze_event_give(lze_Context *context, lze_EventSlot *slot);
/* Gives back an event that nothing has signalled or waited for. */
void lze_event_untake(lze_Context *context, lze_EventSlot *slot);
/* Destroys every event and pool of a context. */
void lze_events_destroy(lze_Context *context);

/* [-0, +1] Pushes an event userdata.  It is created before the command, so that
   nothing can fail after the command; the caller sets its command then. */
lze_Event *lze_push_event(lua_State *L);
lze_Event *lze_test_event(lua_State *L, int index);
lze_Queue *lze_check_queue(lua_State *L, int arg);
/* Returns the open queue at `arg` once it can take one more command. */
lze_Queue *lze_check_ready_queue(lua_State *L, int arg);
lze_Queue *lze_test_queue(lua_State *L, int index);
/* Returns an immediate, ordered queue without a list yet, with one owner;
   raises when memory runs out.  The caller may change its fields;
   lze_queue_create then creates the list and returns false, with the outcome,
   if that fails. */
lze_Queue *lze_queue_new(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device);
bool lze_queue_create(lze_Queue *q, lze_Outcome *out);
/* Uses the device's copy engine, if it has one. */
void lze_queue_use_copy_engine(lze_Queue *q);
/* Returns true if new queues collect commands in batches. */
bool lze_queue_batched_by_default(lua_State *L, const lze_DeviceInfo *device);
/* [-0, +0] Returns a new queue with an immediate, ordered list, with one owner;
   raises. */
lze_Queue *lze_new_queue(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device);
/* Returns the queue that a context uses for a device if no queue is given.  It
   is created at first use and retained by the context; may raise.  A function
   that a run calls gets a queue without work that waits for the run.  The
   pointer is valid until Lua code may run, which may make another queue the
   default: call again afterwards, or push the queue first. */
lze_Queue *lze_default_queue(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device);
/* Returns the queue for a copy in a context that the caller waits for at once:
   the default queue of the device or, while other work delays the copy there, a
   transfer queue, which lze creates at first use and the context retains.  May
   raise. */
lze_Queue *lze_transfer_queue(lua_State *L, const lze_DeviceInfo *device,
                              const lze_Copy *copy);
/* Returns the queue of the commands that represent host work with memory of a
   device.  It keeps no order, and its list contains only the copies of the
   steps; created at first use and retained by the context.  May raise. */
lze_Queue *lze_host_queue(lua_State *L, lze_Context *context,
                          const lze_DeviceInfo *device);
/* Adds or removes an owner; removing one may destroy the queue. */
void lze_queue_own(lze_Queue *q);
void lze_queue_disown(lze_Queue *q);
/* Returns the launches and other commands on all queues that are not known to
   be over. */
uint64_t lze_count_in_flight(const lze_State *S);
/* Sets the queue of lze.default; NULL removes it. */
void lze_set_default_queue(lze_State *S, lze_Queue *q);
/* [-0, +1] Pushes the default queue of a context on a device: its userdata, or
   a new one. */
void lze_push_cached_queue(lua_State *L, lze_Context *context,
                           const lze_DeviceInfo *device);
/* [-0, +1] Pushes a queue on an immediate list that the embedding program
   owns. */
void lze_push_foreign_queue(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device,
                            ze_command_list_handle_t list, uint32_t ordinal);
/* Submits the commands that a batched queue has collected; does nothing for any
   other queue.  A failure becomes that of the commands, so it is not
   returned. */
void lze_queue_flush(lze_Queue *q);
/* Ensures that a queue has a list to append to; returns false, with the
   outcome, if that fails. */
bool lze_queue_open(lze_Queue *q, lze_Outcome *out);
/* Ends the default queues together with their context. */
void lze_queues_drop(lze_Context *context);
/* Computes when, in CLOCK_MONOTONIC, the command that signalled the first event
   began, and the time from then until the command that signalled the last one
   ended; returns false if the driver does not report it. */
bool lze_event_times(lze_Context *context, const lze_DeviceInfo *device,
                     const lze_EventSlot *first, const lze_EventSlot *last,
                     uint64_t *start_ns, uint64_t *kernel_ns);
/* Computes the same from the timestamps that the driver reported for the two
   events. */
bool lze_stamp_times(lze_Context *context, const lze_DeviceInfo *device,
                     const ze_kernel_timestamp_result_t *first,
                     const ze_kernel_timestamp_result_t *last,
                     uint64_t *start_ns, uint64_t *kernel_ns);
/* Reads start, end and duration of a done, timed command. */
void lze_command_read_times(lze_Command *c);

/* Returns a descriptor that is readable once the command is over, the same each
   time; it is closed with the command.  Raises if no descriptor is
   available. */
int lze_watch_fd(lua_State *L, lze_Command *c, bool over);
/* Waits for the thread behind it, which is about to end because the command is
   over.  The second function makes that thread end although the command is not
   over; the third makes it end and closes the descriptor.  NULL is allowed. */
void lze_watch_join(lze_Watch *w);
void lze_watch_stop(lze_Watch *w);
void lze_watch_free(lze_Watch *w);

#endif
