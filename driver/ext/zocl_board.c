/*
 * zocl_board.c - the states of events that processes share.
 * SPDX-License-Identifier: MIT
 *
 * Each event of such a pool has a place on the board, which is memory of a
 * file.  Hosts sleep on the place itself.  Commands that wait for an event do
 * so behind a gate, which a thread opens, made when there is one: it sleeps on
 * the board's bell, rung whenever an event of the board is set.
 */
#include "ext/zocl_ext.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How the file begins; the places follow. */
typedef struct head {
  _Atomic uint32_t bell; /* how often it was rung */
  _Atomic uint32_t listeners;
  uint32_t unused[14];
} head;
_Static_assert(sizeof(head) == sizeof(zocl_state), "the head is a place");

/* A signal with gates. */
typedef struct watch {
  zocl_signal *signal;
  struct watch *next;
} watch;

struct zocl_board {
  atomic_uint references;
  zocl_file *file;
  head *head;
  pthread_mutex_t lock;
  watch *watched; /* that the thread has not seen yet */
  bool watching;  /* there is a thread */
};

uint64_t zocl_board_bytes(uint64_t count)
{
  return (count + 1) * sizeof(zocl_state);
}

zocl_board *zocl_board_open(zocl_file *file)
{
  zocl_board *board = calloc(1, sizeof *board);
  size_t bytes = (size_t)zocl_file_is(file).size;
  if (board != NULL)
    board->head = zocl_file_map(file, 0, bytes, PROT_READ | PROT_WRITE, NULL);
  if (board == NULL || board->head == NULL) {
    free(board);
    zocl_file_unref(file);
    return NULL;
  }
  atomic_init(&board->references, 1);
  board->file = file;
  pthread_mutex_init(&board->lock, NULL);
  return board;
}

static void board_ref(zocl_board *board)
{
  atomic_fetch_add(&board->references, 1);
}

void zocl_board_unref(zocl_board *board)
{
  if (board == NULL || atomic_fetch_sub(&board->references, 1) != 1) return;
  munmap(board->head, zocl_file_pages((size_t)zocl_file_is(board->file).size));
  zocl_file_unref(board->file);
  pthread_mutex_destroy(&board->lock);
  free(board);
}

const zocl_file *zocl_board_file(const zocl_board *board)
{
  return board->file;
}

static zocl_state *board_place(zocl_board *board, uint32_t index)
{
  return (zocl_state *)board->head + 1 + index;
}

/* Tell all processes that a place was set. */
static void board_ring(zocl_board *board)
{
  atomic_fetch_add(&board->head->bell, 1);
  if (atomic_load(&board->head->listeners) > 0)
    syscall(SYS_futex, &board->head->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Look at all that are watched, whenever the bell rings, until none is left.
   The thread has a reference. */
static void *watcher(void *data)
{
  /* Should a process die between setting and ringing, it is seen later. */
  static const struct timespec slice = {.tv_nsec = 100000000};
  zocl_board *board = data;
  watch *list = NULL;
  atomic_fetch_add(&board->head->listeners, 1);
  for (;;) {
    uint32_t bell = atomic_load(&board->head->bell);
    pthread_mutex_lock(&board->lock);
    watch **last = &list;
    while (*last != NULL) last = &(*last)->next;
    *last = board->watched;
    board->watched = NULL;
    board->watching = list != NULL;
    pthread_mutex_unlock(&board->lock);
    if (list == NULL) break;
    for (watch **link = &list; *link != NULL;) {
      watch *w = *link;
      if (zocl_signal_watch(w->signal)) {
        link = &w->next;
        continue;
      }
      *link = w->next;
      zocl_signal_unref(w->signal);
      free(w);
    }
    if (list != NULL)
      syscall(SYS_futex, &board->head->bell, FUTEX_WAIT, bell, &slice, NULL,
              0);
  }
  atomic_fetch_sub(&board->head->listeners, 1);
  zocl_board_unref(board);
  return NULL;
}

static bool board_watch(zocl_board *board, zocl_signal *signal)
{
  watch *w = malloc(sizeof *w);
  if (w == NULL) return false;
  *w = (watch){.signal = signal};
  pthread_mutex_lock(&board->lock);
  bool watched = board->watching;
  if (!watched) {
    pthread_t thread;
    board_ref(board);
    watched = board->watching = zocl_thread_start(&thread, watcher, board);
    if (watched)
      pthread_detach(thread);
    else
      atomic_fetch_sub(&board->references, 1);
  }
  if (watched) {
    zocl_signal_ref(signal);
    w->next = board->watched;
    board->watched = w;
  }
  pthread_mutex_unlock(&board->lock);
  if (watched)
    board_ring(board);
  else
    free(w);
  return watched;
}

static ze_result_t board_new(ze_event_pool_flags_t flags, uint32_t count,
                             zocl_board **board)
{
  zocl_file *file;
  zocl_file_info info = {.kind = ZOCL_FILE_EVENTS,
                         .flags = flags,
                         .size = zocl_board_bytes(count),
                         .count = count};
  ze_result_t result = zocl_file_new(&info, &file);
  if (result != ZE_RESULT_SUCCESS) return result;
  *board = zocl_board_open(file);
  return *board != NULL ? ZE_RESULT_SUCCESS
                        : zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

void zocl_board_hook(zocl_hook *hook)
{
  hook->board_new = board_new;
  hook->board_ref = board_ref;
  hook->board_unref = zocl_board_unref;
  hook->board_place = board_place;
  hook->board_ring = board_ring;
  hook->board_watch = board_watch;
}
