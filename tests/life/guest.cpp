// A program that allocates, locks and ends in every way that touches both: threads that grow
// containers under locks, more locks at once than fit into a thread's own memory, timed and try
// forms, destructors of thread-locals and of keys, C++'s shared mutexes, mutexes and condition
// variables. It is also built with AddressSanitizer. It prints its counts in one line; status 0 if
// they are right.
//
//   guest [overflow]   overflow: writes behind a block first
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4, kRounds = 150, kLocks = 40;

void insist(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "guest: %s\n", what);
  std::exit(1);
}

// Shelves of strings, each behind a lock that lies in memory from malloc.
struct Shelf {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::map<int, std::string> items;
};
std::vector<std::unique_ptr<Shelf>> shelves;
std::shared_mutex counter_lock;
std::shared_timed_mutex timed_lock;
long counted = 0;
std::recursive_mutex recursive;
std::mutex line_mutex;
std::condition_variable line_changed;
std::vector<std::unique_ptr<int>> line;  // goods that threads leave for each other
std::atomic<int> ended{0};

void put(int shelf, int key) {
  Shelf& s = *shelves[static_cast<std::size_t>(shelf)];
  insist(pthread_rwlock_wrlock(&s.lock) == 0, "wrlock");
  s.items[key] = std::string(static_cast<std::size_t>(key % 700), 'x');
  if (s.items.size() > 50) s.items.clear();
  insist(pthread_rwlock_unlock(&s.lock) == 0, "unlock");
}

std::size_t read_all() {
  std::size_t sum = 0;
  for (auto& s : shelves)
    insist(pthread_rwlock_rdlock(&s->lock) == 0, "rdlock");
  for (auto& s : shelves)
    for (auto& [key, text] : s->items)
      sum += std::string(text).size() == static_cast<std::size_t>(key % 700);
  for (auto& s : shelves)
    insist(pthread_rwlock_unlock(&s->lock) == 0, "unlock");
  return sum;
}

// Each thread puts one in before it takes one out, so there is one for every waiter.
void pass_along(int i) {
  const std::lock_guard outer(recursive), inner(recursive);
  {
    const std::lock_guard hold(line_mutex);
    line.push_back(std::make_unique<int>(i));
  }
  i % 2 == 0 ? line_changed.notify_one() : line_changed.notify_all();
}
void take_along() {
  std::unique_lock hold(line_mutex);
  line_changed.wait_for(hold, std::chrono::microseconds(20), [] { return line.size() > 3; });
  line_changed.wait(hold, [] { return !line.empty(); });
  line.erase(line.begin());
}

struct AtThreadExit {
  ~AtThreadExit() {
    put(1, 99);
    pass_along(1);
    take_along();
    ++ended;
  }
};

pthread_key_t key;
void in_key_destructor(void* p) {
  std::unique_ptr<int> round(static_cast<int*>(p));
  read_all();
  put(2, *round);
  if (*round > 1) pthread_setspecific(key, new int(*round - 1));
}

void work(int me) {
  static thread_local AtThreadExit at_exit;
  (void)&at_exit;
  pthread_setspecific(key, new int(PTHREAD_DESTRUCTOR_ITERATIONS));
  for (int i = 0; i < kRounds; ++i) {
    put((me * 7 + i) % kLocks, i);
    if (i % 10 == 0) read_all();
    {
      std::unique_lock write(counter_lock);
      ++counted;
    }
    pass_along(i);
    take_along();
    std::shared_lock read(counter_lock);
    if (timed_lock.try_lock_for(std::chrono::microseconds(50))) timed_lock.unlock();
    if (timed_lock.try_lock_shared()) timed_lock.unlock_shared();
    if (i % 25 == 0) std::thread([] { put(3, 7); }).join();
  }
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {  // "overflow": a fault for AddressSanitizer to find
    volatile std::size_t size = 8;
    static_cast<volatile char*>(std::malloc(size))[size] = 1;
  }
  for (int i = 0; i < kLocks; ++i)
    shelves.push_back(std::make_unique<Shelf>());
  insist(pthread_key_create(&key, in_key_destructor) == 0, "pthread_key_create");
  std::atexit([] { insist(read_all() > 0, "nothing left at exit"); });
  std::vector<std::thread> crew;
  for (int i = 0; i < kThreads; ++i)
    crew.emplace_back(work, i);
  for (auto& t : crew)
    t.join();
  insist(ended == kThreads, "a thread-local's destructor did not run");
  std::printf("counted %ld\n", counted);
  return counted == kThreads * kRounds ? 0 : 1;
}
