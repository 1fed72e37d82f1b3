/*
 * handle_test.c - handles begin with the driver's tables, so that a loader need
 * not wrap them (ZE_extension_driver_ddi_handles).
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

/* Begins like ze_dditable_driver_t and similar structs. */
typedef struct tables {
  uint32_t version;
  uint8_t valid;
  void *const *table[32];
} tables;

/* As ze_handle_t. */
typedef struct handle {
  const tables *core, *tools, *sysman, *runtime;
} handle;

/* Indices of some core tables, and the number of tables of each kind. */
enum { DRIVER = 5, DEVICE = 7, CORE = 32, TOOLS = 19, SYSMAN = 24 };

static handle first;

static void all_there(const char *name, const tables *t, int count)
{
  bool ok = t->version == ZE_MAKE_VERSION(1, 17) && t->valid == 1;
  for (int i = 0; i < count; i++) ok = ok && t->table[i] != NULL;
  check_(__FILE__, __LINE__, ok, "%d tables: %s", count, name);
}

static void has_tables(const char *name, const void *object)
{
  check_(__FILE__, __LINE__, memcmp(object, &first, sizeof first) == 0,
         "the tables of a %s", name);
}

int main(void)
{
  setup s = setup_new();
  memcpy(&first, s.driver, sizeof first);
  all_there("core", first.core, CORE);
  all_there("tools", first.tools, TOOLS);
  all_there("sysman", first.sysman, SYSMAN);
  all_there("runtime", first.runtime, 1);

  /* They are the right tables: calls that bypass the loader work. */
  ze_api_version_t version = 0, reported = 0;
  ze_result_t (*get_version)(ze_driver_handle_t, ze_api_version_t *);
  memcpy(&get_version, &first.core->table[DRIVER][1], sizeof get_version);
  RETURNS(ZE_RESULT_SUCCESS, get_version(s.driver, &version));
  EQUAL(version, ZE_MAKE_VERSION(1, 17));
  MUST(zeDriverGetApiVersion(s.driver, &reported));
  EQUAL(reported, version);
  ze_device_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES},
    same = properties;
  ze_result_t (*get_properties)(ze_device_handle_t, ze_device_properties_t *);
  memcpy(&get_properties, &first.core->table[DEVICE][2],
         sizeof get_properties);
  RETURNS(ZE_RESULT_SUCCESS, get_properties(s.device, &properties));
  MUST(zeDeviceGetProperties(s.device, &same));
  CHECK(strcmp(properties.name, same.name) == 0);

  /* Both places report the extension. */
  struct {
    int stype;
    void *next;
    uint32_t flags;
  } extension = {.stype = 0x20027};
  ze_driver_properties_t driver = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, .pNext = &extension};
  RETURNS(ZE_RESULT_SUCCESS, zeDriverGetProperties(s.driver, &driver));
  EQUAL(extension.flags, 1);
  ze_driver_extension_properties_t names[64];
  uint32_t count = 64, found = 0;
  RETURNS(ZE_RESULT_SUCCESS,
          zeDriverGetExtensionProperties(s.driver, &count, names));
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i].name, "ZE_extension_driver_ddi_handles") == 0)
      found = names[i].version;
  EQUAL(found, ZE_MAKE_VERSION(1, 1));

  ze_command_list_handle_t immediate =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_command_list_handle_t list = list_new(s);
  ze_command_queue_handle_t queue = queue_new(s);
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t event = event_new(pool, 0);
  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  MUST(zeFenceCreate(queue, &fence_desc, &fence));
  size_t size;
  void *bytes = file_read("spec/driver/kernels/probe.spv", &size);
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = size,
                           .pInputModule = bytes};
  ze_module_handle_t module;
  ze_module_build_log_handle_t log;
  MUST(zeModuleCreate(s.context, s.device, &desc, &module, &log));
  ze_kernel_handle_t kernel = kernel_new(module, "chain");
  has_tables("device", s.device);
  has_tables("context", s.context);
  has_tables("immediate command list", immediate);
  has_tables("command list", list);
  has_tables("command queue", queue);
  has_tables("event pool", pool);
  has_tables("event", event);
  has_tables("fence", fence);
  has_tables("module", module);
  has_tables("build log", log);
  has_tables("kernel", kernel);
  ze_device_handle_t subs[16];
  count = 16;
  MUST(zeDeviceGetSubDevices(s.device, &count, subs));
  for (uint32_t i = 0; i < count; i++) has_tables("sub-device", subs[i]);

  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleBuildLogDestroy(log));
  MUST(zeModuleDestroy(module));
  MUST(zeFenceDestroy(fence));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandListDestroy(immediate));
  free(bytes);
  CHECK_DONE();
}
