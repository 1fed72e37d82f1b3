/*
 * zocl_backend.c - the table of this back end, and its marks: OpenCL events.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_cl.h"
#include "opencl/zocl_lane.h"
#include "opencl/zocl_opencl.h"
#include "opencl/zocl_program.h"

static int mark_status(const zocl_driver *driver, backend_mark *mark)
{
  cl_int status;
  if (driver->cl->clGetEventInfo((cl_event)mark,
                                 CL_EVENT_COMMAND_EXECUTION_STATUS,
                                 sizeof status, &status, NULL) != CL_SUCCESS)
    return CL_INVALID_EVENT;
  return status;
}

static void mark_times(const zocl_driver *driver, backend_mark *mark,
                       uint64_t *start, uint64_t *end)
{
  zocl_cl *cl = driver->cl;
  cl_ulong at;
  if (cl->clGetEventProfilingInfo((cl_event)mark, CL_PROFILING_COMMAND_START,
                                  sizeof at, &at, NULL) == CL_SUCCESS)
    *start = at + driver->clock_offset;
  if (cl->clGetEventProfilingInfo((cl_event)mark, CL_PROFILING_COMMAND_END,
                                  sizeof at, &at, NULL) == CL_SUCCESS)
    *end = at + driver->clock_offset;
}

static bool mark_notify(const zocl_driver *driver, backend_mark *mark,
                        backend_reached reached, void *data)
{
  /* The types differ only in the names of pointers. */
  return driver->cl->clSetEventCallback(
             (cl_event)mark, CL_COMPLETE,
             (void (CL_CALLBACK *)(cl_event, cl_int, void *))reached,
             data) == CL_SUCCESS;
}

static void mark_retain(const zocl_driver *driver, backend_mark *mark)
{
  driver->cl->clRetainEvent((cl_event)mark);
}

static void mark_release(const zocl_driver *driver, backend_mark *mark)
{
  driver->cl->clReleaseEvent((cl_event)mark);
}

static ze_result_t gate_new(const zocl_driver *driver, backend_mark **gate)
{
  cl_int error;
  *gate = (backend_mark *)driver->cl->clCreateUserEvent(driver->context,
                                                        &error);
  return *gate != NULL ? ZE_RESULT_SUCCESS
                       : zocl_cl_error(error, "clCreateUserEvent");
}

/* Gates are always completed: OpenCL does not run commands that depend on a
   failed event. */
static void gate_open(const zocl_driver *driver, backend_mark *gate)
{
  driver->cl->clSetUserEventStatus((cl_event)gate, CL_COMPLETE);
}

const backend_table zocl_backend = {
  .name = "OpenCL",
  .stream_new = zocl_lane_new,
  .stream_close = zocl_lane_close,
  .begin = zocl_lane_begin,
  .keep = zocl_lane_keep,
  .flush = zocl_lane_flush,
  .finish = zocl_lane_finish,
  .mark = zocl_lane_mark,
  .call = zocl_call,
  .copy = zocl_copy_enqueue,
  .fill = zocl_fill_enqueue,
  .copy_region = zocl_copy_region_enqueue,
  .launch = zocl_launch_enqueue,
  .may_compile = zocl_opencl_may_compile,
  .takes_flag = zocl_takes_flag,
  .program_key = zocl_program_key,
  .translate = zocl_translate,
  .program_new = zocl_program_new,
  .program_free = zocl_program_free,
  .program_describe = zocl_program_describe,
  .program_again = zocl_program_again,
  .program_compile = zocl_program_compile,
  .kernel_new = zocl_kernel_new,
  .kernel_free = zocl_kernel_free,
  .kernel_facts = zocl_kernel_facts,
  .kernel_group = zocl_kernel_group,
  .kernel_try = zocl_kernel_set,
  .kernel_reach = zocl_kernel_tell,
  .kernel_shapes = zocl_kernel_shapes,
  .mark_status = mark_status,
  .mark_times = mark_times,
  .mark_notify = mark_notify,
  .mark_retain = mark_retain,
  .mark_release = mark_release,
  .gate_new = gate_new,
  .gate_open = gate_open};
