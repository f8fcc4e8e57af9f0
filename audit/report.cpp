#include "audit/report.h"

#include <algorithm>
#include <cstring>

#include "audit/places.h"
#include "audit/stacks.h"
#include "audit/world.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "recording/file.h"

namespace lockswap::audit {
namespace {

constinit Record in_memory{};  // until the file is open, or if there is none
constinit Record* mapped = &in_memory;
constexpr recording::FileKind kFile{.format = kFormat,
                                    .blocks = sizeof(Record),
                                    .mapped = sizeof(Record),
                                    .before = ".",
                                    .behind = ""};

// All users of a wrapper lock at the same site, so cycles are distinguished by the frames around
// it.
std::uint64_t key_of(const Noted& noted) noexcept {
  if (noted.circle == nullptr) return 0;
  std::uint64_t key = 0;
  for (std::uint32_t i = 0; i < noted.circle->count; ++i) {
    const Part& p = noted.circle->part[i];
    for (const std::uint32_t stack : {p.held_stack, p.asked_stack})
      key = (key ^ innermost_frames(stack)) * 0x9e3779b97f4a7c15u;
  }
  return key;
}

Example* find_example(FindingRecord& finding, const Noted& noted) noexcept {
  const std::uint64_t n = finding.examples.load(relaxed);
  for (std::uint64_t i = 0; i < n; ++i) {
    Example& e = finding.example[i];
    const bool same_other = noted.name != nullptr ? std::strncmp(e.other_place.file, noted.name,
                                                                 sizeof e.other_place.file - 1) == 0
                                                  : e.other_place.address == noted.other_site;
    if (e.place.address == noted.site && same_other && e.key == key_of(noted)) return &e;
  }
  return nullptr;
}

void locate_more(Finding what, std::uint64_t n, const Noted& noted) noexcept {
  const auto index = static_cast<std::size_t>(what);
  if (index < kFirstWithMore) return;
  MorePlaces& more = mapped->more[index - kFirstWithMore][n];
  for (std::size_t i = 0; i < 2; ++i)
    locate(noted.more_sites[i], more.place[i]);
  if (noted.circle == nullptr) return;
  Circle& circle = mapped->circle[index - kFirstWithMore][n];
  circle = *noted.circle;
  for (std::uint32_t i = 0; i < circle.count; ++i) {
    Part& p = circle.part[i];
    p.held_stack = stack_in_record(p.held_stack);
    p.asked_stack = stack_in_record(p.asked_stack);
  }
}

// Returns the index of a withdrawn example, or kExamples if there is none.
std::uint64_t withdrawn(const FindingRecord& finding) noexcept {
  const auto* const one = std::find_if(finding.example, finding.example + kExamples,
                                       [](const Example& e) { return e.times == 0; });
  return static_cast<std::uint64_t>(one - finding.example);
}

void add_example(Finding what, FindingRecord& finding, const Noted& noted) noexcept {
  std::uint64_t n = finding.examples.load(relaxed);
  if (n == kExamples) n = withdrawn(finding);
  if (n == kExamples) return;
  Example& e = finding.example[n];
  e.times = 1;
  e.lock = reinterpret_cast<std::uintptr_t>(noted.lock);
  e.thread = noted.thread != 0 ? noted.thread : me().tid;
  e.other_thread = noted.other_thread;
  e.key = key_of(noted);
  e.stack = stack_in_record(noted.stack);
  e.other_stack = stack_in_record(noted.other_stack);
  locate(noted.site, e.place);
  if (noted.name != nullptr) {
    Text(e.other_place.file, sizeof e.other_place.file) << noted.name;
  } else {
    locate(noted.other_site, e.other_place);
  }
  locate_more(what, n, noted);
  if (n >= finding.examples.load(relaxed)) finding.examples.store(n + 1, release);
}

std::uint64_t kinds_of(const Circle& circle) noexcept {
  std::uint64_t kinds = 0;
  for (std::uint32_t i = 0; i < circle.count; ++i)
    kinds |= circle.part[i].held_is_mutex != 0 ? kOfMutexes : kOfRwlocks;
  return kinds;
}

}  // namespace

bool open_record(const char* prefix) noexcept {
  if (prefix == nullptr) return true;
  auto* const r = reinterpret_cast<Record*>(recording::open_file(kFile, prefix));
  if (r == nullptr) return false;
  mapped = r;
  return true;
}

void reopen_record() noexcept {
  if (mapped != &in_memory) recording::reopen_file(kFile, mapped->head);
}

void close_record() noexcept { mapped->head.ended.store(1, relaxed); }

Record& record() noexcept { return *mapped; }

void raise_to(Word& most, std::uint64_t value) noexcept {
  std::uint64_t seen = most.load(relaxed);
  while (seen < value && !most.compare_exchange(seen, value, relaxed)) {}
}

void count(Count what, std::uint64_t n) noexcept {
  const std::size_t stripe = (thread_identity() >> 6) * 0x9E3779B97F4A7C15u >> 60;
  mapped->counts[stripe % kStripes][static_cast<std::size_t>(what)].fetch_add(n, relaxed);
}

void note_time(Time what, const Timed& timed) noexcept {
  Longest& longest = mapped->longest[static_cast<std::size_t>(what)];
  if (timed.ns <= longest.ns.load(relaxed)) return;
  const Section section(world().report);
  if (timed.ns <= longest.ns.load(relaxed)) return;
  // relaxed, all: written under the guard. A reader of the file may find parts of two.
  longest.lock.store(timed.lock, relaxed);
  longest.stack.store(stack_in_record(timed.stack), relaxed);
  longest.goes_on.store(timed.goes_on ? 1 : 0, relaxed);
  longest.ns.store(timed.ns, relaxed);
}

void note(Finding what, const Noted& noted) noexcept {
  FindingRecord& finding = mapped->findings[static_cast<std::size_t>(what)];
  finding.times.fetch_add(1, relaxed);
  const std::uint64_t kinds = noted.circle != nullptr ? kinds_of(*noted.circle) : noted.kinds;
  if (kinds != 0) finding.kinds.fetch_or(kinds, relaxed);
  const Section section(world().report);
  if (Example* e = find_example(finding, noted)) {
    ++e->times;
  } else {
    add_example(what, finding, noted);
  }
}

void withdraw(Finding what, std::uint64_t site) noexcept {
  FindingRecord& finding = mapped->findings[static_cast<std::size_t>(what)];
  const Section section(world().report);
  if (Example* e = find_example(finding, {.lock = nullptr, .site = site}); e != nullptr) {
    if (e->times != 0) --e->times;
  }
  if (finding.times.load(relaxed) != 0) finding.times.fetch_sub(1, relaxed);
}

}  // namespace lockswap::audit
