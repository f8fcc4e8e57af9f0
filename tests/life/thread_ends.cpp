// Threads that begin and end in every way there is. Prints what the program sees of it, which is
// the same with lockswap and without.
//
//     thread_ends CASE    the names are at the end of this file
#include <atomic>
#include <cerrno>
#include <climits>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>

namespace {

constexpr int kLocks = 9;
pthread_rwlock_t locks[kLocks];
pthread_mutex_t mutexes[kLocks];

void need(bool is_right, const char* what) {
  if (!is_right) std::printf("wrong: %s\n", what);
}

void acquire_all() {
  int error = 0;
  for (int i = 0; i < kLocks; ++i) {
    error |= pthread_mutex_lock(&mutexes[i]);
    error |= i == 0 ? pthread_rwlock_wrlock(&locks[i]) : pthread_rwlock_rdlock(&locks[i]);
  }
  for (int i = 1; i < kLocks; ++i)
    error |= pthread_rwlock_rdlock(&locks[i]);
  need(error == 0, "acquire");
}
void release_all() {
  int error = 0;
  for (int i = 0; i < kLocks; ++i)
    error |= pthread_rwlock_unlock(&locks[i]) | pthread_mutex_unlock(&mutexes[i]);
  for (int i = 1; i < kLocks; ++i)
    error |= pthread_rwlock_unlock(&locks[i]);
  need(error == 0, "release");
}
void use_all() {
  acquire_all();
  release_all();
}

// Held from the thread's function to its destructors.
struct Releases {
  ~Releases() { release_all(); }
};
struct Uses {
  ~Uses() { use_all(); }
};

void* result_of(pthread_t thread) {
  void* result = nullptr;
  need(pthread_join(thread, &result) == 0, "join");
  return result;
}
void* in_thread(void* (*body)(void*), void* argument = locks) {
  pthread_t thread;
  need(pthread_create(&thread, nullptr, body, argument) == 0, "create");
  return result_of(thread);
}

// --- what holds over the end

void* holds_for_thread_local(void* p) {
  static thread_local Releases at_end;
  (void)&at_end;
  acquire_all();
  return p;
}
pthread_key_t key;
void* holds_for_key(void* p) {
  pthread_setspecific(key, p);
  acquire_all();
  return p;
}
void* holds_and_exits(void* p) {
  const Releases at_end;  // pthread_exit unwinds the stack
  acquire_all();
  pthread_exit(p);
}
void held_over_the_end() {
  need(pthread_key_create(&key, [](void*) { release_all(); }) == 0, "key");
  for (auto* body : {holds_for_thread_local, holds_for_key, holds_and_exits}) {
    for (int i = 0; i < 20; ++i) {
      need(in_thread(body) == locks, "result");
      use_all();
    }
    std::puts("one way");
  }
}

// --- clean-up handlers and destructors, in their order

thread_local struct Last {
  ~Last() {
    std::puts("thread_local");
    use_all();
  }
} last;
void* cleans_up(void* how) {
  (void)&last;
  const struct Object {
    ~Object() {
      std::puts("object");
      use_all();
    }
  } object;
  pthread_setspecific(key, how);
  pthread_cleanup_push(
      [](void*) {
        std::puts("handler");
        use_all();
      },
      nullptr);
  use_all();
  if (how == &mutexes[0]) pthread_exit(how);
  if (how == &mutexes[1]) {
    for (;;)
      pause();
  }
  pthread_cleanup_pop(1);
  return how;
}
void order() {
  need(pthread_key_create(&key,
                          [](void*) {
                            std::puts("key");
                            use_all();
                          }) == 0,
       "key");
  need(in_thread(cleans_up, &mutexes[2]) == &mutexes[2], "returns");
  need(in_thread(cleans_up, &mutexes[0]) == &mutexes[0], "exits");
  pthread_t thread;
  need(pthread_create(&thread, nullptr, cleans_up, &mutexes[1]) == 0, "create");
  pthread_cancel(thread);
  need(result_of(thread) == PTHREAD_CANCELED, "cancelled");
}

// --- asynchronous cancellation, at any instruction up to the end

void* is_asynchronous(void* p) {
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  use_all();
  static_cast<std::atomic<bool>*>(p)->store(true);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  return p;
}
void asynchronous() {
  for (int i = 0; i < 400; ++i) {
    std::atomic<bool> runs{false};
    pthread_t thread;
    need(pthread_create(&thread, nullptr, is_asynchronous, &runs) == 0, "create");
    while (!runs)
      sched_yield();
    for (int spin = i % 50 * 20; spin > 0; --spin)
      asm volatile("");
    pthread_cancel(thread);
    void* const result = result_of(thread);
    need(result == &runs || result == PTHREAD_CANCELED, "result");
  }
  use_all();
  std::puts("done");
}

// --- what is wrong with the thread or its function

void throws() {
  std::set_terminate([] {
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::exception& e) {
      std::printf("terminate: %s\n", e.what());
    }
    std::fflush(stdout);
    _exit(3);
  });
  std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
}
void* swallows(void* p) {
  try {
    pthread_exit(p);
  } catch (...) {
    std::puts("swallowed");
    std::fflush(stdout);
  }
  return p;
}
void swallowed_exit() {
  signal(SIGABRT, [](int) { _exit(4); });
  in_thread(swallows);
}
void refused() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  const auto create = [&] {
    return pthread_create(
        &thread, &attributes, [](void* p) { return p; }, nullptr);
  };
  errno = 77;
  for (int i = 0; i < 300; ++i) {
    need(pthread_attr_setstacksize(&attributes, std::size_t{1} << 46) == 0, "size");
    const int error = create();
    if (i == 0) std::printf("too large a stack: %d\n", error);
  }
  std::printf("errno %d\n", errno == 77 || errno == ENOMEM ? 0 : errno);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  for (int i = 0; i < 300; ++i) {
    need(create() == 0, "create");
    need(result_of(thread) == nullptr, "join");
  }
}

// --- stacks

void small_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    const auto body = [](void* p) {
      pthread_attr_t mine;
      void* low = nullptr;
      std::size_t size = 0;
      need(pthread_getattr_np(pthread_self(), &mine) == 0, "attributes");
      need(pthread_attr_getstack(&mine, &low, &size) == 0, "stack");
      need(size == static_cast<std::size_t>(PTHREAD_STACK_MIN), "size");
      need(static_cast<void*>(&low) > low, "on it");
      pthread_attr_destroy(&mine);
      use_all();
      return p;
    };
    need(pthread_create(&thread, &attributes, body, nullptr) == 0, "create");
    result_of(thread);
  }
  std::puts("done");
}

ucontext_t of_thread, other;
void* exits_on_another_stack(void* p) {
  const std::unique_ptr<char[]> stack(new char[65536]);
  static void* result = p;
  getcontext(&other);
  other.uc_stack.ss_sp = stack.get();
  other.uc_stack.ss_size = 65536;
  other.uc_link = nullptr;
  makecontext(
      &other,
      [] {
        use_all();
        pthread_exit(result);
      },
      0);
  swapcontext(&of_thread, &other);
  return nullptr;
}
void another_stack() {
  for (int i = 0; i < 3; ++i)
    need(in_thread(exits_on_another_stack) == locks, "result");
  std::puts("done");
}

// --- signals

void* sleeps(void* p) {
  use_all();
  static_cast<std::atomic<bool>*>(p)->store(true);
  for (;;)
    pause();
}
void exit_in_handler() {
  signal(SIGUSR1, [](int) {
    use_all();
    pthread_exit(locks);
  });
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> runs{false};
    pthread_t thread;
    need(pthread_create(&thread, nullptr, sleeps, &runs) == 0, "create");
    while (!runs)
      sched_yield();
    pthread_kill(thread, SIGUSR1);
    need(result_of(thread) == locks, "result");
  }
  use_all();
  std::puts("done");
}

// --- many at once

void* number(void* p) {
  use_all();
  return static_cast<char*>(p) + 1;
}
// Where threads wait for each other, each wait is one for the processor, too.
void* number_without_waits(void* p) {
  pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
  int error = pthread_mutex_lock(&mine);
  for (auto& lock : locks)
    error |= pthread_rwlock_rdlock(&lock);
  for (auto& lock : locks)
    error |= pthread_rwlock_unlock(&lock);
  need((error | pthread_mutex_unlock(&mine)) == 0, "a lock that nobody writes");
  return static_cast<char*>(p) + 1;
}
void burst() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);  // so that they wait to begin
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  static char numbers[1000];
  std::vector<pthread_t> threads;
  for (char& n : numbers) {
    pthread_t thread;
    need(pthread_create(&thread, &small, number_without_waits, &n) == 0, "create");
    threads.push_back(thread);
  }
  for (std::size_t i = 0; i < threads.size(); ++i)
    need(result_of(threads[i]) == &numbers[i] + 1, "result");
  std::puts("done");
}

// --- processes

int status_of(pid_t child) {
  int status = -1;
  need(waitpid(child, &status, 0) == child, "wait");
  return status;
}
void* forks_and_returns(void* p) {
  use_all();
  if (fork() == 0) return nullptr;  // the last thread of the child: exit(0)
  wait(nullptr);
  return p;
}
void* forks_and_exits(void* p) {
  const Uses at_end;
  use_all();
  const pid_t child = fork();
  if (child == 0) pthread_exit(nullptr);
  std::printf("child %d\n", status_of(child));
  return p;
}
void* forks_and_goes_on(void* p) {
  use_all();
  const pid_t child = fork();
  if (child == 0) {
    use_all();
    need(in_thread(number) == reinterpret_cast<char*>(locks) + 1, "a child's thread");
    std::fflush(stdout);
    _exit(5);
  }
  std::printf("child %d\n", status_of(child));
  return p;
}
void forks() {
  std::fflush(stdout);
  for (auto* body : {forks_and_returns, forks_and_exits, forks_and_goes_on})
    need(in_thread(body) == locks, "result");
}
void main_exits() {
  static std::atomic<bool> done{false};
  std::thread([] {
    while (!done)
      sched_yield();
    use_all();
    std::puts("the last thread");
  }).detach();
  const Uses at_end;
  use_all();
  done = true;
  pthread_exit(nullptr);
}
void main_is_cancelled() {
  static const pthread_t first = pthread_self();
  const Uses at_end;
  use_all();
  std::thread([] {
    pthread_cancel(first);
    pthread_join(first, nullptr);
    use_all();
    std::puts("the last thread");
  }).detach();
  for (;;)
    pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const struct {
    const char* name;
    void (*run)();
  } cases[] = {{"held-over-the-end", held_over_the_end},
               {"order", order},
               {"asynchronous", asynchronous},
               {"throws", throws},
               {"swallowed-exit", swallowed_exit},
               {"refused", refused},
               {"small-stacks", small_stacks},
               {"another-stack", another_stack},
               {"exit-in-handler", exit_in_handler},
               {"burst", burst},
               {"forks", forks},
               {"main-exits", main_exits},
               {"main-is-cancelled", main_is_cancelled}};
  for (const auto& one : cases) {
    if (argc != 2) {
      std::puts(one.name);
    } else if (std::strcmp(argv[1], one.name) == 0) {
      one.run();
      return 0;
    }
  }
  return argc != 2 ? 0 : 2;
}
