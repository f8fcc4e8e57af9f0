// What a thread holds, as the thread itself remembers it. The book goes from a lock to the threads
// that hold it; this goes the other way, and has mutexes besides. Another thread may have released
// what stands here: the book knows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockswap::audit {

// Acquisitions are numbered in each thread, so that it is known which came first.
struct HeldLock {
  std::uint64_t address;
  std::uint64_t number;  // LockEntry's; 0: of a mutex that was not asked for it yet
  std::uint64_t site;    // where it was taken
  std::uint64_t step;
  std::uint32_t stack;
  std::uint32_t place;  // of a mutex: in the thread's record
  bool writes;
  bool is_mutex;
  bool is_robust;  // may be left behind
};

// The first ones that a thread has taken. More than there is room for are not remembered.
template <class One, std::size_t kMost>
class Few {
 public:
  const One* begin() const noexcept { return all_; }
  const One* end() const noexcept { return all_ + count_; }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  void clear() noexcept { count_ = 0; }

  bool is_full() const noexcept { return count_ == kMost; }
  void add(const One& one) noexcept {
    if (count_ < kMost) all_[count_++] = one;
  }
  One* begin() noexcept { return all_; }
  One* end() noexcept { return all_ + count_; }
  // The last one of which is(one) is true. The others keep their order.
  template <class Is>
  void remove(Is is) noexcept {
    for (std::size_t i = count_; i-- != 0;) {
      if (!is(all_[i])) continue;
      for (std::size_t j = i + 1; j < count_; ++j)
        all_[j - 1] = all_[j];
      --count_;
      return;
    }
  }

 private:
  std::size_t count_;
  One all_[kMost];
};

inline constexpr std::size_t kMostHeld = 12;  // of each kind

// All zero in a new thread.
struct Held {
  Few<HeldLock, kMostHeld> locks;
  Few<HeldLock, kMostHeld> mutexes;
  std::uint64_t steps;  // acquisitions so far
};

}  // namespace lockswap::audit
