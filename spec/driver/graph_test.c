/*
 * graph_test.c - graphs: captured on immediate lists, forked and joined,
 * replayed and dumped; and invalid uses of them.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <stdatomic.h>
#include <unistd.h>

/* As in the specification since 1.17. */
enum {
  TRUE_RESULT = 0x78000022,
  FALSE_RESULT,
  INVALID_GRAPH,
  UNSUPPORTED,
  INVALIDATED,
  MERGE,
  NOT_CAPTURING,
  UNJOINED,
  INTERNAL,
  COUNTER = 0x2003a,
  GRAPH_PROPERTIES = 0x20047,
  DUMP = 0x20048,
  QUEUE_IN_ORDER = 0x2,
  GRAPH_EXTERNAL = 0x40
};

typedef struct graph graph;
typedef struct executable executable;
typedef ze_command_list_handle_t list;
typedef ze_event_handle_t event;

static ze_result_t (*create)(ze_context_handle_t, const void *, graph **);
static ze_result_t (*begin)(list, const void *);
static ze_result_t (*begin_into)(list, graph *, const void *);
static ze_result_t (*enabled)(list);
static ze_result_t (*end)(list, const void *, graph **);
static ze_result_t (*get)(list, graph **);
static ze_result_t (*primary)(graph *, list *);
static ze_result_t (*on_destroy)(graph *, void (*)(void *), void *,
                                 const void *);
static ze_result_t (*instantiate)(graph *, const void *, executable **);
static ze_result_t (*append)(list, executable *, const void *, event, uint32_t,
                             event *);
static ze_result_t (*source)(executable *, graph **);
static ze_result_t (*is_empty)(graph *);
static ze_result_t (*dump)(graph *, const char *, const void *);
static ze_result_t (*destroy_executable)(executable *);
static ze_result_t (*destroy)(graph *);
static ze_result_t (*counter_create)(ze_context_handle_t, ze_device_handle_t,
                                     const void *, event *);
static ze_result_t (*append_lists)(list, uint32_t, list *, event, uint32_t,
                                   event *);
static ze_result_t (*synchronize)(list, uint64_t);
static ze_result_t (*host_function)(list, void (*)(void *), void *,
                                    const void *, event, uint32_t, event *);

static setup s;
static ze_kernel_handle_t chain;
static uint32_t *out;
static event e[6];
static const ze_group_count_t one = {1, 1, 1};

static void find_all(void)
{
  static const struct {
    void *function;
    const char *name;
  } all[] = {
    {&create, "zeGraphCreateExt"},
    {&begin, "zeCommandListBeginGraphCaptureExt"},
    {&begin_into, "zeCommandListBeginCaptureIntoGraphExt"},
    {&enabled, "zeCommandListIsGraphCaptureEnabledExt"},
    {&end, "zeCommandListEndGraphCaptureExt"},
    {&get, "zeCommandListGetGraphExt"},
    {&primary, "zeGraphGetPrimaryCommandListExt"},
    {&on_destroy, "zeGraphSetDestructionCallbackExt"},
    {&instantiate, "zeGraphInstantiateExt"},
    {&append, "zeCommandListAppendGraphExt"},
    {&source, "zeExecutableGraphGetSourceGraphExt"},
    {&is_empty, "zeGraphIsEmptyExt"},
    {&dump, "zeGraphDumpContentsExt"},
    {&destroy_executable, "zeExecutableGraphDestroyExt"},
    {&destroy, "zeGraphDestroyExt"},
    {&counter_create, "zeEventCounterBasedCreate"},
    {&append_lists, "zeCommandListImmediateAppendCommandListsExp"},
    {&synchronize, "zeCommandListHostSynchronize"},
    {&host_function, "zeCommandListAppendHostFunction"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    MUST(zeDriverGetExtensionFunctionAddress(s.driver, all[i].name,
                                             (void **)all[i].function));
}

static list immediate(void)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .flags = QUEUE_IN_ORDER,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  list made;
  MUST(zeCommandListCreateImmediate(s.context, s.device, &desc, &made));
  return made;
}

static event counter_new(uint32_t flags)
{
  struct {
    int stype;
    const void *next;
    uint32_t flags, signal, wait;
  } desc = {.stype = COUNTER, .flags = flags};
  event made;
  MUST(counter_create(s.context, s.device, &desc, &made));
  return made;
}

/* *to = *to * 3 + add */
static ze_result_t launch(list to_list, uint32_t *to, uint32_t add,
                          event signal, event wait)
{
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof to, &to));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  return zeCommandListAppendLaunchKernel(to_list, chain, &one, signal,
                                         wait != NULL, &wait);
}

static void reset_events(void)
{
  for (int i = 0; i < 6; i++) MUST(zeEventHostReset(e[i]));
}

static void count_up(void *data)
{
  ++*(int *)data;
}

static void test_replay(void)
{
  list a = immediate(), b = immediate(), found;
  graph *g, *same;
  executable *x, *y;
  int calls = 0, destroyed = 0;
  uint32_t five = 5;
  reset_events();
  out[0] = out[1] = 0;
  RETURNS((ze_result_t)FALSE_RESULT, enabled(a));
  RETURNS((ze_result_t)NOT_CAPTURING, get(a, &g));
  CHECK(g == NULL);
  RETURNS(ZE_RESULT_SUCCESS, begin(a, NULL));
  RETURNS((ze_result_t)TRUE_RESULT, enabled(a));
  RETURNS(ZE_RESULT_SUCCESS, get(a, &g));
  RETURNS((ze_result_t)TRUE_RESULT, is_empty(g));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, begin(a, NULL));
  MUST(zeCommandListAppendMemoryFill(a, out, &five, 4, 4, NULL, 0, NULL));
  for (uint32_t i = 1; i <= 20; i++) MUST(launch(a, out, i, NULL, NULL));
  MUST(zeCommandListAppendMemoryCopy(a, out + 1, out, 4, e[0], 0, NULL));
  MUST(host_function(a, count_up, &calls, NULL, NULL, 0, NULL));
  RETURNS((ze_result_t)UNSUPPORTED, synchronize(a, 0));
  RETURNS((ze_result_t)UNSUPPORTED, zeEventHostSynchronize(e[0], 0));
  RETURNS((ze_result_t)UNSUPPORTED, zeEventQueryStatus(e[0]));
  RETURNS((ze_result_t)INVALID_GRAPH, instantiate(g, NULL, &x));
  RETURNS(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, destroy(g));
  RETURNS(ZE_RESULT_SUCCESS, end(a, NULL, &same));
  CHECK(same == g);
  RETURNS((ze_result_t)NOT_CAPTURING, end(a, NULL, &same));
  RETURNS((ze_result_t)FALSE_RESULT, enabled(a));
  RETURNS((ze_result_t)FALSE_RESULT, is_empty(g));
  RETURNS(ZE_RESULT_SUCCESS, primary(g, &found));
  CHECK(found == a);

  /* Nothing has run; commands appended from now on run. */
  MUST(synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  EQUAL(out[0] + out[1] + (uint32_t)calls, 0);
  MUST(launch(a, out, 1, NULL, NULL));
  MUST(synchronize(a, UINT64_MAX));
  EQUAL(out[0], 1);

  uint32_t wanted = 5;
  for (uint32_t i = 1; i <= 20; i++) wanted = wanted * 3 + i;
  RETURNS(ZE_RESULT_SUCCESS, instantiate(g, NULL, &x));
  RETURNS(ZE_RESULT_SUCCESS, instantiate(g, NULL, &y));
  RETURNS(ZE_RESULT_SUCCESS, source(x, &same));
  CHECK(same == g);
  for (int i = 1; i <= 5; i++) {
    out[0] = out[1] = 0;
    RETURNS(ZE_RESULT_SUCCESS, append(i % 2 != 0 ? a : b, i == 4 ? y : x,
                                      NULL, e[1], 0, NULL));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[0]));
    EQUAL(out[0], wanted);
    EQUAL(out[1], wanted);
    EQUAL(calls, i);
    reset_events();
  }

  /* It waits for events, and for its own replay on another list. */
  out[1] = 0;
  RETURNS(ZE_RESULT_SUCCESS, append(a, x, NULL, NULL, 1, &e[2]));
  RETURNS(ZE_RESULT_SUCCESS, append(b, x, NULL, e[3], 0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[3], 1000000));
  EQUAL(calls, 5);
  MUST(zeEventHostSignal(e[2]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[3], UINT64_MAX));
  EQUAL(calls, 7);
  MUST(synchronize(a, UINT64_MAX));
  MUST(synchronize(b, UINT64_MAX));

  RETURNS(ZE_RESULT_SUCCESS, on_destroy(g, count_up, &destroyed, NULL));
  RETURNS(ZE_RESULT_SUCCESS, on_destroy(g, count_up, &destroyed, NULL));
  RETURNS(ZE_RESULT_SUCCESS, destroy_executable(y));
  RETURNS(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, destroy(g));
  RETURNS(ZE_RESULT_SUCCESS, destroy_executable(x));
  EQUAL(destroyed, 0);
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));
  EQUAL(destroyed, 2);
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

static atomic_int stepping, together, submitted;

static void step(void *unused)
{
  (void)unused;
  if (atomic_fetch_add(&stepping, 1) > 0) atomic_store(&together, 1);
  AWAIT(atomic_load(&submitted));
  atomic_fetch_sub(&stepping, 1);
}

/* A replay waits for the previous one on another list, however long that takes
   to submit. */
static void test_order(void)
{
  list a = immediate(), b = immediate();
  graph *g;
  executable *x;
  MUST(begin(a, NULL));
  for (int i = 0; i < 40; i++)
    MUST(host_function(a, step, NULL, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, end(a, NULL, &g));
  RETURNS(ZE_RESULT_SUCCESS, instantiate(g, NULL, &x));
  for (int i = 0; i < 3; i++) {
    RETURNS(ZE_RESULT_SUCCESS, append(a, x, NULL, NULL, 0, NULL));
    RETURNS(ZE_RESULT_SUCCESS, append(b, x, NULL, NULL, 0, NULL));
  }
  atomic_store(&submitted, 1);
  MUST(synchronize(a, UINT64_MAX));
  MUST(synchronize(b, UINT64_MAX));
  EQUAL(atomic_load(&together), 0);
  RETURNS(ZE_RESULT_SUCCESS, destroy_executable(x));
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

/* A fork, with a fork inside it, both joined.  The events are never reset:
   their state from the previous replay must not matter. */
static void test_forks(event *events)
{
  list a = immediate(), b = immediate(), c = immediate();
  graph *g;
  executable *x;
  reset_events();
  MUST(begin(a, NULL));
  MUST(launch(a, out, 1, events[0], NULL));
  MUST(launch(b, out + 1, 2, events[1], events[0]));
  RETURNS((ze_result_t)TRUE_RESULT, enabled(b));
  RETURNS((ze_result_t)FALSE_RESULT, enabled(c));
  MUST(launch(c, out + 2, 3, events[2], events[1]));
  RETURNS((ze_result_t)TRUE_RESULT, enabled(c));
  MUST(launch(a, out, 4, NULL, NULL));
  MUST(zeCommandListAppendMemoryCopy(b, out + 1, out + 2, 4, events[3], 1,
                                     &events[2]));
  MUST(zeCommandListAppendMemoryCopy(a, out + 3, out + 1, 4, NULL, 1,
                                     &events[3]));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, end(b, NULL, &g));
  RETURNS(ZE_RESULT_SUCCESS, end(a, NULL, &g));
  RETURNS((ze_result_t)FALSE_RESULT, enabled(b));
  RETURNS((ze_result_t)FALSE_RESULT, enabled(c));
  RETURNS(ZE_RESULT_SUCCESS, instantiate(g, NULL, &x));
  for (uint32_t i = 0; i < 20; i++) {
    for (uint32_t k = 0; k < 4; k++) out[k] = i + k;
    MUST(append(a, x, NULL, NULL, 0, NULL));
    MUST(synchronize(a, UINT64_MAX));
    EQUAL(out[0], (i * 3 + 1) * 3 + 4);
    EQUAL(out[1], (i + 2) * 3 + 3);
    EQUAL(out[3], out[1]);
  }
  RETURNS(ZE_RESULT_SUCCESS, destroy_executable(x));
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));

  /* Work that is not joined. */
  MUST(begin(a, NULL));
  MUST(launch(a, out, 1, events[0], NULL));
  MUST(launch(b, out, 1, events[1], events[0]));
  MUST(zeCommandListAppendWaitOnEvents(a, 1, &events[1]));
  MUST(launch(b, out, 1, NULL, NULL));
  RETURNS((ze_result_t)UNJOINED, end(a, NULL, &g));
  RETURNS((ze_result_t)INVALID_GRAPH, is_empty(g));
  RETURNS((ze_result_t)INVALID_GRAPH, instantiate(g, NULL, &x));
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));

  /* Two captures cannot be merged. */
  MUST(begin(a, NULL));
  MUST(launch(a, out, 1, events[0], NULL));
  MUST(begin(b, NULL));
  RETURNS((ze_result_t)MERGE, launch(b, out, 1, NULL, events[0]));
  RETURNS(ZE_RESULT_SUCCESS, end(b, NULL, &g));
  RETURNS((ze_result_t)TRUE_RESULT, is_empty(g));
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));
  list waiting = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  RETURNS((ze_result_t)UNSUPPORTED, launch(waiting, out, 1, NULL, events[0]));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, begin(waiting, NULL));
  MUST(zeCommandListDestroy(waiting));
  /* If a branch is destroyed, it is not joined. */
  MUST(launch(c, out, 1, NULL, events[0]));
  MUST(zeCommandListDestroy(c));
  RETURNS((ze_result_t)INVALIDATED, end(a, NULL, &g));
  RETURNS(ZE_RESULT_SUCCESS, destroy(g));
  MUST(begin(b, NULL));
  MUST(zeCommandListDestroy(b));
  MUST(zeCommandListDestroy(a));
}

/* Graphs and lists inside graphs; capture into an existing graph. */
static void test_parts(void)
{
  list a = immediate(), regular = list_new(s), found;
  graph *inner, *outer, *same;
  executable *x, *y;
  reset_events();
  for (uint32_t i = 1; i <= 3; i++) MUST(launch(regular, out, i, NULL, NULL));
  MUST(zeCommandListClose(regular));
  RETURNS(ZE_RESULT_SUCCESS, create(s.context, NULL, &inner));
  RETURNS((ze_result_t)TRUE_RESULT, is_empty(inner));
  RETURNS((ze_result_t)INVALID_GRAPH, primary(inner, &found));
  RETURNS((ze_result_t)INVALID_GRAPH, instantiate(inner, NULL, &x));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, begin_into(regular, inner, NULL));
  RETURNS(ZE_RESULT_SUCCESS, begin_into(a, inner, NULL));
  RETURNS(ZE_RESULT_SUCCESS, append_lists(a, 1, &regular, NULL, 0, NULL));
  MUST(launch(a, out, 4, NULL, NULL));
  RETURNS(ZE_RESULT_SUCCESS, end(a, NULL, &same));
  CHECK(same == inner);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, begin_into(a, inner, NULL));
  MUST(zeCommandListDestroy(regular)); /* a copy was captured */
  MUST(instantiate(inner, NULL, &x));

  MUST(begin(a, NULL));
  RETURNS(ZE_RESULT_SUCCESS, append(a, x, NULL, NULL, 0, NULL));
  MUST(launch(a, out, 5, NULL, NULL));
  RETURNS(ZE_RESULT_SUCCESS, append(a, x, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, end(a, NULL, &outer));
  MUST(instantiate(outer, NULL, &y));
  MUST(destroy_executable(x));
  MUST(destroy(inner));
  out[0] = 1;
  MUST(append(a, y, NULL, e[0], 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  static const uint32_t adds[] = {1, 2, 3, 4, 5, 1, 2, 3, 4};
  uint32_t wanted = 1;
  for (int i = 0; i < 9; i++) wanted = wanted * 3 + adds[i];
  EQUAL(out[0], wanted);

  ze_base_desc_t extension = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  list fixed = list_new(s);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          append(fixed, y, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          append(a, y, &extension, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, begin(a, &extension));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, begin(NULL, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, create(NULL, NULL, &inner));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          create(s.context, NULL, NULL));
  MUST(zeCommandListDestroy(fixed));
  MUST(destroy_executable(y));
  MUST(destroy(outer));
  MUST(zeCommandListDestroy(a));
}

/* Counter-based events: inside a graph only, or on both sides. */
static void test_events(void)
{
  list a = immediate(), b = immediate();
  event inside = counter_new(0), outside = counter_new(GRAPH_EXTERNAL);
  graph *g;
  executable *x;
  MUST(begin(a, NULL));
  MUST(launch(a, out, 1, inside, NULL));
  MUST(launch(a, out, 2, outside, NULL));
  RETURNS((ze_result_t)INTERNAL, launch(b, out, 1, inside, NULL));
  list regular = list_new(s);
  RETURNS((ze_result_t)INTERNAL, launch(regular, out, 1, NULL, inside));
  MUST(zeCommandListDestroy(regular));
  MUST(end(a, NULL, &g));
  MUST(instantiate(g, NULL, &x));
  /* Now the event is free, and no replay touches it. */
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(outside));
  reset_events();
  MUST(zeCommandListAppendWaitOnEvents(b, 1, &e[0]));
  RETURNS(ZE_RESULT_SUCCESS, launch(b, out + 1, 1, inside, NULL));
  out[0] = 1;
  MUST(append(a, x, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(outside, UINT64_MAX));
  EQUAL(out[0], 14);
  MUST(synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(inside));
  MUST(zeEventHostSignal(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(inside, UINT64_MAX));
  MUST(begin(a, NULL));
  RETURNS((ze_result_t)INTERNAL, launch(a, out, 1, NULL, inside));
  graph *none;
  MUST(end(a, NULL, &none));
  MUST(destroy(none));
  MUST(destroy_executable(x));
  MUST(destroy(g));
  MUST(zeEventDestroy(inside));
  MUST(zeEventDestroy(outside));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

/* A wait after a reset is for the next signal of the event, which does not come
   from the graph. */
static void test_reset(void)
{
  list a = immediate();
  graph *g;
  executable *x;
  reset_events();
  MUST(begin(a, NULL));
  MUST(launch(a, out, 1, e[0], NULL));
  MUST(zeCommandListAppendWaitOnEvents(a, 1, &e[0]));
  MUST(zeCommandListAppendEventReset(a, e[0]));
  MUST(zeCommandListAppendSignalEvent(a, e[1]));
  MUST(launch(a, out, 2, e[2], e[0]));
  MUST(end(a, NULL, &g));
  MUST(instantiate(g, NULL, &x));
  for (int i = 0; i < 2; i++) {
    reset_events();
    out[0] = 0;
    MUST(append(a, x, NULL, NULL, 0, NULL));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
    RETURNS(ZE_RESULT_NOT_READY, synchronize(a, 20000000));
    EQUAL(out[0], 1);
    MUST(zeEventHostSignal(e[0]));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[2], UINT64_MAX));
    EQUAL(out[0], 5);
    MUST(synchronize(a, UINT64_MAX));
  }
  MUST(destroy_executable(x));
  MUST(destroy(g));
  MUST(zeCommandListDestroy(a));
}

static int holds(const char *text, const char *part)
{
  int n = 0;
  for (; (text = strstr(text, part)) != NULL; text++) n++;
  return n;
}

static void test_dump(void)
{
  list a = immediate(), b = immediate();
  graph *g;
  char path[] = "/tmp/graph_test_XXXXXX";
  size_t size;
  uint32_t zero = 0;
  close(mkstemp(path));
  reset_events();
  MUST(begin(a, NULL));
  MUST(launch(a, out, 77, e[0], NULL));
  MUST(zeCommandListAppendMemoryFill(b, out + 1, &zero, 4, 4, e[1], 1, &e[0]));
  MUST(zeCommandListAppendMemoryCopy(a, out + 2, out, 4, NULL, 0, NULL));
  MUST(zeCommandListAppendWaitOnEvents(a, 1, &e[1]));
  MUST(end(a, NULL, &g));
  RETURNS(ZE_RESULT_SUCCESS, dump(g, path, NULL));
  char *text = file_read(path, &size);
  text[size] = '\0';
  EQUAL(holds(text, "digraph"), 1);
  EQUAL(holds(text, "chain"), 1);
  EQUAL(holds(text, "0x0000004d"), 1);
  EQUAL(holds(text, "fill"), 1);
  EQUAL(holds(text, "copy"), 1);
  EQUAL(holds(text, "barrier"), 1);
  EQUAL(holds(text, "n0 -> n1;"), 1); /* the fork */
  EQUAL(holds(text, "n0 -> n2;"), 1);
  EQUAL(holds(text, "n1 -> n3;"), 1); /* the join */
  EQUAL(holds(text, "->"), 4);
  free(text);
  struct {
    int stype;
    const void *next;
    uint32_t mode;
  } simple = {.stype = DUMP, .mode = 1};
  RETURNS(ZE_RESULT_SUCCESS, dump(g, path, &simple));
  text = file_read(path, &size);
  text[size] = '\0';
  EQUAL(holds(text, "chain"), 1);
  EQUAL(holds(text, "0x"), 0);
  free(text);
  simple.mode = 2;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, dump(g, path, &simple));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, dump(g, NULL, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, dump(g, "/proc/none/g", NULL));
  unlink(path);
  MUST(destroy(g));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

int main(void)
{
  s = setup_new();
  find_all();
  struct {
    int stype;
    void *next;
    uint32_t flags;
  } can = {.stype = GRAPH_PROPERTIES};
  ze_device_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &can};
  MUST(zeDeviceGetProperties(s.device, &properties));
  EQUAL(can.flags, 0x1 | 0x4 | 0x8);
  ze_module_handle_t module =
      module_load(s, "spec/driver/kernels/probe.spv");
  chain = kernel_new(module, "chain");
  MUST(zeKernelSetGroupSize(chain, 1, 1, 1));
  out = shared_new(s, 64 * sizeof *out);
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 6);
  for (uint32_t i = 0; i < 6; i++) e[i] = event_new(pool, i);

  test_replay();
  test_order();
  test_forks(e);
  event counters[4];
  for (int i = 0; i < 4; i++) counters[i] = counter_new(0);
  test_forks(counters);
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(counters[i]));
  test_parts();
  test_events();
  test_reset();
  test_dump();

  for (int i = 0; i < 6; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(chain));
  MUST(zeModuleDestroy(module));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
