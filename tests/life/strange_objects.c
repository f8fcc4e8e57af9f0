// Objects that the process did not make: memory that never held one, a lock that is destroyed while
// it is held, objects that another process left in a file. What is printed is what glibc's give.
//
//   strange_objects random SEED N    N objects of random bytes are destroyed, then N made by init
//   strange_objects stamped SEED N   each rwlock also has a word of one that the process uses, and
//                                    some the thread's id as their writer
//   strange_objects held             threads release what they hold of a lock that was destroyed
//   strange_objects file FILE N      N processes, one after the other, use the objects in a file
//   strange_objects siblings FILE N  the same, children of one process
//   strange_objects copied FILE N    each process reads the file into private memory, and writes it
//   strange_objects size             prints the kB of the address space when locks have been used
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#define CHECK(what)                                               \
  do {                                                            \
    const int rc_ = (what);                                       \
    if (rc_ != 0) {                                               \
      fprintf(stderr, "line %d: %s: %d\n", __LINE__, #what, rc_); \
      _exit(1);                                                   \
    }                                                             \
  } while (0)

typedef union {
  pthread_rwlock_t lock;
  uint64_t words[sizeof(pthread_rwlock_t) / 8];
} Rwlock;
typedef union {
  pthread_mutex_t lock;
  uint64_t words[sizeof(pthread_mutex_t) / 8];
} Mutex;
typedef struct {
  Rwlock rwlock;
  Mutex mutex;
} Objects;

static uint64_t state;
static uint64_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 31) ^ (state << 29);
}
// Numbers of every size, also such as pointers, small counts and thread ids are.
static uint64_t number(void) {
  const uint64_t n = draw();
  switch (draw() % 5) {
    case 0:
      return 0;
    case 1:
      return n & 0x7fffffffffc0u;
    case 2:
      return n % 100000;
    default:
      return n;
  }
}

static void use_rwlock(pthread_rwlock_t* l) {
  CHECK(pthread_rwlock_tryrdlock(l));
  CHECK(pthread_rwlock_unlock(l));
  CHECK(pthread_rwlock_rdlock(l));
  CHECK(pthread_rwlock_trywrlock(l) != EBUSY);
  CHECK(pthread_rwlock_unlock(l));
  CHECK(pthread_rwlock_trywrlock(l));
  CHECK(pthread_rwlock_unlock(l));
  CHECK(pthread_rwlock_wrlock(l));
  CHECK(pthread_rwlock_unlock(l));
}
static void use_mutex(pthread_mutex_t* m) {
  CHECK(pthread_mutex_trylock(m));
  CHECK(pthread_mutex_unlock(m));
  CHECK(pthread_mutex_lock(m));
  CHECK(pthread_mutex_trylock(m) != EBUSY);
  CHECK(pthread_mutex_unlock(m));
}

// --- random bytes

static unsigned long sum;  // of what calls returned
static void note(int rc) { sum = sum * 31 + (unsigned long)rc; }

// The words of a lock of the process. Any memory may have one of them by chance.
static uint64_t stamps[7];

static void random_objects(long n, int stamped) {
  static Objects used;
  use_rwlock(&used.rwlock.lock);
  memcpy(stamps, used.rwlock.words, sizeof used.rwlock);
  for (long i = 0; i < n; ++i) {
    Objects* o = malloc(sizeof *o);
    for (int init = 0; init < 2; ++init) {
      const uint64_t only = draw() % 4 == 0 ? draw() % 12 : 99;  // zeroes but for that word
      uint64_t* words = (uint64_t*)o;
      for (uint64_t w = 0; w < sizeof *o / 8; ++w)
        words[w] = only == 99 || w == only ? number() : 0;
      if (stamped) {
        o->rwlock.words[4] = stamps[4];
        if (i % 4 == 0) o->rwlock.lock.__data.__cur_writer = getpid();  // of this thread, by chance
      }
      // A lock that processes share is glibc\'s own business.
      o->rwlock.lock.__data.__shared = 0;
      if (init == 0) {
        note(pthread_rwlock_destroy(&o->rwlock.lock));
        note(pthread_mutex_destroy(&o->mutex.lock));
      } else {
        CHECK(pthread_rwlock_init(&o->rwlock.lock, NULL));
        use_rwlock(&o->rwlock.lock);
        CHECK(pthread_mutex_init(&o->mutex.lock, NULL));
        use_mutex(&o->mutex.lock);
        note(pthread_rwlock_destroy(&o->rwlock.lock));
        note(pthread_mutex_destroy(&o->mutex.lock));
      }
    }
    free(o);
  }
}

// --- held

static pthread_rwlock_t held = PTHREAD_RWLOCK_INITIALIZER;
static sem_t is_in, is_destroyed;
static void* holder(void* write) {
  CHECK(write != NULL ? pthread_rwlock_wrlock(&held) : pthread_rwlock_rdlock(&held));
  sem_post(&is_in);
  while (sem_wait(&is_destroyed) != 0) {}
  printf("%d", pthread_rwlock_unlock(&held));
  printf(" %d", pthread_rwlock_wrlock(&held));
  printf(" %d\n", pthread_rwlock_unlock(&held));
  return NULL;
}
// The thread that destroys it holds it itself.
static void destroy_own(int write) {
  pthread_rwlock_t* own = calloc(1, sizeof *own);
  CHECK(write ? pthread_rwlock_wrlock(own) : pthread_rwlock_rdlock(own));
  printf("own %d", pthread_rwlock_destroy(own));
  printf(" %d\n", pthread_rwlock_unlock(own));
  use_rwlock(own);
  free(own);
}
static void destroy_held(void) {
  for (int i = 0; i < 100; ++i)
    destroy_own(i % 2);
  sem_init(&is_in, 0, 0);
  sem_init(&is_destroyed, 0, 0);
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 2) use_rwlock(&held);
    pthread_t t;
    CHECK(pthread_create(&t, NULL, holder, i % 2 != 0 ? &held : NULL));
    while (sem_wait(&is_in) != 0) {}
    printf("%d ", pthread_rwlock_destroy(&held));
    sem_post(&is_destroyed);
    CHECK(pthread_join(t, NULL));
    if (i % 5 == 0) CHECK(pthread_rwlock_init(&held, NULL));
    if (i % 5 == 1) memset(&held, 0, sizeof held);
    if (i % 5 == 2) CHECK(pthread_rwlock_destroy(&held));
  }
}

// --- in a file

static void use(Objects* o) {
  use_rwlock(&o->rwlock.lock);
  use_mutex(&o->mutex.lock);
  // Readers of another kind of path, as BRAVO's: the lock is used long enough for that.
  for (int i = 0; i < 20; ++i) {
    CHECK(pthread_rwlock_rdlock(&o->rwlock.lock));
    CHECK(pthread_rwlock_unlock(&o->rwlock.lock));
  }
}
static void in_file(const char* path) {
  const int fd = open(path, O_RDWR);
  Objects* o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(o == MAP_FAILED);
  use(o);
}
// This program again, also where an emulator runs it, which is no program of the emulator's then.
static void execute(const char* mode, const char* path) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  CHECK(length <= 0);
  self[length] = 0;
  const char* emulator = getenv("TESTS_EMULATOR");
  if (emulator != NULL && *emulator != 0) execl(emulator, emulator, self, mode, path, NULL);
  execl(self, self, mode, path, NULL);
  _exit(2);
}
// The stamp of the process that used it last is this one's by chance: docs/interposition.md.
static int has_my_stamp(const Rwlock* lock) {
  static Rwlock mine;
  use_rwlock(&mine.lock);
  const uint64_t stamp = (uint64_t)0x1ff << 31, its = lock->words[4] & stamp;
  return its != 0 && its == (mine.words[4] & stamp);
}
static void copied(const char* path) {
  const int fd = open(path, O_RDWR);
  Objects* o = malloc(sizeof *o);
  CHECK(pread(fd, o, sizeof *o, 0) != sizeof *o);
  // As another program the process has another one.
  if (has_my_stamp(&o->rwlock)) execute("copied", path);
  use(o);
  CHECK(pwrite(fd, o, sizeof *o, 0) != sizeof *o);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const char* path = argc > 2 ? argv[2] : "";
  const long n = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(mode, "random") == 0 || strcmp(mode, "stamped") == 0) {
    state = strtoul(argv[2], NULL, 10);
    random_objects(n, mode[0] == 's');
    printf("%lx\n", sum);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      random_objects(n, mode[0] == 's');
      printf("in a child: %lx\n", sum);
      fflush(stdout);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status != 0;
  }
  if (strcmp(mode, "held") == 0) {
    destroy_held();
    return 0;
  }
  if (strcmp(mode, "size") == 0) {
    static Objects o;
    use(&o);
    char line[256];
    FILE* status = fopen("/proc/self/status", "r");
    CHECK(status == NULL);
    while (fgets(line, sizeof line, status) != NULL)
      if (strncmp(line, "VmSize:", 7) == 0) printf("%ld\n", atol(line + 7));
    return 0;
  }
  if (argc == 3) {  // one of the processes
    if (strcmp(mode, "copied") == 0) {
      copied(path);
    } else {
      in_file(path);
    }
    return 0;
  }
  for (long i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (strcmp(mode, "siblings") == 0) {
        in_file(path);
        _exit(0);
      }
      execute(mode, path);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) {
      printf("process %ld: status %#x\n", i, (unsigned)status);
      return 1;
    }
  }
  return 0;
}
