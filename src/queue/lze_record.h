/*
 * lze_record.h - records of profiles: commands, waits, builds, memory, marks.
 * SPDX-License-Identifier: MIT
 *
 * While a state has a profile that records, it has a recorder: a ring of
 * records, in which the newest replace the oldest.  Every command is then timed
 * by the device and is a separate command.  These functions never raise and
 * create no garbage; the functions with `L` look up the line of the script.
 */
#ifndef LZE_RECORD_H
#define LZE_RECORD_H

#include "base/lze_state.h"
#include "queue/lze_names.h"
#include "queue/lze_storage.h"
#include "spirv.h"

typedef enum lze_RecordKind {
  LZE_RECORD_NONE,              /* for a command that was not enqueued */
  LZE_RECORD_KERNEL,
  LZE_RECORD_COPY,
  LZE_RECORD_FILL,
  LZE_RECORD_GRAPH,             /* one run of a plan */
  LZE_RECORD_TASK,              /* a part of a run, included in its time */
  LZE_RECORD_COMMAND,           /* any other device command */
  LZE_RECORD_WAIT,
  LZE_RECORD_BUILD,
  LZE_RECORD_ALLOC,
  LZE_RECORD_FREE,
  LZE_RECORD_COLLECTION,        /* of the Lua collector, forced by lze */
  LZE_RECORD_MARK,
  LZE_RECORD_MESSAGE,           /* host work, such as that of lze.mpi */
  LZE_RECORD_POWER              /* of a device, during that time */
} lze_RecordKind;

/* The groups of a launch, and the total arithmetic of its work-items. */
typedef struct lze_Shape {
  uint64_t global[3];
  uint64_t flops[3];            /* half, float and double */
  uint32_t group[3];
  uint32_t why;                 /* reason for the group: a string, or 0 */
  uint8_t dims;
  bool counted;                 /* these flops are valid; */
  bool more;                    /* but there may be more */
} lze_Shape;

/* At most this number of a launch's arguments are recorded. */
enum { LZE_GIVEN = 6 };

typedef struct lze_Record {
  uint64_t queued_ns;           /* time of the call that enqueued it */
  uint64_t call_ns;             /* duration of that call */
  uint64_t submitted_ns;        /* if batched: submitted to the device */
  uint64_t start_ns, end_ns;    /* 0 before it is over */
  uint64_t after;               /* number of a record it depends on, or 0 */
  uint64_t bytes;
  uint8_t kind;
  bool failed;
  bool again;                   /* a copy: these bytes were already there */
  bool collected;               /* memory freed by the collector */
  uint32_t name, source, line;  /* strings by number; line 0: unknown */
  uint32_t device, place;       /* a string, and its index + 1; or 0 */
  uint32_t queue;
  uint32_t untimed;             /* a string: why tasks of a run are missing */
  lze_Shape shape;              /* of a launch */
  uint32_t form;                /* of a launch: a string for lze_given_push */
  uint64_t given[LZE_GIVEN];
  uint64_t storage;             /* serial of memory or a copy's target; for a
                                   build a hash of source and target */
  uint64_t parent;              /* of a task: number of its run; else 0 */
  double watts;                 /* of power */
} lze_Record;

/* The records of one profile: while it records, the records of the ring from
   `first` on, then its own copy. */
typedef struct lze_Profile {
  struct lze_Profile *next;     /* in the state's list of active ones */
  lze_State *state;             /* NULL once stopped */
  uint64_t first, most;         /* the number of the first; also for a copy */
  uint64_t start_ns, end_ns;
  bool pending;                 /* commands were pending when it began */
  size_t bytes;                 /* memory in use when it ended */
  lze_Record *records;          /* the copy, in the order of the calls */
  size_t count;
  uint64_t dropped;             /* older ones that the ring had no room for */
  lze_Names *names;
} lze_Profile;

/* Begins to record at most `most` records; commands may be pending.  Returns
   false if memory runs out. */
bool lze_profile_start(lze_Profile *p, lze_State *S, size_t most,
                       bool pending);
/* Returns the number of older records that did not fit so far. */
uint64_t lze_profile_dropped(const lze_Profile *p);
/* Copies the records of a profile so far, to be freed by lze_profile_free;
   returns false if memory runs out. */
bool lze_profile_copy(const lze_Profile *p, lze_Profile *copy);
/* Stops recording, and retains a copy.  Returns false if memory runs out: then
   no copy is retained. */
bool lze_profile_stop(lze_Profile *p);
/* Stops recording if necessary, and frees its memory. */
void lze_profile_free(lze_Profile *p);

/* Begins the record of a command with that name; the functions below complete
   it. */
void lze_record_begin(lua_State *L, lze_Command *c, const char *name);
/* Returns the record of a command, or NULL if there is none any more. */
lze_Record *lze_record_of(const lze_Command *c);
/* The strings of the recorder, and the number of its first record; there must
   be a recorder. */
lze_Names *lze_recorder_names(const lze_State *S);
uint64_t lze_recorder_first(const lze_State *S);
/* Sets the flops for `items` work-items that each compute this; NULL if
   unknown. */
void lze_shape_flops(lze_Shape *shape, const spirv_flops *flops,
                     uint64_t items);
/* Records the bytes of a copy.  They are settled if no pending command writes
   them. */
void lze_record_copy(const lze_Command *c, const lze_Copy *copy,
                     bool from_settled, bool to_settled);
void lze_record_kind(const lze_Command *c, lze_RecordKind kind, size_t bytes);
/* A call that reads or writes elements, from its start to its end: the record
   of its copy gets its whole duration, with the wait and the conversion. */
typedef struct lze_Transfer {
  uint64_t records, start_ns;   /* 0: nothing records */
  uint64_t looked_ns;           /* S's value at that time */
} lze_Transfer;
lze_Transfer lze_record_transfer(const lze_State *S);
void lze_record_transferred(const lze_State *S, lze_Transfer t);
/* Called when the command is enqueued; when it is submitted to the device,
   which is later in a batched queue; when it will never be submitted; when it
   is over and its times are available. */
void lze_record_end(const lze_Command *c);
void lze_record_submitted(const lze_Command *c, uint64_t ns);
void lze_record_abort(const lze_Command *c);
void lze_record_over(lze_Command *c);
/* Begins a task of the run c: returns its record, which the caller completes
   before the next one is created, and its number; NULL if the record of the run
   has been replaced.  It is invisible until lze_record_timed. */
lze_Record *lze_record_task(const lze_Command *c, const char *name,
                            const lze_DeviceInfo *device, const char *why,
                            uint64_t *number);
/* Sets the start and the end of that task. */
void lze_record_timed(const lze_State *S, uint64_t number, uint64_t start_ns,
                      uint64_t end_ns);
/* Records why the tasks of the run with that record are unknown. */
void lze_record_untimed(lze_State *S, uint64_t run, const char *why);

/* Records what the host has done from `start_ns` until now: a wait, a build, a
   mark; 0 means now.  `S->recorder` must not be NULL.  The record is valid
   until the next one; it has no line if L is NULL. */
lze_Record *lze_record_host(lua_State *L, lze_State *S, lze_RecordKind kind,
                            const char *name, uint64_t start_ns, size_t bytes);
/* Returns the source of the current line of the script, and the line in *ar;
   NULL if it is unknown.  The second function sets the line of a record that
   does not have the current one. */
const char *lze_record_source(lua_State *L, lua_Debug *ar);
void lze_record_line(const lze_State *S, lze_Record *record,
                     const char *source, int line);
/* Records that host work is issued; returns its number, to report its end
   later. */
uint64_t lze_record_work(lua_State *L, lze_State *S, const char *name);
void lze_record_work_over(lze_State *S, uint64_t number, const char *name,
                          uint64_t start_ns, size_t bytes, bool failed);
/* Measures the power of the used devices, before and after a wait of the
   script, unless that was done a moment ago. */
void lze_record_power(lua_State *L, lze_State *S);
/* Records that a storage was allocated, from `start_ns` to now (`L` is not
   NULL), or is freed. */
void lze_record_memory(lua_State *L, lze_Storage *s, uint64_t start_ns);
/* Records that a storage just allocated is filled with zeros. */
void lze_record_zeroed(const lze_Storage *s);
/* Records that a storage does not belong to the script but is an "array" or,
   for a copy, "staging". */
void lze_record_use(const lze_Storage *s, const char *name);

#endif
