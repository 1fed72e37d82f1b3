/*
 * zocl_signal.h - something that becomes true once and may be reset.
 * SPDX-License-Identifier: MIT
 *
 * Counted, because OpenCL's callbacks may come after the event or fence is
 * gone.  All functions may be called by any thread.
 */
#ifndef ZOCL_SIGNAL_H
#define ZOCL_SIGNAL_H

#include "base/zocl_device.h"

/* A wait on a signal, resolved while a command is being submitted. */
typedef enum zocl_wait {
  ZOCL_WAIT_NONE,     /* satisfied, or will be by the stream's own order */
  ZOCL_WAIT_EVENT,    /* wait for *event, which the caller then releases */
  ZOCL_WAIT_LATER     /* known only when the stream gets there */
} zocl_wait;

zocl_signal *zocl_signal_new(zocl_driver *driver, bool timed, bool set);
/* The one of an event that other processes have too. */
zocl_signal *zocl_signal_on(zocl_states *states, uint32_t index,
                            zocl_driver *driver, bool timed);
void zocl_signal_ref(zocl_signal *signal);
void zocl_signal_unref(zocl_signal *signal); /* NULL is allowed */

/* Whether it wants timestamps, so that its command needs a timed queue. */
bool zocl_signal_timed(const zocl_signal *signal);

/* One of a counter-based event, standing for one command as it was last
   submitted; and whether a signal is one. */
zocl_signal *zocl_signal_counter(zocl_driver *driver, bool timed, bool set);
bool zocl_signal_counted(const zocl_signal *signal);

void zocl_signal_set(zocl_signal *signal, uint64_t start, uint64_t end);
void zocl_signal_reset(zocl_signal *signal);

/* The command that was to signal it will not come: a wait for it
   ends with DEVICE_LOST. */
void zocl_signal_fail(zocl_signal *signal);

/* SUCCESS, NOT_READY, or how the command that was to signal it failed. */
ze_result_t zocl_signal_query(zocl_signal *signal);
/* Wait at most `timeout` ns; UINT64_MAX is forever. */
ze_result_t zocl_signal_wait(zocl_signal *signal, uint64_t timeout);

/* Learn from OpenCL when what was attached is done, even if nobody waits. */
void zocl_signal_arm(zocl_signal *signal);

/* Release its waiters if it is set by now; whether it still has some. */
bool zocl_signal_watch(zocl_signal *signal);

/* The start and end of what signalled it last, in zocl_clock's ns.  False
   when it is not signalled. */
bool zocl_signal_times(zocl_signal *signal, uint64_t *start, uint64_t *end);

/* What command `number` of `stream` has to wait for.  Where the stream is
   `blocked` by a wait for others, these may reset and set the signal before
   it gets there, in commands that are submitted only later. */
ze_result_t zocl_signal_resolve(zocl_signal *signal, zocl_stream *stream,
                                uint64_t number, bool blocked, zocl_wait *wait,
                                cl_event *event);
/* Run in the stream for a wait of that command that was LATER: complete `event`
   as soon as the signal is set.  It and a reference to the stream are taken
   over. */
void zocl_signal_complete(zocl_signal *signal, zocl_stream *stream,
                          uint64_t number, cl_event event);

/* A feeder of `stream` is going to submit the command that will set it: a host
   that waits for it may submit it itself. */
void zocl_signal_promise(zocl_signal *signal, zocl_stream *stream);

/* The command of `event`, number `number` of `stream`, will signal it.  The
   event is taken over on success. */
ze_result_t zocl_signal_attach(zocl_signal *signal, zocl_stream *stream,
                               uint64_t number, cl_event event);

/* A reset in a stream: announce it when submitting, do it when running. */
void zocl_signal_reset_begin(zocl_signal *signal, zocl_stream *stream);
void zocl_signal_reset_end(zocl_signal *signal);

/* What a signal is. */
struct zocl_state {
  _Atomic uint32_t set;      /* also the futex that hosts sleep on */
  _Atomic uint32_t sleepers; /* those who do */
  uint64_t start, end;       /* of what set it */
  cl_int status;             /* an error of that command */
  uint32_t unused[9];        /* no two in a cache line */
};

#endif
