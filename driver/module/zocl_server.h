/*
 * zocl_server.h - lze-build as a process that stays.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_SERVER_H
#define ZOCL_SERVER_H

#include "tool.h"

#include "base/zocl_base.h"

#include <sys/types.h>

/* A message to it, and the files that come with it. */
typedef struct zocl_job {
  int32_t seconds; /* of processor time */
} zocl_job;
enum {
  ZOCL_JOB_TASK,     /* a zocl_task */
  ZOCL_JOB_MESSAGES, /* what becomes standard error */
  ZOCL_JOB_ANSWER,   /* a socket; once it is closed, none waits */
  ZOCL_JOB_FILES
};

/* The head of a task; behind it the platform's version, the device's
   name and the shapes, each with its NUL, and a native binary. */
typedef struct zocl_task {
  uint64_t version_size, name_size, shapes_size, binary_size;
} zocl_task;

typedef enum zocl_outcome {
  ZOCL_ANSWER_ENDED,  /* with that status */
  ZOCL_ANSWER_LATE,   /* it was ended, for it took too long */
  ZOCL_ANSWER_REFUSED /* no process could be made for it */
} zocl_outcome;

typedef struct zocl_answer {
  zocl_outcome what;
  int32_t status;
} zocl_answer;

typedef enum zocl_served {
  ZOCL_NOT_SERVED, /* there is no server, nor can one be had */
  ZOCL_SERVED_FINE,
  ZOCL_SERVED_BADLY /* with the reason in log */
} zocl_served;

/* Start the server from the program at `path`, if there is none; false where
   none can be had. */
bool zocl_server_prepare(const char *path);
/* Have the server, started if need be from the program at `path`, do a piece of
   work, which is laid out as above. */
zocl_served zocl_server_build(const char *path, const void *task, size_t size,
                              int seconds, tool_text *log);

/* Our end of a pair of sockets, as long as it is ours: a program may have
   closed it, and opened another file, or be a fork of the process that it
   belongs to. */
typedef struct zocl_end {
  int fd;                /* -1: there is none */
  pid_t server;          /* whose answer comes there */
  pid_t owner;
  dev_t device;
  ino_t inode;
} zocl_end;

/* The same without waiting for the answer; false where no work was begun. */
bool zocl_server_start(const char *path, const void *task, size_t size,
                       int seconds, zocl_end *answer);
/* Whether that is over; then *served says how it went, ZOCL_NOT_SERVED where
   the server, or the program's end, is gone, and the end is closed. */
bool zocl_server_is_done(zocl_end *answer, zocl_served *served);
/* Whether a server has answered this process and is still there. */
bool zocl_server_is_up(void);

#endif
