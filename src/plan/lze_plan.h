/*
 * lze_plan.h - graphs compiled, and their runs.
 * SPDX-License-Identifier: MIT
 *
 * A plan is recorded as closed command lists, a chain of them for each lane of
 * each segment.  A run gives these to the device between two barriers on the
 * plan's own queue, so that it is one command for everything else: the first
 * barrier waits for what the run must wait for and lets lane 0 go, the second
 * waits until lane 0, which waits for all the others, is done.
 *
 * The files, from below: lze_schedule.c finds the order of steps, lze_step.c
 * checks the values of one, lze_arena.c has the memory, lze_flatten.c makes
 * steps of graphs, lze_transfer.c leaves out copies between devices,
 * lze_replay.c records and submits command lists, lze_io.c copies inputs and
 * outputs, lze_run.c starts runs and calls functions of the script,
 * lze_tasks.c records their tasks, lze_report.c measures the last one,
 * lze_plan.c compiles and has the methods.
 */
#ifndef LZE_PLAN_H
#define LZE_PLAN_H

#include "plan/lze_schedule.h"
#include "plan/lze_step.h"
#include "run/lze_queue.h"

/* The user value of a plan is a table of Lua values:
 *   steps     array of the entries' tables, as they were recorded or set
 *   stubs     what transient buffers are replaced by to check a step
 *   real      array by parity: what is replaced to record a step
 *   arenas    array of the buffers that transient ones are parts of, by place
 *   swaps     array of {a, b}
 *   inputs, outputs   those that the host copies: {buffer, when, source or
 *             destination, name, nanoseconds of the last copy}
 */
enum { LZE_IO_NS = 5 };

/* A closed command list of some steps of one lane. */
typedef struct lze_PlanList {
  lze_Object o;
  ze_command_list_handle_t handle;
  uint32_t segment, lane, parity, number;
  uint64_t contents;            /* a hash of all that is recorded in it */
} lze_PlanList;

/* All that was recorded.  Runs whose segments are submitted one by one keep
   theirs when the plan is recorded again.  Counted. */
typedef struct lze_Recording {
  uint32_t owners;
  uint32_t list_count, segment_count, lane_count, host_count;
  lze_PlanList **lists;         /* owned, in the order of submission */
  ze_command_list_handle_t *handles; /* theirs */
  struct lze_Chain {
    uint32_t first, count;
  } *chains;                    /* the lists of each lane, by parity, segment
                                   and lane */
  struct lze_HostStep {
    uint32_t segment, step;
  } *hosts;                     /* in order */
} lze_Recording;

/* A task may use memory of another device.  Then a shadow on the task's device
   stands for it: two copy steps through host memory bring it there before the
   task, and two more bring it back after it. */
typedef enum lze_CopyPart {
  LZE_COPY_NONE,                /* not such a copy step */
  LZE_COPY_OUT, LZE_COPY_IN,
  LZE_COPY_BACK_OUT, LZE_COPY_BACK_IN
} lze_CopyPart;

/* What a plan knows of a step besides its lze_Node. */
typedef struct lze_Step {
  lze_StepKind kind;
  lze_CopyPart copy;
  uint32_t shadow;              /* of such a copy step: its number */
  bool redundant;               /* a copy step that need not be made */
  bool empty;                   /* nothing to run */
  const char *name;             /* "graph.task", of the step's table */
  const lze_DeviceInfo *device;
  lze_Kernel *kernel;           /* pinned */
  const char *why;              /* of its group, malloc'ed */
  uint32_t group[3], parts;
  uint32_t version;             /* counts up when it is set */
  uint64_t bytes;               /* that its accesses span */
  uint64_t items;               /* of a task: its work-items */
  uint64_t moved;               /* and lze_kernel_bytes */
  lze_EventSlot *event;         /* if awaited, or profiled */
  lze_EventSlot *first;         /* of several parts that are profiled */
  uint64_t record;              /* number of that of its newest run, or 0 */
  /* measured in the last run */
  uint64_t start_ns, ns, wait_ns;
  bool critical;
} lze_Step;

typedef struct lze_Engine {
  const lze_DeviceInfo *device;
  uint32_t ordinal, queues;
} lze_Engine;

enum { LZE_MAX_ENGINES = 8, LZE_MAX_PLACES = LZE_MAX_ENGINES + 2 };

struct lze_Plan {
  lze_Object o;
  char name[64];                /* "graph pipeline" */
  const lze_DeviceInfo *device;
  lze_Queue *queue;             /* owned: its runs, one after the other */
  bool profile;
  bool direct;                  /* lane 0 is appended to the queue's list */
  bool changing;                /* plan:set has changed it in part */
  bool stale;                   /* to be recorded again before the next run */
  bool broken;                  /* a start or set has failed half way */
  bool lost;                    /* and nothing can tell when it is over */
  bool hosted;                  /* its runs have parts on the host */
  bool fills_inputs;            /* the host copies something to its inputs */
  bool filling;                 /* it does now, for the next run */
  bool begun;                   /* "first" inputs are there */
  uint64_t checked;             /* the state's `closes` when all that it uses
                                   was seen to be open */
  uint32_t parities, parity;    /* 2 with swaps; that of the next run */
  uint64_t runs;

  lze_Step *steps;
  lze_Node *nodes;
  uint32_t count, capacity;
  uint32_t tasks;               /* of the steps */
  uint32_t shadow_count;
  lze_Schedule schedule;
  lze_Engine engines[LZE_MAX_ENGINES];
  uint32_t engine_count;
  lua_Integer limit;            /* of the memory it uses, or -1 */
  uint32_t width;               /* the most queues that each engine may use */
  ze_command_queue_handle_t queues[LZE_MAX_LANES];
  lze_EventSlot *go, *done;     /* of lane 0 */
  lze_EventSlot *starts[LZE_MAX_LANES], *ends[LZE_MAX_LANES]; /* of others */
  struct lze_PlanLists {
    lze_PlanList **items;       /* owned, in the order of submission */
    uint32_t count, capacity;
  } lists, old;                 /* old: those before, while recorded again */
  lze_Recording *recording;     /* owned; NULL before it is recorded */
  uint32_t recorded;            /* how many lists were, the last time */
  uint64_t placement;           /* a hash of where transient buffers are */

  lze_Access *captured;         /* what a run touches, merged */
  uint32_t captured_count;
  lze_Storage **storages;       /* owned, each once */
  uint32_t storage_count;
  bool spread;                  /* over several devices */
  size_t batch_bytes;           /* of device memory for its batches, or 0 */
  lze_Storage *arenas[LZE_MAX_PLACES]; /* of the transient buffers, or NULL:
                                   where any task may, on the host, then by
                                   engine's device */
  size_t transient_bytes;       /* the sum of their sizes */
  lze_Command *last;            /* the newest run, owned; or NULL */
  struct lze_Tasks *running;    /* of runs that are recorded, oldest first */
  struct lze_Tasks *timed;      /* those of which the steps' events tell; NULL
                                   where that run is not recorded */
  struct lze_Tasks *spare;      /* for runs to come */
  struct lze_Run *next_run;     /* allocated for the next run, or NULL */
  lze_Command *reserve;         /* for one that is begun at once, or NULL */
  struct lze_Swap {
    lze_Access a, b;            /* their storages owned, until it is freed */
  } *swaps;
  uint32_t swap_count;
};

typedef struct lze_PlanBox {
  lze_Box box;
  lze_Plan *plan;               /* NULL once collected */
} lze_PlanBox;

/* --- lze_flatten.c -------------------------------------------------------- */

/* Fill an empty plan with the steps of the graph whose table is at `graph`, and
   that of the plan at `table`.  Raises all that is wrong with them in one
   message. */
void lze_flatten(lua_State *L, lze_Plan *p, int table, int graph,
                 const char *name);
/* Check the values of step i, whose table is at stack index `step`, and keep
   what they come to.  Returns LUA_OK, or an error that is on the stack.  The
   plan's table is at `table`. [-0, +0|1] */
int lze_plan_check_step(lua_State *L, lze_Plan *p, int table, int step,
                        uint32_t i);

/* --- lze_transfer.c ------------------------------------------------------- */

/* Find the copy steps between devices that need not be made, and make them
   empty. */
void lze_plan_skip_copies(lua_State *L, lze_Plan *p, int table);

/* --- lze_arena.c ---------------------------------------------------------- */

/* The bytes of a buffer. */
lze_Access lze_buffer_span(const lze_Buffer *b);
/* Where the bytes of `a` are when places are changed: false when they stay;
   *split when only some of them move. */
bool lze_swap_access(const lze_Plan *p, lze_Access *a, bool *split);
/* Whether, in runs of that parity, `a` is memory of s, or of a transient buffer
   where s is what these are in. */
bool lze_plan_is_in(const lze_Plan *p, const lze_Access *a, uint32_t parity,
                    const lze_Storage *s);
/* Why a step on that device, or on the host (NULL), may not make these accesses
   when places are changed: one of them is to a part of a swapped buffer and to
   something else, or the device does not reach what takes its place.  NULL if
   it may. */
const char *lze_swap_problem(const lze_Plan *p, const lze_DeviceInfo *device,
                             const lze_Access *all, uint32_t count);
/* [-0, +1] the buffer that stands for the one at `index` in runs of that
   parity; the plan's table is at `table`. */
void lze_plan_swapped(lua_State *L, const lze_Plan *p, int table, int index,
                      uint32_t parity);
/* Find out what a run touches and give the transient buffers, which have stubs
   by now, their memory: the maps of both parities get windows on it.  Raises
   where it all comes to more than the plan's limit, and where the plan was
   closed: finalisers may run. */
void lze_plan_place(lua_State *L, lze_Plan *p, int table);

/* --- lze_replay.c --------------------------------------------------------- */

/* Record those of its lists that have changed, and make the queues and events
   that they need.  Raises; the plan's table is at stack index `table`. */
void lze_plan_record(lua_State *L, lze_Plan *p, int table);
/* One owner fewer; NULL is allowed. */
void lze_recording_disown(lze_Recording *r);
/* What a run waits for, and what it signals: `first` once it may begin, or
   NULL, and `end`. */
typedef struct lze_RunEvents {
  ze_event_handle_t end, first, *waits;
  uint32_t wait_count;
  struct lze_Tasks *tasks;      /* its command's */
} lze_RunEvents;
/* Submit the lists of a segment; with `last` the end event is signalled when
   they are done.  False with the outcome; then nothing runs, and an event that
   was to be signalled will be. */
bool lze_plan_submit(lze_Plan *p, const lze_Recording *r,
                     const lze_RunEvents *events, uint32_t segment,
                     uint32_t parity, bool last, lze_Outcome *out);
/* Append a barrier that signals the event of c. */
bool lze_plan_finish(lze_Plan *p, lze_Command *c, lze_Outcome *out);
/* Raise what a call for the plan came to. */
int lze_plan_fail(lua_State *L, const lze_Plan *p, const lze_Outcome *out);
/* Destroy its lists, events and queues. */
void lze_plan_strip(lze_Plan *p);

/* --- lze_io.c ------------------------------------------------------------- */

/* Of values on the stack: buffer:read(nil, nil, destination) and
   buffer:write(source). */
void lze_io_read(lua_State *L, int buffer, int destination);
void lze_io_write(lua_State *L, int buffer, int source);
/* The copy of the input or output at stack index `io` began at that time of
   lze_now_ns, and is over. */
void lze_io_took(lua_State *L, const lze_Plan *p, int io, uint64_t since);
/* Before a run: put what the host has into inputs; raises.  Code of the script
   may run. */
void lze_plan_put_inputs(lua_State *L, lze_Plan *p, int table);
/* After one of that parity: copy outputs to the tables that they go to. */
void lze_plan_get_outputs(lua_State *L, const lze_Plan *p, int table,
                          uint32_t parity);

/* --- lze_run.c ------------------------------------------------------------ */

/* Enqueue one run; raises.  The plan's table is at stack index `table`.  One
   that is joined to the run before it fails with that.  The command belongs to
   the plan. */
lze_Command *lze_plan_start(lua_State *L, lze_Plan *p, int table, bool joined,
                            bool timed);
/* Raise where a callback of the plan is running: a run that it started would
   come after the one that waits for it, and its callback would start the
   next. */
void lze_plan_check_calling(lua_State *L, const lze_Plan *p);
/* The parity of the run that a callback which is running is a part of; else of
   the next one, or of the last. */
uint32_t lze_plan_parity(const lze_Plan *p, bool next);
/* Run at once where nothing has to be done or waited for before that, and the
   plan is one that needs nothing of Lua's: false where that is not so.  Needs
   no Lua state and raises nothing; afterwards lze_plan_complete, unless the
   attempt is over, waits for what takes longer, or raises what has failed. */
typedef struct lze_Attempt {
  bool over;
  lze_Command *command;         /* in flight; NULL: refused */
  lze_Outcome out;
} lze_Attempt;
bool lze_plan_attempt(lze_Plan *p, lze_Attempt *a);
void lze_plan_complete(lua_State *L, const lze_Plan *p, const lze_Attempt *a);
/* Register with the state what its waits need of runs. */
void lze_open_run(lua_State *L);
/* Free a run that was not started; NULL is allowed. */
void lze_run_drop(lze_State *S, struct lze_Run *r);

/* --- lze_tasks.c ---------------------------------------------------------- */

/* What signals the beginning of a step, of which `event` signals the end. */
lze_EventSlot *lze_step_first(const lze_Step *s);
/* A run that is recorded begins, of a plan that measures its tasks: record
   these.  Needs no memory to go on: without, the record says so. */
void lze_tasks_begin(lze_Plan *p, lze_Command *c);
/* The run was refused. */
void lze_tasks_refuse(const lze_Command *c);
/* From now on the events of steps are those of the run that `next` is of, which
   may be NULL: what is appended to the plan's queue next resets them.  Those of
   the run before are kept elsewhere first. */
void lze_tasks_replace(lze_Plan *p, struct lze_Tasks *next);
/* The run c, which has tasks, is over. */
void lze_tasks_over(lze_Command *c);
/* Free all of a plan that goes. */
void lze_tasks_free(lze_Plan *p);

/* --- lze_report.c, lze_plan.c --------------------------------------------- */

/* plan:report(), plan:json(), plan:trace() and plan:dot() */
int lze_plan_report(lua_State *L);
int lze_plan_json(lua_State *L);
int lze_plan_trace(lua_State *L);
int lze_plan_dot(lua_State *L);
/* The functions of lua/json.lua. [-0, +1], and returns 1. */
int lze_push_json(lua_State *L);
void lze_open_report(lua_State *L);

/* The open plan at 1; raises for anything else, and while it is changed. */
lze_Plan *lze_check_plan(lua_State *L);
/* g:compile(options): the graph at 1, its options at 2; a plan is pushed. */
int lze_plan_compile(lua_State *L);

#endif
