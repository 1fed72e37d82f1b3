/*
 * zocl_ddi.c - the functions the loader looks up, and the tables they fill.
 * SPDX-License-Identifier: MIT
 *
 * The loader owns the tables, and an older loader owns shorter ones, so that
 * an entry is written only when the version asked for already has it.  All
 * tables of specification 1.17 are exported, empty ones too: loaders up to
 * 1.24 refuse a driver that lacks one.
 */
#include "zocl.h"

typedef void (*entry_function)(void);

/* The tables which have entries here; NONE stays empty. */
enum table {
  NONE,
  Global,
  Driver,
  Device,
  Context,
  CommandQueue,
  CommandList,
  CommandListExp,
  Mem,
  Fence,
  EventPool,
  Event,
  EventExp,
  Module,
  ModuleBuildLog,
  Kernel,
  KernelExp
};

static const struct entry {
  unsigned char table, index, minor;
  entry_function function;
} entries[] = {
#define ENTRY(table, index, minor, name) \
  {table, index, minor, (entry_function)zocl_##name},
  ZOCL_ENTRIES(ENTRY)
  ZOCL_NEWER_ENTRIES(ENTRY)
#undef ENTRY
};

static ze_result_t table_fill(enum table which, ze_api_version_t version,
                              entry_function *table)
{
  if (table == NULL) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(version) != 1)
    return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (entries[i].table == which &&
        entries[i].minor <= ZE_MINOR_VERSION((unsigned)version))
      table[entries[i].index] = entries[i].function;
  return ZE_RESULT_SUCCESS;
}

#define TABLE(api, name, which)                                              \
  ZOCL_EXPORT ze_result_t api##Get##name##ProcAddrTable(ze_api_version_t,    \
                                                        entry_function *);   \
  ze_result_t api##Get##name##ProcAddrTable(ze_api_version_t version,        \
                                            entry_function *table)           \
  {                                                                          \
    return table_fill(which, version, table);                                \
  }

TABLE(ze, RTASBuilder, NONE)
TABLE(ze, RTASBuilderExp, NONE)
TABLE(ze, RTASParallelOperation, NONE)
TABLE(ze, RTASParallelOperationExp, NONE)
TABLE(ze, Global, Global)
TABLE(ze, Driver, Driver)
TABLE(ze, DriverExp, NONE)
TABLE(ze, Device, Device)
TABLE(ze, DeviceExp, NONE)
TABLE(ze, Context, Context)
TABLE(ze, CommandQueue, CommandQueue)
TABLE(ze, CommandList, CommandList)
TABLE(ze, CommandListExp, CommandListExp)
TABLE(ze, Image, NONE)
TABLE(ze, ImageExp, NONE)
TABLE(ze, Mem, Mem)
TABLE(ze, MemExp, NONE)
TABLE(ze, Fence, Fence)
TABLE(ze, EventPool, EventPool)
TABLE(ze, Event, Event)
TABLE(ze, EventExp, EventExp)
TABLE(ze, Module, Module)
TABLE(ze, ModuleBuildLog, ModuleBuildLog)
TABLE(ze, Kernel, Kernel)
TABLE(ze, KernelExp, KernelExp)
TABLE(ze, Sampler, NONE)
TABLE(ze, PhysicalMem, NONE)
TABLE(ze, VirtualMem, NONE)
TABLE(ze, FabricVertexExp, NONE)
TABLE(ze, FabricEdgeExp, NONE)
TABLE(ze, Graph, NONE)
TABLE(ze, ExecutableGraph, NONE)

TABLE(zet, MetricProgrammableExp, NONE)
TABLE(zet, MetricTracerExp, NONE)
TABLE(zet, MetricDecoderExp, NONE)
TABLE(zet, Device, NONE)
TABLE(zet, DeviceExp, NONE)
TABLE(zet, Context, NONE)
TABLE(zet, CommandList, NONE)
TABLE(zet, CommandListExp, NONE)
TABLE(zet, Module, NONE)
TABLE(zet, Kernel, NONE)
TABLE(zet, Metric, NONE)
TABLE(zet, MetricExp, NONE)
TABLE(zet, MetricGroup, NONE)
TABLE(zet, MetricGroupExp, NONE)
TABLE(zet, MetricStreamer, NONE)
TABLE(zet, MetricQueryPool, NONE)
TABLE(zet, MetricQuery, NONE)
TABLE(zet, TracerExp, NONE)
TABLE(zet, Debug, NONE)

TABLE(zes, Global, NONE)
TABLE(zes, Device, NONE)
TABLE(zes, DeviceExp, NONE)
TABLE(zes, Driver, NONE)
TABLE(zes, DriverExp, NONE)
TABLE(zes, Overclock, NONE)
TABLE(zes, Scheduler, NONE)
TABLE(zes, PerformanceFactor, NONE)
TABLE(zes, Power, NONE)
TABLE(zes, Frequency, NONE)
TABLE(zes, Engine, NONE)
TABLE(zes, Standby, NONE)
TABLE(zes, Firmware, NONE)
TABLE(zes, FirmwareExp, NONE)
TABLE(zes, Memory, NONE)
TABLE(zes, FabricPort, NONE)
TABLE(zes, Temperature, NONE)
TABLE(zes, Psu, NONE)
TABLE(zes, Fan, NONE)
TABLE(zes, Led, NONE)
TABLE(zes, Ras, NONE)
TABLE(zes, RasExp, NONE)
TABLE(zes, Diagnostics, NONE)
TABLE(zes, VFManagementExp, NONE)

TABLE(zer, Global, NONE)
