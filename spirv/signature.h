/*
 * signature.h - SPIR-V for kernels that have only a declaration.
 * SPDX-License-Identifier: MIT
 *
 * A kernel that a driver compiles from OpenCL C has no SPIR-V. Only its
 * signature is known. This file writes the signature as a module of stubs,
 * which the reader of all other modules can read. The stubs read and write
 * through each pointer that is not const. They also use the local id, so that
 * no range is split.
 */
#ifndef LZE_SIGNATURE_H
#define LZE_SIGNATURE_H

#include <stddef.h>

/*
 * Returns the module, malloc'ed and *size bytes long, for declarations:
 *   saxpy(float a, global const float *x, global float *y); f(local int *t)
 * with or without "kernel void" and parameter names. A pointer without an
 * address space points to global memory. A struct by value is struct(24), with
 * its size. An image without a qualifier is read only.
 * reqd_work_group_size(x, y, z) may precede a name. Returns NULL, with an error
 * in message, for anything else.
 */
void *signature_spirv(const char *text, unsigned address_bits, size_t *size,
                      char *message, size_t cap);

#endif
