/*
 * lze_loader.h - the Level Zero loader, drivers, devices and calls of them.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LOADER_H
#define LZE_LOADER_H

#include "base/lze_base.h"
#include "device/lze_fail.h"
#include "prepare.h"

/* lze_loader.c: the Level Zero loader, opened once for the whole process at
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
extern bool lze_log_builds; /* likewise */
extern bool lze_log_notes;
void lze_log_call(const char *name, ze_result_t result, uint64_t start_ns);
/* Something of so many bytes (0: it has no size) was built; `origin` is how it
   came. */
void lze_log_build(const char *name, uint64_t start_ns, size_t bytes,
                   const char *origin);
/* Add a line to what this state's lze.info() says; raises without memory. */
void lze_note(lua_State *L, const char *text);
/* [+1] the table of those lines. */
void lze_push_notes(lua_State *L);

struct lze_Driver {
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
  prepare_start_function prepare_start; /* likewise */
  origin_function module_origin;
  dimensions_function dimensions; /* likewise */
  expect_function expect_module;  /* likewise */
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
};

/* A root device or a tile, as the system has it or as one of a context that
   the host lends (lze_device_in). */
struct lze_DeviceInfo {
  const lze_DeviceInfo *base;      /* the system's, which is its own */
  lze_Context *context;            /* of one in a borrowed context, else NULL */
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

struct lze_System {
  int driver_count;
  lze_Driver *drivers;
  int device_count;                /* root devices, GPUs first */
  lze_DeviceInfo *devices;
  int total_devices;               /* tiles included: bound of .index */
  char loader[32];                 /* where and which, for a person */
  bool wraps;                      /* the loader may wrap handles */
  char software[512];              /* why our own driver shows none, or "" */
  char missing[1024];              /* why a device is missing, or "" */
};

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

/* Find the software driver; its path, which has room for PATH_MAX bytes. */
bool lze_software_path(char *path);

/* Append closed lists to an immediate one, where d->append_lists is there. */
ze_result_t lze_append_lists(const lze_Driver *d,
                             ze_command_list_handle_t list, uint32_t count,
                             ze_command_list_handle_t *lists,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* Tell a driver that wants to know how many dimensions launches have. */
void lze_set_dimensions(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t dimensions);

typedef enum lze_Prepare {
  LZE_PREPARE_WAIT,   /* until it is done */
  LZE_PREPARE_START,  /* and go on: NOT_READY until it is done */
  LZE_PREPARE_CHEAPLY /* as prepare.h says; NOT_AVAILABLE where it is not */
} lze_Prepare;

/* Have the driver compile what such launches need, without running them.
   UNSUPPORTED_FEATURE where the driver cannot be asked. */
ze_result_t lze_prepare(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t count, const prepare_launch *launches,
                        lze_Prepare how);
/* What that calls. */
const char *lze_prepare_name(lze_Prepare how);
/* Tell it that a module will be created that may be new to the machine. */
void lze_expect_module(const lze_Driver *d);

/* Where the code of a module came from, in words; `cached`: lze found a native
   binary of it. */
const char *lze_module_origin(const lze_Driver *d, ze_module_handle_t module,
                              bool cached);

#endif
