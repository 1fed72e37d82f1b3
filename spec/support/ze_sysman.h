/*
 * ze_sysman.h - sensors that ze_fault.so makes up: see ze_sysman.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZE_SYSMAN_H
#define ZE_SYSMAN_H

#include <stdbool.h>
#include <stdint.h>

/* Put made-up functions into the table zesGet<name>ProcAddrTable. */
void ze_sysman_fill(const char *name, void *table);

#endif
