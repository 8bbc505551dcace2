/* Preloaded into a program: appends each change of a file under the folder DIVAN_RECORD_FOLDER to the file DIVAN_RECORD, in order.
   A record is a line `kind offset length path`, then that many bytes. Kinds: w(rite), t(runcate to offset), u(nlink), s(ync). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int out = -1;
static ssize_t (*plain_write)(int, const void *, size_t);

static void put(const void *bytes, size_t length) {
  if (plain_write(out, bytes, length) != (ssize_t)length) abort();
}

static void record_path(char kind, const char *path, off_t offset, const void *bytes, size_t length) {
  const char *folder = getenv("DIVAN_RECORD_FOLDER");
  if (folder == NULL || strncmp(path, folder, strlen(folder)) != 0) return;
  if (plain_write == NULL) plain_write = dlsym(RTLD_NEXT, "write");
  if (out < 0) out = open(getenv("DIVAN_RECORD"), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  char line[PATH_MAX + 64];
  put(line, snprintf(line, sizeof line, "%c %lld %zu %s\n", kind, (long long)offset, length, path));
  if (length > 0) put(bytes, length);
}

static void record(char kind, int fd, off_t offset, const void *bytes, size_t length) {
  if (fd == out) return;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t end = readlink(link, path, sizeof path - 1);
  if (end < 0) return;
  path[end] = 0;
  record_path(kind, path, offset, bytes, length);
}

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *bytes, size_t length) {
  if (fd > 2) record('w', fd, lseek(fd, 0, SEEK_CUR), bytes, length);
  return NEXT("write", ssize_t (*)(int, const void *, size_t))(fd, bytes, length);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  record('w', fd, offset, bytes, length);
  return NEXT("pwrite", ssize_t (*)(int, const void *, size_t, off_t))(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  record('w', fd, offset, bytes, length);
  return NEXT("pwrite64", ssize_t (*)(int, const void *, size_t, off_t))(fd, bytes, length, offset);
}

int ftruncate(int fd, off_t length) {
  record('t', fd, length, NULL, 0);
  return NEXT("ftruncate", int (*)(int, off_t))(fd, length);
}

int ftruncate64(int fd, off_t length) {
  record('t', fd, length, NULL, 0);
  return NEXT("ftruncate64", int (*)(int, off_t))(fd, length);
}

int fsync(int fd) {
  record('s', fd, 0, NULL, 0);
  return NEXT("fsync", int (*)(int))(fd);
}

int fdatasync(int fd) {
  record('s', fd, 0, NULL, 0);
  return NEXT("fdatasync", int (*)(int))(fd);
}

int unlink(const char *path) {
  record_path('u', path, 0, NULL, 0);
  return NEXT("unlink", int (*)(const char *))(path);
}

int unlinkat(int folder, const char *path, int flags) {
  record_path('u', path, 0, NULL, 0);
  return NEXT("unlinkat", int (*)(int, const char *, int))(folder, path, flags);
}

int remove(const char *path) {
  record_path('u', path, 0, NULL, 0);
  return NEXT("remove", int (*)(const char *))(path);
}
