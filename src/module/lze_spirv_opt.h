/*
 * lze_spirv_opt.h - the optimiser of SPIRV-Tools for C.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SPIRV_OPT_H
#define LZE_SPIRV_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Optimise `count` words.  `passes` are `pass_count` flags as spirv-opt takes
 * them; NULL stands for its -O.  Returns *out_count words, malloc'ed, or NULL
 * with the reason in message; *known is whether it knows those flags.
 */
uint32_t *lze_spirv_optimize(const uint32_t *words, size_t count,
                             const char *const *passes, size_t pass_count,
                             bool *known, size_t *out_count, char *message,
                             size_t cap);

#ifdef __cplusplus
}
#endif

#endif
