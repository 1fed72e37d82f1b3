/*
 * lze_loader.h - the Level Zero loader, drivers, devices, and calls to them.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LOADER_H
#define LZE_LOADER_H

#include "base/lze_base.h"
#include "device/lze_fail.h"
#include "prepare.h"

/* lze_loader.c: the Level Zero loader, opened once for the whole process at
 * first use, with its drivers and devices. None of this changes afterwards, so
 * all states and threads share it.
 */

/* The entry points that lze uses. Every loader since 1.4 has those in the
   list; lze looks up the one after it, which may be NULL. */
#define LZE_FUNCTIONS(X)                                                     \
  X(zeInit) X(zeDriverGet) X(zeDriverGetApiVersion)                          \
  X(zeDriverGetProperties) X(zeDriverGetExtensionProperties)                 \
  X(zeDriverGetExtensionFunctionAddress)                                     \
  X(zeDeviceGet) X(zeDeviceGetSubDevices) X(zeDeviceGetProperties)           \
  X(zeDeviceGetComputeProperties) X(zeDeviceGetModuleProperties)             \
  X(zeDeviceGetMemoryProperties) X(zeDeviceGetCommandQueueGroupProperties)   \
  X(zeDeviceGetGlobalTimestamps) X(zeDeviceCanAccessPeer)                    \
  X(zeDeviceGetStatus) X(zeDeviceGetMemoryAccessProperties)                  \
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
  X(zeCommandListAppendQueryKernelTimestamps)                                \
  X(zeMemAllocShared) X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemFree)     \
  X(zeMemGetAllocProperties) X(zeMemGetAddressRange)                         \
  X(zeMemGetIpcHandle) X(zeMemOpenIpcHandle) X(zeMemCloseIpcHandle)          \
  X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleGetNativeBinary)            \
  X(zeModuleGetProperties)                                                   \
  X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy)                    \
  X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties)              \
  X(zeKernelSetGroupSize) X(zeKernelSuggestGroupSize)                        \
  X(zeKernelSetArgumentValue) X(zeKernelSetIndirectAccess)                   \
  X(zeDeviceGetImageProperties) X(zeImageGetProperties)                      \
  X(zeImageCreate) X(zeImageDestroy) X(zeSamplerCreate) X(zeSamplerDestroy)  \
  X(zeCommandListAppendImageCopyRegion)                                      \
  X(zeCommandListAppendImageCopyToMemory)                                    \
  X(zeCommandListAppendImageCopyFromMemory)

typedef struct lze_Functions {
#define X(name) __typeof__(&name) name;
  LZE_FUNCTIONS(X)
#undef X
  __typeof__(&zeKernelSetGlobalOffsetExp) zeKernelSetGlobalOffsetExp;
} lze_Functions;

extern lze_Functions lze_ze; /* all NULL until lze_system succeeds */

/* Every driver call goes through here, so that LZE_LOG=calls can show it with
   its result and time. */
#define ZE(name, ...)                                                        \
  __extension__({                                                            \
    uint64_t ze_start = lze_log_calls ? lze_now_ns() : 0;                    \
    ze_result_t ze_result = lze_ze.name(__VA_ARGS__);                        \
    if (lze_log_calls) lze_log_call(#name, ze_result, ze_start);             \
    ze_result;                                                               \
  })
/* The result of a driver call. If one of several calls fails, `call` says
   which. */
typedef struct lze_Outcome {
  const char *call;             /* NULL: lze itself ran out of memory */
  ze_result_t result;
} lze_Outcome;
#define LZE_NO_MEMORY                                                        \
  ((lze_Outcome){NULL, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY})

/* Makes a call and stores its outcome in *out; true on success. */
#define ZE_TRY(out, name, ...)                                               \
  lze_outcome((out), #name, ZE(name, __VA_ARGS__))
static inline bool lze_outcome(lze_Outcome *out, const char *call,
                               ze_result_t result) {
  *out = (lze_Outcome){call, result};
  return result == ZE_RESULT_SUCCESS;
}

extern bool lze_log_calls; /* set once, when the loader is opened */
extern bool lze_log_builds; /* the same */
extern bool lze_log_notes;
void lze_log_call(const char *name, ze_result_t result, uint64_t start_ns);
/* Logs a build of `bytes` bytes (0: it has no size); `origin` describes the
   source of the result. */
void lze_log_build(const char *name, uint64_t start_ns, size_t bytes,
                   const char *origin);
/* Adds a line to this state's lze.info(); raises when memory runs out. */
void lze_note(lua_State *L, const char *text);
/* Pushes the table of these lines. [-0, +1] */
void lze_push_notes(lua_State *L);

struct lze_Driver {
  ze_driver_handle_t handle;
  uint32_t api, version;
  int index;                 /* position in lze_System.drivers */
  bool offsets;              /* has ZE_experimental_global_offset */
  bool kernel_max;           /* has ..._kernel_max_group_size_properties */
  bool appends_lists;        /* has ..._immediate_command_list_append */
  char name[64];
  /* zeDriverGetLastErrorDescription (1.6) and the handle that it takes. Old
     loaders lack the function but can return the driver's. NULL if not
     available. */
  ze_result_t (*last_error)(ze_driver_handle_t, const char **);
  ze_driver_handle_t raw;
  prepare_function prepare;  /* of our own driver, or NULL */
  prepare_start_function prepare_start; /* the same */
  origin_function module_origin;
  dimensions_function dimensions; /* the same */
  expect_function expect_module;  /* the same */
  /* Queries for native lists and events, since 1.9; NULL if not available.
     They take the loader's handles. */
  ze_result_t (*list_device)(ze_command_list_handle_t, ze_device_handle_t *);
  ze_result_t (*list_context)(ze_command_list_handle_t,
                              ze_context_handle_t *);
  ze_result_t (*list_ordinal)(ze_command_list_handle_t, uint32_t *);
  ze_result_t (*list_is_immediate)(ze_command_list_handle_t, ze_bool_t *);
  ze_result_t (*event_pool)(ze_event_handle_t, ze_event_pool_handle_t *);
  ze_result_t (*pool_context)(ze_event_pool_handle_t, ze_context_handle_t *);
  /* zeCommandListImmediateAppendCommandListsExp (1.9), found in the same way;
     NULL also if the driver does not report the extension. */
  ze_result_t (*append_lists)(ze_command_list_handle_t, uint32_t,
                              ze_command_list_handle_t *, ze_event_handle_t,
                              uint32_t, ze_event_handle_t *);
};

/* A root device or a tile, either the system's or that of a borrowed context
   (lze_device_in). */
struct lze_DeviceInfo {
  const lze_DeviceInfo *base;      /* the system's; itself if it is that */
  lze_Context *context;            /* of one in a borrowed context, else NULL */
  ze_device_handle_t handle;
  const lze_Driver *driver;
  const lze_DeviceInfo *parent;    /* of a tile */
  lze_DeviceInfo *tiles;
  uint32_t tile_count;
  int index;                       /* unique in the process, from 0 */
  const char *type;                /* "gpu", "cpu", "npu", "fpga", "mca",
                                      "other" */
  ze_device_properties_t props;    /* timerResolution in cycles per second */
  ze_device_compute_properties_t compute;
  ze_device_module_properties_t module;
  uint64_t memory_bytes;
  uint32_t ordinal;                /* of the command queue group that
                                      computes */
  uint32_t copy_ordinal;           /* of a group that only copies, or the
                                      same */
  uint32_t queues, copy_queues;    /* number of queues in each group */
};

struct lze_System {
  int driver_count;
  lze_Driver *drivers;
  int device_count;                /* root devices, GPUs first */
  lze_DeviceInfo *devices;
  int total_devices;               /* tiles included: bound of .index */
  char loader[32];                 /* file name of the loader, for a person */
  bool wraps;                      /* the loader may wrap handles */
  char software[512];              /* why our driver has no device, or "" */
  char missing[1024];              /* why a device is missing, or "" */
};

/* Returns an entry point of the opened loader, or NULL. */
void *lze_loader_symbol(const char *name);
/* Returns true if the drivers were initialised with ZES_ENABLE_SYSMAN=1. */
bool lze_sysman_enabled(void);

/* Set the host's options (see lze.h) before drivers are initialised. Return
   false after that. */
bool lze_set_drivers(const char *directory);
bool lze_set_environment(bool keep);

/* Opens the loader and initialises the drivers at the first call. Raises an
   error object if the loader is missing or no driver initialises. */
const lze_System *lze_system(lua_State *L);

/* Finds the software driver and stores its path in `path`, which must have
   room for PATH_MAX bytes. */
bool lze_software_path(char *path);

/* Appends closed lists to an immediate one, if d->append_lists is available. */
ze_result_t lze_append_lists(const lze_Driver *d,
                             ze_command_list_handle_t list, uint32_t count,
                             ze_command_list_handle_t *lists,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* Passes the number of dimensions of launches to a driver that uses it. */
void lze_set_dimensions(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t dimensions);

typedef enum lze_Prepare {
  LZE_PREPARE_WAIT,   /* until it is done */
  LZE_PREPARE_START,  /* and return: NOT_READY until it is done */
  LZE_PREPARE_CHEAPLY /* as in prepare.h; NOT_AVAILABLE if it is expensive */
} lze_Prepare;

/* Makes the driver compile everything that these launches need, without
   running them. Returns UNSUPPORTED_FEATURE if the driver cannot do it. */
ze_result_t lze_prepare(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t count, const prepare_launch *launches,
                        lze_Prepare how);
/* Returns the name of the function that lze_prepare calls. */
const char *lze_prepare_name(lze_Prepare how);
/* Announces to the driver a module that may be new to the machine. */
void lze_expect_module(const lze_Driver *d);

/* Describes the origin of a module's code. `cached`: lze found a native binary
   of it. */
const char *lze_module_origin(const lze_Driver *d, ze_module_handle_t module,
                              bool cached);

#endif
