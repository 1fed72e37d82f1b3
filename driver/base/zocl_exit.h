/*
 * zocl_exit.h - waiting for work in flight when the process exits.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_EXIT_H
#define ZOCL_EXIT_H

#include "base/zocl_base.h"

/* The thread that starts a compilation must call the first function before it,
   and the second when a compilation has ended.  Then exit waits for streams
   before the destructors of the compiler's libraries run. */
void zocl_exit_early(void);
void zocl_exit_late(void);

/* Sets a function that returns true while a compilation runs that no stream's
   work stands for. */
typedef bool (*zocl_exit_query)(void);
void zocl_exit_watch(zocl_exit_query is_compiling);

#endif
