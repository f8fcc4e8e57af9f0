// Threads look outside the lock whether they have to wait, and the news comes in between: hang.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "planted.h"

namespace {

std::mutex lock;
std::condition_variable is_ready;
std::atomic<bool> ready{false};

void* one(void* argument) {
  const int i = number_of(argument);
  if (i == 2) {
    work(5000);
    std::unique_lock l(lock);
    ready = true;
    is_ready.notify_all();
  } else if (!ready) {
    std::unique_lock l(lock);
    while (!is_right || !ready) {
      is_ready.wait(l);
      if (!is_right) break;
    }
  }
  return nullptr;
}

}  // namespace

extern "C" void planted_outside() { run(3, one); }
