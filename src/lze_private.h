/*
 * lze_private.h - every contract between the files of src/.
 * SPDX-License-Identifier: MIT
 *
 * Two kinds of memory meet here.  Userdata belong to Lua; native objects
 * (lze_Object and what begins with one) belong to C and are counted, because
 * neither anchoring nor the order of finalisers can say when a device is
 * done.  A function that may raise says so; "[-n, +m]" is its stack effect.
 */
#ifndef LZE_PRIVATE_H
#define LZE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#include <level_zero/ze_api.h>

#include "prepare.h"
#include "cache.h"
#include "spirv.h"

#ifndef LZE_VERSION
#error "LZE_VERSION comes from the Makefile"
#endif

typedef struct lze_State lze_State;
typedef struct lze_Object lze_Object;
typedef struct lze_Context lze_Context;
typedef struct lze_Storage lze_Storage;
typedef struct lze_Module lze_Module;
typedef struct lze_Kernel lze_Kernel;
typedef struct lze_Queue lze_Queue;
typedef struct lze_Command lze_Command;
typedef struct lze_Use lze_Use;
typedef struct lze_Watch lze_Watch;
typedef struct lze_Native lze_Native;
typedef struct lze_Memory lze_Memory;
typedef struct lze_Type lze_Type;
typedef struct lze_Plan lze_Plan;
typedef struct lze_Copy lze_Copy;

/* ------------------------------------------------------------------------
 * lze_group.c: how a range is cut into groups.  Pure functions of what is
 * known before anything runs: no Lua, no driver call, no state.
 */

typedef enum lze_Policy {
  LZE_POLICY_LZE,     /* the heuristic */
  LZE_POLICY_DRIVER,  /* what zeKernelSuggestGroupSize said */
  LZE_POLICY_LARGEST, /* the largest divisor that is legal */
  LZE_POLICY_TORNADO, /* TornadoVM's rule */
  LZE_POLICY_ONEAPI_JL, /* oneAPI.jl's */
  LZE_POLICY_TUNED    /* what lze.tune has found, else the heuristic */
} lze_Policy;

/* What is known of a kernel, a device and a range.  Sizes are in work-items
   unless the name says bytes. */
typedef struct lze_GroupInput {
  /* the kernel */
  uint32_t required[3];     /* a required group size, or zeros */
  uint32_t kernel_max;      /* the most work-items a group of it may have */
  uint32_t kernel_subgroup; /* sub-group width compiled for; 0 unknown */
  uint64_t local_bytes;     /* per group, static and dynamic */
  uint64_t private_bytes, spill_bytes; /* per work-item */
  uint32_t builtins, features;         /* these as in spirv_kernel */
  uint32_t beside[3], apart[3], again[3];
  uint32_t local_fit[3], local_items;
  /* the device */
  bool software;            /* a CPU: a group is what one core vectorises */
  bool offsets;             /* the driver has global offsets */
  uint32_t max_total, max_size[3], max_count[3];
  uint32_t units;           /* cores, or execution units */
  uint32_t core_units;      /* of these units share local memory */
  uint32_t threads_per_unit; /* each of them runs a sub-group */
  uint32_t simd;            /* the physical SIMD width */
  uint64_t device_local_bytes;
  /* the range; every dimension is at least 1 here */
  int dims;
  uint64_t global[3], offset[3];
  uint32_t given[3];        /* a group given by hand, or zeros */
  const char *given_by;     /* what to call it: "the given group" */
  lze_Policy policy;
  uint32_t suggested[3];    /* the driver's or lze.tune's, for those policies;
                               zeros where lze.tune has none */
} lze_GroupInput;

/* One launch: count groups of that size, from that offset on. */
typedef struct lze_GroupPart {
  uint32_t group[3], count[3], offset[3];
} lze_GroupPart;

enum { LZE_MAX_PARTS = 16 };

/* parts[0] is the body, what follows are tails; together the parts cover
   every work-item of the range exactly once. */
typedef struct lze_GroupChoice {
  int count;
  lze_GroupPart parts[LZE_MAX_PARTS];
  char why[200];            /* the reason, or what is wrong */
} lze_GroupChoice;

/* Choose.  A limit of 0 is one that is not known.  Returns false, with what is
   wrong in `why`, worded to follow "kernel NAME: ", and no parts, where a
   given or required group, the limits on groups or 32 bits of offset cannot be
   met; without these it never fails.  A given group larger than the range of a
   kernel that splits is cut to it. */
bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out);

/* Sizes worth measuring, in the order of what is expected of them: of each
   octave of sizes in all, and along x, the one that the rule likes best; only
   the one where a kernel requires it, or its local memory has places for just
   that. Returns how many, at most `most`; none where the choice would fail. */
int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most);

/* Whether a range may be split into a body and tails without the kernel
   noticing: nothing but GlobalInvocationId is used and the driver has
   offsets. */
bool lze_group_splits(const lze_GroupInput *in);

/* ------------------------------------------------------------------------
 * lze_schedule.c: the order in which the steps of a plan run.  Pure functions
 * too.
 */

/* Bytes [first, last) of a storage, and what a step does with them. */
typedef struct lze_Access {
  lze_Storage *storage;
  size_t first, last;
  bool read, write;
} lze_Access;

/* Whether they share bytes. */
static inline bool lze_access_meets(const lze_Access *a, const lze_Access *b) {
  return a->storage == b->storage && a->first < b->last && b->first < a->last;
}

/* A growing array of numbers of steps. */
typedef struct lze_Numbers {
  uint32_t *items;
  uint32_t count, capacity;
} lze_Numbers;

/* One more; false without memory. */
bool lze_numbers_add(lze_Numbers *n, uint32_t item);

/* What is to be ordered: step i comes after those before it in the array that
   it conflicts with, and after those in `after`, which are before it too. */
typedef struct lze_Node {
  lze_Access *accesses;
  uint32_t access_count, access_capacity;
  lze_Numbers after;
  uint32_t engine;          /* it runs in a lane of this engine */
  bool host;                /* runs on the host, when all before it is done */
  /* found: */
  lze_Numbers deps;         /* the fewest that imply all others, ascending */
  uint32_t segment;         /* what hosts' steps lie between; from 0 */
  uint32_t lane;
  bool barrier;             /* it comes after a step of its own lane that no
                               barrier has waited for yet */
  bool awaited;             /* a step of another lane comes after it */
} lze_Node;

enum { LZE_MAX_LANES = 32 };

typedef struct lze_Schedule {
  uint32_t segment_count, lane_count;
  uint32_t lane_engine[LZE_MAX_LANES];
  size_t row;               /* words in a row of `reach` */
  uint64_t *reach;          /* row i has bit j: i comes after j; malloc'ed */
} lze_Schedule;

bool lze_access_add(lze_Node *node, const lze_Access *access);
/* A hash of more bytes than before; begins with 0. */
uint64_t lze_hash(uint64_t hash, const void *bytes, size_t size);
void lze_node_free(lze_Node *node);

/* Find the order.  `width` says how many lanes each engine has.  Lane 0 is of
   engine 0 and always there.  False without memory. */
bool lze_schedule(lze_Node *nodes, uint32_t count, const uint32_t *width,
                  uint32_t engines, lze_Schedule *s);
void lze_schedule_free(lze_Schedule *s);
/* Whether step i comes after step j. */
static inline bool lze_schedule_after(const lze_Schedule *s, uint32_t i,
                                      uint32_t j) {
  return s->reach[i * s->row + j / 64] >> j % 64 & 1;
}

/* Of buffers that share memory; that of every element type. */
enum { LZE_PLACE_ALIGNMENT = 128 };

/* A buffer that lives in a plan only. */
typedef struct lze_Transient {
  lze_Storage *storage;     /* what the nodes' accesses have for it */
  size_t bytes, offset;
} lze_Transient;

/* Give each a place so that two share bytes only if all uses of one come after
   all uses of the other.  Returns how many bytes they need together,
   SIZE_MAX without memory. */
size_t lze_schedule_place(const lze_Schedule *s, const lze_Node *nodes,
                          uint32_t count, lze_Transient *items, uint32_t n,
                          size_t alignment);

/* ------------------------------------------------------------------------
 * lze_loader.c: the Level Zero loader, opened once for the whole process at
 * first use, and what it found.  Nothing of this changes afterwards, so it
 * is shared by all states and threads.
 */

/* The entry points that lze uses.  The first list is in every loader since
   1.4; the second is looked up and may be NULL. */
#define LZE_FUNCTIONS(X)                                                     \
  X(zeInit) X(zeDriverGet) X(zeDriverGetApiVersion)                          \
  X(zeDriverGetProperties) X(zeDriverGetExtensionProperties)                 \
  X(zeDriverGetExtensionFunctionAddress)                                     \
  X(zeDeviceGet) X(zeDeviceGetSubDevices) X(zeDeviceGetProperties)           \
  X(zeDeviceGetComputeProperties) X(zeDeviceGetModuleProperties)             \
  X(zeDeviceGetMemoryProperties) X(zeDeviceGetCommandQueueGroupProperties)   \
  X(zeDeviceGetGlobalTimestamps) X(zeDeviceCanAccessPeer)                    \
  X(zeDeviceGetStatus)                                                       \
  X(zeContextCreate) X(zeContextCreateEx) X(zeContextDestroy)                \
  X(zeCommandListCreateImmediate) X(zeCommandListCreate)                     \
  X(zeCommandListDestroy) X(zeCommandListClose) X(zeCommandListReset)        \
  X(zeCommandQueueCreate) X(zeCommandQueueDestroy)                           \
  X(zeCommandQueueExecuteCommandLists)                                       \
  X(zeCommandListAppendMemoryPrefetch) X(zeCommandListAppendMemAdvise)       \
  X(zeCommandListAppendLaunchKernel) X(zeCommandListAppendMemoryCopy)        \
  X(zeCommandListAppendMemoryCopyRegion)                                     \
  X(zeCommandListAppendMemoryFill) X(zeCommandListAppendBarrier)             \
  X(zeCommandListAppendEventReset)                                           \
  X(zeEventPoolCreate) X(zeEventPoolDestroy)                                 \
  X(zeEventCreate) X(zeEventDestroy) X(zeEventHostReset)                     \
  X(zeEventHostSignal)                                                       \
  X(zeEventHostSynchronize) X(zeEventQueryStatus)                            \
  X(zeEventQueryKernelTimestamp)                                             \
  X(zeMemAllocShared) X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemFree)     \
  X(zeMemGetAllocProperties) X(zeMemGetAddressRange)                         \
  X(zeMemGetIpcHandle) X(zeMemOpenIpcHandle) X(zeMemCloseIpcHandle)          \
  X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleGetNativeBinary)            \
  X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy)                    \
  X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties)              \
  X(zeKernelSetGroupSize) X(zeKernelSuggestGroupSize)                        \
  X(zeKernelSetArgumentValue) X(zeKernelSetIndirectAccess)

typedef struct lze_Functions {
#define X(name) __typeof__(&name) name;
  LZE_FUNCTIONS(X)
#undef X
  __typeof__(&zeKernelSetGlobalOffsetExp) zeKernelSetGlobalOffsetExp;
} lze_Functions;

extern lze_Functions lze_ze; /* all NULL before lze_system succeeded */

/* Every call of the driver goes through here, so that LZE_LOG=calls can show
   it with its result and time. */
#define ZE(name, ...)                                                        \
  __extension__({                                                            \
    uint64_t ze_start = lze_log_calls ? lze_now_ns() : 0;                    \
    ze_result_t ze_result = lze_ze.name(__VA_ARGS__);                        \
    if (lze_log_calls) lze_log_call(#name, ze_result, ze_start);             \
    ze_result;                                                               \
  })
/* What a call of the driver came to: where several may fail, the name says
   which one did. */
typedef struct lze_Outcome {
  const char *call;             /* NULL: lze itself found no memory */
  ze_result_t result;
} lze_Outcome;
#define LZE_NO_MEMORY                                                        \
  ((lze_Outcome){NULL, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY})

/* Call, and keep the outcome in *out; true on success. */
#define ZE_TRY(out, name, ...)                                               \
  lze_outcome((out), #name, ZE(name, __VA_ARGS__))
static inline bool lze_outcome(lze_Outcome *out, const char *call,
                               ze_result_t result) {
  *out = (lze_Outcome){call, result};
  return result == ZE_RESULT_SUCCESS;
}

extern bool lze_log_calls; /* set once, when the loader is opened */
void lze_log_call(const char *name, ze_result_t result, uint64_t start_ns);
uint64_t lze_now_ns(void); /* CLOCK_MONOTONIC */

typedef struct lze_Driver {
  ze_driver_handle_t handle;
  uint32_t api, version;
  int index;                 /* position in lze_System.drivers */
  bool offsets;              /* has ZE_experimental_global_offset */
  bool kernel_max;           /* has ..._kernel_max_group_size_properties */
  bool appends_lists;        /* has ..._immediate_command_list_append */
  char name[64];
  /* zeDriverGetLastErrorDescription (1.6), which old loaders lack but let a
     driver give, and the handle that it takes; NULL where there is none. */
  ze_result_t (*last_error)(ze_driver_handle_t, const char **);
  ze_driver_handle_t raw;
  prepare_function prepare;  /* of our own driver, or NULL */
  /* What a native list or event can be asked, since 1.9; NULL where it cannot
     be.  They take the handles that the loader gives out. */
  ze_result_t (*list_device)(ze_command_list_handle_t, ze_device_handle_t *);
  ze_result_t (*list_context)(ze_command_list_handle_t,
                              ze_context_handle_t *);
  ze_result_t (*list_ordinal)(ze_command_list_handle_t, uint32_t *);
  ze_result_t (*list_is_immediate)(ze_command_list_handle_t, ze_bool_t *);
  ze_result_t (*event_pool)(ze_event_handle_t, ze_event_pool_handle_t *);
  ze_result_t (*pool_context)(ze_event_pool_handle_t, ze_context_handle_t *);
  /* zeCommandListImmediateAppendCommandListsExp (1.9), likewise, and NULL where
     the driver does not say that it has the extension. */
  ze_result_t (*append_lists)(ze_command_list_handle_t, uint32_t,
                              ze_command_list_handle_t *, ze_event_handle_t,
                              uint32_t, ze_event_handle_t *);
} lze_Driver;

/* A root device or a tile, as the system has it or as one of a context that
   the host lends (lze_device_in). */
typedef struct lze_DeviceInfo lze_DeviceInfo;
struct lze_DeviceInfo {
  const lze_DeviceInfo *base;      /* the system's, which is its own */
  lze_Context *context;            /* of one in a lent context, else NULL */
  ze_device_handle_t handle;
  const lze_Driver *driver;
  const lze_DeviceInfo *parent;    /* of a tile */
  lze_DeviceInfo *tiles;
  uint32_t tile_count;
  int index;                       /* unique in the process, from 0 */
  const char *type;                /* "gpu", "cpu", "npu", "fpga", "mca" */
  ze_device_properties_t props;    /* timerResolution in cycles per second */
  ze_device_compute_properties_t compute;
  ze_device_module_properties_t module;
  uint64_t memory_bytes;
  uint32_t ordinal;                /* of the command queue group with compute */
  uint32_t copy_ordinal;           /* of one that only copies, or the same */
  uint32_t queues, copy_queues;    /* how many each of them has */
};

typedef struct lze_System {
  int driver_count;
  lze_Driver *drivers;
  int device_count;                /* root devices, GPUs first */
  lze_DeviceInfo *devices;
  int total_devices;               /* tiles included: bound of .index */
  char loader[32];                 /* where and which, for a person */
  bool wraps;                      /* the loader may wrap handles */
  char software[512];              /* why our own driver shows none, or "" */
  char missing[1024];              /* why a device is missing, or "" */
} lze_System;

/* An entry point of the opened loader, or NULL. */
void *lze_loader_symbol(const char *name);
/* Whether the drivers were initialised with ZES_ENABLE_SYSMAN=1. */
bool lze_sysman_enabled(void);

/* What the host has decided before that: see lze.h.  False afterwards. */
bool lze_set_drivers(const char *directory);
bool lze_set_environment(bool keep);

/* Open the loader and initialise the drivers at the first call.  Raises an
   error object when there is no loader or no driver initialises. */
const lze_System *lze_system(lua_State *L);

/* Have the driver compile what a launch of these parts needs, without running
   it. UNSUPPORTED_FEATURE where the driver cannot be asked. */
ze_result_t lze_prepare(const lze_Driver *d, ze_kernel_handle_t kernel,
                        const lze_GroupChoice *choice);
/* Append closed lists to an immediate one, where d->append_lists is there. */
ze_result_t lze_append_lists(const lze_Driver *d,
                             ze_command_list_handle_t list, uint32_t count,
                             ze_command_list_handle_t *lists,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* ------------------------------------------------------------------------
 * lze_error.c: error objects, argument errors and waiting that Lua can
 * interrupt.
 */

/* "ERROR_DEVICE_LOST" and so on, or NULL for a code unknown to lze. */
const char *lze_result_name(ze_result_t result);

/* Raise an error object, or a plain "not enough memory" where `call` is NULL.
   `object` names what it is about ("kernel saxpy")
   or is NULL, `call` is the entry point or tool, `log` a build log or NULL;
   the rest is the message as for lua_pushfstring (NULL: a sentence made from
   the code and, where it has one, the driver's own last description). */
int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) __attribute__((noreturn));

/* The same for failures that are not Level Zero's: `code` is a word. */
int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format, ...)
    __attribute__((noreturn));

/* A number of errno as its name, "ENOENT", for such a code. */
const char *lze_errno_name(int error);

/* A key of `options` (a table at stack index t) that is not in the NULL
   terminated list `known` raises and lists what is known; `what` names the
   table. */
void lze_check_keys(lua_State *L, int t, const char *what,
                    const char *const *known);

/* As lua_getfield, but raw: no metamethod of a script may run, and close
   something, while options are read. [-0, +1] */
int lze_getoption(lua_State *L, int t, const char *key);

/* "integer", "string "abc"", "buffer of float" ...: what came, for messages.
   [-0, +1] and returns the string. */
const char *lze_describe(lua_State *L, int index);

/* An argument that must be a number with an exact integer value. */
lua_Integer lze_check_integer(lua_State *L, int arg, const char *name);
lua_Integer lze_opt_integer(lua_State *L, int arg, const char *name,
                            lua_Integer otherwise);

/* A time-out in seconds at `arg`; none or nil: forever.  Returns the point in
   time of lze_now_ns at which it runs out, UINT64_MAX for never. */
uint64_t lze_check_deadline(lua_State *L, int arg);

/* Let a pending debug hook run (Ctrl-C in lua5.4 sets one), the main thread's
   for a coroutine that has none.  Returns LUA_OK,
   or the status of an error that is then on the stack, to be raised with
   lua_error after cleaning up. */
int lze_run_hook(lua_State *L);

/* ------------------------------------------------------------------------
 * lze_gc.c: everything about lifetime.
 *
 * A native object has owners (userdata) and pins (commands in flight, and
 * objects made from it).  Its native handle is destroyed as soon as it is
 * closed or has no owner, and has no pin; the struct is freed when nothing
 * refers to it.  Until then it is a pending free.  Nothing here waits or
 * raises except where said.
 */

typedef struct lze_Class {
  const char *name;
  /* Destroy the native handle and drop the pins it held on others. */
  void (*destroy)(lze_Object *o);
  /* Free what the struct has of its own, which a call that a finaliser runs
     in the middle of may still read after that; NULL for nothing. */
  void (*release)(lze_Object *o);
} lze_Class;

struct lze_Object {
  const lze_Class *cls;
  lze_Context *context;         /* itself for a context */
  uint32_t owners, pins;
  bool closed;                  /* by hand: every later use is an error */
  bool destroyed;               /* the native handle is gone */
  bool part;                    /* belongs to its context, does not pin it */
  lze_Object *prev, *next;      /* the context's objects */
};

/* A zeroed object of `size` bytes with one owner, which pins `context` (NULL
   for a context).  NULL when memory runs out. */
void *lze_object_new(const lze_Class *cls, size_t size, lze_Context *context);
/* Make it a part of its context instead: the context's destructor disowns
   it, and until then it does not keep the context alive. */
void lze_object_make_part(lze_Object *o);
void lze_pin(lze_Object *o);
void lze_unpin(lze_Object *o);    /* may destroy it */
void lze_own(lze_Object *o);
void lze_disown(lze_Object *o);   /* may destroy it */
void lze_close(lze_Object *o);    /* idempotent; may destroy it */

struct lze_Context {
  lze_Object o;
  lze_State *state;
  const lze_Driver *driver;
  lze_Native *native;           /* NULL before it is made, and destroyed */
  ze_context_handle_t handle;   /* of native */
  bool is_default;              /* owned by the state */
  bool lent;                    /* its devices are its own (lze_device_in) */
  struct lze_LentDevice *devices; /* these */
  lze_Object *objects;          /* everything made in it */
  lze_Queue *queues;            /* those with a native list */
  lze_Command *foreign;         /* those that show events of the host */
  struct lze_EventPool *pools;
  struct lze_EventSlot *free_events[2]; /* plain; with timestamps */
  lze_Context *next;            /* of the state */
  uint32_t device_count;        /* 0: it is for all of the driver's */
  const lze_DeviceInfo *only[]; /* these, and their tiles */
};

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
  bool timed;
  bool submitted;               /* given to the device */
  lze_Outcome failure;          /* why, of a failed one, or one that will have
                                   (lze_command_doom); else no call */
  lze_Context *context;         /* pinned while it is in flight */
  struct lze_EventSlot *event;  /* signalled when all of it is done; NULL as
                                   long as nobody needs to know of this one */
  bool *lazy;                   /* whether its like should begin without;
                                   NULL where nobody asks */
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
  bool foreign;                 /* shows an event of the host (lze_wrap.c) */
  bool lent;                    /* its native event was given to the host */
  lze_Command *next;            /* in its queue, its context's foreign ones, or
                                   the free list */
};

struct lze_State {
  bool closed;
  const lze_System *system;     /* NULL before the first context */
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
  bool check;                   /* LZE_CHECK=1: canaries round storages */
  double growth;                /* of the limit, by lze.gc */
  size_t soft_limit;            /* the least the limit is */
  size_t peak;                  /* of bytes */
  uint64_t launches, collections, storages;
  lua_State *main;
  uint64_t serial;              /* of the newest command */
  struct lze_Run *runs;         /* of plans, with parts on the host */
  lze_Command *calling;         /* the run that a callback is part of */
  bool stranded;                /* a command has been, with what it uses */
  uint64_t close_ns;            /* how long its end waits for the device */
  size_t bytes;                 /* of all storages, pending frees included */
  size_t limit;                 /* where they force a collection */
  size_t debt;                  /* allocated since the last step for them */
  uint64_t closes;              /* how often anything was closed by hand */
};

/* The one state of this lua_State, made by luaopen_lze.  Raises when it is
   already closed (a finaliser that runs after lze's own). [-0, +0] */
lze_State *lze_state(lua_State *L);

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
   The first raises unless all are events that a command on queue q can wait
   for, with `what` in front; the second makes c wait for them. */
void lze_check_after(lua_State *L, int index, const lze_Queue *q,
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
   queue in order, as long as nobody needs to know of it alone, can stand for
   one more.  lze_extensible returns it if it began with this `lazy`;
   lze_command_repeats says whether its i-th use is just this, and no other
   command uses that storage; lze_extend counts one more launch, appended. */
lze_Command *lze_extensible(const lze_Queue *q, const bool *lazy);
bool lze_command_repeats(const lze_Command *c, uint32_t i,
                         const lze_Storage *storage, size_t first, size_t last,
                         bool write);
void lze_extend(lze_Command *c);

/* A command that stands for a native event of the host, with one owner: never
   over, it is what the event is whenever it is asked. */
lze_Command *lze_command_foreign(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device,
                                 ze_event_handle_t event);

/* Append to c's list, after all that is c, a signal of the native event. */
bool lze_command_signal(const lze_Command *c, ze_event_handle_t event,
                        lze_Outcome *out);
/* The wrapped event at `index`, which a command on queue q can signal; raises
   for anything else with `what` in front. */
ze_event_handle_t lze_check_signal(lua_State *L, int index,
                                   const lze_Queue *q, const char *what);

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

/* Whether a command waits for a run whose callback is running: then nothing in
   there waits for it. */
bool lze_command_is_later(const lze_Command *c);
/* Whether what is enqueued now would come after such a command, and so never
   run. */
bool lze_queue_is_later(const lze_Queue *q);
/* Whether a pending command waits for `first`, whatever lies in between. */
bool lze_command_follows(const lze_Command *c, const lze_Command *first);
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

/* Wait for the pending commands that touch bytes [first, last) of a storage
   and conflict with reading (or, with `write`, writing) them on the host. */
void lze_storage_wait(lua_State *L, lze_Storage *s, size_t first,
                      size_t last, bool write);
/* Whether there are any; asks the device, does not wait.  Raises as
   lze_command_check does, unless L is NULL. */
bool lze_storage_pending(lua_State *L, lze_Storage *s, size_t first,
                         size_t last, bool write);

/* The commands of a queue that were not submitted have been, or could not be,
   and have failed with that outcome. */
void lze_queue_submitted(lze_Queue *q, const lze_Outcome *out);

/* Whether a queue has work in flight that the copy would come after for no
   other reason than the order of the queue.  Asks the device, does not wait. */
bool lze_queue_delays(lze_Queue *q, const lze_Copy *copy);

/* Wait for everything on a queue; true when done.  Raises as above. */
bool lze_queue_drain(lua_State *L, lze_Queue *q, uint64_t deadline);
/* Whether the open queue can take one more command.  If not, wait, as above,
   for its oldest: then a hook may have closed anything, or made another queue
   the default, and the caller finds its queue again and asks once more.  To be
   called before arguments are checked. */
bool lze_queue_ready(lua_State *L, lze_Queue *q);
/* The same for all queues of the state. */
bool lze_state_drain(lua_State *L, uint64_t deadline);
/* Forget a failure that was kept for the next wait. */
void lze_failure_drop(lze_Command **slot);

/* Retire what is done on every queue of the state, without waiting. */
void lze_reap(lze_State *S);

/* Before `bytes` are allocated: reap, and let the collector work as much as
   device memory asks for.  After an allocation failed: reap, collect fully,
   reap.  Both may run Lua finalisers and respect a stopped collector. */
void lze_gc_init(lze_State *S);
void lze_pressure(lua_State *L, size_t bytes);
void lze_make_room(lua_State *L);

/* Close everything made in a context, then the context. */
void lze_context_close(lze_Context *context);
/* The end of a state: wait for its queues, S->close_ns at most. What a hung
   device still uses is leaked, with a warning. */
void lze_state_close(lua_State *L, lze_State *S);

/* ------------------------------------------------------------------------
 * lze_box.c: userdata.  Every userdata of lze begins with an lze_Box whose
 * kind is the address of its type's name, which makes telling one from
 * another two comparisons, whatever metatable a script gave it.
 */

typedef struct lze_Box {
  const char *kind;       /* "buffer": also what lze.type answers */
} lze_Box;

extern const char lze_buffer_kind[], lze_context_kind[], lze_device_kind[],
    lze_driver_kind[], lze_event_kind[], lze_kernel_kind[],
    lze_local_kind[], lze_module_kind[], lze_queue_kind[], lze_graph_kind[],
    lze_plan_kind[], lze_scratch_kind[], lze_slice_kind[];

/* [-0, +1] a zeroed userdata of `size` bytes with one user value and the
   metatable of its kind.  Raises when memory runs out. */
void *lze_push_box(lua_State *L, const char *kind, size_t size);
/* At the beginning of a state; and at its end: finalise what finalisers have
   made, which Lua does not once it closes the state. [-0, +0] */
void lze_boxes_open(lua_State *L);
void lze_boxes_close(lua_State *L);
/* The userdata of that kind at `index`, or NULL. */
void *lze_test_box(lua_State *L, int index, const char *kind);
/* The same, or raise "<kind> expected, got ...". */
void *lze_check_box(lua_State *L, int arg, const char *kind);
/* Raise that the object at `arg` is closed: the message names the method, or
   the field, index or operator if a metamethod is running. */
int lze_closed(lua_State *L, int arg, const char *kind)
    __attribute__((noreturn));
/* The kind of the value at `index` if it is one of lze's, else NULL. */
const char *lze_box_kind(lua_State *L, int index);

/* One named field of a kind: pushes its value. The box is at 1, the name at
   2. */
typedef struct lze_Field {
  const char *name;
  int (*get)(lua_State *L);
} lze_Field;

/* Make the metatable of a kind from its metamethods, methods and fields
   (each NULL terminated).  Without an __index among the metamethods, one is
   made that finds methods and fields and otherwise raises, listing what is
   known; lze_box_index does the same for an __index of its own. [-0, +0] */
void lze_new_kind(lua_State *L, const char *kind,
                  const luaL_Reg *metamethods, const luaL_Reg *methods,
                  const lze_Field *fields);
/* Answer for the string key at 2 of the box at 1; upvalue 1 of the running
   function is the table that lze_new_kind gave to all metamethods. */
int lze_box_index(lua_State *L);

/* ------------------------------------------------------------------------
 * lze_core.c: the module, drivers, devices and contexts.
 */

/* The device at `index`, or NULL. */
const lze_DeviceInfo *lze_test_device(lua_State *L, int index);
/* [-0, +1] the userdata of a device, the same each time. */
void lze_push_device(lua_State *L, const lze_DeviceInfo *info);
/* The default device (LZE_DEVICE, else the first).  Raises if there is none.
   It is the caller's until anything of Lua's may run: a finaliser may set
   another, and drop a lent context with its devices. */
const lze_DeviceInfo *lze_default_device(lua_State *L);
/* [-0, +1] the same with its userdata, which keeps it. */
const lze_DeviceInfo *lze_push_default_device(lua_State *L);
/* Make a device the default, with its context if that is a lent one. */
void lze_set_default_device(lua_State *L, const lze_DeviceInfo *info);
/* The device, or the first that the selector matches, at `index`; raises with
   `what` in front for anything else, and where nothing matches. */
const lze_DeviceInfo *lze_device_at(lua_State *L, int index,
                                    const char *what);
/* The device and context that are asked for: the device at `told` (0 or nil:
   none), else the option `device` of the table at t (0: no table); the option
   `context`.  What is not asked for is the default one, but a context tells its
   device where it has one only, and has another where it has not the default
   one.
   [-0, +4 at most] what is left on the stack keeps both alive; a finaliser may
   still close the context. */
void lze_opt_place(lua_State *L, int told, int t,
                   const lze_DeviceInfo **device, lze_Context **context);
/* [-0, +1] the userdata of the context that `get` answers, which is asked again
   after whatever may run finalisers. */
typedef lze_Context *lze_ContextGetter(lua_State *L, void *of);
lze_Context *lze_push_context(lua_State *L, lze_ContextGetter *get, void *of);
/* The context of a device when none is asked for: its own in a lent context,
   else lze.default's if it can, else the shared one of its driver.  Made at
   first use; may raise.  The caller's, as the default device is. */
lze_Context *lze_device_context(lua_State *L, const lze_DeviceInfo *info);
/* [-0, +1] the same with its userdata, which keeps it alive. */
lze_Context *lze_push_device_context(lua_State *L, const lze_DeviceInfo *info);
/* The device as things made in a context name it: in a lent context one of its
   own, whose context it is, else the system's.  Two things of one context are
   on one device exactly when they name the same.  Raises where the context was
   made without the device. */
const lze_DeviceInfo *lze_device_in(lua_State *L, lze_Context *context,
                                    const lze_DeviceInfo *info);
/* [-0, +2] what keeps it alive, and the device in the context of a native
   handle that was made elsewhere, which is this state's context over it from
   then on, and returned.  May raise. */
lze_Context *lze_push_lent_device(lua_State *L, const lze_DeviceInfo *info,
                                  ze_context_handle_t handle);

/* ------------------------------------------------------------------------
 * lze_telemetry.c: what a device says of itself.
 */

/* [-0, +1] a table of what there is to be had. */
void lze_push_telemetry(lua_State *L, const lze_DeviceInfo *device);

/* ------------------------------------------------------------------------
 * lze_wrap.c: native objects of the host.
 */

/* lze.wrap itself. */
int lze_wrap(lua_State *L);

/* [-0, +1] a buffer on USM of the host's, after checking that it is that: see
   lze_push_borrowed. Raises as lze.wrap does. */
void lze_push_usm(lua_State *L, lze_Context *context,
                  const lze_DeviceInfo *device, void *pointer,
                  const lze_Type *type, lua_Integer count,
                  void (*release)(void *, void *), void *userdata);

/* ------------------------------------------------------------------------
 * lze_share.c: what the states of a process hold together.  Counted under one
 * lock, because any thread may let go of it.
 */

/* A native context. */
struct lze_Native {
  const lze_Driver *driver;
  ze_context_handle_t handle;
  bool shared;                  /* the one that states use by default */
  bool foreign;                 /* the host's, never destroyed here */
  unsigned references;
  lze_Native *next;             /* of all there are */
};

/* With one reference more: the shared one of a driver, a new one for some of
   its devices, or the host's.  NULL with the outcome. */
lze_Native *lze_native_shared(const lze_Driver *driver, lze_Outcome *out);
lze_Native *lze_native_new(const lze_Driver *driver,
                           const lze_DeviceInfo *const *devices,
                           uint32_t count, lze_Outcome *out);
lze_Native *lze_native_foreign(const lze_Driver *driver,
                               ze_context_handle_t handle);
void lze_native_ref(lze_Native *native);
void lze_native_unref(lze_Native *native); /* the last one destroys it */

/* What is to be done when nobody needs an allocation any more: free `base` in
   its context if it is `owned`, then tell all that are to be told.  With one
   reference; NULL without memory. */
lze_Memory *lze_memory_new(lze_Native *native, void *base, bool owned);
/* An allocation of another process: of which, and the driver's number of it
   there. */
typedef struct lze_Origin {
  uint64_t process, id;
} lze_Origin;
/* The same for one that was opened here, to be closed, and that is found by
   where it comes from: a process that opens memory once has it at one address,
   so that its commands are kept in order. */
lze_Memory *lze_memory_opened(lze_Native *native, void *base,
                              const lze_Origin *origin);
/* With one reference more, and where it is; NULL where there is none. */
lze_Memory *lze_memory_find(const lze_Native *native, const lze_Origin *origin,
                            void **base);
/* A random number that this process has, and no other. */
uint64_t lze_process_id(void);
void lze_memory_ref(lze_Memory *memory);
void lze_memory_unref(lze_Memory *memory);
/* Somebody to be told, once however often the same is given; false without
   memory. */
bool lze_memory_tell(lze_Memory *memory,
                     void (*release)(void *userdata, void *pointer),
                     void *userdata, void *pointer);

/* A token for the open buffer `b`, after a wait; raises. */
uint64_t lze_export(lua_State *L, int arg);
/* [-0, +1] the buffer of a token, which is then used up; raises. */
void lze_push_import(lua_State *L, uint64_t token);

/* ------------------------------------------------------------------------
 * lze_ipc.c: buffers that go from one process to another.
 */

/* [-0, +1] a token, a string, for the buffer at `arg`, after a wait for all
   that this state has under way; raises. */
int lze_push_passport(lua_State *L, int arg);
/* [-0, +1 and what keeps the context] the buffer of such a token at `arg`,
   where the table at `options`, or nil, says; raises. */
int lze_push_arrival(lua_State *L, int arg, int options);

/* ------------------------------------------------------------------------
 * lze_select.c: device selectors.
 */

/* Push an array of the devices that the selector at `arg` (nil: all)
   matches, in order. [-0, +1] Raises for a bad selector, which is `what`. */
void lze_select(lua_State *L, int arg, const char *what);

/* ------------------------------------------------------------------------
 * lze_types.c: element types.
 */

typedef enum lze_Scalar {
  LZE_I8, LZE_U8, LZE_I16, LZE_U16, LZE_I32, LZE_U32, LZE_I64, LZE_U64,
  LZE_F16, LZE_BF16, LZE_F32, LZE_F64
} lze_Scalar;

struct lze_Type {
  const char *name;       /* "float4" */
  lze_Scalar scalar;
  uint8_t lanes;          /* what a script sees: 3 for float3 */
  uint8_t scalar_bytes;
  uint8_t bytes;          /* what an element occupies: 16 for float3 */
};

/* The type of that name or alias, or NULL. */
const lze_Type *lze_type_find(const char *name);
const lze_Type *lze_type_of(lze_Scalar scalar, unsigned lanes);
/* The type named at `arg`, or raise and list what there is. */
const lze_Type *lze_check_type(lua_State *L, int arg);
/* Push the element at p. [-0, +1] */
void lze_type_push(lua_State *L, const lze_Type *t, const void *p);
/* Store the value at `index` into p, or leave that and return false.  Nothing
   of Lua's runs. */
bool lze_type_try(lua_State *L, const lze_Type *t, int index, void *p);
/* Store the value at `index` into p.  False when it does not fit, with what
   is wrong pushed as a string ("expected ..., got ..."); p is untouched. */
bool lze_type_store(lua_State *L, const lze_Type *t, int index, void *p);
/* Store `n` elements of the table at `t`, from `from` on.  Returns n, or how
   many were stored before one did not fit, with what is wrong pushed. */
size_t lze_type_store_table(lua_State *L, const lze_Type *type, int t,
                            lua_Integer from, size_t n, void *p);
void lze_type_push_table(lua_State *L, const lze_Type *type, int t,
                         lua_Integer at, size_t n, const void *p);

/* ------------------------------------------------------------------------
 * lze_storage.c, lze_memory.c and lze_copy_box.c: storages and buffers.
 */

typedef enum lze_Usage { LZE_SHARED, LZE_DEVICE, LZE_HOST } lze_Usage;

/* One USM allocation. */
struct lze_Storage {
  lze_Object o;
  lze_Usage usage;
  const lze_DeviceInfo *device;
  char *pointer;                /* NULL when bytes is 0 */
  size_t bytes;
  bool guarded;                 /* has canaries on both sides */
  bool borrowed;                /* not ours to free: see lze_push_borrowed */
  uint64_t id;                  /* the driver's, of a borrowed one */
  lze_Memory *memory;           /* where it is shared, or somebody is to be
                                   told of its end; else NULL */
  uint64_t serial;              /* unlike its address, never used again */
  lze_Use *uses;                /* what commands in flight touch */
  lze_Command *failed;          /* a failure nobody has heard of */
};

/* The userdata: a window on a storage. */
typedef struct lze_Buffer {
  lze_Box box;
  bool view;
  lze_Storage *storage;         /* NULL once closed */
  const lze_Type *type;
  size_t offset;                /* bytes into the storage */
  lua_Integer count;            /* elements */
} lze_Buffer;

/* USM memory that was allocated elsewhere, all of its allocation, as the driver
   describes it. */
typedef struct lze_Borrowed {
  lze_Usage usage;
  char *base;
  size_t bytes;
  uint64_t id;
} lze_Borrowed;
/* [-0, +1] a buffer of `count` elements from `pointer` on, which lies in
   `memory`.  Buffers on one allocation share a storage, so that their commands
   are kept in order.  With a `release`, it is called when nothing in this
   state needs that storage any more; the same one with the same userdata is
   called once.  Raises, and then release is never called. */
lze_Buffer *lze_push_borrowed(lua_State *L, lze_Context *context,
                              const lze_DeviceInfo *device,
                              const lze_Borrowed *memory, void *pointer,
                              const lze_Type *type, lua_Integer count,
                              void (*release)(void *, void *),
                              void *userdata);

/* [-0, +1] a buffer of a storage on exported memory: the one that the context
   has already, or a new one, which takes over a reference; raises. */
lze_Buffer *lze_push_shared(lua_State *L, lze_Context *context,
                            const lze_Storage *like, const lze_Type *type,
                            size_t offset, lua_Integer count);
/* Where the memory of a storage begins, its canaries included. */
char *lze_storage_base(const lze_Storage *s);

/* lze.buffer itself. */
int lze_buffer_new(lua_State *L);

/* Whether a device can use what was allocated for another. */
bool lze_device_peers(const lze_DeviceInfo *device,
                      const lze_DeviceInfo *home);
/* Whether what runs on a device may touch a storage of its context. */
bool lze_device_reaches(const lze_DeviceInfo *device, const lze_Storage *s);

/* The open buffer at `arg`; raises for anything else. */
lze_Buffer *lze_check_buffer(lua_State *L, int arg);
/* The buffer at `index`, open or not, or NULL. */
lze_Buffer *lze_test_buffer(lua_State *L, int index);
bool lze_buffer_is_open(const lze_Buffer *b);
/* With LZE_CHECK=1: whether what lies round a storage has been overwritten;
   then where is pushed, "4 bytes after its end". The canaries are made whole
   again, so that each hit is told once. [-0, +0|1] */
bool lze_storage_damaged(lua_State *L, lze_Storage *s);
/* What a state's storages come to. */
typedef struct lze_StorageCount {
  size_t bytes[LZE_HOST + 1];   /* by usage */
  size_t pinned, pinned_bytes;  /* those that work in flight uses */
} lze_StorageCount;
lze_StorageCount lze_count_storages(const lze_State *S);
/* Of a device's memory what this state does not use; what others use of it
   Level Zero's core cannot tell. */
uint64_t lze_free_bytes(const lze_State *S, const lze_DeviceInfo *device);
/* [-0, +1] a new buffer, its contents not set; raises when memory runs out. */
lze_Buffer *lze_push_buffer(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device, lze_Usage usage,
                            const lze_Type *type, size_t count);
/* [-0, +1] a shared buffer of so many elements with no memory behind it, to
   check a launch with. */
void lze_push_stub(lua_State *L, lze_Context *context,
                   const lze_DeviceInfo *device, const lze_Type *type,
                   lua_Integer count);
/* [-0, +1] a view: `count` elements from byte `offset` of the storage of the
   open buffer at `buffer` on. */
void lze_push_window(lua_State *L, int buffer, size_t offset,
                     const lze_Type *type, lua_Integer count);

/* [-0, +1] the same of a storage that something else keeps. */
void lze_push_storage_window(lua_State *L, lze_Storage *s, size_t offset,
                             const lze_Type *type, lua_Integer count);

/* A buffer of bytes beside the open buffer at `arg`, which making it may run a
   finaliser to close. [-0, +2] the context of both, and the new buffer. */
lze_Buffer *lze_push_beside(lua_State *L, int arg, lze_Usage usage,
                            size_t bytes);
/* The queue at 1 if the buffer at `arg` is not, else its default one, once it
   can take one more command; nothing of Lua's has run since it was found. */
lze_Queue *lze_buffer_queue(lua_State *L, int arg);
/* x:copy_box(src, box) */
int lze_copy_box(lua_State *L);

/* What a copy and a fill come to. */
struct lze_Copy {
  lze_Storage *to, *from;
  size_t to_offset, from_offset, bytes;
};
typedef struct lze_Fill {
  lze_Storage *to;
  size_t offset, bytes, pattern_bytes;
  _Alignas(8) char pattern[16 * 8];
} lze_Fill;
/* Check dst, src, i, j, at, or x, v, i, j, from stack index `arg` on, as the
   methods of a buffer do.  Buffers of two contexts, and copies that overlap,
   raise. */
void lze_copy_check(lua_State *L, int arg, lze_Copy *c);
void lze_fill_check(lua_State *L, int arg, lze_Fill *f);


/* ------------------------------------------------------------------------
 * lze_queue.c: queues, events and the events of the driver behind them.
 */

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
  ze_command_list_handle_t list; /* what commands are appended to */
  bool batched;                 /* else the list is an immediate one */
  bool ordered;                 /* commands run in the order of issue */
  bool native_order;            /* and the driver sees to that itself */
  bool copy_engine;
  bool hazards;                 /* commands wait for those they conflict with */
  lze_Context *home;            /* of a default one: its context, which owns it
                                   and is owned by whoever else does */
  bool transfers;               /* for lze_transfer_queue only */
  bool foreign;                 /* the list is the host's */
  lze_Priority priority;
  uint32_t ordinal;
  /* of a batched one */
  ze_command_queue_handle_t native;
  bool dirty;                   /* the list has commands nobody gave away */
  lze_Batch *open;              /* whose list it is */
  lze_Batch *batches;           /* given to the device, oldest first */

  lze_Command *head, *tail;     /* in flight, oldest first */
  uint32_t in_flight;           /* launches and other commands */
  uint32_t unmarked;            /* the newest of these, without an event */
  lze_Command *probe;           /* the one that lze_begin asks for next */
  uint32_t since_probe;         /* commands begun since it last asked */
  lze_Command *failed;          /* a failure nobody has heard of */
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
/* Destroy every event and pool of a context. */
void lze_events_destroy(lze_Context *context);

/* [-0, +1] an event userdata, made before the command so that nothing can
   fail after it; fill in its command then. */
lze_Event *lze_push_event(lua_State *L);
lze_Event *lze_test_event(lua_State *L, int index);
lze_Queue *lze_check_queue(lua_State *L, int arg);
lze_Queue *lze_test_queue(lua_State *L, int index);
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
/* One owner more, or less; may destroy it. */
void lze_queue_own(lze_Queue *q);
void lze_queue_disown(lze_Queue *q);
/* Make a queue lze.default's, or NULL: none. */
void lze_set_default_queue(lze_State *S, lze_Queue *q);
/* [-0, +1] that queue with a new userdata. */
lze_Queue *lze_push_default_queue(lua_State *L, lze_Context *context,
                                  const lze_DeviceInfo *device);
/* [-0, +1] the same with the userdata that it has, if it has one. */
void lze_push_cached_queue(lua_State *L, lze_Context *context,
                           const lze_DeviceInfo *device);
/* [-0, +1] a queue on an immediate list of the host's, which stays its. */
void lze_push_foreign_queue(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device,
                            ze_command_list_handle_t list, uint32_t ordinal);
/* Give what a batched queue has collected to the device; nothing to do for
   any other.  A failure becomes that of the commands, so it is no result. */
void lze_queue_flush(lze_Queue *q);
/* See that a queue has a list to append to; false with the outcome. */
bool lze_queue_open(lze_Queue *q, lze_Outcome *out);
/* The end of the default queues, with that of their context. */
void lze_queues_drop(lze_Context *context);
/* A moment in CLOCK_MONOTONIC and in a device's own time. */
typedef struct lze_Clock {
  uint64_t host, ticks;
} lze_Clock;
bool lze_clock_read(const lze_DeviceInfo *device, lze_Clock *clock);
/* When what signalled the first of two events began, and how long it was until
   what signalled the last ended; false where the driver cannot tell. */
bool lze_event_times(const lze_DeviceInfo *device, const lze_Clock *clock,
                     const lze_EventSlot *first, const lze_EventSlot *last,
                     uint64_t *start_ns, uint64_t *kernel_ns);
/* Measured start, end and duration of a done, timed command. */
void lze_command_read_times(lze_Command *c);

/* ------------------------------------------------------------------------
 * lze_watch.c: descriptors for poll loops.
 */

/* A descriptor that is readable once the command is over, the same each time;
   closed with the command. Raises when there is none to be had. */
int lze_watch_fd(lua_State *L, lze_Command *c);
/* Wait for the thread behind it, which is about to end as the command is over;
   tell it to end although it is not; do both and close the descriptor.  NULL
   is allowed. */
void lze_watch_join(lze_Watch *w);
void lze_watch_stop(lze_Watch *w);
void lze_watch_free(lze_Watch *w);

/* ------------------------------------------------------------------------
 * lze_module.c and lze_kernel.c: modules, kernels and launches.
 */

struct lze_Module {
  lze_Object o;
  const lze_DeviceInfo *device;
  ze_module_handle_t handle;
  ze_module_build_log_handle_t log;
  spirv_module *spirv;          /* of stubs where the driver compiled it */
  bool source;                  /* it did */
  cache_key key;                /* of what it was built from, and for */
  char name[64];                /* for messages: "module kernels/a.spv" */
};

struct lze_Kernel {
  lze_Object o;
  lze_Module *module;           /* pinned */
  const spirv_kernel *info;     /* of the module's reflection */
  ze_kernel_handle_t handle;
  ze_kernel_properties_t props;
  uint32_t max_group;
  uint32_t group_hint[3];       /* set by the script, or zeros */
  char name[64];                /* "kernel saxpy", cut if longer */
  struct lze_Argument *arguments;
  struct lze_Cut *cut;          /* the last range and how it was cut */
  bool local_arguments;         /* has some */
  bool lazy;                    /* its launches may begin without an event */
  bool foreign;                 /* others may have its handle */
  /* what the native kernel was last told */
  uint32_t group[3], offset[3];
  bool indirect;
  bool task_indirect;           /* by the launch that was checked last */
};

/* lze_spirv.c: as spirv_parse, which it raises for as `call` on `object`, and
   as spirv_validate; both raise when memory runs out. */
spirv_module *lze_parse_spirv(lua_State *L, const void *bytes, size_t size,
                              const char *object, const char *call);
bool lze_validate_spirv(lua_State *L, const void *bytes, size_t size,
                        char *message, size_t cap);

/* lze_compile.c: compile the OpenCL C at stack index `source` with the options
   std, defines, include and flags of the table at t (0: none). `name` is what
   diagnostics call it, `device` what it is for. [-0, +2] the SPIR-V, and what
   the compilers said; raises with their words as err.log. */
void lze_compile(lua_State *L, int source, int t, const char *name,
                 const lze_DeviceInfo *device);

/* These options as one string for the driver's own compiler. [-0, +1] */
const char *lze_compile_flags(lua_State *L, int t);

/* q:launch, q:copy and q:fill: the queue at 1, an event returned. */
int lze_queue_launch(lua_State *L);
int lze_queue_copy(lua_State *L);
int lze_queue_fill(lua_State *L);

/* [-0, +1] the kernel at `kernel` for another device: mod:on does it. */
void lze_push_kernel_for(lua_State *L, int kernel,
                         const lze_DeviceInfo *device);

/* A kernel's launch that a graph records: the kernel at `index`, or NULL (it
   may be closed). */
lze_Kernel *lze_test_kernel(lua_State *L, int index);
/* What is called for each buffer of a launch: of argument `argument`, from 0,
   or of `uses` where that is -1. */
typedef void lze_TaskUse(void *data, int argument, const lze_Access *access);
/* Check range and arguments as a launch does, the range or launch table at
   stack index `range`, `count` arguments after it, and tell what it uses. The
   kernel keeps the arguments for lze_task_append as long as nothing of Lua's
   runs.  `name` is the task's in its plan, or NULL.  NULL where the range is
   empty. */
const lze_GroupChoice *lze_task_check(lua_State *L, lze_Kernel *k,
                                      const char *name, int range, int count,
                                      lze_TaskUse *use, void *data);
/* Append it to a list, each part waiting for the events; `first` is signalled
   by the first of several parts.  False with the outcome. */
bool lze_task_append(lze_Kernel *k, const lze_GroupChoice *choice,
                     ze_command_list_handle_t list, ze_event_handle_t signal,
                     ze_event_handle_t first, uint32_t wait_count,
                     ze_event_handle_t *waits, lze_Outcome *out);

/* What the rule was asked for the launch that was checked last. */
const lze_GroupInput *lze_kernel_input(const lze_Kernel *k);
/* Ask it again when that comes again. */
void lze_kernel_forget(lze_Kernel *k);

/* lze_tune.c: the size that lze.tune has found for a kernel and such a range;
   zeros where it has none. */
void lze_tuned_group(const lze_Kernel *k, const lze_GroupInput *in,
                     uint32_t size[3]);

/* lze_pin.c: raise unless `list` is as LZE_GROUP must be. */
void lze_check_groups(lua_State *L, const char *list);
/* The size that such a list has for a name; false where it has none. */
bool lze_find_group(const char *list, const char *name, uint32_t size[3]);
/* The group that the user has pinned for a kernel, or for a task of a plan
   ("graph.task", or NULL), and by what; NULL for none. */
const char *lze_pinned_group(const lze_Kernel *k, const char *task,
                             uint32_t size[3]);

/* Words for spirv_space and spirv_access. */
extern const char *const lze_space_names[], *const lze_access_names[];
/* [-0, +1] a new kernel of a module. */
int lze_push_kernel(lua_State *L, lze_Module *m, const spirv_kernel *info);
/* Whether the open kernel at `index` may be launched in parts, each with an
   offset, without noticing; its argument i, from 0, may be read, written. */
bool lze_kernel_splits(lua_State *L, int index);
bool lze_kernel_reads(lua_State *L, int index, uint32_t i);
bool lze_kernel_writes(lua_State *L, int index, uint32_t i);
/* The context of the kernel whose stack index is `index`, for
   lze_push_context; raises where it is closed. */
lze_Context *lze_context_of_kernel(lua_State *L, void *index);
/* Whether there is an open kernel at `index`. */
bool lze_kernel_is_open(lua_State *L, int index);
/* Close every kernel of a module. */
void lze_kernels_close(lze_Module *m);
/* The policy of that name; raises and lists what is known, `where` first. */
lze_Policy lze_check_policy(lua_State *L, const char *word,
                            const char *where);

/* ------------------------------------------------------------------------
 * lze_graph.c: recording task graphs.
 *
 * A graph is a table of Lua values, the user value of its userdata:
 *   name      "pipeline"
 *   names     {name = true}, of all entries
 *   entries   array of {kind = "task", name =, n =, [1] ... [n] = values,
 *             device =, access = {[argument] = word}, after = {name, ...}}
 *             values: of a task kernel, range, arguments; of a copy dst, src,
 *             i, j, at; of a fill x, v, i, j; of a call the function; of a
 *             graph its userdata
 *   inputs    array of {buffer, when, source}
 *   outputs   array of {buffer, when, destination}
 *   swaps     array of {a, b}
 */

typedef enum lze_StepKind {
  LZE_STEP_TASK,
  LZE_STEP_COPY,
  LZE_STEP_FILL,
  LZE_STEP_CALL,
  LZE_STEP_GRAPH
} lze_StepKind;
extern const char *const lze_step_names[];

/* What a step's values come to, valid as lze_task_check says. */
typedef struct lze_Checked {
  lze_StepKind kind;
  const char *name;             /* "graph.task"; NULL while recording */
  lze_TaskUse *use;             /* called for each buffer */
  void *data;
  lze_Kernel *kernel;
  const lze_GroupChoice *choice; /* NULL: nothing to run */
  lze_Copy copy;
  lze_Fill fill;
  /* Called last, with this, as long as that is valid: afterwards a hook may
     run.  NULL: nothing. */
  void (*then)(struct lze_Checked *out);
} lze_Checked;

/* Check `count` values from stack index `first` on, in which transient buffers
   have been replaced; kind, name, use and data of `out` are given.  Returns
   LUA_OK, or an error that is on the stack, a message without a position where
   it is misuse. [-0, +0|1] */
int lze_step_check(lua_State *L, int first, int count, lze_Checked *out);
/* Where the error on the top of the stack is about an argument, reduce it to
   what it says, and return the number of the argument; else 0. */
int lze_argument_error(lua_State *L);

/* [-0, +count] the values 1 to count of the table at `values`, those that are
   keys of the table at `map` replaced by what it has for them, also among what
   a launch uses.  Transient buffers that it does not have are given a stub of
   that context, which is added to it. */
void lze_push_values(lua_State *L, int values, int count, int map,
                     lze_Context *context, const lze_DeviceInfo *device);

/* A buffer that exists in plans only. */
typedef struct lze_Scratch {
  lze_Box box;
  const lze_Type *type;
  lua_Integer count;
  const lze_DeviceInfo *device; /* whose memory it is in; NULL: any's */
  bool host;                    /* in the host's instead */
} lze_Scratch;
/* [-0, +1] a new one */
lze_Scratch *lze_push_scratch(lua_State *L, const lze_Type *type,
                              lua_Integer count);

/* Put a copy of the table at the stack's index `arg`, if it is one, in its
   place, with tables within it to that depth: what the script does to its own
   then changes nothing here. */
void lze_copy_value(lua_State *L, int arg, int depth);

/* [-0, +1] the table of the graph at `arg`; raises for anything else, and for
   a closed one. */
void lze_push_graph_table(lua_State *L, int arg);

/* ------------------------------------------------------------------------
 * lze_plan.c, lze_flatten.c, lze_transfer.c, lze_arena.c, lze_replay.c,
 * lze_run.c and lze_report.c: graphs compiled, and their runs.
 *
 * A plan is recorded as closed command lists, a chain of them for each lane of
 * each segment.  A run gives these to the device between two barriers on the
 * plan's own queue, so that it is one command for everything else: the first
 * barrier waits for what the run must wait for and lets lane 0 go, the second
 * waits until lane 0, which waits for all the others, is done.
 *
 * The user value of a plan is a table of Lua values:
 *   steps     array of the entries' tables, as they were or were set
 *   stubs     what transient buffers are replaced by to check a step
 *   real      array by parity: what is replaced to record a step
 *   arenas    array of the buffers that transient ones are parts of, by place
 *   swaps     array of {a, b}
 *   inputs, outputs   those that the host has to do with: {buffer, when,
 *             source or destination}
 */

/* A closed list of some steps of one lane. */
typedef struct lze_Tape {
  lze_Object o;
  ze_command_list_handle_t handle;
  uint32_t segment, lane, parity, number;
  uint64_t contents;            /* a hash of all that is recorded in it */
} lze_Tape;

/* All that was recorded, which a change of the plan leaves as it is: runs that
   are given to the device part by part go by it to their end.  Counted. */
typedef struct lze_Score {
  uint32_t owners;
  uint32_t tape_count, segment_count, lane_count, host_count;
  lze_Tape **tapes;             /* owned, in the order they are given */
  ze_command_list_handle_t *lists; /* theirs */
  struct lze_Chain {
    uint32_t first, count;
  } *chains;                    /* the lists of each lane, by parity, segment
                                   and lane */
  struct lze_HostStep {
    uint32_t segment, step;
  } *hosts;                     /* in order */
} lze_Score;

/* What a plan knows of a step besides its lze_Node. */
/* The steps of a visit: a task uses memory of another device, which comes to a
   shadow of it by way of the host, and goes back. */
typedef enum lze_Leg {
  LZE_LEG_NONE,                 /* not of a transfer that lze has put in */
  LZE_LEG_LEAVES, LZE_LEG_ARRIVES,
  LZE_LEG_RETURNS, LZE_LEG_BACK
} lze_Leg;

typedef struct lze_Step {
  lze_StepKind kind;
  lze_Leg leg;
  uint32_t visit;               /* of that leg: which shadow */
  bool redundant;               /* a leg that need not be made */
  bool empty;                   /* nothing to run */
  const char *name;             /* "graph.task", of the step's table */
  const lze_DeviceInfo *device;
  lze_Kernel *kernel;           /* pinned */
  const char *why;              /* of its group, malloc'ed */
  uint32_t group[3], parts;
  uint32_t version;             /* counts up when it is set */
  uint64_t bytes;               /* that its accesses span */
  lze_EventSlot *event;         /* if awaited, or profiled */
  lze_EventSlot *first;         /* of several parts that are profiled */
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
  bool changing;                /* in a call that leaves it half changed */
  bool feeding;                 /* the inputs of the next run are being put */
  bool stale;                   /* to be recorded again before the next run */
  bool broken;                  /* a start or set has failed half way */
  bool lost;                    /* and nothing can tell when it is over */
  bool begun;                   /* "first" inputs are there */
  bool hosted;                  /* its runs have parts on the host */
  bool fed;                     /* the host puts something into its inputs */
  uint64_t checked;             /* the state's `closes` when all that it uses
                                   was seen to be open */
  uint32_t parities, parity;    /* 2 with swaps; that of the next run */
  uint64_t runs;

  lze_Step *steps;
  lze_Node *nodes;
  uint32_t count, capacity;
  uint32_t tasks;               /* of the steps */
  uint32_t visit_count;         /* shadows of other devices' memory */
  lze_Schedule schedule;
  lze_Engine engines[LZE_MAX_ENGINES];
  uint32_t engine_count;
  lua_Integer limit;            /* of the memory it uses, or -1 */
  uint32_t width;               /* the most queues that each engine may use */
  ze_command_queue_handle_t queues[LZE_MAX_LANES];
  lze_EventSlot *go, *done;     /* of lane 0 */
  lze_EventSlot *starts[LZE_MAX_LANES], *ends[LZE_MAX_LANES]; /* of others */
  lze_Tape **tapes;             /* owned, in the order they are given */
  uint32_t tape_count, tape_capacity;
  lze_Tape **old_tapes;         /* those before, while recorded again */
  uint32_t old_count, old_capacity;
  lze_Score *score;             /* owned; NULL before it is recorded */
  uint32_t recorded;            /* how many were, the last time */
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
  struct lze_Run *spare;        /* for the next run, or NULL */
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

/* g:compile(options): the graph at 1, its options at 2; a plan is pushed. */
int lze_plan_compile(lua_State *L);
/* The open plan at 1. */
lze_Plan *lze_check_plan(lua_State *L);

/* Graphs in graphs in graphs; more are taken for a circle. */
enum { LZE_MAX_DEPTH = 16 };

/* Raise "not enough memory" unless `good`. */
void lze_check_memory(lua_State *L, bool good);
/* lze_flatten.c: fill an empty plan with the steps of the graph whose table is
   at `graph`, and that of the plan at `table`.  Raises all that is wrong with
   them in one message. */
void lze_flatten(lua_State *L, lze_Plan *p, int table, int graph,
                 const char *name);
/* Check the values of step i, whose table is at stack index `step`, and keep
   what they come to. Returns LUA_OK, or an error that is on the stack. The
   plan's table is at `table`. [-0, +0|1] */
int lze_plan_look(lua_State *L, lze_Plan *p, int table, int step, uint32_t i);
/* Let go of what a step was seen to touch, whose storages it owns: a finaliser
   may drop their buffers before the plan has them. */
void lze_accesses_drop(lze_Node *node);
/* lze_transfer.c: find the transfers between devices that need not be made, and
   make their steps empty. */
void lze_plan_spare(lua_State *L, lze_Plan *p, int table);
/* lze_arena.c: the bytes of a buffer. */
lze_Access lze_buffer_span(const lze_Buffer *b);
/* Where the bytes of `a` are when places are changed: false when they stay;
   *torn when only some of them do. */
bool lze_swap_access(const lze_Plan *p, lze_Access *a, bool *torn);
/* Whether, in runs of that parity, `a` is memory of s, or of a transient buffer
   where s is what these are in. */
bool lze_plan_is_in(const lze_Plan *p, const lze_Access *a, uint32_t parity,
                    const lze_Storage *s);
/* Whether places are changed for a part of any of them only, which is refused
   with these words. */
bool lze_swap_tears(const lze_Plan *p, const lze_Access *all, uint32_t count);
extern const char lze_swap_problem[];
/* [-0, +1] the buffer that plays the part of the one at `index` in runs of
   that parity; the plan's table is at `table`. */
void lze_plan_role(lua_State *L, const lze_Plan *p, int table, int index,
                   uint32_t parity);
/* Find out what a run touches and give the transient buffers, which have stubs
   by now, their memory: the maps of both parities get windows on it. Raises
   where it all comes to more than its limit. */
void lze_plan_place(lua_State *L, lze_Plan *p, int table);
/* Replace the kernel at `index` by that for the device where it is of
   another. */
void lze_plan_kernel(lua_State *L, int index, const lze_DeviceInfo *device);
/* Record those of its lists that have changed, and make the queues and events
   that they need. Raises; the plan's table is at stack index `table`. */
void lze_plan_record(lua_State *L, lze_Plan *p, int table);
/* One owner fewer; NULL is allowed. */
void lze_score_disown(lze_Score *score);
/* What a run waits for, and what it signals: `first` once it may begin, or
   NULL, and `end`. */
typedef struct lze_Gate {
  ze_event_handle_t end, first, *waits;
  uint32_t wait_count;
} lze_Gate;
/* Give the lists of a segment to the device; with `last` the end of the gate is
   signalled when they are done.  False with the outcome; then nothing runs, and
   an event that was to be signalled will be. */
bool lze_plan_give(lze_Plan *p, const lze_Score *score, const lze_Gate *gate,
                   uint32_t segment, uint32_t parity, bool last,
                   lze_Outcome *out);
/* Append a barrier that signals the event of c. */
bool lze_plan_finish(lze_Plan *p, lze_Command *c, lze_Outcome *out);
/* Raise what a call for the plan came to. */
int lze_plan_refused(lua_State *L, const lze_Plan *p, const lze_Outcome *out);

/* lze_run.c: enqueue one run; raises.  The plan's table is at stack index
   `table`.  The command belongs to the plan. */
lze_Command *lze_plan_start(lua_State *L, lze_Plan *p, int table, bool timed);
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
/* Go on with runs that have parts on the host.  What their callbacks raise is
   kept for who waits for them. */
void lze_runs_advance(lua_State *L);
/* The same before waiting for c, at most so long: 1 where that has changed
   something, -1 where c waits for what is waiting here, an error on the
   stack. */
int lze_runs_wait(lua_State *L, lze_Command *c, uint64_t ns);
/* At the end of a state, once the device is done with them. */
void lze_runs_abandon(lze_State *S, uint64_t deadline);
/* Free a run that never was one; NULL is allowed. */
void lze_run_drop(lze_State *S, struct lze_Run *r);
/* Let go of everything native. */
void lze_plan_strip(lze_Plan *p);

/* buffer:read(1, #buffer, destination), of values on the stack */
void lze_promise_read(lua_State *L, int buffer, int destination);
/* lze_report.c: the host has copied, since that time of lze_now_ns, what the
   promise at stack index `promise` says. */
void lze_promise_took(lua_State *L, const lze_Plan *p, int promise,
                      uint64_t since);
/* plan:report(), plan:json(), plan:trace() and plan:dot() */
int lze_plan_report(lua_State *L);
int lze_plan_json(lua_State *L);
int lze_plan_trace(lua_State *L);
int lze_plan_dot(lua_State *L);
void lze_open_report(lua_State *L);

/* ------------------------------------------------------------------------
 * Each area's part of the module table. [-0, +0], the table on top.
 */
void lze_open_core(lua_State *L);
void lze_open_memory(lua_State *L);
void lze_open_queue(lua_State *L);
void lze_open_module(lua_State *L);
void lze_open_kernel(lua_State *L);
void lze_open_error(lua_State *L);
void lze_open_spirv(lua_State *L);
void lze_open_compile(lua_State *L);
void lze_open_wrap(lua_State *L);
void lze_open_graph(lua_State *L);
void lze_open_tune(lua_State *L);
void lze_open_plan(lua_State *L);
void lze_open_share(lua_State *L);
void lze_open_parallel(lua_State *L);
void lze_open_capi(lua_State *L);
/* The end of a state: what C has kept of it is not to be used any more. */
void lze_plans_forget(lze_State *S);

#endif
