#include "profile/stacks.h"

#include <algorithm>
#include <cstring>

#include "platform/text.h"
#include "platform/ticks.h"
#include "profile/file.h"
#include "profile/modules.h"
#include "profile/unwind.h"

namespace lockswap::profile {
namespace {

// --- modules

std::uint64_t number_of(const void* object) noexcept {
  return reinterpret_cast<std::uint64_t>(object);
}

bool is_module(const Module& m, const Loaded& l) noexcept {
  return m.object == number_of(l.object) && m.begin == l.begin &&
         std::strncmp(m.path, l.path, sizeof m.path - 1) == 0;
}

std::uint64_t find_module(const Loaded& l, std::uint32_t from, std::uint32_t to) noexcept {
  for (std::uint32_t i = from; i < to; ++i) {
    if (is_module(record().module[i], l)) return i;
  }
  return kNoModule;
}

std::uint64_t note_module(const Loaded& l) noexcept {
  Record& r = record();
  const std::uint32_t known = r.modules.load(acquire);  // pairs with the store below
  if (const std::uint64_t i = find_module(l, 0, known); i != kNoModule) return i;
  world().guard.lock();
  const std::uint32_t count = r.modules.load(relaxed);  // relaxed: under the guard
  std::uint64_t i = find_module(l, known, count);
  if (i == kNoModule && count < kMostModules) {
    Module& m = r.module[count];
    m.object = number_of(l.object);
    m.begin = l.begin;
    Text(m.path, sizeof m.path) << l.path;
    if (const BuildId id = modules.build_id(l); id.size <= sizeof m.build_id) {
      m.build_id_size = id.size;
      std::memcpy(m.build_id, id.bytes, id.size);
    }
    r.modules.store(count + 1, release);
    i = count;
  }
  world().guard.unlock();
  return i;
}

Place place_in(const Loaded& l, std::uint64_t address) noexcept {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kPlaceShift) - 1;
  const std::uint64_t module = l.object == nullptr ? kNoModule : note_module(l);
  if (module == kNoModule) return kNoModule << kPlaceShift | (address & kMask);
  return module << kPlaceShift | ((address - l.base) & kMask);
}

// --- stacks in the file

std::uint64_t hash_of(const Place* frame, std::uint32_t count) noexcept {
  std::uint64_t h = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    h = (h ^ frame[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

bool is_stack(std::uint32_t offset, std::uint64_t hash, const Place* frame,
              std::uint32_t count) noexcept {
  const auto* s = at_offset<const Stack>(offset);
  return s->hash == hash && s->count == count &&
         std::memcmp(s->frame, frame, count * sizeof *frame) == 0;
}

constexpr std::uint32_t kMostSteps = 64;

// Looks from step `i` on. At the end i is where it was found, or where it could go.
std::uint32_t find_stack(std::uint64_t hash, const Place* frame, std::uint32_t count,
                         std::uint32_t& i) noexcept {
  for (; i < kMostSteps; ++i) {
    // acquire: pairs with keep
    const std::uint32_t at = record().stack_at[(hash + i) % kStackSlots].load(acquire);
    if (at == 0) return 0;
    if (is_stack(at, hash, frame, count)) return at;
  }
  return 0;
}

std::uint32_t keep(const Place* frame, std::uint32_t count, bool cut) noexcept {
  if (count == 0) return 0;
  const std::uint64_t hash = hash_of(frame, count);
  std::uint32_t i = 0;
  if (const std::uint32_t at = find_stack(hash, frame, count, i); at != 0) return at;
  world().guard.lock();
  std::uint32_t at = find_stack(hash, frame, count, i);
  if (at == 0 && i < kMostSteps) {
    at = take_bytes(static_cast<std::uint32_t>(offsetof(Stack, frame) + count * sizeof *frame));
    if (at != 0) {
      auto* s = at_offset<Stack>(at);
      s->hash = hash;
      s->count = count;
      s->cut = cut ? 1 : 0;
      std::memcpy(s->frame, frame, count * sizeof *frame);
      record().stack_at[(hash + i) % kStackSlots].store(at, release);  // pairs with find_stack
    }
  }
  world().guard.unlock();
  if (at == 0) record().dropped.stacks.fetch_add(1, relaxed);  // relaxed: a count
  return at;
}

[[gnu::noinline]] std::uint32_t unwind_anew(KnownStack& known, const void* caller,
                                            std::uint64_t pointer) noexcept {
  const std::uint64_t begin = Ticks::now();
  Unwound u;
  unwind(u, kMostFrames);
  Record& r = record();
  Place frame[kMostFrames];
  bool in_memory = true;
  for (std::uint32_t i = 0; i < u.count; ++i) {
    frame[i] = place_of(reinterpret_cast<const void*>(u.pc[i]));
    in_memory = in_memory && u.pc_at[i] != 0;
  }
  if (u.count == 0) return 0;
  const std::uint32_t stack = keep(frame, u.count, u.cut);
  r.unwound.fetch_add(1, relaxed);  // relaxed, both: counts
  r.unwind_ns.fetch_add(Ticks::ns_between(begin, Ticks::now()), relaxed);
  known.count = 0;
  if (!in_memory || stack == 0) return stack;
  known.caller = number_of(caller);
  known.pointer = pointer;
  known.stack = stack;
  std::memcpy(known.pc, u.pc, sizeof u.pc);
  std::memcpy(known.pc_at, u.pc_at, sizeof u.pc_at);
  known.count = u.count;
  return stack;
}

}  // namespace

Place place_of(const void* address) noexcept {
  // A return address may be the first one behind its module.
  const auto a = number_of(address);
  return place_in(modules.at(reinterpret_cast<const void*>(a - 1)), a);
}

[[gnu::noinline]] std::uint32_t take_stack(Thread& t, const void* caller,
                                           std::uint64_t now) noexcept {
  const auto pointer = number_of(__builtin_frame_address(0));
  const std::uint64_t hash = (number_of(caller) ^ pointer >> 4) * 0x9e3779b97f4a7c15u;
  KnownStack& known = t.known[hash >> 58];
  if (known.count != 0 && known.caller == number_of(caller) && known.pointer == pointer &&
      still_stands(known)) {
    return known.stack;
  }
  // The lock may go by meanwhile: so some 2 % of the thread's time at most.
  constexpr std::uint64_t kRestNs = 500'000;
  if (now != 0) {
    if (t.unwound_at != 0 && Ticks::ns_between(t.unwound_at, now) < kRestNs) return 0;
    t.unwound_at = now;
  }
  const std::uint32_t stack = unwind_anew(known, caller, pointer);
  return stack != 0 ? stack : stack_of(caller);
}

std::uint32_t first_frames(std::uint32_t stack, std::uint32_t count) noexcept {
  if (stack == 0) return 0;
  const auto* s = at_offset<const Stack>(stack);
  return s->count <= count ? stack : keep(s->frame, count, true);
}

std::uint32_t outermost_frames() noexcept {
  constexpr std::uint32_t kFramesOfRoot = 6;
  const std::uint64_t begin = Ticks::now();
  Unwound u;
  unwind(u, kMostFrames);
  const std::uint32_t count = std::min(u.count, kFramesOfRoot);
  Place frame[kFramesOfRoot];
  for (std::uint32_t i = 0; i < count; ++i)
    frame[i] = place_of(reinterpret_cast<const void*>(u.pc[u.count - count + i]));
  Record& r = record();
  r.unwound.fetch_add(1, relaxed);  // relaxed, both: counts
  r.unwind_ns.fetch_add(Ticks::ns_between(begin, Ticks::now()), relaxed);
  return u.cut ? 0 : keep(frame, count, false);
}

std::uint32_t stack_of(const void* caller) noexcept {
  const Place one = place_of(caller);
  return keep(&one, 1, true);
}

}  // namespace lockswap::profile
