/*
 * zocl_image.h - images and samplers; ext/zocl_image.c makes them.
 * SPDX-License-Identifier: MIT
 *
 * References to an image are counted: its handle, kernels with it as an
 * argument, and recorded commands have one each.  OpenCL itself retains the
 * images of submitted commands.
 */
#ifndef ZOCL_IMAGE_H
#define ZOCL_IMAGE_H

#include "base/zocl_base.h"

struct _ze_image_handle_t {
  zocl_handle handle;
  atomic_uint refs;
  zocl_device *device;
  cl_mem mem, buffer;    /* `buffer`: the memory of a buffer image */
  ze_image_type_t type;
  cl_image_format format;
  uint32_t pixel_bytes;
  bool kernels_write;
  size_t extent[3];      /* in pixels; array layers count as the last one */
  uint64_t id;
};

struct _ze_sampler_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  cl_sampler id;         /* owned by the driver */
};

#endif
