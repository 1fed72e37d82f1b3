/*
 * lze_base.h - the types that all of src/ uses.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BASE_H
#define LZE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#include <level_zero/ze_api.h>

#ifndef LZE_VERSION
#error "LZE_VERSION comes from the Makefile"
#endif

/* lze uses two kinds of memory. Lua owns userdata. C owns native objects
   (lze_Object and structures that begin with one) and counts references to
   them, because neither anchoring nor the order of finalizers can say when a
   device is done. A function that may raise says so; "[-n, +m]" is its stack
   effect. */

typedef struct lze_State lze_State;
typedef struct lze_System lze_System;
typedef struct lze_Object lze_Object;
typedef struct lze_Context lze_Context;
typedef struct lze_Storage lze_Storage;
typedef struct lze_Module lze_Module;
typedef struct lze_Kernel lze_Kernel;
typedef struct lze_Queue lze_Queue;
typedef struct lze_Command lze_Command;
typedef struct lze_Use lze_Use;
typedef struct lze_Watch lze_Watch;
typedef struct lze_Native lze_Native;
typedef struct lze_Memory lze_Memory;
typedef struct lze_Type lze_Type;
typedef struct lze_Plan lze_Plan;
typedef struct lze_Copy lze_Copy;
typedef struct lze_Driver lze_Driver;
typedef struct lze_DeviceInfo lze_DeviceInfo;

uint64_t lze_now_ns(void); /* CLOCK_MONOTONIC */

#endif
