/// @file
/// Read-copy-update for bonsai.hpp and similar structures: it knows which threads may still access
/// a node that was removed. C++20; needs no library.
///
///     lockswap::quiescence<> domain;                    // for any number of structures
///     thread_local lockswap::quiescence<>::reader me(domain);
///     { const lockswap::quiescence<>::section inside(me); ... } // what is met here stays until }
///
/// Cost: a section takes a load and two stores, and never waits. A period takes one system call,
///   and one check of each reader. A reader that begins or ends waits for such a check.
///
/// Limits: not usable across fork. If a seccomp filter forbids membarrier after the domain was
///   made, no period ends any more. Programs that install such filters should use fences::full.
//
// Idea: as in src/reclaim/epoch.h. The domain has a clock, and each reader publishes since when it
//   has been in a section (0: it is in none). Moving the clock closes a period, which is over when
//   every reader with an earlier time has left its section.
// Order: a Dekker pair, with a seq_cst fence on both sides:
//     a section   1. stores its time     fence   2. loads the structure's root
//     a period    1. a root was stored   fence   2. loads the times
//   One of the two sees the other. A reader with a later time than the period's has read the clock
//   after it was moved, so after everything that was removed before.
//   The kernel (membarrier) runs the reader's fence if it can. Otherwise, or with fences::full,
//   readers run it themselves.
// Readers: a list under a guard, which a period only tries to take. So when a reader ends, its
//   record is removed and freed, and periods check only the readers that exist. The guard also
//   hands on what readers that have ended have read.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockswap/guard.hpp"
#include "lockswap/machine.hpp"

namespace lockswap {

/// A grace-period domain, such as lockswap::quiescence or lockswap::urcu_domain. During a thread's
/// `section`, nothing that it finds is freed. A `period` covers what was removed before close().
/// is_over() never waits. wait() does, and must not be called in a section.
template <class D>
concept rcu_domain = requires(D& d, typename D::reader& r, typename D::period& p) {
  typename D::section;
  requires std::constructible_from<typename D::section, typename D::reader&>;
  { d.close() } -> std::same_as<typename D::period>;
  { d.is_over(p) } -> std::same_as<bool>;
  d.wait(p);
};

/// C++26's name: waits for all sections that have begun. Must not be called in a section.
template <rcu_domain D>
void rcu_synchronize(D& domain) {
  auto period = domain.close();
  domain.wait(period);
}

/// Who runs the fences between sections and periods: the kernel, through membarrier, or each
/// section. The kernel's fence makes sections cheaper and periods dearer.
enum class fences : std::uint8_t { asymmetric, full };

/// A domain of grace periods, for any number of structures. A section takes a load and two stores,
/// and never waits. A period takes one system call, and a check of each reader. It can't be used
/// across fork. P stays as it is, except in tests of the structure.
template <class P = real_machine>
class quiescence {
  using word = typename P::template atomic<std::uint64_t>;
  struct alignas(64) record {
    word began{};
    typename P::template plain<std::uint64_t> depth;  // of nested sections of this reader
    // Under the guard.
    typename P::template plain<record*> next;
    typename P::template plain<record*> previous;
  };

 public:
  /// A thread's registration, which only that thread may make, use and end. It must end before the
  /// domain.
  class reader {
   public:
    /// Registers this thread. Throws std::bad_alloc.
    explicit reader(quiescence& of) : of_(of), me_(of.add()) {}
    /// Ends the registration, outside a section.
    ~reader() { of_.drop(me_); }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    /// A section without its own object, like std::rcu_domain's, for std::scoped_lock.
    void lock() noexcept { of_.enter(*me_); }
    /// Ends it.
    void unlock() noexcept { of_.leave(*me_); }

   private:
    friend class quiescence;
    quiescence& of_;
    record* me_;
  };

  /// A section of the reader's thread, from the constructor to the destructor. Sections nest.
  class section {
   public:
    /// Begins the section.
    explicit section(reader& r) noexcept : of_(r.of_), me_(*r.me_) { of_.enter(me_); }
    /// Ends it.
    ~section() { of_.leave(me_); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    quiescence& of_;
    record& me_;
  };

  /// A period, which close() returns. Its members are private to the domain. Only one thread at a
  /// time may use it.
  struct period {
    /// Private.
    std::uint64_t end = 0;
    record* unseen = nullptr;   ///< readers from here on may be in a section since before the end
    std::uint64_t dropped = 0;  ///< the value of dropped_ at that time
    /// Private.
    bool fenced = false;
    /// Private.
    bool looked = false;
  };

  /// Makes a domain. If the kernel has no membarrier, it uses fences::full.
  explicit quiescence(fences f = fences::asymmetric)
      : asymmetric_(f == fences::asymmetric && P::prepare_heavy_fence()) {}
  /// No reader may be left.
  ~quiescence() = default;
  quiescence(const quiescence&) = delete;
  quiescence& operator=(const quiescence&) = delete;

  /// Closes a period. It covers what was removed before, by this thread or under the same lock.
  period close() noexcept {
    period p;
    // release: what was removed; pairs with begin.
    p.end = clock_.fetch_add(1, std::memory_order_release) + 1;
    return p;
  }
  /// Returns whether no reader has been in a section since before the period's end. Never waits, so
  /// it also returns false while another thread checks, or while a reader begins or ends.
  bool is_over(period& p) noexcept {
    if (!p.fenced && !fence(p)) return false;
    if (!guard_.try_lock()) return false;
    // A reader that is added later begins after the fence.
    if (!p.looked || p.dropped != dropped_.get()) p.unseen = first_.get();
    p.looked = true;
    p.dropped = dropped_.get();
    while (p.unseen != nullptr && has_left(*p.unseen, p))
      p.unseen = p.unseen->next.get();
    const bool over = p.unseen == nullptr;
    guard_.unlock();
    return over;
  }
  /// Waits until the period is over. A waiting thread yields, and then sleeps for up to a
  /// millisecond at a time. Must not be called in a section.
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
    // acquire: pairs with begin and end; what the reader read comes before the node is reused.
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
    // acquire: what was removed before close moved the clock. With an old time more is kept than
    // necessary.
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
    // release: the section's reads; pairs with is_over.
    me.began.store(0, std::memory_order_release);
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

  // In a line that changes only once a period, because each section reads it.
  alignas(64) const bool asymmetric_;
  word clock_{};
  // In a separate line, which checks, and readers that begin or end, write to.
  alignas(64) guard<P> guard_;
  // Under the guard.
  typename P::template plain<record*> first_;
  typename P::template plain<std::uint64_t> dropped_;  // the number of readers that have ended
};

}  // namespace lockswap
