/*
 * environment_test.c - settings of a host before lze looks for drivers, and the
 * log of a process that shares its standard error.
 * SPDX-License-Identifier: MIT
 *
 * Each case runs in a separate process, because the drivers are chosen once per
 * process.
 */
#include "../driver/check.h"

#include "lze.h"

#include <lualib.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char variable[] = "ZE_ENABLE_ALT_DRIVERS";

/* Returns the value of a Lua expression in this process. */
static const char *value(const char *expression) {
  lua_State *L = luaL_newstate(); /* lives as long as the process */
  luaL_openlibs(L);
  luaL_requiref(L, "lze", luaopen_lze, 1);
  lua_pushfstring(L, "return %s", expression);
  if (luaL_dostring(L, lua_tostring(L, -1)) != LUA_OK)
    printf("not ok - %s\n", lua_tostring(L, -1));
  return lua_tostring(L, -1);
}

static const char *info(void) { return value("lze.info()"); }

static bool plain(void) {
  return strstr(info(), "device 1:") != NULL && getenv(variable) == NULL;
}

static bool kept(void) {
  if (lze_keep_environment(1) != LZE_OK) return false;
  return strstr(info(), "the program forbids a change of the environment") &&
         getenv(variable) == NULL;
}

/* A value that the host has set is left alone. */
static bool kept_own(void) {
  setenv(variable, "libze_none.so", 1);
  if (lze_keep_environment(1) != LZE_OK) return false;
  return strstr(info(), "the drivers are those of") != NULL &&
         strcmp(getenv(variable), "libze_none.so") == 0;
}

/* A directory with an invalid driver shows that it is searched first. */
static bool elsewhere(void) {
  char directory[] = "/tmp/lze-XXXXXX", file[64];
  if (mkdtemp(directory) == NULL) return false;
  snprintf(file, sizeof file, "%s/libze_opencl.so", directory);
  FILE *f = fopen(file, "w");
  if (f == NULL) return false;
  fputs("not a driver\n", f);
  fclose(f);
  bool good = lze_set_driver_path(directory) == LZE_OK &&
              strstr(info(), "software (OpenCL)") == NULL;
  remove(file);
  rmdir(directory);
  return good;
}

/* A directory without a driver changes nothing. */
static bool nowhere(void) {
  return lze_set_driver_path("/proc/none") == LZE_OK && plain();
}

/* A log line is a single write.  Processes that share a standard error, such as
   MPI processes, cannot write into it. */
static bool logs_lines(void) {
  int ends[2];
  char text[512];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return false;
  int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  setenv("LZE_LOG", "builds", 1);
  value("lze.kernel(function(x) x[1] = 7 end)(1, lze.buffer('int', 1))");
  dup2(before, STDERR_FILENO);
  int lines = 0;
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0; lines++) {
    if (memchr(text, '\n', (size_t)n) != text + n - 1) return false;
  }
  return lines > 0;
}

int main(void) {
  static const struct {
    const char *name;
    bool (*run)(void);
  } cases[] = {{"plain", plain},
               {"kept", kept},
               {"kept_own", kept_own},
               {"elsewhere", elsewhere},
               {"nowhere", nowhere},
               {"logs_lines", logs_lines}};
  unsetenv(variable);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(cases[i].run() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    check_(__FILE__, __LINE__, status == 0, "%s", cases[i].name);
  }
  CHECK_DONE();
}
