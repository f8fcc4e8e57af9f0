// A process that the doctor is asked about: it takes a mutex, prints "ready", and sleeps. Its first
// word says what is special about it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static int word;
static void* sleeps(void* unused) {
  pause();
  return unused;
}
int main(int argc, char** argv) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "deep") == 0) {
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND);
    if (library == NULL) return 3;
    ((void (*)(void))dlsym(library, "use"))();
  }
  if (strcmp(how, "filter") == 0) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, all};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 4;
  }
  if (strcmp(how, "chroot") == 0 && chroot(argv[2]) != 0) return 5;
  puts("ready");
  fflush(stdout);
  if (strcmp(how, "futex") == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  if (strcmp(how, "leave") == 0) {
    pthread_t other;
    pthread_create(&other, NULL, sleeps, NULL);
    pthread_exit(NULL);
  }
  pause();
}
