// The memory of the virtual multicore, under one of three models.
//
// c11   a view machine: each atomic keeps its writes in modification order, and a load may return
//       any of them that its thread's view does not forbid.
// tso   x86: stores wait in their thread's buffer, first in, first out, which only that thread
//       sees. Updates, seq_cst stores and seq_cst fences empty it. Apart from that, the declared
//       orders matter only to the race detector.
// sc    every load reads the newest write.
//
// Rules of c11 (C++20's wording of release sequences and of the seq_cst order):
//   load      reads a write not older than the thread's view of the atom. acquire joins the
//             message's view into the thread's; a relaxed one sets it aside for an acquire fence.
//   store     is placed anywhere behind what the thread's view says, in modification order; but
//             not between an update and what that read. release: the message carries the thread's
//             view; relaxed: what the thread's last release fence saw.
//   update    (read-modify-write) reads a write that no update has read yet, and is placed right
//             behind it. Its message also carries the view of the message that it read: an update
//             continues a release sequence, a store does not.
//   seq_cst   one view is shared by all seq_cst accesses and fences. An access reads and writes its
//             own atom's entry of it; a fence joins it both ways, for all atoms. It carries no
//             thread clocks: the seq_cst order alone does not make plain accesses happen in order.
// Limits: no load reads from a write that executes later (no load buffering), and the single order
// of seq_cst operations is the order of execution.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "multicore/explore/mix.h"
#include "multicore/explore/view.h"
#include "platform/atomic.h"

namespace lockswap::explore {

enum class MemoryModel : std::uint8_t { c11, tso, sc };

inline bool acquires(Order o) { return o == acquire || o == acq_rel || o == seq_cst; }
inline bool releases(Order o) { return o == release || o == acq_rel || o == seq_cst; }

struct Message {
  View view;
  std::uint64_t value;
  bool is_update;    // it stays right behind the write before it
  std::uint64_t id;  // a hash of what its thread had done and seen when it wrote this
};

struct ThreadView {
  View now;         // what the thread has seen
  View acquirable;  // what it will have seen after an acquire fence
  View released;    // what its relaxed stores publish: its view at its last release fence
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): views are aligned to lines
class Memory {
 public:
  static constexpr int kFull = -1;

  void reset(MemoryModel model);

  // Adds a new atomic. Returns its number, or kFull.
  int enroll(const void* address, std::uint64_t initial);
  // Returns the number of the newest atomic at that address, or kFull.
  int find(const void* address) const;
  int count() const { return count_; }
  const void* address_of(int location) const { return locations_[location].address; }

  ThreadView& thread(int t) { return threads_[t]; }
  const ThreadView& thread(int t) const { return threads_[t]; }

  // --- the writes of an atomic, in modification order
  int newest(int location) const {
    return static_cast<int>(locations_[location].history.size()) - 1;
  }
  // Returns the oldest write that the thread may read with that order. Under tso and sc: the
  // newest.
  int oldest_readable(int thread, int location, Order order) const;
  std::uint64_t value(int location, int index) const {
    return locations_[location].history[index].value;
  }
  std::uint64_t newest_value(int location) const {
    return locations_[location].history.back().value;
  }
  // Returns whether a new write may come right after that one.
  bool may_follow(int location, int index) const {
    const auto& history = locations_[location].history;
    return index + 1 == static_cast<int>(history.size()) || !history[index + 1].is_update;
  }

  void read(int thread, int location, int index, Order order);
  // Inserts a write right after `before`; an update has read that one. Returns false if the bounds
  // of this machine are exceeded.
  bool write(int thread, int location, int before, std::uint64_t value, Order order,
             bool is_update);
  void fence(int thread, Order order);

  // --- tso: delayed stores
  bool delay(int thread, int location, std::uint64_t value, Order order);  // false: as above
  bool has_delayed(int thread) const { return !buffers_[thread].empty(); }
  bool has_delayed(int thread, int location) const {
    return forwarded(thread, location) != nullptr;
  }
  // Returns the threads (a bit each) whose delayed stores may reach memory in a visible order:
  // those of `threads`, and each thread with a store to an atomic that one of them stores to as
  // well.
  std::uint32_t related(std::uint32_t threads) const;
  // The oldest store reaches memory. Returns its location, or kFull if the bounds are exceeded.
  int flush_one(int thread);
  // Returns the thread's own newest delayed store, which it reads, or nullptr.
  const std::uint64_t* forwarded(int thread, int location) const;

  // --- a message from one thread to another outside the modelled memory
  int hand_on(int thread);
  void take_over(int thread, int parcel);

  // --- futex: what a wake on an atom has seen, its sleepers see too
  void wake_sees(int thread, int location);
  void sleeper_sees(int thread, int location);
  // The kernel's comparison before the thread sleeps.
  void sleeper_reads(int thread, int location, int index);

  // --- memory that must not be accessed any more
  void poison(const void* begin, std::size_t bytes);
  void heal(const void* begin);  // a new object is there; only wakes for the old one may come
  void revive(const void* begin, std::size_t bytes);  // the old object may be used again
  bool poisoned(int location) const { return locations_[location].poisoned; }
  bool poisoned(const void* address) const;

  // --- what makes a state (see state.cpp)
  // Returns a hash of all that the thread has done, and of what it has seen of others. Together
  // these determine where it is in its program, and what it knows.
  std::uint64_t past(int thread) const { return pasts_[thread]; }
  void adds_to_past(int thread, std::uint64_t what) { pasts_[thread] = mix(pasts_[thread], what); }
  // The thread continues with all that `count` threads have done as its past, and they begin with
  // its past.
  void unite_pasts(int thread, int count);
  // Returns a hash of the writes of all atomics, in their orders, and of everything else in this
  // memory.
  std::uint64_t contents() const;

 private:
  struct Location {
    const void* address;
    std::uint64_t name;  // a hash of the address, and of the number of earlier objects there
    bool poisoned;
    std::uint64_t order;  // a hash of the writes, in modification order
    std::vector<Message> history;
  };
  struct Range {
    std::uintptr_t begin, end;
  };
  struct Delayed {
    Message message;
    int location;
  };
  struct Parcel {
    View view;
    std::uint64_t id;
  };

  Message message(int thread, std::uint64_t value, Order order) const;
  bool clock_is_full(int thread) const { return threads_[thread].now.clock(thread) == kMostWrites; }
  void make_room(int location, int index);
  void place(int thread, int location, int index, Message& m);
  std::uint64_t id_of(int location, int index) const {
    return locations_[location].history[index].id;
  }
  std::uint64_t seq_cst_knows() const;

  MemoryModel model_ = MemoryModel::c11;
  std::vector<Location> locations_ = std::vector<Location>(kMaxLocations);
  int count_ = 0;
  std::array<ThreadView, kMaxThreads> threads_;
  std::array<std::uint64_t, kMaxThreads> pasts_{};
  View seq_cst_;
  View futex_;
  std::vector<Parcel> parcels_;
  std::array<std::vector<Delayed>, kMaxThreads> buffers_;
  std::vector<Range> gone_;
};

}  // namespace lockswap::explore
