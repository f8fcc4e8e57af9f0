// The benchmarks, as functions of the type of lock, and how a type becomes a peer.
#pragma once

#include "cache.h"
#include "common/back_to_back.h"
#include "common/readers_and_writers.h"
#include "map.h"
#include "peer.h"
#include "queue.h"

namespace peers {

template <bench::SharedLockable Lock>
void pairs(const Task& task) {
  bench::run_back_to_back<Lock>(task.plan, task.writes, task.steps);
}
template <bench::Lockable Lock>
void mutex(const Task& task) {
  bench::run_back_to_back_alone<Lock>(task.plan, task.steps);
}
template <bench::SharedLockable Lock>
void rwbench(const Task& task) {
  bench::run_readers_and_writers<Lock>(task.plan, task.writes);
}

// A type that readers can share and that is its library's mutex as well has all works.
template <class Lock>
inline constexpr bool kIsMutex = !bench::SharedLockable<Lock>;
template <class Lock>
requires Lock::kIsMutex inline constexpr bool kIsMutex<Lock> = true;

// For checks of what a library's type can do.
template <class Own, class Duration>
concept HasTimeouts = requires(Own& own, Duration duration) {
  own.try_lock_for(duration);
};

// What a thread brings along, without what is there for the benchmark alone.
template <class Seat>
constexpr std::size_t bytes_of() {
  if constexpr (requires(Seat & seat) { seat.own; }) return sizeof(Seat::own);
  return 0;
}

template <bench::Lockable Lock>
Peer described() {
  Peer found{.name = Lock::kName,
             .type = Lock::kType,
             .promises = Lock::kPromises,
             .shared = bench::SharedLockable<Lock>,
             .has_conditions = HasConditions<Lock>,
             .bytes = sizeof(Lock),
             .seat_bytes = bytes_of<typename Lock::Seat>(),
             .footprint = footprint<Lock>,
             .works = {}};
  if constexpr (bench::SharedLockable<Lock>) {
    found.works["pairs"] = pairs<Lock>;
    found.works["rwbench"] = rwbench<Lock>;
    found.works["map"] = map<Lock>;
  }
  if constexpr (kIsMutex<Lock>) {
    found.works["mutex"] = mutex<Lock>;
    found.works["cache"] = cache<Lock>;
  }
  if constexpr (HasConditions<Lock>) found.works["queue"] = queue<Lock>;
  return found;
}

// An object of this type with static storage duration makes the locks peers.
template <bench::Lockable... Locks>
struct Registered {
  static_assert(((Locks::kPromises.sleeps != bench::kOnlySpins<Locks>)&&...));
  Registered() { (all().push_back(described<Locks>()), ...); }
};

}  // namespace peers
