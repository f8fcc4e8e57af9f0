/* How many keys of thread-specific data a process can create, in a line.
 *
 *     key_forks plain     this one
 *     key_forks other     a child, forked while another thread sets the value of lockswap's key
 *     key_forks handler   a child, forked by this thread in the middle of that, as a signal
 *                         handler may do
 *
 * The latter two need key_hook.c in the process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

extern void (*key_hook)(void) __attribute__((weak));
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside, leave;
static pid_t child = -1;

static int count_keys(void) {
  pthread_key_t key;
  int n = 0;
  while (pthread_key_create(&key, NULL) == 0)
    ++n;
  printf("%d\n", n);
  fflush(stdout);
  return 0;
}
static int wait_for_child(void) {
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static void wait_inside(void) {
  inside = 1;
  while (leave == 0)
    usleep(1000);
}
static void fork_inside(void) { child = fork(); }
static void* use_lock(void* unused) {
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  return unused;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "plain") == 0) return count_keys();
  if (argc != 2 || &key_hook == NULL) return 2;
  if (strcmp(argv[1], "handler") == 0) {
    key_hook = fork_inside;
    use_lock(NULL);
    return child == 0 ? count_keys() : wait_for_child();
  }
  pthread_t other;
  key_hook = wait_inside;
  if (pthread_create(&other, NULL, use_lock, NULL) != 0) return 1;
  while (inside == 0)
    usleep(1000);
  child = fork();
  if (child == 0) return count_keys();
  const int error = wait_for_child();
  leave = 1;
  pthread_join(other, NULL);
  return error;
}
