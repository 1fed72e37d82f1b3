/*
 * ze_sysman.h - simulated sensors of ze_fault.so, see ze_sysman.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZE_SYSMAN_H
#define ZE_SYSMAN_H

#include <stdbool.h>
#include <stdint.h>

/* Put simulated functions into the table zesGet<name>ProcAddrTable. */
void ze_sysman_fill(const char *name, void *table);

#endif
