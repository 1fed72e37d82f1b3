/*
 * ipc_test.c - memory and events that processes share.
 * SPDX-License-Identifier: MIT
 *
 * The program runs itself as the other process: `ipc_test WHAT`.  Its standard
 * input is a socket that carries handles and words in both directions.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { N = 300000 }; /* not a multiple of the page size */

typedef ze_result_t (*put_handle)(ze_context_handle_t, ze_ipc_mem_handle_t);
typedef ze_result_t (*handle_from)(ze_context_handle_t, uint64_t,
                                   ze_ipc_mem_handle_t *);
typedef ze_result_t (*handle_to)(ze_context_handle_t, ze_ipc_mem_handle_t,
                                 uint64_t *);

/* Functions newer than the loader. */
static put_handle mem_put;
static handle_from mem_from;
static handle_to mem_to;

static void functions_find(setup s)
{
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zeMemPutIpcHandle",
                                           (void **)&mem_put));
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeMemGetIpcHandleFromFileDescriptorExp",
      (void **)&mem_from));
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeMemGetFileDescriptorFromIpcHandleExp", (void **)&mem_to));
}

/* ------------------------------------------------------------------------
 * Two processes.
 */

/* Sends some bytes and, unless it is -1, a descriptor. */
static void tell(int socket, const void *bytes, size_t size, int descriptor)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof descriptor)];
  } control = {.room = {0}};
  struct iovec part = {(void *)(uintptr_t)bytes, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  if (sendmsg(socket, &message, 0) != (ssize_t)size) exit(99);
}

/* Receives `size` bytes; returns the descriptor sent with them, or -1. */
static int hear(int socket, void *bytes, size_t size)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {bytes, size};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.room,
                           .msg_controllen = sizeof control.room};
  if (recvmsg(socket, &message, MSG_WAITALL) != (ssize_t)size) exit(98);
  int descriptor = -1;
  const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  if (c != NULL) memcpy(&descriptor, CMSG_DATA(c), sizeof descriptor);
  return descriptor;
}

static void say(int socket, int word)
{
  tell(socket, &word, sizeof word, -1);
}

static int listen_for(int socket)
{
  int word = 0;
  hear(socket, &word, sizeof word);
  return word;
}

/* Starts the other process; returns the socket to it. */
static int other_start(const char *what, pid_t *process)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) exit(97);
  fflush(stdout);
  *process = fork();
  if (*process == 0) {
    dup2(ends[1], 0);
    execl("/proc/self/exe", "ipc_test", what, (char *)NULL);
    _exit(96);
  }
  close(ends[1]);
  return ends[0];
}

/* Waits for the other process; returns true if all its checks passed. */
static bool other_end(int socket, pid_t process)
{
  int status;
  close(socket);
  waitpid(process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ------------------------------------------------------------------------
 * Memory.
 */

static void *device_new(setup s, size_t size, const void *extension)
{
  ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = extension};
  void *memory;
  MUST(zeMemAllocDevice(s.context, &desc, size, 64, s.device, &memory));
  return memory;
}

static void *host_new(setup s, size_t size)
{
  ze_host_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *memory;
  MUST(zeMemAllocHost(s.context, &desc, size, 64, &memory));
  return memory;
}

static bool is_all(const unsigned char *bytes, int value, size_t size)
{
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != value) return false;
  return true;
}

/* The other process opens the memory, finds 1 there and writes 2 with its own
   commands.  It does so again after a message that the memory was freed. */
static int other_memory(bool socket_gives)
{
  setup s = setup_new();
  ze_ipc_mem_handle_t handle;
  void *memory;
  functions_find(s);
  int descriptor = hear(0, &handle, sizeof handle);
  if (socket_gives) {
    CHECK(descriptor >= 0);
    MUST(mem_from(s.context, (uint64_t)descriptor, &handle));
  }
  MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &memory));
  if (socket_gives) close(descriptor);
  ze_memory_allocation_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t device = NULL;
  void *base;
  size_t size;
  MUST(zeMemGetAllocProperties(s.context, memory, &properties, &device));
  MUST(zeMemGetAddressRange(s.context, (char *)memory + N / 2, &base, &size));
  EQUAL(properties.type, ZE_MEMORY_TYPE_DEVICE);
  CHECK(device == s.device && base == memory && properties.id != 0);
  EQUAL(size, N);
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  unsigned char *copy = shared_new(s, N), two = 2;
  MUST(zeCommandListAppendMemoryCopy(list, copy, memory, N, NULL, 0, NULL));
  CHECK(is_all(copy, 1, N));
  MUST(zeCommandListAppendMemoryFill(list, memory, &two, 1, N, NULL, 0, NULL));
  say(0, 1);
  EQUAL(listen_for(0), 2); /* it has been freed there by now */
  MUST(zeCommandListAppendMemoryCopy(list, copy, memory, N, NULL, 0, NULL));
  CHECK(is_all(copy, 2, N));
  /* It is freed by the matching call, and only once. */
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(s.context, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemCloseIpcHandle(s.context, copy));
  RETURNS(ZE_RESULT_SUCCESS, zeMemCloseIpcHandle(s.context, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemCloseIpcHandle(s.context, memory));
  MUST(zeCommandListDestroy(list));
  CHECK_DONE();
}

static void test_memory(setup s, bool socket_gives, bool from_start)
{
  pid_t process;
  ze_ipc_mem_handle_t handle;
  ze_external_memory_export_desc_t export = {
    .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
    .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
  unsigned char *memory = device_new(s, N, from_start ? &export : NULL);
  memset(memory, 1, N);
  /* The handle is for the allocation, wherever in it the pointer points. */
  MUST(zeMemGetIpcHandle(s.context, memory + 12345, &handle));
  CHECK(is_all(memory, 1, N));
  uint64_t descriptor;
  MUST(mem_to(s.context, handle, &descriptor));
  int socket = other_start(socket_gives ? "socket" : "memory", &process);
  tell(socket, &handle, sizeof handle, socket_gives ? (int)descriptor : -1);
  EQUAL(listen_for(socket), 1);
  CHECK(is_all(memory, 2, N));
  RETURNS(ZE_RESULT_SUCCESS, mem_put(s.context, handle));
  MUST(zeMemFree(s.context, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, mem_put(s.context, handle));
  say(socket, 2);
  CHECK(other_end(socket, process));
}

/* In one process: each opening is a separate mapping of the same bytes. */
static void test_same_process(setup s)
{
  enum { TIMES = 2000 };
  static void *opened[TIMES];
  ze_ipc_mem_handle_t handle, again;
  char *kinds[] = {device_new(s, 1, NULL), host_new(s, 5000), shared_new(s, 8)};
  for (int i = 0; i < 3; i++) {
    *kinds[i] = 'a';
    MUST(zeMemGetIpcHandle(s.context, kinds[i], &handle));
    MUST(zeMemGetIpcHandle(s.context, kinds[i], &again));
    CHECK(memcmp(&handle, &again, sizeof handle) == 0);
    MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened[0]));
    CHECK(opened[0] != kinds[i] && *(char *)opened[0] == 'a');
    *kinds[i] = 'b';
    CHECK(*(char *)opened[0] == 'b');
    MUST(zeMemCloseIpcHandle(s.context, opened[0]));
    if (i > 0) MUST(zeMemFree(s.context, kinds[i]));
  }
  MUST(zeMemGetIpcHandle(s.context, kinds[0], &handle));
  bool distinct = true;
  for (int i = 0; i < TIMES; i++) {
    MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened[i]));
    distinct = distinct && (i == 0 || opened[i] != opened[i - 1]);
  }
  CHECK(distinct);
  /* Opened memory can be passed on after its maker has freed it. */
  MUST(zeMemFree(s.context, kinds[0]));
  MUST(zeMemGetIpcHandle(s.context, opened[7], &handle));
  void *last;
  MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &last));
  *(char *)last = 'c';
  CHECK(*(char *)opened[1999] == 'c');
  for (int i = 0; i < TIMES; i++)
    MUST(zeMemCloseIpcHandle(s.context, opened[i]));
  MUST(zeMemCloseIpcHandle(s.context, last));
}

/* Freed memory is not reused while it is shared. */
static void test_reuse(setup s, size_t size)
{
  ze_ipc_mem_handle_t handle;
  void *opened;
  bool well = true;
  for (int i = 0; i < 200; i++) {
    unsigned char *memory = host_new(s, size);
    memset(memory, 7, size);
    MUST(zeMemGetIpcHandle(s.context, memory, &handle));
    MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened));
    MUST(zeMemFree(s.context, memory));
    unsigned char *others[2] = {malloc(size), host_new(s, size)};
    for (int j = 0; j < 2; j++) memset(others[j], 9, size);
    well = well && is_all(opened, 7, size);
    free(others[0]);
    MUST(zeMemFree(s.context, others[1]));
    MUST(zeMemCloseIpcHandle(s.context, opened));
  }
  CHECK(well);
}

static void test_bad_handles(setup s)
{
  void *opened = NULL;
  ze_ipc_mem_handle_t handle, bad;
  char *memory = device_new(s, 10000, NULL);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeMemGetIpcHandle(NULL, memory, &handle));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeMemGetIpcHandle(s.context, memory, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemGetIpcHandle(s.context, &opened, &handle));
  MUST(zeMemGetIpcHandle(s.context, memory, &handle));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeMemOpenIpcHandle(s.context, NULL, handle, 0, &opened));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeMemOpenIpcHandle(s.context, s.device, handle, 0x10, &opened));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeMemOpenIpcHandle(s.context, s.device, handle, 0, NULL));
  /* Damage to any byte is detected, except in the descriptor, which may be
     different in every process. */
  int refused = 0, opens = 0;
  for (size_t i = 0; i < sizeof handle.data; i++) {
    bad = handle;
    bad.data[i] = (char)(bad.data[i] ^ 0x41);
    if (zeMemOpenIpcHandle(s.context, s.device, bad, 0, &opened) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT)
      refused++;
    else if (opened != NULL &&
             zeMemCloseIpcHandle(s.context, opened) == ZE_RESULT_SUCCESS)
      opens++;
  }
  EQUAL(refused + opens, 64);
  CHECK(refused >= 52);
  memset(&bad, 0, sizeof bad);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemOpenIpcHandle(s.context, s.device, bad, 0, &opened));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, mem_put(s.context, bad));
  /* Descriptors of other files. */
  int pipes[2], file = memfd_create("short", 0), closed = 900;
  CHECK(pipe(pipes) == 0 && ftruncate(file, 100000) == 0);
  const int others[] = {0, pipes[0], file, closed};
  for (int i = 0; i < 4; i++)
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            mem_from(s.context, (uint64_t)others[i], &bad));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          mem_from(s.context, UINT64_MAX, &bad));
  close(pipes[0]), close(pipes[1]), close(file);
  /* Handles of events. */
  ze_event_pool_handle_t pool = pool_new(s, ZE_EVENT_POOL_FLAG_IPC, 3), other;
  ze_ipc_event_pool_handle_t events;
  MUST(zeEventPoolGetIpcHandle(pool, &events));
  memcpy(&bad, &events, sizeof bad);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemOpenIpcHandle(s.context, s.device, bad, 0, &opened));
  memcpy(&events, &handle, sizeof bad);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeEventPoolOpenIpcHandle(s.context, events, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventPoolCloseIpcHandle(pool));
  MUST(zeEventPoolDestroy(pool));
  pool = pool_new(s, 0, 3);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeEventPoolGetIpcHandle(pool, &events));
  MUST(zeEventPoolDestroy(pool));
  /* Freed memory cannot be opened any more. */
  MUST(zeMemFree(s.context, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened));
}

/* The file's last page describes it.  A process that writes false values there
   cannot make another one read or write out of bounds. */
static void test_lies(setup s)
{
  ze_ipc_mem_handle_t handle;
  uint64_t descriptor;
  char *memory = device_new(s, 10000, NULL);
  MUST(zeMemGetIpcHandle(s.context, memory, &handle));
  MUST(mem_to(s.context, handle, &descriptor));
  int copy = fcntl((int)descriptor, F_DUPFD_CLOEXEC, 0);
  CHECK(ftruncate(copy, 0) != 0 && ftruncate(copy, 1 << 20) != 0);
  MUST(zeMemFree(s.context, memory));
  uint64_t words[5], lies[] = {0, 1, 4096, 20000, 1 << 20, UINT64_MAX};
  CHECK(pread(copy, words, sizeof words, 12288) == sizeof words);
  EQUAL(words[3], 10000);
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    CHECK(pwrite(copy, &lies[i], 8, 12288 + 3 * 8) == 8);
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            mem_from(s.context, (uint64_t)copy, &handle));
  }
  close(copy);
}

/* An allocation can be imported from the file of an exported one. */
static void test_export_import(setup s)
{
  ze_external_memory_export_fd_t export = {
    .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
    .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
  ze_memory_allocation_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
    .pNext = &export};
  char *memory = device_new(s, 9000, NULL);
  memory[8999] = 'x';
  MUST(zeMemGetAllocProperties(s.context, memory, &properties, NULL));
  ze_external_memory_import_fd_t import = {
    .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
    .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
    .fd = export.fd};
  char *other = device_new(s, 9000, &import);
  CHECK(other != memory && other[8999] == 'x');
  MUST(zeMemFree(s.context, memory));
  CHECK(other[8999] == 'x');
  ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .pNext = &import};
  void *more;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemAllocDevice(s.context, &desc, 9001, 0, s.device, &more));
  import.fd = 0;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemAllocDevice(s.context, &desc, 9000, 0, s.device, &more));
  MUST(zeMemFree(s.context, other));
}

/* While a command waits, memory cannot be moved, but memory allocated for
   export need not be. */
static void test_busy(setup s)
{
  ze_external_memory_export_desc_t export = {
    .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
    .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
  ze_ipc_mem_handle_t handle;
  char *plain = device_new(s, 100, NULL), *made = device_new(s, 100, &export);
  ze_event_pool_handle_t pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  ze_event_handle_t event = event_new(pool, 0);
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  char one = 1;
  MUST(zeCommandListAppendMemoryFill(list, plain, &one, 1, 100, NULL, 1,
                                     &event));
  RETURNS(ZE_RESULT_SUCCESS, zeMemGetIpcHandle(s.context, made, &handle));
  RETURNS(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
          zeMemGetIpcHandle(s.context, plain, &handle));
  MUST(zeEventHostSignal(event));
  RETURNS(ZE_RESULT_SUCCESS, zeMemGetIpcHandle(s.context, plain, &handle));
  EQUAL(plain[99], 1);
  MUST(zeCommandListDestroy(list));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, plain));
  MUST(zeMemFree(s.context, made));
}

/* ------------------------------------------------------------------------
 * Events.
 */

enum { EVENTS = 10 };

/* The other process, step by step with test_events. */
static int other_events(void)
{
  setup s = setup_new();
  ze_ipc_event_pool_handle_t handle;
  ze_event_pool_handle_t pool;
  ze_event_handle_t event[EVENTS];
  hear(0, &handle, sizeof handle);
  MUST(zeEventPoolOpenIpcHandle(s.context, handle, &pool));
  for (uint32_t i = 0; i < EVENTS; i++) event[i] = event_new(pool, i);
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                          .index = EVENTS};
  ze_event_handle_t beyond;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeEventCreate(pool, &desc, &beyond));
  /* 0 was set before the pool was opened, 1 is set while the host sleeps. */
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(event[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event[1]));
  say(0, 1);
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event[1], UINT64_MAX));
  ze_kernel_timestamp_result_t times;
  MUST(zeEventQueryKernelTimestamp(event[1], &times));
  tell(0, &times, sizeof times, -1);
  /* A command waits for 2, which is set later, and sets 3. */
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  MUST(zeCommandListAppendBarrier(list, event[3], 1, &event[2]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(event[3], 20000000));
  say(0, 2);
  EQUAL(listen_for(0), 3); /* 3 was seen there, and reset */
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event[3]));
  /* 4 and 5: back and forth. */
  for (int i = 0; i < 200; i++) {
    MUST(zeEventHostSynchronize(event[4], UINT64_MAX));
    MUST(zeEventHostReset(event[4]));
    MUST(zeEventHostSignal(event[5]));
  }
  /* Commands: 6 starts one, which sets 7. */
  for (int i = 0; i < 200; i++) {
    MUST(zeCommandListAppendWaitOnEvents(list, 1, &event[6]));
    MUST(zeCommandListAppendEventReset(list, event[6]));
    MUST(zeCommandListAppendSignalEvent(list, event[7]));
    MUST(zeEventHostSynchronize(event[8], UINT64_MAX));
    MUST(zeEventHostReset(event[8]));
    MUST(zeEventHostSignal(event[9]));
  }
  MUST(zeCommandListDestroy(list));
  for (uint32_t i = 0; i < EVENTS; i++) MUST(zeEventDestroy(event[i]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventPoolCloseIpcHandle(pool));
  CHECK_DONE();
}

static void test_events(setup s)
{
  pid_t process;
  ze_ipc_event_pool_handle_t handle;
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
                      ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, EVENTS);
  ze_event_handle_t event[EVENTS];
  for (uint32_t i = 0; i < EVENTS; i++) event[i] = event_new(pool, i);
  MUST(zeEventHostSignal(event[0]));
  MUST(zeEventPoolGetIpcHandle(pool, &handle));
  int socket = other_start("events", &process);
  tell(socket, &handle, sizeof handle, -1);
  EQUAL(listen_for(socket), 1);
  AWAIT(state_of(process) == 'S');
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  /* This process does not query whether this is done. */
  MUST(zeCommandListAppendSignalEvent(list, event[1]));
  ze_kernel_timestamp_result_t times, there;
  hear(socket, &there, sizeof there);
  MUST(zeEventQueryKernelTimestamp(event[1], &times));
  CHECK(memcmp(&times, &there, sizeof times) == 0);
  CHECK(times.global.kernelEnd > times.global.kernelStart);
  EQUAL(listen_for(socket), 2);
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event[3]));
  MUST(zeEventHostSignal(event[2]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event[3], UINT64_MAX));
  MUST(zeEventHostReset(event[3]));
  say(socket, 3);
  double begin = seconds();
  for (int i = 0; i < 200; i++) {
    MUST(zeEventHostSignal(event[4]));
    MUST(zeEventHostSynchronize(event[5], UINT64_MAX));
    MUST(zeEventHostReset(event[5]));
  }
  printf("# host to host and back: %.0f us\n", (seconds() - begin) / 200e-6);
  begin = seconds();
  for (int i = 0; i < 200; i++) {
    MUST(zeCommandListAppendSignalEvent(list, event[6]));
    MUST(zeCommandListAppendWaitOnEvents(list, 1, &event[7]));
    MUST(zeCommandListAppendEventReset(list, event[7]));
    MUST(zeCommandListAppendSignalEvent(list, event[8]));
    MUST(zeEventHostSynchronize(event[9], UINT64_MAX));
    MUST(zeEventHostReset(event[9]));
  }
  printf("# command to command and back: %.0f us\n",
         (seconds() - begin) / 200e-6);
  CHECK(other_end(socket, process));
  MUST(zeCommandListDestroy(list));
  for (uint32_t i = 0; i < EVENTS; i++) MUST(zeEventDestroy(event[i]));
  MUST(zeEventPoolDestroy(pool));
}

/* Memory that OpenCL allocated cannot be shared as a file. */
static void test_refusal(setup s)
{
  void *memory = shared_new(s, 4096);
  ze_ipc_mem_handle_t handle = {{0}};
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zeMemGetIpcHandle(s.context, memory, &handle));
  MUST(zeMemFree(s.context, memory));
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "memory") == 0) return other_memory(false);
  if (argc > 1 && strcmp(argv[1], "socket") == 0) return other_memory(true);
  if (argc > 1 && strcmp(argv[1], "events") == 0) return other_events();
  setup s = setup_new();
  functions_find(s);
  ze_driver_ipc_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
  MUST(zeDriverGetIpcProperties(s.driver, &properties));
  bool memory = takes_host_pointers(s);
  EQUAL(properties.flags,
        (memory ? ZE_IPC_PROPERTY_FLAG_MEMORY : 0) |
            ZE_IPC_PROPERTY_FLAG_EVENT_POOL);
  for (int i = 0; i < 4 && memory; i++) test_memory(s, i % 2 == 1, i / 2 == 1);
  if (memory) {
    test_same_process(s);
    test_reuse(s, 70000);
  test_reuse(s, 200000);
    test_bad_handles(s);
    test_lies(s);
    test_export_import(s);
    test_busy(s);
  } else
    test_refusal(s);
  test_events(s);
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
