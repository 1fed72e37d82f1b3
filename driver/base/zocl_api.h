/*
 * zocl_api.h - the Level Zero functions that this driver implements.
 * SPDX-License-Identifier: MIT
 *
 * One list holds the functions, with their places in the loader's tables and
 * the version of the specification that introduced them.  A table of the loader
 * is an array of function pointers that only grows at its end, so an index and
 * a version describe an entry completely.  Both are taken from include/ze_ddi.h
 * and from the version gates in Level Zero specification 1.17.
 *
 * zeFooBar is implemented by zocl_FooBar.
 */
#ifndef ZOCL_API_H
#define ZOCL_API_H

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

/* E(table, index, minor version that introduced it, name), up to version 1.4,
   the oldest headers that can build this driver. */
#define ZOCL_ENTRIES(E)                                \
  E(Global, 0, 0, Init)                                \
  E(Driver, 0, 0, DriverGet)                           \
  E(Driver, 1, 0, DriverGetApiVersion)                 \
  E(Driver, 2, 0, DriverGetProperties)                 \
  E(Driver, 3, 0, DriverGetIpcProperties)              \
  E(Driver, 4, 0, DriverGetExtensionProperties)        \
  E(Driver, 5, 1, DriverGetExtensionFunctionAddress)   \
  E(Device, 0, 0, DeviceGet)                           \
  E(Device, 1, 0, DeviceGetSubDevices)                 \
  E(Device, 2, 0, DeviceGetProperties)                 \
  E(Device, 3, 0, DeviceGetComputeProperties)          \
  E(Device, 4, 0, DeviceGetModuleProperties)           \
  E(Device, 5, 0, DeviceGetCommandQueueGroupProperties) \
  E(Device, 6, 0, DeviceGetMemoryProperties)           \
  E(Device, 7, 0, DeviceGetMemoryAccessProperties)     \
  E(Device, 8, 0, DeviceGetCacheProperties)            \
  E(Device, 9, 0, DeviceGetImageProperties)            \
  E(Device, 10, 0, DeviceGetExternalMemoryProperties)  \
  E(Device, 11, 0, DeviceGetP2PProperties)             \
  E(Device, 12, 0, DeviceCanAccessPeer)                \
  E(Device, 13, 0, DeviceGetStatus)                    \
  E(Device, 14, 1, DeviceGetGlobalTimestamps)          \
  E(Context, 0, 0, ContextCreate)                      \
  E(Context, 1, 0, ContextDestroy)                     \
  E(Context, 2, 0, ContextGetStatus)                   \
  E(Context, 3, 0, ContextSystemBarrier)               \
  E(Context, 4, 0, ContextMakeMemoryResident)          \
  E(Context, 5, 0, ContextEvictMemory)                 \
  E(Context, 6, 0, ContextMakeImageResident)           \
  E(Context, 7, 0, ContextEvictImage)                  \
  E(Context, 8, 1, ContextCreateEx)                    \
  E(CommandQueue, 0, 0, CommandQueueCreate)            \
  E(CommandQueue, 1, 0, CommandQueueDestroy)           \
  E(CommandQueue, 2, 0, CommandQueueExecuteCommandLists) \
  E(CommandQueue, 3, 0, CommandQueueSynchronize)       \
  E(CommandList, 0, 0, CommandListCreate)              \
  E(CommandList, 1, 0, CommandListCreateImmediate)     \
  E(CommandList, 2, 0, CommandListDestroy)             \
  E(CommandList, 3, 0, CommandListClose)               \
  E(CommandList, 4, 0, CommandListReset)               \
  E(CommandList, 5, 0, CommandListAppendWriteGlobalTimestamp) \
  E(CommandList, 6, 0, CommandListAppendBarrier)       \
  E(CommandList, 7, 0, CommandListAppendMemoryRangesBarrier) \
  E(CommandList, 8, 0, CommandListAppendMemoryCopy)    \
  E(CommandList, 9, 0, CommandListAppendMemoryFill)    \
  E(CommandList, 10, 0, CommandListAppendMemoryCopyRegion) \
  E(CommandList, 11, 0, CommandListAppendMemoryCopyFromContext) \
  E(CommandList, 12, 0, CommandListAppendImageCopy)    \
  E(CommandList, 13, 0, CommandListAppendImageCopyRegion) \
  E(CommandList, 14, 0, CommandListAppendImageCopyToMemory) \
  E(CommandList, 15, 0, CommandListAppendImageCopyFromMemory) \
  E(CommandList, 16, 0, CommandListAppendMemoryPrefetch) \
  E(CommandList, 17, 0, CommandListAppendMemAdvise)    \
  E(CommandList, 18, 0, CommandListAppendSignalEvent)  \
  E(CommandList, 19, 0, CommandListAppendWaitOnEvents) \
  E(CommandList, 20, 0, CommandListAppendEventReset)   \
  E(CommandList, 21, 0, CommandListAppendQueryKernelTimestamps) \
  E(CommandList, 22, 0, CommandListAppendLaunchKernel) \
  E(CommandList, 23, 0, CommandListAppendLaunchCooperativeKernel) \
  E(CommandList, 24, 0, CommandListAppendLaunchKernelIndirect) \
  E(CommandList, 25, 0, CommandListAppendLaunchMultipleKernelsIndirect) \
  E(CommandList, 26, 3, CommandListAppendImageCopyToMemoryExt) \
  E(CommandList, 27, 3, CommandListAppendImageCopyFromMemoryExt) \
  E(Image, 0, 0, ImageGetProperties)                   \
  E(Image, 1, 0, ImageCreate)                          \
  E(Image, 2, 0, ImageDestroy)                         \
  E(Image, 3, 3, ImageGetAllocPropertiesExt)           \
  E(ImageExp, 0, 2, ImageGetMemoryPropertiesExp)       \
  E(Sampler, 0, 0, SamplerCreate)                      \
  E(Sampler, 1, 0, SamplerDestroy)                     \
  E(Mem, 0, 0, MemAllocShared)                         \
  E(Mem, 1, 0, MemAllocDevice)                         \
  E(Mem, 2, 0, MemAllocHost)                           \
  E(Mem, 3, 0, MemFree)                                \
  E(Mem, 4, 0, MemGetAllocProperties)                  \
  E(Mem, 5, 0, MemGetAddressRange)                     \
  E(Mem, 6, 0, MemGetIpcHandle)                        \
  E(Mem, 7, 0, MemOpenIpcHandle)                       \
  E(Mem, 8, 0, MemCloseIpcHandle)                      \
  E(Mem, 9, 3, MemFreeExt)                             \
  E(PhysicalMem, 0, 0, PhysicalMemCreate)              \
  E(PhysicalMem, 1, 0, PhysicalMemDestroy)             \
  E(VirtualMem, 0, 0, VirtualMemReserve)               \
  E(VirtualMem, 1, 0, VirtualMemFree)                  \
  E(VirtualMem, 2, 0, VirtualMemQueryPageSize)         \
  E(VirtualMem, 3, 0, VirtualMemMap)                   \
  E(VirtualMem, 4, 0, VirtualMemUnmap)                 \
  E(VirtualMem, 5, 0, VirtualMemSetAccessAttribute)    \
  E(VirtualMem, 6, 0, VirtualMemGetAccessAttribute)    \
  E(Fence, 0, 0, FenceCreate)                          \
  E(Fence, 1, 0, FenceDestroy)                         \
  E(Fence, 2, 0, FenceHostSynchronize)                 \
  E(Fence, 3, 0, FenceQueryStatus)                     \
  E(Fence, 4, 0, FenceReset)                           \
  E(EventPool, 0, 0, EventPoolCreate)                  \
  E(EventPool, 1, 0, EventPoolDestroy)                 \
  E(EventPool, 2, 0, EventPoolGetIpcHandle)            \
  E(EventPool, 3, 0, EventPoolOpenIpcHandle)           \
  E(EventPool, 4, 0, EventPoolCloseIpcHandle)          \
  E(Event, 0, 0, EventCreate)                          \
  E(Event, 1, 0, EventDestroy)                         \
  E(Event, 2, 0, EventHostSignal)                      \
  E(Event, 3, 0, EventHostSynchronize)                 \
  E(Event, 4, 0, EventQueryStatus)                     \
  E(Event, 5, 0, EventHostReset)                       \
  E(Event, 6, 0, EventQueryKernelTimestamp)            \
  E(Module, 0, 0, ModuleCreate)                        \
  E(Module, 1, 0, ModuleDestroy)                       \
  E(Module, 2, 0, ModuleDynamicLink)                   \
  E(Module, 3, 0, ModuleGetNativeBinary)               \
  E(Module, 4, 0, ModuleGetGlobalPointer)              \
  E(Module, 5, 0, ModuleGetKernelNames)                \
  E(Module, 6, 0, ModuleGetProperties)                 \
  E(Module, 7, 0, ModuleGetFunctionPointer)            \
  E(Module, 8, 3, ModuleInspectLinkageExt)             \
  E(ModuleBuildLog, 0, 0, ModuleBuildLogDestroy)       \
  E(ModuleBuildLog, 1, 0, ModuleBuildLogGetString)     \
  E(Kernel, 0, 0, KernelCreate)                        \
  E(Kernel, 1, 0, KernelDestroy)                       \
  E(Kernel, 2, 0, KernelSetCacheConfig)                \
  E(Kernel, 3, 0, KernelSetGroupSize)                  \
  E(Kernel, 4, 0, KernelSuggestGroupSize)              \
  E(Kernel, 5, 0, KernelSuggestMaxCooperativeGroupCount) \
  E(Kernel, 6, 0, KernelSetArgumentValue)              \
  E(Kernel, 7, 0, KernelSetIndirectAccess)             \
  E(Kernel, 8, 0, KernelGetIndirectAccess)             \
  E(Kernel, 9, 0, KernelGetSourceAttributes)           \
  E(Kernel, 10, 0, KernelGetProperties)                \
  E(Kernel, 11, 0, KernelGetName)                      \
  E(EventExp, 0, 2, EventQueryTimestampsExp)           \
  E(KernelExp, 0, 1, KernelSetGlobalOffsetExp)         \
  E(DeviceExp, 0, 4, DeviceGetFabricVertexExp)         \
  E(FabricVertexExp, 0, 4, FabricVertexGetExp)

/* The same for functions that the oldest headers do not declare. */
#define ZOCL_NEWER_ENTRIES(E)                          \
  E(Global, 1, 10, InitDrivers)                        \
  E(Driver, 6, 6, DriverGetLastErrorDescription)       \
  E(Driver, 8, 14, DriverGetDefaultContext)            \
  E(Device, 18, 7, DeviceGetRootDevice)                \
  E(Device, 22, 14, DeviceSynchronize)                 \
  E(CommandQueue, 4, 9, CommandQueueGetOrdinal)        \
  E(CommandQueue, 5, 9, CommandQueueGetIndex)          \
  E(CommandQueue, 6, 17, CommandQueueGetFlags)         \
  E(CommandQueue, 7, 17, CommandQueueGetMode)          \
  E(CommandQueue, 8, 17, CommandQueueGetPriority)      \
  E(CommandList, 28, 6, CommandListHostSynchronize)    \
  E(CommandList, 29, 9, CommandListGetDeviceHandle)    \
  E(CommandList, 30, 9, CommandListGetContextHandle)   \
  E(CommandList, 31, 9, CommandListGetOrdinal)         \
  E(CommandList, 32, 9, CommandListImmediateGetIndex)  \
  E(CommandList, 33, 9, CommandListIsImmediate)        \
  E(CommandList, 36, 14, CommandListAppendLaunchKernelWithParameters) \
  E(CommandList, 37, 14, CommandListAppendLaunchKernelWithArguments) \
  E(CommandList, 38, 16, CommandListAppendMemoryCopyWithParameters) \
  E(CommandList, 39, 16, CommandListAppendMemoryFillWithParameters) \
  E(CommandList, 40, 16, CommandListImmediateAppendCommandListsWithParameters) \
  E(CommandList, 41, 17, CommandListGetFlags)          \
  E(CommandList, 42, 17, CommandListImmediateGetFlags) \
  E(CommandList, 43, 17, CommandListImmediateGetMode)  \
  E(CommandList, 44, 17, CommandListImmediateGetPriority) \
  E(CommandList, 45, 17, CommandListBeginGraphCaptureExt) \
  E(CommandList, 46, 17, CommandListBeginCaptureIntoGraphExt) \
  E(CommandList, 47, 17, CommandListIsGraphCaptureEnabledExt) \
  E(CommandList, 48, 17, CommandListEndGraphCaptureExt) \
  E(CommandList, 49, 17, CommandListGetGraphExt)       \
  E(CommandList, 50, 17, CommandListAppendGraphExt)    \
  E(CommandList, 51, 17, CommandListAppendHostFunction) \
  E(CommandListExp, 0, 9, CommandListCreateCloneExp)   \
  E(CommandListExp, 1, 9, CommandListImmediateAppendCommandListsExp) \
  E(CommandListExp, 2, 9, CommandListGetNextCommandIdExp) \
  E(CommandListExp, 3, 9, CommandListUpdateMutableCommandsExp) \
  E(CommandListExp, 4, 9, CommandListUpdateMutableCommandSignalEventExp) \
  E(CommandListExp, 5, 9, CommandListUpdateMutableCommandWaitEventsExp) \
  E(CommandListExp, 6, 10, CommandListGetNextCommandIdWithKernelsExp) \
  E(CommandListExp, 7, 10, CommandListUpdateMutableCommandKernelsExp) \
  E(CommandListExp, 8, 17, CommandListIsMutableExp)    \
  E(MemExp, 2, 7, MemSetAtomicAccessAttributeExp)      \
  E(MemExp, 3, 7, MemGetAtomicAccessAttributeExp)      \
  E(PhysicalMem, 2, 15, PhysicalMemGetProperties)      \
  E(Mem, 10, 6, MemPutIpcHandle)                       \
  E(Mem, 12, 15, MemGetIpcHandleWithProperties)        \
  E(MemExp, 0, 6, MemGetIpcHandleFromFileDescriptorExp) \
  E(MemExp, 1, 6, MemGetFileDescriptorFromIpcHandleExp) \
  E(EventPool, 5, 6, EventPoolPutIpcHandle)            \
  E(EventPool, 6, 9, EventPoolGetContextHandle)        \
  E(EventPool, 7, 9, EventPoolGetFlags)                \
  E(Event, 7, 6, EventQueryKernelTimestampsExt)        \
  E(Event, 8, 9, EventGetEventPool)                    \
  E(Event, 9, 9, EventGetSignalScope)                  \
  E(Event, 10, 9, EventGetWaitScope)                   \
  E(Event, 11, 15, EventCounterBasedCreate)            \
  E(Event, 16, 17, EventGetCounterBasedFlags)          \
  E(Graph, 0, 17, GraphCreateExt)                      \
  E(Graph, 1, 17, GraphGetPrimaryCommandListExt)       \
  E(Graph, 2, 17, GraphSetDestructionCallbackExt)      \
  E(Graph, 3, 17, GraphInstantiateExt)                 \
  E(Graph, 4, 17, GraphIsEmptyExt)                     \
  E(Graph, 5, 17, GraphDumpContentsExt)                \
  E(Graph, 6, 17, GraphDestroyExt)                     \
  E(ExecutableGraph, 0, 17, ExecutableGraphGetSourceGraphExt) \
  E(ExecutableGraph, 1, 17, ExecutableGraphDestroyExt)

/* The same for zes; zesFooBar is implemented by zocl_zesFooBar. */
#define ZOCL_SYSMAN_ENTRIES(E)                         \
  E(SysmanDevice, 0, 0, DeviceGetProperties)           \
  E(SysmanDevice, 1, 0, DeviceGetState)                \
  E(SysmanDevice, 9, 0, DeviceEnumEngineGroups)        \
  E(SysmanDevice, 14, 0, DeviceEnumFrequencyDomains)   \
  E(SysmanDevice, 16, 0, DeviceEnumMemoryModules)      \
  E(SysmanDevice, 18, 0, DeviceEnumPowerDomains)       \
  E(SysmanDevice, 19, 0, DeviceGetCardPowerDomain)     \
  E(SysmanDevice, 24, 0, DeviceEnumTemperatureSensors) \
  E(SysmanPower, 0, 0, PowerGetProperties)             \
  E(SysmanPower, 1, 0, PowerGetEnergyCounter)          \
  E(SysmanPower, 2, 0, PowerGetLimits)                 \
  E(SysmanPower, 6, 0, PowerGetLimitsExt)              \
  E(SysmanFrequency, 0, 0, FrequencyGetProperties)     \
  E(SysmanFrequency, 2, 0, FrequencyGetRange)          \
  E(SysmanFrequency, 4, 0, FrequencyGetState)          \
  E(SysmanEngine, 0, 0, EngineGetProperties)           \
  E(SysmanEngine, 1, 0, EngineGetActivity)             \
  E(SysmanMemory, 0, 0, MemoryGetProperties)           \
  E(SysmanMemory, 1, 0, MemoryGetState)                \
  E(SysmanTemperature, 0, 0, TemperatureGetProperties) \
  E(SysmanTemperature, 3, 0, TemperatureGetState)

#define ZOCL_NEWER_SYSMAN_ENTRIES(E)                   \
  E(SysmanGlobal, 0, 5, Init)                          \
  E(SysmanDevice, 29, 5, DeviceGet)                    \
  E(SysmanDriver, 2, 5, DriverGet)                     \
  E(SysmanDriver, 3, 8, DriverGetExtensionProperties)  \
  E(SysmanDriver, 4, 8, DriverGetExtensionFunctionAddress) \
  E(SysmanDriverExp, 0, 9, DriverGetDeviceByUuidExp)   \
  E(SysmanDeviceExp, 0, 9, DeviceGetSubDevicePropertiesExp)

/* The same for zer; zerFooBar is implemented by zocl_zerFooBar. */
#define ZOCL_RUNTIME_ENTRIES(E)                        \
  E(Runtime, 0, 14, GetLastErrorDescription)           \
  E(Runtime, 1, 14, TranslateDeviceHandleToIdentifier) \
  E(Runtime, 2, 14, TranslateIdentifierToDeviceHandle) \
  E(Runtime, 3, 14, GetDefaultContext)

#define ZOCL_DECLARE(table, index, minor, name) \
  __typeof__(ze##name) zocl_##name;
ZOCL_ENTRIES(ZOCL_DECLARE)
#undef ZOCL_DECLARE
#define ZOCL_DECLARE(table, index, minor, name) \
  __typeof__(zes##name) zocl_zes##name;
ZOCL_SYSMAN_ENTRIES(ZOCL_DECLARE)
#undef ZOCL_DECLARE

ze_result_t zocl_zesInit(uint32_t flags);
ze_result_t zocl_zesDriverGet(uint32_t *count, zes_driver_handle_t *drivers);
ze_result_t zocl_zesDeviceGet(zes_driver_handle_t driver, uint32_t *count,
                              zes_device_handle_t *devices);
/* zes_subdevice_exp_properties_t (1.9). */
typedef struct zocl_sub_device_properties {
  zes_structure_type_t stype;
  void *pNext;
  uint32_t number;
  ze_device_uuid_t uuid;
} zocl_sub_device_properties;
ze_result_t zocl_zesDeviceGetSubDevicePropertiesExp(
    zes_device_handle_t device, uint32_t *count,
    zocl_sub_device_properties *properties);
/* The identifier is a zes_uuid_t, which has the same layout. */
ze_result_t zocl_zesDriverGetDeviceByUuidExp(zes_driver_handle_t driver,
                                             ze_device_uuid_t uuid,
                                             zes_device_handle_t *device,
                                             ze_bool_t *on_sub_device,
                                             uint32_t *sub_device);
ze_result_t zocl_zesDriverGetExtensionProperties(zes_driver_handle_t driver,
                                                 uint32_t *count,
                                                 void *properties);
ze_result_t zocl_zesDriverGetExtensionFunctionAddress(
    zes_driver_handle_t driver, const char *name, void **address);

/* ze_init_driver_type_desc_t (1.10). */
typedef struct zocl_init_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint32_t flags;
} zocl_init_desc;

ze_result_t zocl_InitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
                             zocl_init_desc *desc);
ze_result_t zocl_DriverGetLastErrorDescription(ze_driver_handle_t driver,
                                               const char **text);
ze_context_handle_t zocl_DriverGetDefaultContext(ze_driver_handle_t driver);
ze_result_t zocl_zerGetLastErrorDescription(const char **text);
uint32_t zocl_zerTranslateDeviceHandleToIdentifier(ze_device_handle_t device);
ze_device_handle_t zocl_zerTranslateIdentifierToDeviceHandle(
    uint32_t identifier);
ze_context_handle_t zocl_zerGetDefaultContext(void);
ze_result_t zocl_DeviceGetRootDevice(ze_device_handle_t device,
                                     ze_device_handle_t *root);
ze_result_t zocl_DeviceSynchronize(ze_device_handle_t device);
ze_result_t zocl_CommandQueueGetOrdinal(ze_command_queue_handle_t queue,
                                        uint32_t *ordinal);
ze_result_t zocl_CommandQueueGetIndex(ze_command_queue_handle_t queue,
                                      uint32_t *index);
ze_result_t zocl_CommandQueueGetFlags(ze_command_queue_handle_t queue,
                                      ze_command_queue_flags_t *flags);
ze_result_t zocl_CommandQueueGetMode(ze_command_queue_handle_t queue,
                                     ze_command_queue_mode_t *mode);
ze_result_t zocl_CommandQueueGetPriority(ze_command_queue_handle_t queue,
                                         ze_command_queue_priority_t *priority);
ze_result_t zocl_CommandListHostSynchronize(ze_command_list_handle_t list,
                                            uint64_t timeout);
ze_result_t zocl_CommandListGetDeviceHandle(ze_command_list_handle_t list,
                                            ze_device_handle_t *device);
ze_result_t zocl_CommandListGetContextHandle(ze_command_list_handle_t list,
                                             ze_context_handle_t *context);
ze_result_t zocl_CommandListGetOrdinal(ze_command_list_handle_t list,
                                       uint32_t *ordinal);
ze_result_t zocl_CommandListImmediateGetIndex(ze_command_list_handle_t list,
                                              uint32_t *index);
ze_result_t zocl_CommandListIsImmediate(ze_command_list_handle_t list,
                                        ze_bool_t *immediate);

/* ze_group_size_t (1.14). */
typedef struct zocl_group_size {
  uint32_t x, y, z;
} zocl_group_size;

ze_result_t zocl_CommandListAppendLaunchKernelWithParameters(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t zocl_CommandListAppendLaunchKernelWithArguments(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t groups, const zocl_group_size sizes,
    void **arguments, const void *extensions, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t zocl_CommandListAppendMemoryCopyWithParameters(
    ze_command_list_handle_t list, void *to, const void *from, size_t size,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits);
ze_result_t zocl_CommandListAppendMemoryFillWithParameters(
    ze_command_list_handle_t list, void *to, const void *pattern,
    size_t pattern_size, size_t size, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t zocl_CommandListImmediateAppendCommandListsExp(
    ze_command_list_handle_t list, uint32_t count,
    ze_command_list_handle_t *lists, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t zocl_CommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t list, uint32_t count,
    ze_command_list_handle_t *lists, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);
ze_result_t zocl_CommandListGetFlags(ze_command_list_handle_t list,
                                     ze_command_list_flags_t *flags);
ze_result_t zocl_CommandListImmediateGetFlags(ze_command_list_handle_t list,
                                              ze_command_queue_flags_t *flags);
ze_result_t zocl_CommandListImmediateGetMode(ze_command_list_handle_t list,
                                             ze_command_queue_mode_t *mode);
ze_result_t zocl_CommandListImmediateGetPriority(
    ze_command_list_handle_t list, ze_command_queue_priority_t *priority);

/* ze_mutable_command_id_exp_desc_t (1.9). */
typedef struct zocl_command_id_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint32_t flags;
} zocl_command_id_desc;

ze_result_t zocl_CommandListCreateCloneExp(ze_command_list_handle_t list,
                                           ze_command_list_handle_t *clone);
ze_result_t zocl_CommandListGetNextCommandIdExp(
    ze_command_list_handle_t list, const zocl_command_id_desc *desc,
    uint64_t *id);
ze_result_t zocl_CommandListGetNextCommandIdWithKernelsExp(
    ze_command_list_handle_t list, const zocl_command_id_desc *desc,
    uint32_t count, ze_kernel_handle_t *kernels, uint64_t *id);
ze_result_t zocl_CommandListUpdateMutableCommandsExp(
    ze_command_list_handle_t list, const ze_base_desc_t *desc);
ze_result_t zocl_CommandListUpdateMutableCommandSignalEventExp(
    ze_command_list_handle_t list, uint64_t id, ze_event_handle_t event);
ze_result_t zocl_CommandListUpdateMutableCommandWaitEventsExp(
    ze_command_list_handle_t list, uint64_t id, uint32_t count,
    ze_event_handle_t *events);
ze_result_t zocl_CommandListUpdateMutableCommandKernelsExp(
    ze_command_list_handle_t list, uint32_t count, uint64_t *ids,
    ze_kernel_handle_t *kernels);
ze_result_t zocl_CommandListIsMutableExp(ze_command_list_handle_t list,
                                         ze_bool_t *value);

/* ze_memory_atomic_attr_exp_flags_t (1.7) are a uint32_t. */
ze_result_t zocl_MemSetAtomicAccessAttributeExp(ze_context_handle_t context,
                                                ze_device_handle_t device,
                                                const void *pointer,
                                                size_t size, uint32_t flags);
ze_result_t zocl_MemGetAtomicAccessAttributeExp(ze_context_handle_t context,
                                                ze_device_handle_t device,
                                                const void *pointer,
                                                size_t size, uint32_t *flags);

/* ze_host_function_callback_t (1.17). */
typedef void (*zocl_host_callback)(void *data);

ze_result_t zocl_CommandListAppendHostFunction(
    ze_command_list_handle_t list, zocl_host_callback function, void *data,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits);

/* ze_graph_handle_t, ze_executable_graph_handle_t (1.17), and the results that
   were added with them. */
typedef struct zocl_graph zocl_graph;
typedef struct zocl_executable zocl_executable;
#define ZOCL_QUERY_TRUE ((ze_result_t)0x78000022)
#define ZOCL_QUERY_FALSE ((ze_result_t)0x78000023)
#define ZOCL_ERROR_INVALID_GRAPH ((ze_result_t)0x78000024)
#define ZOCL_ERROR_CAPTURE_UNSUPPORTED ((ze_result_t)0x78000025)
#define ZOCL_ERROR_CAPTURE_INVALIDATED ((ze_result_t)0x78000026)
#define ZOCL_ERROR_CAPTURE_MERGE_ATTEMPT ((ze_result_t)0x78000027)
#define ZOCL_ERROR_COMMAND_LIST_NOT_CAPTURING ((ze_result_t)0x78000028)
#define ZOCL_ERROR_GRAPH_UNJOINED_FORKS ((ze_result_t)0x78000029)
#define ZOCL_ERROR_GRAPH_INTERNAL_EVENT ((ze_result_t)0x7800002a)

ze_result_t zocl_GraphCreateExt(ze_context_handle_t context,
                                const void *extensions, zocl_graph **graph);
ze_result_t zocl_GraphGetPrimaryCommandListExt(zocl_graph *graph,
                                               ze_command_list_handle_t *list);
ze_result_t zocl_GraphSetDestructionCallbackExt(zocl_graph *graph,
                                                zocl_host_callback function,
                                                void *data,
                                                const void *extensions);
ze_result_t zocl_GraphInstantiateExt(zocl_graph *graph, const void *extensions,
                                     zocl_executable **executable);
ze_result_t zocl_GraphIsEmptyExt(zocl_graph *graph);
ze_result_t zocl_GraphDumpContentsExt(zocl_graph *graph, const char *path,
                                      const void *extensions);
ze_result_t zocl_GraphDestroyExt(zocl_graph *graph);
ze_result_t zocl_ExecutableGraphGetSourceGraphExt(zocl_executable *executable,
                                                  zocl_graph **graph);
ze_result_t zocl_ExecutableGraphDestroyExt(zocl_executable *executable);
ze_result_t zocl_CommandListBeginGraphCaptureExt(ze_command_list_handle_t list,
                                                 const void *extensions);
ze_result_t zocl_CommandListBeginCaptureIntoGraphExt(
    ze_command_list_handle_t list, zocl_graph *graph, const void *extensions);
ze_result_t zocl_CommandListIsGraphCaptureEnabledExt(
    ze_command_list_handle_t list);
ze_result_t zocl_CommandListEndGraphCaptureExt(ze_command_list_handle_t list,
                                               const void *extensions,
                                               zocl_graph **graph);
ze_result_t zocl_CommandListGetGraphExt(ze_command_list_handle_t list,
                                        zocl_graph **graph);
ze_result_t zocl_CommandListAppendGraphExt(
    ze_command_list_handle_t list, zocl_executable *executable,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits);

/* ze_ipc_mem_handle_type_ext_desc_t (1.15). */
typedef struct zocl_handle_type_desc {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t types;
} zocl_handle_type_desc;

/* ze_physical_mem_properties_t (1.15). */
typedef struct zocl_physical_properties {
  ze_structure_type_t stype;
  void *pNext;
  uint64_t id, size;
} zocl_physical_properties;

ze_result_t zocl_PhysicalMemGetProperties(
    ze_context_handle_t context, ze_physical_mem_handle_t physical,
    zocl_physical_properties *properties);

ze_result_t zocl_MemPutIpcHandle(ze_context_handle_t context,
                                 ze_ipc_mem_handle_t handle);
ze_result_t zocl_MemGetIpcHandleWithProperties(ze_context_handle_t context,
                                               const void *pointer,
                                               void *extensions,
                                               ze_ipc_mem_handle_t *handle);
ze_result_t zocl_MemGetIpcHandleFromFileDescriptorExp(
    ze_context_handle_t context, uint64_t descriptor,
    ze_ipc_mem_handle_t *handle);
ze_result_t zocl_MemGetFileDescriptorFromIpcHandleExp(
    ze_context_handle_t context, ze_ipc_mem_handle_t handle,
    uint64_t *descriptor);
ze_result_t zocl_EventPoolPutIpcHandle(ze_context_handle_t context,
                                       ze_ipc_event_pool_handle_t handle);

/* ze_event_query_kernel_timestamps_results_ext_properties_t (1.6); both
   results have the same form. */
typedef struct zocl_timestamps_results {
  ze_structure_type_t stype;
  void *pNext;
  ze_kernel_timestamp_result_t *device;
  ze_kernel_timestamp_result_t *host;
} zocl_timestamps_results;

ze_result_t zocl_EventQueryKernelTimestampsExt(
    ze_event_handle_t event, ze_device_handle_t device, uint32_t *count,
    zocl_timestamps_results *results);
ze_result_t zocl_EventPoolGetContextHandle(ze_event_pool_handle_t pool,
                                           ze_context_handle_t *context);
ze_result_t zocl_EventPoolGetFlags(ze_event_pool_handle_t pool,
                                   ze_event_pool_flags_t *flags);
ze_result_t zocl_EventGetEventPool(ze_event_handle_t event,
                                   ze_event_pool_handle_t *pool);
ze_result_t zocl_EventGetSignalScope(ze_event_handle_t event,
                                     ze_event_scope_flags_t *scope);
ze_result_t zocl_EventGetWaitScope(ze_event_handle_t event,
                                   ze_event_scope_flags_t *scope);

/* ze_event_counter_based_desc_t (1.15). */
typedef struct zocl_counter_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint32_t flags;
  ze_event_scope_flags_t signal, wait;
} zocl_counter_desc;

ze_result_t zocl_EventCounterBasedCreate(ze_context_handle_t context,
                                         ze_device_handle_t device,
                                         const zocl_counter_desc *desc,
                                         ze_event_handle_t *event);
ze_result_t zocl_EventGetCounterBasedFlags(ze_event_handle_t event,
                                           uint32_t *flags);

#endif
