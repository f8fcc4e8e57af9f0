// Reader-writer locks: of folly's SharedMutex and SmallLocks benchmarks.
#pragma once

#include <array>

#include "peers/mutexes.h"
#include "peers/words.h"
#include "predict/lock.h"

namespace lockswap::predict::peers {

// folly::RWSpinLock: a word with a count of readers above the writer's bit. Readers add themselves,
// and take themselves away again if they find a writer. A thread yields after 1,000 rounds.
class RwSpinLock final : public Lock {
 public:
  void begin() override { word_ = new (cost::zeroed(sizeof(Word))) Word{}; }
  void read() override {
    while ((word_->fetch_add(kReader, acquire) & kWriter) != 0) {
      word_->fetch_sub(kReader, release);
      poll_and_yield(*word_, [](std::uint32_t v) { return (v & kWriter) == 0; });
    }
  }
  void read_unlock() override { word_->fetch_sub(kReader, release); }
  void write() override {
    for (;;) {
      std::uint32_t seen = 0;
      if (word_->compare_exchange(seen, kWriter, acq_rel)) return;
      poll_and_yield(*word_, [](std::uint32_t v) { return v == 0; });
    }
  }
  void write_unlock() override { word_->fetch_and(~kWriter, release); }

 private:
  static constexpr std::uint32_t kWriter = 1, kReader = 4;
  Word* word_ = nullptr;
};

// folly::SharedMutex. A reader that finds other readers writes the lock's address into a slot of a
// table, so that it doesn't change the lock's word. A writer moves such readers into the word, and
// waits for them. A waiter polls for a while, then yields a thousand times, then sleeps; it sleeps
// earlier if other threads want its processor. A reader has a token, which says where its slot is.
template <bool kWriterFirst>
class SharedMutex final : public Lock {
 public:
  void begin() override {
    word_ = new (cost::zeroed(sizeof(Word))) Word{};
    slots_ = static_cast<Slot*>(cost::zeroed(kSlots * sizeof(Slot)));
    in_slot_.fill(-1);
  }
  void read() override {
    for (;;) {
      std::uint32_t v = word_->load(acquire);
      if ((v & (kExclusive | (kWriterFirst ? kWriterWaits : 0))) != 0) {
        wait_for_none_of(kExclusive | (kWriterFirst ? kWriterWaits : 0));
        continue;
      }
      const bool finds_readers = (v & (kReaders | kDeferred)) != 0;
      if (finds_readers && try_slot(v)) return;
      if (word_->compare_exchange(v, v + kReader, acquire)) {
        in_slot_[me()] = -1;
        return;
      }
    }
  }
  void read_unlock() override {
    if (in_slot_[me()] >= 0) {
      std::uint32_t mine = kMine;
      if (slots_[in_slot_[me()]].word.compare_exchange(mine, 0, release)) return;
    }
    const std::uint32_t left = word_->fetch_sub(kReader, release) - kReader;
    if ((left & kReaders) == 0 && (left & kSleeps) != 0) wake();
  }
  void write() override {
    for (;;) {
      std::uint32_t v = word_->load(acquire);
      if ((v & kExclusive) != 0) {
        wait_for_none_of(kExclusive);
        continue;
      }
      if (!word_->compare_exchange(v, (v | kExclusive) & ~kDeferred, acq_rel)) continue;
      if ((v & kDeferred) != 0) take_slots();
      wait_for_none_of(kReaders);
      return;
    }
  }
  void write_unlock() override {
    if ((word_->fetch_and(~(kExclusive | kSleeps), release) & kSleeps) != 0) wake();
  }

 private:
  static constexpr std::uint32_t kExclusive = 1, kWriterWaits = 2, kDeferred = 4, kSleeps = 8,
                                 kReader = 256;
  static constexpr std::uint32_t kReaders = ~(kReader - 1);
  static constexpr std::uint32_t kMine = 1;
  static constexpr int kSlots = 64;
  static constexpr int kYields = 1000;
  struct alignas(32) Slot {  // folly's table: every fourth of its pointers, so two of a line
    Word word{};
  };

  static std::size_t me() { return static_cast<std::size_t>(machine.current()); }
  bool try_slot(std::uint32_t v) {
    if ((v & kDeferred) == 0 && !word_->compare_exchange(v, v | kDeferred, relaxed)) return false;
    const int at = machine.current() % kSlots;
    std::uint32_t free = 0;
    if (!slots_[at].word.compare_exchange(free, kMine, acq_rel)) return false;
    const std::uint32_t now = word_->load(acquire);
    if ((now & kDeferred) != 0 && (now & kExclusive) == 0) {
      in_slot_[me()] = at;
      return true;
    }
    std::uint32_t mine = kMine;
    if (slots_[at].word.compare_exchange(mine, 0, release)) return false;
    in_slot_[me()] = -1;  // a writer has moved it into the word
    return true;
  }
  void take_slots() {
    for (int i = 0; i < kSlots; ++i) {
      if (slots_[i].word.load(acquire) == 0) continue;
      std::uint32_t mine = kMine;
      if (slots_[i].word.compare_exchange(mine, 0, acq_rel)) word_->fetch_add(kReader, acq_rel);
    }
  }
  void wait_for_none_of(std::uint32_t bits) {
    const auto none = [bits](std::uint32_t v) { return (v & bits) == 0; };
    while (!none(word_->load(acquire))) {
      if (machine.shares_processors() ? yields_until(none) : polls_until(none)) return;
      std::uint32_t v = word_->load(acquire);
      if (none(v) || !word_->compare_exchange(v, v | kSleeps, relaxed)) continue;
      sleep_while(*word_, v | kSleeps);
    }
  }
  // With a processor for each thread a yield only takes time.
  template <class Pred>
  bool polls_until(Pred none) {
    constexpr double kYield = 400;
    if (!poll(*word_, none, machine.now() + kYields * kYield)) return false;
    machine.spend(std::uniform_real_distribution<double>(0, kYield)(machine.random()));
    return true;
  }
  template <class Pred>
  bool yields_until(Pred none) {
    constexpr double kPolling = 7'000;
    if (poll(*word_, none, machine.now() + kPolling)) return true;
    for (int i = 0; i < kYields; ++i) {
      const double before = machine.now();
      machine.yield();
      machine.yield();
      if (none(word_->load(acquire))) return true;
      if (machine.now() - before > 3 * machine.costs().switching) return false;  // others ran
    }
    return false;
  }
  void wake() {
    word_->fetch_and(~kSleeps, relaxed);
    wake_all(*word_);
  }

  Word* word_ = nullptr;
  Slot* slots_ = nullptr;
  std::array<int, cost::kMostThreads> in_slot_{};
};

// A lock around counters: each call takes it, changes them and releases it. glibc's rwlock before
// 2.25 is one, on one cache line; boost::shared_mutex is another, with condition variables.
class Guarded final : public Lock {
 public:
  void begin() override {
    auto* const words = new (cost::zeroed(64)) Words{};
    words_ = words;
    guard_.place(words->guard);
  }
  void read() override {
    for (;;) {
      guard_.write();
      if (words_->writer.load(relaxed) == 0) {
        words_->readers.store(words_->readers.load(relaxed) + 1, relaxed);
        guard_.write_unlock();
        return;
      }
      wait();
    }
  }
  void read_unlock() override {
    guard_.write();
    const std::uint32_t left = words_->readers.load(relaxed) - 1;
    words_->readers.store(left, relaxed);
    leave(left == 0);
  }
  void write() override {
    for (;;) {
      guard_.write();
      if (words_->writer.load(relaxed) == 0 && words_->readers.load(relaxed) == 0) {
        words_->writer.store(1, relaxed);
        guard_.write_unlock();
        return;
      }
      wait();
    }
  }
  void write_unlock() override {
    guard_.write();
    words_->writer.store(0, relaxed);
    leave(true);
  }

 private:
  struct Words {
    Word guard{}, readers{}, writer{}, waiters{}, turn{};
  };
  // With the guard, which it releases.
  void wait() {
    words_->waiters.store(words_->waiters.load(relaxed) + 1, relaxed);
    const std::uint32_t turn = words_->turn.load(relaxed);
    guard_.write_unlock();
    sleep_while(words_->turn, turn);
    guard_.write();
    words_->waiters.store(words_->waiters.load(relaxed) - 1, relaxed);
    guard_.write_unlock();
  }
  void leave(bool is_open) {
    const bool wakes = is_open && words_->waiters.load(relaxed) != 0;
    if (wakes) words_->turn.fetch_add(1, relaxed);
    guard_.write_unlock();
    if (wakes) wake_all(words_->turn);
  }

  Words* words_ = nullptr;
  FutexMutex guard_;
};

}  // namespace lockswap::predict::peers
