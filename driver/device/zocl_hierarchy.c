/*
 * zocl_hierarchy.c - root devices, sub-devices, and which of them are shown.
 * SPDX-License-Identifier: MIT
 *
 * Only test options (zocl_option.c) change which devices exist: each OpenCL
 * device becomes one or more root devices, each with the requested number of
 * sub-devices.  ZE_FLAT_DEVICE_HIERARCHY chooses which of them zeDeviceGet
 * reports; then ZE_AFFINITY_MASK selects among these, as the specification
 * says.
 */
#include "device/zocl_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------
 * All devices.
 */

static void memory_limit(zocl_device *device, uint64_t bytes)
{
  if (device->memory_bytes > bytes) device->memory_bytes = bytes;
  if (device->max_alloc > bytes) device->max_alloc = bytes;
}

static zocl_device *device_new(zocl_driver *driver, uint32_t index,
                               cl_device_id id)
{
  zocl_device *device = zocl_handle_new(sizeof *device);
  if (device == NULL) {
    zocl_fail(0, "out of memory");
    return NULL;
  }
  if (!zocl_device_init(device, driver, index, id)) {
    free(device);
    return NULL;
  }
  if (driver->host_bytes < device->memory_bytes) {
    driver->host_bytes = device->memory_bytes;
    driver->host_max_alloc = device->max_alloc;
  }
  memory_limit(device, zocl_option.memory_bytes);
  for (int i = 0; i < ZOCL_SENSORS; i++)
    device->sensors[i] = (zocl_sensor){device->handle, device};
  return device;
}

/* Makes a sub-device of `root`, with 1/count of its memory.  `id` is the OpenCL
   sub-device, or NULL if the OpenCL device cannot be divided: then the
   sub-device shares all cores of its root. */
static zocl_device *part_new(zocl_device *root, uint32_t number,
                             uint32_t count, cl_device_id id)
{
  zocl_device *part = zocl_handle_new(sizeof *part);
  if (part == NULL) {
    zocl_fail(0, "out of memory");
    return NULL;
  }
  *part = *root;
  part->parts = part->subs = NULL;
  part->part_count = part->sub_count = 0;
  part->root = root;
  memory_limit(part, root->memory_bytes / count);
  part->units = root->units > count ? root->units / count : 1;
  if (id != NULL) {
    part->queue_id = id;
    root->driver->cl->clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS,
                                      sizeof part->units, &part->units, NULL);
  }
  zocl_device_name(part, number + 1);
  return part;
}

/* Divides an OpenCL device by its compute units, as evenly as possible.
   Returns false if that is impossible. */
static bool divide(const zocl_driver *driver, cl_device_id id, uint32_t count,
                   cl_device_id *ids)
{
  cl_device_partition_property by[ZOCL_MAX_PARTS + 3] = {
    CL_DEVICE_PARTITION_BY_COUNTS};
  cl_uint units = 0, made = 0;
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                              &units, NULL);
  if (units < count) return false;
  for (uint32_t i = 0; i < count; i++)
    by[1 + i] = units / count + (i < units % count);
  by[1 + count] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
  by[2 + count] = 0;
  return driver->cl->clCreateSubDevices(id, by, count, ids, &made) ==
             CL_SUCCESS && made == count;
}

bool zocl_hierarchy_add(zocl_driver *driver, cl_device_id id)
{
  const uint32_t roots = (uint32_t)zocl_option.root_devices;
  const uint32_t parts = (uint32_t)zocl_option.sub_devices;
  cl_device_id part_ids[ZOCL_MAX_PARTS];
  bool divided = false;
  for (uint32_t i = 0; i < roots; i++) {
    zocl_device *root = device_new(driver, driver->root_count, id);
    if (root == NULL) return false;
    zocl_device **more = realloc(driver->roots, (driver->root_count + 1) *
                                                    sizeof *driver->roots);
    if (more == NULL) {
      zocl_fail(0, "out of memory");
      free(root);
      return false;
    }
    driver->roots = more;
    driver->roots[driver->root_count++] = root;
    if (parts == 0) continue;
    if (i == 0) divided = divide(driver, id, parts, part_ids);
    root->parts = calloc(parts, sizeof *root->parts);
    root->subs = calloc(parts, sizeof *root->subs);
    if (root->parts == NULL || root->subs == NULL) {
      zocl_fail(0, "out of memory");
      return false;
    }
    for (uint32_t p = 0; p < parts; p++) {
      root->parts[p] = part_new(root, p, parts, divided ? part_ids[p] : NULL);
      if (root->parts[p] == NULL) return false;
      root->part_count++;
    }
  }
  return true;
}

void zocl_hierarchy_free(zocl_driver *driver)
{
  for (uint32_t i = 0; i < driver->root_count; i++) {
    zocl_device *root = driver->roots[i];
    for (uint32_t p = 0; p < root->part_count; p++) free(root->parts[p]);
    free(root->parts);
    free(root->subs);
    free(root);
  }
  free(driver->roots);
  free(driver->devices);
}

static size_t id_add(cl_device_id *ids, size_t n, size_t cap, cl_device_id id)
{
  for (size_t i = 0; i < n; i++)
    if (ids[i] == id) return n;
  if (n < cap) ids[n++] = id;
  return n;
}

size_t zocl_hierarchy_ids(const zocl_driver *driver, cl_device_id *ids,
                          size_t cap)
{
  size_t n = 0;
  for (uint32_t i = 0; i < driver->root_count; i++) {
    const zocl_device *root = driver->roots[i];
    n = id_add(ids, n, cap, root->id);
    for (uint32_t p = 0; p < root->part_count; p++)
      n = id_add(ids, n, cap, root->parts[p]->queue_id);
  }
  return n;
}

/* ------------------------------------------------------------------------
 * Devices that programs see.
 */

enum hierarchy { COMPOSITE, FLAT, COMBINED };

static bool hierarchy_choose(enum hierarchy *hierarchy)
{
  static const char *const names[] = {"COMPOSITE", "FLAT", "COMBINED"};
  const char *given = getenv("ZE_FLAT_DEVICE_HIERARCHY");
  *hierarchy = COMPOSITE;
  if (given == NULL || *given == '\0') return true;
  for (size_t i = 0; i < 3; i++)
    if (strcmp(given, names[i]) == 0) {
      *hierarchy = (enum hierarchy)i;
      return true;
    }
  zocl_fail(0, "ZE_FLAT_DEVICE_HIERARCHY=%s is not COMPOSITE, FLAT or COMBINED",
            given);
  return false;
}

/* Reads a number at *at and moves *at past it; skips blanks on both sides.  A
   number that is too large is valid, but matches no device. */
static bool ordinal_read(const char **at, uint32_t *ordinal)
{
  char *end;
  *at += strspn(*at, " \t");
  if (**at < '0' || **at > '9') return false;
  unsigned long value = strtoul(*at, &end, 10);
  *ordinal = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
  *at = end + strspn(end, " \t");
  return true;
}

/* Marks the devices that ZE_AFFINITY_MASK names, or all if it is not set.  A
   device that does not exist is not an error, because the mask applies to all
   drivers. */
static bool mask_apply(zocl_driver *driver, bool leaves)
{
  const char *mask = getenv("ZE_AFFINITY_MASK"), *at = mask;
  bool all = mask == NULL || *mask == '\0';
  while (!all) {
    uint32_t wanted, part = UINT32_MAX, ordinal = 0;
    if (!ordinal_read(&at, &wanted)) goto wrong;
    bool dotted = *at == '.';
    if (dotted && (at++, !ordinal_read(&at, &part))) goto wrong;
    if (dotted && leaves) {
      zocl_fail(0, "ZE_AFFINITY_MASK=%s: with ZE_FLAT_DEVICE_HIERARCHY=%s "
                   "there is nothing below a device", mask,
                getenv("ZE_FLAT_DEVICE_HIERARCHY"));
      return false;
    }
    for (uint32_t i = 0; i < driver->root_count; i++) {
      zocl_device *root = driver->roots[i];
      bool whole = !leaves || root->part_count == 0;
      if (whole && ordinal++ == wanted && !dotted) root->shown = true;
      for (uint32_t p = 0; p < root->part_count; p++)
        if (leaves ? ordinal++ == wanted
                   : i == wanted && (!dotted || p == part))
          root->parts[p]->shown = true;
    }
    if (*at == '\0') break;
    if (*at++ != ',') goto wrong;
  }
  for (uint32_t i = 0; all && i < driver->root_count; i++) {
    driver->roots[i]->shown = true;
    for (uint32_t p = 0; p < driver->roots[i]->part_count; p++)
      driver->roots[i]->parts[p]->shown = true;
  }
  return true;

wrong:
  zocl_fail(0, "ZE_AFFINITY_MASK=%s is not a list of devices like 0,1.0",
            mask);
  return false;
}

bool zocl_hierarchy_show(zocl_driver *driver)
{
  enum hierarchy hierarchy;
  if (!hierarchy_choose(&hierarchy) ||
      !mask_apply(driver, hierarchy != COMPOSITE))
    return false;
  uint32_t most = 0;
  for (uint32_t i = 0; i < driver->root_count; i++)
    most += 1 + driver->roots[i]->part_count;
  driver->devices = calloc(most, sizeof *driver->devices);
  if (driver->devices == NULL) {
    zocl_fail(0, "out of memory");
    return false;
  }
  for (uint32_t i = 0; i < driver->root_count; i++) {
    zocl_device *root = driver->roots[i];
    uint32_t count = 0;
    for (uint32_t p = 0; p < root->part_count; p++)
      if (root->parts[p]->shown) root->subs[count++] = root->parts[p];
    if (hierarchy != FLAT) root->sub_count = count;
    /* If only one sub-device of a root is left, it replaces the root. */
    bool single = count == 1 && root->part_count > 1;
    bool composite = hierarchy == COMPOSITE && !single;
    if (composite ? root->shown || count > 0
                  : root->part_count == 0 && root->shown)
      driver->devices[driver->device_count++] = root;
    else
      for (uint32_t s = 0; s < count; s++)
        driver->devices[driver->device_count++] = root->subs[s];
    for (uint32_t s = 0; s < count; s++) {
      root->subs[s]->number = s;
      if (composite || hierarchy == COMBINED) root->subs[s]->parent = root;
    }
  }
  if (driver->device_count > 0) return true;
  zocl_fail(0, "ZE_AFFINITY_MASK=%s leaves none of the devices of %s",
            getenv("ZE_AFFINITY_MASK"), driver->version);
  return false;
}

/* ------------------------------------------------------------------------
 * Connections between devices, which do not exist.
 */

ze_result_t zocl_FabricVertexGetExp(ze_driver_handle_t driver, uint32_t *count,
                                    ze_fabric_vertex_handle_t *vertices)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(count);
  (void)vertices;
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DeviceGetFabricVertexExp(ze_device_handle_t device,
                                          ze_fabric_vertex_handle_t *vertex)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(vertex);
  *vertex = NULL;
  return zocl_fail(ZE_RESULT_EXP_ERROR_DEVICE_IS_NOT_VERTEX,
                   "there is no fabric");
}
