/*
 * lze.h - the public C interface of lze.
 * SPDX-License-Identifier: MIT
 *
 * For programs that embed Lua, and for other Lua modules in C.  Four functions
 * are exported; everything else is in the table of functions `lze_Api`, so
 * that a module can use lze without being linked with it: lze_find_api.
 *
 * A function of the table raises nothing: it returns LZE_OK, or another code
 * and, where `error` is not NULL, what was wrong.  It leaves the Lua stack as
 * it was but for what [+1] says it pushes, and nothing on an error.  `index` is
 * a stack index.  A Lua state and what is in it is used by one thread at a
 * time, as always; different states may be used by different threads.
 *
 * Native handles (ze_driver_handle_t and so on) are void pointers here, so
 * that this header needs none of Level Zero's.
 */
#ifndef LZE_H
#define LZE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <lauxlib.h>
#include <lua.h>

/* Grows when something of the table or the structures changes its meaning.
   New functions are added at the end of the table without that: whether one is
   there is told by lze_Api.size (LZE_API_HAS). */
#define LZE_API_VERSION 1u

/* --- codes and errors --------------------------------------------------- */

enum {
  LZE_OK = 0,
  LZE_EMISUSE = 1,  /* a wrong value, a closed object, Lua's own errors */
  LZE_EFAILED = 2,  /* refused by the driver, a file or a compiler */
  LZE_EMEMORY = 3,  /* Lua has no memory */
  LZE_ETIMEOUT = 4  /* not done in that time; nothing is wrong */
};

typedef struct lze_ErrorInfo {
  int code;           /* what the function returned */
  uint32_t result;    /* the ze_result_t of an LZE_EFAILED, or 0 */
  char message[500];  /* cut if longer */
} lze_ErrorInfo;

/* --- structures --------------------------------------------------------- */

/* A buffer to be made over memory of the host: USM, allocated in the context
   of the device. */
typedef struct lze_BufferSpec {
  size_t size;        /* sizeof (lze_BufferSpec) */
  void *pointer;      /* anywhere in an allocation, aligned for the type */
  const char *type;   /* "float", "int4" ... as in lze.buffer */
  size_t count;       /* elements */
  int device;         /* index of a device, 0: the default one */
  /* NULL, or called once when this state needs the allocation no more: on the
     thread that uses the state, maybe in the middle of a collection or of
     lua_close, so it must not use the state.  Not called where push_buffer
     failed.  While the memory is in use, the same function with the same
     userdata and pointer given again still is one call. */
  void (*release)(void *userdata, void *pointer);
  void *userdata;
} lze_BufferSpec;

/* What a buffer is.  The strings live for ever; the rest as long as the buffer
   is open and kept in its state. */
typedef struct lze_BufferInfo {
  size_t size;            /* sizeof (lze_BufferInfo), set by the caller */
  void *pointer;          /* of the first element; NULL when it has none */
  size_t count, bytes;
  const char *type;       /* of its elements */
  size_t element_bytes;
  const char *usage;      /* "shared", "device" or "host" */
  void *driver, *device, *context;
} lze_BufferInfo;

/* --- work of the host's -------------------------------------------------- */

/* What a step of it answers. */
enum {
  LZE_WORK_PENDING = 0,
  LZE_WORK_DONE = 1,
  LZE_WORK_FAILED = 2,  /* the failure says why */
  LZE_WORK_LEFT = 3     /* the same, and what it uses goes on being used: that
                           memory is never freed */
};

/* The fields of the error object that is raised. */
typedef struct lze_WorkFailure {
  char call[40];        /* "MPI_Send" */
  char code[40];        /* "MPI_ERR_RANK" */
  char message[420];
} lze_WorkFailure;

enum { LZE_WORK_BUFFERS = 4 };

/* Something that the host does to buffers, in its place among launches and
   copies: it begins when what it must wait for is over, and what comes later
   waits for it.  All work of a state begins in the order of issue.  Calls of
   lze that wait, ask or enqueue take its steps: there is no thread. */
typedef struct lze_WorkSpec {
  size_t size;          /* sizeof (lze_WorkSpec) */
  const char *name;     /* "send": what its event shows; lives for ever */
  int count;            /* of the buffers that it uses: with their stack
                           indices, and whether it writes the elements */
  int buffers[LZE_WORK_BUFFERS];
  int writes[LZE_WORK_BUFFERS];
  /* Begin, then go on; called until the answer is not LZE_WORK_PENDING.  On the
     thread that uses the state, maybe in the middle of a collection: none of
     the functions here may use the state.  The failure is the same struct each
     time, and counts once the answer says so. */
  int (*step)(void *userdata, lze_WorkFailure *failure);
  /* NULL, or it need not be done once the state ends: then this is called if it
     has begun, to end it at once.  Nonzero where nothing is used any more. */
  int (*cancel)(void *userdata);
  /* Called once lze has taken the work over, and once when it is over; `left`
     where what it uses goes on being used. */
  void (*hold)(void *userdata);
  void (*release)(void *userdata, int left);
  void *userdata;
  /* NULL, or called when it is over and a profile records: what comes after its
     name in the profile, such as " to rank 1", and how many bytes it moved. */
  void (*describe)(void *userdata, char *text, size_t size, size_t *bytes);
  /* NULL, or called after a step that has left it pending, in a wait that
     cannot end before it is over and has lasted since then, by
     CLOCK_MONOTONIC; answers as a step does. */
  int (*awaited)(void *userdata, uint64_t since_ns, lze_WorkFailure *failure);
} lze_WorkSpec;

/* A list of a device to which steps append copies, and a copy on it. */
typedef struct lze_Queue lze_Copies;
typedef struct lze_EventSlot lze_OneCopy;

/* A tensor of DLPack, as dlpack.h declares it. */
struct DLManagedTensorVersioned;

/* A compiled plan, kept by C: see keep_plan. */
typedef struct lze_PlanRef lze_PlanRef;

/* --- the table of functions --------------------------------------------- */

typedef struct lze_Api {
  unsigned version;       /* LZE_API_VERSION */
  size_t size;            /* of the table, in bytes */

  /* Open lze in a state, for its require too.  Opens no driver, and may be
     called more than once. */
  int (*open)(lua_State *L, lze_ErrorInfo *error);

  /* lua_close, but LZE_EMISUSE where the state is running: inside a function
     that Lua called with this `L` or in its main thread, or a release callback.
     A coroutine that C has resumed cannot be seen from another. */
  int (*close)(lua_State *L, lze_ErrorInfo *error);

  /* [+1] the first device that a selector matches; NULL: the default one. */
  int (*push_device)(lua_State *L, const char *selector,
                     lze_ErrorInfo *error);

  /* [+1] a device in a context of the host's, which goes on owning it: as
     lze.wrap {context = ...}.  `driver` may be NULL. */
  int (*push_wrapped_device)(lua_State *L, void *driver, void *device,
                             void *context, lze_ErrorInfo *error);

  /* Make a device the default of the state, as lze.default. */
  int (*set_default)(lua_State *L, int index, lze_ErrorInfo *error);

  /* [+1] a buffer over memory of the host.  Nothing is copied. */
  int (*push_buffer)(lua_State *L, const lze_BufferSpec *spec,
                     lze_ErrorInfo *error);

  /* [+1] a new buffer, zero-filled; `usage` "shared", "device" or "host",
     `device` the index of a device, 0: the default one. */
  int (*make_buffer)(lua_State *L, const char *type, size_t count,
                     const char *usage, int device, lze_ErrorInfo *error);

  /* What the buffer is.  Does not wait: see wait_buffer. */
  int (*get_buffer)(lua_State *L, int index, lze_BufferInfo *info,
                    lze_ErrorInfo *error);

  /* Wait until the host may read the elements or, with `write`, write them. A
     failure of the commands that it waits for is LZE_EFAILED. */
  int (*wait_buffer)(lua_State *L, int index, int write,
                     lze_ErrorInfo *error);

  /* [+1] a queue on an immediate list of the host's, an event of the host's,
     in the context of the device at an index (0: the default one). */
  int (*push_queue)(lua_State *L, void *list, int device,
                    lze_ErrorInfo *error);
  int (*push_event)(lua_State *L, void *event, int device,
                    lze_ErrorInfo *error);

  /* LZE_OK when the event at an index is done in that many seconds (less than
     0: for ever; 0: only look), LZE_ETIMEOUT when it is not. */
  int (*wait_event)(lua_State *L, int index, double seconds,
                    lze_ErrorInfo *error);

  /* The same for everything that the state has in flight. */
  int (*wait_all)(lua_State *L, double seconds, lze_ErrorInfo *error);

  /* The native handle of any object of lze, of a buffer its pointer; *kind, if
     kind is not NULL, is what lze.type says.  The handle stays lze's. */
  int (*get_handle)(lua_State *L, int index, void **handle,
                    const char **kind, lze_ErrorInfo *error);

  /* A token for what a buffer shows, to be given to any state of this process,
     on any thread: there import_buffer [+1] makes a buffer on the same memory,
     once for each token.  The memory lives until no state needs it.  Waits for
     pending work on it; what comes later the states must agree on. */
  int (*export_buffer)(lua_State *L, int index, uint64_t *token,
                       lze_ErrorInfo *error);
  int (*import_buffer)(lua_State *L, uint64_t token, lze_ErrorInfo *error);

  /* Keep the plan at an index, so that it can be run without being on the
     stack: until drop_plan, which may come before or after the end of the
     state.  The others take any thread (coroutine) of its state that could
     call a function just now, and need a few free slots of its stack. */
  int (*keep_plan)(lua_State *L, int index, lze_PlanRef **plan,
                   lze_ErrorInfo *error);
  void (*drop_plan)(lze_PlanRef *plan); /* NULL is allowed */

  /* plan:run() and [+1] plan:start(), which gives an event. */
  int (*run_plan)(lua_State *L, lze_PlanRef *plan, lze_ErrorInfo *error);
  int (*start_plan)(lua_State *L, lze_PlanRef *plan, lze_ErrorInfo *error);

  /* A tensor of DLPack 1 (dlpack.h) on the memory of a buffer, of `rank` sizes
     at `shape`, the last index first in memory; shape NULL: of one dimension.
     A tensor has 8 dimensions at most, here and in import_dlpack.
     Its device is kDLCPU where the host may use the elements in place, else
     kDLOneAPI.  Waits for pending work on them; what comes later the two sides
     must agree on.  The tensor keeps the memory, not the state: any thread may
     call its deleter, at any time. */
  int (*export_dlpack)(lua_State *L, int index, const int64_t *shape, int rank,
                       struct DLManagedTensorVersioned **tensor,
                       lze_ErrorInfo *error);

  /* [+1] a buffer of the elements of a tensor, the last index first, in the
     context of the device at `device` (0: the default one).  It is on the
     tensor's memory where that is USM of this context, packed and writable: the
     deleter is called once this state needs the memory no more, as a release
     callback is, or at once where lze keeps what it exported there.  Else it is
     a copy if the host can read the elements (kDLCPU), and the deleter is
     called at once.  On an error the tensor stays the caller's. */
  int (*import_dlpack)(lua_State *L, struct DLManagedTensorVersioned *tensor,
                       int device, lze_ErrorInfo *error);

  /* Those from here on raise, if nothing else is said, and so are for functions
     that Lua calls.

     Issue work of the host's.  [+1] its event or, with `wait`, nothing once it
     is done: then its failure is raised here.  Debug hooks may end the wait by
     an error; the work goes on. */
  void (*work)(lua_State *L, const lze_WorkSpec *spec, int wait);

  /* Raise an error object with these fields and the position of the script. */
  void (*raise)(lua_State *L, const lze_WorkFailure *failure);

  /* Add a line to lze.info(), behind "note: "; LZE_LOG=notes prints it, too. */
  void (*note)(lua_State *L, const char *text);

  /* For steps of work, to and from memory that the host may not use.  The
     first raises: what copies the elements of a buffer, there for as long as
     work that uses the buffer goes on.  The second, for steps only: where *copy
     is NULL, begin a copy between these elements and memory of the host; else
     ask for the one that has begun.  The answer is that of a step. */
  lze_Copies *(*find_copies)(lua_State *L, int index);
  int (*copy)(lze_Copies *copies, lze_OneCopy **copy, void *to,
              const void *from, size_t bytes, lze_WorkFailure *failure);
} lze_Api;

/* Whether a table has a function: LZE_API_HAS(api, import_buffer). */
#define LZE_API_HAS(api, name)                                               \
  ((api)->size >= offsetof(lze_Api, name) + sizeof (api)->name)

/* Where luaopen_lze keeps the table, in the registry: a light userdata. */
#define LZE_API_KEY "lze.api 1"

/* The table for a module that is not linked with lze, or NULL where lze has
   not been opened in the state, or another version of it.  For use in a
   function that Lua calls: it may raise when memory runs out. */
static inline const lze_Api *lze_find_api(lua_State *L) {
  const lze_Api *api;
  lua_getfield(L, LUA_REGISTRYINDEX, LZE_API_KEY);
  api = (const lze_Api *)lua_touserdata(L, -1);
  lua_pop(L, 1);
  return api;
}

/* --- what is exported --------------------------------------------------- */

/* Open lze in a state: pushes the module's table, as require "lze" returns
   it, and returns 1.  For luaL_requiref(L, "lze", luaopen_lze, 0).  Opens no
   driver; may be called more than once.  Raises only when memory runs out. */
int luaopen_lze(lua_State *L);

/* The table of functions, or NULL where this lze has not that version. */
const lze_Api *lze_api(unsigned version);

/* Where drivers are: a directory whose files of known names (libze_opencl.so
   and those of the GPUs' drivers) come before the system's.  NULL: nowhere in
   particular.  For the whole process, before a state first needs a device:
   LZE_EMISUSE later, or when the name is too long or has a comma. */
int lze_set_driver_path(const char *directory);

/* Forbid, or with 0 allow, that lze changes an environment variable, which it
   does for the moment of initialisation only, to show the loader its driver.
   The host then sets ZE_ENABLE_ALT_DRIVERS itself.  As above. */
int lze_keep_environment(int keep);

#ifdef __cplusplus
}
#endif

#endif
