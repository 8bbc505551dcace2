/* Preloaded into a program: kills it at the start of call number DIVAN_KILL_AT of those that DIVAN_KILL_CALLS names, such as "write,writev".
   All calls of the program are counted together, whatever thread makes them.
   With DIVAN_STOP_FD instead, stops the program at the start of each of these calls, after a line with the call's name was written to that
   file descriptor. The reader of the lines continues the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long remaining;
static int stop_fd = -1;
/* Held by the thread that stops the program: one call after the other. */
static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;

/* Whether `call` is one of the words of DIVAN_KILL_CALLS. */
static int is_named(const char *call) {
  const char *names = getenv("DIVAN_KILL_CALLS");
  size_t length = strlen(call);
  while (names != NULL && *names != 0) {
    size_t word = strcspn(names, ",");
    if (word == length && strncmp(names, call, word) == 0) return 1;
    names += word + (names[word] == ',');
  }
  return 0;
}

__attribute__((constructor)) static void start(void) {
  const char *number = getenv("DIVAN_KILL_AT");
  if (number != NULL) atomic_store(&remaining, atol(number));
  const char *fd = getenv("DIVAN_STOP_FD");
  if (fd != NULL) stop_fd = atoi(fd);
}

#define NEXT(name, ...) ((__VA_ARGS__)dlsym(RTLD_NEXT, name))

static void stop(const char *call) {
  struct iovec line[] = {{(void *)call, strlen(call)}, {"\n", 1}};
  pthread_mutex_lock(&stopping);
  if (NEXT("writev", ssize_t (*)(int, const struct iovec *, int))(stop_fd, line, 2) > 0) kill(getpid(), SIGSTOP);
  pthread_mutex_unlock(&stopping);
}

static void count(const char *call) {
  if (!is_named(call)) return;
  if (stop_fd >= 0) stop(call);
  else if (atomic_fetch_sub(&remaining, 1) == 1) kill(getpid(), SIGKILL);
}

int fsync(int fd) {
  count("fsync");
  return NEXT("fsync", int (*)(int))(fd);
}

int rename(const char *from, const char *to) {
  count("rename");
  return NEXT("rename", int (*)(const char *, const char *))(from, to);
}

int mkdir(const char *path, mode_t mode) {
  count("mkdir");
  return NEXT("mkdir", int (*)(const char *, mode_t))(path, mode);
}

int rmdir(const char *path) {
  count("rmdir");
  return NEXT("rmdir", int (*)(const char *))(path);
}

int unlink(const char *path) {
  count("unlink");
  return NEXT("unlink", int (*)(const char *))(path);
}

/* The remove of the C library calls its own unlink and rmdir, which are not counted here: so this one calls those above. */
int remove(const char *path) {
  if (unlink(path) == 0) return 0;
  return errno == EISDIR ? rmdir(path) : -1;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  count("write");
  return NEXT("write", ssize_t (*)(int, const void *, size_t))(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
  count("writev");
  return NEXT("writev", ssize_t (*)(int, const struct iovec *, int))(fd, parts, number);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  count("sendmsg");
  return NEXT("sendmsg", ssize_t (*)(int, const struct msghdr *, int))(fd, message, flags);
}

ssize_t pwritev(int fd, const struct iovec *parts, int number, off_t offset) {
  count("pwritev");
  return NEXT("pwritev", ssize_t (*)(int, const struct iovec *, int, off_t))(fd, parts, number, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int number, off_t offset) {
  count("pwritev");
  return NEXT("pwritev64", ssize_t (*)(int, const struct iovec *, int, off_t))(fd, parts, number, offset);
}

/* open has a third argument, the mode, only with these flags. */
static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                      \
  int name(const char *path, int flags, ...) {                          \
    va_list list;                                                       \
    va_start(list, flags);                                              \
    mode_t mode = mode_of(flags, list);                                 \
    va_end(list);                                                       \
    count("open");                                                      \
    return NEXT(#name, int (*)(const char *, int, ...))(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)
