/// @file
/// liburcu (0.13 or later) as the grace period of bonsai.hpp and similar structures, for programs
/// whose readers use liburcu already. C++20; link with the flavour that is used, and with threads.
///
///     using domain = lockswap::urcu_domain<lockswap::urcu::memb>;    // or mb, qsbr, bp
///     domain readers;
///     lockswap::bonsai_map<std::uint64_t, region*, domain> regions(readers);
///     thread_local domain::reader me(readers);                       // registers the thread, or:
///     thread_local domain::reader me(readers, lockswap::urcu::registered); // the program has
///
/// If _LGPL_SOURCE is defined before liburcu's first header, sections are inlined, on liburcu's
/// terms.
///
/// qsbr: a section does nothing there. A registered thread itself reports when it accesses nothing,
/// outside a section, by urcu_qsbr_quiescent_state, or goes offline. Until then no period ends.
///
/// Limits: not usable across fork. A domain ends after readers in a section have left it.
//
// Idea: a section is liburcu's. Periods must not make an update wait, and call_rcu requires a
//   registered thread. So the domain has its own thread, which calls synchronize_rcu for all
//   periods that have been closed since its last call.
// Order: the mutex passes what was removed to that thread. What readers did passes through
//   synchronize_rcu and `over_`. Between readers and synchronize_rcu the fences are liburcu's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>

#include <urcu/urcu-bp.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>

#include "lockswap/sanitizers.h"

namespace lockswap {

namespace urcu {

/// @cond private
// A flavour: the functions that a domain needs.
#define LOCKSWAP_URCU_FLAVOUR(name)                                                 \
  struct name {                                                                     \
    static void read_lock() noexcept { urcu_##name##_read_lock(); }                 \
    static void read_unlock() noexcept { urcu_##name##_read_unlock(); }             \
    static void register_thread() { urcu_##name##_register_thread(); }              \
    static void unregister_thread() noexcept { urcu_##name##_unregister_thread(); } \
    static void synchronize() noexcept { urcu_##name##_synchronize_rcu(); }         \
  };
LOCKSWAP_URCU_FLAVOUR(memb)
LOCKSWAP_URCU_FLAVOUR(mb)
LOCKSWAP_URCU_FLAVOUR(qsbr)
LOCKSWAP_URCU_FLAVOUR(bp)
#undef LOCKSWAP_URCU_FLAVOUR
/// @endcond

/// The type of `registered`.
struct registered_t {};
/// For a thread that the program has registered with liburcu itself.
inline constexpr registered_t registered{};

}  // namespace urcu

/// liburcu's grace periods as a domain, for one of its flavours: urcu::memb, urcu::mb, urcu::qsbr
/// or urcu::bp. It has a thread of its own, which waits for periods. It can't be used across fork.
template <class Flavour>
class urcu_domain {
 public:
  /// A thread's registration, which only that thread may make, use and end. It must end before the
  /// domain. A thread's first one registers it with liburcu, and its last one unregisters it.
  class reader {
   public:
    /// Registers this thread with liburcu, unless an earlier reader of it has.
    explicit reader(urcu_domain& of) : of_(of), registers_(true) {
      if (own_registrations++ == 0) Flavour::register_thread();
    }
    /// For a thread that is registered already, and stays registered for longer.
    reader(urcu_domain& of, urcu::registered_t) noexcept : of_(of), registers_(false) {}
    /// Unregisters the thread, if this was its last reader that has registered it.
    ~reader() {
      if (registers_ && --own_registrations == 0) Flavour::unregister_thread();
    }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

   private:
    friend class urcu_domain;
    static inline thread_local unsigned own_registrations = 0;
    urcu_domain& of_;
    bool registers_;
  };

  /// liburcu's read-side section, from the constructor to the destructor. Sections nest.
  class section {
   public:
    /// Begins the section.
    explicit section(reader& r) noexcept : of_(r.of_) { Flavour::read_lock(); }
    /// Ends it.
    ~section() {
      of_.section_ends();
      Flavour::read_unlock();
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    urcu_domain& of_;
  };

  /// A period, which close() returns. Its members are private to the domain.
  struct period {
    /// Private.
    std::uint64_t number = 0;
    /// Private.
    bool over = false;
  };

  /// Starts the domain's thread. Throws std::system_error if there can be none.
  urcu_domain() {
    // Signals are left to the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      waiter_ = std::thread([this] { work(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  /// No reader may be left.
  ~urcu_domain() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wanted_.notify_one();
    waiter_.join();
  }
  urcu_domain(const urcu_domain&) = delete;
  urcu_domain& operator=(const urcu_domain&) = delete;

  /// Closes a period. It covers what was removed before, by this thread or under the same lock.
  period close() noexcept {
    period p;
    {
      const std::lock_guard lock(mutex_);
      p.number = ++closed_;
    }
    wanted_.notify_one();
    return p;
  }
  /// Returns whether the period is over. Never waits.
  bool is_over(period& p) noexcept {
    // acquire: pairs with work; what readers did before synchronize_rcu returned.
    if (!p.over && over_.load(std::memory_order_acquire) >= p.number) ends(p);
    return p.over;
  }
  /// Waits until the period is over. Must not be called in a section. A registered thread of qsbr
  /// is offline meanwhile.
  void wait(period& p) noexcept {
    if (is_over(p)) return;
    Flavour::synchronize();
    ends(p);
  }

 private:
  void work() noexcept {
    std::unique_lock lock(mutex_);
    std::uint64_t done = 0;
    for (;;) {
      wanted_.wait(lock, [&] { return ends_ || closed_ != done; });
      if (ends_) return;
      done = closed_;
      lock.unlock();
      Flavour::synchronize();
      over_.store(done, std::memory_order_release);  // pairs with is_over
      lock.lock();
    }
  }

  // ThreadSanitizer can't see into liburcu, so this tells it that a section comes before the end of
  // a period. It still detects that a node is reused while a reader is in a section. The address is
  // used for nothing else, because what is said about a mutex or an atomic is forgotten at its next
  // release.
#ifdef LOCKSWAP_TSAN
  char ended_;
  void section_ends() noexcept { __tsan_release(&ended_); }
  void ends(period& p) noexcept {
    __tsan_acquire(&ended_);
    p.over = true;
  }
#else
  void section_ends() noexcept {}
  static void ends(period& p) noexcept { p.over = true; }
#endif

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::uint64_t closed_ = 0;  // number of periods; under the mutex
  bool ends_ = false;         // under the mutex
  std::atomic<std::uint64_t> over_{0};
  std::thread waiter_;
};

#undef LOCKSWAP_URCU_TSAN

}  // namespace lockswap
