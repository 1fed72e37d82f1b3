/*
 * lze_profile.c - the profiles and marks of a script.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_show.h"
#include "base/lze_state.h"
#include "device/lze_limits.h"
#include "device/lze_loader.h"
#include "launch/lze_launch.h"
#include "memory/lze_file.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"

#include "lua_where.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The default number of records that a profile keeps. */
#define MOST_RECORDS ((size_t)1 << 17)

typedef struct ProfileBox {
  lze_Box box;
  bool open;
  lze_Profile profile;
} ProfileBox;

static ProfileBox *profile_check(lua_State *L) {
  ProfileBox *b = lze_check_box(L, 1, lze_profile_kind);
  if (!b->open) lze_closed(L, 1, lze_profile_kind);
  return b;
}

/* --- events --------------------------------------------------------------- */

static const char *const kind_names[] = {
    [LZE_RECORD_KERNEL] = "kernel", [LZE_RECORD_COPY] = "copy",
    [LZE_RECORD_FILL] = "fill",     [LZE_RECORD_GRAPH] = "graph",
    [LZE_RECORD_TASK] = "task",     [LZE_RECORD_COMMAND] = "command",
    [LZE_RECORD_WAIT] = "wait",     [LZE_RECORD_BUILD] = "build",
    [LZE_RECORD_ALLOC] = "alloc",   [LZE_RECORD_FREE] = "free",
    [LZE_RECORD_MARK] = "mark",     [LZE_RECORD_MESSAGE] = "message",
    [LZE_RECORD_POWER] = "power",   [LZE_RECORD_COLLECTION] = "collection"};

static void set_integer(lua_State *L, const char *key, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, key);
}

static void set_string(lua_State *L, const char *key, const char *value) {
  if (value == NULL) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void set_true(lua_State *L, const char *key, bool value) {
  if (!value) return;
  lua_pushboolean(L, true);
  lua_setfield(L, -2, key);
}

/* Set the size of a range or a group, if it is known. */
static void set_size(lua_State *L, const char *key, uint32_t dims,
                     const uint64_t size[3]) {
  if (dims == 0 || size[0] == 0) return;
  lua_createtable(L, (int)dims, 0);
  for (uint32_t i = 0; i < dims; i++) {
    lua_pushinteger(L, (lua_Integer)size[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

/* Returns the name of an event: a kernel's command is "kernel saxpy", but the
   kind of the event already includes "kernel". */
static const char *event_name(const lze_Names *names, const lze_Record *r) {
  static const char prefix[] = "kernel ";
  const char *name = lze_name(names, r->name);
  bool known = r->kind == LZE_RECORD_KERNEL &&
               strncmp(name, prefix, sizeof prefix - 1) == 0;
  return known ? name + sizeof prefix - 1 : name;
}

/* Push an event; `after` and `parent` are the places among the events of the
   one that it waits for and of the run that it is a part of, or 0. */
static void push_event(lua_State *L, const lze_Names *names,
                       const lze_DeviceNumber *numbers, const lze_Record *r,
                       uint32_t after, uint32_t parent) {
  const lze_Shape *shape = &r->shape;
  lua_createtable(L, 0, 12);
  set_string(L, "kind", kind_names[r->kind]);
  set_string(L, "name", event_name(names, r));
  set_string(L, "device", lze_name(names, r->device));
  if (r->place != 0) {
    const lze_DeviceNumber *n = &numbers[r->place - 1];
    if (n->number != 0) set_integer(L, "device_number", n->number);
    if (n->tile != 0) set_integer(L, "tile", n->tile);
  }
  set_string(L, "why", lze_name(names, shape->why));
  set_string(L, "untimed", lze_name(names, r->untimed));
  lze_given_push(L, names, r);
  lua_setfield(L, -2, "arguments");
  if (r->line != 0) {
    lua_pushfstring(L, "%s:%d", lze_name(names, r->source), (int)r->line);
    lua_setfield(L, -2, "where");
  }
  set_integer(L, "queued_ns", r->queued_ns);
  if (r->submitted_ns != 0) set_integer(L, "submitted_ns", r->submitted_ns);
  if (r->end_ns != 0) {
    set_integer(L, "start_ns", r->start_ns);
    set_integer(L, "end_ns", r->end_ns);
  }
  if (r->queue != 0) set_integer(L, "queue", r->queue);
  if (r->queue != 0 && parent == 0) set_integer(L, "call_ns", r->call_ns);
  if (after != 0) set_integer(L, "after", after);
  if (parent != 0) set_integer(L, "parent", parent);
  if (r->bytes != 0) set_integer(L, "bytes", r->bytes);
  if (shape->counted) set_integer(L, "float_flops", shape->flops[1]);
  if (shape->flops[0] != 0) set_integer(L, "half_flops", shape->flops[0]);
  if (shape->flops[2] != 0) set_integer(L, "double_flops", shape->flops[2]);
  set_true(L, "more_flops", shape->more);
  if (r->storage != 0) set_integer(L, "storage", r->storage);
  if (r->kind == LZE_RECORD_POWER) {
    lua_pushnumber(L, r->watts);
    lua_setfield(L, -2, "watts");
  }
  set_size(L, "global", shape->dims, shape->global);
  set_size(L, "group", shape->dims,
           (uint64_t[]){shape->group[0], shape->group[1], shape->group[2]});
  set_true(L, "failed", r->failed);
  set_true(L, "again", r->again);
  set_true(L, "collected", r->collected);
}

/* Returns the place of the event of a record if it is one of the first
   `before`, else 0. */
static uint32_t place_of(const lze_Profile *p, const uint32_t *places,
                         size_t before, uint64_t number) {
  uint64_t i = number - p->first;
  return number >= p->first && i < before ? places[i] : 0;
}

/* [-0, +1] Push an array of events in the order of the records. */
static void push_events(lua_State *L, const lze_Profile *p) {
  luaL_checkstack(L, 6, NULL);
  const lze_DeviceNumber *numbers = NULL;
  for (size_t i = 0; i < p->count && numbers == NULL; i++)
    if (p->records[i].place != 0) numbers = lze_number_devices(L);
  if (numbers == NULL) lua_pushnil(L);
  uint32_t *places = lua_newuserdatauv(L, p->count * sizeof *places + 1, 0);
  lua_createtable(L, p->count < 1 << 26 ? (int)p->count : 0, 0);
  uint32_t n = 0;
  for (size_t i = 0; i < p->count; i++) {
    const lze_Record *r = &p->records[i];
    places[i] = 0;
    if (r->kind == LZE_RECORD_NONE) continue;
    uint32_t parent = place_of(p, places, i, r->parent);
    /* Tasks are shown as parts of a run only. */
    if (r->parent != 0 && parent == 0) continue;
    push_event(L, p->names, numbers, r, place_of(p, places, i, r->after),
               parent);
    places[i] = ++n;
    lua_rawseti(L, -2, n);
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Called guarded, with a profile's box: pushes the events recorded so far. */
static int events_copy(lua_State *L) {
  const ProfileBox *b = lua_touserdata(L, 1);
  ProfileBox *copy = lze_push_box(L, lze_profile_kind, sizeof *copy);
  lze_check_memory(L, lze_profile_copy(&b->profile, &copy->profile));
  push_events(L, &copy->profile);
  lze_profile_free(&copy->profile);
  return 1;
}

/* Tables of a stopped profile's events: the script's, which it may change, and
   a private one. */
enum { EVENTS_GIVEN = 1, EVENTS_OWN };

/* [-0, +1] Push one of these tables of the profile at 1; a new one as long as
   it records. */
static void push_events_of(lua_State *L, int which) {
  const ProfileBox *b = profile_check(L);
  if (lua_getiuservalue(L, 1, which) == LUA_TTABLE) return;
  lua_pop(L, 1);
  bool stopped = b->profile.state == NULL;
  lua_pushcfunction(L, events_copy);
  lua_pushvalue(L, 1);
  lze_call_guarded(L, 1, 1);
  if (!stopped) return;
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, which);
}

/* p.events: the same table each time once it is stopped. */
static int field_events(lua_State *L) {
  push_events_of(L, EVENTS_GIVEN);
  return 1;
}

static int field_start_ns(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)profile_check(L)->profile.start_ns);
  return 1;
}

static int field_end_ns(lua_State *L) {
  const lze_Profile *p = &profile_check(L)->profile;
  lua_pushinteger(L, (lua_Integer)(p->state != NULL ? lze_now_ns()
                                                    : p->end_ns));
  return 1;
}

static int field_recording(lua_State *L) {
  lua_pushboolean(L, profile_check(L)->profile.state != NULL);
  return 1;
}

static int field_dropped(lua_State *L) {
  lua_pushinteger(L,
                  (lua_Integer)lze_profile_dropped(&profile_check(L)->profile));
  return 1;
}

/* --- reports
   --------------------------------------------------------------- */

static const unsigned char profile_text[] = {
#include "lua/profile.h"
};

/* files() -> functions on files */
static int profile_files(lua_State *L) {
  lze_push_file_functions(L);
  return 1;
}

static const unsigned char timeline_text[] = {
#include "lua/timeline.h"
};

/* page() -> the text of lua/timeline.lua */
static int profile_page(lua_State *L) {
  static const lze_Script timeline = {"lze timeline.lua", timeline_text,
                                      sizeof timeline_text, NULL};
  lua_pushnil(L);
  lze_script_part(L, &timeline);
  return 1;
}

/* source(path, line) -> that line of a file, or nil */
static int profile_source(lua_State *L) {
  char text[400];
  struct stat about;
  lua_Integer line = luaL_checkinteger(L, 2), at = 1;
  const char *path = luaL_checkstring(L, 1);
  /* A terminal, for example, is not read again. */
  bool good = stat(path, &about) == 0 && S_ISREG(about.st_mode);
  FILE *file = good ? fopen(path, "re") : NULL;
  if (file == NULL) return 0;
  bool found = false;
  while (!found && fgets(text, sizeof text, file) != NULL) {
    found = at == line;
    if (strchr(text, '\n') != NULL) at++;
  }
  fclose(file);
  if (!found) return 0;
  lua_pushlstring(L, text, strcspn(text, "\r\n"));
  return 1;
}

/* limits(name) -> {copy, float, double} of a device, or nil */
static int profile_limits(lua_State *L) {
  lze_push_limits(L, luaL_checkstring(L, 1));
  return 1;
}

static const lze_Method primitives[] = {
    {"files", profile_files, LZE_UNGUARDED},
    {"limits", profile_limits, LZE_UNGUARDED},
    {"source", profile_source, LZE_UNGUARDED},
    {"page", profile_page, LZE_UNGUARDED},
    {"json", lze_push_json, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Script script = {"lze profile.lua", profile_text,
                                  sizeof profile_text, primitives};

/* Returns the offset of the profiles' clock from 1970; with it, profiles of
   several machines are aligned. */
static uint64_t epoch_of_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
         lze_now_ns();
}

/* The rank of this process under MPI, or NULL. */
static const char *process_rank(void) {
  static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                      "PMI_RANK"};
  for (size_t i = 0; i < 3; i++)
    if (getenv(ranks[i]) != NULL) return getenv(ranks[i]);
  return NULL;
}

/* Set fields of the table at the top: the process, and the boot of the machine,
   within which all processes share a clock. */
static void push_process(lua_State *L) {
  char boot[64] = "";
  const char *rank = process_rank();
  if (rank != NULL) lua_pushfstring(L, "rank %s", rank);
  else lua_pushfstring(L, "process %d", (int)getpid());
  lua_setfield(L, -2, "process");
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file != NULL) {
    if (fgets(boot, sizeof boot, file) == NULL) boot[0] = '\0';
    fclose(file);
  }
  boot[strcspn(boot, "\n")] = '\0';
  set_string(L, "boot", boot);
}

/* [-0, +1] Push the fields that describe a profile as a whole. */
static void push_about(lua_State *L, const lze_Profile *p) {
  lua_createtable(L, 0, 10);
  push_process(L);
  set_integer(L, "epoch_ns", p->start_ns + epoch_of_clock());
  set_integer(L, "start_ns", p->start_ns);
  set_integer(L, "end_ns", p->state != NULL ? lze_now_ns() : p->end_ns);
  set_integer(L, "dropped", lze_profile_dropped(p));
  set_integer(L, "bytes", p->state != NULL ? p->state->bytes : p->bytes);
  set_true(L, "recording", p->state != NULL);
  set_true(L, "pending", p->pending);
}

/* [-0, +2] Push the same for the profile at 1, after its events, even if Lua
   code runs in between. */
static void push_all(lua_State *L) {
  push_events_of(L, EVENTS_OWN);
  push_about(L, &profile_check(L)->profile);
}

static int profile_tostring(lua_State *L) {
  const ProfileBox *b = lze_check_box(L, 1, lze_profile_kind);
  lua_settop(L, 1);
  if (b->open) {
    push_all(L);
    lze_script_call(L, &script, "text", 2, 1);
  } else {
    lua_pushliteral(L, "profile (closed)");
  }
  return 1;
}

/* p.findings -> array of {rule, where, share, text}, the worst first */
static int field_findings(lua_State *L) {
  profile_check(L);
  lua_settop(L, 1);
  push_all(L);
  lze_script_call(L, &script, "findings", 2, 1);
  lze_show_table(L);
  return 1;
}

/* p:save(path) -> p; the extension selects the format. */
static int profile_save(lua_State *L) {
  profile_check(L);
  if (lua_type(L, 2) != LUA_TSTRING)
    lze_argerror(L, 2, lua_pushfstring(L, "path: string expected, got %s",
                                       lze_describe(L, 2)));
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  push_all(L);
  lze_script_call(L, &script, "save", 3, 0);
  lua_settop(L, 1);
  return 1;
}

/* p:display(): shows the page in a notebook; else prints the text. */
static int profile_display(lua_State *L) {
  profile_check(L);
  lua_settop(L, 1);
  push_all(L);
  lze_script_call(L, &script, "frame", 2, 1);
  lze_display(L);
  return 0;
}

/* --- start and end
   --------------------------------------------------------- */

/* p:stop() -> p, after a wait for everything, as in lze.wait. */
static int profile_stop(lua_State *L) {
  ProfileBox *b = profile_check(L);
  if (b->profile.state != NULL) lze_state_drain(L, UINT64_MAX);
  b = profile_check(L); /* a hook may have closed it */
  lze_check_memory(L, lze_profile_stop(&b->profile));
  lua_settop(L, 1);
  return 1;
}

static int profile_close(lua_State *L) {
  ProfileBox *b = lze_check_box(L, 1, lze_profile_kind);
  b->open = false;
  lze_profile_free(&b->profile);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, EVENTS_GIVEN);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, EVENTS_OWN);
  return 0;
}

/* The end of a scope in which a function of the script runs. */
typedef struct Scope {
  uint64_t start_ns;            /* of a mark, whose name is user value 1 */
  int line;                     /* the source of the line is user value 2 */
} Scope;

static const char scope_key;

/* Scopes end with the function, also by an error, which is the second
   argument. */
static int scope_close(lua_State *L) {
  const Scope *s = lua_touserdata(L, 1);
  lze_State *S = lze_state(L);
  bool raised = !lua_isnoneornil(L, 2);
  lua_getiuservalue(L, 1, 1);
  if (lua_type(L, -1) == LUA_TSTRING) {
    if (S->recorder == NULL) return 0;
    lze_Record *r = lze_record_host(NULL, S, LZE_RECORD_MARK,
                                    lua_tostring(L, -1), s->start_ns, 0);
    if (lua_getiuservalue(L, 1, 2) == LUA_TSTRING)
      lze_record_line(S, r, lua_tostring(L, -1), s->line);
  } else if (raised) {
    lua_replace(L, 1);
    profile_close(L);
  }
  return 0;
}

/* [-1, +1] Replace the value at the top, a mark's name or a profile, by a
   scope, which the caller stores in a to-be-closed slot.  The line is stored
   now: after an error it is not available any more. */
static void push_scope(lua_State *L) {
  lua_Debug ar;
  Scope *s = lua_newuserdatauv(L, sizeof *s, 2);
  s->start_ns = lze_now_ns();
  const char *source = lze_record_source(L, &ar);
  if (source != NULL) {
    s->line = ar.currentline;
    lua_pushstring(L, source);
    lua_setiuservalue(L, -2, 2);
  }
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_key);
  lua_setmetatable(L, -2);
}

/* Raise unless the value at `index` can be called. */
static void check_function(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return;
  if (luaL_getmetafield(L, index, "__call") != LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lze_argerror(L, index, lua_pushfstring(L, "function expected, got %s",
                                         lze_describe(L, index)));
}

/* Stack: the profile, its scope, results. */
static int profile_called(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  lua_pushcfunction(L, profile_stop);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
  lua_pushvalue(L, 1);
  lua_insert(L, 3);
  return lua_gettop(L) - 2;
}

static ProfileBox *profile_new(lua_State *L, size_t most) {
  ProfileBox *b = lze_push_box_with(L, lze_profile_kind, sizeof *b, 2);
  lze_State *S = lze_state(L);
  lze_reap(S);
  bool pending = lze_count_in_flight(S) > 0;
  lze_check_memory(L, lze_profile_start(&b->profile, S, most, pending));
  b->open = true;
  return b;
}

/* lze.profile([options]) -> profile, which records from now on
   lze.profile([options,] f, ...) -> profile, results of f: records that call,
   and all work that it has enqueued.
   options: events (the largest number kept; the newest are kept). */
static int core_profile(lua_State *L) {
  static const char *const keys[] = {"events", NULL};
  lua_Integer most = (lua_Integer)MOST_RECORDS;
  if (lua_istable(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL) {
    lze_check_keys(L, 1, "lze.profile's options", keys);
    most = lze_opt_integer(L, 1, "events", 1, 1 << 24,
                           "an integer from 1 to 16777216", most);
    if (lua_gettop(L) > 1) check_function(L, 2);
    lua_remove(L, 1);
  } else if (!lua_isnone(L, 1)) {
    check_function(L, 1);
  }
  profile_new(L, (size_t)most);
  if (lua_gettop(L) == 1) return 1;
  lua_insert(L, 1);
  lua_pushvalue(L, 1);
  push_scope(L);
  lua_insert(L, 2);
  lua_toclose(L, 2);
  lua_callk(L, lua_gettop(L) - 3, LUA_MULTRET, 0, profile_called);
  return profile_called(L, LUA_OK, 0);
}

static int mark_called(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  return lua_gettop(L) - 1;
}

/* lze.mark(name): marks a point in time of the host in active profiles
   lze.mark(name, f, ...) -> results of f: marks a time range */
static int core_mark(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "name: string expected, got %s",
                                       lze_describe(L, 1)));
  if (strlen(lua_tostring(L, 1)) != lua_rawlen(L, 1))
    lze_argerror(L, 1, "name: it contains a zero byte");
  lze_State *S = lze_state(L);
  if (lua_gettop(L) == 1) {
    if (S->recorder != NULL)
      lze_record_host(L, S, LZE_RECORD_MARK, lua_tostring(L, 1), 0, 0);
    return 0;
  }
  check_function(L, 2);
  if (S->recorder != NULL) {
    lua_pushvalue(L, 1);
    push_scope(L);
    lua_replace(L, 1);
    lua_toclose(L, 1);
  }
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, mark_called);
  return mark_called(L, LUA_OK, 0);
}

/* --- LZE_PROFILE ---------------------------------------------------------- */

/* The profile of a whole program, and its destination at the end. */
struct lze_Ending {
  lze_Profile profile;
  FILE *file;                   /* stderr, a device or a pipe; else NULL */
  char *path;                   /* of the file made at the end; else NULL */
  char format[8];
  pid_t process;                /* a forked process leaves the file alone */
  pthread_t thread;
  struct lze_Ending *next;      /* in the list of the process */
};

static pthread_mutex_t ending_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lze_Ending *endings;

static unsigned ending_count;

/* In a separate Lua state: returns the file's text for the ending at 1.  The
   program's state may be in the middle of any operation, and is not used. */
static int ending_text(lua_State *L) {
  const struct lze_Ending *e = lua_touserdata(L, 1);
  lua_newtable(L);
  lua_pushcfunction(L, lze_push_json);
  lua_setfield(L, -2, "json");
  lua_pushcfunction(L, profile_page);
  lua_setfield(L, -2, "page");
  lua_pushcfunction(L, profile_source);
  lua_setfield(L, -2, "source");
  lua_pushcfunction(L, profile_limits);
  lua_setfield(L, -2, "limits");
  lze_script_part(L, &script);
  lua_getfield(L, -1, "write");
  lua_pushstring(L, e->format);
  push_events(L, &e->profile);
  push_about(L, &e->profile);
  set_true(L, "program", true);
  lua_call(L, 3, 1);
  return 1;
}

/* Report on stderr: the program has ended, and the user has asked for the
   file. */
static void ending_complain(const char *reason) {
  fprintf(stderr, "lze: LZE_PROFILE: the profile is not written: %s\n",
          reason);
}

/* Create a file whose descriptor is not that of a closed standard stream: the
   program's output there must not go to this file.  NULL if it cannot be
   created. */
static FILE *ending_create(const char *path) {
  FILE *file = fopen(path, "wbe");
  if (file == NULL || fileno(file) > STDERR_FILENO) return file;
  int apart = fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  fclose(file);
  file = apart >= 0 ? fdopen(apart, "wb") : NULL;
  if (file == NULL && apart >= 0) close(apart);
  return file;
}

/* Write the profile's text to its file; errno is the reason if it fails. */
static bool ending_put(const struct lze_Ending *e, const char *text,
                       size_t size) {
  FILE *file = e->path != NULL ? ending_create(e->path) : e->file;
  if (file == NULL) return false;
  bool done = fwrite(text, 1, size, file) == size && fflush(file) == 0;
  int error = errno;
  if (e->path != NULL) fclose(file);
  if (e->path != NULL && !done) unlink(e->path);
  errno = error;
  return done;
}

static void ending_write(struct lze_Ending *e) {
  static const char no_memory[] = LZE_NO_MEMORY_TEXT;
  lua_State *L = lze_profile_stop(&e->profile) ? luaL_newstate() : NULL;
  if (L == NULL) {
    ending_complain(no_memory);
    return;
  }
  size_t size;
  lua_pushcfunction(L, ending_text);
  lua_pushlightuserdata(L, e);
  int status = lua_pcall(L, 1, 1, 0);
  const char *text = lua_tolstring(L, -1, &size);
  if (status != LUA_OK)
    ending_complain(text != NULL ? text : no_memory);
  else if (!ending_put(e, text, size))
    ending_complain(strerror(errno));
  lua_close(L);
}

static void ending_free(struct lze_Ending *e) {
  if (e->file != NULL && e->file != stderr) fclose(e->file);
  lze_profile_free(&e->profile);
  free(e->path);
  free(e);
}

/* Write the file if this process must, and free the ending. */
static void ending_finish(struct lze_Ending *e) {
  if (e->process == getpid()) ending_write(e);
  ending_free(e);
}

/* Remove from the list: `which`, or any ending of this thread if that is
   NULL. */
static struct lze_Ending *ending_take(const struct lze_Ending *which) {
  pthread_mutex_lock(&ending_lock);
  struct lze_Ending **link = &endings;
  while (*link != NULL &&
         !(which != NULL ? *link == which
                         : pthread_equal((*link)->thread, pthread_self())))
    link = &(*link)->next;
  struct lze_Ending *e = *link;
  if (e != NULL) *link = e->next;
  pthread_mutex_unlock(&ending_lock);
  return e;
}

/* The program ends with states that nothing has closed, as in os.exit: the
   states of this thread are not in the middle of recording. */
static void endings_finish(void) {
  struct lze_Ending *e;
  while ((e = ending_take(NULL)) != NULL) {
    if (e->profile.state != NULL) e->profile.state->ending = NULL;
    ending_finish(e);
  }
}

static void endings_register(void) { atexit(endings_finish); }

void lze_profile_end(lze_State *S) {
  struct lze_Ending *e = S->ending != NULL ? ending_take(S->ending) : NULL;
  S->ending = NULL;
  if (e != NULL) ending_finish(e);
}

/* Push the file's name: %p is the process id; the rank under MPI is inserted
   before the extension, and so is the number of a further state of the
   process. */
static const char *push_path(lua_State *L, const char *name,
                             const char *ending, unsigned number) {
  char process[24];
  snprintf(process, sizeof process, "%ld", (long)getpid());
  const char *rank = process_rank();
  lua_pushlstring(L, name, (size_t)(ending - name));
  if (rank != NULL) lua_pushfstring(L, ".%s", rank);
  else lua_pushliteral(L, "");
  if (number > 1) lua_pushfstring(L, ".%d", (int)number);
  else lua_pushliteral(L, "");
  lua_pushstring(L, ending);
  lua_concat(L, 4);
  return luaL_gsub(L, lua_tostring(L, -1), "%p", process);
}

/* Try to create the file.  It is removed, and created again when it is written,
   so that a killed program leaves no file, not even an older one; a device or a
   pipe stays open.  If it fails, errno is the reason. */
static bool ending_begin(struct lze_Ending *e, const char *path) {
  struct stat about;
  e->file = ending_create(path);
  if (e->file == NULL) return false;
  if (fstat(fileno(e->file), &about) != 0 || !S_ISREG(about.st_mode))
    return true;
  e->path = realpath(path, NULL);
  if (e->path == NULL) return true;
  unlink(e->path);
  fclose(e->file);
  e->file = NULL;
  return true;
}

/* [-0, +0] Begin to record the whole program if LZE_PROFILE is set. */
static void ending_open(lua_State *L, lze_State *S) {
  static const char *const formats[] = {"csv", "html", "json", "txt"};
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const char *name = getenv("LZE_PROFILE");
  if (name == NULL || *name == '\0') return;
  const char *begun = getenv("LZE_PROFILE_BEGUN");
  if (begun != NULL) unlink(begun); /* problems from here on are reported
                                       here */
  bool shown = strcmp(name, "-") == 0;
  const char *ending = strrchr(name, '.'), *format = NULL;
  for (size_t i = 0; i < 4 && ending != NULL; i++)
    if (strcmp(ending + 1, formats[i]) == 0) format = formats[i];
  if (shown) format = "txt";
  if (format == NULL) {
    lua_where(L);
    luaL_error(L, "%sLZE_PROFILE=%s: -, or a name that ends in .csv, .html, "
                  ".json or .txt expected", lua_tostring(L, -1), name);
  }
  int top = lua_gettop(L);
  pthread_once(&once, endings_register);
  pthread_mutex_lock(&ending_lock);
  unsigned number = ++ending_count;
  pthread_mutex_unlock(&ending_lock);
  const char *path = shown ? NULL : push_path(L, name, ending, number);
  struct lze_Ending *e = calloc(1, sizeof *e);
  if (e == NULL) lze_no_memory(L);
  if (shown) {
    e->file = stderr;
  } else if (!ending_begin(e, path)) {
    int error = errno;
    free(e);
    luaL_error(L, "LZE_PROFILE=%s: %s: %s", name, path, strerror(error));
  }
  if (!lze_profile_start(&e->profile, S, MOST_RECORDS, false)) {
    ending_free(e);
    lze_no_memory(L);
  }
  strcpy(e->format, format);
  e->process = getpid();
  e->thread = pthread_self();
  pthread_mutex_lock(&ending_lock);
  e->next = endings;
  endings = e;
  pthread_mutex_unlock(&ending_lock);
  S->ending = e;
  lua_settop(L, top);
}

static const lze_Method methods[] = {
    {"stop", profile_stop, LZE_UNGUARDED},
    {"save", profile_save, LZE_GUARDED},
    {"display", profile_display, LZE_UNGUARDED},
    {"close", profile_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method metamethods[] = {
    {"__gc", profile_close, LZE_UNGUARDED},
    {"__close", profile_close, LZE_UNGUARDED},
    {"__tostring", profile_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field fields[] = {{"events", field_events},
                                   {"findings", field_findings},
                                   {"start_ns", field_start_ns},
                                   {"end_ns", field_end_ns},
                                   {"dropped", field_dropped},
                                   {"recording", field_recording},
                                   {NULL, NULL}};

static const lze_Method functions[] = {{"profile", core_profile, LZE_UNGUARDED},
                                       {"mark", core_mark, LZE_UNGUARDED},
                                       {NULL, NULL, LZE_UNGUARDED}};

void lze_open_profile(lua_State *L) {
  lze_set_methods(L, functions, 0);
  lze_new_kind(L, lze_profile_kind, metamethods, methods, fields);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, scope_close);
  lua_setfield(L, -2, "__close");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scope_key);
  ending_open(L, lze_state(L));
}
