/*
 * tool.h - running a compiler or translator in its own process.
 * SPDX-License-Identifier: MIT
 *
 * Tools are executed, never linked: some of them abort on valid input and must
 * not end this process. They are run by absolute path, without a shell, in
 * their own process group, with no descriptors except 0, 1 and 2, which are
 * anonymous files. They end with the thread that waits for them, so that
 * nothing is left behind.
 */
#ifndef LZE_TOOL_H
#define LZE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Text that grows; {0} is empty. The owner frees `text`. */
typedef struct tool_text {
  char *text;
  size_t size;
  bool lost;             /* memory ran out, and a part is missing */
  bool unstarted;        /* it explains why a tool has not run at all */
} tool_text;

/* Adds formatted text; drops it if memory runs out. */
void tool_text_add(tool_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds all of another text. */
void tool_text_append(tool_text *text, const tool_text *more);

/*
 * Finds `name`-N, or `name`, in the system's program directories, never in the
 * current directory or along PATH. Prefers version `version`, then the nearest
 * older and then the nearest newer one; 0 takes the newest. Writes the path to
 * `path`, which has `size` bytes. Returns the version, -1 for `name` without a
 * version, 0 if not found.
 */
int tool_find(const char *name, unsigned version, char *path, size_t size);

/* The limit of a tool's time, as a multiple of its limit of processor time. */
enum { TOOL_WAITING = 4 };

/* Called twenty times a second while a tool runs; returns false to end it. */
typedef bool tool_watch(void *of);

/*
 * Runs arguments[0] with `input` on its standard input, for at most `seconds`
 * of processor time, and TOOL_WAITING times that in all: a busy machine does
 * not make a tool fail, and a tool that waits for ever does not block its
 * caller. If `watch` is not NULL and returns false, the tool and everything it
 * has started are ended.
 *
 * Returns its standard output, malloc'ed, NUL terminated and *output_size
 * long, if it succeeded; otherwise NULL with the reason in `log`, which is
 * marked if the tool could not be started. Adds its standard error to `log` in
 * both cases.
 */
unsigned char *tool_run(char *const *arguments, const void *input,
                        size_t input_size, int seconds, tool_watch *watch,
                        void *of, size_t *output_size, tool_text *log);

/*
 * Starts arguments[0] as a process that stays: in its own session, with one
 * end of a pair of sockets (SOCK_SEQPACKET) as descriptor 3, /dev/null as 0 to
 * 2 and no other descriptor. It is not a child that this process could wait
 * for. It must end when the other end is closed.
 *
 * Returns that end, or -1 with the reason in `log`; sets *pid.
 */
int tool_start(char *const *arguments, pid_t *pid, tool_text *log);

/* Parts of tool_run, for a process that forks to run a tool. */

/* Limits processor time and core files, in the process that will do the
   work. */
void tool_limit(int seconds);
/* Returns true if a process with this status of waitpid succeeded; otherwise
   false with the reason in log. */
bool tool_ended(const char *name, int status, int seconds, tool_text *log);
/* Adds that the tool took longer than TOOL_WAITING times the seconds. */
void tool_late(const char *name, int seconds, tool_text *log);
/* Returns an anonymous file with these bytes, positioned at its start, or
   -1. */
int tool_file(const void *bytes, size_t size);
/* Returns the contents of an anonymous file, malloc'ed and NUL terminated, or
   NULL. */
unsigned char *tool_file_read(int fd, size_t *size);

#endif
