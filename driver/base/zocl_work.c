/*
 * zocl_work.c - the pending work of devices, for callers that wait for it.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_work.h"
#include "base/zocl_device.h"

#include <stdlib.h>

/* The list of all work. */
static struct {
  pthread_mutex_t lock;
  zocl_work *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void zocl_work_add(zocl_work *work)
{
  pthread_mutex_lock(&all.lock);
  work->next = all.first;
  if (work->next != NULL) work->next->previous = work;
  all.first = work;
  pthread_mutex_unlock(&all.lock);
}

void zocl_work_remove(zocl_work *work)
{
  pthread_mutex_lock(&all.lock);
  if (work->next != NULL) work->next->previous = work->previous;
  if (work->previous != NULL)
    work->previous->next = work->next;
  else
    all.first = work->next;
  pthread_mutex_unlock(&all.lock);
}

/* Returns all work, or the work of `device`, each with a reference because
   other threads may remove some while the caller uses the list.  NULL: out of
   memory. */
static zocl_work **work_get(const zocl_device *device, size_t *count)
{
  size_t n = 0;
  pthread_mutex_lock(&all.lock);
  for (zocl_work *w = all.first; w != NULL; w = w->next) n++;
  zocl_work **list = malloc((n > 0 ? n : 1) * sizeof(zocl_work *));
  *count = 0;
  for (zocl_work *w = all.first; w != NULL && list != NULL; w = w->next)
    if (device == NULL || w->device == device || w->device->root == device) {
      w->kind->ref(w);
      list[(*count)++] = w;
    }
  pthread_mutex_unlock(&all.lock);
  return list;
}

uint64_t zocl_time_left(uint64_t timeout, uint64_t start)
{
  if (timeout == 0 || timeout == UINT64_MAX) return timeout;
  uint64_t spent = zocl_clock() - start;
  return timeout > spent ? timeout - spent : 0;
}

ze_result_t zocl_work_wait(const zocl_device *device, uint64_t timeout,
                           bool tell)
{
  uint64_t start = zocl_clock();
  ze_result_t result = ZE_RESULT_SUCCESS;
  size_t count;
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  zocl_work **list = work_get(device, &count);
  if (list == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  for (size_t i = 0; i < count; i++) {
    ze_result_t one =
        list[i]->kind->wait(list[i], zocl_time_left(timeout, start), tell);
    if (result == ZE_RESULT_SUCCESS) result = one;
    list[i]->kind->unref(list[i]);
  }
  free(list);
  return result;
}

bool zocl_work_is_done(void)
{
  size_t count;
  zocl_work **list = work_get(NULL, &count);
  bool done = list != NULL;
  for (size_t i = 0; i < count; i++) {
    done = done && list[i]->kind->is_idle(list[i]);
    list[i]->kind->unref(list[i]);
  }
  free(list);
  return done;
}
