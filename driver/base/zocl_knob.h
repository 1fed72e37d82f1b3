/*
 * zocl_knob.h - knobs for tests, described in README.md.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_KNOB_H
#define ZOCL_KNOB_H

#include "base/zocl_base.h"

typedef struct zocl_knobs {
  uint64_t root_devices;          /* for each device of OpenCL */
  uint64_t sub_devices;           /* of each root device */
  uint64_t memory_bytes;          /* of each root device, UINT64_MAX: its own */
  uint64_t peer_access;
  uint64_t device_memory_private; /* then there is no peer access either */
  uint64_t gpu;                   /* every device says that it is one */
  uint64_t native_kernels;        /* used where the device has them */
  uint64_t int64_atomics;         /* reported where the device has them */
  uint64_t asking_waits;          /* OpenCL may keep who asks for an event */
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

/* Queues of a group: more than there are do no harm, as they share the device
   in any case. */
enum { ZOCL_MAX_QUEUES = 16 };

/* The most root devices, and the most sub-devices of one. */
enum { ZOCL_MAX_PARTS = 16 };

#endif
