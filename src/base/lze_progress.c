/*
 * lze_progress.c - a line on the terminal for long operations.
 * SPDX-License-Identifier: MIT
 *
 * A long operation is a driver call or a wait for another process, so a thread
 * of ours must write the line. The thread starts at the first operation while
 * the line is switched on, and touches only the operations that are listed
 * here.
 */
#include "base/lze_progress.h"
#include "base/lze_error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  PATIENCE_NS = 500000000,
  REDRAW_NS = 200000000
};

enum { UNSAID, OFF, ON };

static atomic_int progress_is = UNSAID;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t begun;
  lze_Progress *first;   /* the newest */
  pid_t owner;           /* the process that has the thread, or 0 */
  bool shown;            /* the terminal shows a line */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .begun = PTHREAD_COND_INITIALIZER};

/* Writes the text with one call; ignores errors. */
static void line_write(const char *text) {
  ssize_t n;
  do n = write(STDERR_FILENO, text, strlen(text));
  while (n < 0 && errno == EINTR);
}

static void line_remove(void) {
  if (progress.shown) line_write("\r\033[K");
  progress.shown = false;
}

/* Shows the oldest operation. The lock is held. */
static void line_draw(void) {
  const lze_Progress *p = progress.first;
  while (p != NULL && p->next != NULL) p = p->next;
  uint64_t ns = p != NULL ? lze_now_ns() - p->start_ns : 0;
  if (p == NULL || ns < PATIENCE_NS || !lze_progress_on()) return;
  char text[160];
  snprintf(text, sizeof text, "\r\033[Klze: %s %.100s, %.1f s", p->doing,
           p->name, (double)ns / 1e9);
  line_write(text);
  progress.shown = true;
}

static void *progress_run(void *unused) {
  (void)unused;
  pthread_mutex_lock(&progress.lock);
  for (;;) {
    while (progress.first == NULL)
      pthread_cond_wait(&progress.begun, &progress.lock);
    line_draw();
    pthread_mutex_unlock(&progress.lock);
    const struct timespec pause = {.tv_nsec = REDRAW_NS};
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&progress.lock);
  }
  return NULL;
}

/* Ensures that the thread exists. It blocks all signals, because they are for
   the host's threads. The lock is held. */
static bool thread_ready(void) {
  sigset_t all, old;
  pthread_t thread;
  if (progress.owner == getpid()) return true;
  progress.first = NULL; /* in a forked child it is the parent's */
  progress.shown = false;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool made = pthread_create(&thread, NULL, progress_run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!made) return false;
  pthread_detach(thread);
  progress.owner = getpid();
  return true;
}

bool lze_progress_on(void) {
  return atomic_load_explicit(&progress_is, memory_order_relaxed) == ON;
}

bool lze_progress_is_said(void) { return atomic_load(&progress_is) != UNSAID; }

void lze_progress_switch(bool on) {
  const char *terminal = getenv("TERM");
  bool draws = isatty(STDERR_FILENO) &&
               !(terminal != NULL && strcmp(terminal, "dumb") == 0);
  atomic_store(&progress_is, on && draws ? ON : OFF);
}

void lze_progress_begin(lze_Progress *p, const char *doing, const char *name) {
  p->listed = false;
  if (!lze_progress_on()) return;
  p->doing = doing;
  p->name = name;
  p->start_ns = lze_now_ns();
  pthread_mutex_lock(&progress.lock);
  p->listed = thread_ready();
  if (p->listed) {
    p->next = progress.first;
    progress.first = p;
    pthread_cond_signal(&progress.begun);
  }
  pthread_mutex_unlock(&progress.lock);
}

void lze_progress_end(lze_Progress *p) {
  if (!p->listed) return;
  pthread_mutex_lock(&progress.lock);
  lze_Progress **at = &progress.first;
  while (*at != NULL && *at != p) at = &(*at)->next;
  if (*at != NULL) *at = p->next;
  line_remove();
  pthread_mutex_unlock(&progress.lock);
}
