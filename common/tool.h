/*
 * tool.h - running a compiler or translator as a process of its own.
 * SPDX-License-Identifier: MIT
 *
 * Tools are executed, never linked: some of them end by assertion on input
 * that is valid, and must not take this process with them.  They are run by
 * absolute path, without a shell, in a process group of their own, with no
 * descriptor of ours but 0, 1 and 2, which are anonymous files, and end with
 * the thread that waits for them, so that nothing is left behind however they
 * end.
 */
#ifndef LZE_TOOL_H
#define LZE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Text that grows; {0} is empty. The owner frees text. */
typedef struct tool_text {
  char *text;
  size_t size;
  bool lost;             /* some of it, for want of memory */
  bool unstarted;        /* it says why a tool has not run at all */
} tool_text;

/* Add formatted text; what memory does not suffice for is lost. */
void tool_text_add(tool_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Add all of another. */
void tool_text_append(tool_text *text, const tool_text *more);

/*
 * Find `name`-N, or `name`, where the system keeps programs: never in the
 * current directory, nor along PATH.  Version `version`, else the nearest
 * older, else the nearest newer one; 0 takes the newest.  The path goes into
 * path, of `size` bytes; returns the version, -1 for `name` without one, or
 * 0 where there is none.
 */
int tool_find(const char *name, unsigned version, char *path, size_t size);

/* A tool may take this many times as long as its processor time. */
enum { TOOL_WAITING = 4 };

/* Asked twenty times a second while a tool runs: whether it is to go on. */
typedef bool tool_watch(void *of);

/*
 * Run arguments[0] with `input` on its standard input, for at most `seconds` of
 * processor time, and TOOL_WAITING times that in all: a busy machine does not
 * make a tool fail, and one that waits for ever does not hold up its caller.
 * When `watch`, if it is not NULL, returns false, the tool and all that it has
 * started are ended before.
 * Returns what it wrote to its standard output, malloc'ed, NUL terminated and
 * *output_size long, if it succeeded; NULL with the reason in `log` if not,
 * which is marked where the tool could not be started.
 * What it wrote to its standard error is added to `log` in either case.
 */
unsigned char *tool_run(char *const *arguments, const void *input,
                        size_t input_size, int seconds, tool_watch *watch,
                        void *of, size_t *output_size, tool_text *log);

/*
 * Start arguments[0] as a process that stays: in a session of its own, with
 * one end of a pair of sockets (SOCK_SEQPACKET) as descriptor 3, /dev/null as
 * 0 to 2 and no other, and not a child that this process could wait for.  It
 * must end by itself when the other end is closed.
 * Returns that end, or -1 with the reason in `log`; *pid names the process.
 */
int tool_start(char *const *arguments, pid_t *pid, tool_text *log);

/* Parts of tool_run, for a process that runs such work by forking. */

/* In the process that is to work: processor time, and no core files. */
void tool_limit(int seconds);
/* Whether a process that ended with that status of waitpid succeeded; false
   with the reason in log. */
bool tool_ended(const char *name, int status, int seconds, tool_text *log);
/* It took too long, TOOL_WAITING times the seconds, and was ended. */
void tool_late(const char *name, int seconds, tool_text *log);
/* An anonymous file of that contents, to be read from its beginning, or -1. */
int tool_file(const void *bytes, size_t size);
/* All of such a file, malloc'ed and NUL terminated, or NULL. */
unsigned char *tool_file_read(int fd, size_t *size);

#endif
