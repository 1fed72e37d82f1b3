/*
 * lze_device.h - drivers, devices, contexts and selectors.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_DEVICE_H
#define LZE_DEVICE_H

#include "base/lze_box.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "base/lze_state.h"

typedef struct lze_ContextBox {
  lze_Box box;
  lze_Context *context;         /* NULL once finalised */
} lze_ContextBox;

/* [-0, +1] the userdata of a driver, the same each time. */
void lze_push_driver(lua_State *L, const lze_Driver *driver);
/* Read the variables that say how a state works, once, before its first
   context; raises what is wrong with them. */
void lze_configure(lua_State *L);
/* The context over a native one, with one owner more; it takes over a reference
   to that.  Raises. */
lze_Context *lze_adopt_context(lua_State *L, lze_Native *native);
/* The open context at `arg`; raises. */
lze_Context *lze_check_context(lua_State *L, int arg);
/* Make a context lze.default's. */
void lze_set_default_context(lze_State *S, lze_Context *c);
/* The device that is meant by a context. */
const lze_DeviceInfo *lze_context_device(lua_State *L,
                                         const lze_Context *context);
/* The device at 1; raises. */
const lze_DeviceInfo *lze_check_device(lua_State *L);
/* Cores, or execution units. */
uint32_t lze_device_units(const lze_DeviceInfo *d);
/* Whether a device can use what was allocated for another. */
bool lze_device_peers(const lze_DeviceInfo *device,
                      const lze_DeviceInfo *home);

/* What a device takes of images; zeros where it has none.  Raises. */
ze_device_image_properties_t lze_device_images(lua_State *L,
                                               const lze_DeviceInfo *d);

/* The device at `index`, or NULL. */
const lze_DeviceInfo *lze_test_device(lua_State *L, int index);
/* [-0, +1] the userdata of a device, the same each time. */
void lze_push_device(lua_State *L, const lze_DeviceInfo *info);
/* The default device (LZE_DEVICE, else the first).  Raises if there is none.
   It is the caller's until anything of Lua's may run: a finaliser may set
   another, and drop a borrowed context with its devices. */
const lze_DeviceInfo *lze_default_device(lua_State *L);
/* [-0, +1] the same with its userdata, which keeps it. */
const lze_DeviceInfo *lze_push_default_device(lua_State *L);
/* Make a device the default, with its context if that is a borrowed one. */
void lze_set_default_device(lua_State *L, const lze_DeviceInfo *info);
/* The device, or the first that the selector matches, at `index`; raises with
   `what` in front for anything else, and where nothing matches. */
const lze_DeviceInfo *lze_device_at(lua_State *L, int index,
                                    const char *what);
/* The same of an argument, or of what stands at `index` and is part of it; a
   value of another type is that argument's error. */
const lze_DeviceInfo *lze_device_argument(lua_State *L, int arg, int index,
                                          const char *what);
/* The device and context that are asked for: the device at `told` (0 or nil:
   none), else the option `device` of the table at t (0: no table); the option
   `context`.  What is not asked for is the default one, but a context tells its
   device where it has one only, and has another where it has not the default
   one.
   [-0, +4 at most] what is left on the stack keeps both alive. */
void lze_opt_place(lua_State *L, int told, int t,
                   const lze_DeviceInfo **device, lze_Context **context);
/* [-0, +1] the userdata of a context, which is returned. */
lze_Context *lze_push_context(lua_State *L, lze_Context *context);
/* The context of a device when none is asked for: its own in a borrowed
   context, else lze.default's if it can, else the shared one of its driver.
   Made at first use; may raise.  The caller's, as the default device is. */
lze_Context *lze_device_context(lua_State *L, const lze_DeviceInfo *info);
/* [-0, +1] the same with its userdata, which keeps it alive. */
lze_Context *lze_push_device_context(lua_State *L, const lze_DeviceInfo *info);
/* The device as things made in a context name it: in a borrowed context one of
   its own, whose context it is, else the system's.  Two things of one context
   are on one device exactly when they name the same.  Raises where the context
   was made without the device. */
const lze_DeviceInfo *lze_device_in(lua_State *L, lze_Context *context,
                                    const lze_DeviceInfo *info);
/* [-0, +2] what keeps it alive, and the device in the context of a native
   handle that was made elsewhere, which is this state's context over it from
   then on, and returned.  May raise. */
lze_Context *lze_push_borrowed_device(lua_State *L,
                                      const lze_DeviceInfo *info,
                                      ze_context_handle_t handle);

/* [-0, +1] a table of what there is to be had. */
void lze_push_telemetry(lua_State *L, const lze_DeviceInfo *device);
/* How much energy it has taken since whenever, in microjoules, and at what time
   of its own, in microseconds; false where it does not say. */
bool lze_energy_read(lua_State *L, const lze_DeviceInfo *device,
                     uint64_t *energy, uint64_t *time);

/* Push an array of the devices that the selector at `arg` (nil: all)
   matches, in order. [-0, +1] Raises for a bad selector, which is `what`. */
void lze_select(lua_State *L, int arg, const char *what);
/* How scripts number the devices of the process: each place in lze.devices(),
   or 0, as where that raises; of a tile that is not there, its root's, and
   which of its tiles it is.
   [-0, +1] an array by .index, of total_devices. */
typedef struct lze_DeviceNumber {
  uint32_t number, tile;
} lze_DeviceNumber;
const lze_DeviceNumber *lze_number_devices(lua_State *L);
/* Raise that no device matches the selector at `arg`, nil for none, which was
   found `where`, "" in an argument; it lists what there is. */
int lze_select_none(lua_State *L, int arg, const char *where);

#endif
