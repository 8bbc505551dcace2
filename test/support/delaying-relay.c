/* Delays the packets of a network: receives them on eth0 and sends each, in the same order, to the machine with its IPv4 destination.
   Arguments: the delay in milliseconds, then the IPv4 and the MAC address of each machine. Runs until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <poll.h>
#include <unistd.h>

/* The header that the kernel puts before each packet: it says which work (checksum, segmentation) is left to the receiver. */
#define OFFLOAD_BYTES 10
#define PACKET_BYTES (OFFLOAD_BYTES + 65536 + 64)
#define WAITING_MAX 8192
#define MACHINES_MAX 16

struct waiting {
  int64_t due_ms;
  size_t length;
  uint8_t *bytes;
};
static struct waiting queue[WAITING_MAX];
static size_t first, count;
static struct { uint32_t address; uint8_t mac[6]; } machines[MACHINES_MAX];
static int machine_count;

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns 0 if the packet is for no known machine. */
static int readdress(uint8_t *frame, size_t length) {
  if (length < 34 || frame[12] != 8 || frame[13] != 0) return 0;
  uint32_t to;
  memcpy(&to, frame + 30, 4);
  for (int at = 0; at < machine_count; at++) {
    if (machines[at].address != to) continue;
    memcpy(frame + 6, frame, 6);
    memcpy(frame, machines[at].mac, 6);
    return 1;
  }
  return 0;
}

static void take(int packets, int64_t delay_ms) {
  static uint8_t bytes[PACKET_BYTES];
  struct sockaddr_ll from;
  socklen_t from_length = sizeof from;
  ssize_t length = recvfrom(packets, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &from_length);
  if (length <= OFFLOAD_BYTES || from.sll_pkttype != PACKET_HOST || count == WAITING_MAX) return;
  if (!readdress(bytes + OFFLOAD_BYTES, length - OFFLOAD_BYTES)) return;
  struct waiting *one = &queue[(first + count++) % WAITING_MAX];
  *one = (struct waiting){.due_ms = now_ms() + delay_ms, .length = length, .bytes = malloc(length)};
  if (one->bytes == NULL) exit(1);
  memcpy(one->bytes, bytes, length);
}

static void pass(int packets) {
  while (count > 0 && queue[first].due_ms <= now_ms()) {
    send(packets, queue[first].bytes, queue[first].length, 0);
    free(queue[first].bytes);
    first = (first + 1) % WAITING_MAX;
    count--;
  }
}

int main(int argc, char **argv) {
  for (int at = 2; at + 1 < argc && machine_count < MACHINES_MAX; at += 2, machine_count++) {
    uint8_t *mac = machines[machine_count].mac;
    machines[machine_count].address = inet_addr(argv[at]);
    sscanf(argv[at + 1], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4, mac + 5);
  }
  int packets = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  int yes = 1, room = 16 << 20;
  struct sockaddr_ll device = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  device.sll_ifindex = if_nametoindex("eth0");
  setsockopt(packets, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  if (setsockopt(packets, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) != 0 ||
      bind(packets, (struct sockaddr *)&device, sizeof device) != 0) {
    perror("delaying-relay");
    return 1;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct pollfd readable = {.fd = packets, .events = POLLIN};
    int64_t left = count == 0 ? -1 : queue[first].due_ms - now_ms();
    if (poll(&readable, 1, left < 0 && count > 0 ? 0 : (int)left) > 0) take(packets, atoi(argv[1]));
    pass(packets);
  }
}
