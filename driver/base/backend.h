/*
 * backend.h - the functions between the driver's front and a back end.
 * SPDX-License-Identifier: MIT
 *
 * The front implements Level Zero: entry points, lists, events, fences, graphs.
 * A back end makes devices work: it has memory, streams that run commands in
 * order, and marks that tell when a stream has got to a place.  The front calls
 * a back end only through `driver->backend` and `driver->memory`.  README.md
 * describes how to write one.
 *
 * These rules hold for all functions below that do not say otherwise:
 * - Any thread may call them, several at a time.  For one stream, the front
 *   calls them one after another; the caller holds a lock of the front, so a
 *   function must not call the front, except through a callback from another
 *   thread or from `call`.
 * - None waits for a command, for the host or for another stream.
 * - A result other than SUCCESS has its reason in zocl_last_error.  Then the
 *   stream may have begun the command or not, but it goes on working.
 * - None is called in a forked process (zocl_forked).
 */
#ifndef BACKEND_H
#define BACKEND_H

#include "cache.h"
#include "prepare.h"
#include "spirv.h"
#include "tool.h"

#include "base/zocl_base.h"

/* ------------------------------------------------------------------------
 * Memory.
 */

/* Memory as a back end returned it; an allocation may be a part of it. */
typedef struct zocl_block {
  zocl_driver *driver;
  zocl_device *device;   /* NULL for host memory */
  ze_memory_type_t type;
  void *at;
  size_t size;
} zocl_block;

/* The memory of a driver's devices. */
struct zocl_memory {
  /* Kernels accept any host pointer, and the host may access all memory at any
     time: then our own functions copy and fill it, the table's `copy`, `fill`
     and `copy_region` are not called, and memory can be that of a file. */
  bool any_pointer;
  /* Allocates `size` bytes, not 0, for block->device, of block->type, and
     stores in the block what `free` needs; NULL if that fails.  The alignment
     is a power of two.  May block as the system's allocator does. */
  void *(*allocate)(zocl_block *block, size_t size, size_t alignment);
  /* The front calls this when no command uses the memory.  Also called in a
     forked process, where it must not touch the device. */
  void (*free)(const zocl_block *block);
};

/* ------------------------------------------------------------------------
 * Streams and marks.
 */

/* A place in a stream, which the stream reaches once: when all commands before
   it have ended.  A gate is a mark that the host reaches.  References to marks
   are counted: the front releases each mark that it gets. */
typedef struct backend_mark backend_mark;

/* A stream runs its commands in order, each after the one before it has ended.
   The back end's structure begins with this one. */
typedef struct backend_stream {
  bool timed;    /* its marks have times; `begin` may change it */
  bool careful;  /* the front calls `begin` before each command, gives each
                    command a mark, and calls `keep` with it */
  bool lazy;     /* the front calls `flush` after each command */
} backend_stream;

/* The place of a command: the stream, the marks that it waits for (NULL if
   none), and the address for its own mark, or NULL. */
typedef struct backend_place {
  const zocl_device *device;
  backend_stream *stream;
  uint32_t wait_count;
  backend_mark *const *waits;
  backend_mark **mark;
} backend_place;

/* The status of a mark that was reached, and of one whose command failed, for
   which the front uses these or a back end its own negative numbers.  A
   positive status means that it was not reached yet. */
enum {
  BACKEND_DONE = 0,
  BACKEND_NO_MEMORY = -6, /* no memory to find out about it */
  BACKEND_GONE = -58,    /* nothing will reach it any more */
  BACKEND_FAILED = -59   /* the command could not begin */
};

/* Called once when a mark is reached, by any thread, perhaps one of the back
   end and perhaps before the function that requested it returns.  It does not
   wait, and may open gates and submit commands. */
typedef void (*backend_reached)(backend_mark *mark, int status, void *data);

/* A function of the front, called with its arguments. */
typedef void (*zocl_host_function)(void *args);

/* The arguments of copies and fills. */
typedef struct zocl_copy {
  void *to;
  const void *from;
  size_t size;
} zocl_copy;

typedef struct zocl_fill {
  void *to;
  size_t size, pattern_size; /* `size` is a multiple of the pattern's */
  unsigned char pattern[];
} zocl_fill;

/* A box of rows.  Pitches are in bytes. */
typedef struct zocl_copy_region {
  void *to;
  const void *from;
  ze_copy_region_t to_region, from_region; /* from_region has the size */
  uint32_t to_pitch, to_slice, from_pitch, from_slice;
} zocl_copy_region;

/* ------------------------------------------------------------------------
 * Kernels.
 */

/* A compiled module, and a kernel of it. */
typedef struct backend_program backend_program;
typedef struct backend_kernel backend_kernel;

/* The code of a module. */
typedef struct backend_code {
  const void *bytes;
  size_t size;
  bool source;           /* OpenCL C, else SPIR-V, rewritten by the front */
  const char *flags;     /* Level Zero's build flags */
  unsigned char *translated; /* made by `translate`, malloc'ed; NULL before */
  size_t translated_size;
} backend_code;

/* An argument of a kernel, and its value's place among the values of a launch.
   The value of local memory is its size, a uint64_t; of an image, a zocl_image
   pointer or NULL; of a sampler, its id. */
typedef struct zocl_arg {
  spirv_class cls;
  bool set;              /* used by the front alone, and `image` too */
  size_t offset, bytes;
  uint32_t image;        /* of an image: its index in zocl_kernel.images */
} zocl_arg;

/* A launch.  `values` are the captured arguments of the kernel. */
typedef struct zocl_launch {
  zocl_kernel *kernel;   /* used by the front alone */
  const unsigned char *values;
  size_t global[3], local[3], offset[3];
  uint32_t dims;         /* the least number of dimensions */
} zocl_launch;

/* ------------------------------------------------------------------------
 * The table.
 */

typedef struct backend_table {
  const char *name;      /* for messages */

  /* --- Streams. --- */

  /* Makes a stream for a device; `rank` is -1, 0 or 1 for low, normal and high
     priority, and may be ignored.  If `timed`, its marks have times. */
  ze_result_t (*stream_new)(const zocl_device *device, int rank, bool timed,
                            backend_stream **stream);
  /* Releases the stream when its commands have ended, without waiting for them;
     `idle` says that they have. */
  void (*stream_close)(const zocl_device *device, backend_stream *stream,
                       bool idle);
  /* Prepares for the next command, whose mark needs times if `timed`.  `idle`:
     all commands before it have ended. */
  ze_result_t (*begin)(const zocl_device *device, backend_stream *stream,
                       bool timed, bool idle);
  /* Retains the mark as long as the stream needs that. */
  void (*keep)(const zocl_device *device, backend_stream *stream,
               backend_mark *mark);
  /* Makes sure that all commands begin without a further call. */
  void (*flush)(const zocl_device *device, backend_stream *stream);
  /* Blocks until all commands submitted so far have ended, successfully or not.
     Releases `held`, the front's lock of the stream, before it blocks: then
     other threads submit commands, and may close the stream. */
  ze_result_t (*finish)(const zocl_device *device, backend_stream *stream,
                        pthread_mutex_t *held);

  /* --- Commands.  Each waits for the place's marks, runs in its turn in the
     stream, and then reaches its own mark.  A command after one that failed
     runs too. --- */

  /* Does nothing. */
  ze_result_t (*mark)(const backend_place *place);
  /* Calls a function of the front with a copy of `args`, on any thread.  The
     function does not wait for other commands.  It may submit commands to other
     streams and open gates, so no lock of the back end may be held. */
  ze_result_t (*call)(const backend_place *place, zocl_host_function function,
                      const void *args, size_t size);
  /* Copy and fill any memory, host memory included, with any alignment and any
     pattern whose size is a power of two up to 128; the structures last until
     the function returns.  A size may be 0. */
  ze_result_t (*copy)(const backend_place *place, const zocl_copy *copy);
  ze_result_t (*fill)(const backend_place *place, const zocl_fill *fill);
  ze_result_t (*copy_region)(const backend_place *place,
                             const zocl_copy_region *copy);

  /* Launches a kernel, which may compile it: then this blocks as long as the
     compiler takes.  The values are only valid during the call. */
  ze_result_t (*launch)(const backend_place *place, backend_kernel *kernel,
                        const zocl_launch *launch);

  /* --- Programs.  These functions may block as long as a compiler takes.  Text
     for the module's build log goes to `log`; if a function returns false, the
     reason is there. --- */

  /* Returns true if a compilation inside this process can succeed now; if not,
     the reason is in zocl_last_error.  Called before each build. */
  bool (*may_compile)(const zocl_driver *driver);
  /* Returns true if the compiler accepts a flag that Level Zero does not
     have. */
  bool (*takes_flag)(const char *flag, size_t size, bool source);
  /* Adds everything but the code and its flags that the result of a compilation
     depends on, such as the compiler's version. */
  void (*program_key)(const zocl_device *device, bool source, cache_key *key);
  /* Does the part of program_new that can be done in advance, in other
     processes, and stores the result in the code. */
  bool (*translate)(const zocl_device *device, backend_code *code,
                    tool_text *log);
  /* Compiles the code, after translating it if that was not done.  The compiler
     may end the process: new code comes here in lze-build first. */
  bool (*program_new)(const zocl_device *device, backend_code *code,
                      tool_text *log, backend_program **program);
  /* Pending launches still run. */
  void (*program_free)(const zocl_driver *driver, backend_program *program);
  /* Writes the declarations of all kernels of OpenCL C, in the form that
     signature_spirv takes; `message` gets the reason if that fails. */
  bool (*program_describe)(const zocl_device *device, backend_program *program,
                           const backend_code *code, tool_text *declarations,
                           char *message, size_t message_size);
  /* For lze-build: builds the program again if another process may read a
     different result; and compiles all kernels. */
  bool (*program_again)(const zocl_device *device, backend_code *code,
                        tool_text *log, backend_program **program);
  bool (*program_compile)(const zocl_device *device, backend_program *program);

  /* --- Kernels.  Any thread may use a kernel, and several at a time the same
     one: the back end locks it. --- */

  /* Makes the kernel of a program that `info` describes, and sets *max_group to
     the work-items that a group may have.  `args` and `info` outlive the
     kernel; their values take `values_size` bytes. */
  ze_result_t (*kernel_new)(const zocl_device *device,
                            backend_program *program, const spirv_kernel *info,
                            const zocl_arg *args, size_t values_size,
                            uint32_t *max_group, backend_kernel **kernel);
  /* Pending launches still run. */
  void (*kernel_free)(const zocl_device *device, backend_kernel *kernel);
  /* Sets the bytes of private memory of a work-item, and the number that group
     sizes should be a multiple of; leaves what is unknown. */
  void (*kernel_facts)(const zocl_device *device, backend_kernel *kernel,
                       uint64_t *private_bytes, uint64_t *multiple);
  /* Suggests a group of at most `max_group` work-items for a range; each
     dimension divides the range. */
  void (*kernel_group)(const zocl_device *device, backend_kernel *kernel,
                       uint32_t max_group, const uint32_t range[3],
                       uint32_t group[3]);
  /* Passes all arguments on to the compiled kernel without a launch. */
  ze_result_t (*kernel_try)(const zocl_device *device, backend_kernel *kernel,
                            const unsigned char *values);
  /* Makes memory accessible that later launches may use without an argument
     pointing to it: memory of these types, and blocks.  NULL if that is never
     needed, and not called if kernels accept any pointer. */
  ze_result_t (*kernel_reach)(const zocl_device *device,
                              backend_kernel *kernel,
                              ze_kernel_indirect_access_flags_t indirect,
                              void *const *blocks, size_t block_count);
  /* Lists the launches that would compile the kernel, in the form that
     zocl_build_shapes takes; UNSUPPORTED_FEATURE if nothing can be compiled
     ahead. */
  ze_result_t (*kernel_shapes)(const zocl_device *device,
                               backend_kernel *kernel, uint32_t count,
                               const prepare_launch *launches,
                               tool_text *shapes);

  /* --- Marks. --- */

  /* Returns the status of a mark; only if driver->query_blocks may it wait for
     the mark's command. */
  int (*mark_status)(const zocl_driver *driver, backend_mark *mark);
  /* Sets the times, by zocl_clock, at which the command of a mark began and
     ended, if its stream was timed and the mark was reached; else leaves
     them. */
  void (*mark_times)(const zocl_driver *driver, backend_mark *mark,
                     uint64_t *start, uint64_t *end);
  /* Has a function called when the mark is reached or its command has failed.
     A back end need not call for a failed command: the front also polls.
     Returns false if that is impossible. */
  bool (*mark_notify)(const zocl_driver *driver, backend_mark *mark,
                      backend_reached reached, void *data);
  void (*mark_retain)(const zocl_driver *driver, backend_mark *mark);
  void (*mark_release)(const zocl_driver *driver, backend_mark *mark);

  /* Makes a gate, a mark that commands may wait for. */
  ze_result_t (*gate_new)(const zocl_driver *driver, backend_mark **gate);
  /* Opens it, once. */
  void (*gate_open)(const zocl_driver *driver, backend_mark *gate);
} backend_table;

#endif
