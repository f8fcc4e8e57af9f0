// Read-copy-update for bonsai.hpp and structures like it: which threads may still look at a node
// that was taken out. C++20; needs no library.
//
//   lockswap::quiescence<> domain;                      // for any number of structures
//   thread_local lockswap::quiescence<>::reader me(domain);
//   { const lockswap::quiescence<>::section inside(me); ... }   // what is met here stays until }
//
// Idea: as in src/reclaim/epoch.h. A clock for the domain; each reader shows since when it is in a
//   section (0: it is in none). A period is closed by moving the clock; it is over when every
//   reader that shows an earlier time has left.
// Order: a Dekker pair, with a seq_cst fence on both sides:
//     a section   1. stores its time     fence   2. loads the structure's root
//     a period    1. a root was stored   fence   2. loads the times
//   One of the two sees the other. A reader that shows a later time than the period's has read the
//   clock as it was moved, after all that was taken out before.
//   The reader's fence is left to the kernel (membarrier) where there is one; with fences::full,
//   or where there is none, readers run it themselves.
// Cost: a section is a load and two stores; a reader never waits. A period is one call of the
//   kernel, and once a look at each reader.
// Limits: not across fork. If a seccomp filter forbids membarrier after the domain was made, no
//   period is over any more; fences::full is for programs that set such filters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockswap/machine.hpp"

namespace lockswap {

enum class fences : std::uint8_t { asymmetric, full };

template <class P = real_machine>
class quiescence {
  using word = typename P::template atomic<std::uint64_t>;
  struct alignas(64) record {
    word began{};
    word used{};
    typename P::template plain<std::uint64_t> depth;  // sections of this reader, one in another
    typename P::template plain<record*> next;         // set before others know the record

    std::uint64_t enter() noexcept {
      const std::uint64_t before = depth.get();
      depth.set(before + 1);
      return before;
    }
    std::uint64_t leave() noexcept {
      depth.set(depth.get() - 1);
      return depth.get();
    }
  };

 public:
  // A thread's place; made, used and ended by that thread, before the domain ends.
  class reader {
   public:
    explicit reader(quiescence& of) : of_(of), me_(of.claim()) {}
    // release: what the thread read; pairs with claim.
    ~reader() { me_->used.store(0, std::memory_order_release); }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

   private:
    friend class quiescence;
    quiescence& of_;
    record* me_;
  };

  class section {
   public:
    explicit section(reader& r) noexcept : r_(r) {
      if (r_.me_->enter() == 0) r_.of_.begin(*r_.me_);
    }
    ~section() {
      if (r_.me_->leave() == 0) r_.of_.end(*r_.me_);
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    reader& r_;
  };

  struct period {
    std::uint64_t end = 0;
    record* unseen = nullptr;  // from here on readers may be in a section since before the end
    bool fenced = false;
  };

  explicit quiescence(fences f = fences::asymmetric)
      : asymmetric_(f == fences::asymmetric && P::prepare_heavy_fence()) {}
  // No reader is left.
  ~quiescence() {
    for (record* r = first(); r != nullptr;) {
      record* next = r->next.get();
      r->~record();
      P::template give<record>(r);
      r = next;
    }
  }
  quiescence(const quiescence&) = delete;
  quiescence& operator=(const quiescence&) = delete;

  // What was taken out before, by this thread or under the same lock, belongs to this period.
  period close() noexcept {
    period p;
    // release: what was taken out; pairs with begin.
    p.end = clock_.fetch_add(1, std::memory_order_release) + 1;
    return p;
  }
  // Whether no reader is in a section since before the period's end. Never waits.
  bool is_over(period& p) noexcept {
    if (!p.fenced && !look_at_all(p)) return false;
    for (; p.unseen != nullptr; p.unseen = p.unseen->next.get()) {
      // acquire: pairs with begin and end; what the reader read comes before the node's next use.
      const std::uint64_t began = p.unseen->began.load(std::memory_order_acquire);
      if (began != 0 && began <= p.end) return false;
    }
    return true;
  }
  // Not in a section.
  void wait(period& p) noexcept {
    for (unsigned round = 0; !is_over(p); ++round)
      P::step_aside(round);
  }

 private:
  bool look_at_all(period& p) noexcept {
    // The fence of a period.
    if (asymmetric_) {
      if (!P::heavy_fence()) return false;
    } else {
      P::full_fence();
    }
    p.fenced = true;
    p.unseen = first();  // a reader that is added later begins behind the fence
    return true;
  }

  void begin(record& me) noexcept {
    // acquire: what was taken out before close moved the clock. An old time keeps more than needed.
    const std::uint64_t now = clock_.load(std::memory_order_acquire) + 1;
    // release: the reads of this thread's last section, if is_over sees this one.
    me.began.store(now, std::memory_order_release);
    if (asymmetric_) {
      P::light_fence();
    } else {
      P::full_fence();
    }
  }
  void end(record& me) noexcept {
    me.began.store(0, std::memory_order_release);  // the reads of the section; pairs with is_over
  }

  record* first() const noexcept {
    // acquire: pairs with claim.
    return reinterpret_cast<record*>(first_.load(std::memory_order_acquire));
  }
  record* claim() {
    for (record* r = first(); r != nullptr; r = r->next.get()) {
      std::uint64_t free = 0;
      // acquire: pairs with ~reader.
      if (r->used.compare_exchange(free, 1, std::memory_order_acquire)) return r;
    }
    auto* r = new (P::template take<record>()) record;
    r->used.store(1, std::memory_order_relaxed);                  // nobody knows it yet
    std::uint64_t head = first_.load(std::memory_order_relaxed);  // compared below
    do {
      r->next.set(reinterpret_cast<record*>(head));
      // release: the record; pairs with first.
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(r),
                                      std::memory_order_release));
    return r;
  }

  // In a line that changes once a period: each section reads it.
  alignas(64) const bool asymmetric_;
  word clock_{};
  word first_{};
};

}  // namespace lockswap
