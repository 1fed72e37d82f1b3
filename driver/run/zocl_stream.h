/*
 * zocl_stream.h - commands in order.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_STREAM_H
#define ZOCL_STREAM_H

#include "memory/zocl_place.h"
#include "module/zocl_kernel.h"
#include "run/zocl_signal.h"

typedef enum zocl_command_kind {
  ZOCL_COMMAND_NOTHING, /* only waits and signals */
  ZOCL_COMMAND_LAUNCH,  /* a kernel */
  ZOCL_COMMAND_HOST,    /* one of our functions, run in order */
  ZOCL_COMMAND_TRANSFER, /* done by the back end */
  ZOCL_COMMAND_RESET,   /* resets signal `reset` */
  ZOCL_COMMAND_INDIRECT /* launches; reads the group counts when it runs */
} zocl_command_kind;

/* Put an INDIRECT command into a stream.  Its kernels run in `side`, a stream
   of the back end; its signal is set when they are done, before the stream
   continues. */
typedef ze_result_t (*zocl_indirect)(const backend_place *place,
                                     backend_stream *side,
                                     zocl_stream *stream, uint64_t number,
                                     const zocl_command *command);

struct zocl_command {
  zocl_command_kind kind;
  bool small;             /* HOST: cheap enough for the calling thread */
  uint32_t wait_count;
  zocl_signal *const *waits;
  zocl_signal *signal, *reset; /* or NULL */
  const zocl_launch *launch; /* kind NOTHING may have one, of 0 groups */
  ze_group_count_t groups;   /* of the launch */
  bool cooperative;          /* the groups wait for each other */
  zocl_image *const *images; /* that the command uses */
  uint32_t image_count;
  zocl_host_function function; /* for TRANSFER: what it corresponds to */
  union {
    zocl_transfer transfer;
    zocl_indirect indirect;
  };
  void *args;
  size_t args_size;
  /* For HOST and TRANSFER, or NULL: retain what `args` refers to, and release
     it.  Recording and each submission retain it; the function releases it when
     it runs. */
  zocl_host_function keep, drop;
};

ze_result_t zocl_stream_new(zocl_device *device,
                            ze_command_queue_priority_t priority,
                            zocl_stream **stream);
/* Returns -1, 0 or 1 for low, normal and high priority. */
int zocl_stream_rank(const zocl_stream *stream);
zocl_feeder *zocl_stream_feeder(const zocl_stream *stream);
void zocl_stream_ref(zocl_stream *stream);
void zocl_stream_unref(zocl_stream *stream);
/* Close the stream; the owner calls this last.  The back end's stream is
   released; pending commands still run, and waits for the device's work wait
   for them.  References held by others keep only the memory alive. */
void zocl_stream_close(zocl_stream *stream);

/* Submit without waiting for anything.  After the call, only kernels, signals
   and the memory that pointers in `args` point to must stay alive. */
ze_result_t zocl_stream_submit(zocl_stream *stream,
                               const zocl_command *command);

/* Wait until all submitted commands are done, at most `timeout` ns. */
ze_result_t zocl_stream_wait(zocl_stream *stream, uint64_t timeout);

/* Report that command `number` has ended with this status.  Returns the status
   that its waiters get, which is also negative if an earlier command failed. */
int zocl_stream_done(zocl_stream *stream, uint64_t number, int status);

/* Returns the error of command `number`, which has ended or is about to, or
   BACKEND_DONE. */
int zocl_stream_status(zocl_stream *stream, uint64_t number);

/* Report that command `number`, or what it waited for, failed with this
   status, and all later commands with it.  The next wait for the stream reports
   the error. */
void zocl_stream_fail(zocl_stream *stream, uint64_t number, int status);
/* Begin a new failure epoch: the host has been informed of a failed event, so
   later commands in a stream that failed before do not inherit the failure. */
void zocl_failure_heard(void);

/* Returns true if command `number` has been seen to end. */
bool zocl_stream_passed(const zocl_stream *stream, uint64_t number);

/* Returns true if a command that waits for events may be unfinished. */
bool zocl_stream_waits(const zocl_stream *stream);

#endif
