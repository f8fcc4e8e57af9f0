// Makes the mapping calls that tests of `trace-vm` look for, and ends with status 3.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 40 };

static void* other(void* memory) {
  memset(memory, 1, PAGE);
  munmap(memory, PAGES * PAGE);
  return 0;
}

int main(void) {
  char* memory = mmap(0, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 2 * PAGE, PROT_READ | PROT_WRITE);
  memset(memory, 1, 2 * PAGE);
  madvise(memory, PAGE, MADV_DONTNEED);
  if (fork() == 0) _exit(0);
  wait(0);
  pthread_t thread;
  pthread_create(&thread, 0, other, memory);
  pthread_join(thread, 0);
  return 3;
}
