// A waiter is stopped at each instruction behind its wake-up in turn, by the processor's trap flag.
//
// The program is a queue of work with three consumers; each item comes with a signal. What happens:
//   1. A waits. An item, a signal: A wakes up, and is stopped N instructions later.
//   2. B comes, takes that item, and waits. An item, a signal: B takes it, and waits. C waits, too.
//   3. An item, a signal: B or C takes it, and has much to do with it.
//   4. A goes on, finds nothing, and waits, beside the one of B and C that still does.
//   5. An item, a signal: one of the two has to take it.
// In glibc before 2.41 (docs/start.md) the waiters are in two groups. Where A has just taken its
// signal, the groups have changed places twice by step 4. A fears that it has stolen the signal of
// another group, and gives one back, to the group of B and C. So one of them wakes up for nothing;
// the group counts it as waiting still, and the signal of step 5 goes to it (glibc bug 25847).
#include <cstdio>

#include "lost_wakeup.h"

#if defined(__x86_64__)

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/syscall.h>
#include <sys/ucontext.h>

namespace {

constexpr long kTrapFlag = 0x100;

// The state of the thread that is to be stopped.
std::atomic<bool> counts, stopped, goes_on, is_back;
std::atomic<long> steps, stop_at;

void nap() {
  const timespec t{0, 100'000};
  syscall(SYS_nanosleep, &t, nullptr);
}

// After each instruction while the flag is set.
void on_trap(int, siginfo_t*, void* context) {
  const int error = errno;
  auto* machine = static_cast<ucontext_t*>(context);
  if (counts.load() && steps.fetch_add(1) + 1 == stop_at.load()) {
    machine->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    stopped = true;
    while (!goes_on.load())
      nap();
  }
  errno = error;
}

// (Around the red zone.)
void set_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}
void clear_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

constexpr int kSoon = 10'000;  // naps: a second, or two
// A signal that has not returned by then waits for A.
constexpr int kSignalReturns = 1'500;

template <class Condition>
bool soon(const Condition& is_so, int naps = kSoon) {
  for (int i = 0; i < naps; ++i, nap()) {
    if (is_so()) return true;
  }
  return false;
}

struct Queue {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
  int items = 0, taken = 0, waiting = 0;
  bool closed = false;

  void lock() { pthread_mutex_lock(&mutex); }
  void unlock() { pthread_mutex_unlock(&mutex); }

  template <class Get>
  int get(const Get& what) {
    lock();
    const int value = what();
    unlock();
    return value;
  }
};

// Puts items. A thread of its own signals, since glibc's signals may wait for A.
class Producer {
 public:
  explicit Producer(Queue& queue) : queue_(queue), thread_([this] { signal(); }) {}
  ~Producer() {
    ends_ = true;
    thread_.join();
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Returns false if the signal does not return.
  bool put() {
    queue_.get([this] { return ++queue_.items; });
    asked_ = true;
    return soon([this] { return !asked_.load(); }, kSignalReturns);
  }

 private:
  void signal() {
    for (; !ends_.load(); nap()) {
      if (!asked_.load()) continue;
      pthread_cond_signal(&queue_.filled);
      asked_ = false;
    }
  }

  Queue& queue_;
  std::atomic<bool> asked_{false}, ends_{false};
  std::thread thread_;
};

class Consumer {
 public:
  Consumer(Queue& queue, bool is_stopped) : queue_(queue), is_stopped_(is_stopped) {
    sem_init(&done_, 0, 0);
    thread_ = std::thread([this] { consume(); });
  }
  ~Consumer() {
    thread_.join();
    sem_destroy(&done_);
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  void has_done() { sem_post(&done_); }
  bool sleeps() const {
    const std::string name = "/proc/self/task/" + std::to_string(tid_.load()) + "/stat";
    std::FILE* file = std::fopen(name.c_str(), "r");
    if (file == nullptr) return false;
    char line[256] = "";
    const bool read = std::fgets(line, sizeof line, file) != nullptr;
    std::fclose(file);
    const char* state = read ? std::strrchr(line, ')') : nullptr;
    return state != nullptr && state[1] == ' ' && state[2] == 'S';
  }

 private:
  void consume() {
    tid_ = static_cast<int>(syscall(SYS_gettid));
    Queue& q = queue_;
    q.lock();
    while (!q.closed) {
      ++q.waiting;
      if (is_stopped_) set_trap_flag();
      while (q.items == 0 && !q.closed)
        pthread_cond_wait(&q.filled, &q.mutex);
      if (is_stopped_) {
        clear_trap_flag();
        is_back = true;
      }
      is_stopped_ = false;
      --q.waiting;
      if (q.closed) break;
      --q.items;
      if (++q.taken != kBusy) continue;
      q.unlock();
      sem_wait(&done_);
      q.lock();
    }
    q.unlock();
  }
  static constexpr int kBusy = 3;  // the item of step 3

  Queue& queue_;
  bool is_stopped_;
  std::atomic<int> tid_{0};
  sem_t done_;
  std::thread thread_;
};

// over: A was not stopped, or has the mutex by then. held: a signal waited for A.
enum class End { over, kept, held, lost };

class Round {
 public:
  explicit Round(long at) {
    counts = stopped = goes_on = is_back = false;
    steps = 0;
    stop_at = at;
    end = play();
    goes_on = true;
    q_.get([this] { return q_.closed = true; });
    pthread_cond_broadcast(&q_.filled);
    for (Consumer* c : {&a_, b_.get(), c_.get()}) {
      if (c != nullptr) c->has_done();
    }
  }
  End end;

 private:
  bool waiting(int n) {
    return soon([&] { return q_.get([&] { return q_.waiting; }) == n; });
  }
  bool taken(int n) {
    return soon([&] { return q_.get([&] { return q_.taken; }) >= n; });
  }
  static bool asleep(const Consumer& consumer) {
    return soon([&] { return consumer.sleeps(); });
  }

  // A counts as waiting until it has gone on.
  End play() {
    if (!waiting(1) || !asleep(a_)) return End::over;
    counts = true;
    producer_.put();  // 1
    // Not a look under the mutex, which A may have when it is stopped.
    soon([&] { return stopped.load() || is_back.load(); });
    if (!stopped.load() || pthread_mutex_trylock(&q_.mutex) != 0) return End::over;
    q_.unlock();
    b_ = std::make_unique<Consumer>(q_, false);  // 2
    if (!taken(1) || !waiting(2) || !asleep(*b_)) return End::lost;
    if (!producer_.put()) return End::held;
    if (!taken(2) || !waiting(2)) return End::lost;
    c_ = std::make_unique<Consumer>(q_, false);
    if (!waiting(3) || !asleep(*b_) || !asleep(*c_)) return End::lost;
    if (!producer_.put()) return End::held;  // 3
    if (!taken(3)) return End::lost;
    goes_on = true;  // 4
    if (!waiting(2) || !asleep(a_)) return End::lost;
    for (int i = 0; i < 30; ++i)  // for one that is woken without a reason
      nap();
    producer_.put();  // 5
    return taken(4) ? End::kept : End::lost;
  }

  Queue q_;
  Producer producer_{q_};
  Consumer a_{q_, true};
  std::unique_ptr<Consumer> b_, c_;
};

}  // namespace

int stop_at_each_instruction() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGTRAP, &action, nullptr);
  long n = 0, held = 0, lost = 0;
  for (;; ++n) {
    const End end = Round(n + 1).end;
    if (end == End::over) break;
    if (end == End::held) ++held;
    if (end == End::lost) ++lost;
  }
  std::printf("stopped_at %ld\nsignals_held_up %ld\nsignals_lost %ld\n", n, held, lost);
  if (n == 0) {
    std::fprintf(stderr, "lost_wakeup: the trap flag does not work here\n");
    return 77;
  }
  return lost != 0 ? 1 : 0;
}

#else

int stop_at_each_instruction() {
  std::fprintf(stderr, "lost_wakeup: only x86-64 has the trap flag; --full works everywhere\n");
  return 77;
}

#endif
