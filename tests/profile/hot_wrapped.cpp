// A hot lock behind std::mutex, without optimisation: each of its calls is a frame.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "waiter.h"

namespace {

struct Cache {
  std::mutex lock;
  int hits = 0;
};

std::atomic<bool> over{false};

void refill(Cache& cache) {
  const std::lock_guard<std::mutex> guard(cache.lock);
  await_waiter();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ++cache.hits;
}  // holder wrapped

void look(Cache& cache) {
  about_to_wait();
  const std::lock_guard<std::mutex> guard(cache.lock);  // waiter wrapped
  has_waited();
  ++cache.hits;
}

}  // namespace

int main() {
  const auto cache = std::make_unique<Cache>();
  look(*cache);  // the first that takes it
  std::thread reader([&] {
    while (!over) {
      look(*cache);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  for (int i = 0; i < 40; ++i) {
    refill(*cache);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  over = true;
  reader.join();
}
