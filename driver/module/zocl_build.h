/*
 * zocl_build.h - from the SPIR-V of a module to a program.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_BUILD_H
#define ZOCL_BUILD_H

#include "module/zocl_module.h"

#include <limits.h>

/* ------------------------------------------------------------------------
 * zocl_link.c: combines the code of several modules.
 */

/* Makes module->code from its words: program-scope variables become addresses,
   and imports are copied from the modules among the `count` others that export
   them.  Imports that no module exports stay imports.  Returns false with the
   reason in log. */
bool zocl_link(zocl_module *module, zocl_module *const *others, uint32_t count,
               tool_text *log);

/* Returns the SPIR-V, malloc'ed, of one module made of all these modules, which
   must not be linked yet; imports among them are resolved.  NULL with the
   reason in log. */
uint32_t *zocl_link_join(zocl_module *const *modules, uint32_t count,
                         tool_text *log, size_t *size);

/* Returns the symbol of that name that the module exports, or NULL. */
const spirv_symbol *zocl_link_export(const zocl_module *module,
                                     const char *name);

/* ------------------------------------------------------------------------
 * zocl_lower.c: replaces functions that the compiler's library lacks.
 */

/* Rewrites module->code, if needed, so that the compiler can build it.  Returns
   false with the reason in log. */
bool zocl_lower(zocl_module *module, tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_build.c: from SPIR-V to a program.
 */

/* Builds module->code into module->program.  New code is tried in another
   process first.  Returns false with the reason in log, which receives the
   compilers' messages in any case. */
bool zocl_build(zocl_module *module, tool_text *log);
/* Releases the module's program, if it has one. */
void zocl_program_drop(const zocl_module *module);

/* Returns true if zocl_build first tries a program in another process;
   LZE_BUILD_SECONDS=0 switches that off. */
bool zocl_build_is_tried(void);

/* Like zocl_build, but builds in this process without a trial. */
bool zocl_build_here(zocl_module *module, tool_text *log);
/* For lze-build: builds the module again, if other processes will read another
   result of the build. */
bool zocl_build_again(zocl_module *module, tool_text *log);
/* Returns true if all build flags are known; names the unknown ones in the
   log. */
bool zocl_flags_check(const zocl_device *device, const char *flags, bool source,
                      tool_text *log);

/* Has lze-build compile the module's kernels for some launch shapes into the
   compiler's own cache, so that the launches find them there.  `shapes` is the
   list that `kernel_shapes` of the back end makes. */
ze_result_t zocl_build_shapes(const zocl_module *module, const char *shapes);
/* The same without waiting; prepare.h describes `cheaply`. */
ze_result_t zocl_build_shapes_start(const zocl_module *module,
                                    const char *shapes, bool cheaply);

#endif
