/*
 * zocl_feeder.h - what is to be submitted to a stream by another thread.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_FEEDER_H
#define ZOCL_FEEDER_H

#include "base/zocl_base.h"

/* Something to submit.  `run` submits it and `free` ends it, behind `run`. */
typedef struct zocl_feeder_job zocl_feeder_job;
struct zocl_feeder_job {
  zocl_feeder_job *next;        /* the feeder's */
  ze_result_t (*run)(zocl_feeder_job *job);
  void (*free)(zocl_feeder_job *job);
};

zocl_feeder *zocl_feeder_new(void); /* NULL: out of memory */
void zocl_feeder_free(zocl_feeder *feeder);

/* Hand a job over, behind what was handed over before; the next wait tells its
   error.  False where there can be no thread: the job is still the caller's. */
bool zocl_feeder_give(zocl_feeder *feeder, zocl_feeder_job *job);
/* Between the two the caller submits, behind all that was handed over. */
void zocl_feeder_begin(zocl_feeder *feeder);
void zocl_feeder_end(zocl_feeder *feeder);

/* Whether jobs are still to be done. */
bool zocl_feeder_busy(const zocl_feeder *feeder);
/* Wait until all are done, at most `timeout` ns: SUCCESS or NOT_READY.  Callers
   that wait long do them themselves. */
ze_result_t zocl_feeder_wait(zocl_feeder *feeder, uint64_t timeout);
/* The error of a job that has not been reported yet. */
ze_result_t zocl_feeder_result(zocl_feeder *feeder);
/* Do the rest and end the thread. */
void zocl_feeder_stop(zocl_feeder *feeder);

#endif
