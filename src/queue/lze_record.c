/*
 * lze_record.c - the recorder behind profiles.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_record.h"
#include "base/lze_pages.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "lua_where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the ring ------------------------------------------------------------- */

/* The last copy to a place, to detect when it is repeated. */
typedef struct Copied {
  uint64_t place;               /* these bytes of this storage */
  uint64_t some;                /* a hash of some bytes; */
  uint64_t all;                 /* of all, or of their origin; 0: unknown */
  uint64_t written;             /* last write to the storage after that copy */
} Copied;

/* A device that was used, and its energy at the last query. */
typedef struct Meter {
  const lze_DeviceInfo *device;
  uint32_t name;                /* a string by number */
  uint64_t ns;                  /* time of the last query, or 0 */
  uint64_t energy, time;        /* as of lze_energy_read */
} Meter;

enum { COPIES = 1024, METERS = 8 };

/* The energy of devices is queried at most this often. */
#define METER_NS 50000000u

/* Records are numbered from 1 on, across all recorders of a state. */
struct lze_Recorder {
  lze_Record *ring;
  size_t most;                  /* room for this number, a power of two */
  uint64_t oldest;              /* number of the oldest record in the ring */
  uint64_t first;               /* number of its first record */
  lze_Names *names;
  Meter meters[METERS];         /* for the first devices that were used */
  uint64_t metered_ns;          /* time of the last query of all */
  lze_Record none;              /* zeros: compilers copy a record faster than
                                   they clear one in a loop */
  lze_Profile *profiles;
  Copied copies[COPIES];
};

static lze_Record *recorder_at(const struct lze_Recorder *r, uint64_t number) {
  return &r->ring[number & (r->most - 1)];
}

/* Makes room for at least `least` records.  Unused memory comes in large pages,
   and the page of the next record is touched now: creating small pages takes
   longer than the records. */
static bool recorder_resize(lze_State *S, size_t least) {
  struct lze_Recorder *r = S->recorder;
  size_t most = 1;
  while (most < least) most *= 2;
  size_t bytes = (most * sizeof *r->ring + LZE_LARGE_PAGE - 1) &
                 ~(size_t)(LZE_LARGE_PAGE - 1);
  lze_Record *ring = aligned_alloc(LZE_LARGE_PAGE, bytes);
  if (ring == NULL) return false;
  lze_pages_advise(ring, bytes);
  ring[(S->records + 1) & (most - 1)] = r->none;
  for (uint64_t i = r->oldest; i <= S->records; i++)
    ring[i & (most - 1)] = *recorder_at(r, i);
  free(r->ring);
  r->ring = ring;
  r->most = most;
  return true;
}

static lze_Record *record_new(lze_State *S, lze_RecordKind kind) {
  struct lze_Recorder *r = S->recorder;
  uint64_t number = ++S->records;
  if (number - r->oldest == r->most) r->oldest++;
  lze_Record *record = recorder_at(r, number);
  *record = r->none;
  record->kind = (uint8_t)kind;
  return record;
}

/* Returns a record that has not been replaced, or NULL. */
static lze_Record *record_find(const lze_State *S, uint64_t number) {
  if (S->recorder == NULL || number < S->recorder->oldest) return NULL;
  return recorder_at(S->recorder, number);
}

lze_Record *lze_record_of(const lze_Command *c) {
  return record_find(c->state, c->record);
}

lze_Names *lze_recorder_names(const lze_State *S) { return S->recorder->names; }

uint64_t lze_recorder_first(const lze_State *S) { return S->recorder->first; }

void lze_record_line(const lze_State *S, lze_Record *record,
                     const char *source, int line) {
  record->source =
      lze_names_number(S->recorder->names, LZE_ROLE_SOURCE, source);
  record->line = (uint32_t)line;
}

/* Looking up the function instead of its source, to compare it with the last
   one, would take longer.  File names are complete, so that the files can be
   opened. */
const char *lze_record_source(lua_State *L, lua_Debug *ar) {
  if (!lua_caller(L, ar, 1)) return NULL;
  return ar->source[0] == '@' ? ar->source + 1 : ar->short_src;
}

static void record_where(lua_State *L, const lze_State *S,
                         lze_Record *record) {
  lua_Debug ar;
  const char *source = lze_record_source(L, &ar);
  if (source != NULL) lze_record_line(S, record, source, ar.currentline);
}

/* --- profiles ------------------------------------------------------------- */

static void recorder_free(lze_State *S) {
  struct lze_Recorder *r = S->recorder;
  S->recorder = NULL;
  if (r == NULL) return;
  lze_names_disown(r->names);
  free(r->ring);
  free(r);
}

bool lze_profile_start(lze_Profile *p, lze_State *S, size_t most,
                       bool pending) {
  struct lze_Recorder *r = S->recorder;
  if (r == NULL) {
    r = S->recorder = calloc(1, sizeof *r);
    if (r == NULL) return false;
    r->names = lze_names_new();
    r->first = r->oldest = S->records + 1;
  }
  if (r->names == NULL || (most > r->most && !recorder_resize(S, most))) {
    if (r->profiles == NULL) recorder_free(S);
    return false;
  }
  *p = (lze_Profile){.next = r->profiles, .state = S, .most = most,
                     .first = S->records + 1, .start_ns = lze_now_ns(),
                     .pending = pending};
  r->profiles = p;
  return true;
}

/* Returns the number of the oldest record that an active profile still has. */
static uint64_t profile_oldest(const lze_Profile *p) {
  const lze_State *S = p->state;
  uint64_t oldest = S->recorder->oldest;
  if (oldest < p->first) oldest = p->first;
  return S->records + 1 - oldest > p->most ? S->records + 1 - p->most : oldest;
}

uint64_t lze_profile_dropped(const lze_Profile *p) {
  return p->state != NULL ? profile_oldest(p) - p->first : p->dropped;
}

bool lze_profile_copy(const lze_Profile *p, lze_Profile *copy) {
  *copy = *p;
  copy->next = NULL;
  copy->state = NULL;
  const lze_State *S = p->state;
  uint64_t oldest = 0;
  if (S != NULL) {
    copy->end_ns = lze_now_ns();
    copy->bytes = S->bytes;
    copy->names = S->recorder->names;
    oldest = profile_oldest(p);
    copy->count = (size_t)(S->records + 1 - oldest);
    copy->dropped = oldest - p->first;
    copy->first = oldest;
  }
  copy->records = malloc(copy->count * sizeof *copy->records + 1);
  if (copy->records == NULL) {
    *copy = (lze_Profile){0};
    return false;
  }
  for (size_t i = 0; i < copy->count; i++)
    copy->records[i] =
        S != NULL ? *recorder_at(S->recorder, oldest + i) : p->records[i];
  lze_names_own(copy->names);
  return true;
}

static void profile_unlink(lze_Profile *p) {
  lze_State *S = p->state;
  lze_Profile **link = &S->recorder->profiles;
  while (*link != p) link = &(*link)->next;
  *link = p->next;
  p->next = NULL;
  p->state = NULL;
  if (S->recorder->profiles == NULL) recorder_free(S);
}

bool lze_profile_stop(lze_Profile *p) {
  if (p->state == NULL) return true;
  lze_Profile copy;
  bool good = lze_profile_copy(p, &copy);
  profile_unlink(p);
  if (good) *p = copy;
  return good;
}

void lze_profile_free(lze_Profile *p) {
  if (p->state != NULL) profile_unlink(p);
  free(p->records);
  p->records = NULL;
  p->count = 0;
  lze_names_disown(p->names);
  p->names = NULL;
}

/* --- power ---------------------------------------------------------------- */

static void record_device(lze_Record *record, const lze_DeviceInfo *device,
                          uint32_t name) {
  record->device = name;
  record->place = (uint32_t)device->base->index + 1;
}

/* Returns the number of a device's name, and gives the device a meter. */
static uint32_t meter_use(struct lze_Recorder *r,
                          const lze_DeviceInfo *device) {
  for (Meter *m = r->meters; m < r->meters + METERS; m++) {
    if (m->device == device) return m->name;
    if (m->device != NULL) continue;
    m->device = device;
    return m->name = lze_names_add(r->names, device->props.name);
  }
  return lze_names_add(r->names, device->props.name);
}

void lze_record_power(lua_State *L, lze_State *S) {
  struct lze_Recorder *r = S->recorder;
  uint64_t now = lze_now_ns();
  if (now - r->metered_ns < METER_NS) return;
  for (Meter *m = r->meters; m < r->meters + METERS; m++) {
    if (m->device == NULL) break;
    Meter before = *m;
    if (!lze_energy_read(L, m->device, &m->energy, &m->time)) continue;
    m->ns = now = lze_now_ns();
    if (before.ns == 0 || m->energy < before.energy || m->time <= before.time)
      continue;
    lze_Record *record = record_new(S, LZE_RECORD_POWER);
    record->queued_ns = record->start_ns = before.ns;
    record->end_ns = m->ns;
    record->watts = (double)(m->energy - before.energy) /
                    (double)(m->time - before.time);
    record->name = lze_names_add(r->names, "power");
    record_device(record, m->device, m->name);
  }
  r->metered_ns = now;
}

/* --- commands ------------------------------------------------------------- */

void lze_record_begin(lua_State *L, lze_Command *c, const char *name) {
  lze_State *S = c->state;
  lze_Record *record = record_new(S, LZE_RECORD_COMMAND);
  c->record = S->records;
  record->queued_ns = c->queued_ns;
  record->name = lze_names_number(S->recorder->names, LZE_ROLE_COMMAND, name);
  record_device(record, c->device, meter_use(S->recorder, c->device));
  record->queue = c->queue->number;
  record_where(L, S, record);
}

void lze_record_kind(const lze_Command *c, lze_RecordKind kind,
                     size_t bytes) {
  lze_Record *record = lze_record_of(c);
  if (record == NULL) return;
  record->kind = (uint8_t)kind;
  record->bytes = bytes;
}

void lze_shape_flops(lze_Shape *shape, const spirv_flops *flops,
                     uint64_t items) {
  if (flops == NULL) return;
  shape->counted = true;
  shape->more = !flops->whole;
  shape->flops[0] = items * flops->of_half;
  shape->flops[1] = items * flops->of_float;
  shape->flops[2] = items * flops->of_double;
}

/* Returns the newest recorded command that has written a storage. */
static uint64_t written_last(const lze_Storage *s) {
  return s->touched[true][0].record;
}

/* Returns true if the host can read a storage's bytes and no pending command
   writes them. */
static bool is_seen(const lze_Storage *s, bool settled) {
  return s->usage != LZE_DEVICE && settled;
}

/* Copies of up to FEW_BYTES are compared completely, larger ones in these
   pieces. */
enum { FEW_BYTES = 1 << 14, PIECES = 32, PIECE = 64 };

static uint64_t pieces_hash(const char *p, size_t bytes) {
  if (bytes <= FEW_BYTES) return lze_hash_bytes(p, bytes);
  uint64_t h = bytes;
  for (size_t i = 0; i < PIECES; i++)
    h = lze_hash_mix(
        h, lze_hash_bytes(p + (bytes - PIECE) / (PIECES - 1) * i, PIECE));
  return h;
}

/* Returns true if a copy will read the same bytes as the last copy to that
   place.  All bytes of a large copy are compared only if some are the same, so
   that copies that differ each time, as they should, cost little. */
static bool copied_same(Copied *last, const lze_Copy *copy, bool seen) {
  const lze_Storage *s = copy->from;
  const char *bytes = seen ? s->pointer + copy->from_offset : NULL;
  uint64_t some = seen ? pieces_hash(bytes, copy->bytes)
                       : lze_hash_mix(lze_hash_mix(s->serial, written_last(s)),
                             copy->from_offset);
  bool same = last->some == some;
  uint64_t all = some;
  if (seen && copy->bytes > FEW_BYTES)
    all = same ? lze_hash_bytes(bytes, copy->bytes) : 0;
  same = same && last->all == all;
  last->some = some;
  last->all = all;
  return same;
}

/* Returns true if these bytes were already copied to that place last time, and
   are certainly still there.  A read goes to a new buffer each time: for a
   read, returns true if the bytes were read before and have not changed
   since. */
static bool copied_again(const lze_Command *c, const lze_Copy *copy,
                         bool from_settled, bool to_settled, bool read) {
  const lze_Storage *s = read ? copy->from : copy->to;
  size_t first = read ? copy->from_offset : copy->to_offset;
  uint64_t place = lze_hash_mix(
      lze_hash_mix(lze_hash_mix(s->serial, first), copy->bytes), read);
  const bool seen = is_seen(copy->from, from_settled);
  Copied *last = &c->state->recorder->copies[place % COPIES];
  bool again = copied_same(last, copy, seen) && last->place == place &&
               last->written == written_last(s);
  if (again && !read && is_seen(s, to_settled))
    again = seen &&
            memcmp(s->pointer + first,
                   copy->from->pointer + copy->from_offset, copy->bytes) == 0;
  last->place = place;
  last->written = read ? written_last(s) : c->record;
  return again;
}

void lze_record_copy(const lze_Command *c, const lze_Copy *copy,
                     bool from_settled, bool to_settled) {
  lze_Record *record = lze_record_of(c);
  if (record == NULL) return;
  record->kind = LZE_RECORD_COPY;
  record->bytes = copy->bytes;
  bool read = strcmp(c->name, "read") == 0;
  record->storage = read ? copy->from->serial : copy->to->serial;
  uint64_t start_ns = lze_now_ns();
  record->again = copied_again(c, copy, from_settled, to_settled, read);
  uint64_t looked_ns = lze_now_ns() - start_ns;
  record->queued_ns += looked_ns; /* time of the recorder, not of the call */
  c->state->looked_ns += looked_ns;
}

lze_Transfer lze_record_transfer(const lze_State *S) {
  if (S->recorder == NULL) return (lze_Transfer){0};
  return (lze_Transfer){S->records, lze_now_ns(), S->looked_ns};
}

void lze_record_transferred(const lze_State *S, lze_Transfer t) {
  if (t.start_ns == 0) return;
  for (uint64_t i = t.records + 1; i <= S->records; i++) {
    lze_Record *record = record_find(S, i);
    if (record == NULL || record->kind != LZE_RECORD_COPY) continue;
    record->queued_ns = t.start_ns + S->looked_ns - t.looked_ns;
    record->call_ns = lze_now_ns() - record->queued_ns;
    return;
  }
}

/* Returns the newest entry of a list that touched these bytes, or `than` if no
   entry is newer. */
static uint64_t newest_touch(const lze_Touch list[LZE_TOUCHES],
                             const lze_Use *u, uint64_t than) {
  for (int i = 0; i < LZE_TOUCHES && list[i].record > than; i++)
    if (list[i].first < u->last && u->first < list[i].last)
      return list[i].record;
  return than;
}

/* Returns the command that this one depends on, done or not: the newest command
   that wrote a range it uses, used a range it writes, or is in its `after`
   list. */
static uint64_t depends_on(const lze_Command *c) {
  uint64_t newest = 0;
  for (uint32_t i = 0; i < c->wait_count; i++)
    if (c->waits[i]->record > newest) newest = c->waits[i]->record;
  for (uint32_t i = 0; i < c->use_count; i++) {
    const lze_Use *u = &c->uses[i];
    newest = newest_touch(u->storage->touched[true], u, newest);
    if (u->write) newest = newest_touch(u->storage->touched[false], u, newest);
  }
  return newest;
}

/* Records the range that a command has touched, at the front of the list; it
   replaces an entry that it covers, or the last one. */
static void touch(uint64_t record, const lze_Use *u) {
  lze_Touch *list = u->storage->touched[u->write];
  int i = 0;
  while (i < LZE_TOUCHES - 1 &&
         (list[i].first < u->first || u->last < list[i].last))
    i++;
  for (; i > 0; i--) list[i] = list[i - 1];
  list[0] = (lze_Touch){record, u->first, u->last};
}

void lze_record_end(const lze_Command *c) {
  lze_Record *record = lze_record_of(c);
  if (record != NULL) {
    record->after = depends_on(c);
    record->call_ns = lze_now_ns() - record->queued_ns;
  }
  for (uint32_t i = 0; i < c->use_count; i++) touch(c->record, &c->uses[i]);
}

void lze_record_submitted(const lze_Command *c, uint64_t ns) {
  lze_Record *record = lze_record_of(c);
  if (record != NULL) record->submitted_ns = ns;
}

void lze_record_abort(const lze_Command *c) {
  lze_Record *record = lze_record_of(c);
  if (record != NULL) record->kind = LZE_RECORD_NONE;
}

void lze_record_over(lze_Command *c) {
  lze_Record *record = lze_record_of(c);
  if (record != NULL) {
    record->start_ns = c->start_ns;
    record->end_ns = c->end_ns;
    record->failed = c->status == LZE_FAILED;
  }
  if (c->tasks != NULL) c->state->hosted->over(c);
}

lze_Record *lze_record_task(const lze_Command *c, const char *name,
                            const lze_DeviceInfo *device, const char *why,
                            uint64_t *number) {
  lze_State *S = c->state;
  if (lze_record_of(c) == NULL) return NULL;
  lze_Record *record = record_new(S, LZE_RECORD_NONE);
  const lze_Record *run = lze_record_of(c);
  if (run == NULL) return NULL; /* the new record has replaced it */
  lze_Names *names = S->recorder->names;
  record->queued_ns = run->queued_ns;
  record->source = run->source;
  record->line = run->line;
  record->queue = run->queue;
  record->parent = c->record;
  record->name = lze_names_add(names, name);
  record_device(record, device,
                lze_names_number(names, LZE_ROLE_DEVICE, device->props.name));
  if (why != NULL)
    record->shape.why = lze_names_number(names, LZE_ROLE_WHY, why);
  *number = S->records;
  return record;
}

void lze_record_timed(const lze_State *S, uint64_t number, uint64_t start_ns,
                      uint64_t end_ns) {
  lze_Record *record = record_find(S, number);
  if (record == NULL) return;
  record->kind = LZE_RECORD_TASK;
  record->start_ns = start_ns;
  record->end_ns = end_ns;
}

void lze_record_untimed(lze_State *S, uint64_t run, const char *why) {
  lze_Record *record = record_find(S, run);
  if (record != NULL) record->untimed = lze_names_add(S->recorder->names, why);
}

/* --- the host ------------------------------------------------------------- */

lze_Record *lze_record_host(lua_State *L, lze_State *S, lze_RecordKind kind,
                            const char *name, uint64_t start_ns,
                            size_t bytes) {
  lze_Record *record = record_new(S, kind);
  record->end_ns = lze_now_ns();
  if (start_ns == 0) start_ns = record->end_ns;
  record->queued_ns = record->start_ns = start_ns;
  record->bytes = bytes;
  record->name = lze_names_add_most(S->recorder->names, name,
                                kind == LZE_RECORD_MARK ? LZE_MOST_MARKS
                                                        : LZE_MOST_NAMES);
  if (L != NULL) record_where(L, S, record);
  return record;
}

uint64_t lze_record_work(lua_State *L, lze_State *S, const char *name) {
  lze_Record *record = record_new(S, LZE_RECORD_MESSAGE);
  record->queued_ns = lze_now_ns();
  record->name = lze_names_add(S->recorder->names, name);
  record_where(L, S, record);
  return S->records;
}

void lze_record_work_over(lze_State *S, uint64_t number, const char *name,
                          uint64_t start_ns, size_t bytes, bool failed) {
  lze_Record *record = record_find(S, number);
  if (record == NULL) return;
  record->end_ns = lze_now_ns();
  record->start_ns = start_ns != 0 ? start_ns : record->end_ns;
  record->bytes = bytes;
  record->failed = failed;
  record->name = lze_names_add(S->recorder->names, name);
}

void lze_record_memory(lua_State *L, lze_Storage *s, uint64_t start_ns) {
  static const char *const names[] = {"shared", "device", "host"};
  lze_State *S = s->o.context->state;
  lze_Record *record =
      record_new(S, L != NULL ? LZE_RECORD_ALLOC : LZE_RECORD_FREE);
  record->end_ns = lze_now_ns();
  record->queued_ns = record->start_ns = start_ns != 0 ? start_ns
                                                       : record->end_ns;
  record->bytes = s->bytes;
  record->storage = s->serial;
  record->name = lze_names_add(S->recorder->names, names[s->usage]);
  record_device(record, s->device,
                lze_names_add(S->recorder->names, s->device->props.name));
  record->collected = L == NULL && !s->o.closed;
  if (L == NULL) return;
  s->record = S->records;
  record_where(L, S, record);
}

/* Returns the record of a storage's allocation, or NULL. */
static lze_Record *record_of_memory(const lze_Storage *s) {
  return record_find(s->o.context->state, s->record);
}

void lze_record_zeroed(const lze_Storage *s) {
  lze_Record *record = record_of_memory(s);
  if (record != NULL) record->end_ns = lze_now_ns();
}

void lze_record_use(const lze_Storage *s, const char *name) {
  lze_Record *record = record_of_memory(s);
  if (record == NULL) return;
  record->name = lze_names_add(s->o.context->state->recorder->names, name);
}
