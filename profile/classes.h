// Maps a lock's address to its counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/looks.h"
#include "profile/file.h"
#include "profile/record.h"
#include "profile/world.h"

namespace lockswap::profile {

// Returns nullptr if there are too many locks.
[[gnu::noinline]] Object* add_object(std::uint64_t address, std::size_t from) noexcept;

// Decides by the stack of this call which class the object belongs to. by_init: the object begins
// with this call.
[[gnu::noinline]] std::uint32_t decide(Thread& t, Object& o, Kind kind, const void* caller,
                                       bool by_init) noexcept;

// Returns nullptr if there is no room.
[[gnu::noinline]] Tally* make_tally(Thread& t, std::uint32_t number, Kind kind) noexcept;
[[gnu::noinline]] void note_thread(Thread& t, Tally& tally) noexcept;

constexpr std::size_t kMostProbes = 64;

inline std::size_t place_of_object(std::uint64_t address) noexcept {
  constexpr unsigned kBits = 17;
  static_assert(kObjects == std::size_t{1} << kBits);
  return static_cast<std::size_t>((address >> 3) * 0x9e3779b97f4a7c15u >> (64 - kBits));
}

inline Object* find_object(std::uint64_t address) noexcept {
  // relaxed: an address stays once it is stored, and the rest of the object is zero or atomic.
  const std::size_t first = place_of_object(address);
  Object& o = world().objects[first];
  if (o.address.load(relaxed) == address) [[likely]]
    return &o;
  return add_object(address, first);
}

// Returns nullptr if no thread has looked it up yet.
inline Object* known_object(std::uint64_t address) noexcept {
  const std::size_t first = place_of_object(address);
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    Object& o = world().objects[(first + i) % kObjects];
    const std::uint64_t there = o.address.load(relaxed);  // relaxed: as in find_object
    if (there == address) return &o;
    if (there == 0) return nullptr;
  }
  return nullptr;
}

// A lock, and where this thread counts for it.
struct Seen {
  Object* object;
  std::uint32_t number;  // of the class
  Tally* tally;          // nullptr if the call is not counted
};

template <Kind kKind>
inline Seen see(Thread& t, const void* lock, const void* caller) noexcept {
  Object* const o = find_object(reinterpret_cast<std::uint64_t>(lock));
  if (o == nullptr) [[unlikely]] {
    record().dropped.objects.fetch_add(1, relaxed);  // relaxed: a count
    return {};
  }
  std::uint32_t what = o->what.load(relaxed);  // relaxed: classes stay in the file
  if (!Object::is_of(what, kKind)) [[unlikely]]
    what = decide(t, *o, kKind, caller, false);
  const std::uint32_t number = Object::number_in(what);
  const std::uint32_t at = t.tally[number];
  Tally* tally = at != 0 ? at_offset<Tally>(at) : make_tally(t, number, kKind);
  if (tally != nullptr && tally->last_thread != t.serial) [[unlikely]]
    note_thread(t, *tally);
  return {o, number, tally};
}

// Stores what the thread needs to count this lock again.
template <Kind kKind>
inline void note_recent(Thread& t, const Seen& seen, const void* lock, Mode mode) noexcept {
  // The state of an unknown kind of lock can't be read, so the short path does not apply.
  if (seen.tally == nullptr || !Looks::are_known()) return;
  const std::uint64_t key = Recent::key_of(lock, kKind, mode);
  // A signal handler finds the entry whole or not at all, because it does nothing while the thread
  // is in its bookkeeping.
  t.recent[Recent::place_of(key)] = {key, seen.object,
                                     &seen.tally->mode[static_cast<std::uint32_t>(mode)],
                                     Object::packed(seen.number, kKind)};
}

// The same as see, for a lock that the thread took recently. Returns false if see must be called.
template <Kind kKind>
[[gnu::always_inline]] inline bool find_recent(const Me& m, const void* lock, Mode mode,
                                               const Recent*& recent) noexcept {
  if (!m.ready) [[unlikely]]
    return false;
  const std::uint64_t key = Recent::key_of(lock, kKind, mode);
  recent = &m.thread->recent[Recent::place_of(key)];
  asm("" : "+r"(recent));  // keeps the compiler from computing the address again
  if (recent->key != key) [[unlikely]]
    return false;
  // relaxed: as in see
  return recent->object->what.load(relaxed) == recent->what;
}

}  // namespace lockswap::profile
