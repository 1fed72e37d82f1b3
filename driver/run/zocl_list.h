/*
 * zocl_list.h - command lists, what is appended to them, and recorded commands.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_LIST_H
#define ZOCL_LIST_H

#include "run/zocl_stream.h"

/* A recorded command; what it points to follows it in its block.  It refers
   to the signals, so that an event destroyed too early does no harm. */
typedef struct zocl_recorded {
  struct zocl_recorded *next;
  zocl_command command;
  zocl_launch launch;      /* where there is none, its kernel is NULL */
  zocl_signal **waits;     /* command.waits */
  uint32_t wait_room;
  zocl_image **images;     /* command.images; NULLs up to the room */
  uint32_t image_room;
  size_t values_at, values_room; /* of launch.values, in the block */
  uint64_t id;             /* where it may be changed, else 0 */
  uint32_t mutable_flags;
} zocl_recorded;

/* What was asked for the next command of a list, or id 0. */
typedef struct zocl_next {
  uint64_t id;
  uint32_t flags;
  size_t values_room;
  uint32_t wait_room;
} zocl_next;

struct _ze_command_list_handle_t {
  zocl_handle handle;
  zocl_context *context;
  zocl_device *device;
  uint32_t ordinal, index;
  zocl_stream *stream;   /* of an immediate list, else NULL */
  uint32_t flags;        /* as given, and for an immediate list: */
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;
  bool closed;
  zocl_commands *commands; /* of a regular list, else NULL */
  bool can_change;         /* made with ze_mutable_command_list_exp_desc_t */
  zocl_next next;
  zocl_graph *graph;       /* that captures what is appended, or NULL */
  uint32_t branch;         /* which of the graph's lists this is */
};

/* Describe a launch of `kernel` as it is now, where `list` may have it. */
ze_result_t zocl_launch_describe(const zocl_list *list, zocl_kernel *kernel,
                                 const ze_group_count_t *groups,
                                 zocl_launch *launch);

/* Whether `list` may launch the kernel, with arguments of these values. */
ze_result_t zocl_launch_check(const zocl_list *list, const zocl_kernel *kernel,
                              const unsigned char *values);

/* Whether so many groups may wait for each other. */
ze_result_t zocl_launch_cooperative(const ze_group_count_t *groups);

/* A function of ours; where that may not touch all memory, `transfer`, unless
   it is NULL. */
zocl_command zocl_list_command(const zocl_list *list,
                               zocl_host_function function,
                               zocl_transfer transfer, void *args,
                               size_t args_size, bool small);

/* Submit or record a command.  What all appends have in common is checked and
   filled in here, so that they only describe what they do.  All that it points
   to is copied. */
ze_result_t zocl_list_append(zocl_list *list, zocl_command *command,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* Submit a command to an immediate list, behind all that was appended to it,
   closed lists too. */
ze_result_t zocl_list_submit(zocl_list *list, const zocl_command *command);

/* The commands of lists, which must be closed lists of the device, one at
   least.  `*all` is `few`, which has room for ZOCL_FEW_LISTS, or to be
   freed. */
enum { ZOCL_FEW_LISTS = 16 };
ze_result_t zocl_lists_take(uint32_t count, ze_command_list_handle_t *lists,
                            const zocl_device *device, uint32_t ordinal,
                            zocl_commands **few, zocl_commands ***all);

/* What a queue descriptor asks for is there, or the error. */
ze_result_t zocl_queue_check(const ze_command_queue_desc_t *desc);

/* Append all those commands, which wait for the events and are followed by the
   signal, to an immediate list. */
ze_result_t zocl_list_append_all(zocl_list *list, uint32_t count,
                                 zocl_commands *const *all,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits);

/* The commands of a regular list, counted because a list may be reset or
   destroyed while they are on their way. */
zocl_commands *zocl_commands_new(void); /* NULL: out of memory */
void zocl_commands_ref(zocl_commands *commands);
void zocl_commands_unref(zocl_commands *commands);
uint32_t zocl_commands_count(const zocl_commands *commands);

/* A command of theirs has this signal. */
void zocl_commands_use(zocl_commands *commands, const zocl_signal *signal);

/* A new identifier for a command, or 0 where memory does not suffice; and the
   command of one, or NULL. */
uint64_t zocl_commands_id(zocl_commands *commands);
zocl_recorded *zocl_commands_find(const zocl_commands *commands, uint64_t id);

/* Record a command, with all it points to; and copies of others. */
ze_result_t zocl_commands_record(zocl_commands *commands,
                                 const zocl_command *command,
                                 const zocl_next *next);
ze_result_t zocl_commands_copy(zocl_commands *commands,
                               const zocl_commands *others);
/* The first, or NULL. */
const zocl_recorded *zocl_commands_first(const zocl_commands *commands);

/* The same with their identifiers; NULL: out of memory. */
zocl_commands *zocl_commands_clone(const zocl_commands *others);

/* Submit closed lists, and `fence` behind them unless it is NULL, behind what
   was executed before: before this returns with `here`, else perhaps later
   by another thread, whose errors the next wait tells. */
ze_result_t zocl_commands_execute(zocl_stream *stream, uint32_t count,
                                  zocl_commands *const *all,
                                  zocl_signal *fence, bool here);

/* How many graphs are captured just now (ext/zocl_graph.c). */
extern atomic_uint zocl_captures;

/* Whether any list captures just now: otherwise there is nothing to ask. */
static inline bool zocl_is_capturing(void)
{
  return atomic_load_explicit(&zocl_captures, memory_order_relaxed) > 0;
}

#endif
