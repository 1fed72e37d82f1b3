/*
 * lze.h - the public C interface of lze.
 * SPDX-License-Identifier: MIT
 *
 * For programs that embed Lua, and for other Lua modules in C. Four functions
 * are exported; all others are in the table of functions `lze_Api`, so that a
 * module can use lze without being linked with it: see lze_find_api.
 *
 * A function of the table raises no errors, unless its comment says otherwise.
 * It returns LZE_OK, or another code; then it also describes the error in
 * `error`, unless that is NULL. It leaves the Lua stack unchanged except for
 * the values that [+1] says it pushes; on an error it pushes nothing. `index`
 * is a stack index. As always, only one thread at a time may use a Lua state
 * and its contents; different threads may use different states.
 *
 * Native handles (ze_driver_handle_t and so on) are void pointers here, so
 * that this header does not need Level Zero's.
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

/* Incremented when the meaning of a part of the table or the structures
   changes. New functions are added at the end of the table without changing
   the version: lze_Api.size shows which functions exist (LZE_API_HAS). */
#define LZE_API_VERSION 1u

/* --- codes and errors --------------------------------------------------- */

enum {
  LZE_OK = 0,
  LZE_EMISUSE = 1,  /* an invalid value, a closed object, an error of Lua
                       itself */
  LZE_EFAILED = 2,  /* refused by the driver, a file or a compiler */
  LZE_EMEMORY = 3,  /* Lua is out of memory */
  LZE_ETIMEOUT = 4  /* not done within the time; not an error */
};

typedef struct lze_ErrorInfo {
  int code;           /* the function's return value */
  uint32_t result;    /* the ze_result_t for LZE_EFAILED, or 0 */
  char message[500];  /* cut if longer */
} lze_ErrorInfo;

/* --- structures --------------------------------------------------------- */

/* Describes a buffer to be made on the host's memory, which must be USM
   allocated in the context of the device. */
typedef struct lze_BufferSpec {
  size_t size;        /* sizeof (lze_BufferSpec) */
  void *pointer;      /* anywhere in an allocation, aligned for the type */
  const char *type;   /* "float", "int4" ... as in lze.buffer */
  size_t count;       /* elements */
  int device;         /* index of a device; 0: the default one */
  /* NULL, or a function to be called once, when this state no longer needs the
     allocation. It runs on the thread that uses the state, possibly during a
     collection or lua_close, so it must not use the state. It is not called if
     push_buffer failed. If the same function is given again with the same
     userdata and pointer while the memory is in use, there is still only one
     call. */
  void (*release)(void *userdata, void *pointer);
  void *userdata;
} lze_BufferSpec;

/* The properties of a buffer. The strings are valid forever; the rest is valid
   as long as the buffer is open and referenced in its state. */
typedef struct lze_BufferInfo {
  size_t size;            /* sizeof (lze_BufferInfo), set by the caller */
  void *pointer;          /* to the first element; NULL if it has no memory */
  size_t count, bytes;
  const char *type;       /* of the elements */
  size_t element_bytes;
  const char *usage;      /* "shared", "device" or "host" */
  void *driver, *device, *context;
} lze_BufferInfo;

/* --- host work ------------------------------------------------------------ */

/* The results of a step of host work. */
enum {
  LZE_WORK_PENDING = 0,
  LZE_WORK_DONE = 1,
  LZE_WORK_FAILED = 2,  /* the failure contains the reason */
  LZE_WORK_LEFT = 3     /* failed, and its buffers remain in use: their memory
                           is never freed */
};

/* The fields of the error object that is raised. */
typedef struct lze_WorkFailure {
  char call[40];        /* "MPI_Send" */
  char code[40];        /* "MPI_ERR_RANK" */
  char message[420];
} lze_WorkFailure;

enum { LZE_WORK_BUFFERS = 4 };

/* Work that the host does on buffers, in order with launches and copies: it
   begins when everything it must wait for is done, and later commands wait for
   it. All host work of a state begins in the order of issue. It has no thread:
   lze functions that wait, query or enqueue execute its steps. */
typedef struct lze_WorkSpec {
  size_t size;          /* sizeof (lze_WorkSpec) */
  const char *name;     /* "send": shown by its event; must stay valid
                           forever */
  int count;            /* the number of buffers in use, with their stack
                           indices, and nonzero in `writes` for a buffer that
                           is written */
  int buffers[LZE_WORK_BUFFERS];
  int writes[LZE_WORK_BUFFERS];
  /* Begins the work, then continues it; called until it no longer returns
     LZE_WORK_PENDING. It runs on the thread that uses the state, possibly
     during a collection: none of the functions here may use the state.
     `failure` is the same struct each time; it is read only after a step that
     returned a failure. */
  int (*step)(void *userdata, lze_WorkFailure *failure);
  /* If not NULL, the work need not be completed when the state ends: if it has
     begun, this is called to end it at once. Returns nonzero if nothing is in
     use any more. */
  int (*cancel)(void *userdata);
  /* `hold` is called once when lze has accepted the work, `release` once when
     it is over. `left` is nonzero if its buffers remain in use. */
  void (*hold)(void *userdata);
  void (*release)(void *userdata, int left);
  void *userdata;
  /* NULL, or a function called when the work is over, if a profile is
     recording: it returns the text that follows the name in the profile, such
     as " to rank 1", and the number of bytes moved. */
  void (*describe)(void *userdata, char *text, size_t size, size_t *bytes);
  /* NULL, or a function called after a step that returned LZE_WORK_PENDING, if
     a wait cannot end before this work is over. `since_ns` is when the wait
     began, by CLOCK_MONOTONIC. Returns the same results as a step. */
  int (*awaited)(void *userdata, uint64_t since_ns, lze_WorkFailure *failure);
} lze_WorkSpec;

/* A device's list to which steps append copies, and one of these copies. */
typedef struct lze_Queue lze_Copies;
typedef struct lze_EventSlot lze_OneCopy;

/* A DLPack tensor, as declared in dlpack.h. */
struct DLManagedTensorVersioned;

/* A compiled plan retained by C: see keep_plan. */
typedef struct lze_PlanRef lze_PlanRef;

/* --- the table of functions --------------------------------------------- */

typedef struct lze_Api {
  unsigned version;       /* LZE_API_VERSION */
  size_t size;            /* of the table, in bytes */

  /* Opens lze in a state, also for require. Opens no driver; may be called
     more than once. */
  int (*open)(lua_State *L, lze_ErrorInfo *error);

  /* As lua_close, but returns LZE_EMISUSE if the state is running: inside a
     function that Lua called with this `L` or in its main thread, or inside a
     release callback. It cannot detect another coroutine that C has resumed. */
  int (*close)(lua_State *L, lze_ErrorInfo *error);

  /* [+1] Pushes the first device that a selector matches; NULL: the default
     one. */
  int (*push_device)(lua_State *L, const char *selector,
                     lze_ErrorInfo *error);

  /* [+1] Pushes a device in one of the host's contexts, which the host still
     owns: as lze.wrap {context = ...}. `driver` may be NULL. */
  int (*push_wrapped_device)(lua_State *L, void *driver, void *device,
                             void *context, lze_ErrorInfo *error);

  /* Makes a device the default of the state, as lze.default. */
  int (*set_default)(lua_State *L, int index, lze_ErrorInfo *error);

  /* [+1] Pushes a buffer on the host's memory. Nothing is copied. */
  int (*push_buffer)(lua_State *L, const lze_BufferSpec *spec,
                     lze_ErrorInfo *error);

  /* [+1] Pushes a new, zero-filled buffer. `usage` is "shared", "device" or
     "host"; `device` is the index of a device, 0: the default one. */
  int (*make_buffer)(lua_State *L, const char *type, size_t count,
                     const char *usage, int device, lze_ErrorInfo *error);

  /* Gets the properties of a buffer. Does not wait: see wait_buffer. */
  int (*get_buffer)(lua_State *L, int index, lze_BufferInfo *info,
                    lze_ErrorInfo *error);

  /* Waits until the host may read the elements or, with `write`, write them.
     If a command that it waits for fails, returns LZE_EFAILED. */
  int (*wait_buffer)(lua_State *L, int index, int write,
                     lze_ErrorInfo *error);

  /* [+1] Push a queue on the host's immediate list, and the host's event, in
     the context of the device at index `device` (0: the default one). */
  int (*push_queue)(lua_State *L, void *list, int device,
                    lze_ErrorInfo *error);
  int (*push_event)(lua_State *L, void *event, int device,
                    lze_ErrorInfo *error);

  /* Returns LZE_OK if the event at an index is done within `seconds`
     (negative: wait forever; 0: only check), else LZE_ETIMEOUT. */
  int (*wait_event)(lua_State *L, int index, double seconds,
                    lze_ErrorInfo *error);

  /* The same for all commands of the state that are in flight. */
  int (*wait_all)(lua_State *L, double seconds, lze_ErrorInfo *error);

  /* Gets the native handle of any lze object, or a buffer's pointer. If `kind`
     is not NULL, *kind is the same as lze.type returns. lze still owns the
     handle. */
  int (*get_handle)(lua_State *L, int index, void **handle,
                    const char **kind, lze_ErrorInfo *error);

  /* Exports the elements of a buffer as a token for any state of this process,
     on any thread. There import_buffer [+1] pushes a buffer on the same
     memory, once for each token. The memory lives until no state needs it.
     Waits for pending work on it; later accesses must be coordinated between
     the states. */
  int (*export_buffer)(lua_State *L, int index, uint64_t *token,
                       lze_ErrorInfo *error);
  int (*import_buffer)(lua_State *L, uint64_t token, lze_ErrorInfo *error);

  /* Retains the plan at an index, so that it can be run without being on the
     stack, until drop_plan, which may be called before or after the state
     ends. The functions that run it accept any thread (coroutine) of its state
     that could call a function at that moment, and need a few free slots of
     its stack. */
  int (*keep_plan)(lua_State *L, int index, lze_PlanRef **plan,
                   lze_ErrorInfo *error);
  void (*drop_plan)(lze_PlanRef *plan); /* NULL is allowed */

  /* plan:run(), and [+1] plan:start(), which pushes an event. */
  int (*run_plan)(lua_State *L, lze_PlanRef *plan, lze_ErrorInfo *error);
  int (*start_plan)(lua_State *L, lze_PlanRef *plan, lze_ErrorInfo *error);

  /* Makes a DLPack 1 tensor (dlpack.h) on the memory of a buffer, with `rank`
     sizes at `shape`; the last index varies fastest in memory. With `shape`
     NULL it has one dimension. A tensor has at most 8 dimensions, here and in
     import_dlpack. Elements of a complex array are complex numbers there. Its
     device is kDLCPU if the host can use the elements in place, else
     kDLOneAPI. Waits for pending work on the elements; later accesses must be
     coordinated between the two sides. The tensor keeps the memory alive, not
     the state: any thread may call its deleter, at any time. */
  int (*export_dlpack)(lua_State *L, int index, const int64_t *shape, int rank,
                       struct DLManagedTensorVersioned **tensor,
                       lze_ErrorInfo *error);

  /* [+1] Pushes a buffer of a tensor's elements, with the last index varying
     fastest, in the context of the device at index `device` (0: the default
     one). The buffer uses the tensor's memory if that is USM of this context,
     packed and writable. Then the deleter is called when this state no longer
     needs the memory, as a release callback is; if lze had exported that
     memory and keeps it alive anyway, the deleter is called at once.
     Otherwise, if the host can read the elements (kDLCPU), the buffer is a
     copy, and the deleter is called at once. On an error the caller still owns
     the tensor. */
  int (*import_dlpack)(lua_State *L, struct DLManagedTensorVersioned *tensor,
                       int device, lze_ErrorInfo *error);

  /* The functions from here on raise errors unless stated otherwise, so call
     them only inside functions that Lua calls.

     Issues host work. [+1] Pushes its event. With `wait`, pushes nothing:
     returns when the work is done, and raises its failure. A debug hook may
     end the wait by an error; the work then continues. */
  void (*work)(lua_State *L, const lze_WorkSpec *spec, int wait);

  /* Raises an error object with these fields and the script's position. */
  void (*raise)(lua_State *L, const lze_WorkFailure *failure);

  /* Adds a line to lze.info(), after "note: "; LZE_LOG=notes also prints it. */
  void (*note)(lua_State *L, const char *text);

  /* For steps of work: copies to and from memory that the host may not access.
     find_copies raises; it returns the list for copying the elements of a
     buffer, valid as long as work that uses the buffer continues. copy may be
     called only in steps: if *copy is NULL, it begins a copy between these
     elements and host memory; otherwise it queries the copy that has begun. It
     returns the same results as a step. */
  lze_Copies *(*find_copies)(lua_State *L, int index);
  int (*copy)(lze_Copies *copies, lze_OneCopy **copy, void *to,
              const void *from, size_t bytes, lze_WorkFailure *failure);
} lze_Api;

/* True if a table has a function: LZE_API_HAS(api, import_buffer). */
#define LZE_API_HAS(api, name)                                               \
  ((api)->size >= offsetof(lze_Api, name) + sizeof (api)->name)

/* The registry key under which luaopen_lze stores the table, as a light
   userdata. */
#define LZE_API_KEY "lze.api 1"

/* Returns the table, for a module that is not linked with lze. Returns NULL if
   lze is not open in the state, or has another version. For use in a function
   that Lua calls: may raise when memory runs out. */
static inline const lze_Api *lze_find_api(lua_State *L) {
  const lze_Api *api;
  lua_getfield(L, LUA_REGISTRYINDEX, LZE_API_KEY);
  api = (const lze_Api *)lua_touserdata(L, -1);
  lua_pop(L, 1);
  return api;
}

/* --- exported functions --------------------------------------------------- */

/* Opens lze in a state: pushes the module's table, as require "lze" returns
   it, and returns 1. For luaL_requiref(L, "lze", luaopen_lze, 0). Opens no
   driver; may be called more than once. Raises only when memory runs out. */
int luaopen_lze(lua_State *L);

/* Returns the table of functions, or NULL if this lze does not have that
   version. */
const lze_Api *lze_api(unsigned version);

/* Sets the directory of drivers: files with known names in it (libze_opencl.so
   and the names of the GPU drivers) take precedence over the system's. NULL:
   no directory. This applies to the whole process and must be called before a
   state first needs a device. Returns LZE_EMISUSE if it is too late, or if the
   name is too long or contains a comma. */
int lze_set_driver_path(const char *directory);

/* Forbids lze to change an environment variable or, with 0, allows it. lze
   does so only during initialisation, to make its driver visible to the
   loader. If forbidden, the host must set ZE_ENABLE_ALT_DRIVERS itself. Must
   be called as early as lze_set_driver_path, and returns the same codes. */
int lze_keep_environment(int keep);

#ifdef __cplusplus
}
#endif

#endif
