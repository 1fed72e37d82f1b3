/*
 * zocl_signal.h - a condition that becomes true once and may be reset.
 * SPDX-License-Identifier: MIT
 *
 * Signals are reference-counted, because callbacks may come after the
 * program has destroyed the event or fence.  Any thread may call any of these
 * functions.
 */
#ifndef ZOCL_SIGNAL_H
#define ZOCL_SIGNAL_H

#include "base/zocl_device.h"

/* How a wait for a signal is resolved when a command is submitted. */
typedef enum zocl_wait {
  ZOCL_WAIT_NONE,     /* already set, or set earlier in this stream */
  ZOCL_WAIT_MARK,     /* wait for *mark; the caller then releases it */
  ZOCL_WAIT_LATER     /* decide when the stream gets there */
} zocl_wait;

zocl_signal *zocl_signal_new(zocl_driver *driver, bool timed, bool set);
/* Returns the signal of an event that is shared with other processes. */
zocl_signal *zocl_signal_on(zocl_states *states, uint32_t index,
                            zocl_driver *driver, bool timed);
void zocl_signal_ref(zocl_signal *signal);
void zocl_signal_unref(zocl_signal *signal); /* NULL is allowed */

/* Returns true if the signal records timestamps; its command needs a timed
   queue. */
bool zocl_signal_timed(const zocl_signal *signal);

/* zocl_signal_counter returns a signal for a counter-based event; it stands for
   the latest submission of one command.  zocl_signal_counted returns true for
   such a signal. */
zocl_signal *zocl_signal_counter(zocl_driver *driver, bool timed, bool set);
bool zocl_signal_counted(const zocl_signal *signal);

void zocl_signal_set(zocl_signal *signal, uint64_t start, uint64_t end);
void zocl_signal_reset(zocl_signal *signal);

/* Report that the command which should set the signal will never come: waits
   for the signal end with DEVICE_LOST. */
void zocl_signal_fail(zocl_signal *signal);

/* Returns SUCCESS, NOT_READY, or the error of the command that should set
   it. */
ze_result_t zocl_signal_query(zocl_signal *signal);
/* Wait at most `timeout` ns; UINT64_MAX is forever. */
ze_result_t zocl_signal_wait(zocl_signal *signal, uint64_t timeout);

/* Request callbacks for the attached commands, so that the signal is
   set even if no thread waits for it. */
void zocl_signal_arm(zocl_signal *signal);

/* Release the waiters if the signal is set.  Returns true if waiters are
   left. */
bool zocl_signal_watch(zocl_signal *signal);

/* Get the start and end of the command that set the signal last, in ns of
   zocl_clock.  Returns false if the signal is not set. */
bool zocl_signal_times(zocl_signal *signal, uint64_t *start, uint64_t *end);

/* Find out how command `number` of `stream` must wait for the signal.  If the
   stream is `blocked` by a wait for events, commands that are submitted later
   to other streams may reset and set the signal before this stream gets
   here. */
ze_result_t zocl_signal_resolve(zocl_signal *signal, zocl_stream *stream,
                                uint64_t number, bool blocked, zocl_wait *wait,
                                backend_mark **mark);
/* Runs in the stream for a wait that was resolved as LATER: open the gate
   `mark` as soon as the signal is set.  Takes over the mark and a reference to
   the stream. */
void zocl_signal_complete(zocl_signal *signal, zocl_stream *stream,
                          uint64_t number, backend_mark *mark);

/* Note that the feeder of `stream` will submit the command that sets the
   signal: a host that waits for the signal may submit the command itself. */
void zocl_signal_promise(zocl_signal *signal, zocl_stream *stream);

/* Attach the command of `mark`, number `number` of `stream`, which will set the
   signal.  Takes over the mark on success. */
ze_result_t zocl_signal_attach(zocl_signal *signal, zocl_stream *stream,
                               uint64_t number, backend_mark *mark);

/* A reset in a stream: announce it when submitting, perform it when running. */
void zocl_signal_reset_begin(zocl_signal *signal, zocl_stream *stream);
void zocl_signal_reset_end(zocl_signal *signal);

/* The state of a signal. */
struct zocl_state {
  _Atomic uint32_t set;      /* also the futex that waiting hosts sleep on */
  _Atomic uint32_t sleepers; /* number of hosts that sleep on it */
  uint64_t start, end;       /* of the command that set it */
  int status;                /* the error of that command */
  uint32_t unused[9];        /* so that no two share a cache line */
};

#endif
