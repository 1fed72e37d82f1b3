/*
 * seam_test.c - the driver's front on a back end that records its calls.
 * SPDX-License-Identifier: MIT
 *
 * The back end writes each call to a log.  Its streams run nothing by
 * themselves: play() runs the commands that wait for nothing.  So the tests see
 * what the front submits, what it waits for, and that it never blocks.  There
 * is one thread, and no device.
 */
#include "base/zocl_device.h"
#include "module/zocl_kernel.h"

#include "check.h"

/* ------------------------------------------------------------------------
 * The log.
 */

static char log_text[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
  size_t at = strlen(log_text);
  va_list args;
  if (at > 0) at += (size_t)sprintf(log_text + at, "; ");
  va_start(args, format);
  vsnprintf(log_text + at, sizeof log_text - at, format, args);
  va_end(args);
}

/* The calls since the last time must be these. */
#define SAYS(wanted)                                                         \
  do {                                                                       \
    check_(__FILE__, __LINE__, strcmp(log_text, wanted) == 0, "%s", wanted); \
    if (strcmp(log_text, wanted) != 0) printf("# %s\n", log_text);           \
    log_text[0] = '\0';                                                      \
  } while (0)

/* ------------------------------------------------------------------------
 * Marks.
 */

enum { NOT_YET = 1, MANY = 64 };

struct backend_mark {
  int refs, status;
  struct {
    backend_reached reached;
    void *data;
  } calls[MANY];
  int call_count;
};

static int marks_alive;
static int fails; /* the status of the next commands that run */

static backend_mark *mark_new(void)
{
  backend_mark *mark = calloc(1, sizeof *mark);
  *mark = (backend_mark){.refs = 1, .status = NOT_YET};
  marks_alive++;
  return mark;
}

static void mark_retain(const zocl_driver *driver, backend_mark *mark)
{
  (void)driver;
  mark->refs++;
}

static void mark_release(const zocl_driver *driver, backend_mark *mark)
{
  (void)driver;
  if (--mark->refs > 0) return;
  marks_alive--;
  free(mark);
}

static void mark_reach(backend_mark *mark, int status)
{
  mark->status = status;
  mark->refs++;
  for (int i = 0; i < mark->call_count; i++)
    mark->calls[i].reached(mark, status, mark->calls[i].data);
  mark_release(NULL, mark);
}

static int mark_status(const zocl_driver *driver, backend_mark *mark)
{
  (void)driver;
  return mark->status;
}

static void mark_times(const zocl_driver *driver, backend_mark *mark,
                       uint64_t *start, uint64_t *end)
{
  (void)driver;
  (void)mark;
  *start = 1000;
  *end = 3000;
}

static bool mark_notify(const zocl_driver *driver, backend_mark *mark,
                        backend_reached reached, void *data)
{
  (void)driver;
  if (mark->status != NOT_YET)
    reached(mark, mark->status, data);
  else {
    mark->calls[mark->call_count].reached = reached;
    mark->calls[mark->call_count++].data = data;
  }
  return true;
}

static ze_result_t gate_new(const zocl_driver *driver, backend_mark **gate)
{
  (void)driver;
  note("gate");
  *gate = mark_new();
  return ZE_RESULT_SUCCESS;
}

static void gate_open(const zocl_driver *driver, backend_mark *gate)
{
  (void)driver;
  note("open");
  mark_reach(gate, BACKEND_DONE);
}

/* ------------------------------------------------------------------------
 * Streams.
 */

typedef struct command {
  struct command *next;
  uint32_t wait_count;
  backend_mark *waits[MANY], *mark;
  zocl_host_function function;
  _Alignas(16) unsigned char args[512];
} command;

typedef struct stream {
  backend_stream base;
  command *first, **last;
  bool closed;
  struct stream *next;
} stream;

static stream *streams;
static bool full; /* commands fail to be submitted */

static ze_result_t stream_new(const zocl_device *device, int rank, bool timed,
                              backend_stream **made)
{
  (void)device;
  note("stream%s%s", rank > 0 ? " high" : rank < 0 ? " low" : "",
       timed ? " timed" : "");
  stream *s = calloc(1, sizeof *s);
  *s = (stream){.base = {.timed = timed}, .next = streams};
  s->last = &s->first;
  streams = s;
  *made = &s->base;
  return ZE_RESULT_SUCCESS;
}

static void stream_close(const zocl_device *device, backend_stream *s,
                         bool idle)
{
  (void)device;
  note("close%s", idle ? " idle" : "");
  ((stream *)s)->closed = true;
}

static ze_result_t begin(const zocl_device *device, backend_stream *s,
                         bool timed, bool idle)
{
  (void)device;
  note("begin%s%s", timed ? " timed" : "", idle ? " idle" : "");
  s->timed = timed;
  return ZE_RESULT_SUCCESS;
}

static void flush(const zocl_device *device, backend_stream *s)
{
  (void)device;
  (void)s;
}

static bool is_ready(const command *c)
{
  for (uint32_t i = 0; i < c->wait_count; i++)
    if (c->waits[i]->status == NOT_YET) return false;
  return true;
}

/* Runs a stream's first command if it waits for nothing. */
static bool stream_step(stream *s)
{
  command *c = s->first;
  if (c == NULL || !is_ready(c)) return false;
  s->first = c->next;
  if (s->first == NULL) s->last = &s->first;
  if (c->function != NULL) c->function(c->args);
  if (c->mark != NULL) {
    mark_reach(c->mark, fails);
    mark_release(NULL, c->mark);
  }
  for (uint32_t i = 0; i < c->wait_count; i++) mark_release(NULL, c->waits[i]);
  free(c);
  return true;
}

static void play(void)
{
  for (stream *s = streams; s != NULL;)
    s = stream_step(s) ? streams : s->next;
  fails = BACKEND_DONE;
  for (stream **at = &streams; *at != NULL;) {
    stream *s = *at;
    if (s->closed && s->first == NULL) {
      *at = s->next;
      free(s);
    } else
      at = &s->next;
  }
}

static ze_result_t finish(const zocl_device *device, backend_stream *s,
                          pthread_mutex_t *held)
{
  (void)device;
  (void)s;
  note("finish");
  pthread_mutex_unlock(held);
  play();
  return ZE_RESULT_SUCCESS;
}

static ze_result_t submit(const backend_place *place,
                          zocl_host_function function, const void *args,
                          size_t size)
{
  if (full) return zocl_fail(ZE_RESULT_ERROR_UNKNOWN, "the log is full");
  if (place->wait_count > 0)
    sprintf(log_text + strlen(log_text), " after %u", place->wait_count);
  stream *s = (stream *)place->stream;
  command *c = calloc(1, sizeof *c);
  c->function = function;
  if (size > 0) memcpy(c->args, args, size);
  for (uint32_t i = 0; i < place->wait_count; i++) {
    c->waits[c->wait_count++] = place->waits[i];
    mark_retain(NULL, place->waits[i]);
  }
  if (place->mark != NULL) {
    c->mark = *place->mark = mark_new();
    mark_retain(NULL, c->mark);
  }
  *s->last = c;
  s->last = &c->next;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t mark(const backend_place *place)
{
  note("mark");
  return submit(place, NULL, NULL, 0);
}

static ze_result_t call(const backend_place *place, zocl_host_function function,
                        const void *args, size_t size)
{
  note("call");
  return submit(place, function, args, size);
}

static ze_result_t copy(const backend_place *place, const zocl_copy *c)
{
  note("copy %zu", c->size);
  return submit(place, zocl_memory_copy, c, sizeof *c);
}

static ze_result_t fill(const backend_place *place, const zocl_fill *f)
{
  note("fill %zu", f->size);
  return submit(place, zocl_memory_fill, f, sizeof *f + f->pattern_size);
}

static ze_result_t copy_region(const backend_place *place,
                               const zocl_copy_region *c)
{
  note("box");
  return submit(place, zocl_memory_copy_region, c, sizeof *c);
}

/* ------------------------------------------------------------------------
 * Kernels, which do nothing, and memory.
 */

static ze_result_t kernel_make(const zocl_device *device,
                              backend_program *program,
                              const spirv_kernel *info, const zocl_arg *args,
                              size_t values_size, uint32_t *max_group,
                              backend_kernel **kernel)
{
  (void)device;
  (void)args;
  (void)values_size;
  note("kernel %s of %u arguments", info->name, info->arg_count);
  *max_group = 64;
  *kernel = (backend_kernel *)program;
  return ZE_RESULT_SUCCESS;
}

static void kernel_free(const zocl_device *device, backend_kernel *kernel)
{
  (void)device;
  (void)kernel;
  note("kernel gone");
}

static ze_result_t kernel_reach(const zocl_device *device,
                                backend_kernel *kernel,
                                ze_kernel_indirect_access_flags_t indirect,
                                void *const *blocks, size_t block_count)
{
  (void)device;
  (void)kernel;
  (void)blocks;
  note("reach %u and %zu blocks", (unsigned)indirect, block_count);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t launch(const backend_place *place, backend_kernel *kernel,
                          const zocl_launch *l)
{
  float a;
  (void)kernel;
  memcpy(&a, l->values, sizeof a);
  note("launch %zux%zux%zu by %zu with %g", l->global[0], l->global[1],
       l->global[2], l->local[0], (double)a);
  return submit(place, NULL, NULL, 0);
}

static void *allocate(zocl_block *block, size_t size, size_t alignment)
{
  note("allocate %zu of type %d", size, (int)block->type);
  block->size = size;
  block->at = aligned_alloc(alignment, (size + alignment - 1) & -alignment);
  return block->at;
}

static void release(const zocl_block *block)
{
  note("free %zu", block->size);
  free(block->at);
}

static const backend_table recorder = {
  .name = "recorder", .stream_new = stream_new, .stream_close = stream_close,
  .begin = begin, .flush = flush, .finish = finish, .mark = mark, .call = call,
  .copy = copy, .fill = fill, .copy_region = copy_region, .launch = launch,
  .kernel_new = kernel_make, .kernel_free = kernel_free,
  .kernel_reach = kernel_reach, .mark_status = mark_status,
  .mark_times = mark_times, .mark_notify = mark_notify,
  .mark_retain = mark_retain, .mark_release = mark_release,
  .gate_new = gate_new, .gate_open = gate_open};
static const zocl_memory memory = {.allocate = allocate, .free = release};

/* ------------------------------------------------------------------------
 * The driver, made by hand.
 */

static zocl_driver driver = {.backend = &recorder,
                             .memory = &memory,
                             .host_bytes = 1 << 30,
                             .host_max_alloc = 1 << 30};
static zocl_device device = {.driver = &driver,
                             .root = &device,
                             .max_group = 64,
                             .max_size = {64, 64, 64},
                             .memory_bytes = 1 << 30,
                             .max_alloc = 1 << 30};
static zocl_context context = {.driver = &driver};

static zocl_list *immediate(void)
{
  const ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  zocl_list *list = NULL;
  MUST(zocl_CommandListCreateImmediate(&context, &device, &desc, &list));
  SAYS("stream");
  return list;
}

static zocl_event *events[8];
static zocl_event_pool *pool;

static void events_drop(void)
{
  for (int i = 0; i < 8; i++) MUST(zocl_EventDestroy(events[i]));
  MUST(zocl_EventPoolDestroy(pool));
}

static void events_make(ze_event_pool_flags_t flags)
{
  const ze_event_pool_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
    .flags = flags,
    .count = 8};
  zocl_device *devices[] = {&device};
  MUST(zocl_EventPoolCreate(&context, &desc, 1, devices, &pool));
  for (uint32_t i = 0; i < 8; i++) {
    const ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                               .index = i};
    MUST(zocl_EventCreate(pool, &e, &events[i]));
  }
}

static void *memory_make(size_t size)
{
  const ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *made = NULL;
  MUST(zocl_MemAllocDevice(&context, &desc, size, 64, &device, &made));
  return made;
}

/* ------------------------------------------------------------------------
 * Tests.
 */

static void order_is_kept(void)
{
  zocl_list *list = immediate();
  char *a = memory_make(64), *b = memory_make(64);
  SAYS("allocate 64 of type 2; allocate 64 of type 2");
  const char one = 1;
  MUST(zocl_CommandListAppendMemoryFill(list, a, &one, 1, 64, NULL, 0, NULL));
  MUST(zocl_CommandListAppendMemoryCopy(list, b, a, 64, events[0], 0, NULL));
  MUST(zocl_CommandListAppendBarrier(list, events[1], 0, NULL));
  SAYS("fill 64; copy 64; mark");
  b[5] = 0;
  RETURNS(ZE_RESULT_NOT_READY, zocl_EventQueryStatus(events[0]));
  RETURNS(ZE_RESULT_NOT_READY, zocl_CommandListHostSynchronize(list, 0));
  SAYS("mark");
  play();
  RETURNS(ZE_RESULT_SUCCESS, zocl_EventQueryStatus(events[0]));
  RETURNS(ZE_RESULT_SUCCESS, zocl_EventQueryStatus(events[1]));
  RETURNS(ZE_RESULT_SUCCESS, zocl_CommandListHostSynchronize(list, 0));
  EQUAL(b[5], 1);
  MUST(zocl_CommandListAppendMemoryCopy(list, a, b, 64, NULL, 0, NULL));
  MUST(zocl_CommandListHostSynchronize(list, UINT64_MAX));
  SAYS("copy 64; finish");
  MUST(zocl_MemFree(&context, a));
  MUST(zocl_MemFree(&context, b));
  MUST(zocl_CommandListDestroy(list));
  SAYS("free 64; free 64; close idle");
}

static void waits_are_marks_and_gates(void)
{
  zocl_list *one = immediate(), *two = immediate();
  char *a = memory_make(64);
  SAYS("allocate 64 of type 2");
  /* For the host: a gate, which the host opens. */
  MUST(zocl_CommandListAppendMemoryCopy(one, a, a + 32, 32, events[3], 1,
                                        &events[2]));
  SAYS("gate; copy 32 after 1");
  play();
  RETURNS(ZE_RESULT_NOT_READY, zocl_EventQueryStatus(events[3]));
  MUST(zocl_EventHostSignal(events[2]));
  SAYS("open");
  play();
  RETURNS(ZE_RESULT_SUCCESS, zocl_EventQueryStatus(events[3]));
  /* For another stream: the mark of its command. */
  MUST(zocl_EventHostReset(events[3]));
  MUST(zocl_CommandListAppendMemoryCopy(one, a, a + 32, 32, events[3], 0,
                                        NULL));
  MUST(zocl_CommandListAppendMemoryCopy(two, a, a + 16, 16, events[4], 1,
                                        &events[3]));
  SAYS("copy 32; copy 16 after 1");
  /* In the same stream: nothing. */
  MUST(zocl_CommandListAppendMemoryCopy(two, a, a + 8, 8, NULL, 1,
                                        &events[4]));
  /* The stream is blocked, so the event may be reset before its turn. */
  SAYS("gate; call; copy 8 after 1");
  play();
  SAYS("open");
  RETURNS(ZE_RESULT_SUCCESS, zocl_EventQueryStatus(events[4]));
  MUST(zocl_MemFree(&context, a));
  MUST(zocl_CommandListDestroy(one));
  MUST(zocl_CommandListAppendMemoryCopy(two, a, a, 0, NULL, 0, NULL));
  MUST(zocl_CommandListDestroy(two));
  SAYS("free 64; mark; close; copy 0; mark; close");
  play();
}

static void times_and_failures_come_back(void)
{
  zocl_list *list = immediate();
  events_drop();
  events_make(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
  char *a = memory_make(64);
  SAYS("allocate 64 of type 2");
  MUST(zocl_CommandListAppendMemoryCopy(list, a, a + 8, 8, events[0], 0, NULL));
  MUST(zocl_CommandListAppendMemoryCopy(list, a, a + 8, 8, events[1], 0, NULL));
  SAYS("begin timed idle; copy 8; copy 8");
  play();
  ze_kernel_timestamp_result_t times;
  MUST(zocl_EventQueryKernelTimestamp(events[0], &times));
  EQUAL(times.global.kernelStart, 1000);
  EQUAL(times.global.kernelEnd, 3000);
  MUST(zocl_EventQueryStatus(events[1]));
  MUST(zocl_CommandListAppendMemoryCopy(list, a, a + 8, 8, events[2], 0, NULL));
  fails = -7;
  play();
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, zocl_EventQueryStatus(events[2]));
  CHECK(strstr(zocl_last_error(), "recorder error -7") != NULL);
  /* A command that cannot be submitted returns the reason, and later commands
     run. */
  full = true;
  RETURNS(ZE_RESULT_ERROR_UNKNOWN,
          zocl_CommandListAppendMemoryCopy(list, a, a + 8, 8, NULL, 0, NULL));
  CHECK(strcmp(zocl_last_error(), "the log is full") == 0);
  full = false;
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zocl_CommandListHostSynchronize(list, UINT64_MAX));
  MUST(zocl_CommandListAppendMemoryCopy(list, a, a + 8, 8, events[3], 0, NULL));
  MUST(zocl_CommandListHostSynchronize(list, UINT64_MAX));
  MUST(zocl_EventQueryStatus(events[3]));
  SAYS("copy 8; copy 8; finish; copy 8; finish");
  MUST(zocl_MemFree(&context, a));
  MUST(zocl_CommandListDestroy(list));
  SAYS("free 64; close idle");
}

static void kernels_are_launched(void)
{
  char message[256];
  size_t size;
  void *code = file_read("kernels/saxpy.spv", &size);
  int program;
  zocl_module module = {.refs = 2, .device = &device};
  module.spirv = spirv_parse(code, size, message, sizeof message);
  void *opaque = &program;
  module.program = opaque;
  CHECK(module.spirv != NULL);
  const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                                 .pKernelName = "saxpy"};
  zocl_kernel *kernel = NULL;
  MUST(zocl_KernelCreate(&module, &desc, &kernel));
  SAYS("kernel saxpy of 3 arguments");
  zocl_list *list = immediate();
  float *x = memory_make(64), a = 2;
  SAYS("allocate 64 of type 2");
  MUST(zocl_KernelSetGroupSize(kernel, 16, 1, 1));
  MUST(zocl_KernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zocl_KernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zocl_KernelSetArgumentValue(kernel, 2, sizeof x, &x));
  ze_group_count_t groups = {4, 1, 1};
  MUST(zocl_CommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0,
                                          NULL));
  SAYS("launch 64x1x1 by 16 with 2");
  MUST(zocl_KernelSetIndirectAccess(kernel,
                                    ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
  MUST(zocl_CommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0,
                                          NULL));
  MUST(zocl_CommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0,
                                          NULL));
  SAYS("reach 1 and 0 blocks; launch 64x1x1 by 16 with 2; "
       "launch 64x1x1 by 16 with 2");
  play();
  /* The counts of an indirect launch are read when its turn comes. */
  MUST(zocl_CommandListAppendLaunchKernelIndirect(list, kernel, &groups,
                                                  events[4], 0, NULL));
  groups.groupCountX = 3;
  SAYS("stream timed; gate; call; mark after 1");
  play();
  SAYS("launch 48x1x1 by 16 with 2; open");
  MUST(zocl_EventQueryStatus(events[4]));
  MUST(zocl_CommandListDestroy(list));
  /* A closed list is submitted again with its own arguments. */
  const ze_command_list_desc_t closed_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  const ze_command_queue_desc_t queue_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    .priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH};
  zocl_list *closed = NULL;
  zocl_queue *queue = NULL;
  MUST(zocl_CommandListCreate(&context, &device, &closed_desc, &closed));
  MUST(zocl_CommandListAppendLaunchKernel(closed, kernel, &groups, NULL, 0,
                                          NULL));
  MUST(zocl_CommandListAppendEventReset(closed, events[4]));
  MUST(zocl_CommandListClose(closed));
  a = 5;
  MUST(zocl_KernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zocl_CommandQueueCreate(&context, &device, &queue_desc, &queue));
  MUST(zocl_CommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
  MUST(zocl_CommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
  SAYS("mark; close; stream high; launch 48x1x1 by 16 with 2; call; "
       "launch 48x1x1 by 16 with 2; call");
  MUST(zocl_EventQueryStatus(events[4]));
  MUST(zocl_CommandQueueSynchronize(queue, UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zocl_EventQueryStatus(events[4]));
  MUST(zocl_CommandQueueDestroy(queue));
  MUST(zocl_CommandListDestroy(closed));
  MUST(zocl_MemFree(&context, x));
  MUST(zocl_KernelDestroy(kernel));
  /* The second stream of the indirect launch ended with the list's. */
  SAYS("finish; close idle; close idle; free 64; kernel gone");
  spirv_free(module.spirv);
  free(code);
}

int main(void)
{
  events_make(0);
  order_is_kept();
  waits_are_marks_and_gates();
  times_and_failures_come_back();
  kernels_are_launched();
  events_drop();
  play();
  EQUAL(marks_alive, 0);
  CHECK_DONE();
}
