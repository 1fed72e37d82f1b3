/*
 * lze_file.c - files that hold the elements of a buffer.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_file.h"
#include "base/lze_error.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "memory/lze_buffer.h"
#include "memory/lze_zlib.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 1 << 16 };

/* The part of a file, stored or compressed, that is read or written. */
typedef struct Member {
  lze_Zlib *stream;     /* NULL if it is stored */
  uint64_t packed;      /* bytes in the file: to read, or written so far */
  uint64_t bytes;       /* expanded bytes: to read, or written so far */
  uint32_t crc, wanted; /* wanted: of all bytes, for reading */
  uint32_t table[256];  /* for CRC-32 */
  const unsigned char *next; /* `left` compressed bytes in the window */
  size_t left;
  unsigned char window[WINDOW];
} Member;

/* A userdata; unused members are NULL, -1 or "". */
typedef struct File {
  Member *member;       /* to which reads and writes go, if not NULL */
  int descriptor;
  char temporary[PATH_MAX]; /* will be renamed, or else removed */
  char path[PATH_MAX];      /* the file's final path */
} File;

static const char file_key; /* of the metatable in the registry */

/* Raises the system's error for a call on a file. */
static int file_fail(lua_State *L, const char *call, const char *path,
                     int error) {
  if (error == 0) error = EIO;
  return lze_fail_word(L, NULL, call, lze_errno_name(error), NULL, "%s: %s",
                       path, strerror(error));
}

/* Ends the work on a member. */
static void file_leave(File *f) {
  if (f->member != NULL) lze_zlib_free(f->member->stream);
  free(f->member);
  f->member = NULL;
}

static void file_close(File *f) {
  file_leave(f);
  if (f->descriptor >= 0) close(f->descriptor);
  f->descriptor = -1;
}

static int file_gc(lua_State *L) {
  File *f = lua_touserdata(L, 1);
  if (f == NULL) return 0;
  file_close(f);
  if (f->temporary[0] != '\0') unlink(f->temporary);
  f->temporary[0] = '\0';
  return 0;
}

/* [-0, +1] Pushes a file that is not open yet. */
static File *file_push(lua_State *L, const char *path) {
  const size_t length = strlen(path);
  File *f = lua_newuserdatauv(L, sizeof *f, 0);
  f->member = NULL;
  f->descriptor = -1;
  f->temporary[0] = f->path[0] = '\0';
  if (length >= sizeof f->path) file_fail(L, "open", path, ENAMETOOLONG);
  memcpy(f->path, path, length + 1);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &file_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, file_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, file_gc);
    lua_setfield(L, -2, "__close");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &file_key);
  }
  lua_setmetatable(L, -2);
  return f;
}

/* [-0, +1] Pushes a file for the path at 1. */
static File *file_new(lua_State *L) {
  size_t length;
  const char *path = luaL_checklstring(L, 1, &length);
  if (strlen(path) != length)
    luaL_error(L, "path: it contains a zero byte");
  return file_push(L, path);
}

/* Opens a file for reading; returns an errno if that fails. */
static int file_open_to_read(File *f, struct stat *st) {
  f->descriptor = open(f->path, O_RDONLY | O_CLOEXEC);
  if (f->descriptor < 0 || fstat(f->descriptor, st) != 0) return errno;
  return S_ISDIR(st->st_mode) ? EISDIR : 0;
}

static File *file_check(lua_State *L) {
  File *f = lua_touserdata(L, 1);
  if (f == NULL || f->descriptor < 0) luaL_error(L, "the file is closed");
  return f;
}

static int file_open(lua_State *L) {
  File *f = file_new(L);
  struct stat st;
  const int error = file_open_to_read(f, &st);
  if (error != 0) return file_fail(L, "open", f->path, error);
  if (S_ISREG(st.st_mode))
    lua_pushinteger(L, (lua_Integer)st.st_size);
  else
    lua_pushnil(L);
  return 2;
}

/* Opens a new file in the directory of the one that it will replace. */
static void file_open_temporary(lua_State *L, File *f, const struct stat *old) {
  const char *slash = strrchr(f->path, '/');
  int length = slash == NULL ? 0 : (int)(slash - f->path) + 1;
  for (int i = 0; i < 100; i++) {
    int n = snprintf(f->temporary, sizeof f->temporary, "%.*s.lze-%ld-%llx",
                     length, f->path, (long)getpid(),
                     (unsigned long long)lze_now_ns());
    if (n >= (int)sizeof f->temporary) errno = ENAMETOOLONG;
    else f->descriptor = open(f->temporary,
                              O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->descriptor >= 0) break;
    f->temporary[0] = '\0';
    if (errno != EEXIST) break;
  }
  if (f->descriptor < 0) file_fail(L, "open", f->path, errno);
  if (old != NULL && fchmod(f->descriptor, old->st_mode & 07777) != 0)
    file_fail(L, "fchmod", f->path, errno);
}

/* Replaces the path by the target of its links, which need not exist. */
static void file_follow(lua_State *L, File *f) {
  for (int i = 0; i < 40; i++) { /* the limit of Linux */
    char target[PATH_MAX];
    ssize_t n = readlink(f->path, target, sizeof target);
    if (n < 0) return;
    const char *slash = target[0] == '/' ? NULL : strrchr(f->path, '/');
    size_t kept = slash == NULL ? 0 : (size_t)(slash - f->path) + 1;
    if (kept + (size_t)n >= sizeof f->path)
      file_fail(L, "open", f->path, ENAMETOOLONG);
    memcpy(f->path + kept, target, (size_t)n);
    f->path[kept + (size_t)n] = '\0';
  }
  file_fail(L, "open", f->path, ELOOP);
}

static int file_create(lua_State *L) {
  File *f = file_new(L);
  struct stat st;
  bool there = stat(f->path, &st) == 0;
  if (there && S_ISDIR(st.st_mode))
    return file_fail(L, "open", f->path, EISDIR);
  if (there && !S_ISREG(st.st_mode)) { /* a terminal or a pipe: written
                                          directly */
    f->descriptor = open(f->path, O_WRONLY | O_CLOEXEC);
    if (f->descriptor < 0) return file_fail(L, "open", f->path, errno);
    return 1;
  }
  file_follow(L, f);
  file_open_temporary(L, f, there ? &st : NULL);
  return 1;
}

static int file_commit(lua_State *L) {
  File *f = file_check(L);
  int r = close(f->descriptor);
  f->descriptor = -1;
  if (r != 0) return file_fail(L, "close", f->path, errno);
  if (f->temporary[0] != '\0' && rename(f->temporary, f->path) != 0)
    return file_fail(L, "rename", f->path, errno);
  f->temporary[0] = '\0';
  return 0;
}

/* Lets a hook run, which may raise to end the call. */
static void file_pause(lua_State *L) {
  if (lze_run_hook(L) != LUA_OK) lua_error(L);
}

/* Reads up to `bytes` bytes; fewer at the end of the file. */
static size_t file_get_plain(lua_State *L, const File *f, char *to,
                             size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = read(f->descriptor, to + done, bytes - done);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) file_fail(L, "read", f->path, errno);
    if (n > 0) done += (size_t)n;
  }
  return done;
}

/* Updates a CRC-32 with more bytes. */
static uint32_t crc_add(uint32_t crc, const uint32_t *table,
                        const unsigned char *p, size_t n) {
  while (n-- > 0) crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
  return crc;
}

/* Fills the table that crc_add needs. */
static void crc_prepare(uint32_t table[256]) {
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++)
      table[i] = (table[i] & 1) != 0 ? table[i] >> 1 ^ 0xedb88320u
                                     : table[i] >> 1;
  }
}

/* Expands up to `bytes` bytes; fewer if the compressed bytes are damaged. */
static size_t member_expand(lua_State *L, File *f, char *to, size_t bytes) {
  Member *m = f->member;
  unsigned char *p = (unsigned char *)to;
  size_t room = bytes;
  int state = 0;
  while (room > 0 && state == 0) {
    if (m->left == 0) {
      size_t n = m->packed < WINDOW ? (size_t)m->packed : WINDOW;
      m->next = m->window;
      m->left = file_get_plain(L, f, (char *)m->window, n);
      m->packed -= n;
      if (m->left == 0) break;
    }
    state = lze_zlib_run(m->stream, &m->next, &m->left, &p, &room, false);
  }
  return bytes - room;
}

/* Reads up to `bytes` bytes; fewer at the end of the file or its member. */
static size_t file_get(lua_State *L, File *f, char *to, size_t bytes) {
  Member *m = f->member;
  if (m == NULL) return file_get_plain(L, f, to, bytes);
  if (bytes > m->bytes) bytes = (size_t)m->bytes;
  size_t n = m->stream != NULL ? member_expand(L, f, to, bytes)
                               : file_get_plain(L, f, to, bytes);
  m->crc = crc_add(m->crc, m->table, (const unsigned char *)to, n);
  m->bytes -= n;
  return n;
}

int lze_push_file(lua_State *L, const char *path, lze_FileStart *good) {
  struct stat st;
  luaL_Buffer b;
  File *f = file_push(L, path);
  const int at = lua_gettop(L);
  int error = file_open_to_read(f, &st);
  luaL_buffinit(L, &b);
  size_t piece = LZE_FILE_START, n = 0;
  while (error == 0) {
    char *to = luaL_prepbuffsize(&b, piece);
    n = file_get(L, f, to, piece);
    luaL_addsize(&b, n);
    if (n < piece) break;
    if (piece == LZE_FILE_START && good != NULL && !good(to)) break;
    piece = 1 << 20;
    file_pause(L);
  }
  luaL_pushresult(&b);
  file_close(f);
  if (error != 0) lua_settop(L, at - 1);
  else lua_remove(L, at);
  return error;
}

static void file_put_plain(lua_State *L, const File *f, const void *from,
                           size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(f->descriptor, (const char *)from + done, bytes - done);
    if (n < 0 && errno != EINTR) file_fail(L, "write", f->path, errno);
    if (n > 0) done += (size_t)n;
  }
}

/* Compresses bytes into the file; the last ones if `last`. */
static void member_compress(lua_State *L, const File *f,
                            const unsigned char *from, size_t bytes,
                            bool last) {
  Member *m = f->member;
  int state = 0;
  do {
    unsigned char *to = m->window;
    size_t room = WINDOW;
    state = lze_zlib_run(m->stream, &from, &bytes, &to, &room, last);
    file_put_plain(L, f, m->window, WINDOW - room);
    m->packed += WINDOW - room;
    if (state < 0) luaL_error(L, "zlib cannot compress %s", f->path);
  } while (last ? state == 0 : bytes > 0);
}

/* Writes bytes to the file or its member. */
static void file_put(lua_State *L, const File *f, const void *from,
                     size_t bytes) {
  Member *m = f->member;
  if (m != NULL) {
    m->crc = crc_add(m->crc, m->table, from, bytes);
    m->bytes += bytes;
  }
  if (m != NULL && m->stream != NULL)
    member_compress(L, f, from, bytes, false);
  else
    file_put_plain(L, f, from, bytes);
}

static int file_read(lua_State *L) {
  File *f = file_check(L);
  luaL_Buffer b;
  size_t n = (size_t)luaL_checkinteger(L, 2);
  char *to = luaL_buffinitsize(L, &b, n);
  luaL_pushresultsize(&b, file_get(L, f, to, n));
  return 1;
}

static int file_write(lua_State *L) {
  size_t n;
  const char *s = luaL_checklstring(L, 2, &n);
  file_put(L, file_check(L), s, n);
  return 0;
}

/* Reverses the order of each `width` bytes. */
static void swap_bytes(char *p, size_t bytes, size_t width) {
  for (char *end = p + bytes; p < end; p += width)
    for (size_t i = 0; i < width / 2; i++) {
      char c = p[i];
      p[i] = p[width - 1 - i];
      p[width - 1 - i] = c;
    }
}

static int file_load(lua_State *L) {
  lua_settop(L, 4);
  size_t swap = (size_t)luaL_checkinteger(L, 3);
  bool truth = lua_toboolean(L, 4);
  const lze_Buffer *b = lze_check_buffer(L, 2);
  size_t size = b->type->bytes, n = (size_t)b->count;
  bool staged = b->storage->usage == LZE_DEVICE;
  size_t step = LZE_STAGING_BYTES / size;
  char *piece = staged ? lua_newuserdatauv(L, step * size, 0) : NULL;
  for (size_t done = 0; done < n; done += step) {
    if (step > n - done) step = n - done;
    file_pause(L);
    b = lze_check_buffer(L, 2);
    if (!staged) {
      lze_buffer_wait(L, 2, b, done, step, true);
      piece = lze_buffer_data(b) + done * size;
    }
    size_t got = file_get(L, file_check(L), piece, step * size);
    if (got < step * size) {
      lua_pushinteger(L, (lua_Integer)((n - done) * size - got));
      return 1;
    }
    if (swap > 1) swap_bytes(piece, got, swap);
    if (truth)
      for (size_t i = 0; i < got; i++) piece[i] = piece[i] != 0;
    if (staged) lze_buffer_put(L, 2, b, done, piece, step);
  }
  lua_pushinteger(L, 0);
  return 1;
}

static int file_save(lua_State *L) {
  lua_settop(L, 2);
  const lze_Buffer *b = lze_check_buffer(L, 2);
  size_t size = b->type->bytes, n = (size_t)b->count;
  size_t step = LZE_STAGING_BYTES / size;
  for (size_t done = 0; done < n; done += step) {
    if (step > n - done) step = n - done;
    file_pause(L);
    b = lze_check_buffer(L, 2);
    const char *p = lze_buffer_bytes(L, 2, b, done, step);
    file_put(L, file_check(L), p, step * size);
    lua_settop(L, 2);
  }
  return 0;
}

/* --- PNG ---------------------------------------------------------------- */

static void put_big(unsigned char *p, uint32_t v) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static void picture_chunk(lua_State *L, const File *f, const char *kind,
                          const unsigned char *body, size_t n) {
  uint32_t table[256];
  crc_prepare(table);
  unsigned char head[8], tail[4];
  put_big(head, (uint32_t)n);
  memcpy(head + 4, kind, 4);
  uint32_t crc = crc_add(0xffffffffu, table, head + 4, 4);
  put_big(tail, ~crc_add(crc, table, body, n));
  file_put(L, f, head, sizeof head);
  file_put(L, f, body, n);
  file_put(L, f, tail, sizeof tail);
}

/* Writes n bytes in zlib's format, in stored blocks. */
static size_t deflate_stored(unsigned char *to, const unsigned char *from,
                             size_t n) {
  unsigned char *p = to;
  *p++ = 0x78;
  *p++ = 0x01;
  uint32_t a = 1, b = 0; /* Adler-32 */
  do {
    size_t block = n < 65535 ? n : 65535;
    *p++ = block == n;
    *p++ = (unsigned char)block;
    *p++ = (unsigned char)(block >> 8);
    *p++ = (unsigned char)~block;
    *p++ = (unsigned char)(~block >> 8);
    memcpy(p, from, block);
    for (size_t i = 0; i < block; i++) {
      a = (a + from[i]) % 65521;
      b = (b + a) % 65521;
    }
    p += block;
    from += block;
    n -= block;
  } while (n > 0);
  put_big(p, b << 16 | a);
  return (size_t)(p + 4 - to);
}

/* Compresses with the system's zlib; returns 0 if it is missing. */
static size_t deflate_zlib(unsigned char *to, size_t room,
                           const unsigned char *from, size_t n) {
  lze_Zlib *z = lze_zlib_new(LZE_DEFLATE);
  if (z == NULL) return 0;
  const size_t most = room;
  int state = 0;
  while (state == 0 && room > 0)
    state = lze_zlib_run(z, &from, &n, &to, &room, true);
  lze_zlib_free(z);
  return state == 1 ? most - room : 0;
}

static int file_picture(lua_State *L) {
  static const unsigned char kinds[] = {0, 0, 0, 2, 6}; /* by channels */
  lua_settop(L, 6);
  size_t width = (size_t)luaL_checkinteger(L, 3);
  size_t height = (size_t)luaL_checkinteger(L, 4);
  size_t channels = (size_t)luaL_checkinteger(L, 5);
  size_t row = width * channels, bytes = height * (row + 1);
  size_t room = bytes + bytes / 1000 + 5 * (bytes / 65535 + 1) + 64;
  unsigned char *lines = lua_newuserdatauv(L, bytes, 0);
  unsigned char *packed = lua_newuserdatauv(L, room, 0);
  const lze_Buffer *b = lze_check_buffer(L, 2);
  const char *p = lze_buffer_bytes(L, 2, b, 0, (size_t)b->count);
  for (size_t y = 0; y < height; y++) { /* each begins with its filter: none
                                           (0) */
    lines[y * (row + 1)] = 0;
    memcpy(lines + y * (row + 1) + 1, p + y * row, row);
  }
  size_t n = lua_toboolean(L, 6) ? deflate_zlib(packed, room, lines, bytes) : 0;
  if (n == 0) n = deflate_stored(packed, lines, bytes);
  const File *f = file_check(L);
  unsigned char head[13] = {[8] = 8, [9] = kinds[channels]};
  put_big(head, (uint32_t)width);
  put_big(head + 4, (uint32_t)height);
  file_put(L, f, "\x89PNG\r\n\x1a\n", 8);
  picture_chunk(L, f, "IHDR", head, sizeof head);
  const size_t most = (size_t)1 << 30;
  for (size_t done = 0; done < n; done += most)
    picture_chunk(L, f, "IDAT", packed + done,
                  n - done < most ? n - done : most);
  picture_chunk(L, f, "IEND", head, 0);
  return 0;
}

/* --- members of an archive ---------------------------------------------- */

static int file_seek(lua_State *L) {
  File *f = file_check(L);
  file_leave(f);
  if (lseek(f->descriptor, (off_t)luaL_checkinteger(L, 2), SEEK_SET) < 0)
    return file_fail(L, "lseek", f->path, errno);
  return 0;
}

/* Gives the file a member; returns false if zlib is missing. */
static bool file_enter(lua_State *L, File *f, bool packed, lze_ZlibKind kind) {
  file_leave(f);
  f->member = calloc(1, sizeof *f->member);
  if (f->member == NULL) lze_no_memory(L);
  crc_prepare(f->member->table);
  f->member->crc = 0xffffffffu;
  if (packed) f->member->stream = lze_zlib_new(kind);
  if (!packed || f->member->stream != NULL) return true;
  file_leave(f);
  return false;
}

static int file_member(lua_State *L) {
  File *f = file_check(L);
  const bool packed = lua_toboolean(L, 2);
  if (file_enter(L, f, packed, LZE_INFLATE_RAW)) {
    f->member->packed = (uint64_t)luaL_checkinteger(L, 3);
    f->member->bytes = (uint64_t)luaL_checkinteger(L, 4);
    f->member->wanted = (uint32_t)luaL_checkinteger(L, 5);
  }
  lua_pushboolean(L, f->member != NULL);
  return 1;
}

static int file_rest(lua_State *L) {
  const Member *m = file_check(L)->member;
  lua_pushinteger(L, (lua_Integer)m->bytes);
  lua_pushboolean(L, (m->crc ^ 0xffffffffu) == m->wanted);
  return 2;
}

static int file_begin(lua_State *L) {
  File *f = file_check(L);
  lua_pushboolean(L, file_enter(L, f, lua_toboolean(L, 2), LZE_DEFLATE_RAW));
  return 1;
}

static int file_finish(lua_State *L) {
  File *f = file_check(L);
  Member *m = f->member;
  if (m->stream != NULL) member_compress(L, f, NULL, 0, true);
  lua_pushinteger(L, (lua_Integer)(m->crc ^ 0xffffffffu));
  lua_pushinteger(L, (lua_Integer)(m->stream != NULL ? m->packed : m->bytes));
  file_leave(f);
  return 2;
}

static int file_patch(lua_State *L) {
  size_t n;
  const File *f = file_check(L);
  const off_t at = (off_t)luaL_checkinteger(L, 2);
  const char *p = luaL_checklstring(L, 3, &n);
  if (pwrite(f->descriptor, p, n, at) != (ssize_t)n)
    return file_fail(L, "pwrite", f->path, errno);
  return 0;
}

/* --- files in memory ------------------------------------------------------ */

typedef struct Mapping {
  char *base;
  size_t bytes;
} Mapping;

/* Has the signature that lze_push_borrowed needs. */
static void mapping_release(void *userdata, void *pointer) {
  Mapping *m = userdata;
  (void)pointer;
  munmap(m->base, m->bytes);
  free(m);
}

/* Returns true if kernels on the device can use memory of the system. */
static bool reaches_system(const lze_DeviceInfo *device) {
  ze_device_memory_access_properties_t can = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
  return ZE(zeDeviceGetMemoryAccessProperties, device->handle, &can) ==
             ZE_RESULT_SUCCESS &&
         (can.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
}

/* (mapping, position, type, count, device) -> buffer */
static int mapping_push(lua_State *L) {
  Mapping *m = lua_touserdata(L, 1);
  const lze_DeviceInfo *device = lua_touserdata(L, 5);
  lze_Context *context = lze_push_device_context(L, device);
  const lze_Borrowed memory = {LZE_SHARED, m->base, m->bytes, lze_now_ns()};
  lze_push_borrowed(L, context, device, &memory,
                    m->base + luaL_checkinteger(L, 2), lze_check_type(L, 3),
                    luaL_checkinteger(L, 4), mapping_release, m);
  return 1;
}

/* Maps the file; returns NULL, with an errno, if that fails. */
static Mapping *file_map_all(const File *f, size_t bytes, bool write) {
  Mapping *m = malloc(sizeof *m);
  if (m == NULL) return NULL;
  m->bytes = bytes;
  m->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 (write ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE,
                 f->descriptor, 0);
  if (m->base != MAP_FAILED) return m;
  free(m);
  return NULL;
}

static int file_map(lua_State *L) {
  lua_settop(L, 6);
  File *f = file_check(L);
  const lua_Integer position = luaL_checkinteger(L, 2);
  const lze_Type *type = lze_check_type(L, 3);
  const lua_Integer count = luaL_checkinteger(L, 4);
  const bool write = lua_toboolean(L, 5);
  const lze_DeviceInfo *device = lua_isnil(L, 6)
      ? lze_push_default_device(L) : lze_device_at(L, 6, "device");
  struct stat st;
  if (!reaches_system(device)) return 0;
  if (write) {
    file_close(f);
    f->descriptor = open(f->path, O_RDWR | O_CLOEXEC);
  }
  if (f->descriptor < 0 || fstat(f->descriptor, &st) != 0)
    return file_fail(L, "open", f->path, errno);
  if (position + count * (lua_Integer)type->bytes > st.st_size)
    return luaL_error(L, "%s has become shorter", f->path);
  Mapping *m = file_map_all(f, (size_t)st.st_size, write);
  if (m == NULL) return file_fail(L, "mmap", f->path, errno);
  lua_pushcfunction(L, mapping_push);
  lua_pushlightuserdata(L, m);
  for (int i = 2; i <= 4; i++) lua_pushvalue(L, i);
  lua_pushlightuserdata(L, (void *)device);
  if (lua_pcall(L, 5, 1, 0) == LUA_OK) return 1;
  mapping_release(m, NULL);
  return lua_error(L);
}

/* --- for lua/array_file.lua ---------------------------------------------- */

static int file_size(lua_State *L) {
  lua_pushinteger(L, lze_check_type(L, 1)->bytes);
  return 1;
}

static int file_raise(lua_State *L) {
  return lze_fail_word(L, NULL, luaL_checkstring(L, 1), luaL_checkstring(L, 2),
                       NULL, "%s", luaL_checkstring(L, 3));
}

static const lze_Method functions[] = {
    {"open", file_open, LZE_UNGUARDED},
    {"read", file_read, LZE_UNGUARDED},
    {"load", file_load, LZE_UNGUARDED},
    {"create", file_create, LZE_UNGUARDED},
    {"commit", file_commit, LZE_UNGUARDED},
    {"write", file_write, LZE_UNGUARDED},
    {"save", file_save, LZE_UNGUARDED},
    {"picture", file_picture, LZE_UNGUARDED},
    {"seek", file_seek, LZE_UNGUARDED},
    {"member", file_member, LZE_UNGUARDED},
    {"rest", file_rest, LZE_UNGUARDED},
    {"begin", file_begin, LZE_UNGUARDED},
    {"finish", file_finish, LZE_UNGUARDED},
    {"patch", file_patch, LZE_UNGUARDED},
    {"map", file_map, LZE_UNGUARDED},
    {"size", file_size, LZE_UNGUARDED},
    {"fail", file_raise, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_push_file_functions(lua_State *L) {
  lua_createtable(L, 0, (int)(sizeof functions / sizeof *functions));
  lze_set_methods(L, functions, 0);
}
