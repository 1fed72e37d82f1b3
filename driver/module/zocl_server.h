/*
 * zocl_server.h - lze-build as a permanent process.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_SERVER_H
#define ZOCL_SERVER_H

#include "tool.h"

#include "base/zocl_base.h"

#include <sys/types.h>

/* A message to the server, and the files that are sent with it. */
typedef struct zocl_job {
  int32_t seconds; /* of processor time */
} zocl_job;
enum {
  ZOCL_JOB_TASK,     /* a zocl_task */
  ZOCL_JOB_MESSAGES, /* receives standard error */
  ZOCL_JOB_ANSWER,   /* a socket; closing our end cancels the job */
  ZOCL_JOB_FILES
};

/* The head of a task.  After it come the platform's version, the device's name
   and the shapes, each with its NUL, and a native binary. */
typedef struct zocl_task {
  uint64_t version_size, name_size, shapes_size, binary_size;
} zocl_task;

typedef enum zocl_outcome {
  ZOCL_ANSWER_ENDED,  /* the process ended with that status */
  ZOCL_ANSWER_LATE,   /* the process was ended, since it took too long */
  ZOCL_ANSWER_REFUSED /* no process could be started for it */
} zocl_outcome;

typedef struct zocl_answer {
  zocl_outcome what;
  int32_t status;
} zocl_answer;

typedef enum zocl_served {
  ZOCL_NOT_SERVED, /* no server runs or can be started */
  ZOCL_SERVED_FINE,
  ZOCL_SERVED_BADLY /* with the reason in log */
} zocl_served;

/* Starts the server from the program at `path` if it is not running.  Returns
   false if that is impossible. */
bool zocl_server_prepare(const char *path);
/* Has the server perform a task in the format above, and starts the server from
   the program at `path` if needed. */
zocl_served zocl_server_build(const char *path, const void *task, size_t size,
                              int seconds, tool_text *log);

/* Our end of a pair of sockets.  It is checked before each use, because the
   program may have closed the descriptor and opened another file, or this
   process may be a fork of the owner. */
typedef struct zocl_end {
  int fd;                /* -1: absent */
  pid_t server;          /* the process that sends the answer */
  pid_t owner;
  dev_t device;
  ino_t inode;
} zocl_end;

/* Like zocl_server_build, but does not wait for the answer.  Returns false if
   no work was started. */
bool zocl_server_start(const char *path, const void *task, size_t size,
                       int seconds, zocl_end *answer);
/* Returns true if the task has ended; then sets *served to its result, or to
   ZOCL_NOT_SERVED if the server or our end is gone, and closes our end. */
bool zocl_server_is_done(zocl_end *answer, zocl_served *served);
/* Returns true if a server has answered this process and still exists. */
bool zocl_server_is_up(void);

#endif
