// A signal handler at each instruction of a piece of code, one instruction a run: what a handler
// finds half done there shows in every run, not once in a million. On x86-64, by single steps.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <ucontext.h>

namespace lockswap {

#if defined(__x86_64__)
inline constexpr bool kCanStep = true;
#else
inline constexpr bool kCanStep = false;
#endif

class EachStep {
 public:
  // Calls prepare(), body() and check(step) again and again. handler() comes before the first
  // instruction of the body, then before the second one, and so on to its last. Returns how many
  // there were.
  static int run(const std::function<void()>& prepare, const std::function<void()>& body,
                 const std::function<void()>& handler, const std::function<void(int)>& check) {
    struct sigaction steps {
    }, before;
    steps.sa_sigaction = &step;
    steps.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &steps, &before);
    handler_ = &handler;
    for (at_ = 0;; ++at_) {
      prepare();
      now_ = 0;
      set_steps(true);
      body();
      set_steps(false);
      if (now_ <= at_) break;  // it ended before
      check(at_);
    }
    sigaction(SIGTRAP, &before, nullptr);
    return at_;
  }

 private:
  static void step(int, siginfo_t*, [[maybe_unused]] void* context) {
    if (now_++ != at_) return;
    (*handler_)();
#if defined(__x86_64__)
    // The rest of the body needs no steps.
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~static_cast<greg_t>(kTrap);
#endif
  }
  // The trap flag. The kernel clears it while the handler runs.
  [[gnu::noinline]] static void set_steps([[maybe_unused]] bool on) {
#if defined(__x86_64__)
    const unsigned long flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(on ? flags | kTrap : flags & ~kTrap);
#endif
  }

  static constexpr unsigned long kTrap = 1ul << 8;

  static inline std::atomic<int> now_ = 0, at_ = 0;
  static inline const std::function<void()>* handler_ = nullptr;
};

}  // namespace lockswap
