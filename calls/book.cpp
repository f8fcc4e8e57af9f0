#include "calls/book.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <sys/resource.h>

#include "platform/clock.h"
#include "platform/syscall.h"

namespace lockswap::calls {
namespace {

constexpr std::size_t kMostProbes = 64;
// Shorter times are not worth a line.
constexpr std::uint64_t kLeastOffNs = 10'000;
constexpr std::uint64_t kRounding = 4;

// Returns how often this thread has voluntarily given up its processor, or 0 if a filter forbids
// the call.
std::uint64_t sleeps() noexcept {
  rusage used{};
  raw_syscall(SYS_getrusage, RUSAGE_THREAD, reinterpret_cast<long>(&used));
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}

void end_recording(bool is_full) noexcept {
  Stage seen = Stage::on;
  if (!world().stage.compare_exchange(seen, Stage::over, relaxed)) return;
  Record& r = record();
  r.ended_ns.store(Ticks::ns_between(r.began_ticks, Ticks::now()), relaxed);
  r.ended_cpu_ns.store(ns_of(CLOCK_PROCESS_CPUTIME_ID), relaxed);
  r.is_full.store(is_full ? 1 : 0, relaxed);
}

Slot* slot_of(const void* object, bool make) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  const std::size_t first = (address >> 3) * 0x9e3779b97f4a7c15u >> (64 - kSlotBits);
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    Slot& slot = world().slots[(first + i) % kSlots];
    // relaxed, both: an address stays, and a number is only a number.
    std::uint64_t there = slot.address.load(relaxed);
    if (there == address) return &slot;
    if (there != 0) continue;
    if (!make) return nullptr;
    if (slot.address.compare_exchange(there, address, relaxed) || there == address) return &slot;
  }
  return nullptr;
}

std::uint32_t make_number(Slot& slot) noexcept {
  const std::uint32_t mine = world().objects.fetch_add(1, relaxed) + 1;
  if (mine >= Call::kMostObjects) return 0;
  std::uint32_t there = 0;
  return slot.number.compare_exchange(there, mine, relaxed) ? mine : there;
}

}  // namespace

void Entry::count_left_out() noexcept { record().left_out.fetch_add(1, relaxed); }

bool Entry::next_chunk() noexcept {
  if (!is_on()) return false;
  const std::uint64_t begin = thread_cpu_ns();
  World& w = world();
  w.guard.lock();
  Chunk* const chunk = take_chunk(me_.thread);
  w.guard.unlock();
  if (chunk == nullptr) {
    end_recording(true);
    me_.next = me_.end = nullptr;
    return false;
  }
  // Touches the pages here, where it is timed, and not during calls.
  constexpr std::uint32_t kCallsOfPage = 4096 / sizeof(Call);
  for (std::uint32_t i = 0; i < Chunk::kCalls; i += kCallsOfPage)
    static_cast<volatile Call&>(chunk->call[i]).when = 0;
  me_.next = chunk->call;
  me_.end = chunk->call + Chunk::kCalls;
  record().chunk_ns.fetch_add(thread_cpu_ns() - begin, relaxed);
  return true;
}

void Entry::make_known(std::uint64_t now) noexcept {
  World& w = world();
  if (!w.is_ready()) {
    w.begin([&w](std::uint32_t number) noexcept {
      if (number != 1 && !reopen_file()) w.stage.store(Stage::over, relaxed);
    });
  }
  Stage stage = w.stage.load(relaxed);
  if (stage == Stage::before && Ticks::ns_between(record().began_ticks, now) >= record().after_ns &&
      (w.stage.compare_exchange(stage, Stage::on, relaxed)))
    stage = Stage::on;
  me_ = Me{};
  me_.is_busy = true;
  me_.process = w.number;
  if (stage != Stage::on) return;
  me_.thread = w.threads.fetch_add(1, relaxed) + 1;
  me_.last = now;
  look();
}

void Entry::look() noexcept {
  me_.sleeps = sleeps();
  me_.cpu_ns = thread_cpu_ns();
  me_.looked = Ticks::now();
  me_.in_calls_ns = 0;
}

void Entry::look_at_gap(std::uint64_t begin) noexcept {
  if (!is_long_gap(begin)) return;  // the thread has only now become known
  const std::uint64_t gap = Ticks::ns_between(me_.last, begin);
  const Me before = me_;
  look();
  const std::uint64_t used = me_.cpu_ns - before.cpu_ns + before.in_calls_ns;
  const std::uint64_t passed = Ticks::ns_between(before.looked, me_.looked);
  // A little less than the gap, because times are rounded.
  const std::uint64_t off = std::min(gap - kRounding, passed > used ? passed - used : 0);
  if (off < kLeastOffNs) return;
  const bool by_itself = me_.sleeps != before.sleeps;
  put(Call::of(by_itself ? What::slept : What::preempted, 0,
               Ticks::ns_between(record().began_ticks, begin) - off, off));
}

std::uint64_t Entry::look_at_call(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::uint64_t ns = Ticks::ns_between(begin, end);
  if (ns >= kLongNs) {
    look();
  } else {
    me_.in_calls_ns += ns;
    me_.sleeps = sleeps();
  }
  return Ticks::now();
}

std::uint32_t number_of(const void* object) noexcept {
  Slot* const slot = slot_of(object, true);
  if (slot == nullptr) return 0;
  const std::uint32_t number = slot->number.load(relaxed);
  return number != 0 ? number : make_number(*slot);
}

void forget(const void* object) noexcept {
  if (Slot* const slot = slot_of(object, false); slot != nullptr) slot->number.store(0, relaxed);
}

bool prepare_book() noexcept {
  the_world = recording::map_world<World>();
  return the_world != nullptr;
}

void close_book() noexcept {
  if (!world().is_ready()) return;  // a child that has taken no lock: the file is its parent's
  end_recording(false);
  record().head.ended.store(1, relaxed);
}

void empty_book_of_parent() noexcept { recording::empty_if_of_parent(world()); }

void begin_trial() noexcept { world().stage.store(Stage::on, relaxed); }

std::uint32_t take_trial(Call* into) noexcept {
  Me& me = per_thread<Me>;
  if (me.end == nullptr) return 0;
  Call* const first = me.end - Chunk::kCalls;
  const auto count = static_cast<std::uint32_t>(me.next - first);
  std::memcpy(into, first, count * sizeof *first);
  std::memset(static_cast<void*>(first), 0, count * sizeof *first);
  me.next = first;
  return count;
}

void end_trial() noexcept {
  per_thread<Me> = Me{};
  record().chunks.store(0, relaxed);
  record().chunk_ns.store(0, relaxed);
  world().threads.store(0, relaxed);
  world().stage.store(Stage::before, relaxed);
}

}  // namespace lockswap::calls
