/* Preloaded into a node: while the file named by DIVAN_FAIL_SYNC exists, syncs of data files fail as a broken disk's do;
   while the one named by DIVAN_HOLD_SYNC exists, they block, and a file beside it (.held) shows that one of them does;
   while the one named by DIVAN_FAIL_CONFIG_SYNC exists, syncs of config.db and its log fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_set(const char *variable) {
  const char *switch_file = getenv(variable);
  return switch_file != NULL && access(switch_file, F_OK) == 0;
}

static int is_of(int fd, const char *name) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, name) != NULL;
}

static void hold(void) {
  char held[4096];
  snprintf(held, sizeof held, "%s.held", getenv("DIVAN_HOLD_SYNC"));
  close(open(held, O_CREAT | O_WRONLY, 0600));
  while (is_set("DIVAN_HOLD_SYNC")) usleep(5000);
}

static int fails(int fd) {
  if (is_set("DIVAN_HOLD_SYNC") && is_of(fd, "/data-")) hold();
  if (is_set("DIVAN_FAIL_CONFIG_SYNC") && is_of(fd, "/config.db")) return 1;
  return is_set("DIVAN_FAIL_SYNC") && is_of(fd, "/data-");
}

int fsync(int fd) {
  if (fails(fd)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  if (fails(fd)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
