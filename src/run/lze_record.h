/*
 * lze_record.h - what profiles record: commands, waits, builds, memory, marks.
 * SPDX-License-Identifier: MIT
 *
 * While a state has a profile that records, it has a recorder: a ring of
 * records, in which the newest replace the oldest.  Every command is then timed
 * by the device and is a command of its own.  None of these functions raises,
 * and none makes garbage; those with `L` look up the line of the script.
 */
#ifndef LZE_RECORD_H
#define LZE_RECORD_H

#include "base/lze_state.h"
#include "run/lze_buffer.h"
#include "run/lze_group.h"
#include "spirv.h"

typedef enum lze_RecordKind {
  LZE_RECORD_NONE,              /* of a command that was not enqueued */
  LZE_RECORD_KERNEL,
  LZE_RECORD_COPY,
  LZE_RECORD_FILL,
  LZE_RECORD_GRAPH,             /* one run of a plan */
  LZE_RECORD_TASK,              /* a part of such a run: its time is in that */
  LZE_RECORD_COMMAND,           /* any other of the device */
  LZE_RECORD_WAIT,
  LZE_RECORD_BUILD,
  LZE_RECORD_ALLOC,
  LZE_RECORD_FREE,
  LZE_RECORD_COLLECTION,        /* of Lua's garbage, which lze has forced */
  LZE_RECORD_MARK,
  LZE_RECORD_MESSAGE,           /* work of the host's, as lze.mpi's */
  LZE_RECORD_POWER              /* of a device, in that time */
} lze_RecordKind;

/* The groups of a launch, and what its work-items compute in all. */
typedef struct lze_Shape {
  uint64_t global[3];
  uint64_t flops[3];            /* of half, float and double */
  uint32_t group[3];
  uint32_t why;                 /* of the group: a string, 0 for none */
  uint8_t dims;
  bool counted;                 /* these flops are known; */
  bool more;                    /* but there may be more */
} lze_Shape;

/* So many of a launch's arguments are recorded. */
enum { LZE_GIVEN = 6 };

typedef struct lze_Record {
  uint64_t queued_ns;           /* the call, of what the device does */
  uint64_t call_ns;             /* how long that call was busy with it */
  uint64_t submitted_ns;        /* of a batched queue: given to the device */
  uint64_t start_ns, end_ns;    /* 0 before it is over */
  uint64_t after;               /* number of what it depends on, 0: nothing */
  uint64_t bytes;
  uint8_t kind;
  bool failed;
  bool again;                   /* a copy: these bytes were there already */
  bool collected;               /* memory: freed by the collector */
  uint32_t name, source, line;  /* strings by number; line 0: not known */
  uint32_t device, place;       /* a string, and its index + 1; 0 for none */
  uint32_t queue;
  uint32_t untimed;             /* a string: why a run has not all its tasks */
  lze_Shape shape;              /* of a launch */
  uint32_t form;                /* of a launch: a string, see lze_given_push */
  uint64_t given[LZE_GIVEN];
  uint64_t storage;             /* its serial, of memory and copies into it; of
                                   a build a hash of what and for what */
  uint64_t parent;              /* of a task: number of its run; else 0 */
  double watts;                 /* of power */
} lze_Record;

/* The strings of records, shared by those who read them. */
typedef struct lze_Names lze_Names;
const char *lze_name(const lze_Names *names, uint32_t number);

/* The records of one profile: while it records, those of the ring from `first`
   on, then its own copy. */
typedef struct lze_Profile {
  struct lze_Profile *next;     /* of those of the state that record */
  lze_State *state;             /* NULL once stopped */
  uint64_t first, most;         /* the number of the first; of a copy, too */
  uint64_t start_ns, end_ns;
  bool pending;                 /* commands were, when it began */
  size_t bytes;                 /* of memory in use when it ended */
  lze_Record *records;          /* the copy, in the order of the calls */
  size_t count;
  uint64_t dropped;             /* older ones that the ring had no room for */
  lze_Names *names;
} lze_Profile;

/* Begin to record, `most` records at most; commands may be pending.  False
   without memory. */
bool lze_profile_start(lze_Profile *p, lze_State *S, size_t most,
                       bool pending);
/* How many older records there was no room for, so far. */
uint64_t lze_profile_dropped(const lze_Profile *p);
/* Copy what a profile has recorded so far, to be freed by lze_profile_free;
   false without memory. */
bool lze_profile_copy(const lze_Profile *p, lze_Profile *copy);
/* Record no more, and keep a copy.  False without memory: nothing is kept. */
bool lze_profile_stop(lze_Profile *p);
/* Stop where need be, and free what it has. */
void lze_profile_free(lze_Profile *p);

/* A command of that name begins; its record gets more from what knows what it
   is. */
void lze_record_begin(lua_State *L, lze_Command *c, const char *name);
void lze_record_launch(const lze_Command *c, struct lze_Kernel *k);
/* [-0, +1] the arguments of a launch, as "a = 2.0, x = float[64]"; the last
   that were not recorded as "..."; nil where there are none. */
void lze_given_push(lua_State *L, const lze_Names *names, const lze_Record *r);
/* So many work-items each compute that; NULL where it is not known. */
void lze_shape_flops(lze_Shape *shape, const spirv_flops *flops,
                     uint64_t items);
/* Settled are bytes that no pending command writes. */
void lze_record_copy(const lze_Command *c, const lze_Copy *copy,
                     bool from_settled, bool to_settled);
void lze_record_kind(const lze_Command *c, lze_RecordKind kind, size_t bytes);
/* A call that reads or writes elements begins, and it ends: its copy's record
   has all of its time, with the wait and the conversion. */
typedef struct lze_Transfer {
  uint64_t records, start_ns;   /* 0: nothing records */
  uint64_t looked_ns;           /* of the state, then */
} lze_Transfer;
lze_Transfer lze_record_transfer(const lze_State *S);
void lze_record_transferred(const lze_State *S, lze_Transfer t);
/* It is enqueued, it is given to the device, which is later in a batched queue,
   it never will be, it is over and its times are known. */
void lze_record_end(const lze_Command *c);
void lze_record_submitted(const lze_Command *c, uint64_t ns);
void lze_record_abort(const lze_Command *c);
void lze_record_over(lze_Command *c);
/* A task of the run c, which begins: its record, of which the caller sets what
   it knows before the next one is made, and the number of that; NULL where that
   of the run is not there any more.  Nobody sees it before lze_record_timed. */
lze_Record *lze_record_task(const lze_Command *c, const char *name,
                            const lze_DeviceInfo *device, const char *why,
                            uint64_t *number);
/* That task took from then till then. */
void lze_record_timed(const lze_State *S, uint64_t number, uint64_t start_ns,
                      uint64_t end_ns);
/* Why the tasks of the run of that record are not known. */
void lze_record_untimed(lze_State *S, uint64_t run, const char *why);

/* What the host has done from `start_ns` until now: a wait, a build, a mark; 0
   is now. `S->recorder` is not NULL. The record is there until the next one; it
   has no line where L is NULL. */
lze_Record *lze_record_host(lua_State *L, lze_State *S, lze_RecordKind kind,
                            const char *name, uint64_t start_ns, size_t bytes);
/* The line of the script now: its source, the line itself is in *ar; NULL where
   there is none.  And that of a record, where it is not that of now. */
const char *lze_record_source(lua_State *L, lua_Debug *ar);
void lze_record_line(const lze_State *S, lze_Record *record,
                     const char *source, int line);
/* Work of the host's is issued: its number, to say later that it is over. */
uint64_t lze_record_work(lua_State *L, lze_State *S, const char *name);
void lze_record_work_over(lze_State *S, uint64_t number, const char *name,
                          uint64_t start_ns, size_t bytes, bool failed);
/* The script waits, or has waited: look how much power the devices that were
   used take, unless that was a moment ago. */
void lze_record_power(lua_State *L, lze_State *S);
/* A storage has been allocated since then (`L` is not NULL) or is freed. */
void lze_record_memory(lua_State *L, lze_Storage *s, uint64_t start_ns);
/* One that has just been allocated is filled with zeros. */
void lze_record_zeroed(const lze_Storage *s);
/* One is not the script's own, but an "array" or, for a copy, "staging". */
void lze_record_use(const lze_Storage *s, const char *name);

#endif
