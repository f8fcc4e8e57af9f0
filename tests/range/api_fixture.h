// What the tests of range_lock.h have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>

#include "lockswap/range_lock.h"

constexpr int kExclusive = LOCKSWAP_RANGE_EXCLUSIVE;
constexpr int kShared = LOCKSWAP_RANGE_SHARED;

inline timespec in(clockid_t clock, long ms) {
  timespec t{};
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1'000'000;
  t.tv_sec += t.tv_nsec / 1'000'000'000;
  t.tv_nsec %= 1'000'000'000;
  return t;
}

// Runs `f` in another thread, to its end.
inline void elsewhere(const std::function<void()>& f) { std::thread(f).join(); }

// What a try in another thread says.
inline int try_elsewhere(lockswap_range_lock& lock, std::uint64_t start, std::uint64_t end,
                         int mode) {
  int result = -1;
  elsewhere([&] {
    lockswap_range r;
    result = lockswap_range_try_acquire(&lock, &r, start, end, mode);
    if (result == 0) {
      EXPECT_EQ(lockswap_range_release(&r), 0);
    }
  });
  return result;
}

// Whether that thread of this process is asleep: a waiter waits, by the policy `park`.
inline bool sleeps(pid_t id) {
  std::ifstream stat("/proc/self/task/" + std::to_string(id) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(stat), {});
  const auto name_ends = text.rfind(')');
  return name_ends != std::string::npos && text.compare(name_ends, 3, ") S") == 0;
}
// `id`: 0 until the thread has said what it is.
inline void until_asleep(const std::atomic<pid_t>& id) {
  while (id == 0 || !sleeps(id))
    std::this_thread::yield();
}

// A lock of each implementation and preference.
struct Variant {
  const char* implementation;
  int preference;
};

class RangeApi : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    lockswap_range_lock_attr attr;
    ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_implementation(&attr, GetParam().implementation), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_preference(&attr, GetParam().preference), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_segment(&attr, 4), 0);
    ASSERT_EQ(lockswap_range_lock_init(&lock, &attr), 0);
  }
  void TearDown() override { EXPECT_EQ(lockswap_range_lock_destroy(&lock), 0); }
  bool shares() const { return !std::string(GetParam().implementation).ends_with("-ex"); }
  // Those that wait are in a tree, and in the way of those that come later.
  bool queues() const {
    const std::string name = GetParam().implementation;
    return name == "lustre-ex" || name == "kernel-rw";
  }

  int probe(std::uint64_t start, std::uint64_t end, int mode) {
    return try_elsewhere(lock, start, end, mode);
  }

  lockswap_range_lock lock;
};

inline auto all_variants() {
  return testing::Values(Variant{"list-ex", LOCKSWAP_RANGE_PREFER_READERS},
                         Variant{"list-rw", LOCKSWAP_RANGE_PREFER_READERS},
                         Variant{"LIST-RW", LOCKSWAP_RANGE_PREFER_WRITERS},
                         Variant{"sharded-rw", LOCKSWAP_RANGE_PREFER_READERS},
                         Variant{"sharded-rw", LOCKSWAP_RANGE_PREFER_WRITERS},
                         Variant{"lustre-ex", LOCKSWAP_RANGE_PREFER_READERS},
                         Variant{"kernel-rw", LOCKSWAP_RANGE_PREFER_READERS});
}
