/* Preloaded into a program: writes a line to the file named by DIVAN_COUNT_SYNCS for each sync, with what was synced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(int fd) {
  char link[64], line[4100];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, line, sizeof line - 2);
  if (length < 0) return;
  line[length] = '\n';
  int out = open(getenv("DIVAN_COUNT_SYNCS"), O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (write(out, line, length + 1) < 0) abort();
  close(out);
}

int fsync(int fd) {
  count(fd);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  count(fd);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
