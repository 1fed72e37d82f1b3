/*
 * lze_plan.h - compiled graphs and their runs.
 * SPDX-License-Identifier: MIT
 *
 * A plan is recorded as closed command lists: a chain of lists for each lane
 * of each segment. A run submits them between two barriers on the plan's own
 * queue, so that to other code a run is one command. The first barrier waits
 * for everything that the run must wait for and then starts lane 0. The second
 * waits until lane 0 is done, which waits for all other lanes.
 *
 * The files, lowest layer first: lze_schedule.c determines the order of steps,
 * lze_step.c checks the values of one step, lze_arena.c manages memory,
 * lze_flatten.c makes steps from graphs, lze_transfer.c removes unnecessary
 * copies between devices, lze_replay.c records and submits command lists,
 * lze_io.c copies inputs and outputs, lze_run.c starts runs and calls the
 * script's functions, lze_tasks.c records the tasks of runs, lze_report.c
 * measures the last run, lze_plan.c compiles and has the methods.
 */
#ifndef LZE_PLAN_H
#define LZE_PLAN_H

#include "plan/lze_schedule.h"
#include "plan/lze_step.h"
#include "queue/lze_queue.h"

/* The user value of a plan is a table of Lua values:
 *   steps     array of the entries' tables, as they were recorded or set
 *   stubs     map from transient buffers to stubs, for checking a step
 *   real      array by parity of maps: replacements for recording a step
 *   arenas    array by place of the buffers that hold transient buffers
 *   swaps     array of {a, b}
 *   inputs, outputs   the ones that the host copies: {buffer, when, source or
 *             destination, name, nanoseconds of the last copy}
 */
enum { LZE_IO_NS = 5 };

/* A closed command list of some steps of one lane. */
typedef struct lze_PlanList {
  lze_Object o;
  ze_command_list_handle_t handle;
  uint32_t segment, lane, parity, number;
  uint64_t contents;            /* a hash of everything recorded in it */
} lze_PlanList;

/* Everything that was recorded; reference-counted. If a run's segments are
   submitted one by one, the run keeps its recording when the plan is recorded
   again. */
typedef struct lze_Recording {
  uint32_t owners;
  uint32_t list_count, segment_count, lane_count, host_count;
  lze_PlanList **lists;         /* owned, in the order of submission */
  ze_command_list_handle_t *handles; /* those of `lists` */
  struct lze_Chain {
    uint32_t first, count;
  } *chains;                    /* the lists of each lane, by parity, segment
                                   and lane */
  struct lze_HostStep {
    uint32_t segment, step;
  } *hosts;                     /* in order */
} lze_Recording;

/* A task may use memory of another device. Then a shadow on the task's device
   represents that memory: two copy steps through host memory bring the
   contents there before the task, and two more bring them back afterwards. */
typedef enum lze_CopyPart {
  LZE_COPY_NONE,                /* not such a copy step */
  LZE_COPY_OUT, LZE_COPY_IN,
  LZE_COPY_BACK_OUT, LZE_COPY_BACK_IN
} lze_CopyPart;

/* A plan's data for a step, in addition to its lze_Node. */
typedef struct lze_Step {
  lze_StepKind kind;
  lze_CopyPart copy;
  uint32_t shadow;              /* the number of a copy step's shadow */
  bool redundant;               /* an unnecessary copy step */
  bool empty;                   /* nothing to run */
  const char *name;             /* "graph.task", from the step's table */
  const lze_DeviceInfo *device;
  lze_Kernel *kernel;           /* pinned */
  const char *why;              /* the reason for its group size, malloc'ed */
  uint32_t group[3], parts;
  uint32_t version;             /* incremented by each change */
  uint64_t bytes;               /* covered by its accesses */
  uint64_t items;               /* the work-items of a task */
  uint64_t moved;               /* the result of lze_kernel_bytes */
  lze_EventSlot *event;         /* if awaited or profiled */
  lze_EventSlot *first;         /* if it has several parts and is profiled */
  uint64_t record;              /* the number of its newest run's record, or
                                   0 */
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
  lze_Queue *queue;             /* owned: its runs, in order */
  bool profile;
  bool direct;                  /* lane 0 is appended to the queue's list */
  bool changing;                /* a plan:set is in progress */
  bool stale;                   /* must be recorded before the next run */
  bool broken;                  /* a start or set failed half way */
  bool lost;                    /* also, the end of the run cannot be
                                   detected */
  bool hosted;                  /* its runs have parts on the host */
  bool fills_inputs;            /* the host copies data to its inputs */
  bool filling;                 /* it is copying them now, for the next run */
  bool begun;                   /* "first" inputs have been copied */
  uint64_t checked;             /* the state's `closes` when all objects in use
                                   were last seen to be open */
  uint32_t parities, parity;    /* 2 with swaps; parity of the next run */
  uint64_t runs;

  lze_Step *steps;
  lze_Node *nodes;
  uint32_t count, capacity;
  uint32_t tasks;               /* number of steps that are tasks */
  uint32_t shadow_count;
  lze_Schedule schedule;
  lze_Engine engines[LZE_MAX_ENGINES];
  uint32_t engine_count;
  lua_Integer limit;            /* of the memory in use, or -1 */
  uint32_t width;               /* maximum queues per engine */
  ze_command_queue_handle_t queues[LZE_MAX_LANES];
  lze_EventSlot *go, *done;     /* of lane 0 */
  lze_EventSlot *starts[LZE_MAX_LANES], *ends[LZE_MAX_LANES]; /* of the other
                                                                 lanes */
  struct lze_PlanLists {
    lze_PlanList **items;       /* owned, in the order of submission */
    uint32_t count, capacity;
  } lists, old;                 /* old: the previous ones, during recording */
  lze_Recording *recording;     /* owned; NULL before it is recorded */
  uint32_t recorded;            /* the number of lists recorded the last time */
  uint64_t placement;           /* a hash of the places of transient buffers */

  lze_Access *captured;         /* the accesses of a run, merged */
  uint32_t captured_count;
  lze_Storage **storages;       /* owned, each once */
  uint32_t storage_count;
  bool spread;                  /* over several devices */
  size_t batch_bytes;           /* device memory for its batches, or 0 */
  lze_Storage *arenas[LZE_MAX_PLACES]; /* of transient buffers, or NULL: 0 for
                                          any task, 1 on the host, then by
                                          engine's device */
  size_t transient_bytes;       /* the sum of their sizes */
  lze_Command *last;            /* the newest run, owned; or NULL */
  struct lze_Tasks *running;    /* of recorded runs, oldest first */
  struct lze_Tasks *timed;      /* the ones that the steps' events now time;
                                   NULL if that run is not recorded */
  struct lze_Tasks *spare;      /* for future runs */
  struct lze_Run *next_run;     /* allocated for the next run, or NULL */
  lze_Command *reserve;         /* for a run that is begun at once, or NULL */
  struct lze_Swap {
    lze_Access a, b;            /* their storages are owned until `destroy` */
  } *swaps;
  uint32_t swap_count;
};

typedef struct lze_PlanBox {
  lze_Box box;
  lze_Plan *plan;               /* NULL once collected */
} lze_PlanBox;

/* --- lze_flatten.c -------------------------------------------------------- */

/* Fills an empty plan with the steps of the graph whose table is at `graph`,
   and the plan's table at `table`. Raises all problems of the steps in one
   message. */
void lze_flatten(lua_State *L, lze_Plan *p, int table, int graph,
                 const char *name);
/* Checks the values of step i, whose table is at stack index `step`, and
   stores the result. Returns LUA_OK, or an error that is on the stack. The
   plan's table is at `table`. [-0, +0|1] */
int lze_plan_check_step(lua_State *L, lze_Plan *p, int table, int step,
                        uint32_t i);

/* --- lze_transfer.c ------------------------------------------------------- */

/* Finds unnecessary copy steps between devices and makes them empty. */
void lze_plan_skip_copies(lua_State *L, lze_Plan *p, int table);

/* --- lze_arena.c ---------------------------------------------------------- */

/* Returns the bytes of a buffer. */
lze_Access lze_buffer_span(const lze_Buffer *b);
/* Moves `a` to its bytes in runs with swapped buffers. Returns false if it
 * does not move; sets *split if only a part of it moves. */
bool lze_swap_access(const lze_Plan *p, lze_Access *a, bool *split);
/* Returns true if, in runs of that parity, `a` is memory of s, or of a
   transient buffer and s is an arena. */
bool lze_plan_is_in(const lze_Plan *p, const lze_Access *a, uint32_t parity,
                    const lze_Storage *s);
/* Returns why a step on that device, or on the host (NULL), may not make these
   accesses when buffers are swapped: one of them covers a part of a swapped
   buffer and other memory too, or the device does not reach the other buffer.
   Returns NULL if it may. */
const char *lze_swap_problem(const lze_Plan *p, const lze_DeviceInfo *device,
                             const lze_Access *all, uint32_t count);
/* Pushes the buffer that represents the one at `index` in runs of that parity;
   the plan's table is at `table`. [-0, +1] */
void lze_plan_swapped(lua_State *L, const lze_Plan *p, int table, int index,
                      uint32_t parity);
/* Determines the accesses of a run and allocates the transient buffers, which
   must have stubs: adds windows on that memory to the maps of both parities.
   Raises if the total exceeds the plan's limit, or if the plan was closed,
   because finalizers may run. */
void lze_plan_place(lua_State *L, lze_Plan *p, int table);

/* --- lze_replay.c --------------------------------------------------------- */

/* Records the lists that have changed, and makes the queues and events that
   they need. Raises; the plan's table is at stack index `table`. */
void lze_plan_record(lua_State *L, lze_Plan *p, int table);
/* Removes an owner; NULL is allowed. */
void lze_recording_disown(lze_Recording *r);
/* The events that a run waits for and signals: `first` when it may begin, or
   NULL, and `end`. */
typedef struct lze_RunEvents {
  ze_event_handle_t end, first, *waits;
  uint32_t wait_count;
  struct lze_Tasks *tasks;      /* of its command */
} lze_RunEvents;
/* Submits the lists of a segment; with `last`, signals the end event when they
   are done. Returns false with the outcome on failure; then nothing runs, and
   the events that were due will still be signalled. */
bool lze_plan_submit(lze_Plan *p, const lze_Recording *r,
                     const lze_RunEvents *events, uint32_t segment,
                     uint32_t parity, bool last, lze_Outcome *out);
/* Appends a barrier that signals the event of c. */
bool lze_plan_finish(lze_Plan *p, lze_Command *c, lze_Outcome *out);
/* Raises the failure of a call for the plan. */
int lze_plan_fail(lua_State *L, const lze_Plan *p, const lze_Outcome *out);
/* Destroys the plan's lists, events and queues. */
void lze_plan_strip(lze_Plan *p);

/* --- lze_io.c ------------------------------------------------------------- */

/* buffer:read(nil, nil, destination) and buffer:write(source), with values on
   the stack. */
void lze_io_read(lua_State *L, int buffer, int destination);
void lze_io_write(lua_State *L, int buffer, int source);
/* Stores how long the copy of the input or output at stack index `io` took; it
   began at `since`, a time of lze_now_ns, and ends now. */
void lze_io_took(lua_State *L, const lze_Plan *p, int io, uint64_t since);
/* Before a run: copies the host's data to inputs; raises. Script code may
   run. */
void lze_plan_put_inputs(lua_State *L, lze_Plan *p, int table);
/* After a run of that parity: copies outputs to their destination tables. */
void lze_plan_get_outputs(lua_State *L, const lze_Plan *p, int table,
                          uint32_t parity);

/* --- lze_run.c ------------------------------------------------------------ */

/* Enqueues one run; raises. The plan's table is at stack index `table`. A
   joined run fails if the run before it fails. The plan owns the command. */
lze_Command *lze_plan_start(lua_State *L, lze_Plan *p, int table, bool joined,
                            bool timed);
/* Raises if a callback of the plan is running: a run that it started would
   come after the run of the callback, which waits for the callback, and its
   own callback would start yet another one. */
void lze_plan_check_calling(lua_State *L, const lze_Plan *p);
/* Returns the parity of the run whose callback is running; without one, that
   of the next or of the last run. */
uint32_t lze_plan_parity(const lze_Plan *p, bool next);
/* Runs the plan immediately. Returns false if there is work to do or to wait
   for first, or if the plan needs Lua. Requires no Lua state and raises
   nothing. Unless the attempt is over, call lze_plan_complete: it waits for a
   longer run, or raises a failure. */
typedef struct lze_Attempt {
  bool over;
  lze_Command *command;         /* in flight; NULL: refused */
  lze_Outcome out;
} lze_Attempt;
bool lze_plan_attempt(lze_Plan *p, lze_Attempt *a);
void lze_plan_complete(lua_State *L, const lze_Plan *p, const lze_Attempt *a);
/* Registers the functions that the state's waits need for runs. */
void lze_open_run(lua_State *L);
/* Frees a run that was not started; NULL is allowed. */
void lze_run_drop(lze_State *S, struct lze_Run *r);

/* --- lze_tasks.c ---------------------------------------------------------- */

/* Returns the event that times the beginning of a step; `event` times the
   end. */
lze_EventSlot *lze_step_first(const lze_Step *s);
/* Records the tasks of a recorded run that begins, if its plan measures them.
   If memory runs out, continues; the record then says so. */
void lze_tasks_begin(lze_Plan *p, lze_Command *c);
/* Call it when the run was refused. */
void lze_tasks_refuse(const lze_Command *c);
/* From now on the events of steps belong to the run of `next`, which may be
   NULL; the next commands on the plan's queue will reset them. Before that,
   saves the times of the previous run. */
void lze_tasks_replace(lze_Plan *p, struct lze_Tasks *next);
/* Call it when the run c, which has tasks, is over. */
void lze_tasks_over(lze_Command *c);
/* Frees all tasks of a plan that is destroyed. */
void lze_tasks_free(lze_Plan *p);

/* --- lze_report.c, lze_plan.c --------------------------------------------- */

/* plan:report(), plan:json(), plan:trace() and plan:dot() */
int lze_plan_report(lua_State *L);
int lze_plan_json(lua_State *L);
int lze_plan_trace(lua_State *L);
int lze_plan_dot(lua_State *L);
/* Pushes the functions of lua/json.lua and returns 1. [-0, +1] */
int lze_push_json(lua_State *L);
void lze_open_report(lua_State *L);

/* Returns the open plan at 1. Raises for other values, and while the plan is
   being changed. */
lze_Plan *lze_check_plan(lua_State *L);
/* Implements g:compile(options): the graph is at 1, its options at 2; pushes a
   plan. */
int lze_plan_compile(lua_State *L);

#endif
