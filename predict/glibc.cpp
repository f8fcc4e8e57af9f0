// glibc's default mutex and reader-writer lock on the modelled machine, as a baseline, because
// glibc's own code can't run there. They are implemented from what glibc publishes about its
// algorithms (the comments in nptl/lowlevellock.h, and in nptl/pthread_rwlock_common.c since glibc
// 2.25). Neither spins before it sleeps.
#include <new>

#include "multicore/cost/platform.h"
#include "predict/lock.h"

namespace lockswap::predict {

namespace {

using cost::Modelled;
using Word = cost::ModelledAtomic<std::uint32_t>;

// Like the kernel's futex wait.
void sleep_while(const Word& word, std::uint32_t value) { Modelled::park(word, value, 1, nullptr); }
void wake_one(const Word& word) { Modelled::unpark_one(&word, 1); }
void wake_all(const Word& word) { Modelled::unpark(&word, 1); }

class GlibcMutex final : public Lock {
 public:
  void begin() override { f_ = new (cost::zeroed(sizeof(Fields))) Fields{}; }
  void write() override {
    std::uint32_t seen = kFree;
    if (!f_->lock.compare_exchange(seen, kTaken, acquire)) {
      while (f_->lock.exchange(kAwaited, acquire) != kFree)
        sleep_while(f_->lock, kAwaited);
    }
    f_->owner.store(Modelled::tid(), relaxed);
  }
  void write_unlock() override {
    f_->owner.store(0, relaxed);
    if (f_->lock.exchange(kFree, release) == kAwaited) wake_one(f_->lock);
  }
  void read() override { write(); }
  void read_unlock() override { write_unlock(); }

 private:
  static constexpr std::uint32_t kFree = 0, kTaken = 1, kAwaited = 2;
  struct Fields {
    Word lock{}, count{}, owner{};
  };
  Fields* f_ = nullptr;
};

// Readers are preferred. The word `readers` has their number, whether this is a writers' phase, and
// whether a writer has the right to the next one. Threads that wait for the other phase sleep on
// `phase` (1: a writers'), and those that wait for that right sleep on `writers`.
class GlibcRwlock final : public Lock {
 public:
  void begin() override { f_ = new (cost::zeroed(sizeof(Fields))) Fields{}; }
  void read() override {
    f_->writer.load(relaxed);
    std::uint32_t r = f_->readers.fetch_add(kReader, acquire) + kReader;
    while ((r & (kPhase | kLocked)) == kPhase) {
      if (f_->readers.compare_exchange(r, r ^ kPhase, acquire)) {
        end_phase(0);
        return;
      }
    }
    if ((r & kPhase) != 0) wait_for_phase(0);
  }
  void read_unlock() override {
    std::uint32_t r = f_->readers.load(relaxed), left = 0;
    do {
      left = r - kReader;
      if (left < kReader && (left & kLocked) != 0) left |= kPhase;
    } while (!f_->readers.compare_exchange(r, left, release));
    if ((left & kPhase) != 0) end_phase(1);
  }
  void write() override {
    f_->writer.load(relaxed);
    std::uint32_t r = f_->readers.fetch_or(kLocked, acquire);
    if ((r & kLocked) != 0) r = wait_for_turn();
    while ((r & kPhase) == 0 && r < kReader) {
      if (!f_->readers.compare_exchange(r, r | kPhase, acquire)) continue;
      f_->phase.store(1, relaxed);
      r |= kPhase;
    }
    if ((r & kPhase) == 0) wait_for_phase(1);
    f_->writer.store(Modelled::tid(), relaxed);
  }
  void write_unlock() override {
    f_->writer.store(0, relaxed);
    const bool wakes = (f_->writers.exchange(0, relaxed) & kUsed) != 0;
    std::uint32_t r = f_->readers.load(relaxed);
    while (!f_->readers.compare_exchange(r, r ^ kLocked ^ (r < kReader ? 0 : kPhase), release)) {}
    if (r >= kReader) end_phase(0);
    if (wakes) wake_one(f_->writers);
  }

 private:
  static constexpr std::uint32_t kPhase = 1, kLocked = 2, kReader = 8;  // in `readers`
  static constexpr std::uint32_t kUsed = 2;                             // in the other two
  struct Fields {
    Word readers{}, count{}, phase{}, writers{}, unused[2]{}, writer{};
  };

  // Begins the other phase, which is a writers' phase if `writers` is 1.
  void end_phase(std::uint32_t writers) {
    if ((f_->phase.exchange(writers, relaxed) & kUsed) != 0) wake_all(f_->phase);
  }
  void wait_for_phase(std::uint32_t writers) {
    const std::uint32_t other = 1 - writers;
    for (bool ready = false;;) {
      for (std::uint32_t p = f_->phase.load(relaxed); (p | kUsed) == (other | kUsed);
           p = f_->phase.load(relaxed)) {
        if ((p & kUsed) == 0 && !f_->phase.compare_exchange(p, p | kUsed, relaxed)) continue;
        sleep_while(f_->phase, other | kUsed);
      }
      // The value of `phase` may be old, so the other word must agree.
      if (ready) return;
      ready = (f_->readers.load(acquire) & kPhase) == writers;
    }
  }
  // Returns the value of `readers` from when this thread got the right to the next writers' phase.
  std::uint32_t wait_for_turn() {
    bool slept = false;
    for (std::uint32_t r = f_->readers.load(relaxed);;) {
      if ((r & kLocked) == 0) {
        if (!f_->readers.compare_exchange(r, r | kLocked, acquire)) continue;
        if (slept) f_->writers.fetch_or(kUsed, relaxed);  // other threads may sleep there as well
        return r | kLocked;
      }
      f_->writers.store(1 | kUsed, relaxed);
      slept = true;
      sleep_while(f_->writers, 1 | kUsed);
      r = f_->readers.load(relaxed);
    }
  }

  Fields* f_ = nullptr;
};

}  // namespace

void add_glibcs(NamedLocks& to) {
  constexpr bool kParks = true;
  add<GlibcMutex>(to, "pthread", "mutex", kParks);
  add<GlibcRwlock>(to, "pthread", "rwlock", kParks);
}

}  // namespace lockswap::predict
