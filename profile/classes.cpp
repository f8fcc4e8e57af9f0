#include "profile/classes.h"

#include "profile/stacks.h"
#include "recording/modules.h"

namespace lockswap::profile {
namespace {

// Enough frames to tell where a lock comes from: its wrappers, and their users.
constexpr std::uint32_t kFramesOfClass = 8;

std::uint32_t find_class(Kind kind, std::uint64_t object, std::uint32_t stack, std::uint32_t from,
                         std::uint32_t to) noexcept {
  for (std::uint32_t i = from; i < to; ++i) {
    const Class& c = record().class_of[i];
    if (c.kind == kind && c.object == object && (object != 0 || c.stack == stack)) return i;
  }
  return 0;
}

// Returns 0, the class of locks that found no room, if there are too many classes.
std::uint32_t class_for(Kind kind, std::uint64_t object, std::uint32_t stack,
                        bool by_init) noexcept {
  Record& r = record();
  const std::uint32_t known = r.classes.load(acquire);  // pairs with the store below
  if (const std::uint32_t i = find_class(kind, object, stack, 1, known); i != 0) return i;
  world().guard.lock();
  const std::uint32_t count = r.classes.load(relaxed);  // relaxed: under the guard
  std::uint32_t i = find_class(kind, object, stack, known, count);
  if (i == 0 && count < kMostClasses) {
    Class& c = r.class_of[count];
    c.kind = kind;
    c.stack = stack;
    c.object = object;
    c.by_init = by_init ? 1 : 0;
    r.classes.store(count + 1, release);
    i = count;
  }
  world().guard.unlock();
  return i;
}

}  // namespace

Object* add_object(std::uint64_t address, std::size_t from) noexcept {
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    Object& o = world().objects[(from + i) % kObjects];
    std::uint64_t there = o.address.load(relaxed);  // relaxed: as in find_object
    if (there == 0 && o.address.compare_exchange(there, address, relaxed)) return &o;
    if (there == address) return &o;
  }
  return nullptr;
}

std::uint32_t decide(Thread& t, Object& o, Kind kind, const void* caller, bool by_init) noexcept {
  const void* const address = reinterpret_cast<const void*>(o.address.load(relaxed));
  const bool is_static = recording::modules.at(address).object != nullptr;
  std::uint32_t seen = o.what.load(relaxed);
  const std::uint32_t stack = first_frames(take_stack(t, caller), kFramesOfClass);
  const Place object = is_static ? place_of(address) : 0;
  const std::uint32_t number = class_for(kind, object, stack, by_init);
  const std::uint32_t what = Object::packed(number, kind);
  // relaxed: if another thread decides at the same time, its result is as good.
  if (o.what.compare_exchange(seen, what, relaxed)) {
    if (number != 0) record().class_of[number].objects.fetch_add(1, relaxed);
  } else if (Object::is_of(seen, kind)) {
    return seen;
  }
  return what;
}

Tally* make_tally(Thread& t, std::uint32_t number, Kind kind) noexcept {
  std::uint32_t at = 0;
  if (number != 0 && !is_full()) {
    world().guard.lock();
    at = take_bytes(bytes_of_tally(kind));
    if (at != 0) {
      Class& c = record().class_of[number];
      Tally& tally = *at_offset<Tally>(at);
      for (std::uint32_t mode = 0; mode < (kind == Kind::rwlock ? 2 : 1); ++mode)
        tally.mode[mode].plain_hold = Hold::packed(number, mode);
      tally.next = c.tallies.load(relaxed);  // relaxed: under the guard
      c.tallies.store(at, release);          // for a reader of the file, which may be running
      t.tally[number] = at;
    }
    world().guard.unlock();
  }
  if (at == 0) {
    record().dropped.tallies.fetch_add(1, relaxed);  // relaxed: a count
    return nullptr;
  }
  return at_offset<Tally>(at);
}

void note_thread(Thread& t, Tally& tally) noexcept {
  tally.last_thread = t.serial;
  ++tally.threads;
}

}  // namespace lockswap::profile
