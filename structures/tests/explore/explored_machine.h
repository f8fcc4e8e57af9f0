// The machine of the structures, on the virtual multicore: memory that is given back must not be
// touched any more.
#pragma once

#include <cstddef>

#include "multicore/explore/platform.h"

namespace lockswap::explore {

template <bool kAsymmetric>
struct ExploredMachine {
  template <class T>
  using atomic = ExploredAtomic<T>;
  template <class T>
  using plain = ExploredPlain<T>;

  static bool prepare_heavy_fence() { return kAsymmetric; }
  static bool heavy_fence(Site s = Site::current()) {
    machine.heavy_fence(s);
    return true;
  }
  static void light_fence() {}
  static void full_fence(Site s = Site::current()) { machine.fence(Op::fence, seq_cst, s); }
  static void step_aside(unsigned = 0, Site s = Site::current()) { machine.step_aside(s); }

  template <class T>
  static void* take() {
    return Explored::map(sizeof(T));
  }
  template <class T>
  static void give(void* p) {
    machine.poison(p, sizeof(T));
  }
  template <class T>
  static void forbid(T* p) {
    Explored::forbid(p);
  }
  template <class T>
  static void permit(T* p) {
    Explored::permit(p);
  }
};

}  // namespace lockswap::explore
