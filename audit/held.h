// The locks that a thread holds, as the thread itself recorded them. The book maps a lock to the
// threads that hold it; this is the other direction, and includes mutexes. Another thread may have
// released some of these since, which only the book shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockswap::audit {

// Each thread numbers its acquisitions, so that their order is known.
struct HeldLock {
  std::uint64_t address;
  std::uint64_t number;  // LockEntry's; 0: a mutex that has not needed one yet
  std::uint64_t site;    // where it was taken
  std::uint64_t step;
  std::uint32_t stack;
  std::uint32_t place;  // for a mutex: in the thread's record
  bool writes;
  bool is_mutex;
  bool is_robust;  // its owner may end with it
};

// The first locks that a thread has taken. Any beyond kMost are not recorded.
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
  // Removes the last one for which is(one) is true. The others keep their order.
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

// Zero in a new thread.
struct Held {
  Few<HeldLock, kMostHeld> locks;
  Few<HeldLock, kMostHeld> mutexes;
  std::uint64_t steps;  // acquisitions so far
};

}  // namespace lockswap::audit
