/*
 * lze_object.c - native objects: owners, pins and lifetime.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_object.h"
#include "base/lze_state.h"

#include <stdlib.h>

void *lze_object_new(const lze_Class *cls, size_t size,
                     lze_Context *context) {
  lze_Object *o = calloc(1, size);
  if (o == NULL) return NULL;
  o->cls = cls;
  o->owners = 1;
  o->context = context;
  if (context != NULL) {
    lze_pin(&context->o);
    o->next = context->objects;
    if (o->next != NULL) o->next->prev = o;
    context->objects = o;
  }
  return o;
}

static void object_unlink(lze_Object *o) {
  lze_Context *c = o->context;
  if (c == NULL || &c->o == o) return;
  if (o->prev != NULL)
    o->prev->next = o->next;
  else
    c->objects = o->next;
  if (o->next != NULL) o->next->prev = o->prev;
  o->prev = o->next = NULL;
}

/* Destroys and frees the object if nothing needs it any more. */
void lze_object_settle(lze_Object *o) {
  if (o->pins != 0) return;
  if (!o->destroyed && (o->closed || o->owners == 0)) {
    lze_Context *c = o->context;
    bool is_context = c == NULL || &c->o == o;
    o->destroyed = true;
    o->pins++; /* a destructor may call this function again */
    o->cls->destroy(o);
    o->pins--;
    object_unlink(o);
    o->context = NULL;
    if (!is_context && !o->part) lze_unpin(&c->o);
  }
  if (o->destroyed && o->owners == 0) {
    if (o->cls->release != NULL) o->cls->release(o);
    free(o);
  }
}

void lze_object_make_part(lze_Object *o) {
  o->part = true;
  o->context->o.pins--;
}

void lze_pin(lze_Object *o) { o->pins++; }

void lze_unpin(lze_Object *o) {
  o->pins--;
  lze_object_settle(o);
}

void lze_own(lze_Object *o) { o->owners++; }

void lze_disown(lze_Object *o) {
  o->owners--;
  lze_object_settle(o);
}

void lze_close(lze_Object *o) {
  if (o->closed) return;
  o->closed = true;
  if (o->context != NULL) o->context->state->closes++;
  lze_object_settle(o);
}
