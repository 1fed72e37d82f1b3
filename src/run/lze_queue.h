/*
 * lze_queue.h - queues, events and the events of the driver behind them.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_QUEUE_H
#define LZE_QUEUE_H

#include "base/lze_box.h"
#include "run/lze_command.h"

/* A list of a batched queue. */
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
  uint32_t number;              /* in the order of making, from 1 */
  ze_command_list_handle_t list; /* what commands are appended to */
  bool batched;                 /* else the list is an immediate one */
  bool ordered;                 /* commands run in the order of issue */
  bool native_order;            /* and the driver sees to that itself */
  bool copy_engine;
  bool hazards;                 /* commands wait for those they conflict with */
  lze_Context *home;            /* of a default one: its context, which owns it
                                   and is owned by whoever else does */
  bool transfers;               /* for lze_transfer_queue only */
  bool works;                   /* for lze_host_queue only */
  bool foreign;                 /* the list is the host's */
  lze_Priority priority;
  uint32_t ordinal;
  /* of a batched one */
  ze_command_queue_handle_t native;
  bool dirty;                   /* the list has commands not yet submitted */
  lze_Batch *open;              /* whose list it is */
  lze_Batch *batches;           /* given to the device, oldest first */

  lze_Command *head, *tail;     /* in flight, oldest first */
  uint32_t in_flight;           /* launches and other commands */
  uint32_t unmarked;            /* the newest of these, without an event */
  lze_Command *probe;           /* the one that lze_begin asks for next */
  uint32_t since_probe;         /* commands begun since it last asked */
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

/* The command of an event that is there: NULL once it is closed, or, where it
   shows an event of the host, the context of that. */
lze_Command *lze_event_command(const lze_Event *e);

/* Take an event, not signalled; NULL with the driver's outcome on failure. */
lze_EventSlot *lze_event_take(lze_Context *context, bool timed,
                              lze_Outcome *out);
void lze_event_give(lze_Context *context, lze_EventSlot *slot);
/* The same for one that nothing has signalled or waited for. */
void lze_event_untake(lze_Context *context, lze_EventSlot *slot);
/* Destroy every event and pool of a context. */
void lze_events_destroy(lze_Context *context);

/* [-0, +1] an event userdata, made before the command so that nothing can
   fail after it; fill in its command then. */
lze_Event *lze_push_event(lua_State *L);
lze_Event *lze_test_event(lua_State *L, int index);
lze_Queue *lze_check_queue(lua_State *L, int arg);
lze_Queue *lze_test_queue(lua_State *L, int index);
/* A queue without a list yet, immediate and in order, with one owner; raises
   when memory runs out.  What is changed in its fields then, lze_queue_create
   makes; false with the outcome. */
lze_Queue *lze_queue_new(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device);
bool lze_queue_create(lze_Queue *q, lze_Outcome *out);
/* Of its device's copy engine, where there is one. */
void lze_queue_use_copy_engine(lze_Queue *q);
/* Whether new queues collect commands in batches. */
bool lze_queue_batched_by_default(lua_State *L, const lze_DeviceInfo *device);
/* [-0, +0] a new queue with an immediate list in order, with one owner; raises.
   */
lze_Queue *lze_new_queue(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device);
/* The queue that a context uses for a device when it is not told. Made at
   first use, kept by the context; may raise.  A function that a run calls gets
   one without work that waits for the run.  It is the caller's until anything
   of Lua's may run, which may make another one the default: then the caller
   asks again, or has pushed it. */
lze_Queue *lze_default_queue(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device);
/* The queue for a copy in a context that is waited for at once: the default one
   of the device or, while other work delays it there, one of lze's own, made at
   first use and kept by the context.  May raise. */
lze_Queue *lze_transfer_queue(lua_State *L, const lze_DeviceInfo *device,
                              const lze_Copy *copy);
/* The queue of the commands that stand for work of the host's with memory of a
   device, which keeps no order and whose list has only what steps copy; made at
   first use, kept by the context.  May raise. */
lze_Queue *lze_host_queue(lua_State *L, lze_Context *context,
                          const lze_DeviceInfo *device);
/* One owner more, or less; may destroy it. */
void lze_queue_own(lze_Queue *q);
void lze_queue_disown(lze_Queue *q);
/* Of all queues: launches and other commands that are not known to be over. */
uint64_t lze_count_in_flight(const lze_State *S);
/* Make a queue lze.default's, or NULL: none. */
void lze_set_default_queue(lze_State *S, lze_Queue *q);
/* [-0, +1] the default queue of a context on a device: its userdata, or a new
   one. */
void lze_push_cached_queue(lua_State *L, lze_Context *context,
                           const lze_DeviceInfo *device);
/* [-0, +1] a queue on an immediate list of the host's, which stays its. */
void lze_push_foreign_queue(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device,
                            ze_command_list_handle_t list, uint32_t ordinal);
/* Give what a batched queue has collected to the device; nothing to do for
   any other.  A failure becomes that of the commands, so it is not a result. */
void lze_queue_flush(lze_Queue *q);
/* See that a queue has a list to append to; false with the outcome. */
bool lze_queue_open(lze_Queue *q, lze_Outcome *out);
/* The end of the default queues, with that of their context. */
void lze_queues_drop(lze_Context *context);
/* When in CLOCK_MONOTONIC what signalled the first of two events began, and
   how long it was until what signalled the last ended; false where the driver
   cannot tell. */
bool lze_event_times(lze_Context *context, const lze_DeviceInfo *device,
                     const lze_EventSlot *first, const lze_EventSlot *last,
                     uint64_t *start_ns, uint64_t *kernel_ns);
/* The same of what the driver said of the two. */
bool lze_stamp_times(lze_Context *context, const lze_DeviceInfo *device,
                     const ze_kernel_timestamp_result_t *first,
                     const ze_kernel_timestamp_result_t *last,
                     uint64_t *start_ns, uint64_t *kernel_ns);
/* Measured start, end and duration of a done, timed command. */
void lze_command_read_times(lze_Command *c);

/* A descriptor that is readable once the command is over, the same each time;
   closed with the command. Raises when there is none to be had. */
int lze_watch_fd(lua_State *L, lze_Command *c, bool over);
/* Wait for the thread behind it, which is about to end as the command is over;
   tell it to end although it is not; do both and close the descriptor.  NULL
   is allowed. */
void lze_watch_join(lze_Watch *w);
void lze_watch_stop(lze_Watch *w);
void lze_watch_free(lze_Watch *w);

#endif
