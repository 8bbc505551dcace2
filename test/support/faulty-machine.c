/* Preloaded into a node: its wall clock is ahead by the nanoseconds in the file named by DIVAN_CLOCK_AHEAD (8 bytes, of this machine's
   order), which may change at any time. The monotonic clock is not changed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("DIVAN_CLOCK_AHEAD");
  int fd = name == NULL ? -1 : open(name, O_RDONLY);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) ahead = mapped;
  close(fd);
}

static int64_t wall_ns(void) {
  static int (*now)(clockid_t, struct timespec *);
  if (now == NULL) now = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  struct timespec time;
  now(CLOCK_REALTIME, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec + (ahead == NULL ? 0 : *ahead);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*now)(clockid_t, struct timespec *);
  if (now == NULL) now = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return now(clock, time);
  int64_t ns = wall_ns();
  time->tv_sec = ns / 1000000000;
  time->tv_nsec = ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  int64_t ns = wall_ns();
  time->tv_sec = ns / 1000000000;
  time->tv_usec = ns % 1000000000 / 1000;
  return 0;
}

time_t time(time_t *result) {
  time_t seconds = wall_ns() / 1000000000;
  if (result != NULL) *result = seconds;
  return seconds;
}
