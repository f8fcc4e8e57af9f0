// Memory for small objects that come and go by the thousand, taken and given back by any thread.
//
// Idea: like a kernel's per-processor page lists in front of its page allocator. Each thread has a
//   list of free pieces, where it takes and gives without a lock. Whole batches move between those
//   lists and one that all threads share, under a guard; new memory comes a batch at a time.
// Invariants: a piece is free in one list at a time. A thread's list has at most two batches, so
//   the guard is taken once per batch, also by a thread that takes what another one gives.
// Space: the peak of what was in use, and two batches per thread; it is never given back to the
//   system. A thread that exits leaves its list to the others.
// fork: the child has the list of the forking thread and the shared one; other threads' lists are
//   leaked there. No handler waits for the guard: if another thread has it during a fork, it stays
//   taken in the child, which must not take or give more than its list can do.
// Not in the preload library, since it uses operator new, and a thread-local with a destructor.
// Under a sanitizer each piece comes from the heap, so that the sanitizer detects use after free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/guard.h"
#include "platform/sanitizer.h"

namespace lockswap {

#if defined(LOCKSWAP_TSAN) || defined(LOCKSWAP_ASAN)
inline constexpr bool kPiecesAreTheHeaps = true;
#else
inline constexpr bool kPiecesAreTheHeaps = false;
#endif

// heaps: without lists. A test of the lists says no, also where a sanitizer watches.
template <std::size_t bytes, bool heaps = kPiecesAreTheHeaps>
class Batches {
  struct Piece {
    Piece* next;   // the next piece in its list
    Piece* batch;  // in the first piece of a shared batch: the next batch
  };
  static constexpr std::size_t kBytes = (bytes + sizeof(Piece) - 1) / sizeof(Piece) * sizeof(Piece);

 public:
  static constexpr std::uint32_t kBatch = 64;  // pieces

  static void* take() {
    if constexpr (heaps) return ::operator new(kBytes);
    Own& own = mine_;
    if (own.first == nullptr) [[unlikely]]
      refill(own);
    Piece* p = own.first;
    own.first = p->next;
    --own.count;
    return p;
  }
  static void give(void* memory) {
    if constexpr (heaps) return ::operator delete(memory);
    Own& own = mine_;
    if (own.count == 2 * kBatch || own.first == nullptr) [[unlikely]]
      make_room(own);
    own.first = new (memory) Piece{own.first, nullptr};
    ++own.count;
  }
  // For tests: returns how many free pieces the calling thread has.
  static std::uint32_t kept() { return mine_.count; }

 private:
  struct Own {
    Piece* first;
    std::uint32_t count;
  };
  // Gives an exiting thread's list to all.
  struct Leaver {
    bool is_there = false;
    ~Leaver() {
      if (mine_.first != nullptr) share(mine_.first);
      mine_ = {};
    }
  };
  static void share(Piece* first) {
    shared_guard_.lock();
    first->batch = shared_;
    shared_ = first;
    shared_guard_.unlock();
  }
  [[gnu::noinline]] static void refill(Own& own) {
    leaver_.is_there = true;  // from now on its destructor runs when the thread exits
    shared_guard_.lock();
    Piece* batch = shared_;
    if (batch != nullptr) shared_ = batch->batch;
    shared_guard_.unlock();
    if (batch == nullptr) batch = fresh();
    own.first = batch;
    // The pieces that an exited thread has left may be fewer, or more, than a batch.
    own.count = 0;
    for (Piece* p = batch; p != nullptr; p = p->next)
      ++own.count;
  }
  [[gnu::noinline]] static void make_room(Own& own) {
    leaver_.is_there = true;
    if (own.count < 2 * kBatch) return;
    // The newer half stays, because its lines are in the cache.
    Piece* last = own.first;
    for (std::uint32_t i = 1; i < kBatch; ++i)
      last = last->next;
    share(last->next);
    last->next = nullptr;
    own.count = kBatch;
  }
  static Piece* fresh() {
    auto* memory = static_cast<std::byte*>(::operator new (kBatch* kBytes, std::align_val_t{64}));
    Piece* first = nullptr;
    for (std::uint32_t i = kBatch; i-- > 0;)
      first = new (memory + i * kBytes) Piece{first, nullptr};
    return first;
  }

  static inline constinit thread_local Own mine_{};
  static inline thread_local Leaver leaver_;
  static inline constinit Guard shared_guard_{};
  static inline constinit Piece* shared_ = nullptr;  // under the guard
};

}  // namespace lockswap
