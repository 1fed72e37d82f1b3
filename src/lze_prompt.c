/*
 * lze_prompt.c - C functions of the command lze: lines from a terminal.
 * SPDX-License-Identifier: MIT
 *
 * require "lze.prompt" returns these functions, which are for bin/lze only.
 * Lines are edited by the system's readline or libedit, which is opened at the
 * first use; nothing is linked with it.
 */
#include "base/lze_box.h"
#include "base/lze_open.h"
#include "device/lze_limits.h"
#include "host/lze_top.h"
#include "plan/lze_plan.h"

#include "private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* Functions of both libraries; NULL for a missing one. */
typedef struct Editor {
  bool asked, gnu;
  char *(*readline)(const char *prompt);
  void (*add_history)(const char *line);
  int (*initialize)(void);
  void (*stifle_history)(int most);
  void (*clean_up)(void);
  char **(*matches)(const char *text, char *(*next)(const char *, int));
  char **(**complete)(const char *text, int start, int end);
  const char **breaks;
  char **line;
  int *append, *over;
} Editor;

enum { MOST_HISTORY = 2000 };

static Editor editor;

/* Store a symbol in the pointer at `to`, which may be a function pointer. */
static void find(void *library, const char *name, void *to) {
  void *symbol = dlsym(library, name);
  memcpy(to, &symbol, sizeof symbol);
}

static const Editor *editor_open(void) {
  static const char *const names[] = {"libreadline.so.8", "libreadline.so.7",
                                      "libedit.so.2", "libedit.so.0"};
  Editor *e = &editor;
  void *library = NULL;
  if (e->asked) return e;
  e->asked = true;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    e->gnu = i < 2;
  }
  if (library == NULL) return e;
  find(library, "readline", &e->readline);
  find(library, "add_history", &e->add_history);
  find(library, "rl_initialize", &e->initialize);
  find(library, "stifle_history", &e->stifle_history);
  find(library, "rl_cleanup_after_signal", &e->clean_up);
  find(library, "rl_completion_matches", &e->matches);
  find(library, "rl_attempted_completion_function", &e->complete);
  find(library, "rl_completer_word_break_characters", &e->breaks);
  find(library, "rl_line_buffer", &e->line);
  find(library, "rl_completion_append_character", &e->append);
  find(library, "rl_attempted_completion_over", &e->over);
  /* In libedit, history works only after this call. */
  if (e->initialize != NULL) e->initialize();
  if (e->stifle_history != NULL) e->stifle_history(MOST_HISTORY);
  return e;
}

/* --- completion ----------------------------------------------------------- */

/* The state that reads a line: the function at 2 completes. */
static lua_State *reading;

static bool completing;

/* Returns the n-th word of the table at the top of the stack, malloc'ed, or
   NULL. */
static char *complete_next(const char *text, int state) {
  static lua_Integer n;
  (void)text;
  if (state == 0) n = 0;
  lua_rawgeti(reading, -1, ++n);
  const char *word = lua_tostring(reading, -1);
  char *copy = word != NULL ? strdup(word) : NULL;
  lua_pop(reading, 1);
  return copy;
}

static char **complete(const char *text, int start, int end) {
  lua_State *L = reading;
  char **found = NULL;
  if (editor.over != NULL) *editor.over = 1; /* never file names */
  if (editor.append != NULL) *editor.append = 0;
  if (L == NULL || !lua_isfunction(L, 2) || !lua_checkstack(L, 8)) return NULL;
  completing = true;
  lua_pushvalue(L, 2);
  lua_pushlstring(L, *editor.line, (size_t)end);
  lua_pushinteger(L, start + 1);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_istable(L, -1))
    found = editor.matches(text, complete_next);
  lua_pop(L, 1);
  completing = false;
  return found;
}

/* --- lines ---------------------------------------------------------------- */

static sigjmp_buf interrupted;

/* readline calls this after it has restored the terminal. */
static void line_interrupt(int signal) {
  (void)signal;
  if (!completing) siglongjmp(interrupted, 1);
}

/* read(prompt [, complete]) -> line | nil at the end | false after Ctrl-C
   complete(line, start) -> array of words for the text that begins at
   `start` */
static int prompt_read(lua_State *L) {
  const char *prompt = luaL_checkstring(L, 1);
  const Editor *e = editor_open();
  lua_settop(L, 2);
  if (e->readline == NULL) {
    lua_getglobal(L, "io");
    lua_getfield(L, -1, "read");
    fputs(prompt, stdout);
    fflush(stdout);
    lua_call(L, 0, 1);
    return 1;
  }
  if (e->complete != NULL && e->matches != NULL && e->line != NULL) {
    *e->complete = complete;
    /* Names with fields are one word, so that fields can be completed. */
    if (e->breaks != NULL) *e->breaks = " \t\n\"\\'><=;+-*/%^~#|&(){}[],!";
  }
  struct sigaction action = {.sa_handler = e->gnu ? line_interrupt : SIG_IGN};
  struct sigaction before;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
  /* LLVM, which is in some drivers, would catch the first Ctrl-\. */
  struct sigaction quit = {.sa_handler = SIG_DFL}, quit_before;
  sigemptyset(&quit.sa_mask);
  sigaction(SIGQUIT, NULL, &quit_before);
  if (quit_before.sa_handler != SIG_IGN) sigaction(SIGQUIT, &quit, NULL);
  reading = L;
  char *volatile line = NULL;
  bool ended = sigsetjmp(interrupted, 1) == 0;
  if (ended) line = e->readline(prompt);
  else if (e->clean_up != NULL) e->clean_up();
  reading = NULL;
  sigaction(SIGINT, &before, NULL);
  sigaction(SIGQUIT, &quit_before, NULL);
  if (!ended) {
    putchar('\n');
    lua_pushboolean(L, false);
  } else {
    lua_pushstring(L, line); /* nil for NULL */
  }
  free(line);
  return 1;
}

/* remember(text) -> true if there is a history, to which it is added */
static int prompt_remember(lua_State *L) {
  const char *text = luaL_checkstring(L, 1);
  const Editor *e = editor_open();
  if (e->add_history != NULL) e->add_history(text);
  lua_pushboolean(L, e->add_history != NULL);
  return 1;
}

/* append(path, text) -> true if it was written: in one call, so that texts of
   several processes are not mixed, to a file that only this user can access */
static int prompt_append(lua_State *L) {
  size_t size;
  const char *path = luaL_checkstring(L, 1);
  const char *text = luaL_checklstring(L, 2, &size);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  bool written = fd >= 0 && write(fd, text, size) == (ssize_t)size;
  if (fd >= 0) close(fd);
  lua_pushboolean(L, written);
  return 1;
}

/* written() -> true if all output to stdout was written; the reason for an
   earlier failure is not available any more */
static int prompt_written(lua_State *L) {
  lua_pushboolean(L, fflush(stdout) == 0 && !ferror(stdout));
  return 1;
}

/* terminal(fd) -> true if it is a terminal */
static int prompt_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* --- calls that Ctrl-C ends
   ------------------------------------------------ */

static lua_State *calling;

static void call_stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  lua_pushliteral(L, "interrupted!");
  lua_error(L);
}

static void call_interrupt(int signal) {
  (void)signal;
  lua_sethook(calling, call_stop,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* call(f, handler) -> true, results | false, result of the handler for the
   error; Ctrl-C raises an error in f.  In coroutines and long C functions no
   hook runs, so it raises nothing: a second Ctrl-C ends the process. */
static int prompt_call(lua_State *L) {
  struct sigaction action = {.sa_handler = call_interrupt,
                             .sa_flags = (int)SA_RESETHAND};
  struct sigaction before;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_insert(L, 1);
  sigemptyset(&action.sa_mask);
  calling = L;
  sigaction(SIGINT, &action, &before);
  int status = lua_pcall(L, 0, LUA_MULTRET, 1);
  sigaction(SIGINT, &before, NULL);
  if (lua_gethook(L) == call_stop) lua_sethook(L, NULL, 0, 0); /* too late */
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 1);
  return lua_gettop(L);
}

static int prompt_kinds(lua_State *L) {
  lze_push_kinds(L);
  return 1;
}

/* limits(name [, {copy, float, double}]) -> the limits stored for a device, or
   nil; stores the new ones first */
static int prompt_limits(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (lua_istable(L, 2)) lze_keep_limits(L, name, 2);
  lze_push_limits(L, name);
  return 1;
}

/* private(path) -> true if it is a directory that only this user can enter; nil
   if it does not exist */
static int prompt_private(lua_State *L) {
  int fd = private_open(luaL_checkstring(L, 1));
  if (fd < 0 && errno == ENOENT) return 0;
  lua_pushboolean(L, fd >= 0);
  if (fd >= 0) close(fd);
  return 1;
}

/* page(directory, name) -> the bytes of a page of `lze top`, or nil */
static int prompt_page(lua_State *L) {
  const char *directory = luaL_checkstring(L, 1);
  char bytes[LZE_PAGE_BYTES];
  if (!lze_page_read(directory, luaL_checkstring(L, 2), bytes)) return 0;
  lua_pushlstring(L, bytes, sizeof bytes);
  return 1;
}

/* remove_page(directory, name): removes it if it is a page */
static int prompt_remove_page(lua_State *L) {
  lze_page_remove(luaL_checkstring(L, 1), luaL_checkstring(L, 2));
  return 0;
}

/* json() -> functions that write JSON: lua/json.lua
   kinds() -> the methods and fields of each kind of object, by name
   help(word) -> the text of lze.help for it, and true if the manual has it */
static const luaL_Reg functions[] = {
    {"read", prompt_read},         {"remember", prompt_remember},
    {"append", prompt_append},     {"terminal", prompt_terminal},
    {"call", prompt_call},         {"kinds", prompt_kinds},
    {"json", lze_push_json},       {"limits", prompt_limits},
    {"private", prompt_private},   {"page", prompt_page},
    {"remove_page", prompt_remove_page},
    {"help", lze_push_help},       {"written", prompt_written},
    {NULL, NULL}};

API int luaopen_lze_prompt(lua_State *L);

API int luaopen_lze_prompt(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
