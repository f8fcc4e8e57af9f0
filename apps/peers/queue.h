// Producers and consumers: a ring of a few places, one lock, and two condition variables.
#pragma once

#include <cstdint>
#include <vector>

#include "common/lock.h"
#include "peer.h"

namespace peers {

template <class Lock>
concept HasConditions = bench::Lockable<Lock> &&
    std::default_initializable<typename Lock::Condition> &&
    requires(Lock& lock, typename Lock::Seat& seat, typename Lock::Condition& condition) {
  condition.wait(lock, seat);
  condition.signal();
  condition.broadcast();
};

template <HasConditions Lock>
class Ring {
 public:
  using Seat = typename Lock::Seat;

  explicit Ring(int places) : items_(static_cast<std::size_t>(places)) {}

  // Both return false if it is time to stop before there is room, or an item.
  bool push(Seat& seat, std::uint64_t item, const std::atomic<bool>& stop) {
    lock.lock(seat);
    const bool has_room =
        wait_while(seat, not_full_, stop, [&] { return count_ == items_.size(); });
    if (has_room) items_[(first_ + count_++) % items_.size()] = item;
    lock.unlock(seat);
    if (has_room) not_empty_.signal();
    return has_room;
  }
  bool pop(Seat& seat, std::uint64_t& item, const std::atomic<bool>& stop) {
    lock.lock(seat);
    const bool has_item = wait_while(seat, not_empty_, stop, [&] { return count_ == 0; });
    if (has_item) {
      item = items_[first_];
      first_ = (first_ + 1) % items_.size();
      --count_;
    }
    lock.unlock(seat);
    if (has_item) not_full_.signal();
    return has_item;
  }

  // Wakes all threads that sleep here. Called once it is time to stop. A thread that has missed
  // that keeps the lock until it sleeps, so once the lock is taken here, that thread is asleep.
  void wake_all(Seat& seat) {
    lock.lock(seat);
    lock.unlock(seat);
    not_empty_.broadcast();
    not_full_.broadcast();
  }

  // When all is over: the sum of the items that are left.
  std::uint64_t sum() const noexcept {
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < count_; ++i)
      left += items_[(first_ + i) % items_.size()];
    return left;
  }

  Lock lock;

 private:
  template <class Blocked>
  bool wait_while(Seat& seat, typename Lock::Condition& condition, const std::atomic<bool>& stop,
                  Blocked blocked) {
    while (blocked()) {
      if (stop.load()) return false;
      condition.wait(lock, seat);
    }
    return true;
  }

  typename Lock::Condition not_empty_;
  typename Lock::Condition not_full_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> items_;
};

// Even ones produce (writes), odd ones consume (reads).
template <HasConditions Lock>
class alignas(128) QueueUser {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t sum = 0;  // of its items

  QueueUser(Ring<Lock>& ring, int number, const bench::Steps& steps)
      : ring_(ring), seat_(ring.lock), number_(number), labour_(steps, number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    constexpr int kBatch = 16;
    const bool produces = number_ % 2 == 0;
    for (int i = 0; i < kBatch; ++i) {
      if (!(produces ? produce(watch, stop) : consume(watch, stop))) return;
      labour_.outside();
    }
  }

  void leave() { ring_.wake_all(*seat_); }

 private:
  template <class Watch>
  bool produce(Watch& watch, const std::atomic<bool>& stop) {
    const std::uint64_t item = writes * 2 + 1;
    bool done = false;
    watch.write([&] { done = ring_.push(*seat_, item, stop); });
    if (!done) return false;
    sum += item;
    ++writes;
    return true;
  }
  template <class Watch>
  bool consume(Watch& watch, const std::atomic<bool>& stop) {
    std::uint64_t item = 0;
    bool done = false;
    watch.read([&] { done = ring_.pop(*seat_, item, stop); });
    if (!done) return false;
    sum += item;
    ++reads;
    return true;
  }

  Ring<Lock>& ring_;
  bench::Seated<Lock> seat_;
  int number_;
  bench::Labour labour_;
};

template <HasConditions Lock>
void queue(const Task& task) {
  Ring<Lock> ring(task.places);
  std::vector<QueueUser<Lock>> workers;
  for (int i = 0; i < task.plan.threads; ++i)
    workers.emplace_back(ring, i, task.steps);
  bench::run_and_print(task.plan, workers, "pop", "push");
  std::uint64_t in = 0;
  std::uint64_t out = ring.sum();
  for (const QueueUser<Lock>& w : workers)
    (w.writes > 0 ? in : out) += w.sum;
  if (in != out) bench::wrong_result("other items came out of the queue than went in");
}

}  // namespace peers
