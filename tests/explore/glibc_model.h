// glibc's rwlock for the virtual machine: a correct lock with glibc's interface, which promises no
// more than that does. glibc's source cannot run here, so the code above it (locks/rw/pthread.h and
// BRAVO) is explored over this lock.
//
// As in glibc, a reader gets in whenever no writer is in, also while one waits; `writer` in the
// object names the writer from the moment it is in, so an unlock knows which hold it ends; a thread
// that writes and locks again gets EDEADLK. Unlike in glibc, no order decides which thread gets in
// next, a reader synchronises with earlier writers only, and a writer with earlier writers and
// readers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "multicore/explore/platform.h"
#include "platform/system_rwlock.h"

namespace lockswap::explore {

// `Frame` is the RwFrame over locks/rw/pthread.h. One lock an execution.
template <class Frame>
class GlibcModel {
 public:
  // From now on the system's functions are these, and the lock is a free one.
  static void install() {
    Explored::global<State>();
    Explored::system_is_read = [](const pthread_rwlock_t*) {
      return state().word.load(relaxed) >= kReader;
    };
    Explored::system_is_written = is_written;
    Explored::system_renew = renew;
    system_rwlock = {nullptr, nullptr,   rdlock,  tryrdlock,   nullptr, clockrdlock,
                     wrlock,  trywrlock, nullptr, clockwrlock, unlock};
  }
  static bool idle() { return state().word.load(relaxed) == 0; }

 private:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kReader = 2;
  static constexpr int kMostReaders = 32;

  struct State {
    ExploredAtomic<std::uint32_t> word;  // readers that are in, and kWriter
    int from_writer = -1;                // parcels: what releases hand on
    int from_readers[kMostReaders];      // since that writer
    int readers = 0;
  };
  static State& state() { return Explored::global<State>(); }
  static Frame& frame(pthread_rwlock_t* l) { return *reinterpret_cast<Frame*>(l); }

  static bool is_mine(pthread_rwlock_t* l) {
    return frame(l).writer.load(relaxed) == Explored::tid();
  }

  // One step of the lock: changes the word if that is allowed.
  template <class F>
  static bool step(F allowed, std::uint32_t change) {
    const auto old = static_cast<std::uint32_t>(machine.update(
        Op::exchange, state().word.location(),
        [&](std::uint64_t v) {
          return allowed(static_cast<std::uint32_t>(v)) ? static_cast<std::uint32_t>(v + change)
                                                        : v;
        },
        relaxed, Site::current()));
    return allowed(old);
  }
  static bool no_writer(std::uint32_t v) { return (v & kWriter) == 0; }
  static bool is_free(std::uint32_t v) { return v == 0; }

  static bool try_read() {
    if (!step(no_writer, kReader)) return false;
    if (state().from_writer >= 0) machine.take_over(state().from_writer);
    return true;
  }
  static bool try_write(pthread_rwlock_t* l) {
    if (!step(is_free, kWriter)) return false;
    State& s = state();
    if (s.from_writer >= 0) machine.take_over(s.from_writer);
    for (int i = 0; i < s.readers; ++i)
      machine.take_over(s.from_readers[i]);
    s.readers = 0;
    frame(l).writer.store(Explored::tid(), relaxed);
    return true;
  }

  static bool is_written(const pthread_rwlock_t* l) {
    return frame(const_cast<pthread_rwlock_t*>(l)).writer.load(relaxed) != 0;
  }
  static void renew(pthread_rwlock_t* l, bool written) {
    state().word.store(written ? kWriter : 0, relaxed);
    if (!written) frame(l).writer.store(0, relaxed);
  }

  template <class Try, class Allowed>
  static int wait(pthread_rwlock_t* l, Try attempt, Allowed allowed, const Deadline* deadline) {
    if (is_mine(l)) return EDEADLK;
    while (!attempt()) {
      if (!Explored::await(Pause::spin, state().word, relaxed, allowed, deadline)) return ETIMEDOUT;
    }
    return 0;
  }

  static int rdlock(pthread_rwlock_t* l) { return wait(l, try_read, no_writer, nullptr); }
  static int tryrdlock(pthread_rwlock_t*) { return try_read() ? 0 : EBUSY; }
  static int clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* at) {
    if (at->tv_sec < 0) return is_mine(l) ? EDEADLK : try_read() ? 0 : ETIMEDOUT;
    const Deadline d{clock, *at, at->tv_nsec == Explored::kPatient ? 1u : 0u};
    return wait(l, try_read, no_writer, &d);
  }
  static int wrlock(pthread_rwlock_t* l) {
    return wait(
        l, [l] { return try_write(l); }, is_free, nullptr);
  }
  static int trywrlock(pthread_rwlock_t* l) { return try_write(l) ? 0 : EBUSY; }
  static int clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* at) {
    const Deadline d{clock, *at};
    return wait(
        l, [l] { return try_write(l); }, is_free, &d);
  }
  static int unlock(pthread_rwlock_t* l) {
    State& s = state();
    if (is_mine(l)) {
      frame(l).writer.store(0, relaxed);
      s.from_writer = machine.hand_on();
      step([](std::uint32_t v) { return v == kWriter; }, 0u - kWriter);
    } else {
      if (s.readers == kMostReaders) machine.fail("too many reads for the model of glibc's lock");
      s.from_readers[s.readers++] = machine.hand_on();
      if (!step([](std::uint32_t v) { return v >= kReader && (v & kWriter) == 0; }, 0u - kReader)) {
        machine.fail("a release of glibc's lock, which nobody reads");
      }
    }
    return 0;
  }
};

}  // namespace lockswap::explore
