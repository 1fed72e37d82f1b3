/*
 * zocl_ddi.c - the functions the loader looks up, and the tables they fill.
 * SPDX-License-Identifier: MIT
 *
 * The loader owns the tables, and an older loader has shorter ones, so an entry
 * is written only if the requested version has it.  All tables of specification
 * 1.17 are exported, empty ones too: loaders up to 1.24 reject a driver that
 * lacks one.
 */
#include "module/zocl_kernel.h"
#include "ext/zocl_ext.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*entry_function)(void);

/* The tables that have entries here; NONE stays empty. */
enum table {
  NONE,
  Global,
  Driver,
  Device,
  DeviceExp,
  Context,
  CommandQueue,
  CommandList,
  CommandListExp,
  Image,
  ImageExp,
  Sampler,
  Mem,
  MemExp,
  PhysicalMem,
  VirtualMem,
  Fence,
  EventPool,
  Event,
  EventExp,
  Module,
  ModuleBuildLog,
  Kernel,
  KernelExp,
  FabricVertexExp,
  Graph,
  ExecutableGraph,
  SysmanGlobal,
  SysmanDriver,
  SysmanDriverExp,
  SysmanDevice,
  SysmanDeviceExp,
  SysmanPower,
  SysmanFrequency,
  SysmanEngine,
  SysmanMemory,
  SysmanTemperature,
  Runtime,
  TABLE_COUNT
};

static const struct entry {
  unsigned char table, index, minor;
  const char *name;
  entry_function function;
} entries[] = {
#define ENTRY(table, index, minor, name) \
  {table, index, minor, "ze" #name, (entry_function)zocl_##name},
  ZOCL_ENTRIES(ENTRY)
  ZOCL_NEWER_ENTRIES(ENTRY)
#undef ENTRY
#define ENTRY(table, index, minor, name) \
  {table, index, minor, "zes" #name, (entry_function)zocl_zes##name},
  ZOCL_SYSMAN_ENTRIES(ENTRY)
  ZOCL_NEWER_SYSMAN_ENTRIES(ENTRY)
#undef ENTRY
#define ENTRY(table, index, minor, name) \
  {table, index, minor, "zer" #name, (entry_function)zocl_zer##name},
  ZOCL_RUNTIME_ENTRIES(ENTRY)
#undef ENTRY
  {NONE, 0, 0, "zoclKernelPrepare", (entry_function)zocl_KernelPrepare},
  {NONE, 0, 0, "zoclKernelPrepareStart",
   (entry_function)zocl_KernelPrepareStart},
  {NONE, 0, 0, "zoclModuleGetOrigin", (entry_function)zocl_ModuleGetOrigin},
  {NONE, 0, 0, "zoclDriverExpectModule",
   (entry_function)zocl_DriverExpectModule},
  {NONE, 0, 0, "zoclKernelSetDimensions",
   (entry_function)zocl_KernelSetDimensions},
  /* Functions that Intel's driver has.  The last one is now
     zeEventCounterBasedCreate, whose descriptor has the same layout. */
  {NONE, 0, 0, "zexMemGetIpcHandles", (entry_function)zocl_MemGetIpcHandles},
  {NONE, 0, 0, "zexMemOpenIpcHandles", (entry_function)zocl_MemOpenIpcHandles},
  {NONE, 0, 0, "zexDriverImportExternalPointer",
   (entry_function)zocl_DriverImportExternalPointer},
  {NONE, 0, 0, "zexDriverReleaseImportedPointer",
   (entry_function)zocl_DriverReleaseImportedPointer},
  {NONE, 0, 0, "zexDriverGetHostPointerBaseAddress",
   (entry_function)zocl_DriverGetHostPointerBaseAddress},
  {NONE, 0, 0, "zeKernelGetModuleHandleExt",
   (entry_function)zocl_KernelGetModuleHandleExt},
  {NONE, 0, 0, "zeModuleGetDeviceHandleExt",
   (entry_function)zocl_ModuleGetDeviceHandleExt},
  {NONE, 0, 0, "zexCounterBasedEventCreate2",
   (entry_function)zocl_EventCounterBasedCreate},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static ze_result_t table_fill(enum table which, ze_api_version_t version,
                              entry_function *table)
{
  if (table == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(version) != 1)
    return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  for (size_t i = 0; i < ENTRIES; i++)
    if (entries[i].table == which && which != NONE &&
        entries[i].minor <= ZE_MINOR_VERSION((unsigned)version))
      table[entries[i].index] = entries[i].function;
  return ZE_RESULT_SUCCESS;
}

/* All tables, in the order of the pointers in the loader's ze_dditable_driver_t
   and similar types: the API, the table's name, its contents. */
#define CORE_TABLES(T)                                                        \
  T(ze, RTASBuilder, NONE)                                                    \
  T(ze, RTASBuilderExp, NONE)                                                 \
  T(ze, RTASParallelOperation, NONE)                                          \
  T(ze, RTASParallelOperationExp, NONE)                                       \
  T(ze, Global, Global)                                                       \
  T(ze, Driver, Driver)                                                       \
  T(ze, DriverExp, NONE)                                                      \
  T(ze, Device, Device)                                                       \
  T(ze, DeviceExp, DeviceExp)                                                 \
  T(ze, Context, Context)                                                     \
  T(ze, CommandQueue, CommandQueue)                                           \
  T(ze, CommandList, CommandList)                                             \
  T(ze, CommandListExp, CommandListExp)                                       \
  T(ze, Image, Image)                                                         \
  T(ze, ImageExp, ImageExp)                                                   \
  T(ze, Mem, Mem)                                                             \
  T(ze, MemExp, MemExp)                                                       \
  T(ze, Fence, Fence)                                                         \
  T(ze, EventPool, EventPool)                                                 \
  T(ze, Event, Event)                                                         \
  T(ze, EventExp, EventExp)                                                   \
  T(ze, Module, Module)                                                       \
  T(ze, ModuleBuildLog, ModuleBuildLog)                                       \
  T(ze, Kernel, Kernel)                                                       \
  T(ze, KernelExp, KernelExp)                                                 \
  T(ze, Sampler, Sampler)                                                     \
  T(ze, PhysicalMem, PhysicalMem)                                             \
  T(ze, VirtualMem, VirtualMem)                                               \
  T(ze, FabricVertexExp, FabricVertexExp)                                     \
  T(ze, FabricEdgeExp, NONE)                                                  \
  T(ze, Graph, Graph)                                                         \
  T(ze, ExecutableGraph, ExecutableGraph)

#define TOOLS_TABLES(T)                                                       \
  T(zet, MetricProgrammableExp, NONE)                                         \
  T(zet, MetricTracerExp, NONE)                                               \
  T(zet, MetricDecoderExp, NONE)                                              \
  T(zet, Device, NONE)                                                        \
  T(zet, DeviceExp, NONE)                                                     \
  T(zet, Context, NONE)                                                       \
  T(zet, CommandList, NONE)                                                   \
  T(zet, CommandListExp, NONE)                                                \
  T(zet, Module, NONE)                                                        \
  T(zet, Kernel, NONE)                                                        \
  T(zet, Metric, NONE)                                                        \
  T(zet, MetricExp, NONE)                                                     \
  T(zet, MetricGroup, NONE)                                                   \
  T(zet, MetricGroupExp, NONE)                                                \
  T(zet, MetricStreamer, NONE)                                                \
  T(zet, MetricQueryPool, NONE)                                               \
  T(zet, MetricQuery, NONE)                                                   \
  T(zet, TracerExp, NONE)                                                     \
  T(zet, Debug, NONE)

#define SYSMAN_TABLES(T)                                                      \
  T(zes, Global, SysmanGlobal)                                                \
  T(zes, Device, SysmanDevice)                                                \
  T(zes, DeviceExp, SysmanDeviceExp)                                          \
  T(zes, Driver, SysmanDriver)                                                \
  T(zes, DriverExp, SysmanDriverExp)                                          \
  T(zes, Overclock, NONE)                                                     \
  T(zes, Scheduler, NONE)                                                     \
  T(zes, PerformanceFactor, NONE)                                             \
  T(zes, Power, SysmanPower)                                                  \
  T(zes, Frequency, SysmanFrequency)                                          \
  T(zes, Engine, SysmanEngine)                                                \
  T(zes, Standby, NONE)                                                       \
  T(zes, Firmware, NONE)                                                      \
  T(zes, FirmwareExp, NONE)                                                   \
  T(zes, Memory, SysmanMemory)                                                \
  T(zes, FabricPort, NONE)                                                    \
  T(zes, Temperature, SysmanTemperature)                                      \
  T(zes, Psu, NONE)                                                           \
  T(zes, Fan, NONE)                                                           \
  T(zes, Led, NONE)                                                           \
  T(zes, Ras, NONE)                                                           \
  T(zes, RasExp, NONE)                                                        \
  T(zes, Diagnostics, NONE)                                                   \
  T(zes, VFManagementExp, NONE)

#define RUNTIME_TABLES(T)                                                     \
  T(zer, Global, Runtime)

#define TABLE(api, name, which)                                              \
  EXPORT ze_result_t api##Get##name##ProcAddrTable(ze_api_version_t,         \
                                                   entry_function *);        \
  ze_result_t api##Get##name##ProcAddrTable(ze_api_version_t version,        \
                                            entry_function *table)           \
  {                                                                          \
    return table_fill(which, version, table);                                \
  }

CORE_TABLES(TABLE)
TOOLS_TABLES(TABLE)
SYSMAN_TABLES(TABLE)
RUNTIME_TABLES(TABLE)

/* ------------------------------------------------------------------------
 * Handles that point to their tables (ZE_extension_driver_ddi_handles).
 *
 * A loader that uses these has checked that the version below has the entry it
 * wants.  Every pointer leads to a table, though perhaps one of null pointers.
 */

enum { TABLE_ROOM = 80 }; /* more than the longest table of 1.17, zes Device */

static const entry_function tables[TABLE_COUNT][TABLE_ROOM] = {
#define ENTRY(table, index, minor, name) \
  [table][index] = (entry_function)zocl_##name,
  ZOCL_ENTRIES(ENTRY)
  ZOCL_NEWER_ENTRIES(ENTRY)
#undef ENTRY
#define ENTRY(table, index, minor, name) \
  [table][index] = (entry_function)zocl_zes##name,
  ZOCL_SYSMAN_ENTRIES(ENTRY)
  ZOCL_NEWER_SYSMAN_ENTRIES(ENTRY)
#undef ENTRY
#define ENTRY(table, index, minor, name) \
  [table][index] = (entry_function)zocl_zer##name,
  ZOCL_RUNTIME_ENTRIES(ENTRY)
#undef ENTRY
};

/* The same layout as ze_dditable_driver_t: the version of the tables, and a
   flag that they are valid. */
#define HEAD          \
  uint32_t version; \
  uint8_t valid
#define POINTER(api, name, which) const entry_function *name;
#define ADDRESS(api, name, which) .name = tables[which],
#define TABLES(type, LIST)                      \
  static const struct type {                    \
    HEAD;                                       \
    LIST(POINTER)                               \
  } type = {ZE_MAKE_VERSION(1, 17), 1, LIST(ADDRESS)};

TABLES(core, CORE_TABLES)
TABLES(tools, TOOLS_TABLES)
TABLES(sysman, SYSMAN_TABLES)
TABLES(runtime, RUNTIME_TABLES)

/* When loaded, register the functions and tables that lower layers use. */
__attribute__((constructor)) static void loaded(void)
{
  zocl_tables = (zocl_handle){&core, &tools, &sysman, &runtime};
  zocl_sysman_hook(&zocl_ext);
  zocl_image_hook(&zocl_ext);
  zocl_ipc_hook(&zocl_ext);
  zocl_states_hook(&zocl_ext);
  zocl_counter_hook(&zocl_ext);
  zocl_graph_hook(&zocl_ext);
}

/* ------------------------------------------------------------------------
 * Functions by name.
 */

/* Finds the functions in the tables, because an old loader lacks the newer
   ones, and the driver's own functions. */
ze_result_t zocl_DriverGetExtensionFunctionAddress(ze_driver_handle_t driver,
                                                   const char *name,
                                                   void **address)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(name);
  ZOCL_NEED_POINTER(address);
  for (size_t i = 0; i < ENTRIES; i++)
    if (strcmp(entries[i].name, name) == 0) {
      memcpy(address, &entries[i].function, sizeof *address);
      return ZE_RESULT_SUCCESS;
    }
  *address = NULL;
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no function %s", name);
}

ze_result_t zocl_zesDriverGetExtensionFunctionAddress(
    zes_driver_handle_t driver, const char *name, void **address)
{
  return zocl_DriverGetExtensionFunctionAddress((ze_driver_handle_t)driver,
                                                name, address);
}
