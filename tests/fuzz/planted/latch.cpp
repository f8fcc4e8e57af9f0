// The last one to count a latch down wakes only those who have said that they wait: hang.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "planted.h"

namespace {

std::mutex lock, of_waiters;
std::condition_variable is_open;
std::atomic<int> count{4};
int waiters = 0;

bool somebody_waits() {
  std::unique_lock l(of_waiters);
  return waiters > 0;
}
void count_down() {
  if (count.fetch_sub(1) != 1) return;
  if (!is_right && !somebody_waits()) return;
  std::unique_lock l(lock);
  is_open.notify_all();
}
void wait() {
  std::unique_lock l(lock);
  while (count != 0) {
    {
      std::unique_lock w(of_waiters);
      ++waiters;
    }
    is_open.wait(l);
  }
}

void* one(void* argument) {
  const int i = number_of(argument);
  work(300 * i);
  if (i == 0) {
    wait();
  } else {
    count_down();
  }
  return nullptr;
}

}  // namespace

extern "C" void planted_latch() { run(5, one); }
