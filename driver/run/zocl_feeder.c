/*
 * zocl_feeder.c - closed lists on their way into a stream.
 * SPDX-License-Identifier: MIT
 *
 * Giving a command to OpenCL costs the caller about two microseconds, which a
 * GPU's driver would not ask of whoever executes a closed list.  So a long list
 * is handed to a thread of the stream, made when first needed, that submits
 * it.  Whoever has to wait anyway does that work instead of waiting for the
 * thread to wake.
 *
 * One at a time has the turn to submit, whole lists at a time, and lists that
 * were handed over go first: so they come into the stream in the order in
 * which they were executed, whichever thread submits them.
 */
#include "zocl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Lists are handed over beyond this many commands.  To wake a thread on
   another processor takes some 50 microseconds: by then the caller would have
   submitted that many itself. */
enum { DIRECT_COMMANDS = 16 };

/* Who waits for less does not lend a hand, which may take longer. */
enum { HELP_NS = 1000000 };

/* What one call asks for. */
typedef struct job {
  struct job *next;
  zocl_signal *fence;    /* or NULL */
  uint32_t count;
  zocl_commands *lists[];
} job;

struct zocl_feeder {
  zocl_stream *stream;   /* whose feeder this is */
  pthread_mutex_t lock;  /* of all below */
  pthread_cond_t work, idle;
  job *first, **last;
  bool turn;             /* somebody submits */
  atomic_bool busy;      /* for those without the lock: jobs are there */
  bool started, quit;
  pthread_t thread;
  ze_result_t error;     /* of a job, when nobody has been told of it */
  char why[256];
};

zocl_feeder *zocl_feeder_new(zocl_stream *stream)
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
  feeder->stream = stream;
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

/* Submit a job that was handed over.  Its caller has returned, so that what
   cannot be submitted any more fails. */
static ze_result_t job_submit(const zocl_feeder *feeder, const job *j)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (uint32_t i = 0; i < j->count; i++)
    if (result == ZE_RESULT_SUCCESS)
      result = zocl_commands_submit(j->lists[i], feeder->stream,
                                    i + 1 == j->count ? j->fence : NULL, true);
    else
      zocl_commands_fail(j->lists[i]);
  if (result != ZE_RESULT_SUCCESS && j->fence != NULL)
    zocl_signal_fail(j->fence);
  return result;
}

static void job_free(job *j)
{
  for (uint32_t i = 0; i < j->count; i++)
    zocl_commands_unref(j->lists[i]);
  zocl_signal_unref(j->fence);
  free(j);
}

/* Submit all that is there.  The lock is held, and let go meanwhile. */
static void jobs_submit(zocl_feeder *feeder)
{
  feeder->turn = true;
  while (feeder->first != NULL) {
    job *j = feeder->first;
    feeder->first = j->next;
    if (feeder->first == NULL) feeder->last = &feeder->first;
    pthread_mutex_unlock(&feeder->lock);
    ze_result_t result = job_submit(feeder, j);
    job_free(j);
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
      jobs_submit(feeder);
    else
      pthread_cond_wait(&feeder->work, &feeder->lock);
  pthread_mutex_unlock(&feeder->lock);
  return NULL;
}

static bool feeder_start(zocl_feeder *feeder)
{
  if (!feeder->started)
    feeder->started =
        zocl_thread_start(&feeder->thread, feeder_main, feeder);
  return feeder->started;
}

/* ------------------------------------------------------------------------
 * Executing lists.
 */

static job *job_new(uint32_t count, zocl_commands *const *all,
                    zocl_signal *fence)
{
  job *made = malloc(sizeof *made + count * sizeof *made->lists);
  if (made == NULL) return NULL;
  *made = (job){.count = count, .fence = fence};
  if (fence != NULL) zocl_signal_ref(fence);
  for (uint32_t i = 0; i < count; i++) {
    made->lists[i] = all[i];
    zocl_commands_ref(made->lists[i]);
  }
  return made;
}

/* The caller has the turn. */
static ze_result_t execute_here(zocl_feeder *feeder, uint32_t count,
                                zocl_commands *const *all,
                                zocl_signal *fence)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
    result = zocl_commands_submit(all[i], feeder->stream,
                                  i + 1 == count ? fence : NULL, false);
  return result;
}

ze_result_t zocl_feeder_execute(zocl_feeder *feeder, uint32_t count,
                                zocl_commands *const *all, zocl_signal *fence,
                                bool here)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  uint64_t commands = 0;
  for (uint32_t i = 0; i < count; i++) {
    commands += zocl_commands_count(all[i]);
    here |= zocl_commands_counted(all[i]);
  }
  here |= commands <= DIRECT_COMMANDS;
  pthread_mutex_lock(&feeder->lock);
  if (!here && feeder_start(feeder)) {
    job *made = job_new(count, all, fence);
    if (made != NULL) {
      /* Registers what must be done at exit, for this thread's sake. */
      zocl_opencl_compiles();
      if (fence != NULL) zocl_signal_promise(fence, feeder->stream);
      atomic_store(&feeder->busy, true);
      *feeder->last = made;
      feeder->last = &made->next;
      pthread_cond_signal(&feeder->work);
      pthread_mutex_unlock(&feeder->lock);
      return ZE_RESULT_SUCCESS;
    }
  }
  while (feeder->turn || feeder->first != NULL)
    if (feeder->turn)
      pthread_cond_wait(&feeder->idle, &feeder->lock);
    else
      jobs_submit(feeder);
  feeder->turn = true;
  pthread_mutex_unlock(&feeder->lock);
  ze_result_t result = execute_here(feeder, count, all, fence);
  pthread_mutex_lock(&feeder->lock);
  feeder->turn = false;
  pthread_cond_broadcast(&feeder->idle);
  if (feeder->first != NULL) pthread_cond_signal(&feeder->work);
  pthread_mutex_unlock(&feeder->lock);
  return result;
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
      jobs_submit(feeder);
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
  pthread_mutex_lock(&feeder->lock);
  bool started = feeder->started;
  feeder->quit = true;
  feeder->started = false;
  pthread_cond_signal(&feeder->work);
  pthread_mutex_unlock(&feeder->lock);
  if (started) pthread_join(feeder->thread, NULL);
}
