/*
 * lze_top.c - the data of this program that other programs can read: `lze top`.
 * SPDX-License-Identifier: MIT
 */
#include "host/lze_top.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "queue/lze_queue.h"

#include "private.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_KERNELS = 8, MOST_DEVICES = 8 };

/* The page; command/top.lua reads it.  The version of the text is odd while it
   is being written. */
typedef struct Shown {
  uint64_t launches, bytes, peak, in_flight;
  volatile uint64_t version;
  char text[LZE_PAGE_BYTES - 40];
} Shown;

/* The beginning of each text. */
#define MARK "lze "

struct lze_Page {
  Shown *shown;
  lze_State *state;
  uint64_t first_ns, spent_ns;  /* start time; time spent on texts */
  unsigned long long start;     /* of the process, see process_start() */
  char directory[200], name[24];
  struct lze_Page *next;        /* in the list of the process */
};

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lze_Page *pages;

static unsigned page_count;

/* Reads a file of a directory; false if it is not a page. */
static bool page_read_at(int directory, const char *name,
                         char bytes[LZE_PAGE_BYTES]) {
  struct stat about;
  /* Opening a FIFO must not wait for its writer. */
  int fd = openat(directory, name,
                  O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  bool read = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
              about.st_size == LZE_PAGE_BYTES &&
              pread(fd, bytes, LZE_PAGE_BYTES, 0) == LZE_PAGE_BYTES;
  close(fd);
  return read && memcmp(bytes + offsetof(Shown, text), MARK, strlen(MARK)) == 0;
}

bool lze_page_read(const char *directory, const char *name,
                   char bytes[LZE_PAGE_BYTES]) {
  int at = private_open(directory);
  if (at < 0) return false;
  bool read = page_read_at(at, name, bytes);
  close(at);
  return read;
}

void lze_page_remove(const char *directory, const char *name) {
  char bytes[LZE_PAGE_BYTES];
  int at = private_open(directory);
  if (at < 0) return;
  if (page_read_at(at, name, bytes)) unlinkat(at, name, 0);
  close(at);
}

/* Runs in a forked process, which inherits the states but must not publish them
   as its parent's. */
static void pages_forget(void) {
  for (struct lze_Page *p = pages, *next; p != NULL; p = next) {
    next = p->next;
    munmap(p->shown, sizeof *p->shown);
    p->state->page = NULL;
    p->state->shown = NULL;
    free(p);
  }
  pages = NULL;
  pthread_mutex_init(&pages_lock, NULL);
}

/* Runs when the process ends with states that nothing has closed. */
static void pages_unlink(void) {
  pthread_mutex_lock(&pages_lock);
  for (struct lze_Page *p = pages; p != NULL; p = p->next)
    lze_page_remove(p->directory, p->name);
  pthread_mutex_unlock(&pages_lock);
}

static void pages_register(void) {
  pthread_atfork(NULL, NULL, pages_forget);
  atexit(pages_unlink);
}

/* Returns the start time of this process, in kernel ticks: a process id with a
   different start time is another process. */
static unsigned long long process_start(void) {
  char text[1024];
  unsigned long long ticks = 0;
  FILE *file = fopen("/proc/self/stat", "re");
  if (file == NULL) return 0;
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  const char *p = strrchr(text, ')'); /* the name may have blanks */
  for (int field = 2; p != NULL && field < 22; field++) {
    p = strchr(p, ' ');
    if (p != NULL) p++;
  }
  if (p != NULL) ticks = strtoull(p, NULL, 10);
  return ticks;
}

/* Creates the file; returns its page, or NULL. */
static Shown *page_map(const char *directory, const char *name) {
  lze_page_remove(directory, name); /* left by an older process with that id */
  int at = private_open(directory);
  if (at < 0) return NULL;
  int fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0600);
  void *page = MAP_FAILED;
  /* The whole file is allocated: writing to it cannot fail for lack of
     space. */
  if (fd >= 0 && posix_fallocate(fd, 0, sizeof(Shown)) == 0)
    page = mmap(NULL, sizeof(Shown), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0 && page == MAP_FAILED) unlinkat(at, name, 0);
  if (fd >= 0) close(fd);
  close(at);
  return page != MAP_FAILED ? page : NULL;
}

/* --- the text ------------------------------------------------------------- */

typedef struct Text {
  char *at;
  size_t room;
} Text;

static void add(Text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(Text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(t->at, t->room, format, arguments);
  va_end(arguments);
  if (n < 0 || (size_t)n >= t->room) n = 0; /* no room for this line */
  t->at[n] = '\0';
  t->at += n;
  t->room -= (size_t)n;
}

/* Inserts a kernel into the list of kernels with most launches. */
static void kernels_insert(const lze_Kernel *top[MOST_KERNELS],
                           const lze_Kernel *k) {
  int i = MOST_KERNELS - 1;
  if (top[i] != NULL && top[i]->launches >= k->launches) return;
  for (; i > 0 && (top[i - 1] == NULL || top[i - 1]->launches < k->launches);
       i--)
    top[i] = top[i - 1];
  top[i] = k;
}

static void page_write(const lze_State *S, unsigned long long start,
                       Shown *shown) {
  const lze_Kernel *top[MOST_KERNELS] = {NULL};
  const lze_DeviceInfo *devices[MOST_DEVICES];
  size_t device_count = 0;
  Text t = {shown->text, sizeof shown->text};
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next) {
    for (const lze_Queue *q = c->queues; q != NULL; q = q->next) {
      size_t i = 0;
      while (i < device_count && devices[i] != q->device) i++;
      if (i == device_count && i < MOST_DEVICES)
        devices[device_count++] = q->device;
    }
    for (const lze_Object *o = c->objects; o != NULL; o = o->next) {
      const lze_Kernel *k = lze_object_kernel(o);
      if (k != NULL && k->launches > 0) kernels_insert(top, k);
    }
  }
  const lze_StorageCount n = lze_count_storages(S);
  add(&t, MARK LZE_VERSION "\nstarted %llu\n", start);
  add(&t, "shared %zu\ndevice %zu\nhost %zu\n", n.bytes[LZE_SHARED],
      n.bytes[LZE_DEVICE], n.bytes[LZE_HOST]);
  for (size_t i = 0; i < device_count; i++)
    add(&t, "on %s\n", devices[i]->props.name);
  for (int i = 0; i < MOST_KERNELS && top[i] != NULL; i++)
    add(&t, "%llu %s\n", (unsigned long long)top[i]->launches, top[i]->name);
}

/* Texts may take BURST_NS of processor time at once, and 1/TEXT_PART of the
   total time. */
#define BURST_NS 5000000u

enum { TEXT_PART = 200 };

static uint64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void page_update(lze_State *S) {
  struct lze_Page *p = S->page;
  Shown *shown = p->shown;
  shown->launches = S->launches;
  shown->bytes = S->bytes;
  shown->peak = S->peak;
  shown->in_flight = lze_count_in_flight(S);
  uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE); /* the fastest clock to
                                                      read */
  if (p->spent_ns > BURST_NS + (now - p->first_ns) / TEXT_PART) return;
  uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  shown->version++;
  page_write(S, p->start, shown);
  shown->version++;
  p->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* --- start and end ------------------------------------------------------- */

void lze_top_open(lze_State *S) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  if (S->page != NULL || runtime == NULL || *runtime != '/') return;
  struct lze_Page *p = calloc(1, sizeof *p);
  if (p == NULL) return;
  const size_t room = sizeof p->directory;
  int length = snprintf(p->directory, room, "%s/lze", runtime);
  if (length < 0 || (size_t)length >= room) {
    free(p);
    return;
  }
  mkdir(p->directory, 0700);
  pthread_once(&once, pages_register);
  pthread_mutex_lock(&pages_lock);
  unsigned number = ++page_count;
  if (number == 1)
    snprintf(p->name, sizeof p->name, "%ld", (long)getpid());
  else
    snprintf(p->name, sizeof p->name, "%ld.%u", (long)getpid(), number);
  p->shown = page_map(p->directory, p->name);
  if (p->shown != NULL) {
    p->state = S;
    p->start = process_start();
    p->first_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
    p->next = pages;
    pages = S->page = p;
  }
  pthread_mutex_unlock(&pages_lock);
  if (S->page == NULL) {
    free(p);
    return;
  }
  S->shown = page_update;
  page_update(S);
}

void lze_top_close(lze_State *S) {
  struct lze_Page *p = S->page;
  if (p == NULL) return;
  pthread_mutex_lock(&pages_lock);
  struct lze_Page **link = &pages;
  while (*link != p) link = &(*link)->next;
  *link = p->next;
  pthread_mutex_unlock(&pages_lock);
  S->page = NULL;
  S->shown = NULL;
  lze_page_remove(p->directory, p->name);
  munmap(p->shown, sizeof *p->shown);
  free(p);
}
