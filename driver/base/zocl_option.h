/*
 * zocl_option.h - test options, described in README.md.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_OPTION_H
#define ZOCL_OPTION_H

#include "base/zocl_base.h"

typedef struct zocl_options {
  uint64_t root_devices;          /* for each real device */
  uint64_t sub_devices;           /* of each root device */
  uint64_t memory_bytes;          /* of each root device; UINT64_MAX:
                                     unchanged */
  uint64_t peer_access;
  uint64_t device_memory_private; /* implies no peer access */
  uint64_t gpu;                   /* every device reports that it is a GPU */
  uint64_t native_kernels;        /* used if the device supports them */
  uint64_t int64_atomics;         /* reported if the device supports them */
  uint64_t query_blocks;          /* assume that querying an event may block */
  uint64_t memory;                /* 0, or 1 + index of host, usm, svm */
  uint64_t copy_engine;           /* add a queue group that only copies */
  uint64_t queues;                /* of each group */
  uint64_t delay_start_us, delay_end_us;
  char sysfs_root[256];           /* directory with sys and proc, or "" */
  bool slow; /* each command needs work before or after it */
} zocl_options;

extern zocl_options zocl_option;

/* Reads the options from the environment, once.  Returns false if one is
   invalid, with the reason in zocl_last_error. */
bool zocl_options_read(void);

/* Queues of a group.  More queues than the device has do no harm, since they
   share the device anyway. */
enum { ZOCL_MAX_QUEUES = 16 };

/* The largest number of root devices, and of sub-devices of one root device. */
enum { ZOCL_MAX_PARTS = 16 };

#endif
