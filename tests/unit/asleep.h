// A thread of a test that comes to wait, so that the test can wait until it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/types.h>

namespace lockswap {

class Sleeper {
 public:
  template <class Body>
  explicit Sleeper(Body body)
      : thread_([this, body = std::move(body)] {
          id_ = ::gettid();
          body();
        }) {}

  // Also on a busy machine. The kernel says S of a thread that waits for another one.
  void until_asleep() const {
    while (!is_asleep())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  bool is_asleep() const { return id_ != 0 && state() == 'S'; }
  // How often it has gone to sleep.
  unsigned long sleeps() const {
    std::ifstream status("/proc/self/task/" + std::to_string(id_) + "/status");
    for (std::string word; status >> word;) {
      unsigned long n = 0;
      if (word == "voluntary_ctxt_switches:" && status >> n) return n;
    }
    return 0;
  }
  std::thread& thread() { return thread_; }
  void join() { thread_.join(); }

 private:
  char state() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(id_) + "/stat");
    stat.ignore(std::numeric_limits<std::streamsize>::max(), ')');  // behind the name
    char state = 0;
    stat >> state;
    return state;
  }

  std::atomic<pid_t> id_ = 0;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace lockswap
