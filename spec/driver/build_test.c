/*
 * build_test.c - modules are first built in a separate process.
 * SPDX-License-Identifier: MIT
 *
 * Each case runs in a separate process on a copy of the driver, with our
 * program in place of lze-build.
 */
#include "check.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[4096]; /* of the copy; empty caches are also in it */
static char genuine[4096];   /* the build's lze-build */

/* Replaces lze-build with a script that does not serve; server_test.c tests
   serving. */
static void helper_set(const char *script)
{
  shell("mkdir -p '%s/libexec/lze' && cd '%s/libexec/lze' && "
        "printf '#!/bin/sh\\n%%s\\n%%s\\n' '[ $# -eq 0 ] || exit 1' '%s' "
        ">lze-build && chmod +x lze-build",
        directory, directory, script);
}

/* Makes the module of saxpy.spv; the log, or the description, goes to text. */
static ze_result_t create(setup s, char *text, size_t cap)
{
  size_t size;
  void *bytes = file_read("kernels/saxpy.spv", &size);
  ze_module_handle_t module;
  ze_result_t result = module_try(s, bytes, size, &module, text, cap);
  if (result == ZE_RESULT_SUCCESS) {
    ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
    MUST(zeKernelDestroy(kernel));
    MUST(zeModuleDestroy(module));
  } else
    CHECK(module == NULL);
  free(bytes);
  return result;
}

/* Checks that the module is refused and the log has one of the two texts. */
static void refused_for(setup s, const char *words, const char *others)
{
  char text[65536];
  RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, create(s, text, sizeof text));
  check_(__FILE__, __LINE__,
         strstr(text, words) != NULL || strstr(text, others) != NULL,
         "'%s' is in the log: %s", words, text);
}

static void refused(setup s, const char *words)
{
  refused_for(s, words, words);
}

static void built(setup s)
{
  char text[65536];
  RETURNS(ZE_RESULT_SUCCESS, create(s, text, sizeof text));
}

static long count_lines(const char *name)
{
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "r");
  long lines = 0;
  if (f == NULL) return 0;
  for (int c; (c = getc(f)) != EOF;) lines += c == '\n';
  fclose(f);
  return lines;
}

/* Uses a script that counts its runs and then does the work. */
static void helper_count(void)
{
  char script[16384];
  snprintf(script, sizeof script, "echo run >>%s/runs; exec %s \"$@\"",
           directory, genuine);
  helper_set(script);
}

static void case_crash(void)
{
  helper_set("echo words of a compiler >&2; kill -ABRT $$");
  setup s = setup_new();
  refused(s, "words of a compiler");
  refused(s, "signal 6");
  helper_set("echo error: no >&2; exit 1");
  refused(s, "error: no");
  /* The failure was not cached, neither as good nor as bad. */
  helper_count();
  built(s);
  EQUAL(count_lines("runs"), 1);
}

/* Uses a script that starts a process, writes its number into a file, and then
   waits for ever. */
static void helper_wait(void)
{
  char script[8192];
  snprintf(script, sizeof script,
           "sleep 600 & echo $! $$ >%s/child; wait", directory);
  helper_set(script);
}

/* Returns true if both processes have been started. */
static bool started(int pids[2])
{
  char path[8192];
  snprintf(path, sizeof path, "%s/child", directory);
  FILE *f = fopen(path, "r");
  if (f == NULL) return false;
  int n = fscanf(f, "%d %d", &pids[0], &pids[1]);
  fclose(f);
  return n == 2;
}

/* Waits until the process has ended; its parent need not have noticed. */
static void ended(int pid)
{
  AWAIT(strchr("XZ", state_of(pid)) != NULL);
}

/* A build that takes too long is stopped, with all processes it started. */
static void case_hang(void)
{
  int pids[2] = {0, 0};
  helper_wait();
  setenv("LZE_BUILD_SECONDS", "1", 1);
  setup s = setup_new();
  double start = seconds();
  refused(s, "took longer than 4 s");
  double spent = seconds() - start;
  check_(__FILE__, __LINE__, spent >= 4, "took %.1f s", spent);
  CHECK(started(pids) && pids[0] > 1);
  ended(pids[0]);
  ended(pids[1]);
}

/* A build also stops when the process that waits for it is killed. */
static void case_orphaned(void)
{
  static const int signals[] = {SIGKILL, SIGTERM};
  for (int i = 0; i < 2; i++) {
    int pids[2] = {0, 0}, status;
    helper_wait();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      refused(setup_new(), "is never reached");
      exit(1);
    }
    AWAIT(started(pids));
    kill(child, signals[i]);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    CHECK(pids[0] > 1 && pids[1] > 1);
    if (pids[0] <= 1 || pids[1] <= 1) return;
    ended(pids[0]);
    ended(pids[1]);
    shell("rm '%s/child'", directory);
  }
  helper_count();
  built(setup_new());
}

/* A build that never ends is stopped after its limit of processor time. */
static void case_spin(void)
{
  helper_set("while :; do :; done");
  setenv("LZE_BUILD_SECONDS", "2", 1);
  /* On a busy machine, 8 s may pass before it has had 2 s of a processor. */
  refused_for(setup_new(), "took more than 2 s of processor time",
              "took longer than 8 s");
}

/* Its whole output is in the log. */
static void case_wordy(void)
{
  helper_set("yes it goes on | head -c 40000 >&2; echo and ends >&2; exit 1");
  refused(setup_new(), "and ends");
}

static void case_absent(void)
{
  setup s = setup_new();
  refused(s, "lze-build");
}

static void case_off(void)
{
  setenv("LZE_BUILD_SECONDS", "0", 1);
  built(setup_new());
}

static void case_nonsense(void)
{
  helper_count();
  setenv("LZE_BUILD_SECONDS", "soon", 1);
  refused(setup_new(), "LZE_BUILD_SECONDS is 'soon'");
}

/* A module is built once for all processes. */
static void case_once(void)
{
  helper_count();
  fflush(stdout);
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    if (child == 0) {
      setup s = setup_new();
      built(s);
      built(s);
      exit(check_failed);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EQUAL(status, 0);
    EQUAL(count_lines("runs"), 1);
  }
}

/* Several processes that start at once build one after the other. */
static void case_together(void)
{
  char script[16384];
  snprintf(script, sizeof script,
           "mkdir %s/taken || exit 1; sleep 0.3; echo run >>%s/runs; "
           "rmdir %s/taken; exit 1",
           directory, directory, directory);
  helper_set(script);
  fflush(stdout);
  for (int i = 0; i < 3; i++)
    if (fork() == 0) {
      setup s = setup_new();
      refused(s, "failed with status 1");
      exit(check_failed);
    }
  for (int i = 0; i < 3; i++) {
    int status = -1;
    wait(&status);
    EQUAL(status, 0);
  }
  EQUAL(count_lines("runs"), 3);
}

/* Without a cache, a module is built once per process. */
static void case_uncached(void)
{
  helper_count();
  setenv("LZE_CACHE", "off", 1);
  setup s = setup_new();
  built(s);
  built(s);
  EQUAL(count_lines("runs"), 1);
}

/* The host's children and signals are left alone. */
static void case_reaped(void)
{
  helper_count();
  setup s = setup_new();
  pid_t mine = fork();
  if (mine == 0) _exit(7);
  built(s);
  int status;
  EQUAL(waitpid(-1, &status, 0), mine);
  EQUAL(WEXITSTATUS(status), 7);
  CHECK(waitpid(-1, &status, WNOHANG) == -1);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
  {"crash", case_crash},       {"hang", case_hang},
  {"spin", case_spin},         {"wordy", case_wordy},
  {"absent", case_absent},     {"off", case_off},
  {"nonsense", case_nonsense}, {"once", case_once},
  {"together", case_together}, {"uncached", case_uncached},
  {"reaped", case_reaped},     {"orphaned", case_orphaned},
};
enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
  const char *build = getenv("LZE_TEST_BUILD");
  snprintf(genuine, sizeof genuine, "%s/libexec/lze/lze-build",
           build != NULL ? build : "build");
  if (argc == 3) {
    snprintf(directory, sizeof directory, "%s", argv[2]);
    for (size_t i = 0; i < CASES; i++)
      if (strcmp(cases[i].name, argv[1]) == 0) {
        cases[i].run();
        return check_failed;
      }
    return 2;
  }
  const char *parent = getenv("TMPDIR");
  char driver[8192], cache[8192];
  for (size_t i = 0; i < CASES; i++) {
    snprintf(directory, sizeof directory, "%s/lze-build-XXXXXX",
             parent != NULL ? parent : "/tmp");
    if (mkdtemp(directory) == NULL) return 1;
    snprintf(driver, sizeof driver, "%s/libze_opencl.so", directory);
    snprintf(cache, sizeof cache, "%s/cache", directory);
    shell("cp '%s' '%s'", getenv("ZE_ENABLE_ALT_DRIVERS"), driver);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      setenv("ZE_ENABLE_ALT_DRIVERS", driver, 1);
      setenv("XDG_CACHE_HOME", cache, 1);
      setenv("POCL_CACHE_DIR", cache, 1);
      execl(argv[0], argv[0], cases[i].name, directory, (char *)NULL);
      _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check_(__FILE__, __LINE__, status == 0, "case %s ends with status 0x%x",
           cases[i].name, (unsigned)status);
    shell("rm -rf '%s'", directory);
  }
  CHECK_DONE();
}
