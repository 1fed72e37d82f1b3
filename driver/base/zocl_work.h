/*
 * zocl_work.h - the pending work of devices, for callers that wait for it.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_WORK_H
#define ZOCL_WORK_H

#include "base/zocl_base.h"

typedef struct zocl_work zocl_work;
typedef struct zocl_work_kind {
  void (*ref)(zocl_work *work);
  void (*unref)(zocl_work *work);
  /* Waits until all pending work is done, at most `timeout` ns.  Then reports a
     failure if `tell` is true; else a later wait reports it. */
  ze_result_t (*wait)(zocl_work *work, uint64_t timeout, bool tell);
  /* Returns true if no work is pending.  Does not wait, and leaves failures to
     be reported by a wait. */
  bool (*is_idle)(zocl_work *work);
} zocl_work_kind;
struct zocl_work {
  const zocl_work_kind *kind;
  const zocl_device *device;
  zocl_work *next, *previous;
};

void zocl_work_add(zocl_work *work);
void zocl_work_remove(zocl_work *work);

/* Waits for all work of a device, or of all devices if `device` is NULL. */
ze_result_t zocl_work_wait(const zocl_device *device, uint64_t timeout,
                           bool tell);
/* Returns true if no device has pending work. */
bool zocl_work_is_done(void);

/* Returns the rest of `timeout`, counted from `start`. */
uint64_t zocl_time_left(uint64_t timeout, uint64_t start);

#endif
