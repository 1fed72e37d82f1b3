/*
 * ze_fault.c - a Level Zero driver that forwards to another and misbehaves.
 * SPDX-License-Identifier: MIT
 *
 *   ZE_ENABLE_ALT_DRIVERS=.../ze_fault.so   makes the loader use it
 *   ZE_FAULT_DRIVER=PATH                    the driver it forwards to
 *   ZE_FAULT=RULES                          how it misbehaves
 *   ZE_FAULT_CONTROL=FILE                   the same, in a file that is read at
 *                                           each call, so rules can change
 *   ZE_FAULT_REPORT=FILE                    written when the process ends
 *   ZE_FAULT_SYSMAN=MODE                    sensors: see ze_sysman.c
 *
 * Rules are separated by semicolons or newlines.  Calls are counted since the
 * rules were set; N = 0 means all calls.
 *
 *   fail ENTRY N CODE   the N-th call of ENTRY returns CODE and does nothing
 *   late ENTRY N US     the N-th call of ENTRY returns US microseconds late
 *   lost ENTRY N        the device is lost from the N-th call of ENTRY on
 *   hang                no event is reported as signalled
 *   delay FIRST LAST    an event is reported FIRST to LAST microseconds after
 *                       its command was appended, at the earliest
 *   null                commands signal their events and do nothing else
 *   api MAJOR MINOR     the driver reports this version
 *
 * Handles are passed through unchanged.  Created and destroyed objects are
 * tracked, so that the report can count objects that were leaked, destroyed
 * twice, or destroyed before objects created from them.  A C program can use
 * ze_fault_set, ze_fault_calls, ze_fault_leaked and ze_fault_report directly.
 *
 * The entries of version 1.4 of each table are wrapped here, and the entry of
 * 1.9 that appends lists.  Other newer entries are unchanged.
 */
#include "ze_sysman.h"

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* --- the entry points --------------------------------------------------- */

/* Each as X(how, Table, table, Field, name, (parameters), (arguments), ...);
   `how` is one of the wrapper macros below, and the parameters after the
   arguments are for it. */
#define ENTRIES(X)                                                            \
  X(PLAIN, Global, global, Init, zeInit, (ze_init_flags_t f), (f), 0)         \
  X(PLAIN, Driver, driver, Get, zeDriverGet,                                  \
    (uint32_t *n, ze_driver_handle_t *d), (n, d), 0)                          \
  X(VERSION, Driver, driver, GetApiVersion, zeDriverGetApiVersion,            \
    (ze_driver_handle_t d, ze_api_version_t *v), (d, v), v)                   \
  X(PLAIN, Driver, driver, GetProperties, zeDriverGetProperties,              \
    (ze_driver_handle_t d, ze_driver_properties_t *p), (d, p), 0)             \
  X(PLAIN, Driver, driver, GetExtensionProperties,                            \
    zeDriverGetExtensionProperties,                                           \
    (ze_driver_handle_t d, uint32_t *n, ze_driver_extension_properties_t *p), \
    (d, n, p), 0)                                                             \
  X(ADDRESS, Driver, driver, GetExtensionFunctionAddress,                     \
    zeDriverGetExtensionFunctionAddress,                                      \
    (ze_driver_handle_t d, const char *name_, void **f), (d, name_, f), 0)    \
  X(PLAIN, Device, device, Get, zeDeviceGet,                                  \
    (ze_driver_handle_t d, uint32_t *n, ze_device_handle_t *h), (d, n, h), 0) \
  X(PLAIN, Device, device, GetSubDevices, zeDeviceGetSubDevices,              \
    (ze_device_handle_t d, uint32_t *n, ze_device_handle_t *h), (d, n, h), 0) \
  X(PLAIN, Device, device, GetProperties, zeDeviceGetProperties,              \
    (ze_device_handle_t d, ze_device_properties_t *p), (d, p), 0)             \
  X(PLAIN, Device, device, GetComputeProperties,                              \
    zeDeviceGetComputeProperties,                                             \
    (ze_device_handle_t d, ze_device_compute_properties_t *p), (d, p), 0)     \
  X(PLAIN, Device, device, GetModuleProperties, zeDeviceGetModuleProperties,  \
    (ze_device_handle_t d, ze_device_module_properties_t *p), (d, p), 0)      \
  X(PLAIN, Device, device, GetMemoryProperties, zeDeviceGetMemoryProperties,  \
    (ze_device_handle_t d, uint32_t *n, ze_device_memory_properties_t *p),    \
    (d, n, p), 0)                                                             \
  X(PLAIN, Device, device, GetCommandQueueGroupProperties,                    \
    zeDeviceGetCommandQueueGroupProperties,                                   \
    (ze_device_handle_t d, uint32_t *n,                                       \
     ze_command_queue_group_properties_t *p), (d, n, p), 0)                   \
  X(PLAIN, Device, device, GetGlobalTimestamps, zeDeviceGetGlobalTimestamps,  \
    (ze_device_handle_t d, uint64_t *host, uint64_t *device),                 \
    (d, host, device), 0)                                                     \
  X(SUBMIT, Device, device, GetStatus, zeDeviceGetStatus,                     \
    (ze_device_handle_t d), (d), 0)                                           \
  X(PLAIN, Device, device, CanAccessPeer, zeDeviceCanAccessPeer,              \
    (ze_device_handle_t a, ze_device_handle_t b, ze_bool_t *p), (a, b, p), 0) \
  X(MAKE, Context, context, Create, zeContextCreate,                          \
    (ze_driver_handle_t d, const ze_context_desc_t *c,                        \
     ze_context_handle_t *h), (d, c, h), CONTEXT, NULL, 0)                    \
  X(MAKE, Context, context, CreateEx, zeContextCreateEx,                      \
    (ze_driver_handle_t d, const ze_context_desc_t *c, uint32_t n,            \
     ze_device_handle_t *v, ze_context_handle_t *h), (d, c, n, v, h),         \
    CONTEXT, NULL, 0)                                                         \
  X(UNMAKE, Context, context, Destroy, zeContextDestroy,                      \
    (ze_context_handle_t h), (h), CONTEXT)                                    \
  X(MAKE, CommandQueue, command_queue, Create, zeCommandQueueCreate,          \
    (ze_context_handle_t c, ze_device_handle_t d,                             \
     const ze_command_queue_desc_t *q, ze_command_queue_handle_t *h),         \
    (c, d, q, h), QUEUE, c, 0)                                                \
  X(UNMAKE, CommandQueue, command_queue, Destroy, zeCommandQueueDestroy,      \
    (ze_command_queue_handle_t h), (h), QUEUE)                                \
  X(SUBMIT, CommandQueue, command_queue, ExecuteCommandLists,                 \
    zeCommandQueueExecuteCommandLists,                                        \
    (ze_command_queue_handle_t q, uint32_t n, ze_command_list_handle_t *l,    \
     ze_fence_handle_t f), (q, n, l, f), 0)                                   \
  X(PAUSE, CommandQueue, command_queue, Synchronize,                          \
    zeCommandQueueSynchronize, (ze_command_queue_handle_t q, uint64_t ns),    \
    (q, ns), ns)                                                              \
  X(MAKE, CommandList, command_list, Create, zeCommandListCreate,             \
    (ze_context_handle_t c, ze_device_handle_t d,                             \
     const ze_command_list_desc_t *l, ze_command_list_handle_t *h),           \
    (c, d, l, h), LIST, c, 0)                                                 \
  X(MAKE, CommandList, command_list, CreateImmediate,                         \
    zeCommandListCreateImmediate,                                             \
    (ze_context_handle_t c, ze_device_handle_t d,                             \
     const ze_command_queue_desc_t *q, ze_command_list_handle_t *h),          \
    (c, d, q, h), LIST, c, 0)                                                 \
  X(UNMAKE, CommandList, command_list, Destroy, zeCommandListDestroy,         \
    (ze_command_list_handle_t h), (h), LIST)                                  \
  X(PLAIN, CommandList, command_list, Close, zeCommandListClose,              \
    (ze_command_list_handle_t h), (h), 0)                                     \
  X(PLAIN, CommandList, command_list, Reset, zeCommandListReset,              \
    (ze_command_list_handle_t h), (h), 0)                                     \
  X(APPEND, CommandList, command_list, AppendBarrier,                         \
    zeCommandListAppendBarrier,                                               \
    (ze_command_list_handle_t l, ze_event_handle_t e, uint32_t n,             \
     ze_event_handle_t *w), (l, e, n, w), e, n, 0)                            \
  X(PLAIN, CommandList, command_list, AppendEventReset,                       \
    zeCommandListAppendEventReset,                                            \
    (ze_command_list_handle_t l, ze_event_handle_t e), (l, e), 0)             \
  X(APPEND, CommandList, command_list, AppendQueryKernelTimestamps,           \
    zeCommandListAppendQueryKernelTimestamps,                                 \
    (ze_command_list_handle_t l, uint32_t count, ze_event_handle_t *of,       \
     void *to, const size_t *offsets, ze_event_handle_t e, uint32_t n,        \
     ze_event_handle_t *w), (l, count, of, to, offsets, e, n, w), e, n, 0)    \
  X(APPEND, CommandList, command_list, AppendMemoryCopy,                      \
    zeCommandListAppendMemoryCopy,                                            \
    (ze_command_list_handle_t l, void *to, const void *from, size_t size,     \
     ze_event_handle_t e, uint32_t n, ze_event_handle_t *w),                  \
    (l, to, from, size, e, n, w), e, n, size)                                 \
  X(APPEND, CommandList, command_list, AppendMemoryFill,                      \
    zeCommandListAppendMemoryFill,                                            \
    (ze_command_list_handle_t l, void *to, const void *p, size_t p_size,      \
     size_t size, ze_event_handle_t e, uint32_t n, ze_event_handle_t *w),     \
    (l, to, p, p_size, size, e, n, w), e, n, 0)                               \
  X(APPEND, CommandList, command_list, AppendMemoryCopyRegion,                \
    zeCommandListAppendMemoryCopyRegion,                                      \
    (ze_command_list_handle_t l, void *to, const ze_copy_region_t *to_box,    \
     uint32_t to_pitch, uint32_t to_slice, const void *from,                  \
     const ze_copy_region_t *box, uint32_t pitch, uint32_t slice,             \
     ze_event_handle_t e, uint32_t n, ze_event_handle_t *w),                  \
    (l, to, to_box, to_pitch, to_slice, from, box, pitch, slice, e, n, w), e, \
    n, (uint64_t)box->width * box->height * (box->depth == 0 ? 1              \
                                                             : box->depth))   \
  X(APPEND, CommandList, command_list, AppendMemoryPrefetch,                  \
    zeCommandListAppendMemoryPrefetch,                                        \
    (ze_command_list_handle_t l, const void *p, size_t size), (l, p, size),   \
    NULL, 0, 0)                                                               \
  X(APPEND, CommandList, command_list, AppendMemAdvise,                       \
    zeCommandListAppendMemAdvise,                                             \
    (ze_command_list_handle_t l, ze_device_handle_t d, const void *p,         \
     size_t size, ze_memory_advice_t a), (l, d, p, size, a), NULL, 0, 0)      \
  X(APPEND, CommandList, command_list, AppendLaunchKernel,                    \
    zeCommandListAppendLaunchKernel,                                          \
    (ze_command_list_handle_t l, ze_kernel_handle_t k,                        \
     const ze_group_count_t *g, ze_event_handle_t e, uint32_t n,              \
     ze_event_handle_t *w), (l, k, g, e, n, w), e, n, 0)                      \
  X(MAKE, Mem, mem, AllocShared, zeMemAllocShared,                            \
    (ze_context_handle_t c, const ze_device_mem_alloc_desc_t *d,              \
     const ze_host_mem_alloc_desc_t *o, size_t size, size_t align,            \
     ze_device_handle_t v, void **h), (c, d, o, size, align, v, h),           \
    MEMORY, c, size)                                                          \
  X(MAKE, Mem, mem, AllocDevice, zeMemAllocDevice,                            \
    (ze_context_handle_t c, const ze_device_mem_alloc_desc_t *d, size_t size, \
     size_t align, ze_device_handle_t v, void **h),                           \
    (c, d, size, align, v, h), MEMORY, c, size)                               \
  X(MAKE, Mem, mem, AllocHost, zeMemAllocHost,                                \
    (ze_context_handle_t c, const ze_host_mem_alloc_desc_t *o, size_t size,   \
     size_t align, void **h), (c, o, size, align, h), MEMORY, c, size)        \
  X(FREE, Mem, mem, Free, zeMemFree, (ze_context_handle_t c, void *h),        \
    (c, h), MEMORY)                                                           \
  X(PLAIN, Mem, mem, FreeExt, zeMemFreeExt,                                   \
    (ze_context_handle_t c, const ze_memory_free_ext_desc_t *d, void *h),     \
    (c, d, h), 0)                                                             \
  X(PLAIN, Mem, mem, GetAllocProperties, zeMemGetAllocProperties,             \
    (ze_context_handle_t c, const void *p,                                    \
     ze_memory_allocation_properties_t *m, ze_device_handle_t *d),            \
    (c, p, m, d), 0)                                                          \
  X(PLAIN, Mem, mem, GetAddressRange, zeMemGetAddressRange,                   \
    (ze_context_handle_t c, const void *p, void **base, size_t *size),        \
    (c, p, base, size), 0)                                                    \
  X(PLAIN, Mem, mem, GetIpcHandle, zeMemGetIpcHandle,                         \
    (ze_context_handle_t c, const void *p, ze_ipc_mem_handle_t *i),           \
    (c, p, i), 0)                                                             \
  X(MAKE, Mem, mem, OpenIpcHandle, zeMemOpenIpcHandle,                        \
    (ze_context_handle_t c, ze_device_handle_t d, ze_ipc_mem_handle_t i,      \
     ze_ipc_memory_flags_t f, void **h), (c, d, i, f, h), MAPPING, c, 0)      \
  X(UNMAKE, Mem, mem, CloseIpcHandle, zeMemCloseIpcHandle,                    \
    (ze_context_handle_t c, const void *h), (c, h), MAPPING)                  \
  X(PLAIN, Device, device, GetMemoryAccessProperties,                         \
    zeDeviceGetMemoryAccessProperties,                                        \
    (ze_device_handle_t d, ze_device_memory_access_properties_t *p),          \
    (d, p), 0)                                                                \
  X(PLAIN, Device, device, GetImageProperties, zeDeviceGetImageProperties,    \
    (ze_device_handle_t d, ze_device_image_properties_t *p), (d, p), 0)       \
  X(PLAIN, Image, image, GetProperties, zeImageGetProperties,                 \
    (ze_device_handle_t d, const ze_image_desc_t *i,                          \
     ze_image_properties_t *p), (d, i, p), 0)                                 \
  X(MAKE, Image, image, Create, zeImageCreate,                                \
    (ze_context_handle_t c, ze_device_handle_t d, const ze_image_desc_t *i,   \
     ze_image_handle_t *h), (c, d, i, h), IMAGE, c, 0)                        \
  X(UNMAKE, Image, image, Destroy, zeImageDestroy, (ze_image_handle_t h),     \
    (h), IMAGE)                                                               \
  X(MAKE, Sampler, sampler, Create, zeSamplerCreate,                          \
    (ze_context_handle_t c, ze_device_handle_t d, const ze_sampler_desc_t *s, \
     ze_sampler_handle_t *h), (c, d, s, h), SAMPLER, c, 0)                    \
  X(UNMAKE, Sampler, sampler, Destroy, zeSamplerDestroy,                      \
    (ze_sampler_handle_t h), (h), SAMPLER)                                    \
  X(APPEND, CommandList, command_list, AppendImageCopyRegion,                 \
    zeCommandListAppendImageCopyRegion,                                       \
    (ze_command_list_handle_t l, ze_image_handle_t to,                        \
     ze_image_handle_t from, const ze_image_region_t *there,                  \
     const ze_image_region_t *here, ze_event_handle_t e, uint32_t n,          \
     ze_event_handle_t *w), (l, to, from, there, here, e, n, w), e, n, 0)     \
  X(APPEND, CommandList, command_list, AppendImageCopyToMemory,               \
    zeCommandListAppendImageCopyToMemory,                                     \
    (ze_command_list_handle_t l, void *to, ze_image_handle_t from,            \
     const ze_image_region_t *here, ze_event_handle_t e, uint32_t n,          \
     ze_event_handle_t *w), (l, to, from, here, e, n, w), e, n, 0)            \
  X(APPEND, CommandList, command_list, AppendImageCopyFromMemory,             \
    zeCommandListAppendImageCopyFromMemory,                                   \
    (ze_command_list_handle_t l, ze_image_handle_t to, const void *from,      \
     const ze_image_region_t *there, ze_event_handle_t e, uint32_t n,         \
     ze_event_handle_t *w), (l, to, from, there, e, n, w), e, n, 0)           \
  X(MAKE, Fence, fence, Create, zeFenceCreate,                                \
    (ze_command_queue_handle_t q, const ze_fence_desc_t *d,                   \
     ze_fence_handle_t *h), (q, d, h), FENCE, q, 0)                           \
  X(UNMAKE, Fence, fence, Destroy, zeFenceDestroy, (ze_fence_handle_t h),     \
    (h), FENCE)                                                               \
  X(PAUSE, Fence, fence, HostSynchronize, zeFenceHostSynchronize,             \
    (ze_fence_handle_t f, uint64_t ns), (f, ns), ns)                          \
  X(PAUSE, Fence, fence, QueryStatus, zeFenceQueryStatus,                     \
    (ze_fence_handle_t f), (f), 0)                                            \
  X(MAKE, EventPool, event_pool, Create, zeEventPoolCreate,                   \
    (ze_context_handle_t c, const ze_event_pool_desc_t *d, uint32_t n,        \
     ze_device_handle_t *v, ze_event_pool_handle_t *h), (c, d, n, v, h),      \
    POOL, c, 0)                                                               \
  X(UNMAKE, EventPool, event_pool, Destroy, zeEventPoolDestroy,               \
    (ze_event_pool_handle_t h), (h), POOL)                                    \
  X(MAKE, Event, event, Create, zeEventCreate,                                \
    (ze_event_pool_handle_t p, const ze_event_desc_t *d,                      \
     ze_event_handle_t *h), (p, d, h), EVENT, p, 0)                           \
  X(UNMAKE, Event, event, Destroy, zeEventDestroy, (ze_event_handle_t h),     \
    (h), EVENT)                                                               \
  X(PLAIN, Event, event, HostReset, zeEventHostReset, (ze_event_handle_t e),  \
    (e), 0)                                                                   \
  X(PLAIN, Event, event, HostSignal, zeEventHostSignal,                       \
    (ze_event_handle_t e), (e), 0)                                            \
  X(LOOK, Event, event, HostSynchronize, zeEventHostSynchronize,              \
    (ze_event_handle_t e, uint64_t ns), (e, left_ns(until)), e, ns)           \
  X(LOOK, Event, event, QueryStatus, zeEventQueryStatus,                      \
    (ze_event_handle_t e), (e), e, 0)                                         \
  X(PLAIN, Event, event, QueryKernelTimestamp, zeEventQueryKernelTimestamp,   \
    (ze_event_handle_t e, ze_kernel_timestamp_result_t *t), (e, t), 0)        \
  X(BUILD, Module, module, Create, zeModuleCreate,                            \
    (ze_context_handle_t c, ze_device_handle_t d,                             \
     const ze_module_desc_t *m, ze_module_handle_t *h,                        \
     ze_module_build_log_handle_t *log), (c, d, m, h, log), c)                \
  X(UNMAKE, Module, module, Destroy, zeModuleDestroy, (ze_module_handle_t h), \
    (h), MODULE)                                                              \
  X(PLAIN, Module, module, GetNativeBinary, zeModuleGetNativeBinary,          \
    (ze_module_handle_t m, size_t *n, uint8_t *p), (m, n, p), 0)              \
  X(PLAIN, Module, module, GetProperties, zeModuleGetProperties,              \
    (ze_module_handle_t m, ze_module_properties_t *p), (m, p), 0)             \
  X(UNMAKE, ModuleBuildLog, module_build_log, Destroy,                        \
    zeModuleBuildLogDestroy, (ze_module_build_log_handle_t h), (h), LOG)      \
  X(PLAIN, ModuleBuildLog, module_build_log, GetString,                       \
    zeModuleBuildLogGetString,                                                \
    (ze_module_build_log_handle_t m, size_t *n, char *p), (m, n, p), 0)       \
  X(MAKE, Kernel, kernel, Create, zeKernelCreate,                             \
    (ze_module_handle_t m, const ze_kernel_desc_t *k,                         \
     ze_kernel_handle_t *h), (m, k, h), KERNEL, m, 0)                         \
  X(UNMAKE, Kernel, kernel, Destroy, zeKernelDestroy, (ze_kernel_handle_t h), \
    (h), KERNEL)                                                              \
  X(PLAIN, Kernel, kernel, GetProperties, zeKernelGetProperties,              \
    (ze_kernel_handle_t k, ze_kernel_properties_t *p), (k, p), 0)             \
  X(PLAIN, Kernel, kernel, SetGroupSize, zeKernelSetGroupSize,                \
    (ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z),               \
    (k, x, y, z), 0)                                                          \
  X(PLAIN, Kernel, kernel, SuggestGroupSize, zeKernelSuggestGroupSize,        \
    (ze_kernel_handle_t k, uint32_t nx, uint32_t ny, uint32_t nz,             \
     uint32_t *x, uint32_t *y, uint32_t *z), (k, nx, ny, nz, x, y, z), 0)     \
  X(PLAIN, Kernel, kernel, SetArgumentValue, zeKernelSetArgumentValue,        \
    (ze_kernel_handle_t k, uint32_t i, size_t n, const void *p),              \
    (k, i, n, p), 0)                                                          \
  X(PLAIN, Kernel, kernel, SetIndirectAccess, zeKernelSetIndirectAccess,      \
    (ze_kernel_handle_t k, ze_kernel_indirect_access_flags_t f), (k, f), 0)   \
  X(PLAIN, KernelExp, kernel_exp, SetGlobalOffsetExp,                         \
    zeKernelSetGlobalOffsetExp,                                               \
    (ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z),               \
    (k, x, y, z), 0)

enum entry {
#define X(how, Table, table, Field, name, ...) E_##name,
  ENTRIES(X)
#undef X
  E_append_lists, /* 1.9: found by name, or in a table that 1.4 lacks */
  ENTRY_COUNT
};

#define APPEND_LISTS "zeCommandListImmediateAppendCommandListsExp"

static const char *const entry_names[] = {
#define X(how, Table, table, Field, name, ...) #name,
    ENTRIES(X)
#undef X
    APPEND_LISTS
};

#define X(how, Table, table, Field, name, ...) \
  static __typeof__(&name) real_##name;
ENTRIES(X)
#undef X

/* --- tracked state, all under one lock ---------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t calls[ENTRY_COUNT], failures[ENTRY_COUNT];
static uint64_t copies, copied_bytes, waited;

enum kind {
  CONTEXT, QUEUE, LIST, POOL, EVENT, FENCE, MODULE, LOG, KERNEL, MEMORY,
  MAPPING, IMAGE, SAMPLER, KIND_COUNT
};

static const char *const kind_names[] = {"context", "queue", "list",   "pool",
                                         "event",   "fence", "module", "log",
                                         "kernel",  "memory", "mapping",
                                         "image",   "sampler"};

static struct count {
  uint64_t made, destroyed;
  uint64_t spared;   /* a destroy of it was made to fail, so it lives on */
  uint64_t unknown;  /* destroys of objects that are not alive */
  uint64_t early;    /* destroys before objects created from it */
  uint64_t bytes, peak;
} counts[KIND_COUNT];

typedef struct Object {
  struct Object *next;
  const void *handle, *parent;
  enum kind kind;
  uint64_t bytes;
  uint64_t ready_ns; /* of an event: not reported as signalled before */
  bool spared;
} Object;

enum { BUCKETS = 4096 };
static Object *objects[BUCKETS];

static Object **object_find(const void *handle, enum kind kind) {
  Object **link = &objects[((uintptr_t)handle >> 4) % BUCKETS];
  while (*link != NULL && ((*link)->handle != handle || (*link)->kind != kind))
    link = &(*link)->next;
  return link;
}

static void object_made(enum kind kind, const void *handle,
                        const void *parent, uint64_t bytes) {
  Object *o = calloc(1, sizeof *o);
  if (o == NULL) abort(); /* a test without memory proves nothing */
  o->handle = handle;
  o->parent = parent;
  o->kind = kind;
  o->bytes = bytes;
  pthread_mutex_lock(&lock);
  Object **link = object_find(handle, kind);
  o->next = *link;
  *link = o;
  struct count *c = &counts[kind];
  c->made++;
  c->bytes += bytes;
  if (c->bytes > c->peak) c->peak = c->bytes;
  pthread_mutex_unlock(&lock);
}

static bool object_has_children(const void *handle) {
  for (size_t i = 0; i < BUCKETS; i++)
    for (const Object *o = objects[i]; o != NULL; o = o->next)
      if (o->parent == handle && !o->spared) return true;
  return false;
}

/* Called before the real driver destroys the object, as it may then give its
   handle to another thread.  Returns false if the object does not exist: the
   call would be undefined, and is not made. */
static bool object_destroyed(enum kind kind, const void *handle) {
  pthread_mutex_lock(&lock);
  Object **link = object_find(handle, kind), *o = *link;
  struct count *c = &counts[kind];
  if (o == NULL) {
    c->unknown++;
  } else {
    *link = o->next;
    c->destroyed++;
    c->bytes -= o->bytes;
    if (o->spared) c->spared--;
    if (kind != EVENT && kind != MEMORY && object_has_children(handle))
      c->early++;
  }
  pthread_mutex_unlock(&lock);
  free(o);
  return o != NULL;
}

static void object_spared(enum kind kind, const void *handle) {
  pthread_mutex_lock(&lock);
  Object *o = *object_find(handle, kind);
  if (o != NULL && !o->spared) {
    o->spared = true;
    counts[kind].spared++;
  }
  pthread_mutex_unlock(&lock);
}

/* --- rules -------------------------------------------------------------- */

static struct rule {
  enum { FAIL, LATE, LOST, HANG, DELAY, NOTHING, API } what;
  enum entry entry;
  uint64_t n, last, calls;
  ze_result_t code;
} rules[16];
static int rule_count;
static char rule_text[1024];
static int control = -1; /* the file of ZE_FAULT_CONTROL */

static enum entry entry_find(const char *name) {
  for (int e = 0; e < ENTRY_COUNT; e++)
    if (strcmp(entry_names[e], name) == 0) return (enum entry)e;
  fprintf(stderr, "ze_fault: no entry point %s is known\n", name);
  abort(); /* a test that tests nothing must not pass */
}

static void rules_set(const char *text) {
  snprintf(rule_text, sizeof rule_text, "%s", text);
  char copy[sizeof rule_text], *rest;
  memcpy(copy, rule_text, sizeof copy);
  rule_count = 0;
  for (char *line = strtok_r(copy, ";\n", &rest); line != NULL;
       line = strtok_r(NULL, ";\n", &rest)) {
    struct rule r = {.what = FAIL};
    char word[16] = "", name[64] = "", a[24] = "0", b[24] = "0";
    if (sscanf(line, "%15s", word) != 1) continue;
    bool fail = strcmp(word, "fail") == 0, late = strcmp(word, "late") == 0;
    if (fail || late || strcmp(word, "lost") == 0) {
      sscanf(line, "%*s %63s %23s %23s", name, a, b);
      r.what = fail ? FAIL : late ? LATE : LOST;
      r.entry = entry_find(name);
    } else if (strcmp(word, "delay") == 0) {
      sscanf(line, "%*s %23s %23s", a, b);
      r.what = DELAY;
    } else if (strcmp(word, "api") == 0) {
      sscanf(line, "%*s %23s %23s", a, b);
      r.what = API;
    } else if (strcmp(word, "hang") == 0) {
      r.what = HANG;
    } else if (strcmp(word, "null") == 0) {
      r.what = NOTHING;
    } else {
      fprintf(stderr, "ze_fault: no rule is called %s\n", word);
      abort();
    }
    r.n = strtoull(a, NULL, 0);
    r.last = strtoull(b, NULL, 0);
    r.code = (ze_result_t)r.last;
    if (rule_count < (int)(sizeof rules / sizeof *rules))
      rules[rule_count++] = r;
  }
}

static void rules_read(void) {
  char text[sizeof rule_text];
  if (control < 0) return;
  ssize_t n = pread(control, text, sizeof text - 1, 0);
  if (n < 0) return;
  text[n] = '\0';
  if (strcmp(text, rule_text) != 0) rules_set(text);
}

static const struct rule *rule_find(int what) {
  for (int i = 0; i < rule_count; i++)
    if ((int)rules[i].what == what) return &rules[i];
  return NULL;
}

static bool rule_holds(int what) {
  pthread_mutex_lock(&lock);
  rules_read();
  bool holds = rule_find(what) != NULL;
  pthread_mutex_unlock(&lock);
  return holds;
}

static bool device_lost(void) {
  pthread_mutex_lock(&lock);
  const struct rule *r = rule_find(LOST);
  bool lost = r != NULL && r->calls >= r->n && r->calls != 0;
  pthread_mutex_unlock(&lock);
  return lost;
}

/* Count a call.  Returns true if it must return *result instead of going on. */
static bool enter(enum entry e, ze_result_t *result) {
  bool fails = false;
  pthread_mutex_lock(&lock);
  rules_read();
  calls[e]++;
  for (int i = 0; i < rule_count; i++) {
    struct rule *r = &rules[i];
    if ((r->what != FAIL && r->what != LOST) || r->entry != e) continue;
    r->calls++;
    if (r->what != FAIL || (r->n != 0 && r->calls != r->n)) continue;
    failures[e]++;
    *result = r->code;
    fails = true;
  }
  pthread_mutex_unlock(&lock);
  return fails;
}

/* --- time --------------------------------------------------------------- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t later_ns(uint64_t ns) {
  uint64_t now = now_ns();
  return ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
}

static uint64_t left_ns(uint64_t until) {
  uint64_t now = now_ns();
  return until == UINT64_MAX ? until : until > now ? until - now : 0;
}

/* Sleep for a short time, but not past `until`: rules may change. */
static bool sleep_until(uint64_t until) {
  uint64_t ns = left_ns(until);
  if (ns == 0) return false;
  if (ns > 1000000) ns = 1000000;
  nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
  return true;
}

/* Delay the event of a command that is being appended. */
static void event_delay(const void *event) {
  static uint64_t seed = 1;
  pthread_mutex_lock(&lock);
  const struct rule *r = rule_find(DELAY);
  Object *o = *object_find(event, EVENT);
  if (o != NULL) {
    o->ready_ns = 0;
    if (r != NULL) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint64_t range = r->last > r->n ? r->last - r->n + 1 : 1;
      o->ready_ns = now_ns() + 1000 * (r->n + (seed >> 33) % range);
    }
  }
  pthread_mutex_unlock(&lock);
}

/* Returns true if the host must not yet see that an event is signalled. */
static bool event_hidden(const void *event) {
  pthread_mutex_lock(&lock);
  rules_read();
  const Object *o = *object_find(event, EVENT);
  bool hidden = rule_find(HANG) != NULL ||
                (o != NULL && o->ready_ns > now_ns());
  pthread_mutex_unlock(&lock);
  return hidden;
}

/* Called after the real call of an entry: return late if a rule says so. */
static void leave(enum entry e) {
  uint64_t until = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < rule_count; i++) {
    struct rule *r = &rules[i];
    if (r->what == LATE && r->entry == e && ++r->calls == r->n)
      until = later_ns(1000 * r->last);
  }
  pthread_mutex_unlock(&lock);
  while (sleep_until(until)) continue;
}

/* --- the wrappers ------------------------------------------------------- */

#define PLAIN(name, params, args, unused)                                     \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    r = real_##name args;                                                     \
    leave(E_##name);                                                          \
    return r;                                                                 \
  }

/* Replace the real version if a rule sets another one. */
static void version_change(ze_api_version_t *version) {
  pthread_mutex_lock(&lock);
  const struct rule *r = rule_find(API);
  if (r != NULL) *version = (ze_api_version_t)ZE_MAKE_VERSION(r->n, r->last);
  pthread_mutex_unlock(&lock);
}

#define VERSION(name, params, args, version)                                  \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    r = real_##name args;                                                     \
    if (r == ZE_RESULT_SUCCESS) version_change(version);                      \
    return r;                                                                 \
  }

typedef ze_result_t append_lists_function(ze_command_list_handle_t, uint32_t,
                                          ze_command_list_handle_t *,
                                          ze_event_handle_t, uint32_t,
                                          ze_event_handle_t *);
static append_lists_function *real_append_lists, fault_append_lists;

#define ADDRESS(name, params, args, unused)                                   \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    r = real_##name args;                                                     \
    if (r == ZE_RESULT_SUCCESS && strcmp(APPEND_LISTS, (name_)) == 0) {       \
      *(void **)&real_append_lists = *f;                                      \
      append_lists_function *wrapper = fault_append_lists;                    \
      memcpy(f, &wrapper, sizeof *f);                                         \
    }                                                                         \
    return r;                                                                 \
  }

#define MAKE(name, params, args, kind, parent, bytes)                         \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;                    \
    r = real_##name args;                                                     \
    if (r == ZE_RESULT_SUCCESS) object_made(kind, *h, parent, bytes);         \
    return r;                                                                 \
  }

/* A log is created even if the module is not. */
#define BUILD(name, params, args, context)                                    \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;                    \
    if (log != NULL) *log = NULL;                                             \
    r = real_##name args;                                                     \
    if (r == ZE_RESULT_SUCCESS) object_made(MODULE, *h, context, 0);          \
    if (log != NULL && *log != NULL) object_made(LOG, *log, NULL, 0);         \
    return r;                                                                 \
  }

#define UNMAKE(name, params, args, kind)                                      \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) {                                                \
      object_spared(kind, h);                                                 \
      return r;                                                               \
    }                                                                         \
    return object_destroyed(kind, h) ? real_##name args                       \
                                     : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;   \
  }

/* The real device is not lost, so its work may still write to memory that
   nothing waits for any more.  This memory is freed when all work is done. */
#define FREE(name, params, args, kind)                                        \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) {                                                \
      object_spared(kind, h);                                                 \
      return r;                                                               \
    }                                                                         \
    if (!object_destroyed(kind, h))                                           \
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;                             \
    if (!device_lost() || real_zeMemFreeExt == NULL) return real_##name args; \
    ze_memory_free_ext_desc_t when_idle = {                                   \
        .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,                      \
        .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};      \
    return real_zeMemFreeExt(c, &when_idle, h);                               \
  }

#define SUBMIT(name, params, args, unused)                                    \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;                    \
    return real_##name args;                                                  \
  }

#define APPEND(name, params, args, event, waits, size)                        \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;                    \
    count_append(waits, size);                                                \
    if (event != NULL) event_delay(event);                                    \
    if (!rule_holds(NOTHING)) return real_##name args;                        \
    return event != NULL ? real_zeEventHostSignal(event) : ZE_RESULT_SUCCESS; \
  }

/* Wait for a queue or a fence, or query one. */
#define PAUSE(name, params, args, ns)                                         \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    if (enter(E_##name, &r)) return r;                                        \
    uint64_t until = later_ns(ns);                                            \
    while (rule_holds(HANG))                                                  \
      if (!sleep_until(until)) return ZE_RESULT_NOT_READY;                    \
    r = real_##name args;                                                     \
    return device_lost() ? ZE_RESULT_ERROR_DEVICE_LOST : r;                   \
  }

/* The same for an event.  The real device is not lost, so its work must end
   before the loss is reported to the caller. */
#define LOOK(name, params, args, event, ns)                                   \
  static ze_result_t fault_##name params {                                    \
    ze_result_t r;                                                            \
    uint64_t until = later_ns(ns);                                            \
    bool fails = enter(E_##name, &r);                                         \
    if (fails) return r;                                                      \
    if (device_lost()) {                                                      \
      real_zeEventHostSynchronize(event, LOST_NS);                            \
      return ZE_RESULT_ERROR_DEVICE_LOST;                                     \
    }                                                                         \
    while (event_hidden(event))                                               \
      if (!sleep_until(until)) return ZE_RESULT_NOT_READY;                    \
    return real_##name args;                                                  \
  }
#define LOST_NS 5000000000u

static void count_append(uint32_t waits, uint64_t bytes) {
  pthread_mutex_lock(&lock);
  waited += waits;
  copies += bytes > 0;
  copied_bytes += bytes;
  pthread_mutex_unlock(&lock);
}

#define X(how, Table, table, Field, name, params, args, ...) \
  how(name, params, args, __VA_ARGS__)
ENTRIES(X)
#undef X

/* Like APPEND, but the lists themselves always run. */
static ze_result_t fault_append_lists(ze_command_list_handle_t list,
                                      uint32_t count,
                                      ze_command_list_handle_t *lists,
                                      ze_event_handle_t event, uint32_t n,
                                      ze_event_handle_t *waits) {
  ze_result_t r;
  if (enter(E_append_lists, &r)) return r;
  if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (event != NULL) event_delay(event);
  return real_append_lists(list, count, lists, event, n, waits);
}

/* --- the tables --------------------------------------------------------- */

typedef void (*function)(void);

static const struct wrapper {
  const char *table;
  size_t index;
  function wrapper, *real;
} wrappers[] = {
#define X(how, Table, table, Field, name, ...)                                \
  {#Table, offsetof(ze_##table##_dditable_t, pfn##Field) / sizeof(function),  \
   (function)fault_##name, (function *)(void *)&real_##name},
    ENTRIES(X)
#undef X
    {"CommandListExp", 1, (function)fault_append_lists,
     (function *)(void *)&real_append_lists}
};

/* More entries than any table of specification 1.17 has. */
enum { TABLE_MAX = 128 };

static void *driver_open(void) {
  static void *library;
  pthread_mutex_lock(&lock);
  const char *path = getenv("ZE_FAULT_DRIVER");
  if (library == NULL && path != NULL) {
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "ze_fault: %s\n", dlerror());
    const char *text = getenv("ZE_FAULT"), *file = getenv("ZE_FAULT_CONTROL");
    if (text != NULL) rules_set(text);
    if (file != NULL) control = open(file, O_RDONLY | O_CLOEXEC);
  }
  pthread_mutex_unlock(&lock);
  return library;
}

/* Let the real driver fill our table, so that the entries it leaves alone are
   NULL, and give the caller the other entries with our wrappers. */
static ze_result_t table_fill(const char *table, const char *symbol,
                              ze_api_version_t version, function *out) {
  void *library = driver_open();
  ze_result_t (*get)(ze_api_version_t, function *) = NULL;
  if (library != NULL) *(void **)&get = dlsym(library, symbol);
  if (get == NULL) return ZE_RESULT_ERROR_UNINITIALIZED;
  if (out == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  function entries[TABLE_MAX] = {NULL};
  ze_result_t r = get(version, entries);
  if (r != ZE_RESULT_SUCCESS) return r;
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
    const struct wrapper *w = &wrappers[i];
    if (strcmp(w->table, table) != 0 || entries[w->index] == NULL) continue;
    *w->real = entries[w->index];
    entries[w->index] = w->wrapper;
  }
  for (size_t i = 0; i < TABLE_MAX; i++)
    if (entries[i] != NULL) out[i] = entries[i];
  return r;
}

#define TABLE(api, name)                                                      \
  EXPORT ze_result_t fault_##api##name(ze_api_version_t, function *)          \
      __asm__(#api "Get" #name "ProcAddrTable");                              \
  ze_result_t fault_##api##name(ze_api_version_t v, function *table) {        \
    ze_result_t r = table_fill(#api[2] == '\0' ? #name : "",                  \
                               #api "Get" #name "ProcAddrTable", v, table);   \
    if (strcmp(#api, "zes") == 0) ze_sysman_fill(#name, table);               \
    return r;                                                                 \
  }

TABLE(ze, Global)
TABLE(ze, Driver)
TABLE(ze, DriverExp)
TABLE(ze, Device)
TABLE(ze, DeviceExp)
TABLE(ze, Context)
TABLE(ze, CommandQueue)
TABLE(ze, CommandList)
TABLE(ze, CommandListExp)
TABLE(ze, Image)
TABLE(ze, ImageExp)
TABLE(ze, Mem)
TABLE(ze, MemExp)
TABLE(ze, Fence)
TABLE(ze, EventPool)
TABLE(ze, Event)
TABLE(ze, EventExp)
TABLE(ze, Module)
TABLE(ze, ModuleBuildLog)
TABLE(ze, Kernel)
TABLE(ze, KernelExp)
TABLE(ze, Sampler)
TABLE(ze, PhysicalMem)
TABLE(ze, VirtualMem)
TABLE(ze, FabricVertexExp)
TABLE(ze, FabricEdgeExp)
TABLE(ze, Graph)
TABLE(ze, ExecutableGraph)
TABLE(ze, RTASBuilder)
TABLE(ze, RTASBuilderExp)
TABLE(ze, RTASParallelOperation)
TABLE(ze, RTASParallelOperationExp)
TABLE(zet, MetricProgrammableExp)
TABLE(zet, MetricTracerExp)
TABLE(zet, MetricDecoderExp)
TABLE(zet, Device)
TABLE(zet, DeviceExp)
TABLE(zet, Context)
TABLE(zet, CommandList)
TABLE(zet, CommandListExp)
TABLE(zet, Module)
TABLE(zet, Kernel)
TABLE(zet, Metric)
TABLE(zet, MetricExp)
TABLE(zet, MetricGroup)
TABLE(zet, MetricGroupExp)
TABLE(zet, MetricStreamer)
TABLE(zet, MetricQueryPool)
TABLE(zet, MetricQuery)
TABLE(zet, TracerExp)
TABLE(zet, Debug)
TABLE(zes, Global)
TABLE(zes, Device)
TABLE(zes, DeviceExp)
TABLE(zes, Driver)
TABLE(zes, DriverExp)
TABLE(zes, Overclock)
TABLE(zes, Scheduler)
TABLE(zes, PerformanceFactor)
TABLE(zes, Power)
TABLE(zes, Frequency)
TABLE(zes, Engine)
TABLE(zes, Standby)
TABLE(zes, Firmware)
TABLE(zes, FirmwareExp)
TABLE(zes, Memory)
TABLE(zes, FabricPort)
TABLE(zes, Temperature)
TABLE(zes, Psu)
TABLE(zes, Fan)
TABLE(zes, Led)
TABLE(zes, Ras)
TABLE(zes, RasExp)
TABLE(zes, Diagnostics)
TABLE(zes, VFManagementExp)
TABLE(zer, Global)

/* --- functions for C, and the report ------------------------------------ */

EXPORT void ze_fault_set(const char *text);
EXPORT uint64_t ze_fault_calls(const char *name);
EXPORT unsigned long ze_fault_leaked(void);
EXPORT bool ze_fault_report(const char *path);

void ze_fault_set(const char *text) {
  pthread_mutex_lock(&lock);
  rules_set(text);
  pthread_mutex_unlock(&lock);
}

uint64_t ze_fault_calls(const char *name) {
  pthread_mutex_lock(&lock);
  uint64_t n = calls[entry_find(name)];
  pthread_mutex_unlock(&lock);
  return n;
}

/* Returns the number of objects that are alive or were destroyed wrongly. */
unsigned long ze_fault_leaked(void) {
  uint64_t n = 0;
  pthread_mutex_lock(&lock);
  for (int k = 0; k < KIND_COUNT; k++)
    n += counts[k].made - counts[k].destroyed - counts[k].spared +
         counts[k].unknown + counts[k].early;
  pthread_mutex_unlock(&lock);
  return (unsigned long)n;
}

/* Write lines of a name and its numbers.  A live object whose destroy was not
   made to fail has leaked. */
bool ze_fault_report(const char *path) {
  FILE *f = fopen(path, "w");
  if (f == NULL) return false;
  pthread_mutex_lock(&lock);
  for (int e = 0; e < ENTRY_COUNT; e++)
    if (calls[e] != 0)
      fprintf(f, "%s: %llu calls, %llu failed\n", entry_names[e],
              (unsigned long long)calls[e], (unsigned long long)failures[e]);
  for (int k = 0; k < KIND_COUNT; k++) {
    const struct count *c = &counts[k];
    fprintf(f,
            "%s: %llu made, %llu destroyed, %llu spared, %llu unknown, "
            "%llu early, %llu live, %llu bytes, %llu peak\n",
            kind_names[k], (unsigned long long)c->made,
            (unsigned long long)c->destroyed, (unsigned long long)c->spared,
            (unsigned long long)c->unknown, (unsigned long long)c->early,
            (unsigned long long)(c->made - c->destroyed - c->spared),
            (unsigned long long)c->bytes, (unsigned long long)c->peak);
  }
  fprintf(f, "copies: %llu copies, %llu bytes\n", (unsigned long long)copies,
          (unsigned long long)copied_bytes);
  fprintf(f, "waits: %llu events\n", (unsigned long long)waited);
  pthread_mutex_unlock(&lock);
  return fclose(f) == 0;
}

static pid_t owner;
__attribute__((constructor)) static void load(void) { owner = getpid(); }

/* Report only the process that loaded the driver, not its forks. */
__attribute__((destructor)) static void unload(void) {
  const char *path = getenv("ZE_FAULT_REPORT");
  if (path != NULL && getpid() == owner && !ze_fault_report(path))
    fprintf(stderr, "ze_fault: cannot write %s\n", path);
}
