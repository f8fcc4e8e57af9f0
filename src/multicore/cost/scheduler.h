// Decides which of the modelled machine's threads have a processor if there are more threads than
// processors.
//
// It models what schedulers have in common. A thread keeps its processor until it sleeps, or until
// its time slice is over and another thread waits for one. Ready threads wait in one queue, and
// those that wake up take a free processor, preferably the one they had last. If none is free, some
// kernels let a woken thread preempt a running one at once, and others don't.
//
// It has no notion of time: machine.cpp decides when a thread leaves or wakes up.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace lockswap::cost {

class Scheduler {
 public:
  static constexpr int kNone = -1;

  // Each thread has a processor of its own, or has to wait for one. With no more threads than
  // processors each keeps its own even while it sleeps, so nobody ever waits.
  void begin(int threads, int processors) {
    is_shared_ = threads > processors;
    queue_.clear();
    processor_.resize(static_cast<std::size_t>(threads));
    last_.assign(static_cast<std::size_t>(threads), kNone);
    thread_.assign(static_cast<std::size_t>(processors), kNone);
    for (int i = 0; i < threads; ++i)
      processor_[static_cast<std::size_t>(i)] = is_shared_ ? kNone : i;
  }
  bool is_shared() const { return is_shared_; }
  bool is_awaited() const { return !queue_.empty(); }
  bool is_running(int thread) const {
    return processor_[static_cast<std::size_t>(thread)] != kNone;
  }
  // The processor that the thread has, or had last.
  int processor_of(int thread) const {
    const int now = processor_[static_cast<std::size_t>(thread)];
    return now != kNone ? now : last_[static_cast<std::size_t>(thread)];
  }
  int processors() const { return static_cast<int>(thread_.size()); }
  int thread_on(int processor) const { return thread_[static_cast<std::size_t>(processor)]; }

  // A thread is ready. Returns whether it has a processor now; otherwise it waits for one.
  bool admit(int thread) {
    const int free = free_one(last_[static_cast<std::size_t>(thread)]);
    if (free == kNone) {
      queue_.push_back(thread);
      return false;
    }
    give(free, thread);
    return true;
  }
  // Moves a thread that waits for a processor to the front of the queue.
  void put_first(int thread) {
    std::erase(queue_, thread);
    queue_.push_front(thread);
  }
  // A thread gives its processor back. Returns the thread that has it now, if any.
  int leave(int thread) {
    const int processor = processor_[static_cast<std::size_t>(thread)];
    processor_[static_cast<std::size_t>(thread)] = kNone;
    thread_[static_cast<std::size_t>(processor)] = kNone;
    if (queue_.empty()) return kNone;
    const int next = queue_.front();
    queue_.pop_front();
    give(processor, next);
    return next;
  }

 private:
  int free_one(int preferred) const {
    if (preferred != kNone && thread_on(preferred) == kNone) return preferred;
    for (int i = 0; i < processors(); ++i) {
      if (thread_on(i) == kNone) return i;
    }
    return kNone;
  }
  void give(int processor, int thread) {
    thread_[static_cast<std::size_t>(processor)] = thread;
    processor_[static_cast<std::size_t>(thread)] = processor;
    last_[static_cast<std::size_t>(thread)] = processor;
  }

  bool is_shared_ = false;
  std::vector<int> processor_;  // by thread
  std::vector<int> last_;       // the same, while it had one
  std::vector<int> thread_;     // by processor
  std::deque<int> queue_;       // of threads that wait for a processor
};

}  // namespace lockswap::cost
