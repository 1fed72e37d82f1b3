/*
 * zocl_list.h - command lists, their commands, and how commands are appended.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_LIST_H
#define ZOCL_LIST_H

#include "run/zocl_stream.h"

/* A recorded command.  Everything it points to follows it in the same block.
   It holds references to its signals, so an event destroyed too early does no
   harm. */
typedef struct zocl_recorded {
  struct zocl_recorded *next;
  zocl_command command;
  zocl_launch launch;      /* its kernel is NULL if this is not a launch */
  zocl_signal **waits;     /* command.waits points here */
  uint32_t wait_room;
  zocl_image **images;     /* command.images points here; unused places are
                              NULL */
  uint32_t image_room;
  size_t values_at, values_room; /* of launch.values, in this block */
  uint64_t id;             /* 0 if the command cannot be changed */
  uint32_t mutable_flags;
} zocl_recorded;

/* The program's request for the next command of a list; id 0 if absent. */
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
  zocl_stream *stream;   /* of an immediate list, otherwise NULL */
  uint32_t flags;        /* as the program gave them; for an immediate list
                            also: */
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;
  bool closed;
  zocl_commands *commands; /* of a regular list, otherwise NULL */
  bool can_change;         /* made with ze_mutable_command_list_exp_desc_t */
  zocl_next next;
  zocl_graph *graph;       /* the graph that captures this list, or NULL */
  uint32_t branch;         /* index of this list in the graph */
};

/* Describe a launch of `kernel` with its current arguments, if `list` allows
   it. */
ze_result_t zocl_launch_describe(const zocl_list *list, zocl_kernel *kernel,
                                 const ze_group_count_t *groups,
                                 zocl_launch *launch);

/* Check that `list` may launch the kernel with these argument values. */
ze_result_t zocl_launch_check(const zocl_list *list, const zocl_kernel *kernel,
                              const unsigned char *values);

/* Check that a cooperative launch may have this number of groups. */
ze_result_t zocl_launch_cooperative(const ze_group_count_t *groups);

/* Returns a command that runs `function`.  If our functions cannot access all
   memory, the command runs `transfer` instead, unless that is NULL. */
zocl_command zocl_list_command(const zocl_list *list,
                               zocl_host_function function,
                               zocl_transfer transfer, void *args,
                               size_t args_size, bool small);

/* Submit or record a command.  This function checks and fills in what all
   appends have in common, so that they only describe the command itself.
   Everything that the command points to is copied. */
ze_result_t zocl_list_append(zocl_list *list, zocl_command *command,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits);

/* Submit a command to an immediate list, after everything appended to it so
   far, closed lists included. */
ze_result_t zocl_list_submit(zocl_list *list, const zocl_command *command);

/* Get the commands of at least one list; the lists must be closed and belong to
   the device.  `few` has room for ZOCL_FEW_LISTS.  The caller frees `*all`
   unless it is `few`. */
enum { ZOCL_FEW_LISTS = 16 };
ze_result_t zocl_lists_take(uint32_t count, ze_command_list_handle_t *lists,
                            const zocl_device *device, uint32_t ordinal,
                            zocl_commands **few, zocl_commands ***all);

/* Check a queue descriptor: its flags are valid and the queue exists. */
ze_result_t zocl_queue_check(const ze_command_queue_desc_t *desc);

/* Append the commands of closed lists to an immediate list; they wait for the
   events and then set the signal. */
ze_result_t zocl_list_append_all(zocl_list *list, uint32_t count,
                                 zocl_commands *const *all,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits);

/* The commands of a regular list.  They are counted because the program may
   reset or destroy the list before they have been submitted. */
zocl_commands *zocl_commands_new(void); /* NULL if out of memory */
void zocl_commands_ref(zocl_commands *commands);
void zocl_commands_unref(zocl_commands *commands);
uint32_t zocl_commands_count(const zocl_commands *commands);

/* Note that one of the commands uses this signal. */
void zocl_commands_use(zocl_commands *commands, const zocl_signal *signal);

/* zocl_commands_id returns a new identifier for a command, or 0 if out of
   memory; zocl_commands_find returns the command that has an identifier, or
   NULL. */
uint64_t zocl_commands_id(zocl_commands *commands);
zocl_recorded *zocl_commands_find(const zocl_commands *commands, uint64_t id);

/* Record a command with all that it points to; append copies of other
   commands. */
ze_result_t zocl_commands_record(zocl_commands *commands,
                                 const zocl_command *command,
                                 const zocl_next *next);
ze_result_t zocl_commands_copy(zocl_commands *commands,
                               const zocl_commands *others);
/* Returns the first command, or NULL. */
const zocl_recorded *zocl_commands_first(const zocl_commands *commands);

/* Returns a copy in which commands have the same identifiers; NULL if out of
   memory. */
zocl_commands *zocl_commands_clone(const zocl_commands *others);

/* Submit the commands of closed lists after everything executed before, then
   `fence` unless it is NULL.  With `here` they are submitted before this
   returns; otherwise another thread may submit them later, and the next wait
   reports its errors. */
ze_result_t zocl_commands_execute(zocl_stream *stream, uint32_t count,
                                  zocl_commands *const *all,
                                  zocl_signal *fence, bool here);

/* The number of graphs being captured (ext/zocl_graph.c). */
extern atomic_uint zocl_captures;

/* Returns true if any list is capturing; if not, captures need no check. */
static inline bool zocl_is_capturing(void)
{
  return atomic_load_explicit(&zocl_captures, memory_order_relaxed) > 0;
}

#endif
