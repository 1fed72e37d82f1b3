/*
 * zocl_build.h - from the SPIR-V of a module to an OpenCL program.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_BUILD_H
#define ZOCL_BUILD_H

#include "module/zocl_module.h"

#include <limits.h>

/* ------------------------------------------------------------------------
 * zocl_link.c: the code of one module made of several.
 */

/* Make module->code of its words: addresses for program-scope variables, and
   for what it imports the code of those of the `count` others that export it.
   What no module exports stays imported.  False with the reason in log. */
bool zocl_link(zocl_module *module, zocl_module *const *others, uint32_t count,
               tool_text *log);

/* The SPIR-V, malloc'ed, of a module that is all of these, which are not linked
   yet: what one imports of another is in it.  NULL with the reason in log. */
uint32_t *zocl_link_join(zocl_module *const *modules, uint32_t count,
                         tool_text *log, size_t *size);

/* The symbol of that name that the module exports, or NULL. */
const spirv_symbol *zocl_link_export(const zocl_module *module,
                                     const char *name);

/* ------------------------------------------------------------------------
 * zocl_lower.c: what the OpenCL's library lacks, said with what it has.
 */

/* Rewrite module->code so that the OpenCL can build it, where that is needed.
   False with the reason in log. */
bool zocl_lower(zocl_module *module, tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_build.c: from SPIR-V to an OpenCL program.
 */

/* Build module->code into module->program; first in a process of its own
   unless that went well before.  False with the reason in log, to which
   compilers' messages are added in any case. */
bool zocl_build(zocl_module *module, tool_text *log);
/* Release the module's program, if it has one. */
void zocl_program_drop(const zocl_module *module);

/* Whether zocl_build tries a program in a process of its own first; a knob can
   switch that off. */
bool zocl_build_is_tried(void);

/* The same in this process at once. */
bool zocl_build_here(zocl_module *module, tool_text *log);
/* Whether each of the build flags is one; says in the log which are not. */
bool zocl_flags_check(const char *flags, bool source, tool_text *log);

/* Have lze-build compile the module's kernels for some shapes of launches into
   PoCL's own cache, where the launches then find them.  `shapes` is a list as
   PoCL takes it: "64-1-1-goffs0-smallgrid,...". */
ze_result_t zocl_build_shapes(const zocl_module *module, const char *shapes);
/* The same without waiting; `cheaply` is as prepare.h has it. */
ze_result_t zocl_build_shapes_start(const zocl_module *module,
                                    const char *shapes, bool cheaply);

/* ------------------------------------------------------------------------
 * zocl_translate.c: SPIR-V to the bitcode that an OpenCL without SPIR-V takes.
 */

/* The llvm-spirv that translates the module, if its OpenCL needs that. */
bool zocl_translator_find(const zocl_module *module, char path[PATH_MAX]);
/* Have module->bitcode: translate module->code with llvm-spirv, of the OpenCL's
   version of LLVM where that is installed, or take what was translated before
   from the cache.  False with the reason in log. */
bool zocl_translate(zocl_module *module, tool_text *log);

#endif
