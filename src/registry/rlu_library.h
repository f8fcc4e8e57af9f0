// The RLU library on the real machine, as the exported functions want it.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "platform/native.h"
#include "rlu/callbacks.h"
#include "rlu/checks.h"
#include "rlu/commit.h"
#include "rlu/context.h"
#include "rlu/section.h"
#include "rlu/shared.h"
#include "rlu/threads.h"
#include "rlu/writer_lock.h"
#include "wait/park.h"

namespace lockswap {

// Objects are malloc's, so that its tools find their misuse. No lock of the program's is held here
// that malloc may want.
struct MallocHeap {
  static void* take(std::size_t bytes) noexcept { return std::calloc(1, bytes); }
  static void give(void* memory) noexcept { std::free(memory); }
};
static_assert(alignof(std::max_align_t) >= rlu::kAlignment);

struct RluLibrary {
  using Section = rlu::Section<Native, MallocHeap>;
  using Commit = rlu::Commit<Native, MallocHeap>;
  using Callbacks = rlu::Callbacks<Native, MallocHeap>;
  using Threads = rlu::Threads<Native, MallocHeap>;
  using Context = rlu::Context<Native>;
  using Header = rlu::Header<Native>;
  using WriterLock = rlu::WriterLock<Native, Park<Native>>;
  using Checks = rlu::Checks<Native, MallocHeap, WriterLock>;

  // The calling thread's context; waits while memory is refused.
  static Context& context() noexcept {
    Context* c = nullptr;
    for (unsigned round = 0; (c = Threads::attach()) == nullptr; ++round)
      Native::step_aside(round);
    return *c;
  }
  // The same if the thread is in no section; else nullptr.
  static Context* outside() noexcept { return in_section() ? nullptr : &context(); }
  static bool in_section() noexcept { return depth() != 0; }
  static unsigned depth() noexcept {
    const Context* const c = Threads::current();
    return c == nullptr ? 0 : c->depth;
  }
};

}  // namespace lockswap
