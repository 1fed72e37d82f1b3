/*
 * zocl_hook.h - what the core asks of ext/.
 * SPDX-License-Identifier: MIT
 *
 * There is all that a launch does not need.  The core names no function of it:
 * each file there enters its own here.
 */
#ifndef ZOCL_HOOK_H
#define ZOCL_HOOK_H

#include "base/zocl_base.h"

typedef struct zocl_hook {
  /* zocl_sysman.c: zeInit is called. */
  void (*initialise)(void);

  /* zocl_image.c.  NULL is allowed; an argument's value is checked, and goes to
     `place` unless that is NULL: a zocl_image *, or a cl_sampler. */
  void (*image_ref)(zocl_image *image);
  void (*image_unref)(zocl_image *image);
  ze_result_t (*image_argument)(const zocl_kernel *kernel, uint32_t index,
                                const void *value, void *place);
  ze_result_t (*sampler_argument)(const zocl_kernel *kernel, uint32_t index,
                                  const void *value, void *place);

  /* zocl_ipc.c: an allocation on the file that `import` names, and the file of
     an allocation. */
  ze_result_t (*memory_import)(zocl_context *context, zocl_device *device,
                               ze_memory_type_t type,
                               const ze_external_memory_import_fd_t *import,
                               size_t size, void **pointer);
  ze_result_t (*memory_export)(zocl_context *context, const void *pointer,
                               ze_external_memory_export_fd_t *export);

  /* zocl_states.c: the states of events that processes share.  Announce that
     one was set; watch: zocl_signal_watch is called whenever one is, until the
     signal has no more waiters, or false: out of memory. */
  ze_result_t (*states_new)(ze_event_pool_flags_t flags, uint32_t count,
                            zocl_states **states);
  void (*states_ref)(zocl_states *states);
  void (*states_unref)(zocl_states *states);
  zocl_state *(*states_at)(zocl_states *states, uint32_t index);
  void (*states_announce)(zocl_states *states);
  bool (*states_watch)(zocl_states *states, zocl_signal *signal);

  /* zocl_counter.c: counter-based events.  The functions of zocl_event.h
     that ask these say what they do. */
  ze_result_t (*counter_modes)(const ze_event_pool_desc_t *desc,
                               uint32_t *modes);
  zocl_signal *(*counter_signal)(zocl_event *event);
  zocl_signal *(*counter_begin)(const zocl_list *list,
                                const zocl_event *event);
  void (*counter_give)(zocl_event *event, zocl_signal *signal);
  ze_result_t (*counter_check)(const zocl_list *list, const zocl_event *event);

  /* zocl_graph.c, all of it only where zocl_is_capturing.  What a list's append
     means for captures: it may be one of a list that captures, or become so.
     With `*captured` the command has been recorded. */
  ze_result_t (*graph_append)(zocl_list *list, const zocl_command *command,
                              ze_event_handle_t signal, uint32_t wait_count,
                              ze_event_handle_t *waits, bool *captured);
  /* A reset of the event was appended to the list: if that captures, no command
     of the capture signals it any more. */
  void (*graph_reset)(const zocl_list *list, zocl_event *event);
  /* Capture copies of commands. */
  ze_result_t (*graph_append_all)(zocl_list *list, uint32_t count,
                                  zocl_commands *const *all);
  /* The list is going to be destroyed. */
  void (*graph_leave)(zocl_list *list);
  /* Hosts cannot wait for captured commands. */
  ze_result_t (*graph_check_event)(const zocl_event *event);
} zocl_hook;

extern zocl_hook zocl_ext;

#endif
