/*
 * zocl_work.h - what devices have to do, as far as others wait for it.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_WORK_H
#define ZOCL_WORK_H

#include "base/zocl_base.h"

typedef struct zocl_work zocl_work;
typedef struct zocl_work_kind {
  void (*ref)(zocl_work *work);
  void (*unref)(zocl_work *work);
  /* Until all that there is to do is done, at most `timeout` ns; then tell what
     failed, or leave that to another wait. */
  ze_result_t (*wait)(zocl_work *work, uint64_t timeout, bool tell);
  /* Waits for nothing and leaves failures for those who wait. */
  bool (*is_idle)(zocl_work *work);
} zocl_work_kind;
struct zocl_work {
  const zocl_work_kind *kind;
  const zocl_device *device;
  zocl_work *next, *previous;
};

void zocl_work_add(zocl_work *work);
void zocl_work_remove(zocl_work *work);

/* Wait for all work of a device, or of all devices where it is NULL. */
ze_result_t zocl_work_wait(const zocl_device *device, uint64_t timeout,
                           bool tell);
/* Whether no device has anything to do. */
bool zocl_work_is_done(void);

/* What remains of `timeout` since `start`. */
uint64_t zocl_time_left(uint64_t timeout, uint64_t start);

#endif
