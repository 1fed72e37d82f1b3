/*
 * zocl_cl.h - OpenCL errors as Level Zero results.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_CL_H
#define ZOCL_CL_H

#include "base/zocl_base.h"

/* Returns the Level Zero result for an OpenCL error; `call` names the
   function. */
ze_result_t zocl_cl_error(cl_int error, const char *call);

#endif
