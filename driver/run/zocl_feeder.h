/*
 * zocl_feeder.h - submitting to a stream from another thread.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_FEEDER_H
#define ZOCL_FEEDER_H

#include "base/zocl_base.h"

/* A job: `run` submits something, then `free` frees the job. */
typedef struct zocl_feeder_job zocl_feeder_job;
struct zocl_feeder_job {
  zocl_feeder_job *next;        /* used by the feeder */
  ze_result_t (*run)(zocl_feeder_job *job);
  void (*free)(zocl_feeder_job *job);
};

zocl_feeder *zocl_feeder_new(void); /* NULL if out of memory */
void zocl_feeder_free(zocl_feeder *feeder);

/* Append a job to the feeder's queue; the next wait reports its error.  Returns
   false if no thread can be started: then the job still belongs to the
   caller. */
bool zocl_feeder_give(zocl_feeder *feeder, zocl_feeder_job *job);
/* Between these two calls the caller submits, after all jobs given before. */
void zocl_feeder_begin(zocl_feeder *feeder);
void zocl_feeder_end(zocl_feeder *feeder);

/* Returns true if jobs are pending. */
bool zocl_feeder_busy(const zocl_feeder *feeder);
/* Wait until all jobs are done, at most `timeout` ns: SUCCESS or NOT_READY.  A
   caller with a long timeout runs them itself. */
ze_result_t zocl_feeder_wait(zocl_feeder *feeder, uint64_t timeout);
/* Returns the first error of a job that has not been reported yet. */
ze_result_t zocl_feeder_result(zocl_feeder *feeder);
/* Run the remaining jobs and end the thread. */
void zocl_feeder_stop(zocl_feeder *feeder);

#endif
