// Takes locks in the ways of C++, one after the other. `whose.c`, which is preloaded, prints from
// where each lock function is called. "take NAME" marks the line of the call; the release is
// somewhere in the same function.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

extern "C" __attribute__((weak)) void now_comes(const char* name);

#define APART __attribute__((noinline)) static

namespace {

std::mutex first;
std::mutex second;
std::recursive_mutex again;
std::shared_mutex table;
std::recursive_timed_mutex timed_lock;
std::condition_variable changed;
std::condition_variable_any any_changed;
std::once_flag loaded;
volatile int work;

class Guarded {
 public:
  void add(int n) {
    const std::lock_guard<std::mutex> guard(_lock);  // take method
    _sum += n;
  }

 private:
  std::mutex _lock;
  int _sum = 0;
};

Guarded numbers;

// What programs write for themselves: its constructor is the user's line.
class Holding {
 public:
  explicit Holding(std::mutex& lock) : _lock(lock) { _lock.lock(); }  // take wrapped
  ~Holding() { _lock.unlock(); }

 private:
  std::mutex& _lock;
};

class Shape {
 public:
  virtual ~Shape() = default;
  virtual void drawn() = 0;
};

class Circle final : public Shape {
 public:
  void __attribute__((noinline)) drawn() override {
    {
      const std::lock_guard<std::shared_mutex> held(table);  // take drawn
      work = work + 1;
    }
    work = work + 1;  // whose tail call the release would be can't be known
  }
};

Circle circle;
Shape* volatile shape = &circle;

APART void guard() {
  const std::lock_guard<std::mutex> held(first);  // take guard
  work = work + 1;
}

APART void unique() {
  std::unique_lock<std::mutex> held(first);  // take unique
  work = work + 1;
  held.unlock();
  work = work + 1;
}

APART void scoped() {
  const std::scoped_lock held(first, second);  // take scoped
  work = work + 1;
}

APART void recursive() {
  const std::lock_guard<std::recursive_mutex> held(again);  // take recursive
  work = work + 1;
}

APART void plain() {
  first.lock();  // take plain
  work = work + 1;
  first.unlock();
}

APART void reader() {
  const std::shared_lock<std::shared_mutex> held(table);  // take reader
  work = work + 1;
}

APART void writer() {
  const std::unique_lock<std::shared_mutex> held(table);  // take writer
  work = work + 1;
}

APART void condition() {
  std::unique_lock<std::mutex> held(first);
  changed.wait_for(held, std::chrono::microseconds(1), [] { return work < 0; });  // take condition
}

APART void once() {
  std::call_once(loaded, [] { work = work + 1; });  // take once
}

APART void method() { numbers.add(work); }

APART void lambda() {
  const auto step = [](std::mutex& lock) {
    const std::lock_guard<std::mutex> held(lock);  // take lambda
    work = work + 1;
  };
  step(second);
}

APART void timed() {
  const std::unique_lock<std::recursive_timed_mutex> held(timed_lock,
                                                          std::chrono::seconds(1));  // take timed
  work = work + 1;
}

APART void any() {
  std::shared_lock<std::shared_mutex> held(table);
  any_changed.wait_for(held, std::chrono::microseconds(1), [] { return work < 0; });  // take any
}

template <class Lock>
APART void generic(Lock& lock) {
  const std::lock_guard<Lock> held(lock);  // take generic
  work = work + 1;
}

APART void wrapped() {
  const Holding held(first);
  work = work + 2;  // otherwise than in guard(), or compilers make one function of both
}

APART void join() {
  std::thread ended([] { work = work + 1; });
  ended.join();  // take join
}

void run(const char* name, void (*function)()) {
  if (now_comes != nullptr) now_comes(name);
  function();
  work = work + 1;  // the case is no tail call itself
  if (now_comes != nullptr) now_comes(nullptr);
}

}  // namespace

int main() {
  run("guard", [] { guard(), work = 0; });
  run("unique", [] { unique(), work = 0; });
  run("scoped", [] { scoped(), work = 0; });
  run("recursive", [] { recursive(), work = 0; });
  run("plain", [] { plain(), work = 0; });
  run("reader", [] { reader(), work = 0; });
  run("writer", [] { writer(), work = 0; });
  run("condition", [] { condition(), work = 0; });
  run("once", [] { once(), work = 0; });
  run("method", [] { method(), work = 0; });
  run("lambda", [] { lambda(), work = 0; });
  run("timed", [] { timed(), work = 0; });
  run("any", [] { any(), work = 0; });
  run("generic", [] { generic(second), work = 0; });
  run("wrapped", [] { wrapped(), work = 0; });
  run("drawn", [] { shape->drawn(), work = 0; });
  run("join", [] { join(), work = 0; });
  return 0;
}
