/*
 * lze_object.h - native objects: owners and pins; contexts.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_OBJECT_H
#define LZE_OBJECT_H

#include "base/lze_base.h"
#include "device/lze_loader.h"

/* lze_object.c: lifetime.
 *
 * A native object has owners (userdata) and pins (commands in flight, and
 * objects made from it). Its native handle is destroyed as soon as it has no
 * pins and is either closed or has no owners; the struct is freed when nothing
 * refers to it. Until then it is a pending free. Nothing here waits or raises
 * unless its comment says so.
 */

typedef struct lze_Class {
  const char *name;
  /* Destroys the native handle and drops the pins that it held on others. */
  void (*destroy)(lze_Object *o);
  /* Frees the struct's own memory, which may still be read after `destroy` by
     a call that a finalizer interrupted. May be NULL. */
  void (*release)(lze_Object *o);
} lze_Class;

struct lze_Object {
  const lze_Class *cls;
  lze_Context *context;         /* a context: itself */
  uint32_t owners, pins;
  bool closed;                  /* explicitly: every later use is an error */
  bool destroyed;               /* the native handle is gone */
  bool part;                    /* belongs to its context, does not pin it */
  lze_Object *prev, *next;      /* the context's objects */
};

/* Returns a zeroed object of `size` bytes with one owner, which pins `context`
   (NULL for a context). Returns NULL when memory runs out. */
void *lze_object_new(const lze_Class *cls, size_t size, lze_Context *context);
/* Makes it a part of its context instead: the context's destructor disowns it,
   and it does not keep the context alive. */
void lze_object_make_part(lze_Object *o);
void lze_pin(lze_Object *o);
void lze_unpin(lze_Object *o);    /* may destroy it */
void lze_own(lze_Object *o);
void lze_disown(lze_Object *o);   /* may destroy it */
void lze_object_settle(lze_Object *o); /* destroys and frees it if possible */
void lze_close(lze_Object *o);    /* idempotent; may destroy it */

struct lze_Context {
  lze_Object o;
  lze_State *state;
  const lze_Driver *driver;
  lze_Native *native;           /* NULL before it is made and after it is
                                   destroyed */
  ze_context_handle_t handle;   /* of native */
  bool is_default;              /* owned by the state */
  bool borrowed;                /* its devices are separate (lze_device_in) */
  struct lze_BorrowedDevice *devices; /* of a borrowed context */
  lze_Object *objects;          /* all objects made in it */
  lze_Queue *queues;            /* queues with a native list */
  lze_Command *foreign;         /* commands that represent host events */
  struct lze_EventPool *pools;
  struct lze_EventSlot *free_events[2]; /* plain; with timestamps */
  struct {
    const lze_DeviceInfo *base; /* NULL before the first query */
    uint64_t host, ticks;
  } clock;                      /* one moment by CLOCK_MONOTONIC and by the
                                   clock of the device queried last */
  lze_Context *next;            /* in the state's list */
  uint32_t device_count;        /* 0: all devices of the driver */
  const lze_DeviceInfo *only[]; /* these devices and their tiles */
};

#endif
