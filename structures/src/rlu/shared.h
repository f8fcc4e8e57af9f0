// The data that all threads of the process share, and how a thread gets its context.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Global".
// Threads: a thread has a context from its first call to its exit. If no exit hook is available, it
//   has one only during each section (kLeased).
// Fork: in a child, a thread finds by the process's mark that this is its first call there.
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
  typename P::template atomic<std::uint32_t> limit{};    // default limit of deferral; 0 means 1
  Word callbacks{};                                      // the newest one that no thread has taken
  typename P::template atomic<std::uint32_t> batches{};  // threads that have taken callbacks
  Word process{};   // the newest process that has been repaired; threads.h
  Word survivor{};  // the newest process whose forking thread has claimed its context
};

template <Platform P>
struct Local {
  Context<P>* context = nullptr;
  // The mark of the process in which the thread made its last call (P::process_mark(), never 1).
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

// Calls f(context) for each context, including those of threads that have ended.
template <Platform P, class F>
void each_context(const F& f) noexcept {
  shared<P>().rows.each([&f](ClockRow<P>& row) { f(static_cast<Context<P>&>(row)); });
}

// Makes a context for a thread without one. Returns nullptr if there is no memory.
template <Platform P>
Context<P>* new_context() noexcept {
  return static_cast<Context<P>*>(shared<P>().rows.claim([]() noexcept -> ClockRow<P>* {
    void* const memory = P::map(sizeof(Context<P>));
    if (memory == nullptr) return nullptr;
    P::prepare_heavy_fence();  // without it, the fence itself takes another path
    return new (memory) Context<P>{};
  }));
}

}  // namespace lockswap::rlu
