/*
 * zocl_commands.c - recorded commands of a closed list or of a graph.
 * SPDX-License-Identifier: MIT
 *
 * Each is stored with all that it points to in one block of memory.
 */
#include "base/zocl_exit.h"
#include "base/zocl_hook.h"
#include "run/zocl_feeder.h"
#include "run/zocl_list.h"

#include <stdlib.h>
#include <string.h>

struct zocl_commands {
  atomic_uint refs;
  uint32_t count;
  bool counted;          /* a command has the signal of a counter-based event;
                            each submission changes what that signal stands for,
                            so the call that executes the list must submit it
                            itself */
  zocl_recorded *first, **last;
  uint64_t id_count;
  zocl_recorded **ids;   /* indexed by identifier - 1; NULL if not appended
                            yet */
};

zocl_commands *zocl_commands_new(void)
{
  zocl_commands *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  atomic_init(&made->refs, 1);
  made->last = &made->first;
  return made;
}

void zocl_commands_ref(zocl_commands *commands)
{
  atomic_fetch_add_explicit(&commands->refs, 1, memory_order_relaxed);
}

void zocl_commands_unref(zocl_commands *commands)
{
  if (commands == NULL ||
      atomic_fetch_sub_explicit(&commands->refs, 1, memory_order_acq_rel) != 1)
    return;
  for (zocl_recorded *r = commands->first, *next; r != NULL; r = next) {
    next = r->next;
    for (uint32_t i = 0; i < r->wait_room; i++)
      zocl_signal_unref(r->waits[i]);
    zocl_signal_unref(r->command.signal);
    zocl_signal_unref(r->command.reset);
    if (r->command.drop != NULL) r->command.drop(r->command.args);
    for (uint32_t i = 0; i < r->image_room; i++)
      zocl_ext.image_unref(r->images[i]);
    free(r);
  }
  free(commands->ids);
  free(commands);
}

uint32_t zocl_commands_count(const zocl_commands *commands)
{
  return commands->count;
}

void zocl_commands_use(zocl_commands *commands, const zocl_signal *signal)
{
  commands->counted |= zocl_signal_counted(signal);
}

uint64_t zocl_commands_id(zocl_commands *commands)
{
  zocl_recorded **ids = realloc(commands->ids, (commands->id_count + 1) *
                                                   sizeof *commands->ids);
  if (ids == NULL) return 0;
  commands->ids = ids;
  ids[commands->id_count++] = NULL;
  return commands->id_count;
}

zocl_recorded *zocl_commands_find(const zocl_commands *commands, uint64_t id)
{
  return id > 0 && id <= commands->id_count ? commands->ids[id - 1] : NULL;
}

static size_t values_room(const zocl_launch *launch, const zocl_next *next)
{
  size_t values = launch != NULL ? launch->kernel->values_size : 0;
  return launch != NULL && values < next->values_room ? next->values_room
                                                      : values;
}

ze_result_t zocl_commands_record(zocl_commands *commands,
                                 const zocl_command *command,
                                 const zocl_next *next)
{
  const zocl_launch *launch = command->launch;
  const uint32_t waits = command->wait_count;
  const uint32_t wait_room = waits > next->wait_room ? waits : next->wait_room;
  size_t room = values_room(launch, next);
  /* An upper limit for the images of a kernel that replaces this one. */
  uint32_t images = command->image_count;
  if (next->id != 0 && images < room / 16) images = (uint32_t)(room / 16);
  size_t waits_at = zocl_round_up(sizeof(zocl_recorded));
  size_t images_at =
      waits_at + zocl_round_up(wait_room * sizeof(zocl_signal *));
  size_t args_at = images_at + zocl_round_up(images * sizeof(zocl_image *));
  size_t values_at = args_at + zocl_round_up(command->args_size);
  zocl_recorded *r = malloc(values_at + room);
  if (r == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  *r = (zocl_recorded){.command = *command,
                       .waits = (zocl_signal **)((char *)r + waits_at),
                       .wait_room = wait_room,
                       .images = (zocl_image **)((char *)r + images_at),
                       .image_room = images,
                       .values_at = values_at,
                       .values_room = room,
                       .id = next->id,
                       .mutable_flags = next->flags};
  for (uint32_t i = 0; i < wait_room; i++)
    r->waits[i] = i < waits ? command->waits[i] : NULL;
  r->command.waits = r->waits;
  r->command.images = r->images;
  r->command.image_count = images;
  for (uint32_t i = 0; i < images; i++) {
    r->images[i] = i < command->image_count ? command->images[i] : NULL;
    zocl_ext.image_ref(r->images[i]);
  }
  if (command->args_size > 0)
    r->command.args =
        memcpy((char *)r + args_at, command->args, command->args_size);
  if (launch != NULL) {
    size_t values = launch->kernel->values_size;
    r->launch = *launch;
    r->launch.values = (unsigned char *)r + values_at;
    if (values > 0) memcpy((char *)r + values_at, launch->values, values);
    r->command.launch = &r->launch;
  }
  for (uint32_t i = 0; i < waits; i++) {
    zocl_signal_ref(r->waits[i]);
    zocl_commands_use(commands, r->waits[i]);
  }
  if (command->signal != NULL) {
    zocl_signal_ref(command->signal);
    zocl_commands_use(commands, command->signal);
  }
  if (command->keep != NULL) command->keep(r->command.args);
  if (command->reset != NULL) zocl_signal_ref(command->reset);
  if (r->id != 0) commands->ids[r->id - 1] = r;
  *commands->last = r;
  commands->last = &r->next;
  commands->count++;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_commands_copy(zocl_commands *commands,
                               const zocl_commands *others)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (const zocl_recorded *r = others->first;
       r != NULL && result == ZE_RESULT_SUCCESS; r = r->next)
    result = zocl_commands_record(commands, &r->command, &(zocl_next){0});
  return result;
}

const zocl_recorded *zocl_commands_first(const zocl_commands *commands)
{
  return commands->first;
}

static void recorded_fail(const zocl_recorded *r)
{
  for (; r != NULL; r = r->next)
    if (r->command.signal != NULL) zocl_signal_fail(r->command.signal);
}

static void commands_fail(const zocl_commands *commands)
{
  recorded_fail(commands->first);
}

/* Submit the commands, then set `behind` when they are done, unless it is NULL.
   After an error with `fail`, report failure to the signals of all commands
   that were not submitted. */
static ze_result_t commands_submit(const zocl_commands *commands,
                                   zocl_stream *stream, zocl_signal *behind,
                                   bool fail)
{
  for (const zocl_recorded *r = commands->first; r != NULL; r = r->next) {
    zocl_command command = r->command;
    if (r->next == NULL && command.signal == NULL) {
      /* This saves one command. */
      command.signal = behind;
      behind = NULL;
    }
    ze_result_t result = zocl_stream_submit(stream, &command);
    if (result != ZE_RESULT_SUCCESS) {
      if (fail) recorded_fail(r);
      return result;
    }
  }
  zocl_command after = {.kind = ZOCL_COMMAND_NOTHING, .signal = behind};
  return behind != NULL ? zocl_stream_submit(stream, &after)
                        : ZE_RESULT_SUCCESS;
}

zocl_commands *zocl_commands_clone(const zocl_commands *others)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  zocl_commands *made = zocl_commands_new();
  while (made != NULL && result == ZE_RESULT_SUCCESS &&
         made->id_count < others->id_count)
    if (zocl_commands_id(made) == 0)
      result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  for (const zocl_recorded *r = others->first;
       r != NULL && made != NULL && result == ZE_RESULT_SUCCESS; r = r->next) {
    const zocl_next next = {r->id, r->mutable_flags, r->values_room,
                            r->wait_room};
    result = zocl_commands_record(made, &r->command, &next);
  }
  if (result == ZE_RESULT_SUCCESS) return made;
  zocl_commands_unref(made);
  return NULL;
}

/* ------------------------------------------------------------------------
 * Executing lists.
 */

/* Longer lists are handed over to the feeder.  Waking a thread on another
   processor takes about 50 microseconds; the caller could submit this number of
   commands in that time. */
enum { DIRECT_COMMANDS = 16 };

/* The arguments of one zocl_commands_execute. */
typedef struct execution {
  zocl_feeder_job job;          /* the first member */
  zocl_stream *stream;   /* its feeder has the job */
  zocl_signal *fence;    /* or NULL */
  uint32_t count;
  zocl_commands *lists[];
} execution;

/* Submit lists that were handed over.  The caller has returned, so failures are
   reported through the signals. */
static ze_result_t execution_run(zocl_feeder_job *job)
{
  const execution *e = (const execution *)job;
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (uint32_t i = 0; i < e->count; i++)
    if (result == ZE_RESULT_SUCCESS)
      result = commands_submit(e->lists[i], e->stream,
                               i + 1 == e->count ? e->fence : NULL, true);
    else
      commands_fail(e->lists[i]);
  if (result != ZE_RESULT_SUCCESS && e->fence != NULL)
    zocl_signal_fail(e->fence);
  return result;
}

static void execution_free(zocl_feeder_job *job)
{
  execution *e = (execution *)job;
  for (uint32_t i = 0; i < e->count; i++) zocl_commands_unref(e->lists[i]);
  zocl_signal_unref(e->fence);
  free(e);
}

static execution *execution_new(zocl_stream *stream, uint32_t count,
                                zocl_commands *const *all, zocl_signal *fence)
{
  execution *made = malloc(sizeof *made + count * sizeof *made->lists);
  if (made == NULL) return NULL;
  *made = (execution){.job = {NULL, execution_run, execution_free},
                      .stream = stream,
                      .fence = fence,
                      .count = count};
  if (fence != NULL) zocl_signal_ref(fence);
  for (uint32_t i = 0; i < count; i++) {
    made->lists[i] = all[i];
    zocl_commands_ref(made->lists[i]);
  }
  return made;
}

/* Hand the lists over to the feeder's thread; false if that is impossible. */
static bool execute_later(zocl_stream *stream, uint32_t count,
                          zocl_commands *const *all, zocl_signal *fence)
{
  execution *made = execution_new(stream, count, all, fence);
  if (made == NULL) return false;
  /* Register, in this thread, the handler that drains streams at exit. */
  zocl_exit_early();
  if (fence != NULL) zocl_signal_promise(fence, stream);
  if (zocl_feeder_give(zocl_stream_feeder(stream), &made->job)) return true;
  execution_free(&made->job);
  return false;
}

ze_result_t zocl_commands_execute(zocl_stream *stream, uint32_t count,
                                  zocl_commands *const *all,
                                  zocl_signal *fence, bool here)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  uint64_t commands = 0;
  for (uint32_t i = 0; i < count; i++) {
    commands += all[i]->count;
    here |= all[i]->counted;
  }
  here |= commands <= DIRECT_COMMANDS;
  if (!here && execute_later(stream, count, all, fence))
    return ZE_RESULT_SUCCESS;
  ze_result_t result = ZE_RESULT_SUCCESS;
  zocl_feeder *feeder = zocl_stream_feeder(stream);
  zocl_feeder_begin(feeder);
  for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
    result = commands_submit(all[i], stream,
                             i + 1 == count ? fence : NULL, false);
  zocl_feeder_end(feeder);
  return result;
}
