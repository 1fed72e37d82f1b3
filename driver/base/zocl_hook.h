/*
 * zocl_hook.h - the functions of ext/ that the core calls.
 * SPDX-License-Identifier: MIT
 *
 * ext/ holds everything a launch does not need.  The core does not call its
 * functions by name: each file in ext/ enters its own functions here.
 */
#ifndef ZOCL_HOOK_H
#define ZOCL_HOOK_H

#include "base/zocl_base.h"

typedef struct zocl_hook {
  /* zocl_sysman.c: called by zeInit. */
  void (*initialise)(void);

  /* zocl_image.c.  `image` may be NULL.  The two argument functions check the
     value and store it at `place` unless that is NULL: a zocl_image *, or the
     id of a sampler. */
  void (*image_ref)(zocl_image *image);
  void (*image_unref)(zocl_image *image);
  ze_result_t (*image_argument)(const zocl_kernel *kernel, uint32_t index,
                                const void *value, void *place);
  ze_result_t (*sampler_argument)(const zocl_kernel *kernel, uint32_t index,
                                  const void *value, void *place);

  /* zocl_ipc.c: map an allocation from the file that `import` names, and export
     the file of an allocation. */
  ze_result_t (*memory_import)(zocl_context *context, zocl_device *device,
                               ze_memory_type_t type,
                               const ze_external_memory_import_fd_t *import,
                               size_t size, void **pointer);
  ze_result_t (*memory_export)(zocl_context *context, const void *pointer,
                               ze_external_memory_export_fd_t *export);

  /* zocl_states.c: the states of events that processes share.  `announce`
     reports that a state was set.  `watch` has zocl_signal_watch called for
     every report until the signal has no more waiters; it returns false if out
     of memory. */
  ze_result_t (*states_new)(ze_event_pool_flags_t flags, uint32_t count,
                            zocl_states **states);
  void (*states_ref)(zocl_states *states);
  void (*states_unref)(zocl_states *states);
  zocl_state *(*states_at)(zocl_states *states, uint32_t index);
  void (*states_announce)(zocl_states *states);
  bool (*states_watch)(zocl_states *states, zocl_signal *signal);

  /* zocl_counter.c: counter-based events.  The functions of zocl_event.h that
     call these describe them. */
  ze_result_t (*counter_modes)(const ze_event_pool_desc_t *desc,
                               uint32_t *modes);
  zocl_signal *(*counter_signal)(zocl_event *event);
  zocl_signal *(*counter_begin)(const zocl_list *list,
                                const zocl_event *event);
  void (*counter_give)(zocl_event *event, zocl_signal *signal);
  ze_result_t (*counter_check)(const zocl_list *list, const zocl_event *event);

  /* zocl_graph.c; used only if zocl_is_capturing.  `append` checks a command
     appended to a list: the list may be capturing, or may begin to capture
     because of this command.  If it sets *captured, the command has been
     recorded. */
  ze_result_t (*graph_append)(zocl_list *list, const zocl_command *command,
                              ze_event_handle_t signal, uint32_t wait_count,
                              ze_event_handle_t *waits, bool *captured);
  /* A reset of the event was appended to the list.  If the list captures, no
     command of the capture signals the event any more. */
  void (*graph_reset)(const zocl_list *list, zocl_event *event);
  /* Captures copies of commands. */
  ze_result_t (*graph_append_all)(zocl_list *list, uint32_t count,
                                  zocl_commands *const *all);
  /* The list will be destroyed. */
  void (*graph_leave)(zocl_list *list);
  /* Returns an error if a captured command signals the event, because the host
     cannot wait for it. */
  ze_result_t (*graph_check_event)(const zocl_event *event);
} zocl_hook;

extern zocl_hook zocl_ext;

#endif
