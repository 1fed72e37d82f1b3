/*
 * zocl_device.c - devices and their properties, taken from the OpenCL device.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_work.h"
#include "memory/zocl_memory.h"
#include "opencl/zocl_way.h"
#include "device/zocl_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------
 * Discovery.
 */

static void info(const zocl_device *device, cl_device_info what, void *value,
                 size_t size)
{
  /* If the query fails, the value stays as the caller has set it. */
  device->driver->cl->clGetDeviceInfo(device->id, what, size, value, NULL);
}

/* Returns a malloc'ed text property of the device, or "" if absent. */
static char *info_text(const zocl_device *device, cl_device_info what)
{
  size_t size = 0;
  char *text = NULL;
  zocl_cl *cl = device->driver->cl;
  if (cl->clGetDeviceInfo(device->id, what, 0, NULL, &size) == CL_SUCCESS &&
      (text = calloc(1, size + 1)) != NULL &&
      cl->clGetDeviceInfo(device->id, what, size, text, NULL) != CL_SUCCESS)
    *text = '\0';
  return text != NULL ? text : calloc(1, 1);
}

/* Returns true if `list`, words separated by blanks, contains the word. */
static bool has_word(const char *list, const char *word)
{
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
    if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
      return true;
  return false;
}

void zocl_device_name(zocl_device *device, uint32_t part)
{
  const char *texts[] = {device->driver->version, device->name};
  uint64_t hash[2] = {14695981039346656037u, 1469598103934665603u};
  for (int i = 0; i < 2; i++) {
    for (size_t t = 0; t < 2; t++)
      for (const char *p = texts[t]; *p != '\0'; p++)
        hash[i] = (hash[i] ^ (unsigned char)*p) * 1099511628211u;
    hash[i] = (hash[i] ^ device->index) * 1099511628211u;
    hash[i] = (hash[i] ^ part) * 1099511628211u;
  }
  memcpy(device->uuid, hash, sizeof device->uuid);
}

static void subgroups_find(zocl_device *device, const char *extensions)
{
  /* Level Zero has room for eight sizes; if there are more, report the first
     ones, which are the smaller ones. */
  enum { SUB_GROUP_SIZES_INTEL = 0x4108, ROOM = 8 };
  size_t sizes[64];
  size_t bytes = 0;
  if (has_word(extensions, "cl_intel_required_subgroup_size") &&
      device->driver->cl->clGetDeviceInfo(device->id, SUB_GROUP_SIZES_INTEL,
                                          sizeof sizes, sizes,
                                          &bytes) == CL_SUCCESS)
    for (size_t i = 0; i < bytes / sizeof *sizes && i < ROOM; i++)
      device->subgroup_sizes[device->subgroup_count++] = (uint32_t)sizes[i];
  /* The specification requires at least one size: a single work-item. */
  if (device->subgroup_count == 0)
    device->subgroup_sizes[device->subgroup_count++] = 1;
}

#define LACKS_MEMORY                                                    \
  "neither takes pointers of the host, nor has unified shared memory, " \
  "nor fine-grained shared virtual memory (ZOCL_MEMORY may leave only one " \
  "of these)"
#define LACKS_THREADS                                                \
  "does not tell when commands end (set POCL_CUDA_DISABLE_QUEUE_THREADS=0)"

static bool is_cuda_by_pocl(const zocl_device *device)
{
  enum { VENDOR_NVIDIA = 0x10de };
  return device->driver->pocl != 0 && device->vendor_id == VENDOR_NVIDIA;
}

/* Returns true for PoCL's CUDA device without threads for its queues, which is
   the default.  In this mode, PoCL checks if a command has ended only when
   something waits for it, so callbacks never run; and PoCL ends the process if
   a command waits for a user event. */
static bool is_without_threads(const zocl_device *device)
{
  const char *off = getenv("POCL_CUDA_DISABLE_QUEUE_THREADS");
  return is_cuda_by_pocl(device) && (off == NULL || *off == '1');
}

bool zocl_device_init(zocl_device *device, zocl_driver *driver, uint32_t index,
                      cl_device_id id)
{
  device->driver = driver;
  device->index = index;
  device->root = device;
  device->id = device->queue_id = id;
  char *name = info_text(device, CL_DEVICE_NAME);
  char *extensions = info_text(device, CL_DEVICE_EXTENSIONS);
  char *il = info_text(device, CL_DEVICE_IL_VERSION);
  if (name == NULL || extensions == NULL || il == NULL) {
    free(name);
    free(extensions);
    free(il);
    zocl_fail(0, "out of memory");
    return false;
  }
  snprintf(device->name, sizeof device->name, "%s", name);

  cl_device_exec_capabilities exec = 0;
  cl_bool compiler = CL_FALSE, generics = CL_TRUE;
  cl_device_fp_config half = 0, dbl = 0;
  info(device, CL_DEVICE_TYPE, &device->type, sizeof device->type);
  device->cpu = device->type & CL_DEVICE_TYPE_CPU;
  strcpy(device->vendor, "unknown");
  info(device, CL_DEVICE_VENDOR, device->vendor, sizeof device->vendor - 1);
  info(device, CL_DEVICE_EXECUTION_CAPABILITIES, &exec, sizeof exec);
  info(device, CL_DEVICE_COMPILER_AVAILABLE, &compiler, sizeof compiler);
  /* PoCL supports them, even on devices that report otherwise. */
  if (device->driver->pocl == 0)
    info(device, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, &generics,
         sizeof generics);
  device->generics = generics;
  info(device, CL_DEVICE_ADDRESS_BITS, &device->address_bits,
       sizeof device->address_bits);
  info(device, CL_DEVICE_VENDOR_ID, &device->vendor_id,
       sizeof device->vendor_id);
  info(device, CL_DEVICE_MAX_COMPUTE_UNITS, &device->units,
       sizeof device->units);
  info(device, CL_DEVICE_MAX_CLOCK_FREQUENCY, &device->mhz,
       sizeof device->mhz);
  info(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &device->vector_width,
       sizeof device->vector_width);
  info(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &device->max_group,
       sizeof device->max_group);
  info(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, device->max_size,
       sizeof device->max_size);
  info(device, CL_DEVICE_MAX_PARAMETER_SIZE, &device->max_argument_bytes,
       sizeof device->max_argument_bytes);
  info(device, CL_DEVICE_GLOBAL_MEM_SIZE, &device->memory_bytes,
       sizeof device->memory_bytes);
  info(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &device->max_alloc,
       sizeof device->max_alloc);
  info(device, CL_DEVICE_LOCAL_MEM_SIZE, &device->local_bytes,
       sizeof device->local_bytes);
  info(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &device->cache_bytes,
       sizeof device->cache_bytes);
  info(device, CL_DEVICE_HALF_FP_CONFIG, &half, sizeof half);
  info(device, CL_DEVICE_DOUBLE_FP_CONFIG, &dbl, sizeof dbl);
  device->takes_il = strstr(il, "SPIR-V_1.") != NULL;
  device->fp16 = has_word(extensions, "cl_khr_fp16") && half != 0;
  device->priorities = has_word(extensions, "cl_khr_priority_hints");
  device->fp64 = dbl != 0;
  subgroups_find(device, extensions);
  zocl_device_name(device, 0);
  device->native = (exec & CL_EXEC_NATIVE_KERNEL) && zocl_option.native_kernels;
  bool spir = has_word(extensions, "cl_khr_spir");
  device->lacks_groups = driver->pocl > 0 && !device->takes_il;
  device->lacks_signed = driver->pocl > 0 && driver->pocl < 7;
  free(name);
  free(extensions);
  free(il);

  const char *lacks = !compiler                    ? "has no compiler"
                      : device->address_bits != 64 ? "is not a 64-bit device"
                      : !device->takes_il && !spir ? "takes no SPIR-V"
                      : is_without_threads(device) ? LACKS_THREADS
                      : !zocl_way_of(driver)->fits(driver, id) ? LACKS_MEMORY
                                                          : NULL;
  if (is_cuda_by_pocl(device)) {
    driver->reuses_queues = driver->narrow_fills = true;
    /* PoCL 6.0 applies the offset to the launch, but the kernel does not see
       it. */
    if (driver->pocl < 8) driver->no_offsets = true;
  }
  if (lacks == NULL) return true;
  zocl_fail(0, "OpenCL device %s is left out: it %s", device->name, lacks);
  return false;
}

/* ------------------------------------------------------------------------
 * Entry points.
 */

ze_result_t zocl_DeviceGet(ze_driver_handle_t driver, uint32_t *count,
                           ze_device_handle_t *devices)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(count);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (zocl_is_query(count, driver->device_count)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(devices);
  for (uint32_t i = 0; i < *count; i++) devices[i] = driver->devices[i];
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetRootDevice(ze_device_handle_t device,
                                     ze_device_handle_t *root)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(root);
  *root = device->parent;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetSubDevices(ze_device_handle_t device,
                                     uint32_t *count,
                                     ze_device_handle_t *devices)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, device->sub_count)) return ZE_RESULT_SUCCESS;
  if (*count > 0) ZOCL_NEED_POINTER(devices);
  for (uint32_t i = 0; i < *count; i++) devices[i] = device->subs[i];
  return ZE_RESULT_SUCCESS;
}

/* ze_mutable_command_list_exp_properties_t (1.9). */
enum { MUTABLE_LIST_PROPERTIES = 0x20015 };
typedef struct mutable_list_properties {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t list_flags, command_flags;
} mutable_list_properties;

/* ze_event_query_kernel_timestamps_ext_properties_t (1.6).  Both kinds of
   timestamps are supported: the kernel's, and in host time. */
enum { QUERY_TIMESTAMPS_PROPERTIES = 0x10011 };

/* ze_device_event_properties_t (1.15): counter-based events have no counter in
   memory, only OpenCL events. */
enum { EVENT_PROPERTIES = 0x2003e };

/* ze_record_replay_graph_ext_properties_t (1.17): immutable graphs, made of
   commands, command lists and other graphs. */
enum { GRAPH_PROPERTIES = 0x20047, GRAPH_FLAGS = 0x1 | 0x4 | 0x8 };

/* ze_device_readonly_memory_ext_properties_t (1.17): a write to read-only
   virtual memory faults. */
enum { READONLY_PROPERTIES = 0x10015, READONLY_ENFORCED = 2 };
typedef struct readonly_properties {
  ze_structure_type_t stype;
  void *pNext;
  int capability;
} readonly_properties;

/* The unit of timerResolution depends on the structure type: cycles per second
   for the structure of version 1.2, nanoseconds per cycle for older ones. */
ze_result_t zocl_DeviceGetProperties(ze_device_handle_t device,
                                     ze_device_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  p->type = device->type & CL_DEVICE_TYPE_GPU || zocl_option.gpu
                ? ZE_DEVICE_TYPE_GPU
                : ZE_DEVICE_TYPE_CPU;
  p->vendorId = device->vendor_id;
  p->deviceId = device->index;
  p->flags = ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING;
  if (!zocl_option.device_memory_private)
    p->flags |= ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
  if (device->parent != NULL) p->flags |= ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
  p->subdeviceId = device->parent != NULL ? device->number : 0;
  p->coreClockRate = device->mhz;
  p->maxMemAllocSize = device->max_alloc;
  p->maxHardwareContexts = 1024 * 64; /* limited only by host memory */
  p->maxCommandQueuePriority = 0;
  p->numThreadsPerEU = 1;
  p->physicalEUSimdWidth = device->vector_width > 0 ? device->vector_width : 1;
  /* OpenCL counts compute units.  On a CPU these are cores; on a GPU they are
     sub-slices, each with its own local memory. */
  bool cpu = device->cpu;
  p->numEUsPerSubslice = cpu ? device->units : 1;
  p->numSubslicesPerSlice = cpu ? 1 : device->units;
  p->numSlices = 1;
  p->timerResolution =
      p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000u : 1;
  p->timestampValidBits = ZOCL_TIMESTAMP_BITS;
  p->kernelTimestampValidBits = ZOCL_TIMESTAMP_BITS;
  memcpy(p->uuid.id, device->uuid, sizeof p->uuid.id);
  memcpy(p->name, device->name, sizeof p->name);
  for (ze_base_properties_t *next = p->pNext; next != NULL; next = next->pNext)
    if ((int)next->stype == MUTABLE_LIST_PROPERTIES) {
      mutable_list_properties *lists = (mutable_list_properties *)next;
      lists->list_flags = 0;
      lists->command_flags = 0x7f; /* all flags except graph arguments */
    } else if ((int)next->stype == QUERY_TIMESTAMPS_PROPERTIES)
      ((zocl_extension *)next)->value = 0x3;
    else if ((int)next->stype == EVENT_PROPERTIES)
      ((zocl_extension *)next)->value = 0;
    else if ((int)next->stype == GRAPH_PROPERTIES)
      ((zocl_extension *)next)->value = GRAPH_FLAGS;
    else if ((int)next->stype == READONLY_PROPERTIES)
      ((readonly_properties *)next)->capability =
          device->driver->memory->any_pointer ? READONLY_ENFORCED : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetComputeProperties(ze_device_handle_t device,
                                            ze_device_compute_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  p->maxTotalGroupSize = zocl_clamp(device->max_group);
  p->maxGroupSizeX = zocl_clamp(device->max_size[0]);
  p->maxGroupSizeY = zocl_clamp(device->max_size[1]);
  p->maxGroupSizeZ = zocl_clamp(device->max_size[2]);
  p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = UINT32_MAX;
  p->maxSharedLocalMemory = zocl_clamp(device->local_bytes);
  p->numSubGroupSizes = device->subgroup_count;
  memset(p->subGroupSizes, 0, sizeof p->subGroupSizes);
  memcpy(p->subGroupSizes, device->subgroup_sizes,
         device->subgroup_count * sizeof *p->subGroupSizes);
  return ZE_RESULT_SUCCESS;
}

/* The two interfaces assign the last two flags in opposite order. */
static ze_device_fp_flags_t fp_flags(const zocl_device *device,
                                     cl_device_info what)
{
  cl_device_fp_config config = 0;
  info(device, what, &config, sizeof config);
  ze_device_fp_flags_t flags = (ze_device_fp_flags_t)config & 0x3f;
  if (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
    flags |= ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT;
  if (config & CL_FP_SOFT_FLOAT) flags |= ZE_DEVICE_FP_FLAG_SOFT_FLOAT;
  return flags;
}

/* zocl_lower.c implements all of them as exchanges of integers. */
static void float_atomics(ze_float_atomic_ext_properties_t *p, bool fp64)
{
  const ze_device_fp_atomic_ext_flags_t all =
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX;
  p->fp16Flags = p->fp32Flags = all;
  p->fp64Flags = fp64 ? all : 0;
}

ze_result_t zocl_DeviceGetModuleProperties(ze_device_handle_t device,
                                           ze_device_module_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  char *extensions = info_text(device, CL_DEVICE_EXTENSIONS);
  if (extensions == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  size_t printf_bytes = 0;
  info(device, CL_DEVICE_PRINTF_BUFFER_SIZE, &printf_bytes,
       sizeof printf_bytes);
  /* The translator supports at least 1.2; an OpenCL device reports what it
     supports. */
  unsigned long minor = device->takes_il ? 0 : 2;
  char *il = device->takes_il ? info_text(device, CL_DEVICE_IL_VERSION) : NULL;
  for (const char *v = il; v != NULL && (v = strstr(v, "SPIR-V_1.")) != NULL;) {
    unsigned long one = strtoul(v += strlen("SPIR-V_1."), NULL, 10);
    if (one > minor) minor = one;
  }
  free(il);
  p->spirvVersionSupported = ZE_MAKE_VERSION(1, (uint32_t)minor);
  p->flags = 0;
  /* If OpenCL has no half arithmetic, zocl_lower.c uses float instead. */
  p->flags |= ZE_DEVICE_MODULE_FLAG_FP16;
  if (device->fp64) p->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
  const bool atomics64 = zocl_option.int64_atomics &&
                         has_word(extensions, "cl_khr_int64_base_atomics");
  if (atomics64) p->flags |= ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  free(extensions);
  p->fp16flags = fp_flags(device, device->fp16 ? CL_DEVICE_HALF_FP_CONFIG
                                               : CL_DEVICE_SINGLE_FP_CONFIG);
  p->fp32flags = fp_flags(device, CL_DEVICE_SINGLE_FP_CONFIG);
  p->fp64flags = fp_flags(device, CL_DEVICE_DOUBLE_FP_CONFIG);
  p->maxArgumentsSize = zocl_clamp(device->max_argument_bytes);
  p->printfBufferSize = zocl_clamp(printf_bytes);
  memset(&p->nativeKernelSupported, 0, sizeof p->nativeKernelSupported);
  memcpy(p->nativeKernelSupported.id, "lze zocl native", 16);
  for (ze_base_properties_t *next = p->pNext; next != NULL; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES)
      float_atomics((ze_float_atomic_ext_properties_t *)next,
                    device->fp64 && atomics64);
  return ZE_RESULT_SUCCESS;
}

uint32_t zocl_device_groups(void)
{
  return zocl_option.copy_engine ? 2 : 1;
}

ze_result_t zocl_DeviceGetCommandQueueGroupProperties(
    ze_device_handle_t device, uint32_t *count,
    ze_command_queue_group_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, zocl_device_groups())) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(p);
  for (uint32_t i = 0; i < *count; i++) {
    p[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    if (i == 0)
      p[i].flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                    ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
    p[i].maxMemoryFillPatternSize = zocl_pattern_max(i);
    p[i].numQueues = (uint32_t)zocl_option.queues;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetMemoryProperties(ze_device_handle_t device,
                                           uint32_t *count,
                                           ze_device_memory_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, 1)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(p);
  p->flags = 0;
  p->maxClockRate = 0; /* OpenCL does not report it */
  p->maxBusWidth = 64; /* of one channel; their number is unknown */
  p->totalSize = device->memory_bytes;
  memset(p->name, 0, sizeof p->name);
  strcpy(p->name, "host memory");
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetMemoryAccessProperties(
    ze_device_handle_t device, ze_device_memory_access_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  const zocl_memory *memory = device->driver->memory;
  ze_memory_access_cap_flags_t *const flags[] = {
    &p->hostAllocCapabilities, &p->deviceAllocCapabilities,
    &p->sharedSingleDeviceAllocCapabilities,
    &p->sharedCrossDeviceAllocCapabilities, &p->sharedSystemAllocCapabilities};
  ze_memory_access_cap_flags_t all =
      ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
      ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT |
      ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
  cl_device_svm_capabilities svm = 0;
  info(device, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm);
  if (memory == &zocl_way_svm.memory && !(svm & CL_DEVICE_SVM_ATOMICS))
    all = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT;
  for (cl_device_info i = 0; i < 5; i++) {
    *flags[i] = all;
    if (memory != &zocl_way_usm.memory) continue;
    /* Both interfaces use the same bits for these flags. */
    cl_device_unified_shared_memory_capabilities_intel has = 0;
    info(device, CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL + i, &has, sizeof has);
    *flags[i] = (ze_memory_access_cap_flags_t)has & 0xf;
  }
  if (!zocl_option.peer_access) p->sharedCrossDeviceAllocCapabilities = 0;
  if (!memory->any_pointer) p->sharedSystemAllocCapabilities = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetCacheProperties(ze_device_handle_t device,
                                          uint32_t *count,
                                          ze_device_cache_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, 1)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(p);
  p->flags = 0;
  p->cacheSize = device->cache_bytes;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetExternalMemoryProperties(
    ze_device_handle_t device, ze_device_external_memory_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  p->memoryAllocationImportTypes = p->memoryAllocationExportTypes =
      device->driver->memory->any_pointer
          ? ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD
          : 0;
  p->imageImportTypes = p->imageExportTypes = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetP2PProperties(ze_device_handle_t device,
                                        ze_device_handle_t peer,
                                        ze_device_p2p_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_HANDLE(peer);
  ZOCL_NEED_POINTER(p);
  p->flags = 0;
  if (zocl_device_reaches(device, peer))
    p->flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS |
               ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceCanAccessPeer(ze_device_handle_t device,
                                     ze_device_handle_t peer, ze_bool_t *value)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_HANDLE(peer);
  ZOCL_NEED_POINTER(value);
  *value = zocl_device_reaches(device, peer);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetStatus(ze_device_handle_t device)
{
  ZOCL_NEED_HANDLE(device);
  return zocl_forked() ? zocl_error(ZE_RESULT_ERROR_DEVICE_LOST)
                       : ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetGlobalTimestamps(ze_device_handle_t device,
                                           uint64_t *host, uint64_t *ticks)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(host);
  ZOCL_NEED_POINTER(ticks);
  *host = zocl_clock();
  *ticks = *host & ((UINT64_C(1) << ZOCL_TIMESTAMP_BITS) - 1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceSynchronize(ze_device_handle_t device)
{
  ZOCL_NEED_HANDLE(device);
  return zocl_work_wait(device, UINT64_MAX, true);
}
