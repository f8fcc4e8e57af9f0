// std::shared_mutex and std::shared_timed_mutex in a program as anybody would write it: two values
// that only writers change, always both. Prints how often they were changed, and how often a reader
// saw them differ.
//
// usage: shared_mutexes plain|timed
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 4;
constexpr int kRounds = 20'000;

template <class Mutex>
struct Pair {
  Mutex mutex;
  long first = 0;
  long second = 0;

  void change() {
    ++first;
    ++second;
  }
};

// Each thread writes in every eighth round, a quarter of these times by trying.
template <class Mutex>
long work(Pair<Mutex>& pair, int me) {
  long differ = 0;
  for (int i = 0; i < kRounds; ++i) {
    if (i % 8 == me) {
      std::unique_lock lock(pair.mutex, std::defer_lock);
      if (i % 32 == me) {
        while (!lock.try_lock())
          std::this_thread::yield();
      } else {
        lock.lock();
      }
      pair.change();
    } else {
      std::shared_lock lock(pair.mutex);
      differ += pair.first != pair.second;
    }
  }
  return differ;
}

// Short deadlines that pass, on both clocks, and long ones that do not.
long work_in_time(Pair<std::shared_timed_mutex>& pair, int me) {
  long differ = 0;
  for (int i = 0; i < kRounds / 40; ++i) {
    std::unique_lock write(pair.mutex, std::defer_lock);
    std::shared_lock read(pair.mutex, std::defer_lock);
    if (i % 8 == me) {
      while (!write.try_lock_for(50us)) {}
      pair.change();
    } else if (i % 8 == me + 4) {
      while (!write.try_lock_until(std::chrono::system_clock::now() + 1h)) {}
      pair.change();
    } else if (i % 2 == 0 ? read.try_lock_for(10us)
                          : read.try_lock_until(std::chrono::system_clock::now() + 10us)) {
      differ += pair.first != pair.second;
    }
  }
  return differ;
}

template <class Mutex, class Work>
void run(const char* name, Work job) {
  Pair<Mutex> pair;
  std::vector<long> differ(kThreads);
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me)
    threads.emplace_back([&, me] { differ[static_cast<std::size_t>(me)] = job(pair, me); });
  for (auto& t : threads)
    t.join();
  long sum = 0;
  for (const long d : differ)
    sum += d;
  std::printf("%s: changed %ld and %ld times, seen to differ %ld times\n", name, pair.first,
              pair.second, sum);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "plain") == 0) {
    run<std::shared_mutex>("shared_mutex", work<std::shared_mutex>);
  } else if (argc == 2 && std::strcmp(argv[1], "timed") == 0) {
    run<std::shared_timed_mutex>("shared_timed_mutex", work<std::shared_timed_mutex>);
    run<std::shared_timed_mutex>("with deadlines", work_in_time);
  } else {
    std::fprintf(stderr, "usage: shared_mutexes plain|timed\n");
    return 2;
  }
  return 0;
}
