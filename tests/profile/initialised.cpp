// Threads that initialise something once, and wait for each other or don't: initialised CASE
//
// once, guard: one thread initialises and wants a mutex, whose holder waits for the initialisation.
// once-beside, guard-beside: the same, and another thread goes on. once-slow, guard-slow: the
// initialisation takes its time.
#include <atomic>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace {

std::mutex registry;
std::once_flag loaded;
std::atomic<int> stage{0};
bool is_slow = false;

void reach(int n) {
  ++stage;
  while (stage < n)
    usleep(500);
}

void initialise() {
  pthread_setname_np(pthread_self(), "initialises");
  reach(2);
  if (is_slow) pause();
  const std::lock_guard<std::mutex> guard(registry);  // wants the mutex
}

struct Value {
  Value() { initialise(); }
};
__attribute__((noinline)) void value() {
  static Value the_value;  // is a static variable
}

__attribute__((noinline)) void flag() {
  std::call_once(loaded, initialise);  // is a flag
}

void use(void (*initialised)()) {
  pthread_setname_np(pthread_self(), "uses");
  std::unique_lock<std::mutex> guard(registry, std::defer_lock);
  if (!is_slow) guard.lock();  // has the mutex
  reach(2);
  usleep(50000);  // the other thread is in there by then, or this test sees nothing wrong
  initialised();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "";
  void (*const initialised)() = std::strncmp(name, "once", 4) == 0 ? flag : value;
  is_slow = std::strstr(name, "slow") != nullptr;
  std::thread one(initialised);
  while (stage < 1)
    usleep(500);
  std::thread two(use, initialised);
  if (std::strstr(name, "beside") != nullptr) pause();
  one.join();
  two.join();
  return 0;
}
