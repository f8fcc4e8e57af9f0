// From a lock's address to what is counted of it.
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

// Decides, by the stack of this call, which class the object is of. by_init: it begins here.
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
  // relaxed: an address, once there, stays; the rest of the object is zeroes or atomic.
  const std::size_t first = place_of_object(address);
  Object& o = world().objects[first];
  if (o.address.load(relaxed) == address) [[likely]]
    return &o;
  return add_object(address, first);
}

// Returns nullptr if no thread has asked for it.
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

// One lock, and where this thread counts for it.
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
  std::uint32_t what = o->what.load(relaxed);  // relaxed: classes are in the file for good
  if (!Object::is_of(what, kKind)) [[unlikely]]
    what = decide(t, *o, kKind, caller, false);
  const std::uint32_t number = Object::number_in(what);
  const std::uint32_t at = t.tally[number];
  Tally* tally = at != 0 ? at_offset<Tally>(at) : make_tally(t, number, kKind);
  if (tally != nullptr && tally->last_thread != t.serial) [[unlikely]]
    note_thread(t, *tally);
  return {o, number, tally};
}

// What the thread needs to count this lock again.
template <Kind kKind>
inline void note_recent(Thread& t, const Seen& seen, const void* lock, Mode mode) noexcept {
  // A look at an unknown kind of lock says nothing, so the short way isn't for it.
  if (seen.tally == nullptr || !Looks::are_known()) return;
  const std::uint64_t key = Recent::key_of(lock, kKind, mode);
  // A signal handler finds it whole or not at all: while this is written, it keeps away.
  t.recent[Recent::place_of(key)] = {key, seen.object,
                                     &seen.tally->mode[static_cast<std::uint32_t>(mode)],
                                     Object::packed(seen.number, kKind)};
}

// The same as see, for a lock that the thread took lately. Returns false if it is to be seen.
template <Kind kKind>
[[gnu::always_inline]] inline bool find_recent(const Me& m, const void* lock, Mode mode,
                                               const Recent*& recent) noexcept {
  if (!m.ready) [[unlikely]]
    return false;
  const std::uint64_t key = Recent::key_of(lock, kKind, mode);
  recent = &m.thread->recent[Recent::place_of(key)];
  asm("" : "+r"(recent));  // else the compiler carries what it is made of, and makes it again
  if (recent->key != key) [[unlikely]]
    return false;
  // relaxed: as in see
  return recent->object->what.load(relaxed) == recent->what;
}

}  // namespace lockswap::profile
