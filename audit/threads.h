// The records of all threads of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "audit/guard.h"
#include "audit/me.h"

namespace lockswap::audit {

// Where a thread took a mutex. Zero if unknown.
struct TakenFrom {
  std::uint64_t site = 0;
  std::uint64_t since = 0;
  std::uint32_t stack = 0;
  bool ended = false;  // the thread ended while holding it
};

// The lock that a thread waits for, or is about to.
struct Question {
  std::uint64_t address{};  // 0: none
  std::uint64_t site{};
  std::uint32_t mode{};  // of Inside
};

class Threads {
 public:
  // Returns a record for the calling thread, or nullptr if there is no memory.
  ThreadRecord* take(const Me& m, bool is_watched) noexcept;
  void give(ThreadRecord* record) noexcept;

  // Notes that the thread holds one lock less, even if another thread released it. Does nothing if
  // the thread has ended.
  void took_rwlock_from(ThreadRecord* record, std::uint64_t serial) noexcept;
  TakenFrom took_mutex_from(std::uint32_t tid, std::uint64_t address) noexcept;
  // Returns where that thread took the mutex, if it holds it.
  TakenFrom where_taken(std::uint32_t tid, std::uint64_t address) noexcept;

  // Calls visit(address, TakenFrom, tid) for each mutex that, by its record, another thread holds.
  template <class Visit>
  void each_mutex_of_others(std::uint32_t tid, Visit visit) noexcept {
    const Section section(guard_);
    for (const ThreadRecord* r = all_; r != nullptr; r = r->next) {
      const std::uint32_t owner = r->tid.load(relaxed);
      if (owner == 0 || owner == tid) continue;
      for (const MutexOfThread& one : r->mutex) {
        if (const std::uint64_t address = one.address.load(acquire); address != 0)
          visit(address, taken(one), owner);  // acquire: pairs with remember_mutex
      }
    }
  }

  // Called when the thread ends with this mutex. Calls note(), unless another thread has just
  // released it.
  template <class Note>
  void ends_with(MutexOfThread& one, Note note) noexcept {
    const Section section(guard_);
    if (one.address.load(relaxed) == 0) return;
    one.ended.store(true, relaxed);  // relaxed, both: under the guard
    note();
  }

  // What the thread asks for now, and what it has asked for before.
  struct Joined {
    ThreadRecord* record = nullptr;
    std::uint32_t tid = 0;
    Question question{};
  };
  // Returns false if the thread has ended, or is unknown.
  bool find(pthread_t thread, Joined& into) noexcept;

  // Called before a thread of this process sends that one this signal, 1 to 64.
  void sent(pthread_t thread, unsigned signal) noexcept;

 private:
  static TakenFrom taken(const MutexOfThread& one) noexcept {
    return {one.site.load(relaxed), one.since.load(relaxed), one.stack.load(relaxed),
            one.ended.load(relaxed)};
  }
  ThreadRecord* free_record(bool also_with_mutexes) noexcept;
  void add_records() noexcept;

  Guard guard_;  // for the list, and for who has which record
  ThreadRecord* all_{};
  std::size_t count_{};
};

// Decrements the counter, which never drops below 0, whichever threads change it at the same time.
inline void lower(NativeAtomic<std::uint64_t>& held) noexcept {
  std::uint64_t seen = held.load(relaxed);
  while (seen != 0 && !held.compare_exchange(seen, seen - 1, relaxed)) {}
}

}  // namespace lockswap::audit
