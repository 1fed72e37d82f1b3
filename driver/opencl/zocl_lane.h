/*
 * zocl_lane.h - streams of the back end: in-order OpenCL queues.
 * SPDX-License-Identifier: MIT
 *
 * A mark is an OpenCL event, and a gate is a user event.
 */
#ifndef ZOCL_LANE_H
#define ZOCL_LANE_H

#include "base/backend.h"
#include "base/zocl_device.h"

typedef struct zocl_lane {
  backend_stream stream; /* base class; must be first */
  int rank;
  cl_command_queue queue;
  cl_command_queue other; /* a queue that differs from `queue` in timestamps;
                             NULL until needed */
  uint32_t untimed;      /* commands in a row that need no timestamps */
  cl_event *held;        /* room for HELD_EVENTS; NULL until needed */
  uint32_t held_count;
  uint32_t held_old;     /* the first events, held since the stream was last
                            idle */
} zocl_lane;

/* The queue of a command; and the arguments of an OpenCL function for the
   events that it waits for, and for its own. */
static inline cl_command_queue zocl_place_queue(const backend_place *place)
{
  return ((const zocl_lane *)place->stream)->queue;
}
#define ZOCL_PLACE_EVENTS(place)                               \
  (place)->wait_count, (const cl_event *)(place)->waits,       \
      (cl_event *)(place)->mark

/* Enqueues a command that only waits; `event` may be NULL. */
cl_int zocl_lane_wait(const backend_place *place, cl_event *event);

/* The functions of the table in backend.h. */
ze_result_t zocl_lane_new(const zocl_device *device, int rank, bool timed,
                          backend_stream **stream);
void zocl_lane_close(const zocl_device *device, backend_stream *stream,
                     bool idle);
ze_result_t zocl_lane_begin(const zocl_device *device, backend_stream *stream,
                            bool timed, bool idle);
void zocl_lane_keep(const zocl_device *device, backend_stream *stream,
                    backend_mark *mark);
void zocl_lane_flush(const zocl_device *device, backend_stream *stream);
ze_result_t zocl_lane_finish(const zocl_device *device, backend_stream *stream,
                             pthread_mutex_t *held);
ze_result_t zocl_lane_mark(const backend_place *place);

/* zocl_call.c */
ze_result_t zocl_call(const backend_place *place, zocl_host_function function,
                      const void *args, size_t size);

/* zocl_transfer.c */
ze_result_t zocl_copy_enqueue(const backend_place *place,
                              const zocl_copy *copy);
ze_result_t zocl_fill_enqueue(const backend_place *place,
                              const zocl_fill *fill);
ze_result_t zocl_copy_region_enqueue(const backend_place *place,
                                     const zocl_copy_region *copy);

/* zocl_launch.c */
ze_result_t zocl_launch_enqueue(const backend_place *place,
                                backend_kernel *kernel,
                                const zocl_launch *launch);
ze_result_t zocl_kernel_new(const zocl_device *device,
                            backend_program *program, const spirv_kernel *info,
                            const zocl_arg *args, size_t values_size,
                            uint32_t *max_group, backend_kernel **kernel);
void zocl_kernel_free(const zocl_device *device, backend_kernel *kernel);
void zocl_kernel_facts(const zocl_device *device, backend_kernel *kernel,
                       uint64_t *private_bytes, uint64_t *multiple);
ze_result_t zocl_kernel_set(const zocl_device *device, backend_kernel *kernel,
                            const unsigned char *values);
ze_result_t zocl_kernel_tell(const zocl_device *device, backend_kernel *kernel,
                             ze_kernel_indirect_access_flags_t indirect,
                             void *const *blocks, size_t block_count);
ze_result_t zocl_kernel_shapes(const zocl_device *device,
                               backend_kernel *kernel, uint32_t count,
                               const prepare_launch *launches,
                               tool_text *shapes);

/* zocl_group.c */
void zocl_kernel_group(const zocl_device *device, backend_kernel *kernel,
                       uint32_t max_group, const uint32_t range[3],
                       uint32_t group[3]);

/* zocl_backend.c: the table. */
extern const backend_table zocl_backend;

#endif
