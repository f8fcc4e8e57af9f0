// Grace periods by themselves: a configuration that is replaced as a whole while threads read it.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <lockswap/quiescence.hpp>

struct configuration {
  int width, height;
};
using domain = lockswap::quiescence<>;

int main() {
  constexpr int kReplacements = 100;
  domain readers;  // one for the program
  std::atomic<configuration*> current{new configuration{1, 2}};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};

  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      domain::reader me(readers);  // a thread's place, for as long as the thread reads
      while (!stop.load()) {
        const domain::section inside(me);  // what is found here is not freed before }
        const configuration* now = current.load(std::memory_order_acquire);
        if (now->height != 2 * now->width) ++wrong;
      }
    });
  }

  for (int i = 2; i <= kReplacements; ++i) {
    const configuration* old =
        current.exchange(new configuration{i, 2 * i}, std::memory_order_acq_rel);
    lockswap::rcu_synchronize(readers);  // waits until no thread can still read the old one
    delete old;
  }
  stop.store(true);
  for (auto& t : threads)
    t.join();

  const configuration* last = current.load();
  std::printf("width %d, %d wrong\n", last->width, wrong.load());
  const bool right = last->width == kReplacements && wrong.load() == 0;
  delete last;
  return right ? 0 : 1;
}
