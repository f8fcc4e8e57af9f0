// An index whose structure a lock protects: a reader-writer lock, or a mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include "ldu/locks.h"
#include "ldu/mapping.h"

namespace bench {

template <class Structure, class Lock>
class LockedIndex {
 public:
  static constexpr bool kReuses = true;
  static constexpr bool kAbsorbs = false;
  struct Mapping : Structure::Node {};
  struct Shared {};
  struct Hand {
    explicit Hand(Shared&) {}
  };
  explicit LockedIndex(Shared&) {}
  static void flush(Shared&) {}

  void insert(Hand&, Mapping& m) {
    const std::lock_guard hold(lock_);
    all_.insert(m);
  }
  void remove(Hand&, Mapping& m) {
    const std::lock_guard hold(lock_);
    all_.remove(m);
  }
  void retire(Hand& hand, Mapping& m) {
    remove(hand, m);
    delete &m;
  }
  template <class F = NothingElse>
  std::uint64_t walk(Hand&, std::uint32_t page, F f = {}) {
    std::uint64_t found = 0;
    const auto count = [&](const auto& m) { f(m), ++found; };
    if constexpr (requires { lock_.lock_shared(); }) {
      const std::shared_lock hold(lock_);
      all_.walk(page, count);
    } else {
      const std::lock_guard hold(lock_);
      all_.walk(page, count);
    }
    return found;
  }

 private:
  Lock lock_;
  Structure all_;
};

}  // namespace bench
