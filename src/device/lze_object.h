/*
 * lze_object.h - native objects: owners and pins; contexts.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_OBJECT_H
#define LZE_OBJECT_H

#include "base/lze_base.h"
#include "device/lze_loader.h"

/* lze_gc.c: everything about lifetime.
 *
 * A native object has owners (userdata) and pins (commands in flight, and
 * objects made from it).  Its native handle is destroyed as soon as it is
 * closed or has no owner, and has no pin; the struct is freed when nothing
 * refers to it.  Until then it is a pending free.  Nothing here waits or
 * raises except where said.
 */

typedef struct lze_Class {
  const char *name;
  /* Destroy the native handle and drop the pins it held on others. */
  void (*destroy)(lze_Object *o);
  /* Free what the struct has of its own, which a call that a finaliser runs
     in the middle of may still read after that; NULL for nothing. */
  void (*release)(lze_Object *o);
} lze_Class;

struct lze_Object {
  const lze_Class *cls;
  lze_Context *context;         /* itself for a context */
  uint32_t owners, pins;
  bool closed;                  /* by hand: every later use is an error */
  bool destroyed;               /* the native handle is gone */
  bool part;                    /* belongs to its context, does not pin it */
  lze_Object *prev, *next;      /* the context's objects */
};

/* A zeroed object of `size` bytes with one owner, which pins `context` (NULL
   for a context).  NULL when memory runs out. */
void *lze_object_new(const lze_Class *cls, size_t size, lze_Context *context);
/* Make it a part of its context instead: the context's destructor disowns
   it, and until then it does not keep the context alive. */
void lze_object_make_part(lze_Object *o);
void lze_pin(lze_Object *o);
void lze_unpin(lze_Object *o);    /* may destroy it */
void lze_own(lze_Object *o);
void lze_disown(lze_Object *o);   /* may destroy it */
void lze_object_settle(lze_Object *o); /* destroy and free what may go */
void lze_close(lze_Object *o);    /* idempotent; may destroy it */

struct lze_Context {
  lze_Object o;
  lze_State *state;
  const lze_Driver *driver;
  lze_Native *native;           /* NULL before it is made, and destroyed */
  ze_context_handle_t handle;   /* of native */
  bool is_default;              /* owned by the state */
  bool borrowed;                /* its devices are its own (lze_device_in) */
  struct lze_BorrowedDevice *devices; /* these */
  lze_Object *objects;          /* everything made in it */
  lze_Queue *queues;            /* those with a native list */
  lze_Command *foreign;         /* those that show events of the host */
  struct lze_EventPool *pools;
  struct lze_EventSlot *free_events[2]; /* plain; with timestamps */
  struct {
    const lze_DeviceInfo *base; /* NULL before any was asked for */
    uint64_t host, ticks;
  } clock;                      /* a moment in CLOCK_MONOTONIC and in the time
                                   of the device that was asked for it last */
  lze_Context *next;            /* of the state */
  uint32_t device_count;        /* 0: it is for all of the driver's */
  const lze_DeviceInfo *only[]; /* these, and their tiles */
};

#endif
