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
  lze_Context *context;         /* NULL once finalized */
} lze_ContextBox;

/* Pushes the userdata of a driver; always the same one. [-0, +1] */
void lze_push_driver(lua_State *L, const lze_Driver *driver);
/* Reads the environment variables that configure a state, once, before its
   first context. Raises if one is invalid. */
void lze_configure(lua_State *L);
/* Returns the context over a native one and adds an owner; takes over a
   reference to `native`. Raises. */
lze_Context *lze_adopt_context(lua_State *L, lze_Native *native);
/* Returns the open context at `arg`; raises. */
lze_Context *lze_check_context(lua_State *L, int arg);
/* Makes a context the one of lze.default. */
void lze_set_default_context(lze_State *S, lze_Context *c);
/* Returns the device that is implied by a context. */
const lze_DeviceInfo *lze_context_device(lua_State *L,
                                         const lze_Context *context);
/* Returns the device at 1; raises. */
const lze_DeviceInfo *lze_check_device(lua_State *L);
/* Returns the number of cores or execution units. */
uint32_t lze_device_units(const lze_DeviceInfo *d);
/* Returns true if a device can use memory that was allocated for another. */
bool lze_device_peers(const lze_DeviceInfo *device,
                      const lze_DeviceInfo *home);

/* Returns the device's image limits; zeros if it does not support images.
   Raises. */
ze_device_image_properties_t lze_device_images(lua_State *L,
                                               const lze_DeviceInfo *d);

/* Returns the device at `index`, or NULL. */
const lze_DeviceInfo *lze_test_device(lua_State *L, int index);
/* Pushes the userdata of a device; always the same one. [-0, +1] */
void lze_push_device(lua_State *L, const lze_DeviceInfo *info);
/* Returns the default device (LZE_DEVICE, else the first). Raises if there is
   none. The result is valid until Lua code may run: a finalizer may set
   another default and drop a borrowed context with its devices. */
const lze_DeviceInfo *lze_default_device(lua_State *L);
/* The same, but also pushes the userdata, which keeps the device alive. [-0,
   +1] */
const lze_DeviceInfo *lze_push_default_device(lua_State *L);
/* Makes a device the default, and also its context if that is borrowed. */
void lze_set_default_device(lua_State *L, const lze_DeviceInfo *info);
/* Returns the device at `index`, or the first device that the selector there
   matches. Raises for any other value or if no device matches; the message
   begins with `what`. */
const lze_DeviceInfo *lze_device_at(lua_State *L, int index,
                                    const char *what);
/* The same for an argument, or for a value at `index` that is part of argument
   `arg`; a value of another type is an error in that argument. */
const lze_DeviceInfo *lze_device_argument(lua_State *L, int arg, int index,
                                          const char *what);
/* Determines a device and a context. The device is the one at `given` (0 or
   nil: not given), else the option `device` of the table at `t` (0: no table).
   The context is the option `context`. Defaults apply to anything not given,
   except that a context implies its device if it has only one, and implies one
   of its devices if it does not include the default device. [-0, +4 at most]
   The values left on the stack keep both alive. */
void lze_opt_place(lua_State *L, int given, int t,
                   const lze_DeviceInfo **device, lze_Context **context);
/* Pushes the userdata of a context and returns the context. [-0, +1] */
lze_Context *lze_push_context(lua_State *L, lze_Context *context);
/* Returns the context to use for a device if the caller gives no context: its
   own if it belongs to a borrowed context, else lze.default's if that includes
   it, else the shared one of its driver. Made at first use; may raise. The
   result is valid as long as that of lze_default_device. */
lze_Context *lze_device_context(lua_State *L, const lze_DeviceInfo *info);
/* The same, but also pushes the userdata, which keeps the context alive. [-0,
   +1] */
lze_Context *lze_push_device_context(lua_State *L, const lze_DeviceInfo *info);
/* Returns the pointer by which objects of a context refer to the device: in a
   borrowed context, the device's copy for that context; otherwise the
   system's. Two objects of one context are on the same device exactly if these
   pointers are equal. Raises if the context was made without the device. */
const lze_DeviceInfo *lze_device_in(lua_State *L, lze_Context *context,
                                    const lze_DeviceInfo *info);
/* Takes the context of a native handle that was made elsewhere: from then on
   this is the state's context over that handle. Pushes a value that keeps the
   context alive, and the device in the context. Returns the context. May
   raise. [-0, +2] */
lze_Context *lze_push_borrowed_device(lua_State *L,
                                      const lze_DeviceInfo *info,
                                      ze_context_handle_t handle);

/* Pushes a table of all available readings. [-0, +1] */
void lze_push_telemetry(lua_State *L, const lze_DeviceInfo *device);
/* Reads the device's energy counter, in microjoules since an unknown start,
   and the device's time of the reading, in microseconds. Returns false if the
   device does not report it. */
bool lze_energy_read(lua_State *L, const lze_DeviceInfo *device,
                     uint64_t *energy, uint64_t *time);

/* Pushes an array of the devices that the selector at `arg` (nil: all)
   matches, in order. Raises for an invalid selector, which the message calls
   `what`. [-0, +1] */
void lze_select(lua_State *L, int arg, const char *what);
/* The number by which scripts refer to a device: its position in
   lze.devices(), or 0 if it is not listed or if lze.devices() raises. For a
   tile that is not listed: its root's number, and which of the root's tiles it
   is. lze_number_devices pushes an array of these, indexed by .index, with
   total_devices elements, and returns it. [-0, +1] */
typedef struct lze_DeviceNumber {
  uint32_t number, tile;
} lze_DeviceNumber;
const lze_DeviceNumber *lze_number_devices(lua_State *L);
/* Raises an error that no device matches the selector at `arg` (nil: no
   selector); the message lists the devices. `where` is the source of the
   selector, "" for an argument. */
int lze_select_none(lua_State *L, int arg, const char *where);

#endif
