/*
 * zocl_graph.c - graphs: commands appended to immediate lists are captured and
 * replayed (ZE_extension_record_replay_graph).
 * SPDX-License-Identifier: MIT
 *
 * A capture begins on one list, the primary.  If another list waits for an
 * event of the capture, it becomes a branch of it.  The branch must be joined:
 * the list it was forked from must wait for an event behind the last work of
 * the branch.
 *
 * The commands can run in the order in which they were appended, so they are
 * replayed in this order, all in the stream of the list they are replayed on.
 * This satisfies every wait for an event of the graph itself, so these waits
 * are not recorded.  Counter-based events that are not used outside are not
 * recorded either.
 */
#include "run/zocl_event.h"
#include "ext/zocl_ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  FEW_WAITS = 8,
  NO_NODE = UINT32_MAX,
  COUNTER_GRAPH_EXTERNAL = 0x40,
  /* ze_record_replay_graph_ext_dump_desc_t and its mode */
  DUMP_DESC = 0x20048,
  DUMP_DETAILED = 0,
  DUMP_SIMPLE = 1
};

/* A list of a capture; the first is the primary. */
typedef struct branch {
  zocl_list *list;       /* NULL if destroyed */
  uint32_t parent;       /* the branch it was forked from */
  uint32_t last;         /* its last node, or NO_NODE */
  uint64_t work;         /* number of commands that do something */
  uint64_t joined;       /* how many of them the parent waits for */
} branch;

/* A command that follows a command of another branch. */
typedef struct edge {
  uint32_t from, to;
} edge;

typedef struct callback {
  struct callback *next;
  void (*function)(void *data);
  void *data;
} callback;

struct zocl_graph {
  zocl_handle handle;
  uint64_t capture;      /* number of the running capture, 0 if not captured */
  zocl_graph *next;      /* in the list of captured graphs */
  bool given;            /* the program has its handle */
  bool invalid;
  zocl_device *device;   /* of the primary; NULL if nothing was captured */
  uint32_t ordinal;
  ze_command_list_handle_t primary; /* the handle only; never dereferenced */
  zocl_commands *commands;
  uint32_t branch_count;
  branch *branches;
  uint32_t node_count;
  uint32_t *nodes;       /* the branch of each command */
  uint32_t edge_count;
  edge *edges;
  uint32_t executables;  /* number of executable graphs not destroyed yet */
  callback *callbacks;
};

struct zocl_executable {
  zocl_handle handle;
  zocl_graph *graph;
  zocl_commands *commands;
  zocl_signal *running;  /* set at the end of its last replay */
};

/* Guards the list of graphs and the capture state of lists and events. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static zocl_graph *captured;
static uint64_t capture_count;

static zocl_graph *capture_find(uint64_t capture)
{
  if (capture == 0) return NULL;
  zocl_graph *graph = captured;
  while (graph != NULL && graph->capture != capture) graph = graph->next;
  return graph;
}

static ze_result_t out_of_memory(void)
{
  return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

static ze_result_t no_extensions(const void *extensions)
{
  if (extensions == NULL) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                   "an extension of type 0x%x",
                   (unsigned)((const ze_base_desc_t *)extensions)->stype);
}

/* ------------------------------------------------------------------------
 * Graphs.
 */

static zocl_graph *graph_new(void)
{
  zocl_graph *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return NULL;
  made->commands = zocl_commands_new();
  if (made->commands != NULL) return made;
  free(made);
  return NULL;
}

static void graph_free(zocl_graph *graph)
{
  for (callback *c = graph->callbacks, *next; c != NULL; c = next) {
    next = c->next;
    c->function(c->data);
    free(c);
  }
  zocl_commands_unref(graph->commands);
  free(graph->branches);
  free(graph->nodes);
  free(graph->edges);
  free(graph);
}

ze_result_t zocl_GraphCreateExt(ze_context_handle_t context,
                                const void *extensions, zocl_graph **graph)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(graph);
  ze_result_t result = no_extensions(extensions);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_graph *made = graph_new();
  if (made == NULL) return out_of_memory();
  made->given = true;
  *graph = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_GraphDestroyExt(zocl_graph *graph)
{
  ZOCL_NEED_HANDLE(graph);
  pthread_mutex_lock(&lock);
  bool used = graph->capture != 0 || graph->executables > 0;
  pthread_mutex_unlock(&lock);
  if (used)
    return zocl_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                     "the graph is captured just now, or executable graphs "
                     "made of it are not destroyed");
  graph_free(graph);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_GraphSetDestructionCallbackExt(zocl_graph *graph,
                                                zocl_host_callback function,
                                                void *data,
                                                const void *extensions)
{
  ZOCL_NEED_HANDLE(graph);
  ZOCL_NEED_POINTER(function);
  ze_result_t result = no_extensions(extensions);
  if (result != ZE_RESULT_SUCCESS) return result;
  callback *made = malloc(sizeof *made);
  if (made == NULL) return out_of_memory();
  pthread_mutex_lock(&lock);
  *made = (callback){graph->callbacks, function, data};
  graph->callbacks = made;
  pthread_mutex_unlock(&lock);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_GraphGetPrimaryCommandListExt(zocl_graph *graph,
                                               ze_command_list_handle_t *list)
{
  ZOCL_NEED_HANDLE(graph);
  ZOCL_NEED_POINTER(list);
  *list = graph->primary;
  if (graph->primary == NULL)
    return zocl_fail(ZOCL_ERROR_INVALID_GRAPH, "the graph was not captured");
  return ZE_RESULT_SUCCESS;
}

static ze_result_t graph_check(const zocl_graph *graph)
{
  if (!graph->invalid) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZOCL_ERROR_INVALID_GRAPH, "its capture failed");
}

ze_result_t zocl_GraphIsEmptyExt(zocl_graph *graph)
{
  ZOCL_NEED_HANDLE(graph);
  ze_result_t result = graph_check(graph);
  if (result != ZE_RESULT_SUCCESS) return result;
  return graph->node_count == 0 ? ZOCL_QUERY_TRUE : ZOCL_QUERY_FALSE;
}

/* ------------------------------------------------------------------------
 * Capture.  The static functions are called with the lock held.
 */

static ze_result_t unsupported(const char *why)
{
  return zocl_fail(ZOCL_ERROR_CAPTURE_UNSUPPORTED, "%s", why);
}

/* Make room for one more element; the room is a power of two. */
static bool grow(void **array, uint32_t count, size_t size)
{
  if (count != 0 && (count & (count - 1)) != 0) return true;
  void *more = realloc(*array, (count > 0 ? 2 * (size_t)count : 1) * size);
  if (more == NULL) return false;
  *array = more;
  return true;
}

static ze_result_t branch_add(zocl_graph *graph, zocl_list *list,
                              uint32_t parent)
{
  void *branches = graph->branches;
  if (!grow(&branches, graph->branch_count, sizeof *graph->branches))
    return out_of_memory();
  graph->branches = branches;
  list->graph = graph;
  list->branch = graph->branch_count++;
  graph->branches[list->branch] = (branch){.list = list,
                                           .parent = parent,
                                           .last = NO_NODE};
  return ZE_RESULT_SUCCESS;
}

/* Record that the next command of the graph belongs to branch `of`. */
static ze_result_t node_add(zocl_graph *graph, uint32_t of)
{
  void *nodes = graph->nodes;
  if (!grow(&nodes, graph->node_count, sizeof *graph->nodes))
    return out_of_memory();
  graph->nodes = nodes;
  graph->nodes[graph->node_count] = of;
  graph->branches[of].last = graph->node_count++;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t edge_add(zocl_graph *graph, uint32_t from, uint32_t to)
{
  void *edges = graph->edges;
  if (!grow(&edges, graph->edge_count, sizeof *graph->edges))
    return out_of_memory();
  graph->edges = edges;
  graph->edges[graph->edge_count++] = (edge){from, to};
  return ZE_RESULT_SUCCESS;
}

/* Returns true for a counter-based event that is used only inside its graph. */
static bool is_internal(const zocl_event *event)
{
  return event->counter_modes != 0 &&
         !(event->counter_flags & COUNTER_GRAPH_EXTERNAL);
}

static ze_result_t internal_error(void)
{
  return zocl_fail(ZOCL_ERROR_GRAPH_INTERNAL_EVENT,
                   "a counter-based event inside and outside of a graph, "
                   "made without the flag GRAPH_EXTERNAL");
}

/* Find the graph that captures the command, or NULL.  `*fork` is the event that
   makes the list a branch of the graph, or NULL. */
static ze_result_t graph_choose(const zocl_list *list,
                                const zocl_event *signal, uint32_t wait_count,
                                ze_event_handle_t *waits, zocl_graph **chosen,
                                const zocl_event **fork)
{
  zocl_graph *graph = list->graph;
  *fork = NULL;
  for (uint32_t i = 0; i < wait_count; i++) {
    zocl_graph *other = capture_find(waits[i]->captured.capture);
    if (other == NULL || other == graph) continue;
    if (list->stream == NULL) {
      if (is_internal(waits[i])) return internal_error();
      continue;
    }
    if (graph != NULL)
      return zocl_fail(ZOCL_ERROR_CAPTURE_MERGE_ATTEMPT,
                       "a wait for an event of another capture");
    graph = other;
    *fork = waits[i];
  }
  if (*fork != NULL && list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    return unsupported("a synchronous list waits for a captured event");
  if (*fork != NULL && list->device != graph->device)
    return unsupported("a list of another device waits for a captured event");
  if (signal != NULL && is_internal(signal)) {
    zocl_graph *other = capture_find(signal->captured.capture);
    if (other != NULL && other != graph) return internal_error();
  }
  for (uint32_t i = 0; i < wait_count && graph != NULL; i++)
    if (is_internal(waits[i]) && waits[i]->captured.capture != graph->capture)
      return internal_error();
  *chosen = graph;
  return ZE_RESULT_SUCCESS;
}

/* Record the command with its edges and its events. */
static ze_result_t graph_record(zocl_graph *graph, zocl_list *list,
                                const zocl_command *command,
                                zocl_event *signal, uint32_t wait_count,
                                ze_event_handle_t *waits, zocl_signal **kept)
{
  zocl_command recorded = *command;
  uint32_t node = graph->node_count;
  ze_result_t result = ZE_RESULT_SUCCESS;
  recorded.signal = NULL;
  recorded.waits = kept;
  recorded.wait_count = 0;
  if (signal != NULL && !is_internal(signal)) {
    recorded.signal = zocl_event_begin(list, signal);
    if (recorded.signal == NULL) return out_of_memory();
  }
  for (uint32_t i = 0; i < wait_count; i++)
    if (waits[i]->captured.capture != graph->capture)
      kept[recorded.wait_count++] = zocl_event_signal(waits[i]);
  for (uint32_t i = 0; i < wait_count && result == ZE_RESULT_SUCCESS; i++)
    if (waits[i]->captured.capture == graph->capture &&
        waits[i]->captured.branch != list->branch)
      result = edge_add(graph, waits[i]->captured.node, node);
  if (result == ZE_RESULT_SUCCESS)
    result = zocl_commands_record(graph->commands, &recorded, &(zocl_next){0});
  for (uint32_t i = 0; i < recorded.wait_count; i++)
    zocl_signal_unref(kept[i]);
  if (recorded.signal != NULL)
    zocl_event_end(signal, recorded.signal, result == ZE_RESULT_SUCCESS);
  if (result == ZE_RESULT_SUCCESS) result = node_add(graph, list->branch);
  if (result != ZE_RESULT_SUCCESS) {
    graph->invalid = true;
    return result;
  }
  branch *own = &graph->branches[list->branch];
  if (command->kind != ZOCL_COMMAND_NOTHING &&
      command->kind != ZOCL_COMMAND_RESET)
    own->work++;
  for (uint32_t i = 0; i < wait_count; i++) {
    if (waits[i]->captured.capture != graph->capture) continue;
    branch *from = &graph->branches[waits[i]->captured.branch];
    if (from != own && from->parent == list->branch &&
        from->joined < waits[i]->captured.work)
      from->joined = waits[i]->captured.work;
  }
  if (signal != NULL) {
    signal->captured.capture = graph->capture;
    signal->captured.branch = list->branch;
    signal->captured.node = node;
    signal->captured.work = own->work;
  }
  return ZE_RESULT_SUCCESS;
}

static ze_result_t graph_append(zocl_list *list, const zocl_command *command,
                                ze_event_handle_t signal, uint32_t wait_count,
                                ze_event_handle_t *waits, bool *is_captured)
{
  zocl_graph *graph = NULL;
  const zocl_event *fork;
  zocl_signal *few[FEW_WAITS], **kept = few;
  *is_captured = false;
  if (wait_count > FEW_WAITS &&
      (kept = malloc(wait_count * sizeof(zocl_signal *))) == NULL)
    return out_of_memory();
  pthread_mutex_lock(&lock);
  ze_result_t result =
      graph_choose(list, signal, wait_count, waits, &graph, &fork);
  if (result == ZE_RESULT_SUCCESS && fork != NULL)
    result = branch_add(graph, list, fork->captured.branch);
  if (result == ZE_RESULT_SUCCESS && graph != NULL) {
    *is_captured = true;
    result = graph_record(graph, list, command, signal, wait_count, waits,
                          kept);
  }
  pthread_mutex_unlock(&lock);
  if (kept != few) free(kept);
  return result;
}

static void graph_reset(const zocl_list *list, zocl_event *event)
{
  pthread_mutex_lock(&lock);
  if (list->graph != NULL &&
      event->captured.capture == list->graph->capture)
    event->captured.capture = 0;
  pthread_mutex_unlock(&lock);
}

static ze_result_t graph_append_all(zocl_list *list, uint32_t count,
                                    zocl_commands *const *all)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  pthread_mutex_lock(&lock);
  zocl_graph *graph = list->graph;
  for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++) {
    result = zocl_commands_copy(graph->commands, all[i]);
    for (uint32_t k = zocl_commands_count(all[i]);
         k > 0 && result == ZE_RESULT_SUCCESS; k--) {
      result = node_add(graph, list->branch);
      graph->branches[list->branch].work++;
    }
  }
  if (result != ZE_RESULT_SUCCESS) graph->invalid = true;
  pthread_mutex_unlock(&lock);
  return result;
}

static ze_result_t capture_begin(zocl_list *list, zocl_graph *graph)
{
  ze_result_t result = branch_add(graph, list, 0);
  if (result != ZE_RESULT_SUCCESS) return result;
  graph->capture = ++capture_count;
  graph->device = list->device;
  graph->ordinal = list->ordinal;
  graph->primary = list;
  graph->next = captured;
  captured = graph;
  atomic_fetch_add(&zocl_captures, 1);
  return ZE_RESULT_SUCCESS;
}

static void capture_end(zocl_graph *graph)
{
  zocl_graph **place = &captured;
  while (*place != graph) place = &(*place)->next;
  *place = graph->next;
  graph->capture = 0;
  for (uint32_t i = 0; i < graph->branch_count; i++)
    if (graph->branches[i].list != NULL) graph->branches[i].list->graph = NULL;
  atomic_fetch_sub(&zocl_captures, 1);
}

ze_result_t zocl_CommandListBeginCaptureIntoGraphExt(
    ze_command_list_handle_t list, zocl_graph *graph, const void *extensions)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(graph);
  ze_result_t result = no_extensions(extensions);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (list->stream == NULL || list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "only what is appended to an immediate list that is not "
                     "synchronous can be captured");
  pthread_mutex_lock(&lock);
  if (list->graph != NULL || graph->branch_count > 0)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       list->graph != NULL ? "the list captures already"
                                           : "the graph is not empty");
  else
    result = capture_begin(list, graph);
  pthread_mutex_unlock(&lock);
  return result;
}

ze_result_t zocl_CommandListBeginGraphCaptureExt(ze_command_list_handle_t list,
                                                 const void *extensions)
{
  ZOCL_NEED_HANDLE(list);
  zocl_graph *graph = graph_new();
  if (graph == NULL) return out_of_memory();
  ze_result_t result =
      zocl_CommandListBeginCaptureIntoGraphExt(list, graph, extensions);
  if (result != ZE_RESULT_SUCCESS) graph_free(graph);
  return result;
}

ze_result_t zocl_CommandListIsGraphCaptureEnabledExt(
    ze_command_list_handle_t list)
{
  ZOCL_NEED_HANDLE(list);
  return list->graph != NULL ? ZOCL_QUERY_TRUE : ZOCL_QUERY_FALSE;
}

static ze_result_t not_capturing(void)
{
  return zocl_fail(ZOCL_ERROR_COMMAND_LIST_NOT_CAPTURING,
                   "no capture was begun on the command list");
}

ze_result_t zocl_CommandListGetGraphExt(ze_command_list_handle_t list,
                                        zocl_graph **graph)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(graph);
  pthread_mutex_lock(&lock);
  *graph = list->graph;
  if (*graph != NULL) (*graph)->given = true;
  pthread_mutex_unlock(&lock);
  return *graph != NULL ? ZE_RESULT_SUCCESS : not_capturing();
}

/* Returns true if the parent of each branch waits for all its work. */
static bool all_joined(const zocl_graph *graph)
{
  for (uint32_t i = 1; i < graph->branch_count; i++)
    if (graph->branches[i].joined < graph->branches[i].work) return false;
  return true;
}

/* Returns an invalid graph too, so that the program can destroy it. */
ze_result_t zocl_CommandListEndGraphCaptureExt(ze_command_list_handle_t list,
                                               const void *extensions,
                                               zocl_graph **graph)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(graph);
  ze_result_t result = no_extensions(extensions);
  if (result != ZE_RESULT_SUCCESS) return result;
  pthread_mutex_lock(&lock);
  zocl_graph *ended = list->graph;
  if (ended == NULL)
    result = not_capturing();
  else if (list->branch != 0)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "the capture was begun on another list");
  else {
    capture_end(ended);
    ended->given = true;
    *graph = ended;
    if (ended->invalid)
      result = zocl_fail(ZOCL_ERROR_CAPTURE_INVALIDATED,
                         "a command could not be captured");
    else if (!all_joined(ended)) {
      ended->invalid = true;
      result = zocl_fail(ZOCL_ERROR_GRAPH_UNJOINED_FORKS,
                         "work of a forked list that is not waited for");
    }
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static void graph_leave(zocl_list *list)
{
  pthread_mutex_lock(&lock);
  zocl_graph *graph = list->graph;
  if (graph != NULL) {
    graph->invalid = true;
    graph->branches[list->branch].list = NULL;
    list->graph = NULL;
    if (list->branch == 0) {
      capture_end(graph);
      if (!graph->given) graph_free(graph);
    }
  }
  pthread_mutex_unlock(&lock);
}

static ze_result_t graph_check_event(const zocl_event *event)
{
  pthread_mutex_lock(&lock);
  bool found = capture_find(event->captured.capture) != NULL;
  pthread_mutex_unlock(&lock);
  return found ? unsupported("what is captured cannot be waited for")
               : ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Executable graphs.
 */

ze_result_t zocl_GraphInstantiateExt(zocl_graph *graph, const void *extensions,
                                     zocl_executable **executable)
{
  ZOCL_NEED_HANDLE(graph);
  ZOCL_NEED_POINTER(executable);
  ze_result_t result = no_extensions(extensions);
  if (result == ZE_RESULT_SUCCESS) result = graph_check(graph);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (graph->capture != 0 || graph->device == NULL)
    return zocl_fail(ZOCL_ERROR_INVALID_GRAPH,
                     graph->capture != 0 ? "the graph is still captured"
                                         : "the graph was not captured");
  zocl_executable *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return out_of_memory();
  made->running = zocl_signal_counter(graph->device->driver, false, true);
  if (made->running == NULL) {
    free(made);
    return out_of_memory();
  }
  made->graph = graph;
  made->commands = graph->commands;
  zocl_commands_ref(made->commands);
  pthread_mutex_lock(&lock);
  graph->executables++;
  pthread_mutex_unlock(&lock);
  *executable = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ExecutableGraphDestroyExt(zocl_executable *executable)
{
  ZOCL_NEED_HANDLE(executable);
  pthread_mutex_lock(&lock);
  executable->graph->executables--;
  pthread_mutex_unlock(&lock);
  zocl_signal_unref(executable->running);
  zocl_commands_unref(executable->commands);
  free(executable);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ExecutableGraphGetSourceGraphExt(zocl_executable *executable,
                                                  zocl_graph **graph)
{
  ZOCL_NEED_HANDLE(executable);
  ZOCL_NEED_POINTER(graph);
  *graph = executable->graph;
  return ZE_RESULT_SUCCESS;
}

/* A replay begins after the previous replay, even if that was on another
   list. */
ze_result_t zocl_CommandListAppendGraphExt(
    ze_command_list_handle_t list, zocl_executable *executable,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(executable);
  ze_result_t result = no_extensions(extensions);
  if (result != ZE_RESULT_SUCCESS) return result;
  const zocl_graph *graph = executable->graph;
  if (list->stream == NULL || list->device != graph->device ||
      list->ordinal != graph->ordinal)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the graph was captured on an immediate list of another "
                     "device or queue group");
  zocl_signal *const running = executable->running;
  zocl_command before = {.kind = ZOCL_COMMAND_NOTHING,
                         .wait_count = 1,
                         .waits = &running};
  zocl_command after = {.kind = ZOCL_COMMAND_NOTHING, .signal = running};
  if (list->graph == NULL) result = zocl_list_submit(list, &before);
  if (result == ZE_RESULT_SUCCESS)
    result = zocl_list_append_all(list, 1, &executable->commands, signal,
                                  wait_count, waits);
  if (result == ZE_RESULT_SUCCESS && list->graph == NULL)
    result = zocl_list_submit(list, &after);
  return result;
}

/* ------------------------------------------------------------------------
 * Writing a graph in DOT format.
 */

static void dump_text(FILE *file, const char *text)
{
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc(*text, file);
  }
}

static void dump_argument(FILE *file, const spirv_arg *info,
                          const zocl_arg *arg, const unsigned char *values)
{
  const void *pointer;
  fputs("\\n", file);
  dump_text(file, info->source_type != NULL ? info->source_type
                  : arg->cls == SPIRV_ARG_POINTER ? "pointer"
                  : arg->cls == SPIRV_ARG_LOCAL   ? "local"
                                                  : "value");
  if (info->name != NULL) {
    fputc(' ', file);
    dump_text(file, info->name);
  }
  fputs(" = ", file);
  if (arg->cls == SPIRV_ARG_POINTER) {
    memcpy(&pointer, values + arg->offset, sizeof pointer);
    fprintf(file, "%p", pointer);
  } else {
    fputs("0x", file);
    for (size_t i = arg->bytes; i > 0; i--)
      fprintf(file, "%02x", values[arg->offset + i - 1]);
  }
}

static void dump_command(FILE *file, const zocl_recorded *r, bool detailed)
{
  const zocl_command *c = &r->command;
  if (c->launch != NULL) {
    const zocl_kernel *kernel = c->launch->kernel;
    dump_text(file, kernel->info->name);
    if (!detailed) return;
    fprintf(file, "\\n%u x %u x %u groups of %zu x %zu x %zu",
            c->groups.groupCountX, c->groups.groupCountY,
            c->groups.groupCountZ, c->launch->local[0], c->launch->local[1],
            c->launch->local[2]);
    for (uint32_t i = 0; i < kernel->arg_count; i++)
      dump_argument(file, &kernel->info->args[i], &kernel->args[i],
                    c->launch->values);
  } else if (c->function == zocl_memory_copy) {
    const zocl_copy *copy = c->args;
    fputs("copy", file);
    if (detailed)
      fprintf(file, "\\n%zu bytes\\n%p to %p", copy->size, copy->from,
              copy->to);
  } else if (c->function == zocl_memory_fill) {
    const zocl_fill *fill = c->args;
    fputs("fill", file);
    if (detailed) fprintf(file, "\\n%zu bytes\\n%p", fill->size, fill->to);
  } else
    fputs(c->kind == ZOCL_COMMAND_INDIRECT ? "indirect launch"
          : c->kind == ZOCL_COMMAND_RESET  ? "event reset"
          : c->function != NULL            ? "host"
                                           : "barrier",
          file);
}

static void dump(FILE *file, const zocl_graph *graph, bool detailed)
{
  uint32_t node = 0;
  fputs("digraph {\n  node [shape=box];\n", file);
  for (const zocl_recorded *r = zocl_commands_first(graph->commands);
       r != NULL && node < graph->node_count; r = r->next) {
    fprintf(file, "  n%u [label=\"", node++);
    dump_command(file, r, detailed);
    fputs("\"];\n", file);
  }
  for (uint32_t b = 0; b < graph->branch_count; b++)
    for (uint32_t i = 0, last = NO_NODE; i < graph->node_count; i++) {
      if (graph->nodes[i] != b) continue;
      if (last != NO_NODE) fprintf(file, "  n%u -> n%u;\n", last, i);
      last = i;
    }
  for (uint32_t i = 0; i < graph->edge_count; i++)
    fprintf(file, "  n%u -> n%u;\n", graph->edges[i].from,
            graph->edges[i].to);
  fputs("}\n", file);
}

ze_result_t zocl_GraphDumpContentsExt(zocl_graph *graph, const char *path,
                                      const void *extensions)
{
  ZOCL_NEED_HANDLE(graph);
  ZOCL_NEED_POINTER(path);
  const zocl_extension *desc = extensions;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (desc != NULL && (int)desc->stype != DUMP_DESC)
    result = no_extensions(extensions);
  else if (desc != NULL && desc->value > DUMP_SIMPLE)
    result = zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (result != ZE_RESULT_SUCCESS) return result;
  FILE *file = fopen(path, "w");
  if (file == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "cannot write %s", path);
  pthread_mutex_lock(&lock);
  dump(file, graph, desc == NULL || desc->value == DUMP_DETAILED);
  pthread_mutex_unlock(&lock);
  bool written = ferror(file) == 0;
  if (fclose(file) != 0) written = false;
  return written ? ZE_RESULT_SUCCESS
                 : zocl_fail(ZE_RESULT_ERROR_UNKNOWN, "cannot write %s", path);
}

void zocl_graph_hook(zocl_hook *hook)
{
  hook->graph_append = graph_append;
  hook->graph_reset = graph_reset;
  hook->graph_append_all = graph_append_all;
  hook->graph_leave = graph_leave;
  hook->graph_check_event = graph_check_event;
}
