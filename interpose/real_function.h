// A function of glibc's. It is looked up on its first call, which may come before this library's
// own constructor has run, or at start-up, when the search does not need the loader's lock.
#pragma once

#include "interpose/real_symbols.h"
#include "platform/atomic.h"

namespace lockswap {

template <class F>
class RealFunction {
 public:
  constexpr RealFunction(const char* name, const char* version) noexcept
      : name_(name), version_(version) {}
  // Returns nullptr if there is no such function.
  F get() noexcept {
    F f = found_.load(relaxed);  // relaxed: every thread would find the same
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

// Called at start-up. Look up all functions that moved_functions.cpp and threads.cpp need.
void resolve_moved_functions() noexcept;
void resolve_thread_functions() noexcept;

}  // namespace lockswap
