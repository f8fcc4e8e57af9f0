// What all threads of the process share, and how a thread gets its context.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Global".
// Threads: a thread has a context from its first call to its exit. Where no exit hook can be had,
//   it has one for the length of a section (kLeased).
// Fork: in a child, a thread finds by the process's mark that it has not been here yet.
#pragma once

#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/clock_rows.h"
#include "rlu/commit_clock.h"
#include "rlu/context.h"

namespace lockswap::rlu {

template <Platform P>
struct Shared {
  using Word = typename P::template atomic<std::uint64_t>;
  CommitClock<P> clock{};
  ClockRows<P> rows{};
  typename P::template atomic<std::uint32_t> limit{};    // of deferral, where none is said; 0: 1
  Word callbacks{};                                      // the newest one that nobody looks after
  typename P::template atomic<std::uint32_t> batches{};  // callbacks that a thread looks after
  Word process{};   // the newest process that has repaired what its parent left; see threads.h
  Word survivor{};  // the newest one of which the thread that forked is known by its context
};

template <Platform P>
struct Local {
  Context<P>* context = nullptr;
  // The mark of the process in which the thread was last here (P::process_mark(), never 1).
  std::uint64_t mark = 1;
};

template <Platform P>
constexpr Shared<P>& shared() noexcept {
  return P::template global<Shared<P>>();
}
template <Platform P>
Local<P>& local() noexcept {
  return P::template local<Local<P>>();
}

// Calls f(context) for each context, also of threads that have ended.
template <Platform P, class F>
void each_context(const F& f) noexcept {
  shared<P>().rows.each([&f](ClockRow<P>& row) { f(static_cast<Context<P>&>(row)); });
}

// For a thread that has none; nullptr if there is no memory.
template <Platform P>
Context<P>* new_context() noexcept {
  return static_cast<Context<P>*>(shared<P>().rows.claim([]() noexcept -> ClockRow<P>* {
    void* const memory = P::map(sizeof(Context<P>));
    if (memory == nullptr) return nullptr;
    P::prepare_heavy_fence();  // if it cannot be had, the fence itself finds another way
    return new (memory) Context<P>{};
  }));
}

}  // namespace lockswap::rlu
