/*
 * hostile_test.c - conditions that end PoCL give an error with a reason.
 * SPDX-License-Identifier: MIT
 *
 * The hostile state belongs to a process, so each case runs in a separate one:
 * this program again, with the name of the case.
 */
#include "check.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* A process that exits in the middle of work leaves objects behind. */
__attribute__((visibility("default"))) const char *
__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

static const char *self;

/* Makes the module of saxpy.spv and launches its kernel in groups of `group`;
   returns the first result that is not success. */
static ze_result_t run(setup s, uint32_t group,
                       ze_module_build_log_handle_t *log)
{
  size_t size;
  void *bytes = file_read("kernels/saxpy.spv", &size);
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = size,
                           .pInputModule = bytes};
  ze_module_handle_t module;
  ze_result_t result =
      zeModuleCreate(s.context, s.device, &desc, &module, log);
  free(bytes);
  if (result != ZE_RESULT_SUCCESS) return result;
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  float a = 1, *x = shared_new(s, 4096), *y = shared_new(s, 4096);
  memset(x, 0, 4096);
  memset(y, 0, 4096);
  MUST(zeKernelSetGroupSize(kernel, group, 1, 1));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof y, &y));
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_group_count_t groups = {2, 1, 1};
  result =
      zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL);
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
  MUST(zeMemFree(s.context, y));
  return result;
}

/* Checks that a build is refused with `word` in the log, and succeeds after
   `mend`. */
static int refused(setup s, const char *word, void (*mend)(void))
{
  ze_module_build_log_handle_t log = NULL;
  char text[4096] = "";
  size_t n = sizeof text;
  ze_result_t result = run(s, 4, &log);
  if (log != NULL) zeModuleBuildLogGetString(log, &n, text);
  CHECK(result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  check_(__FILE__, __LINE__, strstr(text, word) != NULL,
         "'%s' in the log: %.*s", word, (int)strcspn(text, "\n"), text);
  mend();
  RETURNS(ZE_RESULT_SUCCESS, run(s, 8, NULL));
  return check_failed;
}

static char old_path[8192];
static void mend_path(void) { setenv("PATH", old_path, 1); }
static void mend_signal(void) { signal(SIGCHLD, SIG_DFL); }
static int taken[70000], taken_count;
static void mend_files(void)
{
  while (taken_count > 0) close(taken[--taken_count]);
}

static int case_path(void)
{
  setup s = setup_new();
  snprintf(old_path, sizeof old_path, "%s", getenv("PATH"));
  setenv("PATH", "/proc/none", 1);
  return refused(s, "ld", mend_path);
}

static int case_sigchld(void)
{
  signal(SIGCHLD, SIG_IGN);
  return refused(setup_new(), "SIGCHLD", mend_signal);
}

/* The launch is also refused if only its group size is new. */
static int case_launch(void)
{
  setup s = setup_new();
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "count");
  uint32_t *out = shared_new(s, 4096);
  memset(out, 0, 4096);
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_group_count_t one = {1, 1, 1};
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof out, &out));
  MUST(zeKernelSetGroupSize(kernel, 4, 1, 1));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  signal(SIGCHLD, SIG_IGN);
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  MUST(zeKernelSetGroupSize(kernel, 8, 1, 1));
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL) !=
        ZE_RESULT_SUCCESS);
  EQUAL(out[0], 2);
  signal(SIGCHLD, SIG_DFL);
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  EQUAL(out[0], 3);
  EQUAL(out[7], 1);
  return check_failed;
}

static int case_files(void)
{
  setup s = setup_new();
  struct rlimit limit = {256, 256};
  setrlimit(RLIMIT_NOFILE, &limit);
  int fd;
  while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
    taken[taken_count++] = fd;
  for (int i = 0; i < 20; i++) close(taken[--taken_count]);
  return refused(s, "descriptors", mend_files);
}

/* The cache cannot be written, as the directory is a file.  Either the driver
   has no devices and reports an error, or everything works; the process does
   not end. */
static int case_cache(void)
{
  setenv("POCL_CACHE_DIR", "/dev/null/cache", 1);
  ze_result_t result = zeInit(0);
  CHECK(result != ZE_RESULT_SUCCESS);
  return check_failed;
}

/* No thread can be started, as at a limit of processes: no device. */
static int case_threads(void)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EQUAL(pthread_attr_setstacksize(&attributes, (size_t)1 << 50), 0);
  EQUAL(pthread_setattr_default_np(&attributes), 0);
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, zeInit(0));
  pthread_attr_destroy(&attributes);
  return check_failed;
}

/* llvm-spirv's own cache cannot be written: it works uncached. */
static int case_own_cache(void)
{
  setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
  RETURNS(ZE_RESULT_SUCCESS, run(setup_new(), 4, NULL));
  return check_failed;
}

/* Damaged entries in it are ignored; it is not the cache that others share. */
static int case_damaged(void)
{
  const char *cache = getenv("POCL_CACHE_DIR");
  char pattern[4096];
  glob_t files = {.gl_pathc = 0};
  setenv("XDG_CACHE_HOME", cache, 1);
  setup s = setup_new();
  RETURNS(ZE_RESULT_SUCCESS, run(s, 4, NULL));
  snprintf(pattern, sizeof pattern, "%s/lze/*", cache);
  CHECK(glob(pattern, 0, NULL, &files) == 0 && files.gl_pathc > 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    int fd = open(files.gl_pathv[i], O_WRONLY | O_CLOEXEC);
    CHECK(pwrite(fd, "damaged", 7, 100) == 7);
    close(fd);
  }
  globfree(&files);
  RETURNS(ZE_RESULT_SUCCESS, run(s, 4, NULL));
  return check_failed;
}

static int case_no_opencl(void)
{
  setenv("OCL_ICD_VENDORS", "/proc/none.icd", 1);
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, zeInit(0));
  return check_failed;
}

/* A child forked after initialisation gets errors, and can exit. */
static int case_fork(void)
{
  setup s = setup_new();
  RETURNS(ZE_RESULT_SUCCESS, run(s, 4, NULL));
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t event = event_new(pool, 0);
  void *memory = shared_new(s, 64);
  pid_t child = fork();
  if (child == 0) {
    uint32_t n = 1;
    ze_device_handle_t device;
    void *other;
    ze_host_mem_alloc_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    CHECK(zeDeviceGet(s.driver, &n, &device) != ZE_RESULT_SUCCESS);
    CHECK(zeMemAllocHost(s.context, &desc, 64, 0, &other) != ZE_RESULT_SUCCESS);
    CHECK(zeCommandListAppendMemoryCopy(list, memory, memory, 64, NULL, 0,
                                        NULL) != ZE_RESULT_SUCCESS);
    CHECK(zeCommandListAppendSignalEvent(list, event) != ZE_RESULT_SUCCESS);
    CHECK(zeEventHostSynchronize(event, UINT64_MAX) != ZE_RESULT_SUCCESS);
    CHECK(run(s, 4, NULL) != ZE_RESULT_SUCCESS);
    MUST(zeEventDestroy(event));
    MUST(zeCommandListDestroy(list));
    exit(check_failed);
  }
  int status;
  waitpid(child, &status, 0);
  EQUAL(status, 0);
  FILE *f = popen("echo well", "r");
  char line[16] = "";
  CHECK(fgets(line, sizeof line, f) != NULL && strcmp(line, "well\n") == 0);
  EQUAL(pclose(f), 0);
  RETURNS(ZE_RESULT_SUCCESS, run(s, 16, NULL));
  return check_failed;
}

/* Nothing is launched, so no kernel is compiled. */
static int case_module(void)
{
  module_load(setup_new(), "kernels/saxpy.spv");
  return check_failed;
}

/* The process exits with kernels, compilations and blocked work in flight. */
static int case_exit(void)
{
  enum { N = 1 << 20 };
  setup s = setup_new();
  ze_kernel_handle_t kernel =
      kernel_new(module_load(s, "kernels/saxpy.spv"), "saxpy");
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  float a = 2, *x = shared_new(s, N * sizeof *x);
  float *y = shared_new(s, N * sizeof *y);
  memset(x, 0, N * sizeof *x);
  memset(y, 0, N * sizeof *y);
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof y, &y));
  for (uint32_t g = 64; g <= 1024; g *= 2) {
    ze_group_count_t groups = {N / g, 1, 1};
    MUST(zeKernelSetGroupSize(kernel, g, 1, 1));
    MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  }
  /* Two closed lists, one so long that a thread submits it. */
  ze_command_queue_handle_t queue = queue_new(s);
  for (int n = 2; n <= 200; n += 198) {
    ze_command_list_handle_t closed = list_new(s);
    ze_group_count_t groups = {16, 1, 1};
    for (int i = 0; i < n; i++)
      MUST(zeCommandListAppendLaunchKernel(closed, kernel, &groups, NULL, 0,
                                           NULL));
    MUST(zeCommandListClose(closed));
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
  }
  /* And a copy that waits for an event that is never signalled. */
  ze_event_handle_t event = event_new(pool_new(s, 0, 1), 0);
  ze_command_list_handle_t blocked =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  if (getpid() % 8 == 0)
    MUST(zeCommandListAppendMemoryCopy(blocked, x, y, 64, NULL, 1, &event));
  /* Exits at a random moment of that work; every moment must work. */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  usleep((useconds_t)(now.tv_nsec / 1000 % 100000));
  exit(0);
}

static const struct {
  const char *name;
  int (*run)(void);
} cases[] = {
  {"path", case_path},           {"sigchld", case_sigchld},
  {"launch", case_launch},       {"files", case_files},
  {"cache", case_cache},         {"own_cache", case_own_cache},
  {"damaged", case_damaged},     {"no_opencl", case_no_opencl},
  {"fork", case_fork},           {"module", case_module},
  {"exit", case_exit},           {"threads", case_threads},
};
enum { CASES = sizeof cases / sizeof *cases };

/* This program run again for one case, with its own cache: empty, or a copy of
   another. */
typedef struct child {
  pid_t pid;
  char directory[4096];
} child;

static child child_start(const char *name, const char *copied)
{
  const char *parent = getenv("TMPDIR");
  child c;
  snprintf(c.directory, sizeof c.directory, "%s/lze-hostile-XXXXXX",
           parent != NULL ? parent : "/tmp");
  if (mkdtemp(c.directory) == NULL) exit(1);
  if (copied != NULL) shell("cp -R '%s/.' '%s'", copied, c.directory);
  fflush(stdout);
  c.pid = fork();
  if (c.pid == 0) {
    setenv("POCL_CACHE_DIR", c.directory, 1);
    execl(self, self, name, (char *)NULL);
    _exit(127);
  }
  return c;
}

/* Removes the directory of a child that has ended; returns its exit status. */
static int child_clean(const child *c, int status)
{
  shell("rm -rf '%s'", c->directory);
  return status;
}

static int again(const char *name)
{
  child c = child_start(name, NULL);
  int status = -1;
  waitpid(c.pid, &status, 0);
  return child_clean(&c, status);
}

/* Exits with work in flight, `n` times, some at a time.  Most of a cold start
   is PoCL building the program, before there is any work.  So only one in four
   starts cold; the others begin with a program whose kernels are not compiled
   yet. */
static void exits(int n)
{
  enum { SOME = 4 };
  child c[SOME] = {0}, first;
  int status, started = 0, running = 0;
  setenv("LZE_BUILD_SECONDS", "0", 1);
  first = child_start("module", NULL);
  unsetenv("LZE_BUILD_SECONDS");
  waitpid(first.pid, &status, 0);
  EQUAL(status, 0);
  while (started < n || running > 0) {
    for (int i = 0; i < SOME && started < n; i++)
      if (c[i].pid == 0) {
        c[i] = child_start("exit", started++ % 4 == 0 ? NULL
                                                      : first.directory);
        running++;
      }
    pid_t pid = waitpid(-1, &status, 0);
    for (int i = 0; i < SOME; i++)
      if (c[i].pid == pid) {
        status = child_clean(&c[i], status);
        check_(__FILE__, __LINE__, status == 0, "exit with work ends with 0x%x",
               (unsigned)status);
        c[i].pid = 0;
        running--;
      }
  }
  child_clean(&first, 0);
}

int main(int argc, char **argv)
{
  self = argv[0];
  if (argc > 2 && strcmp(argv[1], "exits") == 0) {
    exits(atoi(argv[2]));
    CHECK_DONE();
  }
  if (argc > 1)
    for (size_t i = 0; i < CASES; i++)
      if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run() != 0;
  for (size_t i = 0; i < CASES; i++) {
    int status = again(cases[i].name);
    check_(__FILE__, __LINE__, status == 0, "case %s ends with status 0x%x",
           cases[i].name, (unsigned)status);
  }
  exits(10);
  CHECK_DONE();
}
