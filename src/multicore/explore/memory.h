// The C11 memory as a view machine: each atom keeps the history of its writes, and a load may
// return any of them that its thread's view does not forbid.
//
// Rules (C++20's wording of release sequences and of the seq_cst order):
//   load      reads a write not older than the thread's view of the atom. acquire joins the
//             message's view into the thread's; a relaxed one sets it aside for an acquire fence.
//   store     appends. release: the message carries the thread's view; relaxed: what the thread's
//             last release fence saw.
//   update    (read-modify-write) reads the newest write, and its message also carries the view of
//             the message that it read: an update continues a release sequence, a store does not.
//   seq_cst   one view is shared by all seq_cst accesses and fences. An access reads and writes its
//             own atom's entry of it; a fence joins it both ways, for all atoms. It carries no
//             thread clocks: the seq_cst order alone does not make plain accesses happen in order.
// Limits: an atom's modification order is the order of execution, and no load reads from a write
// that executes later (no load buffering). So it finds bugs; it proves nothing beyond these limits.
#pragma once

#include <cstdint>
#include <vector>

#include "multicore/explore/view.h"
#include "platform/atomic.h"

namespace lockswap::explore {

inline bool acquires(Order o) { return o == acquire || o == acq_rel || o == seq_cst; }
inline bool releases(Order o) { return o == release || o == acq_rel || o == seq_cst; }

struct Message {
  View view;
  std::uint64_t value;
};

struct ThreadView {
  View now;         // what the thread knows
  View acquirable;  // what it will know after an acquire fence
  View released;    // what its relaxed stores hand on: its view at its last release fence
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): views are aligned to lines
class Memory {
 public:
  static constexpr int kFull = -1;

  void reset();

  // A new atom; its number, or kFull.
  int enroll(const void* address, std::size_t bytes, std::uint64_t initial);
  // The number of the newest atom at that address, or kFull.
  int find(const void* address) const;
  const void* address_of(int location) const { return locations_[location].address; }
  int count() const { return count_; }

  int newest(int location) const {
    return static_cast<int>(locations_[location].history.size()) - 1;
  }
  int oldest_readable(int location, const ThreadView& t, Order order) const;
  std::uint64_t value(int location, int index) const {
    return locations_[location].history[index].value;
  }
  std::uint64_t newest_value(int location) const {
    return locations_[location].history.back().value;
  }

  void read(ThreadView& t, int location, int index, Order order);
  // False: the bounds of this machine are exceeded.
  bool write(ThreadView& t, int thread, int location, std::uint64_t value, Order order,
             bool is_update);
  void fence(ThreadView& t, Order order);

  // --- memory that may not be touched any more
  void poison(const void* begin, std::size_t bytes);
  void heal(const void* begin);  // a new object lies there: of the old one only wakes may come
  bool poisoned(int location) const { return locations_[location].poisoned; }
  bool poisoned(const void* address) const;

 private:
  struct Location {
    const void* address;
    bool poisoned;
    std::vector<Message> history;
  };
  struct Range {
    std::uintptr_t begin, end;
  };
  std::vector<Location> locations_ = std::vector<Location>(kMaxLocations);
  int count_ = 0;
  View seq_cst_;
  std::vector<Range> gone_;
};

}  // namespace lockswap::explore
