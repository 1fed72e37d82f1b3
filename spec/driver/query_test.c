/*
 * query_test.c - events, if a query of OpenCL may block.
 * SPDX-License-Identifier: MIT
 *
 * Such queries never block on PoCL; a setting makes the driver assume that they
 * do.  The driver reads it when it is initialised, so the event tests run
 * again.
 */
#include "check.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  static const char *const tests[] = {"append", "counter", "event", "graph"};
  (void)argc;
  setenv("ZOCL_QUERY_BLOCKS", "1", 1);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    char path[PATH_MAX];
    const char *end = strrchr(argv[0], '/');
    snprintf(path, sizeof path, "%.*s%s_test",
             end == NULL ? 0 : (int)(end + 1 - argv[0]), argv[0], tests[i]);
    printf("# %s\n", path);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      execl(path, path, NULL);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    check_(__FILE__, __LINE__, status == 0, "%s: status 0x%x", tests[i],
           (unsigned)status);
  }
  CHECK_DONE();
}
