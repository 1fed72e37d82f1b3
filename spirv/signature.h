/*
 * signature.h - kernels of which only the declaration is known, as SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * Kernels that a driver compiles from OpenCL C come with no SPIR-V to read.
 * What is known of them is their signature, and this writes it down as a
 * module of stubs, for the same reader as every other module: bodies that read
 * and write through each pointer that is not const, and use the local id, so
 * that nobody splits their ranges.
 */
#ifndef LZE_SIGNATURE_H
#define LZE_SIGNATURE_H

#include <stddef.h>

/*
 * The module, malloc'ed and *size bytes long, for declarations such as
 *   saxpy(float a, global const float *x, global float *y); f(local int *t)
 * with or without "kernel void" and parameters' names; a pointer without an
 * address space is to global memory; a struct by value is struct(24), with its
 * size; an image without a qualifier is read only; reqd_work_group_size(x, y,
 * z) may come before a name.  NULL, with what is wrong in message, for anything
 * else.
 */
void *signature_spirv(const char *text, unsigned address_bits, size_t *size,
                      char *message, size_t cap);

#endif
