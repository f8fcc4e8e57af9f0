// A function of glibc's that is looked for at its first call, which may come before this library's
// own constructor has run; or else at the start, when a search needs no lock of the loader's.
#pragma once

#include "interpose/real_symbols.h"
#include "platform/atomic.h"

namespace lockswap {

template <class F>
class RealFunction {
 public:
  constexpr RealFunction(const char* name, const char* version) noexcept
      : name_(name), version_(version) {}
  // Returns nullptr if there is none.
  F get() noexcept {
    F f = found_.load(relaxed);  // relaxed: each thread would find the same
    if (f == nullptr) {
      f = reinterpret_cast<F>(find_real_function(name_, version_));
      found_.store(f, relaxed);
    }
    return f;
  }

 private:
  const char* name_;
  const char* version_;
  NativeAtomic<F> found_{nullptr};
};

// At the start: all that moved_functions.cpp and threads.cpp look for.
void resolve_moved_functions() noexcept;
void resolve_thread_functions() noexcept;

}  // namespace lockswap
