// What the sets have in common that rlubench compares: sets of keys for many threads.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bench {

using Key = std::uint64_t;

// Made with a number of buckets, which a list or a tree ignores. Only threads that have called
// attach() use it; the thread that made it and takes it away need not.
template <class S>
concept SharedSet = std::constructible_from<S, std::size_t> && requires(S& s, Key key) {
  // Once in each thread, before its first operation.
  S::attach();
  { s.contains(key) } -> std::same_as<bool>;
  { s.insert(key) } -> std::same_as<bool>;  // false: it is there
  { s.remove(key) } -> std::same_as<bool>;  // false: it is not there
  // All keys, when no thread changes the set, by a thread that is attached.
  s.for_each([](Key) {});
  // When no thread is in an operation, by one that is not attached: what was put off is done.
  S::flush();
};
// One whose attached threads must say so when they are going to wait, as for a barrier.
template <class S>
concept NeedsOffline = requires {
  S::offline();
  S::online();
};
template <SharedSet S, class F>
void wait_in(F wait) {
  if constexpr (NeedsOffline<S>) S::offline();
  wait();
  if constexpr (NeedsOffline<S>) S::online();
}
// One that can be walked from both ends.
template <class S>
concept TwoWaySet = SharedSet<S> && requires(S& s, Key key) {
  { s.contains_from_end(key) } -> std::same_as<bool>;
  s.for_each_from_end([](Key) {});
};
// One whose number of buckets, a power of two, can be doubled and halved while others look for
// keys.
template <class S>
concept ResizableSet = SharedSet<S> && requires(S& s, std::size_t buckets) {
  s.resize(buckets);
};

// The same hash for all.
inline std::uint32_t hash_of(Key key) noexcept {
  return static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15u) >> 32);
}
inline std::size_t bucket_of(Key key, std::size_t buckets) noexcept {
  return (std::uint64_t{hash_of(key)} * buckets) >> 32;
}

}  // namespace bench
