/*
 * lze_file.c - files that hold the elements of a buffer.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_file.h"
#include "base/lze_error.h"
#include "memory/lze_buffer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A userdata; unused members are -1 or "". */
typedef struct File {
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

static void file_close(File *f) {
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
static size_t file_get(lua_State *L, const File *f, char *to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = read(f->descriptor, to + done, bytes - done);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) file_fail(L, "read", f->path, errno);
    if (n > 0) done += (size_t)n;
  }
  return done;
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

static void file_put(lua_State *L, const File *f, const char *from,
                     size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(f->descriptor, from + done, bytes - done);
    if (n < 0 && errno != EINTR) file_fail(L, "write", f->path, errno);
    if (n > 0) done += (size_t)n;
  }
}

static int file_read(lua_State *L) {
  const File *f = file_check(L);
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

/* Updates PNG's CRC-32 with more bytes. */
static uint32_t crc_add(uint32_t crc, const uint32_t *table,
                        const unsigned char *p, size_t n) {
  while (n-- > 0) crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
  return crc;
}

static void picture_chunk(lua_State *L, const File *f, const char *kind,
                          const unsigned char *body, size_t n) {
  uint32_t table[256];
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++)
      table[i] = (table[i] & 1) != 0 ? table[i] >> 1 ^ 0xedb88320u
                                     : table[i] >> 1;
  }
  unsigned char head[8], tail[4];
  put_big(head, (uint32_t)n);
  memcpy(head + 4, kind, 4);
  uint32_t crc = crc_add(0xffffffffu, table, head + 4, 4);
  put_big(tail, ~crc_add(crc, table, body, n));
  file_put(L, f, (const char *)head, sizeof head);
  file_put(L, f, (const char *)body, n);
  file_put(L, f, (const char *)tail, sizeof tail);
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
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  int (*compress)(unsigned char *, unsigned long *, const unsigned char *,
                  unsigned long);
  *(void **)&compress = dlsym(library, "compress");
  unsigned long got = room;
  bool good = compress != NULL && compress(to, &got, from, n) == 0;
  dlclose(library);
  return good ? got : 0;
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
    {"size", file_size, LZE_UNGUARDED},
    {"fail", file_raise, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_push_file_functions(lua_State *L) {
  lua_createtable(L, 0, (int)(sizeof functions / sizeof *functions));
  lze_set_methods(L, functions, 0);
}
