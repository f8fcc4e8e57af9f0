// State that is new in each execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

// One T for each virtual thread, or one for the process, which is new in each execution. A thread's
// T is also new for a thread that takes its place. An execution renews only what it uses, because a
// run of all cases has many hundred of these, and an execution uses a few.
template <class T, int kCopies>
class Renewed {
 public:
  static T& at(int i) {
    static Renewed copies;
    if (!kRenewsItself && copies.run_ != machine.run_number()) copies.renew();
    return *std::launder(reinterpret_cast<T*>(copies.places_[i].bytes));
  }

 private:
  // Large types consist of atoms, which renew themselves.
  static constexpr bool kRenewsItself = sizeof(T) > 4096;

  Renewed() {
    places_ = std::make_unique<Place[]>(kCopies);
    static Renewed* self = this;
    renew();
    if (kCopies != kMaxThreads) return;
    machine.on_new_thread(+[](int i) {
      if (self->run_ == machine.run_number()) new (self->places_[i].bytes) T{};
    });
  }
  void renew() {
    run_ = machine.run_number();
    for (int i = 0; i < kCopies; ++i)
      new (places_[i].bytes) T{};
  }

  struct Place {
    alignas(T) std::byte bytes[sizeof(T)];
  };
  std::unique_ptr<Place[]> places_;
  std::uint32_t run_ = 0;
};

}  // namespace lockswap::explore
