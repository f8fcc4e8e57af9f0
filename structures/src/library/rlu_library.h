// The RLU library on the real machine, as the exported functions use it.
#pragma once

#include "library/free_functions.h"
#include "library/known_objects.h"
#include "platform/native.h"
#include "platform/thread.h"
#include "rlu/callbacks.h"
#include "rlu/checks.h"
#include "rlu/commit.h"
#include "rlu/context.h"
#include "rlu/object.h"
#include "rlu/section.h"
#include "rlu/shared.h"
#include "rlu/threads.h"
#include "rlu/writer_lock.h"
#include "wait/park.h"

namespace lockswap {

// The calling thread's context, which inlined sections use (lockswap/rlu_inline.h).
LOCKSWAP_SHOWN_PER_THREAD(rlu::Local<Native>, rlu_here, "lockswap_rlu_here_1");

template <>
inline rlu::Local<Native>& rlu::local<Native>() noexcept {
  return rlu_here;
}

// The program allocates the memory of objects and frees it. The library never calls malloc.
struct ProgramHeap {
  // An object inside something larger has no function, and is not freed.
  static void give(void* memory) noexcept {
    const auto* const header = static_cast<const rlu::Header<Native>*>(memory);
    KnownObjects::freed(header + 1);
    const FreeFunctions::Function f = FreeFunctions::numbered(header->give);
    if (f != nullptr) f(memory);
  }
};

struct RluLibrary {
  using Section = rlu::Section<Native, ProgramHeap>;
  using Commit = rlu::Commit<Native, ProgramHeap>;
  using Callbacks = rlu::Callbacks<Native, ProgramHeap>;
  using Threads = rlu::Threads<Native, ProgramHeap>;
  using Context = rlu::Context<Native>;
  using Header = rlu::Header<Native>;
  using WriterLock = rlu::WriterLock<Native, Park<Native>>;
  using Checks = rlu::Checks<Native, ProgramHeap, WriterLock>;

  // Returns the calling thread's context. Waits while memory is refused.
  static Context& context() noexcept {
    Context* c = nullptr;
    for (unsigned round = 0; (c = Threads::attach()) == nullptr; ++round)
      Native::step_aside(round);
    return *c;
  }
  // The same, but returns nullptr if the thread is in a section.
  static Context* outside() noexcept { return in_section() ? nullptr : &context(); }
  static bool in_section() noexcept { return depth() != 0; }
  static unsigned depth() noexcept {
    const Context* const c = Threads::current();
    return c == nullptr ? 0 : c->depth;
  }
};

}  // namespace lockswap
