// A server under test and its load. Each byte that the server gets is a request: it takes one
// rwlock, every tenth time as a writer, and sends the byte back. SIGTERM makes it exit; the modes
// make it misbehave.
//   tiny server PORT THREADS [--plain | --deaf | --early | --crash | --quiet | --leave |
//   --background | --bad-end] tiny load PORT REQUESTS [--hang | --fail | --wrong]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int listener;
static const char* mode = "";

static int is(const char* name) { return strcmp(mode, name) == 0; }

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static void* serve(void* unused) {
  (void)unused;
  long served = 0;
  for (;;) {
    int connection = accept(listener, NULL, NULL);
    char byte;
    while (read(connection, &byte, 1) == 1) {
      if (is("--crash")) raise(SIGSEGV);
      (++served % 10 ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(&lock);
      pthread_rwlock_unlock(&lock);
      if (write(connection, &byte, 1) != 1) break;
    }
    close(connection);
  }
  return NULL;
}

static int server(int port, int threads) {
  struct sockaddr_in address = loopback(port);
  int yes = 1;
  if (is("--early")) {
    fputs("no configuration\n", stderr);
    return 3;
  }
  if (is("--background") && fork() != 0) return 0;
  if (is("--leave") && fork() == 0) {
    setsid();
    for (;;)
      pause();
  }
  if (is("--deaf")) signal(SIGTERM, SIG_IGN);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  int polite = !is("--plain") && !is("--deaf");
  if (polite) pthread_sigmask(SIG_BLOCK, &term, NULL);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!is("--quiet") &&
      (bind(listener, (void*)&address, sizeof address) != 0 || listen(listener, 16) != 0)) {
    perror("bind");
    return 1;
  }
  pthread_t thread;
  for (int i = 0; i < threads && !is("--quiet"); ++i)
    pthread_create(&thread, NULL, serve, NULL);
  printf(is("--quiet") ? "still loading\n" : "listening on %d\n", port);
  fflush(stdout);
  if (!polite)
    for (;;)
      pause();
  int number;
  sigwait(&term, &number);
  puts("stopped");
  return is("--bad-end") ? 9 : 0;
}

static int load(int port, long requests) {
  if (is("--hang"))
    for (;;)
      pause();
  if (is("--fail")) {
    fputs("no such request\n", stderr);
    return 4;
  }
  struct sockaddr_in address = loopback(port);
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  if (connect(connection, (void*)&address, sizeof address) != 0) return perror("connect"), 1;
  for (long i = 0; i < requests; ++i) {
    char byte = (char)i, back = 0;
    if (write(connection, &byte, 1) != 1 || read(connection, &back, 1) != 1 || back != byte)
      return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
  printf("requests/s: %.1f\nrequests: %ld\npreload: %s\n", (double)requests / s, requests,
         getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
  puts(is("--wrong") ? "result: broken" : "result: ok");
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (argc > 4) mode = argv[4];
  return strcmp(argv[1], "server") == 0 ? server(atoi(argv[2]), atoi(argv[3]))
                                        : load(atoi(argv[2]), atol(argv[3]));
}
