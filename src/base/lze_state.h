/*
 * lze_state.h - the data of one Lua state.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STATE_H
#define LZE_STATE_H

#include "base/lze_base.h"

typedef enum lze_Policy {
  LZE_POLICY_LZE,     /* the heuristic */
  LZE_POLICY_DRIVER,  /* zeKernelSuggestGroupSize's suggestion */
  LZE_POLICY_LARGEST, /* the largest legal divisor */
  LZE_POLICY_TORNADO, /* TornadoVM's rule */
  LZE_POLICY_TUNED    /* the result of lze.tune, else the heuristic */
} lze_Policy;

/* The value of an environment variable. */
typedef enum lze_Setting {
  LZE_SETTING_OFF, /* 0 */
  LZE_SETTING_ON,  /* 1 */
  LZE_SETTING_WORD /* the word that it also accepts */
} lze_Setting;

/* The functions by which waits drive runs that have parts on the host
   (plan/lze_run.c documents each). Called only while the state has runs;
   `over` is called for each run whose tasks are recorded. */
typedef struct lze_HostedRuns {
  void (*advance)(lua_State *L);
  int (*wait)(lua_State *L, lze_Command *c, uint64_t ns);
  void (*abandon)(lze_State *S, uint64_t deadline);
  void (*over)(lze_Command *c);
} lze_HostedRuns;

/* A wait's times, from lze_now_ns: when it began, the current time, and when
   host work last made progress. */
typedef struct lze_WaitTimes {
  uint64_t began_ns, now_ns, moved_ns;
} lze_WaitTimes;

/* The functions by which waits drive host work (launch/lze_host_work.h), called
   only while there is any. They neither raise nor run Lua code; both may
   retire commands. */
typedef struct lze_WorkSteps {
  /* Takes a step of all work that has begun, and begins work that can begin.
     `awaited` is the command waited for, since `began` (lze_now_ns), or
     NULL. */
  void (*advance)(lze_State *S, const lze_Command *awaited, uint64_t began);
  /* The same in a wait, updating its times. Returns for how many ns the host
     may do without another step. */
  uint64_t (*pause)(lze_State *S, const lze_Command *awaited,
                    lze_WaitTimes *times);
} lze_WorkSteps;

/* Functions of higher layers that contexts call. */
typedef struct lze_ContextHooks {
  /* Reads, once, the environment variables that configure the state. */
  void (*configure)(lua_State *L, lze_State *S);
  /* Closes all objects made in the context, then the context. */
  void (*close)(lze_Context *context);
  /* Releases the queues and events that belong to it. */
  void (*drop)(lze_Context *context);
} lze_ContextHooks;

struct lze_State {
  bool closed;
  struct lze_Guard *guard;      /* the active one, or NULL: lze_guard.h */
  struct lze_Protection *protection; /* the innermost, or NULL */
  size_t owed;                  /* bytes of collector debt: lua_versions.h */
  const lze_System *system;     /* NULL before the first context */
  const lze_ContextHooks *context_hooks;
  lze_Context *contexts;        /* all live contexts */
  lze_Command *free_commands;
  int hook_ref;                 /* a Lua function that loops, for
                                   lze_run_hook */
  int cache_ref;                /* weak: userdata by the address they
                                   represent */
  int module_ref;               /* the table that luaopen_lze returns */
  const lze_DeviceInfo *device; /* the default, once it is determined */
  lze_Context *context;         /* lze.default's, owned; or NULL */
  lze_Queue *queue;             /* the same */
  struct lze_PlanRef *plans;    /* kept by C: see lze.h */
  lze_Policy policy;            /* LZE_GROUP_POLICY */
  char *groups;                 /* LZE_GROUP, malloc'ed, or NULL */
  bool configured;              /* the variables below have been read */
  bool sync;                    /* LZE_SYNC=1: wait after each launch */
  lze_Setting lists;            /* LZE_USE_IMMEDIATE_COMMANDLISTS; "word" if it
                                   is not set */
  lze_Setting check;            /* LZE_CHECK: canaries around storages; "lua":
                                   also k:check before launches */
  bool arrays;                  /* lze.array is in use */
  bool work_item;               /* a kernel's function is running on the host */
  int lua_checks;               /* nested checks of Lua kernels in progress */
  struct lze_Snapshot *snapshot; /* with LZE_CHECK: a copy of the memory outside
                                   a launch's views */
  double growth;                /* factor of the limit, set by lze.gc */
  size_t soft_limit;            /* minimum of the limit */
  size_t peak;                  /* of `bytes` */
  uint64_t launches, collections, storages;
  uint64_t reports;             /* out-of-range accesses that launches have
                                   raised */
  uint64_t buffers_gone;        /* closed or collected; while it is unchanged,
                                   an address identifies the same buffer */
  lua_State *main;
  uint64_t serial;              /* of the newest command */
  uint64_t marks;               /* searches through commands so far */
  struct lze_Recorder *recorder; /* while a profile records, or NULL */
  struct lze_Page *page;        /* shown by `lze top`, or NULL */
  void (*shown)(lze_State *S);  /* for lze_show(); or NULL */
  struct lze_Ending *ending;    /* LZE_PROFILE's, or NULL */
  uint64_t records;             /* of profiles, made so far */
  uint64_t looked_ns;           /* time recorders spent on copied data */
  uint32_t queues;              /* lze queues created so far */
  struct lze_Run *runs;         /* plan runs with parts on the host */
  const lze_HostedRuns *hosted; /* set before the first run */
  struct lze_HostWork *works;   /* host work, in the order of issue */
  const lze_WorkSteps *steps;   /* set before the first work */
  uint32_t advance_in;          /* commands until one takes a step of host
                                   work */
  lze_Command *calling;         /* the run that a callback belongs to */
  bool abandoned;               /* a command was abandoned with its resources */
  uint64_t close_ns;            /* how long closing waits for the device */
  size_t bytes;                 /* of all storages, pending frees included */
  size_t limit;                 /* of `bytes` before a forced collection */
  size_t debt;                  /* bytes allocated since the last forced step */
  uint64_t closes;              /* objects closed explicitly so far */
  uint32_t releasing;           /* release callbacks now running for host
                                   memory */
};

/* Updates the data that `lze top` shows. */
static inline void lze_show(lze_State *S) {
  if (S->shown != NULL) S->shown(S);
}

/* Returns the lze_State of this lua_State, made by luaopen_lze. Raises if it
   is already closed (in a finalizer that runs after lze's). [-0, +0] */
lze_State *lze_state(lua_State *L);
/* Returns the state, which may be closed, or NULL if it is not made yet. */
lze_State *lze_find_state(lua_State *L);
/* Stores the userdata on the top in the registry as the state. [-1, +0] */
void lze_keep_state(lua_State *L);
/* Pushes the table that the registry holds under an address; creates it if
   absent. [-0, +1] */
void lze_push_kept_table(lua_State *L, const void *key);
/* Abandons memory that may be in use forever. It is never freed; leak checkers
   find a reference here. */
void lze_leave(void *memory);

#endif
