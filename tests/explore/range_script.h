// What the threads of a range lock's case do, as words:
//
//   E0-4 S0-4        acquire [0, 4) exclusive, shared; then write, read the data of each unit
//   tryE timedE lateE (S)   the other forms, as in script.h
//   u U              release this thread's newest, oldest range, after another look at its data.
//                    A range that was not had is skipped
//   down             the newest range becomes shared
//   +1 ?1            set event 1; wait for event 1 (release, acquire: the program's own order)
//   exit             the thread ends, another begins in its place
//   fork             as in script.h; after `|`: the other threads in the child
//   word=0 =dead =busy =late    the result that it must have; without one, a try or timed form may
//                    fail, and one that waits may not
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "multicore/explore/plain.h"
#include "multicore/explore/platform.h"
#include "multicore/explore/wait_at.h"
#include "range/list.h"

namespace lockswap::explore {

inline constexpr std::uint64_t kUnits = 12;

// A range lock as the cases see it.
class RangeUnderTest {
 public:
  virtual ~RangeUnderTest() = default;
  virtual void begin() = 0;  // a new lock
  virtual int acquire(const RangeRequest& r, void*& handle) = 0;
  virtual void release(void* handle) = 0;
  virtual void downgrade(void* handle) = 0;
  virtual bool busy() = 0;
  virtual bool can_share() const = 0;
};

template <template <class> class WaitOf, bool kReaders, RangeSizes kSizes>
class RangeListUnderTest final : public RangeUnderTest {
  using List = RangeList<Explored, WaitAt<WaitOf<Explored>>, kReaders, kSizes>;
  using Node = typename List::Node;

 public:
  explicit RangeListUnderTest(RangeOptions options) : options_(options) {}
  void begin() override { new (list_) List{}; }
  int acquire(const RangeRequest& r, void*& handle) override {
    Node* n = nullptr;
    const int result = list().acquire_range(r, options_, n);
    handle = n;
    return result;
  }
  void release(void* handle) override { list().release_range(static_cast<Node*>(handle)); }
  void downgrade(void* handle) override {
    if constexpr (kReaders) list().downgrade(static_cast<Node*>(handle));
  }
  bool busy() override { return list().busy(); }
  bool can_share() const override { return kReaders; }

 private:
  List& list() { return *std::launder(reinterpret_cast<List*>(list_)); }
  RangeOptions options_;
  alignas(List) std::byte list_[sizeof(List)];
};

// `threads` as above. The lock lives on.
Scenario range_scenario(RangeUnderTest& lock, const std::vector<std::string>& threads);

}  // namespace lockswap::explore
