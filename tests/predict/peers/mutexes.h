// Mutexes: glibc's, and those of folly's SmallLocks benchmark.
#pragma once

#include <array>

#include "peers/words.h"
#include "predict/lock.h"

namespace lockswap::predict::peers {

class Mutex : public Lock {
 public:
  void read() override { write(); }
  void read_unlock() override { write_unlock(); }
};

// glibc's normal mutex: 0 free, 1 taken, 2 taken and somebody may sleep. It doesn't poll.
class FutexMutex final : public Mutex {
 public:
  void begin() override { word_ = new (cost::zeroed(sizeof(Word))) Word{}; }
  void write() override {
    std::uint32_t seen = 0;
    if (word_->compare_exchange(seen, 1, acquire)) return;
    while (word_->exchange(2, acquire) != 0)
      sleep_while(*word_, 2);
  }
  void write_unlock() override {
    if (word_->exchange(0, release) == 2) wake_one(*word_);
  }
  // For locks that are made of one and lie beside it.
  void place(Word& word) { word_ = &word; }

 private:
  Word* word_ = nullptr;
};

// folly::MicroSpinLock: a compare-exchange where the byte looks free.
class MicroSpinLock final : public Mutex {
 public:
  void begin() override { word_ = new (cost::zeroed(sizeof(Word))) Word{}; }
  void write() override {
    Sleeper sleeper;
    for (;;) {
      std::uint32_t seen = 0;
      if (word_->compare_exchange(seen, 1, acquire)) return;
      while (word_->load(relaxed) != 0)
        sleeper.wait(*word_, [](std::uint32_t v) { return v == 0; });
    }
  }
  void write_unlock() override { word_->store(0, release); }

 private:
  Word* word_ = nullptr;
};

// folly::PicoSpinLock: a bit that is set by "lock bts", without a look before. Its release is an
// update, since the other bits are the user's.
class PicoSpinLock final : public Mutex {
 public:
  void begin() override { word_ = new (cost::zeroed(sizeof(Word))) Word{}; }
  void write() override {
    Sleeper sleeper;
    while ((word_->fetch_or(kBit, acquire) & kBit) != 0)
      sleeper.wait(*word_, [](std::uint32_t v) { return (v & kBit) == 0; });
  }
  void write_unlock() override { word_->fetch_and(~kBit, release); }

 private:
  static constexpr std::uint32_t kBit = 0x8000;
  Word* word_ = nullptr;
};

// folly::MicroLock: a byte with two bits, held and waiting. A thread polls a thousand times before
// it sleeps.
class MicroLock final : public Mutex {
 public:
  void begin() override { word_ = new (cost::zeroed(sizeof(Word))) Word{}; }
  void write() override {
    std::uint32_t v = word_->load(relaxed);
    if ((v & kHeld) == 0 && word_->compare_exchange(v, v | kHeld, acquire)) return;
    bool slept = false;
    for (;;) {
      const double until = machine.now() + kPolls * machine.costs().pause;
      if (poll(
              *word_, [](std::uint32_t w) { return (w & kHeld) == 0; }, until)) {
        v = word_->load(relaxed);
        // A thread that has slept can't know whether others still do.
        if ((v & kHeld) == 0 &&
            word_->compare_exchange(v, v | kHeld | (slept ? kWait : 0), acquire))
          return;
        continue;
      }
      v = word_->load(relaxed);
      if ((v & kHeld) == 0) continue;
      if ((v & kWait) == 0 && !word_->compare_exchange(v, v | kWait, relaxed)) continue;
      sleep_while(*word_, v | kWait);
      slept = true;
    }
  }
  void write_unlock() override {
    if ((word_->fetch_and(~(kHeld | kWait), release) & kWait) != 0) wake_one(*word_);
  }

 private:
  static constexpr std::uint32_t kHeld = 1, kWait = 2;
  static constexpr int kPolls = 1000;
  Word* word_ = nullptr;
};

// folly::DistributedMutex without combining. A waiter puts its own node in the central word and
// polls that node. A holder that leaves takes all who wait there at once, and they go one after
// another, the last that came first.
// If threads share processors, a waiter sleeps for half a millisecond after each 4,000 polls, and a
// holder skips those that sleep. A waiter that was skipped sleeps in its next wait from the start,
// until a holder comes to it, skips it and wakes it.
class DistributedMutex final : public Mutex {
 public:
  void begin() override {
    tail_ = new (cost::zeroed(sizeof(Word))) Word{};
    for (int i = 0; i < cost::kMostThreads; ++i)
      nodes_[static_cast<std::size_t>(i)] = new (cost::zeroed(sizeof(Node))) Node{};
  }
  void write() override {
    for (std::uint32_t how = kPolls; !try_write(how);)
      how = how == kPolls ? kSleeps : kPolls;
  }
  void write_unlock() override {
    const Node& me = node(machine.current());
    std::uint32_t next = me.behind, end = me.end, mark = me.mark;
    for (;;) {
      while (next != end) {  // those that were taken together
        const std::uint32_t after = node_of(next).behind;
        if (pass(node_of(next), end, mark)) return;
        next = after;
      }
      std::uint32_t seen = mark;
      if (tail_->compare_exchange(seen, 0, release)) return;
      // All that came since; the first of them stands behind what the word had.
      next = tail_->exchange(kTaken, acq_rel);
      end = mark;
      mark = kTaken;
    }
  }

 private:
  static constexpr std::uint32_t kTaken = 1, kFirst = 2;
  // A node's signal: how its thread waits, or how that ended.
  static constexpr std::uint32_t kPolls = 0, kGoes = 1, kIsSkipped = 2, kNaps = 3, kSleeps = 4;
  static constexpr int kMostPolls = 4000;
  static constexpr double kNap = 500'000;
  struct alignas(128) Node {
    Word signal{};
    std::uint32_t behind = 0;  // who came before it
    std::uint32_t end = 0;     // who stands behind the last of those that were taken together
    std::uint32_t mark = 0;    // what the central word has if nobody has come since
  };
  Node& node(int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  Node& node_of(std::uint32_t id) { return node(static_cast<int>(id - kFirst)); }
  // Returns false if it was skipped.
  bool try_write(std::uint32_t how) {
    Node& me = node(machine.current());
    me.signal.store(how, relaxed);
    const auto id = static_cast<std::uint32_t>(machine.current()) + kFirst;
    const std::uint32_t before = tail_->exchange(id, acq_rel);
    me.behind = before;
    me.mark = id;
    if (before == 0) {
      me.behind = me.end = id;
      return true;
    }
    if (how == kSleeps) {
      while (me.signal.load(acquire) == kSleeps)
        sleep_while(me.signal, kSleeps);
      return false;
    }
    return waits_for_its_turn(me.signal);
  }
  static bool waits_for_its_turn(Word& signal) {
    const auto ended = [](std::uint32_t v) { return v == kGoes || v == kIsSkipped; };
    if (!machine.shares_processors()) return poll(signal, ended);
    if (!poll(signal, ended, machine.now() + kMostPolls * machine.costs().pause)) {
      std::uint32_t seen = kPolls;
      signal.compare_exchange(seen, kNaps, acq_rel);
      while (!ended(signal.load(acquire)))
        nap(kNap);
    }
    return signal.load(acquire) == kGoes;
  }
  // Returns false if it skips the node. With a processor for each thread nobody sleeps.
  bool pass(Node& next, std::uint32_t end, std::uint32_t mark) {
    if (machine.shares_processors() && skips(next.signal)) return false;
    next.end = end;
    next.mark = mark;
    next.signal.store(kGoes, release);
    return true;
  }
  static bool skips(Word& signal) {
    std::uint32_t how = signal.load(acquire);
    if (how == kPolls || !signal.compare_exchange(how, kIsSkipped, acq_rel)) return false;
    if (how == kSleeps) wake_one(signal);
    return true;
  }

  Word* tail_ = nullptr;
  std::array<Node*, cost::kMostThreads> nodes_{};
};

}  // namespace lockswap::predict::peers
