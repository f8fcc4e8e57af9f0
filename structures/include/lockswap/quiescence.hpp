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
// Readers: a list, under a guard that a period only tries for. So the record of a reader that ends
//   leaves the list and is freed, and periods look at the readers that there are. The guard also
//   hands on what the readers read that have ended.
// Cost: a section is a load and two stores; a section never waits. A period is one call of the
//   kernel, and once a look at each reader. A reader that begins or ends waits for such a look.
// Limits: not across fork. If a seccomp filter forbids membarrier after the domain was made, no
//   period is over any more; fences::full is for programs that set such filters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockswap/guard.hpp"
#include "lockswap/machine.hpp"

namespace lockswap {

enum class fences : std::uint8_t { asymmetric, full };

template <class P = real_machine>
class quiescence {
  using word = typename P::template atomic<std::uint64_t>;
  struct alignas(64) record {
    word began{};
    typename P::template plain<std::uint64_t> depth;  // sections of this reader, one in another
    // Under the guard.
    typename P::template plain<record*> next;
    typename P::template plain<record*> previous;
  };

 public:
  // A thread's place; made, used and ended by that thread, before the domain ends.
  class reader {
   public:
    explicit reader(quiescence& of) : of_(of), me_(of.add()) {}
    ~reader() { of_.drop(me_); }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    // A section without an object of its own, as std::rcu_domain's and for std::scoped_lock.
    void lock() noexcept { of_.enter(*me_); }
    void unlock() noexcept { of_.leave(*me_); }

   private:
    friend class quiescence;
    quiescence& of_;
    record* me_;
  };

  class section {
   public:
    explicit section(reader& r) noexcept : of_(r.of_), me_(*r.me_) { of_.enter(me_); }
    ~section() { of_.leave(me_); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    quiescence& of_;
    record& me_;
  };

  struct period {
    std::uint64_t end = 0;
    record* unseen = nullptr;   // from here on readers may be in a section since before the end
    std::uint64_t dropped = 0;  // when that was found out
    bool fenced = false;
    bool looked = false;
  };

  explicit quiescence(fences f = fences::asymmetric)
      : asymmetric_(f == fences::asymmetric && P::prepare_heavy_fence()) {}
  // No reader is left.
  ~quiescence() = default;
  quiescence(const quiescence&) = delete;
  quiescence& operator=(const quiescence&) = delete;

  // What was taken out before, by this thread or under the same lock, belongs to this period.
  period close() noexcept {
    period p;
    // release: what was taken out; pairs with begin.
    p.end = clock_.fetch_add(1, std::memory_order_release) + 1;
    return p;
  }
  // Whether no reader is in a section since before the period's end. Never waits: also returns
  // false while another thread looks, or a reader begins or ends.
  bool is_over(period& p) noexcept {
    if (!p.fenced && !fence(p)) return false;
    if (!guard_.try_lock()) return false;
    // A reader that is added later begins behind the fence.
    if (!p.looked || p.dropped != dropped_.get()) p.unseen = first_.get();
    p.looked = true;
    p.dropped = dropped_.get();
    while (p.unseen != nullptr && has_left(*p.unseen, p))
      p.unseen = p.unseen->next.get();
    const bool over = p.unseen == nullptr;
    guard_.unlock();
    return over;
  }
  // Not in a section.
  void wait(period& p) noexcept {
    for (unsigned round = 0; !is_over(p); ++round)
      P::step_aside(round);
  }

 private:
  // The fence of a period.
  bool fence(period& p) noexcept {
    if (asymmetric_) {
      if (!P::heavy_fence()) return false;
    } else {
      P::full_fence();
    }
    p.fenced = true;
    return true;
  }
  static bool has_left(const record& r, const period& p) noexcept {
    // acquire: pairs with begin and end; what the reader read comes before the node's next use.
    const std::uint64_t began = r.began.load(std::memory_order_acquire);
    if (began != 0 && began <= p.end) return false;
    return true;
  }

  void enter(record& me) noexcept {
    const std::uint64_t depth = me.depth.get();
    me.depth.set(depth + 1);
    if (depth == 0) begin(me);
  }
  void leave(record& me) noexcept {
    const std::uint64_t left = me.depth.get() - 1;
    me.depth.set(left);
    if (left == 0) end(me);
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

  // --- the list of readers
  record* add() {
    auto* const r = new (P::template take<record>()) record;
    r->depth.set(0);
    r->previous.set(nullptr);
    guard_.lock();
    record* const next = first_.get();
    r->next.set(next);
    if (next != nullptr) next->previous.set(r);
    first_.set(r);
    guard_.unlock();
    return r;
  }
  void drop(record* r) noexcept {
    guard_.lock();
    record* const next = r->next.get();
    record* const previous = r->previous.get();
    if (next != nullptr) next->previous.set(previous);
    previous != nullptr ? previous->next.set(next) : first_.set(next);
    dropped_.set(dropped_.get() + 1);
    guard_.unlock();
    r->~record();
    P::template give<record>(r);
  }

  // In a line that changes once a period: each section reads it.
  alignas(64) const bool asymmetric_;
  word clock_{};
  // In another one: what looks at readers, and readers that begin or end, write to it.
  alignas(64) guard<P> guard_;
  // Under the guard.
  typename P::template plain<record*> first_;
  typename P::template plain<std::uint64_t> dropped_;  // readers that have ended
};

}  // namespace lockswap
