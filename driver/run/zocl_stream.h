/*
 * zocl_stream.h - commands in order on an OpenCL queue.
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
  ZOCL_COMMAND_HOST,    /* a function of ours, run in order */
  ZOCL_COMMAND_TRANSFER, /* done by commands of OpenCL */
  ZOCL_COMMAND_RESET,   /* of signal `reset` */
  ZOCL_COMMAND_INDIRECT /* launches whose group counts are read then */
} zocl_command_kind;

/* Put an INDIRECT command into a stream's queue.  Its kernels run in `side`;
   its signal is set when they are done, before the stream goes on. */
typedef ze_result_t (*zocl_indirect)(const zocl_place *place,
                                     cl_command_queue side,
                                     zocl_stream *stream, uint64_t number,
                                     const zocl_command *command);

struct zocl_command {
  zocl_command_kind kind;
  bool small;             /* HOST: cheap enough for the calling thread */
  uint32_t wait_count;
  zocl_signal *const *waits;
  zocl_signal *signal, *reset; /* or NULL */
  const zocl_launch *launch; /* of no groups, perhaps, of kind NOTHING */
  ze_group_count_t groups;   /* of the launch */
  bool cooperative;          /* these wait for each other */
  zocl_image *const *images; /* that it uses */
  uint32_t image_count;
  zocl_host_function function; /* what a TRANSFER stands for, too */
  union {
    zocl_transfer transfer;
    zocl_indirect indirect;
  };
  void *args;
  size_t args_size;
  /* Of HOST and TRANSFER, or NULL: keep what `args` refers to, for who records
     the command or submits it; the function itself drops it then. */
  zocl_host_function keep, drop;
};

ze_result_t zocl_stream_new(zocl_device *device,
                            ze_command_queue_priority_t priority,
                            zocl_stream **stream);
/* The higher the priority, the higher. */
int zocl_stream_rank(const zocl_stream *stream);
zocl_feeder *zocl_stream_feeder(const zocl_stream *stream);
void zocl_stream_ref(zocl_stream *stream);
void zocl_stream_unref(zocl_stream *stream);
/* The owner's last call: the OpenCL queue is released, what is still in it
   runs to its end and is waited for by those who wait for a device's work.
   References of others keep only the memory. */
void zocl_stream_close(zocl_stream *stream);

/* Submit without waiting for anything.  Nothing of `command` is used after
   the call but kernels, signals and what pointers in `args` point to. */
ze_result_t zocl_stream_submit(zocl_stream *stream,
                               const zocl_command *command);

/* Wait until everything submitted is done, at most `timeout` ns. */
ze_result_t zocl_stream_wait(zocl_stream *stream, uint64_t timeout);

/* Command `number` has ended with this status.  What it is to those who wait
   for it: negative, too, where it is behind what failed. */
int zocl_stream_done(zocl_stream *stream, uint64_t number, int status);

/* The error of command `number`, whose end is near, or CL_COMPLETE. */
int zocl_stream_status(zocl_stream *stream, uint64_t number);

/* Command `number`, or what it waited for, failed with an error of OpenCL, and
   so all that is behind it.  The next wait for the stream tells. */
void zocl_stream_fail(zocl_stream *stream, uint64_t number, int status);
/* The host has heard of a failed event: what comes later in a stream that
   failed before is not of that failure. */
void zocl_failure_heard(void);

/* Whether the command of that number is known to have ended. */
bool zocl_stream_passed(const zocl_stream *stream, uint64_t number);

/* Whether a command that waits for others is not known to have ended. */
bool zocl_stream_waits(const zocl_stream *stream);

#endif
