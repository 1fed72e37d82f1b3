/*
 * lze_state.h - what belongs to one Lua state.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STATE_H
#define LZE_STATE_H

#include "base/lze_base.h"

typedef enum lze_Policy {
  LZE_POLICY_LZE,     /* the heuristic */
  LZE_POLICY_DRIVER,  /* what zeKernelSuggestGroupSize said */
  LZE_POLICY_LARGEST, /* the largest divisor that is legal */
  LZE_POLICY_TORNADO, /* TornadoVM's rule */
  LZE_POLICY_TUNED    /* what lze.tune has found, else the heuristic */
} lze_Policy;

/* What a variable of the environment says. */
typedef enum lze_Setting {
  LZE_SETTING_OFF, /* 0 */
  LZE_SETTING_ON,  /* 1 */
  LZE_SETTING_WORD /* the word that it takes besides */
} lze_Setting;

/* What waits need of runs that have parts on the host (plan/lze_run.c, which
   says what each does).  Called only while the state has runs; `over` for each
   run whose tasks are recorded. */
typedef struct lze_HostedRuns {
  void (*advance)(lua_State *L);
  int (*wait)(lua_State *L, lze_Command *c, uint64_t ns);
  void (*abandon)(lze_State *S, uint64_t deadline);
  void (*over)(lze_Command *c);
} lze_HostedRuns;

/* A wait's clock, of lze_now_ns: when it began, what it is now, and when the
   work of the host's last got on. */
typedef struct lze_WaitTimes {
  uint64_t began_ns, now_ns, moved_ns;
} lze_WaitTimes;

/* The same of work of the host's (run/lze_host_work.h), while there is any.
   Neither raises or runs Lua code; both may retire commands. */
typedef struct lze_WorkSteps {
  /* Take a step of all that has begun, and begin what can; `awaited` is what is
     waited for, since `began` (lze_now_ns), or NULL. */
  void (*advance)(lze_State *S, const lze_Command *awaited, uint64_t began);
  /* The same in a wait, whose clock goes on: how long the host may do without
     another, in ns. */
  uint64_t (*pause)(lze_State *S, const lze_Command *awaited,
                    lze_WaitTimes *times);
} lze_WorkSteps;

/* What contexts ask of the storeys above. */
typedef struct lze_ContextHooks {
  /* Read the variables that say how the state works, once. */
  void (*configure)(lua_State *L, lze_State *S);
  /* Close all that was made in the context, then the context. */
  void (*close)(lze_Context *context);
  /* Let go of the queues and events that belong to it. */
  void (*drop)(lze_Context *context);
} lze_ContextHooks;

struct lze_State {
  bool closed;
  struct lze_Guard *guard;      /* that is in force, or NULL: lze_guard.h */
  struct lze_Protection *protection; /* the innermost, or NULL */
  size_t owed;                  /* to the collector: lua_versions.h */
  const lze_System *system;     /* NULL before the first context */
  const lze_ContextHooks *context_hooks;
  lze_Context *contexts;        /* all that are alive */
  lze_Command *free_commands;
  int hook_ref;                 /* a Lua function for lze_run_hook: it loops */
  int cache_ref;                /* weak: userdata by the address they show */
  int module_ref;               /* the table that luaopen_lze returns */
  const lze_DeviceInfo *device; /* the default, once it is known */
  lze_Context *context;         /* lze.default's, owned; or NULL */
  lze_Queue *queue;             /* likewise */
  struct lze_PlanRef *plans;    /* kept by C: see lze.h */
  lze_Policy policy;            /* LZE_GROUP_POLICY */
  char *groups;                 /* LZE_GROUP, malloc'ed, or NULL */
  bool configured;              /* the variables below have been read */
  bool sync;                    /* LZE_SYNC=1: wait after each launch */
  lze_Setting lists;            /* LZE_USE_IMMEDIATE_COMMANDLISTS; the word is
                                   that it is not set */
  lze_Setting check;            /* LZE_CHECK: canaries round storages; lua:
                                   k:check before launches, too */
  bool arrays;                  /* lze.array is in use */
  bool work_item;               /* a kernel's function runs on the host */
  int lua_checks;               /* that go on, one in another */
  struct lze_Outside *outside;  /* with it, what lies outside of views */
  double growth;                /* of the limit, by lze.gc */
  size_t soft_limit;            /* the least the limit is */
  size_t peak;                  /* of bytes */
  uint64_t launches, collections, storages;
  uint64_t reports;             /* of accesses outside, that launches raised */
  uint64_t buffers_gone;        /* closed or collected: while it stays, a
                                   buffer's address is that buffer's */
  lua_State *main;
  uint64_t serial;              /* of the newest command */
  uint64_t marks;               /* searches among commands so far */
  struct lze_Recorder *recorder; /* while a profile records, or NULL */
  struct lze_Page *page;        /* that `lze top` sees, or NULL */
  void (*shown)(lze_State *S);  /* for lze_show(); or NULL */
  struct lze_Ending *ending;    /* LZE_PROFILE's, or NULL */
  uint64_t records;             /* made so far */
  uint64_t looked_ns;           /* that recorders looked at what is copied */
  uint32_t queues;              /* likewise */
  struct lze_Run *runs;         /* of plans, with parts on the host */
  const lze_HostedRuns *hosted; /* set before there are any */
  struct lze_HostWork *works;   /* of the host's, in the order of issue */
  const lze_WorkSteps *steps;   /* set before there is any */
  uint32_t advance_in;          /* commands until one takes a step of them */
  lze_Command *calling;         /* the run that a callback is part of */
  bool stranded;                /* a command has been, with what it uses */
  uint64_t close_ns;            /* how long its end waits for the device */
  size_t bytes;                 /* of all storages, pending frees included */
  size_t limit;                 /* where they force a collection */
  size_t debt;                  /* allocated since the last step for them */
  uint64_t closes;              /* how often anything was closed by hand */
  uint32_t releasing;           /* memory of the host's, by its callbacks */
};

/* Bring what `lze top` sees up to date. */
static inline void lze_show(lze_State *S) {
  if (S->shown != NULL) S->shown(S);
}

/* The one state of this lua_State, made by luaopen_lze.  Raises when it is
   already closed (a finaliser that runs after lze's own). [-0, +0] */
lze_State *lze_state(lua_State *L);
/* The same, or NULL before it is made; it may be closed. */
lze_State *lze_find_state(lua_State *L);
/* Keep it in the registry. [-1, +0] */
void lze_keep_state(lua_State *L);
/* The table that the registry has for an address, empty at first. [-0, +1] */
void lze_push_kept_table(lua_State *L, const void *key);
/* Memory that is never freed, as something may use it for ever: leak checkers
   find it here. */
void lze_leave(void *memory);

#endif
