#include "audit/stacks.h"

#include <algorithm>
#include <cstring>

#include "audit/report.h"
#include "audit/world.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "profile/modules.h"

namespace lockswap::audit {
namespace {

constexpr std::uint64_t kNoModule = 0xffff;

bool is_module(const Module& m, const profile::Loaded& l) noexcept {
  return m.begin == l.begin && std::strncmp(m.path, l.path, sizeof m.path - 1) == 0;
}

std::uint64_t find_module(const profile::Loaded& l, std::uint32_t from, std::uint32_t to) noexcept {
  for (std::uint32_t i = from; i < to; ++i) {
    if (is_module(record().module[i], l)) return i;
  }
  return kNoModule;
}

std::uint64_t note_module(const profile::Loaded& l) noexcept {
  Record& r = record();
  const std::uint32_t known = r.modules.load(acquire);  // pairs with the store below
  if (const std::uint64_t i = find_module(l, 0, known); i != kNoModule) return i;
  const Section section(world().modules);
  const std::uint32_t count = r.modules.load(relaxed);  // relaxed: under the guard
  const std::uint64_t i = find_module(l, known, count);
  if (i != kNoModule || count == kModules) return i;
  Module& m = r.module[count];
  m.begin = l.begin;
  Text(m.path, sizeof m.path) << l.path;
  if (const profile::BuildId id = profile::modules.build_id(l); id.size <= sizeof m.build_id) {
    m.build_id_size = id.size;
    std::memcpy(m.build_id, id.bytes, id.size);
  }
  r.modules.store(count + 1, release);  // pairs with the load above
  return count;
}

std::uint64_t hash_of(const Frame* frame, std::uint32_t count) noexcept {
  std::uint64_t h = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    h = (h ^ frame[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

// An address whose module is that of the one inside.
Frame place_of(std::uint64_t address, std::uint64_t inside) noexcept {
  constexpr std::uint64_t kAddress = (std::uint64_t{1} << kModuleShift) - 1;
  std::uint64_t module = kNoModule;
  if (profile::modules.at != nullptr) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const profile::Loaded l = profile::modules.at(reinterpret_cast<const void*>(inside));
    if (l.object != nullptr) module = note_module(l);
    if (module != kNoModule) address -= l.base;
  }
  return module << kModuleShift | (address & kAddress);
}

// A return address may be the first one behind its module.
Frame frame_of(std::uint64_t address) noexcept { return place_of(address, address - 1); }

// An eighth of the thread's time, and a piece to begin with.
bool may_unwind(const Unwinding& u, std::uint64_t now) noexcept {
  constexpr std::uint64_t kAtFirst = 20'000'000;
  return u.spent_ns < kAtFirst + (now - u.begun) / 8;
}

// In a function of its own: few calls need so much of the stack.
[[gnu::noinline]] std::uint32_t unwind_anew(Unwinding& mine, profile::KnownStack& known,
                                            std::uint64_t site, std::uint64_t pointer) noexcept {
  const std::uint64_t begin = monotonic_ns();
  if (mine.begun == 0) mine.begun = begin;
  if (!may_unwind(mine, begin)) {
    count(Count::stacks_left_out);
    return 0;
  }
  profile::Unwound u;
  profile::unwind(u, kFrames);
  Frame frame[kFrames];
  bool in_memory = true;
  for (std::uint32_t i = 0; i < u.count; ++i) {
    frame[i] = frame_of(u.pc[i]);
    in_memory = in_memory && u.pc_at[i] != 0;
  }
  // What does not begin with the caller is not known to be its stack.
  if (u.count == 0 || u.pc[0] != site) return 0;
  const std::uint32_t stack = world().stacks.keep(frame, u.count, u.cut);
  mine.spent_ns += monotonic_ns() - begin;
  known.count = 0;
  if (!in_memory || stack == 0) return stack;
  known.caller = site;
  known.pointer = pointer;
  known.stack = stack;
  std::memcpy(known.pc, u.pc, u.count * sizeof *u.pc);
  std::memcpy(known.pc_at, u.pc_at, u.count * sizeof *u.pc_at);
  known.count = u.count;
  return stack;
}

}  // namespace

Frame object_at(std::uint64_t address) noexcept { return place_of(address, address); }

[[gnu::noinline]] std::uint32_t take_stack(const Me& m, std::uint64_t site) noexcept {
  if (m.record == nullptr || m.record->unwinding == nullptr || profile::modules.at == nullptr)
    return 0;
  const Busy busy;
  Unwinding& mine = *m.record->unwinding;
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t hash = (site ^ pointer >> 4) * 0x9e3779b97f4a7c15u;
  profile::KnownStack& known = mine.known[hash >> 57];
  static_assert(Unwinding::kKnown == 1u << (64 - 57));
  if (known.count != 0 && known.caller == site && known.pointer == pointer && still_stands(known))
    return known.stack;
  if (const std::uint32_t stack = unwind_anew(mine, known, site, pointer)) return stack;
  const Frame one = frame_of(site);
  return world().stacks.keep(&one, 1, true);
}

// Looks from that step on. At the end it is where the stack was found, or where it could go.
std::uint32_t Stacks::find(std::uint64_t hash, const Frame* frame, std::uint32_t count,
                           std::uint32_t& step) const noexcept {
  for (; step < kSteps; ++step) {
    const std::uint32_t at = slot_[(hash + step) % kSlots].load(acquire);  // pairs with keep
    if (at == 0) return 0;
    const Kept& k = all_[at];
    if (k.hash == hash && k.count == count &&
        std::memcmp(k.frame, frame, count * sizeof *frame) == 0)
      return at;
  }
  return 0;
}

std::uint32_t Stacks::keep(const Frame* frame, std::uint32_t count, bool cut) noexcept {
  const std::uint64_t hash = hash_of(frame, count);
  std::uint32_t step = 0;
  if (const std::uint32_t at = find(hash, frame, count, step); at != 0) return at;
  const Section section(guard_);
  if (const std::uint32_t at = find(hash, frame, count, step); at != 0) return at;
  if (step == kSteps || count_ + 1 == kMost) {
    audit::count(Count::stacks_forgotten);
    return 0;
  }
  Kept& k = all_[++count_];
  k.hash = hash;
  k.count = count;
  k.cut = cut ? 1 : 0;
  std::memcpy(k.frame, frame, count * sizeof *frame);
  slot_[(hash + step) % kSlots].store(count_, release);  // pairs with find
  return count_;
}

std::uint32_t Stacks::in_record(std::uint32_t stack) noexcept {
  if (stack == 0) return 0;
  Kept& k = all_[stack];
  Record& r = record();
  if (k.in_record == 0 && r.stacks.load(relaxed) < kStacks) {  // relaxed: under the guard
    const auto at = static_cast<std::uint32_t>(r.stacks.load(relaxed));
    RecordedStack& into = r.stack[at];
    into.count = k.count;
    into.cut = k.cut;
    std::memcpy(into.frame, k.frame, sizeof k.frame);
    r.stacks.store(at + 1, release);  // pairs with nothing here: a reader may come at any time
    k.in_record = at + 1;
  }
  return k.in_record;
}

std::uint64_t Stacks::innermost(std::uint32_t stack) const noexcept {
  constexpr std::uint32_t kInnermost = 3;  // a wrapper, its user, and the caller of that
  return hash_of(all_[stack].frame, std::min(all_[stack].count, kInnermost));
}

}  // namespace lockswap::audit
