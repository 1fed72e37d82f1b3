/*
 * zocl_feeder.c - submitting to a stream from another thread.
 * SPDX-License-Identifier: MIT
 *
 * Submitting a command takes the caller about two microseconds; with a GPU's
 * driver, executing a closed list would cost much less.  So a long list is
 * handed to a thread of the stream, created when first needed, that submits
 * it.  A caller that must wait anyway submits the commands itself instead of
 * waiting until the thread wakes.
 *
 * Only one thread submits at a time, and it submits whole lists.  Lists that
 * were handed over go first.  So lists enter the stream in the order in which
 * they were executed, no matter which thread submits them.
 */
#include "run/zocl_feeder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A caller with a shorter timeout runs no jobs, because one may take longer. */
enum { HELP_NS = 1000000 };

struct zocl_feeder {
  pthread_mutex_t lock;  /* of all members below */
  pthread_cond_t work, idle;
  zocl_feeder_job *first, **last;
  bool turn;             /* a thread is submitting */
  atomic_bool busy;      /* read without the lock: jobs are pending */
  bool started, quit;
  pthread_t thread;
  ze_result_t error;     /* of a job, until it is reported */
  char why[256];
};

zocl_feeder *zocl_feeder_new(void)
{
  zocl_feeder *feeder = calloc(1, sizeof *feeder);
  if (feeder == NULL) return NULL;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&feeder->idle, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_cond_init(&feeder->work, NULL);
  pthread_mutex_init(&feeder->lock, NULL);
  feeder->last = &feeder->first;
  return feeder;
}

void zocl_feeder_free(zocl_feeder *feeder)
{
  if (feeder == NULL) return;
  pthread_cond_destroy(&feeder->work);
  pthread_cond_destroy(&feeder->idle);
  pthread_mutex_destroy(&feeder->lock);
  free(feeder);
}

/* ------------------------------------------------------------------------
 * Submitting.
 */

/* Run all jobs.  The lock is held, and released while a job runs. */
static void jobs_run(zocl_feeder *feeder)
{
  feeder->turn = true;
  while (feeder->first != NULL) {
    zocl_feeder_job *job = feeder->first;
    feeder->first = job->next;
    if (feeder->first == NULL) feeder->last = &feeder->first;
    pthread_mutex_unlock(&feeder->lock);
    ze_result_t result = job->run(job);
    job->free(job);
    pthread_mutex_lock(&feeder->lock);
    if (result != ZE_RESULT_SUCCESS && feeder->error == ZE_RESULT_SUCCESS) {
      feeder->error = result;
      strncpy(feeder->why, zocl_last_error(), sizeof feeder->why - 1);
    }
  }
  feeder->turn = false;
  atomic_store(&feeder->busy, false);
  pthread_cond_broadcast(&feeder->idle);
}

static void *feeder_main(void *arg)
{
  zocl_feeder *feeder = arg;
  pthread_mutex_lock(&feeder->lock);
  while (feeder->first != NULL || !feeder->quit)
    if (feeder->first != NULL && !feeder->turn)
      jobs_run(feeder);
    else
      pthread_cond_wait(&feeder->work, &feeder->lock);
  pthread_mutex_unlock(&feeder->lock);
  return NULL;
}

bool zocl_feeder_give(zocl_feeder *feeder, zocl_feeder_job *job)
{
  pthread_mutex_lock(&feeder->lock);
  if (!feeder->started)
    feeder->started = zocl_thread_start(&feeder->thread, feeder_main, feeder);
  bool given = feeder->started;
  if (given) {
    atomic_store(&feeder->busy, true);
    *feeder->last = job;
    feeder->last = &job->next;
    pthread_cond_signal(&feeder->work);
  }
  pthread_mutex_unlock(&feeder->lock);
  return given;
}

void zocl_feeder_begin(zocl_feeder *feeder)
{
  pthread_mutex_lock(&feeder->lock);
  while (feeder->turn || feeder->first != NULL)
    if (feeder->turn)
      pthread_cond_wait(&feeder->idle, &feeder->lock);
    else
      jobs_run(feeder);
  feeder->turn = true;
  pthread_mutex_unlock(&feeder->lock);
}

void zocl_feeder_end(zocl_feeder *feeder)
{
  pthread_mutex_lock(&feeder->lock);
  feeder->turn = false;
  pthread_cond_broadcast(&feeder->idle);
  if (feeder->first != NULL) pthread_cond_signal(&feeder->work);
  pthread_mutex_unlock(&feeder->lock);
}

/* ------------------------------------------------------------------------
 * Waiting and stopping.
 */

bool zocl_feeder_busy(const zocl_feeder *feeder)
{
  return atomic_load(&feeder->busy);
}

ze_result_t zocl_feeder_wait(zocl_feeder *feeder, uint64_t timeout)
{
  struct timespec end;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (timeout > 0 && timeout != UINT64_MAX) {
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(timeout / 1000000000u);
    end.tv_nsec += (long)(timeout % 1000000000u);
    if (end.tv_nsec >= 1000000000) {
      end.tv_nsec -= 1000000000;
      end.tv_sec++;
    }
  }
  pthread_mutex_lock(&feeder->lock);
  while (result == ZE_RESULT_SUCCESS && (feeder->turn || feeder->first)) {
    if (timeout == 0)
      result = ZE_RESULT_NOT_READY;
    else if (!feeder->turn && timeout >= HELP_NS)
      jobs_run(feeder);
    else if (timeout != UINT64_MAX) {
      if (pthread_cond_timedwait(&feeder->idle, &feeder->lock, &end) != 0)
        result = ZE_RESULT_NOT_READY;
    } else
      pthread_cond_wait(&feeder->idle, &feeder->lock);
  }
  pthread_mutex_unlock(&feeder->lock);
  return result;
}

ze_result_t zocl_feeder_result(zocl_feeder *feeder)
{
  pthread_mutex_lock(&feeder->lock);
  ze_result_t result = feeder->error;
  if (result != ZE_RESULT_SUCCESS) zocl_fail(result, "%s", feeder->why);
  feeder->error = ZE_RESULT_SUCCESS;
  pthread_mutex_unlock(&feeder->lock);
  return result;
}

void zocl_feeder_stop(zocl_feeder *feeder)
{
  /* A thread that waits for the jobs may be running them, and would not wake
     our thread. */
  zocl_feeder_begin(feeder);
  pthread_mutex_lock(&feeder->lock);
  bool started = feeder->started;
  feeder->quit = true;
  feeder->started = feeder->turn = false;
  pthread_cond_broadcast(&feeder->idle);
  pthread_cond_signal(&feeder->work);
  pthread_mutex_unlock(&feeder->lock);
  if (started) pthread_join(feeder->thread, NULL);
}
