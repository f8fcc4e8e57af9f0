// Programs for test_shared.py: locks in memory that processes share, or might.
//   audit_shared CASE [FILE]        prints "done"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define EXPECT(value, call)                                         \
  do {                                                              \
    int got = (call);                                               \
    if (got != (value)) {                                           \
      fprintf(stderr, "line %d: %s is %d\n", __LINE__, #call, got); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

enum { kPage = 4096, kSize = 16 * kPage, kMany = 200 };

typedef struct {
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_cond_t cond;
} Locks;

static const char* file;  // the second argument

static void* map_at(void* at, int flags, int fd) {
  void* p = mmap(at, kSize, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  return p;
}
static void* map(int flags) { return map_at(NULL, flags | MAP_ANONYMOUS, -1); }
static void* map_file(int flags) {
  int fd = open(file, O_RDWR | O_CREAT, 0600);
  EXPECT(0, ftruncate(fd, kSize));
  void* p = map_at(NULL, flags, fd);
  close(fd);
  return p;
}

static void init(Locks* l) {
  EXPECT(0, pthread_mutex_init(&l->mutex, NULL));
  EXPECT(0, pthread_rwlock_init(&l->rwlock, NULL));
  EXPECT(0, pthread_cond_init(&l->cond, NULL));
}
static void init_process_shared(Locks* l) {
  pthread_mutexattr_t m;
  pthread_rwlockattr_t r;
  pthread_condattr_t c;
  EXPECT(0, pthread_mutexattr_init(&m) | pthread_rwlockattr_init(&r) | pthread_condattr_init(&c));
  EXPECT(0, pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED));
  EXPECT(0, pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED));
  EXPECT(0, pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED));
  EXPECT(0, pthread_mutex_init(&l->mutex, &m) | pthread_rwlock_init(&l->rwlock, &r));
  EXPECT(0, pthread_cond_init(&l->cond, &c));
}
static void use(Locks* l) {
  EXPECT(0, pthread_mutex_lock(&l->mutex));
  EXPECT(0, pthread_cond_signal(&l->cond));
  EXPECT(0, pthread_mutex_unlock(&l->mutex));
  EXPECT(0, pthread_rwlock_wrlock(&l->rwlock));
  EXPECT(0, pthread_rwlock_unlock(&l->rwlock));
}

static int wait_for(pid_t child) {
  int status = -1;
  EXPECT(child, waitpid(child, &status, 0));
  return status;
}
// Ends by _exit, which runs no exit handlers.
static void use_in_child(Locks* l) {
  pid_t child = fork();
  if (child == 0) {
    use(l);
    _exit(0);
  }
  EXPECT(0, wait_for(child));
}
static void use_in_both(Locks* l) {
  use(l);
  use_in_child(l);
}

// --- used by several processes

static void forked(void) {
  Locks* l = map(MAP_SHARED);
  init(l);
  use_in_both(l);
}
static void zeroed(void) { use_in_both(map(MAP_SHARED)); }
static void in_segment(void) {
  int id = shmget(IPC_PRIVATE, kSize, 0600);
  Locks* l = shmat(id, NULL, 0);
  EXPECT(0, shmctl(id, IPC_RMID, NULL));
  use_in_both(l);
}
static void in_file(void) { use(map_file(MAP_SHARED)); }
// Two other processes, each of which maps the file itself.
static void in_file_of_two(void) {
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    if (child == 0) execl("/proc/self/exe", "audit_shared", "in_file", file, NULL);
    EXPECT(0, wait_for(child));
  }
}
// The parent knows the memory as private. A child maps shared memory there.
static void mapped_over(void) {
  Locks* l = map(MAP_SHARED);
  EXPECT((int)(l == map_at(l, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1)), 1);
  use(l);
  map_at(l, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1);
  use_in_both(l);
}
// The locks in the first memory are the parent's alone, and those in the second are others.
static void mapped_anew(void) {
  Locks* l = map(MAP_SHARED);
  use(l);
  map_at(l, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1);
  use_in_both(l);
}

// --- used by one

static void alone(void) { use(map(MAP_SHARED)); }
static void each_has_its_own(void) {
  Locks* l = map(MAP_SHARED);
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    if (child == 0) {
      init(l);
      use(l);
      _exit(0);
    }
    EXPECT(0, wait_for(child));
  }
}
static void twice_in_one(void) {
  use(map_file(MAP_SHARED));
  use(map_file(MAP_SHARED));
}
static void grown(void) {
  char* old = map(MAP_SHARED);
  char* at =
      mremap(map_at(NULL, MAP_PRIVATE | MAP_ANONYMOUS, -1), kSize, 2 * kSize, MREMAP_MAYMOVE);
  EXPECT(0, at == MAP_FAILED);
  use((Locks*)(at + kSize));  // private, and nothing to find
  at = mremap(old, kSize, kSize / 2, 0);
  EXPECT(1, at == old);
  at = mremap(old, kSize / 2, 4 * kSize, MREMAP_MAYMOVE);
  EXPECT(0, at == MAP_FAILED);
  use((Locks*)(at + kSize / 4));
}
// More pieces than the audit keeps apart, with private memory between them.
static void scattered(void) {
  char* at =
      mmap(NULL, 2 * kMany * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(0, at == MAP_FAILED);
  for (int i = 0; i < kMany; ++i)
    map_at(at + 2 * i * kSize, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1);
  use((Locks*)at);
  use((Locks*)(at + 2 * (kMany - 1) * kSize));
  for (int i = 0; i < kMany; ++i)
    use((Locks*)(at + (2 * i + 1) * kSize));
}
static void many(void) {
  pthread_mutex_t* m = map(MAP_SHARED);
  for (int i = 0; i < kMany; ++i) {
    EXPECT(0, pthread_mutex_lock(m + i));
    EXPECT(0, pthread_mutex_unlock(m + i));
  }
}
// Two findings at once, for the sample of tests/parse.
static pthread_mutex_t* pair;
static void take(int first) {
  EXPECT(0, pthread_mutex_lock(pair + first));
  EXPECT(0, pthread_mutex_lock(pair + 1 - first));
  EXPECT(0, pthread_mutex_unlock(pair + 1 - first));
  EXPECT(0, pthread_mutex_unlock(pair + first));
}
static void* take_in_order(void* first) {
  take((int)(size_t)first);
  return NULL;
}
static void orders(void) {
  pair = map(MAP_SHARED);
  pthread_t thread[2];
  for (size_t i = 0; i < 2; ++i) {
    EXPECT(0, pthread_create(thread + i, NULL, take_in_order, (void*)i));
    EXPECT(0, pthread_join(thread[i], NULL));
  }
}

// --- left by another

static void left_held(void) {
  Locks* l = map(MAP_SHARED);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(0, pthread_mutex_lock(&l->mutex));
    EXPECT(0, pthread_rwlock_wrlock(&l->rwlock));
    _exit(0);
  }
  EXPECT(0, wait_for(child));
  EXPECT(EBUSY, pthread_mutex_trylock(&l->mutex));
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&l->rwlock));
}
static void tries(void) {
  Locks* l = map_file(MAP_SHARED);
  pthread_mutex_trylock(&l->mutex);
  pthread_rwlock_trywrlock(&l->rwlock);
}

// --- neither shared nor wrong

static void private_memory(void) {
  map(MAP_SHARED);  // so that it is looked at at all
  use_in_both(map(MAP_PRIVATE));
  use_in_both(map_file(MAP_PRIVATE));
}
static void unmapped(void) {
  void* p = map(MAP_SHARED);
  EXPECT(0, munmap(p, kSize));
  use_in_both(map_at(p, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1));
}
static void process_shared(void) {
  Locks* l = map(MAP_SHARED);
  init_process_shared(l);
  use_in_both(l);
}

// A thread of the parent holds the mutex at the fork, and goes on. glibc's release wakes nobody in
// the child, but a signal does.
static Locks* held;
static pthread_barrier_t is_held, is_forked;
static void* holder(void* unused) {
  EXPECT(0, pthread_mutex_lock(&held->mutex));
  pthread_barrier_wait(&is_held);
  pthread_barrier_wait(&is_forked);
  EXPECT(0, pthread_mutex_unlock(&held->mutex));
  return unused;
}
static void on_signal(int signal) { (void)signal; }
static void held_by_parent(void) {
  held = map(MAP_SHARED);
  signal(SIGUSR1, on_signal);
  pthread_barrier_init(&is_held, NULL, 2);
  pthread_barrier_init(&is_forked, NULL, 2);
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, holder, NULL));
  pthread_barrier_wait(&is_held);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(0, pthread_mutex_lock(&held->mutex));
    EXPECT(0, pthread_mutex_unlock(&held->mutex));
    _exit(0);
  }
  pthread_barrier_wait(&is_forked);
  EXPECT(0, pthread_join(thread, NULL));
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    kill(child, SIGUSR1);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  EXPECT(0, status);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"forked", forked},
             {"zeroed", zeroed},
             {"in_segment", in_segment},
             {"in_file", in_file},
             {"in_file_of_two", in_file_of_two},
             {"mapped_over", mapped_over},
             {"mapped_anew", mapped_anew},
             {"alone", alone},
             {"each_has_its_own", each_has_its_own},
             {"twice_in_one", twice_in_one},
             {"grown", grown},
             {"scattered", scattered},
             {"many", many},
             {"orders", orders},
             {"left_held", left_held},
             {"tries", tries},
             {"private_memory", private_memory},
             {"unmapped", unmapped},
             {"process_shared", process_shared},
             {"held_by_parent", held_by_parent}};

int main(int argc, char** argv) {
  file = argc > 2 ? argv[2] : "";
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    puts("done");
    return 0;
  }
  fprintf(stderr, "which case?\n");
  return 2;
}
