/*
 * zocl.h - every contract between the files of driver/.
 * SPDX-License-Identifier: MIT
 *
 * libze_opencl.so: a Level Zero driver on top of OpenCL.  See README.md for
 * its use, its environment variables and how it is built.
 *
 * How the parts hang together.  A Level Zero driver is one OpenCL platform, a
 * device is one OpenCL device, and all contexts of a driver share one
 * cl_context.  What executes is a stream (zocl_stream.c): an in-order OpenCL
 * queue, one below each command queue and each immediate list.  Commands are
 * submitted to it by the calling thread, long closed lists by a thread of the
 * stream (zocl_feeder.c); what has to wait for the host waits inside OpenCL on
 * a user event, so that no thread is ever blocked.  Completion is told by
 * signals (zocl_signal.c), the common part of events and fences.
 *
 * The handles of Level Zero are pointers to the structures below, whose tags
 * are the ones that the API declares.
 */
#ifndef ZOCL_H
#define ZOCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include "cache.h"
#include "prepare.h"
#include "spirv.h"
#include "tool.h"
#include "zocl_api.h"

#define ZOCL_EXPORT __attribute__((visibility("default")))

typedef struct _ze_driver_handle_t zocl_driver;
typedef struct _ze_device_handle_t zocl_device;
typedef struct _ze_context_handle_t zocl_context;
typedef struct _ze_command_queue_handle_t zocl_queue;
typedef struct _ze_command_list_handle_t zocl_list;
typedef struct _ze_event_pool_handle_t zocl_event_pool;
typedef struct _ze_event_handle_t zocl_event;
typedef struct _ze_fence_handle_t zocl_fence;
typedef struct _ze_module_handle_t zocl_module;
typedef struct _ze_module_build_log_handle_t zocl_build_log;
typedef struct _ze_kernel_handle_t zocl_kernel;
typedef struct _ze_image_handle_t zocl_image;
typedef struct _ze_sampler_handle_t zocl_sampler;
typedef struct zocl_stream zocl_stream;
typedef struct zocl_signal zocl_signal;
typedef struct zocl_commands zocl_commands;
typedef struct zocl_feeder zocl_feeder;
typedef struct zocl_memory zocl_memory;
typedef struct _ze_physical_mem_handle_t zocl_physical;
typedef struct zocl_file zocl_file;
typedef struct zocl_program zocl_program;
typedef struct zocl_board zocl_board;
typedef struct zocl_state zocl_state;
typedef struct zocl_command zocl_command;

/* The functions of one OpenCL implementation. */
typedef const cl_icd_dispatch zocl_cl;

/* Those of its extension for unified shared memory, or NULLs. */
typedef struct zocl_usm {
  clHostMemAllocINTEL_fn host_alloc;
  clDeviceMemAllocINTEL_fn device_alloc;
  clSharedMemAllocINTEL_fn shared_alloc;
  clMemFreeINTEL_fn free;
  clSetKernelArgMemPointerINTEL_fn argument;
  clEnqueueMemcpyINTEL_fn copy;
  clEnqueueMemFillINTEL_fn fill;
} zocl_usm;

/* ------------------------------------------------------------------------
 * zocl_ddi.c: the tables of functions.
 */

/* The loader's ze_handle_t: what every handle begins with, so that the loader
   finds a handle's driver without wrapping it.  Pointers to this driver's
   tables for core, tools, sysman and runtime functions. */
typedef struct zocl_handle {
  const void *core, *tools, *sysman, *runtime;
} zocl_handle;

/* What handles begin with; zocl_ddi.c sets it when the driver is loaded. */
extern zocl_handle zocl_tables;

/* Zeroed memory for a structure that begins with a zocl_handle, which is set;
   free releases it.  NULL: out of memory. */
void *zocl_handle_new(size_t size);

/* ------------------------------------------------------------------------
 * What the core asks of ext/, which is all that a launch does not need.  The
 * core names no function of it: each file there enters its own here.
 */

typedef struct zocl_hook {
  /* zocl_sysman.c: zeInit is called. */
  void (*initialise)(void);

  /* zocl_image.c.  NULL is allowed; an argument's value is checked, and goes to
     `place` unless that is NULL: a zocl_image *, or a cl_sampler. */
  void (*image_ref)(zocl_image *image);
  void (*image_unref)(zocl_image *image);
  ze_result_t (*image_argument)(const zocl_kernel *kernel, uint32_t index,
                                const void *value, void *place);
  ze_result_t (*sampler_argument)(const zocl_kernel *kernel, uint32_t index,
                                  const void *value, void *place);

  /* zocl_ipc.c: an allocation on the file that `import` names, and the file of
     an allocation. */
  ze_result_t (*memory_import)(zocl_context *context, zocl_device *device,
                               ze_memory_type_t type,
                               const ze_external_memory_import_fd_t *import,
                               size_t size, void **pointer);
  ze_result_t (*memory_export)(zocl_context *context, const void *pointer,
                               ze_external_memory_export_fd_t *export);

  /* zocl_board.c: the states of events that processes share.  Ring when a place
     was set; watch: zocl_signal_watch is called whenever one is, until the
     signal has no more gates, or false: out of memory. */
  ze_result_t (*board_new)(ze_event_pool_flags_t flags, uint32_t count,
                           zocl_board **board);
  void (*board_ref)(zocl_board *board);
  void (*board_unref)(zocl_board *board);
  zocl_state *(*board_place)(zocl_board *board, uint32_t index);
  void (*board_ring)(zocl_board *board);
  bool (*board_watch)(zocl_board *board, zocl_signal *signal);

  /* zocl_counter.c: counter-based events.  zocl_event_signal and what follows
     it say what these do. */
  ze_result_t (*counter_modes)(const ze_event_pool_desc_t *desc,
                               uint32_t *modes);
  zocl_signal *(*counter_signal)(zocl_event *event);
  zocl_signal *(*counter_begin)(const zocl_list *list,
                                const zocl_event *event);
  void (*counter_give)(zocl_event *event, zocl_signal *signal);
  ze_result_t (*counter_check)(const zocl_list *list, const zocl_event *event);

  /* zocl_graph.c, all of it only where zocl_is_capturing.  What a list's append
     means for captures: it may be one of a list that captures, or become so.
     With `*captured` the command has been recorded. */
  ze_result_t (*graph_append)(zocl_list *list, const zocl_command *command,
                              ze_event_handle_t signal, uint32_t wait_count,
                              ze_event_handle_t *waits, bool *captured);
  /* Capture copies of commands. */
  ze_result_t (*graph_append_all)(zocl_list *list, uint32_t count,
                                  zocl_commands *const *all);
  /* The list is going to be destroyed. */
  void (*graph_leave)(zocl_list *list);
  /* Hosts cannot wait for captured commands. */
  ze_result_t (*graph_check_event)(const zocl_event *event);
} zocl_hook;

extern zocl_hook zocl_ext;

void zocl_sysman_hook(zocl_hook *hook);
void zocl_image_hook(zocl_hook *hook);
void zocl_ipc_hook(zocl_hook *hook);
void zocl_board_hook(zocl_hook *hook);
void zocl_counter_hook(zocl_hook *hook);
void zocl_graph_hook(zocl_hook *hook);

/* ------------------------------------------------------------------------
 * zocl_driver.c: initialisation, drivers, errors.
 */

struct _ze_driver_handle_t {
  zocl_handle handle;
  zocl_cl *cl;
  cl_platform_id platform;
  cl_context context;
  unsigned pocl;         /* the major version of PoCL, whose habits are known
                            (zocl_opencl.c), or 0: it is another */
  const zocl_memory *memory; /* how its devices have memory */
  zocl_usm usm;
  unsigned llvm;         /* the LLVM version it says it has, or 0 */
  char version[256];     /* CL_PLATFORM_VERSION */
  bool clock_known;      /* under a lock of zocl_stream.c */
  uint64_t clock_offset; /* from OpenCL's profiling clock to zocl_clock */
  zocl_context *default_context;
  _Atomic(cl_sampler) samplers[5][2][2]; /* zocl_image.c's */
  uint64_t host_bytes, host_max_alloc;
  uint32_t root_count;
  zocl_device **roots;   /* all that there are, with their parts */
  uint32_t device_count;
  zocl_device **devices; /* those that zeDeviceGet reports */
};

/* Keep a reason for the calling thread's zeDriverGetLastErrorDescription and
   return `result`, so that one writes: return zocl_fail(result, "..."). */
ze_result_t zocl_fail(ze_result_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a result that says enough by itself. */
ze_result_t zocl_error(ze_result_t result);

/* The reason kept last by this thread, "" when there is none. */
const char *zocl_last_error(void);

/* The same, forgotten then: a text that lasts until the thread's next call. */
const char *zocl_last_error_take(void);

/* The Level Zero result for an OpenCL error; `call` names the function. */
ze_result_t zocl_cl_error(cl_int error, const char *call);

/* True in a process forked after initialisation: OpenCL's threads do not
   exist there, so that nothing may be called and nothing waited for. */
bool zocl_forked(void);
/* Initialisation succeeds: look out for forks from now on. */
void zocl_fork_watch(void);

/* For a process that had one thread when it was forked: all is there. */
void zocl_fork_is_whole(void);

/* The drivers as zeDriverGet counts and gives them, initialised once; not
   whether zeInit was called. */
ze_result_t zocl_drivers(uint32_t *count, zocl_driver **drivers);

#define ZOCL_NEED_HANDLE(handle) \
  do {                                                                   \
    if ((handle) == NULL)                                                \
      return zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s is null", \
                       #handle);                                         \
  } while (0)
#define ZOCL_NEED_POINTER(pointer) \
  do {                                                                    \
    if ((pointer) == NULL)                                                \
      return zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s is null", \
                       #pointer);                                         \
  } while (0)

/* Set the count of a function that lists what there is: to all of it where it
   is 0, which only asks for that (true), else to no more. */
static inline bool zocl_is_query(uint32_t *count, uint32_t there)
{
  bool query = *count == 0;
  if (query || *count > there) *count = there;
  return query;
}

/* ------------------------------------------------------------------------
 * zocl_opencl.c: finding OpenCL, and what must be true before it is used.
 */

typedef struct zocl_platform {
  cl_platform_id id;
  zocl_cl *cl;
} zocl_platform;

/* The OpenCL platforms this driver may use, at most `cap`; returns how many.
   Where there is none the reason is in zocl_last_error.  Called once. */
size_t zocl_opencl_platforms(zocl_platform *platforms, size_t cap);

/* Whether a compilation inside this process can succeed just now.  PoCL ends
   the process where its linker cannot be run, so this is asked before each
   build and before each launch that may compile.  On false the reason is in
   zocl_last_error. */
bool zocl_opencl_may_compile(const zocl_driver *driver);

/* To be called where a compilation begins, by the thread that asks for it, and
   where one is known to have ended: at exit, streams are then drained before
   the destructors of the compiler's libraries run. */
void zocl_opencl_compiles(void);
void zocl_opencl_compiled(void);

/* The launch of this event compiles its kernel before it runs. */
void zocl_opencl_compiling(const zocl_driver *driver, cl_event event);

/* ------------------------------------------------------------------------
 * zocl_knob.c: knobs for tests, described in README.md.
 */

typedef struct zocl_knobs {
  uint64_t root_devices;          /* for each device of OpenCL */
  uint64_t sub_devices;           /* of each root device */
  uint64_t memory_bytes;          /* of each root device, UINT64_MAX: its own */
  uint64_t peer_access;
  uint64_t device_memory_private; /* then there is no peer access either */
  uint64_t gpu;                   /* every device says that it is one */
  uint64_t native_kernels;        /* used where the device has them */
  uint64_t memory;                /* 0, or 1 + host, usm, svm */
  uint64_t copy_engine;           /* a second group, of queues that only copy */
  uint64_t queues;                /* of each group */
  uint64_t delay_start_us, delay_end_us;
  char sysfs_root[256];           /* what /sys and /proc lie below, or "" */
  bool slow; /* something is to be done before and after each command */
} zocl_knobs;

extern zocl_knobs zocl_knob;

/* Read them from the environment, once.  False where one is wrong, with the
   reason in zocl_last_error. */
bool zocl_knobs_read(void);

/* ------------------------------------------------------------------------
 * zocl_device.c: devices and their properties.
 */

/* What sysman tells of a device (zocl_sysman.c). */
typedef enum zocl_sensor_kind {
  ZOCL_SENSOR_MEMORY,
  ZOCL_SENSOR_ENGINE,
  ZOCL_SENSOR_FREQUENCY,
  ZOCL_SENSOR_HOTTEST,
  ZOCL_SENSOR_COOLEST,
  ZOCL_SENSOR_POWER,
  ZOCL_SENSORS
} zocl_sensor_kind;

/* What handles of sensors point to. */
typedef struct zocl_sensor {
  zocl_handle handle;
  zocl_device *device;
} zocl_sensor;

struct _ze_device_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  uint32_t index;        /* of the root device, in the driver */
  zocl_device *root;     /* itself, or what it is a part of */
  zocl_device *parent;   /* the root as programs see it: NULL if they do not */
  uint32_t number;       /* of a sub-device among its parent's */
  uint32_t part_count, sub_count;
  zocl_device **parts;   /* all the sub-devices there are */
  zocl_device **subs;    /* those of them that programs see */
  bool shown;            /* ZE_AFFINITY_MASK lets it be seen */
  cl_device_id id;       /* what kernels are built for: the root's */
  cl_device_id queue_id; /* what commands run on: a part of that */
  bool takes_il;         /* SPIR-V through clCreateProgramWithIL */
  bool fp64, fp16;
  bool priorities;       /* its queues have them: cl_khr_priority_hints */
  bool native;           /* functions of ours are commands of its queues */
  cl_device_type type;
  cl_uint vendor_id, units, mhz, address_bits, vector_width;
  size_t max_group, max_size[3], max_argument_bytes;
  cl_ulong memory_bytes, max_alloc, local_bytes, cache_bytes;
  uint64_t memory_used;  /* zocl_memory.c's, where there is a limit */
  uint32_t subgroup_sizes[8], subgroup_count;
  uint8_t uuid[16];
  char name[ZE_MAX_DEVICE_NAME];
  zocl_sensor sensors[ZOCL_SENSORS]; /* of a root, by kind */
};

/* Fill `device` from an OpenCL device.  False where Level Zero cannot be had
   on it, with the reason in zocl_last_error. */
bool zocl_device_init(zocl_device *device, zocl_driver *driver, uint32_t index,
                      cl_device_id id);

/* Give the device a UUID that is the same in each process and after each
   boot; `part` is 0 for a root, or counts its sub-devices from 1. */
void zocl_device_name(zocl_device *device, uint32_t part);

/* Whether commands of `device` may touch memory of `owner`. */
static inline bool zocl_device_reaches(const zocl_device *device,
                                       const zocl_device *owner)
{
  return device->root == owner->root ||
         (device->driver == owner->driver && zocl_knob.peer_access);
}

/* Queues of a group: more than there are is no loss, for they share the device
   in any case. */
enum { ZOCL_MAX_QUEUES = 16 };

/* How many groups of queues there are.  The first does everything, the second
   only copies. */
uint32_t zocl_device_groups(void);

/* Nanoseconds of the one clock that all timestamps are in. */
uint64_t zocl_clock(void);

/* Timestamps have this many valid bits: fewer than 64, because programs
   compute ~(-1 << bits). */
enum { ZOCL_TIMESTAMP_BITS = 56 };

/* ------------------------------------------------------------------------
 * zocl_hierarchy.c: root devices, sub-devices, and which of them are shown.
 */

/* The most root devices, and the most sub-devices of one. */
enum { ZOCL_MAX_PARTS = 16 };

/* Add the root devices for an OpenCL device, and their sub-devices.  False
   where there is none to be had, with the reason in zocl_last_error. */
bool zocl_hierarchy_add(zocl_driver *driver, cl_device_id id);

/* The OpenCL devices of all that was added, at most `cap`. */
size_t zocl_hierarchy_ids(const zocl_driver *driver, cl_device_id *ids,
                          size_t cap);

/* Choose what programs see, as the environment says.  False where that is
   nothing or the environment is wrong, with the reason in zocl_last_error. */
bool zocl_hierarchy_show(zocl_driver *driver);

void zocl_hierarchy_free(zocl_driver *driver);

/* ------------------------------------------------------------------------
 * zocl_sensors.c: what Linux tells of the CPUs.
 *
 * Each function is false where there is no such sensor.
 */

/* Bytes that there are, and that programs could have. */
bool zocl_sensors_memory(uint64_t *size, uint64_t *available);

/* Microseconds since the start of the machine that the CPUs were busy, on the
   mean, and all in all. */
bool zocl_sensors_activity(uint64_t *busy, uint64_t *all);

/* MHz, -1 where it is not known: what the slowest and the fastest CPU can do,
   what they are allowed, and the fastest one now, which is always known. */
typedef struct zocl_frequency {
  double min, max, low, high, now;
} zocl_frequency;
bool zocl_sensors_frequency(zocl_frequency *frequency);

/* Celsius, of the hottest and the coolest sensor; the limit may be -1. */
typedef struct zocl_temperature {
  double most, least, limit;
} zocl_temperature;
bool zocl_sensors_temperature(zocl_temperature *temperature);

/* All packages together: microjoules so far, and what they may draw for long,
   for short and at all, in milliwatts and over milliseconds, or -1. */
enum { ZOCL_POWER_LIMITS = 3 };
typedef struct zocl_power {
  uint32_t packages;
  bool enabled;
  uint64_t energy;
  int64_t limit[ZOCL_POWER_LIMITS], interval[ZOCL_POWER_LIMITS], max;
} zocl_power;
bool zocl_sensors_power(zocl_power *power);

/* ------------------------------------------------------------------------
 * zocl_work.c: what devices have to do, as far as others wait for it.
 */

typedef struct zocl_work zocl_work;
typedef struct zocl_work_kind {
  void (*ref)(zocl_work *work);
  void (*unref)(zocl_work *work);
  /* Until all that there is to do is done, at most `timeout` ns. */
  ze_result_t (*wait)(zocl_work *work, uint64_t timeout);
  /* Waits for nothing and leaves failures for those who wait. */
  bool (*is_idle)(zocl_work *work);
} zocl_work_kind;
struct zocl_work {
  const zocl_work_kind *kind;
  const zocl_device *device;
  zocl_work *next, *previous;
};

void zocl_work_add(zocl_work *work);
void zocl_work_remove(zocl_work *work);

/* Wait for all work of a device, or of all devices where it is NULL. */
ze_result_t zocl_work_wait(const zocl_device *device, uint64_t timeout);
/* Whether no device has anything to do. */
bool zocl_work_is_done(void);

/* What remains of `timeout` since `start`. */
uint64_t zocl_time_left(uint64_t timeout, uint64_t start);

/* ------------------------------------------------------------------------
 * zocl_context.c: contexts.
 */

struct _ze_context_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
};

/* ------------------------------------------------------------------------
 * zocl_memory.c: unified shared memory.
 */

/* Where a command of OpenCL goes, what it waits for, and what is to tell of its
   end, or NULL. */
typedef struct zocl_place {
  const zocl_device *device;
  cl_command_queue queue;
  cl_uint count;
  const cl_event *waits;
  cl_event *event;
} zocl_place;

/* Memory as it was got, of which an allocation may be a part. */
typedef struct zocl_block {
  zocl_driver *driver;
  zocl_device *device;   /* NULL for memory of the host */
  ze_memory_type_t type;
  void *at;
  size_t size;
} zocl_block;

/* All of the driver that depends on where memory lies: one way to have memory
   that kernels, queues and programs name by the same pointers. */
struct zocl_memory {
  /* Kernels take any pointer of the host, and functions of ours copy and fill
     whatever there is: there is no `reach`, `copy` or `fill` then. */
  bool any_pointer;
  bool (*fits)(const zocl_driver *driver, cl_device_id id);
  /* Memory for so many bytes, for whom the block says, which becomes what
     `free` takes; NULL where there is none. */
  void *(*allocate)(zocl_block *block, size_t size, size_t alignment);
  void (*free)(const zocl_block *block);
  cl_int (*argument)(const zocl_driver *driver, cl_kernel kernel,
                     cl_uint index, const void *pointer);
  /* Before a launch: what the kernel touches that no argument points to, memory
     of these types and that of its variables. */
  cl_int (*reach)(const zocl_driver *driver, cl_kernel kernel,
                  ze_kernel_indirect_access_flags_t indirect,
                  void *const *variables, size_t variable_count);
  /* Not empty; the pattern is aligned. */
  cl_int (*copy)(const zocl_place *place, void *to, const void *from,
                 size_t size);
  cl_int (*fill)(const zocl_place *place, void *to, const void *pattern,
                 size_t pattern_size, size_t size);
};

/* Blocks that were freed, for the next that are like them: zocl_memory_kept.c.
   Defined by ZOCL_KEPT(name, what gives a block back). */
typedef TAILQ_HEAD(zocl_kept_list, zocl_kept_block) zocl_kept_list;
typedef struct zocl_kept {
  pthread_mutex_t lock;
  zocl_kept_list list;   /* the last freed last */
  size_t count, bytes;
  void (*release)(const zocl_block *block);
} zocl_kept;
#define ZOCL_KEPT(name, release) \
  static zocl_kept name = {PTHREAD_MUTEX_INITIALIZER, \
                           TAILQ_HEAD_INITIALIZER(name.list), 0, 0, release}

/* What to ask for instead of `size` bytes, at most an eighth more, so that more
   blocks are alike. */
size_t zocl_kept_size(size_t size);
/* Have one for the same driver, device and type, of block->size bytes, at an
   address so aligned; false where there is none. */
bool zocl_kept_take(zocl_kept *kept, zocl_block *block, size_t alignment);
/* Keep a block, or give it back. */
void zocl_kept_give(zocl_kept *kept, const zocl_block *block);
/* Give all back. */
void zocl_kept_empty(zocl_kept *kept);

extern const zocl_memory zocl_memory_host, zocl_memory_usm, zocl_memory_svm;

/* Find the extension's functions; false where one is missing. */
bool zocl_usm_find(zocl_usm *usm, zocl_cl *cl, cl_platform_id platform);

/* Choose how a driver for these devices has memory: the first way that suits
   them all, else the first that suits one. */
void zocl_memory_choose(zocl_driver *driver, cl_uint count,
                        const cl_device_id *ids);

/* zocl_storage.c: memory for the program-scope variables of a module. */
typedef struct zocl_storage {
  atomic_uint refs;
  char *base;
  size_t size;
  zocl_block block;      /* whose memory this is; without a driver: mapped */
  struct zocl_storage *next; /* of those with a driver */
} zocl_storage;

/* So many zeros, at an address that is the same for the same hash where that
   is possible; NULL: out of memory. */
zocl_storage *zocl_storage_new(zocl_device *device, uint64_t hash,
                               size_t size);
zocl_storage *zocl_storage_ref(zocl_storage *storage); /* NULL is allowed, */
void zocl_storage_unref(zocl_storage *storage);        /* here too */

/* Whether a pointer is to memory of some driver's for variables. */
bool zocl_storage_has(const void *pointer);

/* How memory came to be, which says how it goes. */
typedef enum zocl_origin {
  ZOCL_MADE,     /* by the allocator of this process */
  ZOCL_OPENED,   /* by zeMemOpenIpcHandle */
  ZOCL_IMPORTED, /* by an allocation that was given a file */
  ZOCL_MAPPED    /* by zeVirtualMemMap */
} zocl_origin;

/* Memory that may be asked about. */
typedef struct zocl_allocation {
  char *base;
  zocl_block block;     /* where it was made */
  size_t size;
  uint64_t id;
  ze_memory_type_t type;
  zocl_origin origin;
  zocl_driver *driver;
  zocl_device *device;  /* NULL for host memory */
  zocl_file *file;      /* whose pages it has, or NULL */
  uint64_t file_offset; /* of the first */
  struct zocl_allocation *next; /* its owner's */
} zocl_allocation;

/* Whether memory may be that of a file, else with the reason in
   zocl_last_error: all that follows, files, IPC and virtual memory, needs that
   kernels take any pointer. */
bool zocl_memory_has_files(const zocl_driver *driver);

/* Let memory that overlaps no other be asked about, under a new id; and no
   longer. */
ze_result_t zocl_memory_add(zocl_allocation *allocation);
void zocl_memory_remove(zocl_allocation *allocation);
/* Let it end elsewhere, not beyond where the next begins. */
void zocl_memory_resize(zocl_allocation *allocation, size_t size);

/* Account for memory of a device whose size a knob has set; false where that
   much is not left, with the reason in zocl_last_error. */
bool zocl_memory_take(zocl_device *device, uint64_t size);
void zocl_memory_give(zocl_device *device, uint64_t size);

/* Find the allocation that `pointer` is in, and let it be memory of a file,
   so that other processes can have it: found->file is then a reference.  An
   allocation that is not yet is copied, for which commands in flight are
   waited for. */
ze_result_t zocl_memory_share(zocl_context *context, const void *pointer,
                              zocl_allocation *found);

/* Unmap what zeMemOpenIpcHandle mapped. */
ze_result_t zocl_memory_close(void *pointer);

/* Whether `pointer` is in an allocation, and of which type. */
bool zocl_memory_find(const void *pointer, ze_memory_type_t *type);

/* Whether commands of `device` may touch what `pointer` points to, and whether
   its kernels may.  False with the reason in zocl_last_error. */
bool zocl_memory_reachable(const zocl_device *device, const void *pointer);
bool zocl_memory_usable(const zocl_device *device, const void *pointer);

/* What `free` takes of all allocations of these types, malloc'ed with room for
   some more; NULL: out of memory. */
void **zocl_memory_blocks(const zocl_driver *driver,
                          ze_kernel_indirect_access_flags_t types, size_t more,
                          size_t *count);
/* A number that changes with each allocation and each free. */
uint64_t zocl_memory_generation(void);

/* With ZOCL_DEVICE_MEMORY_PRIVATE, around each command: between the first
   begin and the last end the memory of devices can be touched at all. */
void zocl_memory_begin(void);
void zocl_memory_end(void);

/* What zeMemFreeExt knows. */
enum {
  ZOCL_FREE_POLICIES = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE |
                       ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
};

/* Copy, run in a stream; `args` is a zocl_copy. */
typedef struct zocl_copy {
  void *to;
  const void *from;
  size_t size;
} zocl_copy;
void zocl_memory_copy(void *args);

/* Fill, likewise. */
enum { ZOCL_OPENCL_PATTERN = 128 }; /* the largest OpenCL type, double16 */
/* How large a pattern the queues of that group take: those that only copy
   what an OpenCL does. */
static inline size_t zocl_pattern_max(uint32_t ordinal)
{
  return ordinal == 0 ? SIZE_MAX : ZOCL_OPENCL_PATTERN;
}
typedef struct zocl_fill {
  void *to;
  size_t size, pattern_size;
  unsigned char pattern[];
} zocl_fill;
void zocl_memory_fill(void *args);

/* Copy of a box of rows, likewise.  Pitches in bytes. */
typedef struct zocl_copy_region {
  void *to;
  const void *from;
  ze_copy_region_t to_region, from_region; /* extents are from_region's */
  uint32_t to_pitch, to_slice, from_pitch, from_slice;
} zocl_copy_region;
void zocl_memory_copy_region(void *args);

/* ------------------------------------------------------------------------
 * zocl_transfer.c: the same put into a queue as commands of OpenCL.
 */

typedef cl_int (*zocl_transfer)(const zocl_place *place, const void *args,
                                size_t args_size);
cl_int zocl_transfer_copy(const zocl_place *place, const void *args,
                          size_t args_size);
cl_int zocl_transfer_fill(const zocl_place *place, const void *args,
                          size_t args_size);
cl_int zocl_transfer_copy_region(const zocl_place *place, const void *args,
                                 size_t args_size);

/* Free malloc'ed memory when `last` is done, the event of the place's last
   command, which becomes what is to tell of its end. */
void zocl_place_free(const zocl_place *place, cl_event last, void *memory);

/* A command that does nothing but wait. */
cl_int zocl_place_wait(const zocl_place *place, cl_event *event);

/* Where the next of several commands goes. */
zocl_place zocl_place_step(const zocl_place *place, bool first, bool last);

/* ------------------------------------------------------------------------
 * zocl_call.c: functions of ours in the order of a queue.
 */

typedef void (*zocl_host_function)(void *args);

/* Have it called with a copy of `args`. */
cl_int zocl_call_enqueue(const zocl_place *place, zocl_host_function function,
                         const void *args, size_t size);

/* ------------------------------------------------------------------------
 * zocl_file.c: memory that processes share.
 *
 * A file without a name, which lives as long as anybody has it open or mapped,
 * in whatever process.  It cannot be cut short, so that what is mapped of it
 * is there.  Its last page says what it is.
 */

enum {
  ZOCL_PAGE_BYTES = 4096,
  ZOCL_FILE_EVENTS = 0x100 /* a kind beside those of memory */
};

typedef struct zocl_file_info {
  uint32_t kind;  /* a ze_memory_type_t, or ZOCL_FILE_EVENTS */
  uint32_t flags; /* of an event pool */
  uint64_t size;  /* in bytes, one at least, without that page */
  uint64_t count; /* of events */
} zocl_file_info;

/* `bytes` in whole pages. */
size_t zocl_file_pages(size_t bytes);

/* A new one, of zeros. */
ze_result_t zocl_file_new(const zocl_file_info *info, zocl_file **file);
void zocl_file_ref(zocl_file *file);
void zocl_file_unref(zocl_file *file); /* NULL is allowed */
zocl_file_info zocl_file_is(const zocl_file *file);

/* What a descriptor of this process is of, a reference; NULL where it is no
   file of this driver's, with the reason in zocl_last_error. */
zocl_file *zocl_file_open(int descriptor);
/* Its own descriptor: the caller neither closes nor keeps it. */
int zocl_file_descriptor(const zocl_file *file);

/* Write to its beginning; map a part of it, which begins a page, over what is
   at `at` unless that is NULL.  False and NULL where memory does not
   suffice. */
bool zocl_file_write(const zocl_file *file, const void *bytes, size_t size);
void *zocl_file_map(const zocl_file *file, uint64_t offset, size_t size,
                    int protection, void *at);

/* A handle that other processes find a part of it by, of `descriptor` of this
   process.  The descriptor stands first, so that it may be passed through a
   socket and put there again. */
enum { ZOCL_HANDLE_BYTES = 64 };
void zocl_file_handle(const zocl_file *file, int descriptor, uint64_t offset,
                      uint64_t size, void *handle);
/* What a handle is of, a reference; NULL where it is no handle or its process
   does not give or have the file, with the reason in zocl_last_error. */
zocl_file *zocl_file_of_handle(const void *handle, uint64_t *offset,
                               uint64_t *size);
/* The descriptor of a handle where it is one of this process, or -1. */
int zocl_file_handle_descriptor(const void *handle);

/* ------------------------------------------------------------------------
 * zocl_image.c: images and samplers.
 *
 * Counted: the handle, the kernels that have it for an argument and recorded
 * commands keep an image.  What has been submitted OpenCL keeps itself.
 */

struct _ze_image_handle_t {
  zocl_handle handle;
  atomic_uint refs;
  zocl_device *device;
  cl_mem mem, buffer;    /* the second is what a buffer image lies in */
  ze_image_type_t type;
  cl_image_format format;
  uint32_t pixel_bytes;
  bool kernels_write;
  size_t extent[3];      /* in pixels, the layers of an array last */
  uint64_t id;
};

struct _ze_sampler_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  cl_sampler id;         /* the driver's */
};

/* ------------------------------------------------------------------------
 * zocl_thread.c: threads of the driver's own.
 */

/* Start a thread that takes none of the host's signals; false where there can
   be no more. */
bool zocl_thread_start(pthread_t *thread, void *(*run)(void *), void *args);

/* ------------------------------------------------------------------------
 * zocl_virtual.c: reserved addresses, and physical memory mapped there.
 */

/* The file of the physical memory whose handle this is, a reference; NULL
   where it is something else. */
zocl_file *zocl_physical_file(const void *pointer);

/* ------------------------------------------------------------------------
 * zocl_signal.c: something that becomes true once and may be reset.
 *
 * Counted, because OpenCL's callbacks may come after the event or fence is
 * gone.  All functions may be called by any thread.
 */

/* A wait on a signal, resolved while a command is being submitted. */
typedef enum zocl_wait {
  ZOCL_WAIT_NONE,     /* satisfied, or will be by the stream's own order */
  ZOCL_WAIT_EVENT,    /* wait for *event, which the caller then releases */
  ZOCL_WAIT_LATER     /* known only when the stream gets there */
} zocl_wait;

zocl_signal *zocl_signal_new(zocl_driver *driver, bool timed, bool set);
/* The one of an event that other processes have too. */
zocl_signal *zocl_signal_on(zocl_board *board, uint32_t index,
                            zocl_driver *driver, bool timed);
void zocl_signal_ref(zocl_signal *signal);
void zocl_signal_unref(zocl_signal *signal); /* NULL is allowed */

/* Whether it wants timestamps, so that its command needs a timed queue. */
bool zocl_signal_timed(const zocl_signal *signal);

/* One of a counter-based event, standing for one command as it was last
   submitted; and whether a signal is one. */
zocl_signal *zocl_signal_counter(zocl_driver *driver, bool timed, bool set);
bool zocl_signal_counted(const zocl_signal *signal);

void zocl_signal_set(zocl_signal *signal, uint64_t start, uint64_t end);
void zocl_signal_reset(zocl_signal *signal);

/* The command that was to signal it will not come: whoever waits for it is
   told DEVICE_LOST. */
void zocl_signal_fail(zocl_signal *signal);

/* SUCCESS, NOT_READY, or how the command that was to signal it failed. */
ze_result_t zocl_signal_query(zocl_signal *signal);
/* Wait at most `timeout` ns; UINT64_MAX is forever. */
ze_result_t zocl_signal_wait(zocl_signal *signal, uint64_t timeout);

/* Open its gates if it is set by now; whether it still has some. */
bool zocl_signal_watch(zocl_signal *signal);

/* The start and end of what signalled it last, in zocl_clock's ns.  False
   when it is not signalled. */
bool zocl_signal_times(zocl_signal *signal, uint64_t *start, uint64_t *end);

/* What a command submitted to `stream` has to wait for.  Where the stream is
   `blocked` by a wait for others, these may reset and set the signal before
   it gets there, in commands that are submitted only later. */
ze_result_t zocl_signal_resolve(zocl_signal *signal, zocl_stream *stream,
                                bool blocked, zocl_wait *wait,
                                cl_event *event);
/* Run in a stream of that rank for a wait that was LATER: complete `event`,
   which it takes over, as soon as the signal is set. */
void zocl_signal_open(zocl_signal *signal, int rank, cl_event event);

/* A feeder of `stream` is going to submit the command that will set it: a host
   that waits for it may lend a hand. */
void zocl_signal_promise(zocl_signal *signal, zocl_stream *stream);

/* The command of `event`, number `number` of `stream`, will signal it.  The
   event is taken over on success. */
ze_result_t zocl_signal_attach(zocl_signal *signal, zocl_stream *stream,
                               uint64_t number, cl_event event);

/* A reset in a stream: announce it when submitting, do it when running. */
void zocl_signal_reset_begin(zocl_signal *signal, zocl_stream *stream);
void zocl_signal_reset_end(zocl_signal *signal);

/* ------------------------------------------------------------------------
 * zocl_board.c: the states of events that processes share.
 */

/* What a signal is. */
struct zocl_state {
  _Atomic uint32_t set;      /* also the futex that hosts sleep on */
  _Atomic uint32_t sleepers; /* those who do */
  uint64_t start, end;       /* of what set it */
  cl_int status;             /* an error of that command */
  uint32_t unused[9];        /* no two in a cache line */
};

/* The bytes of a file for so many events. */
uint64_t zocl_board_bytes(uint64_t count);

/* The board in a file, whose reference is taken over; NULL where memory does
   not suffice. */
zocl_board *zocl_board_open(zocl_file *file);
void zocl_board_unref(zocl_board *board); /* NULL is allowed */
const zocl_file *zocl_board_file(const zocl_board *board);

/* ------------------------------------------------------------------------
 * zocl_stream.c: commands in order on an OpenCL queue.
 */

typedef enum zocl_command_kind {
  ZOCL_COMMAND_NOTHING, /* only waits and signals */
  ZOCL_COMMAND_LAUNCH,  /* a kernel */
  ZOCL_COMMAND_HOST,    /* a function of ours, run in order */
  ZOCL_COMMAND_TRANSFER, /* done by commands of OpenCL */
  ZOCL_COMMAND_RESET,   /* of signal `reset` */
  ZOCL_COMMAND_INDIRECT /* launches whose group counts are read then */
} zocl_command_kind;

/* A launch.  `values` are the kernel's arguments as captured. */
typedef struct zocl_launch {
  zocl_kernel *kernel;
  const unsigned char *values;
  size_t global[3], local[3], offset[3];
} zocl_launch;

/* Put an INDIRECT command into a stream's queue.  Its kernels run in `side`;
   its signal is set when they are done, before the stream goes on. */
typedef ze_result_t (*zocl_indirect)(const zocl_place *place,
                                     cl_command_queue side,
                                     const zocl_command *command);

struct zocl_command {
  zocl_command_kind kind;
  bool small;             /* HOST: cheap enough for the calling thread */
  uint32_t wait_count;
  zocl_signal *const *waits;
  zocl_signal *signal, *reset; /* or NULL */
  const zocl_launch *launch; /* of no groups, perhaps, of kind NOTHING */
  ze_group_count_t groups;   /* of the launch */
  zocl_image *const *images; /* that it uses */
  uint32_t image_count;
  zocl_host_function function; /* what a TRANSFER stands for, too */
  zocl_transfer transfer;
  zocl_indirect indirect;
  void *args;
  size_t args_size;
  /* Of HOST and TRANSFER, or NULL: keep what `args` refers to, for who records
     the command or submits it; the function itself drops it then. */
  zocl_host_function keep, drop;
};

ze_result_t zocl_stream_new(zocl_device *device,
                            ze_command_queue_priority_t priority,
                            zocl_stream **stream);
/* The higher the priority, the higher. */
int zocl_stream_rank(const zocl_stream *stream);
zocl_feeder *zocl_stream_feeder(const zocl_stream *stream);
void zocl_stream_ref(zocl_stream *stream);
void zocl_stream_unref(zocl_stream *stream);
/* The owner's last call: the OpenCL queue is released, what is still in it
   runs to its end.  References of others keep only the memory. */
void zocl_stream_close(zocl_stream *stream);

/* Submit without waiting for anything.  Nothing of `command` is used after
   the call but kernels, signals and what pointers in `args` point to. */
ze_result_t zocl_stream_submit(zocl_stream *stream,
                               const zocl_command *command);

/* Wait until everything submitted is done, at most `timeout` ns. */
ze_result_t zocl_stream_wait(zocl_stream *stream, uint64_t timeout);

/* Command `number` is known to be done, and so everything before it; `status`
   is negative where it failed. */
void zocl_stream_done(zocl_stream *stream, uint64_t number, int status);

/* ------------------------------------------------------------------------
 * zocl_event.c: event pools and events.
 */

struct _ze_event_pool_handle_t {
  zocl_handle handle;
  zocl_context *context;
  ze_event_pool_flags_t flags;
  uint32_t count;
  uint32_t counter_modes; /* 0: its events are not counter-based */
  zocl_board *board;     /* where it may be shared with other processes */
  bool opened;           /* it is another process's */
};

struct _ze_event_handle_t {
  zocl_handle handle;
  zocl_signal *signal;
  zocl_event_pool *pool;       /* NULL: made without one */
  ze_event_scope_flags_t signal_scope, wait_scope;
  uint32_t counter_modes;      /* as of its pool */
  uint32_t counter_flags;      /* given to zeEventCounterBasedCreate */
  struct {                     /* the captured command that signals it last */
    uint64_t capture;          /* 0: none */
    uint32_t branch, node;
    uint64_t work;             /* commands of the branch up to it */
  } captured;                  /* zocl_graph.c's */
};

/* A mode of a counter-based event says in which lists it may be signalled. */
enum { ZOCL_COUNTER_IMMEDIATE = 0x1, ZOCL_COUNTER_REGULAR = 0x2 };

/* The event's signal, with a reference for the caller. */
static inline zocl_signal *zocl_event_signal(zocl_event *event)
{
  if (event->counter_modes != 0) return zocl_ext.counter_signal(event);
  zocl_signal_ref(event->signal);
  return event->signal;
}

/* For what counter-based events cannot. */
static inline ze_result_t zocl_event_plain(const zocl_event *event)
{
  if (event->counter_modes == 0) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "a counter-based event is signalled by commands alone, and "
                   "never reset");
}

/* Whether commands of the list may signal the event, of whatever kind. */
static inline ze_result_t zocl_event_check(const zocl_list *list,
                                           const zocl_event *event)
{
  return event->counter_modes == 0 ? ZE_RESULT_SUCCESS
                                   : zocl_ext.counter_check(list, event);
}

/* The signal of a command of `list` that is to signal the event, with a
   reference: a new one where that is counter-based, which becomes the event's
   with `given`.  NULL: out of memory. */
static inline zocl_signal *zocl_event_begin(const zocl_list *list,
                                            zocl_event *event)
{
  if (event->counter_modes != 0) return zocl_ext.counter_begin(list, event);
  zocl_signal_ref(event->signal);
  return event->signal;
}
static inline void zocl_event_end(zocl_event *event, zocl_signal *signal,
                                  bool given)
{
  if (event->counter_modes != 0 && given)
    zocl_ext.counter_give(event, signal);
  else
    zocl_signal_unref(signal);
}

/* Results of zeEventQueryKernelTimestamp for `signal`; false if not set. */
bool zocl_event_timestamps(zocl_signal *signal,
                           ze_kernel_timestamp_result_t *result);

/* ------------------------------------------------------------------------
 * zocl_list.c, zocl_append.c and zocl_queue.c: command lists, what is appended
 * to them, command queues, fences.
 */

/* A recorded command; what it points to follows it in its block.  It refers
   to the signals, so that an event destroyed too early does no harm. */
typedef struct zocl_recorded {
  struct zocl_recorded *next;
  zocl_command command;
  zocl_launch launch;      /* where there is none, its kernel is NULL */
  zocl_signal **waits;     /* command.waits */
  uint32_t wait_room;
  zocl_image **images;     /* command.images; NULLs up to the room */
  uint32_t image_room;
  size_t values_at, values_room; /* of launch.values, in the block */
  uint64_t id;             /* where it may be changed, else 0 */
  uint32_t mutable_flags;
} zocl_recorded;

/* What was asked for the next command of a list, or id 0. */
typedef struct zocl_next {
  uint64_t id;
  uint32_t flags;
  size_t values_room;
} zocl_next;

struct _ze_command_list_handle_t {
  zocl_handle handle;
  zocl_context *context;
  zocl_device *device;
  uint32_t ordinal, index;
  zocl_stream *stream;   /* of an immediate list, else NULL */
  uint32_t flags;        /* as given, and for an immediate list: */
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;
  bool closed;
  zocl_commands *commands; /* of a regular list, else NULL */
  bool can_change;         /* made with ze_mutable_command_list_exp_desc_t */
  zocl_next next;
  zocl_graph *graph;       /* that captures what is appended, or NULL */
  uint32_t branch;         /* which of the graph's lists this is */
};

/* Describe a launch of `kernel` as it is now, where `list` may have it. */
ze_result_t zocl_launch_describe(const zocl_list *list, zocl_kernel *kernel,
                                 const ze_group_count_t *groups,
                                 zocl_launch *launch);

/* A function of ours; where that may not touch all memory, `transfer`, unless
   it is NULL. */
zocl_command zocl_list_command(const zocl_list *list,
                               zocl_host_function function,
                               zocl_transfer transfer, void *args,
                               size_t args_size, bool small);

/* Submit or record a command.  What all appends have in common is checked and
   filled in here, so that they only describe what they do.  All that it points
   to is copied. */
ze_result_t zocl_list_append(zocl_list *list, zocl_command *command,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* Submit a command to an immediate list, behind all that was appended to it,
   closed lists too. */
ze_result_t zocl_list_submit(zocl_list *list, const zocl_command *command);

/* The commands of lists, which must be closed lists of the device, one at
   least.  `*all` is `few`, which has room for ZOCL_FEW_LISTS, or to be
   freed. */
enum { ZOCL_FEW_LISTS = 16 };
ze_result_t zocl_lists_take(uint32_t count, ze_command_list_handle_t *lists,
                            const zocl_device *device, uint32_t ordinal,
                            zocl_commands **few, zocl_commands ***all);

/* What a queue descriptor asks for is there, or the error. */
ze_result_t zocl_queue_check(const ze_command_queue_desc_t *desc);

/* Append all those commands, which wait for the events and are followed by the
   signal, to an immediate list. */
ze_result_t zocl_list_append_all(zocl_list *list, uint32_t count,
                                 zocl_commands *const *all,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits);

/* The commands of a regular list, counted because a list may be reset or
   destroyed while they are on their way. */
zocl_commands *zocl_commands_new(void); /* NULL: out of memory */
void zocl_commands_ref(zocl_commands *commands);
void zocl_commands_unref(zocl_commands *commands);
uint32_t zocl_commands_count(const zocl_commands *commands);

/* A command of theirs has this signal. */
void zocl_commands_use(zocl_commands *commands, const zocl_signal *signal);

/* A new identifier for a command, or 0 where memory does not suffice; and the
   command of one, or NULL. */
uint64_t zocl_commands_id(zocl_commands *commands);
zocl_recorded *zocl_commands_find(const zocl_commands *commands, uint64_t id);

/* Record a command, with all it points to; and copies of others. */
ze_result_t zocl_commands_record(zocl_commands *commands,
                                 const zocl_command *command,
                                 const zocl_next *next);
ze_result_t zocl_commands_copy(zocl_commands *commands,
                               const zocl_commands *others);
/* The first, or NULL. */
const zocl_recorded *zocl_commands_first(const zocl_commands *commands);

/* The same with their identifiers; NULL: out of memory. */
zocl_commands *zocl_commands_clone(const zocl_commands *others);

/* Submit closed lists, and `fence` behind them unless it is NULL, behind what
   was executed before: before this returns with `here`, else perhaps later
   by another thread, whose errors the next wait tells. */
ze_result_t zocl_commands_execute(zocl_stream *stream, uint32_t count,
                                  zocl_commands *const *all,
                                  zocl_signal *fence, bool here);

/* How many graphs are captured just now (ext/zocl_graph.c). */
extern atomic_uint zocl_captures;

/* Whether any list captures just now: otherwise there is nothing to ask. */
static inline bool zocl_is_capturing(void)
{
  return atomic_load_explicit(&zocl_captures, memory_order_relaxed) > 0;
}

/* ------------------------------------------------------------------------
 * zocl_feeder.c: what is to be submitted to a stream by another thread.
 */

/* Something to submit.  `run` submits it and `free` ends it, behind `run`. */
typedef struct zocl_feeder_job zocl_feeder_job;
struct zocl_feeder_job {
  zocl_feeder_job *next;        /* the feeder's */
  ze_result_t (*run)(zocl_feeder_job *job);
  void (*free)(zocl_feeder_job *job);
};

zocl_feeder *zocl_feeder_new(void); /* NULL: out of memory */
void zocl_feeder_free(zocl_feeder *feeder);

/* Hand a job over, behind what was handed over before; the next wait tells its
   error.  False where there can be no thread: the job is still the caller's. */
bool zocl_feeder_give(zocl_feeder *feeder, zocl_feeder_job *job);
/* Between the two the caller submits, behind all that was handed over. */
void zocl_feeder_begin(zocl_feeder *feeder);
void zocl_feeder_end(zocl_feeder *feeder);

/* Whether jobs are still to be done. */
bool zocl_feeder_busy(const zocl_feeder *feeder);
/* Wait until all are done, at most `timeout` ns: SUCCESS or NOT_READY.  Callers
   that wait long do them themselves. */
ze_result_t zocl_feeder_wait(zocl_feeder *feeder, uint64_t timeout);
/* The error of a job that nobody has been told of yet. */
ze_result_t zocl_feeder_result(zocl_feeder *feeder);
/* Do the rest and end the thread. */
void zocl_feeder_stop(zocl_feeder *feeder);

/* ------------------------------------------------------------------------
 * zocl_module.c: modules and build logs.
 */

/* A program-scope variable. */
typedef struct zocl_global {
  const char *name;      /* NULL where it has none */
  uint32_t at;           /* its instruction in module->spirv */
  bool imported, exported;
  size_t bytes, offset;
  void *address;         /* of an imported one, once it is linked */
} zocl_global;

struct _ze_module_handle_t {
  zocl_handle handle;
  atomic_uint refs;      /* the handle and its kernels */
  zocl_device *device;
  spirv_module *spirv;
  cl_program program;    /* NULL until it is linked */
  zocl_program *shared;  /* what other modules have it by, or NULL */
  char *flags;           /* build flags as given */
  bool source;           /* of OpenCL C, which then is in words */
  uint32_t *words;       /* the SPIR-V with the constants given */
  size_t size;           /* in bytes */
  bool imports;          /* it needs, or has needed, other modules */
  cache_key origin;      /* what its code is made of, but for addresses */
  uint32_t *code;        /* what is built: words, or made of them */
  size_t code_size;
  zocl_global *globals;
  uint32_t global_count;
  zocl_storage *storage; /* of its own globals, or NULL */
  zocl_storage **held;   /* of others, whose addresses are in the code */
  uint32_t held_count;
};

/* A hash for names and checksums, not for secrets. */
uint64_t zocl_hash(uint64_t seed, const void *bytes, size_t size);

struct _ze_module_build_log_handle_t {
  zocl_handle handle;
  size_t size;           /* with the NUL */
  char text[];
};

void zocl_module_ref(zocl_module *module);
void zocl_module_unref(zocl_module *module);

/* zocl_source.c: a module of OpenCL C, which has no `spirv` until it has been
   built and described. */
#define ZOCL_MODULE_FORMAT_OCLC ((ze_module_format_t)3)
ze_result_t zocl_source_new(zocl_device *device, const void *text, size_t size,
                            const char *flags, zocl_module **module);
/* Make module->spirv of what OpenCL says of the kernels; false with the reason
   in log. */
bool zocl_source_describe(zocl_module *module, tool_text *log);

/* A native binary, malloc'ed, of the module's flags and that SPIR-V. */
void *zocl_module_pack(const zocl_module *module, const void *spirv,
                       size_t spirv_size, size_t *size);

/* A native binary taken apart, which it points into; false: damaged. */
typedef struct zocl_native {
  const char *flags;
  const void *code;
  size_t code_size;
  bool source;           /* of OpenCL C */
} zocl_native;
bool zocl_native_open(const void *bytes, size_t size, zocl_native *opened);

/* A module of a native binary: INVALID_NATIVE_BINARY where it is damaged,
   BUILD_FAILURE where it is not SPIR-V, with the reason in log. */
ze_result_t zocl_module_of_native(zocl_device *device, const void *bytes,
                                  size_t size, tool_text *log,
                                  zocl_module **module);

/* For lze-build: do with a native binary all that could end this process, but
   launch nothing.  False with the reason in log. */
bool zocl_module_try(zocl_device *device, const void *bytes, size_t size,
                     tool_text *log);
/* For lze-build: build SPIR-V for what that has OpenCL load. */
void zocl_module_warm(zocl_device *device, const void *spirv, size_t size,
                      tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_global.c: program-scope variables, in memory of this process.
 */

/* The blocks of memory whose addresses a module's code has, at `blocks` unless
   that is NULL; returns how many. */
size_t zocl_global_blocks(const zocl_module *module, void **blocks);

/* Keep the memory that another module's code has addresses of. */
bool zocl_globals_hold(zocl_module *module, const zocl_module *other);

/* Find the module's variables and give those that are not imported memory.
   False with the reason in log. */
bool zocl_globals_place(zocl_module *module, tool_text *log);
/* Give imported ones the addresses of those that others export.  False with
   those in log that nobody does. */
bool zocl_globals_import(zocl_module *module, zocl_module *const *others,
                         uint32_t count, tool_text *log);
/* Write their initial values, once the imported ones have their addresses. */
bool zocl_globals_fill(const zocl_module *module, tool_text *log);
/* By name, or NULL. */
zocl_global *zocl_global_find(const zocl_module *module, const char *name);

/* ------------------------------------------------------------------------
 * zocl_link.c: the code of one module made of several.
 */

/* Make module->code of its words: addresses for program-scope variables, and
   for what it imports the code of those of the `count` others that export it.
   What nobody exports stays imported.  False with the reason in log. */
bool zocl_link(zocl_module *module, zocl_module *const *others, uint32_t count,
               tool_text *log);

/* The SPIR-V, malloc'ed, of a module that is all of these, which are not linked
   yet: what one imports of another is in it.  NULL with the reason in log. */
uint32_t *zocl_link_join(zocl_module *const *modules, uint32_t count,
                         tool_text *log, size_t *size);

/* The symbol of that name that the module exports, or NULL. */
const spirv_symbol *zocl_link_export(const zocl_module *module,
                                     const char *name);

/* ------------------------------------------------------------------------
 * zocl_lower.c: what the OpenCL's library lacks, said with what it has.
 */

/* Rewrite module->code so that the OpenCL can build it, where that is needed.
   False with the reason in log. */
bool zocl_lower(zocl_module *module, tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_build.c: from SPIR-V to an OpenCL program.
 */

/* Build module->code into module->program; first in a process of its own
   unless that went well before.  False with the reason in log, to which
   compilers' messages are added in any case. */
bool zocl_build(zocl_module *module, tool_text *log);
/* Release the module's program, if it has one. */
void zocl_program_drop(const zocl_module *module);

/* Whether zocl_build tries a program in a process of its own first; a knob can
   switch that off. */
bool zocl_build_is_tried(void);

/* The same in this process at once. */
bool zocl_build_here(zocl_module *module, tool_text *log);

/* Have lze-build compile the module's kernels for some shapes of launches into
   PoCL's own cache, where the launches then find them.  `shapes` is a list as
   PoCL takes it: "64-1-1-goffs0-smallgrid,...". */
ze_result_t zocl_build_shapes(const zocl_module *module, const char *shapes);

/* ------------------------------------------------------------------------
 * zocl_server.c: lze-build as a process that stays.
 */

/* A message to it, and the files that come with it. */
typedef struct zocl_job {
  int32_t seconds; /* of processor time */
} zocl_job;
enum {
  ZOCL_JOB_TASK,     /* a zocl_task */
  ZOCL_JOB_MESSAGES, /* what becomes standard error */
  ZOCL_JOB_ANSWER,   /* a socket; once it is closed, nobody waits */
  ZOCL_JOB_FILES
};

/* The head of a task; behind it the platform's version, the device's
   name and the shapes, each with its NUL, and a native binary. */
typedef struct zocl_task {
  uint64_t version_size, name_size, shapes_size, binary_size;
} zocl_task;

typedef struct zocl_answer {
  enum {
    ZOCL_ANSWER_ENDED,  /* with that status */
    ZOCL_ANSWER_LATE,   /* it was ended, for it took too long */
    ZOCL_ANSWER_REFUSED /* no process could be made for it */
  } what;
  int32_t status;
} zocl_answer;

typedef enum zocl_served {
  ZOCL_NOT_SERVED, /* there is no server, nor can one be had */
  ZOCL_SERVED_FINE,
  ZOCL_SERVED_BADLY /* with the reason in log */
} zocl_served;

/* Have the server, started if need be from the program at `path`, do a piece of
   work, which is laid out as above. */
zocl_served zocl_server_build(const char *path, const void *task, size_t size,
                              int seconds, tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_translate.c: SPIR-V to the bitcode that an OpenCL without SPIR-V takes.
 */

/* Translate module->code with llvm-spirv, of LLVM `llvm` where that is
   installed, or take what was translated before from the cache.  Returns
   malloc'ed bitcode, or NULL with the reason in log. */
unsigned char *zocl_translate(const zocl_module *module, unsigned llvm,
                              size_t *size, tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_kernel.c: kernels, their arguments and their launch.
 */

typedef struct zocl_arg {
  spirv_class cls;
  bool set;
  size_t offset, bytes;  /* its place in zocl_kernel.values */
  uint32_t image;        /* of an image, its place in zocl_kernel.images */
} zocl_arg;

/* What is compiled apart: see shape_is_known. */
typedef struct zocl_shape {
  uint32_t local[3];
  uint32_t variant;
} zocl_shape;

struct _ze_kernel_handle_t {
  zocl_handle handle;
  zocl_module *module;
  const spirv_kernel *info;
  cl_kernel id;
  uint32_t arg_count, unset_count;
  zocl_arg *args;
  size_t values_size;
  unsigned char *values;  /* as set through the API */
  uint32_t image_count;
  zocl_image **images;    /* those among the values, referred to */
  uint32_t group[3], max_group;
  uint64_t offset[3];
  uint64_t local_bytes;   /* static and of its LOCAL arguments */
  ze_kernel_indirect_access_flags_t indirect;
  pthread_mutex_t lock;   /* of what follows, and of the cl_kernel */
  unsigned char *current; /* what the cl_kernel has */
  bool primed;            /* every argument has been given to the cl_kernel */
  uint64_t reached;       /* the generation of memory it knows, or 0 */
  uint32_t shape_count, shape_room;
  zocl_shape *shapes;
};

/* Check a value for an argument and, unless `values` is NULL, put it there.
   Whoever keeps it calls zocl_kernel_keep. */
ze_result_t zocl_kernel_argument(const zocl_kernel *kernel, uint32_t index,
                                 size_t size, const void *value,
                                 unsigned char *values);

/* Refer to an argument of `values` from `images`, which has a place for each
   image of the kernel, in place of what stood there; an argument that is no
   image needs nothing. */
void zocl_kernel_keep(const zocl_kernel *kernel, uint32_t index,
                      const unsigned char *values, zocl_image **images);

/* Whether the kernel can be launched in such groups. */
ze_result_t zocl_kernel_check_group(const zocl_kernel *kernel, uint32_t x,
                                    uint32_t y, uint32_t z);

/* Whether there is so much local memory for a group of the kernel.  Each launch
   asks. */
static inline bool zocl_kernel_fits(const zocl_kernel *kernel, uint64_t bytes)
{
  return bytes <= kernel->module->device->local_bytes;
}

/* The error where there is not. */
ze_result_t zocl_kernel_too_big(const zocl_kernel *kernel, uint64_t bytes);

/* The bytes of local memory that the argument is in `values`; 0 where it is
   none. */
uint64_t zocl_kernel_local(const zocl_kernel *kernel, uint32_t index,
                           const unsigned char *values);

/* Describe a launch of the kernel as it is set up now.  launch->values are
   the kernel's own: to be copied where the launch is kept. */
ze_result_t zocl_kernel_capture(zocl_kernel *kernel,
                                const ze_group_count_t *groups,
                                zocl_launch *launch);

/* Compile the kernel for some launches ahead of them, as prepare.h says. */
ze_result_t zocl_KernelPrepare(zocl_kernel *kernel, uint32_t count,
                               const prepare_launch *launches);

/* For lze-build: set every argument of the OpenCL kernel, to null pointers,
   zeros and a little local memory.  A kernel that has an image or a sampler is
   not tried and counts as good.  False with the reason in zocl_last_error. */
bool zocl_kernel_try(zocl_kernel *kernel);

/* Put a captured launch into a queue, after `waits`; its event goes to `event`
   unless that is NULL. */
ze_result_t zocl_kernel_enqueue(const zocl_launch *launch,
                                cl_command_queue queue, cl_uint wait_count,
                                const cl_event *waits, cl_event *event);

#endif
