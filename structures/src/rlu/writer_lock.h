// Writer locks: the coarse-grained variant.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.8.
// Idea: a mutex that a writer acquires before its section, and holds until the section's changes
//   have taken effect. So writers of the same objects never meet in a section, and none is aborted.
// State (16 bytes, zero = free): a ticket lock, and the context of the holder.
// Deviations: the paper's implementation tries to take such a lock in the section, and restarts the
//   section if it fails. Here a thread waits outside a section, so it blocks nobody's commit.
#pragma once

#include <cstdint>

#include "locks/common/ticket_lock.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/context.h"
#include "wait/concept.h"

namespace lockswap::rlu {

template <Platform P, WaitPolicy<P> W>
class WriterLock {
 public:
  // relaxed, all: a thread finds itself there only if it has stored that itself.
  bool is_of(const Context<P>& c) const noexcept { return owner_.load(relaxed) == name(c); }
  void acquire_by(Context<P>& c) noexcept {
    lock_.lock();
    owner_.store(name(c), relaxed);
    ++c.writer_locks;
  }
  void release_by(Context<P>& c) noexcept {
    --c.writer_locks;
    owner_.store(0, relaxed);
    lock_.unlock();
  }

 private:
  static std::uint64_t name(const Context<P>& c) noexcept {
    return reinterpret_cast<std::uintptr_t>(&c);
  }
  TicketLock<P, W> lock_;
  typename P::template atomic<std::uint64_t> owner_{};
};

}  // namespace lockswap::rlu
