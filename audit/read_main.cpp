// lockswap-audit-read FILE...: prints the records that audited processes left, as JSON on stdout.
// The exit status is 2 if a file is not a record of this version or the one before.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "audit/record.h"
#include "recording/json.h"
#include "recording/reader.h"

namespace {

using namespace lockswap::audit;
using lockswap::NativeAtomic;
using lockswap::relaxed;
using lockswap::recording::put_json_string;
namespace recording = lockswap::recording;

unsigned long long number(const Word& w) { return w.load(relaxed); }

void place(const Place& p) {
  std::printf("{\"address\":\"0x%llx\",\"offset\":%llu,\"file\":",
              static_cast<unsigned long long>(p.address),
              static_cast<unsigned long long>(p.offset));
  put_json_string(p.file);
  std::printf("}");
}

std::uint32_t stacks_of(const Record& r) {
  return std::min(r.stacks.load(lockswap::acquire), kStacks);
}

void stacks(const Record& r) {
  std::printf(",\n\"stacks\":[");
  for (std::uint32_t i = 0; i < stacks_of(r); ++i) {
    const RecordedStack& s = r.stack[i];
    std::printf("%s{\"cut\":%s,\"frames\":", i == 0 ? "" : ",", s.cut != 0 ? "true" : "false");
    recording::put_places(r.head, s.frame, std::min(s.count, kFrames));
    std::printf("}");
  }
  std::printf("]");
}

// The file may be damaged, or its writer may have been killed during an update. Then a reference to
// something that isn't there is printed as unknown.
void stack_number(const Record& r, const char* name, std::uint32_t stack) {
  if (stack == 0 || stack > stacks_of(r)) {
    std::printf(",\"%s\":null", name);
  } else {
    std::printf(",\"%s\":%u", name, stack - 1);
  }
}

void lock(const Record& r, const char* name, std::uint64_t address, recording::Place object,
          bool is_mutex) {
  std::printf(",\"%s\":{\"address\":\"0x%llx\",\"kind\":\"%s\",\"object\":", name,
              static_cast<unsigned long long>(address), is_mutex ? "mutex" : "rwlock");
  if (recording::is_in_module(r.head, object)) {
    recording::put_place(r.head, object);
  } else {
    std::printf("null");
  }
  std::printf("}");
}

void circle(const Record& r, const Circle& c) {
  std::printf(",\"one_thread\":%s,\"circle\":[", c.one_thread != 0 ? "true" : "false");
  for (std::uint32_t i = 0; i < c.count && i < kLocksOfCircle; ++i) {
    const Part& p = c.part[i];
    std::printf("%s{\"thread\":%u,\"holds_to\":\"%s\",\"asks_to\":\"%s\"", i == 0 ? "" : ",",
                p.thread, p.holds_to_write != 0 ? "write" : "read",
                p.asks_to_write != 0 ? "write" : "read");
    lock(r, "held", p.held, p.held_object, p.held_is_mutex != 0);
    lock(r, "asked", p.asked, p.asked_object, p.asked_is_mutex != 0);
    stack_number(r, "held_stack", p.held_stack);
    stack_number(r, "asked_stack", p.asked_stack);
    std::printf("}");
  }
  std::printf("]");
}

// more: nullptr for findings with two places. c: nullptr for findings that are no cycles.
void example(const Record& r, const Example& e, const MorePlaces* more, const Circle* c) {
  std::printf("{\"times\":%llu,\"lock\":\"0x%llx\",\"thread\":%u,\"other_thread\":%u",
              static_cast<unsigned long long>(e.times), static_cast<unsigned long long>(e.lock),
              e.thread, e.other_thread);
  stack_number(r, "stack", e.stack);
  stack_number(r, "other_stack", e.other_stack);
  std::printf(",\"place\":");
  place(e.place);
  std::printf(",\"other_place\":");
  place(e.other_place);
  if (more != nullptr) {
    std::printf(",\"more_places\":[");
    place(more->place[0]);
    std::printf(",");
    place(more->place[1]);
    std::printf("]");
  }
  if (c != nullptr) circle(r, *c);
  std::printf("}");
}

void counts(const Record& r) {
  for (std::size_t c = 0; c < kCounts; ++c) {
    unsigned long long sum = 0;
    for (const auto& stripe : r.counts)
      sum += number(stripe[c]);
    std::printf("%s\"%s\":%llu", c == 0 ? "" : ",", kCountNames[c], sum);
  }
}

void findings(const Record& r) {
  const char* separator = "";
  for (std::size_t f = 0; f < kFindings; ++f) {
    const FindingRecord& found = r.findings[f];
    if (number(found.times) == 0) continue;
    std::printf("%s\n{\"name\":\"%s\",\"times\":%llu", separator, kFindingNames[f],
                number(found.times));
    const unsigned long long kinds = number(found.kinds);
    std::printf(",\"rwlocks\":%s,\"mutexes\":%s,\"examples\":[",
                (kinds & kOfRwlocks) != 0 ? "true" : "false",
                (kinds & kOfMutexes) != 0 ? "true" : "false");
    separator = ",";
    const char* comma = "";
    for (std::size_t i = 0; i < number(found.examples) && i < kExamples; ++i) {
      if (found.example[i].times == 0) continue;  // withdrawn
      std::printf("%s", comma);
      comma = ",";
      const bool has_more = f >= kFirstWithMore;
      const std::size_t n = has_more ? f - kFirstWithMore : 0;
      example(r, found.example[i], has_more ? &r.more[n][i] : nullptr,
              has_more && n < kCircles ? &r.circle[n][i] : nullptr);
    }
    std::printf("]}");
  }
}

void longest(const Record& r) {
  for (std::size_t i = 0; i < kTimes; ++i)
    std::printf(",\"longest_%s_ns\":%llu", kTimeNames[i], number(r.longest[i].ns));
  std::printf(",\n\"longest\":{");
  for (std::size_t i = 0; i < kTimes; ++i) {
    const Longest& one = r.longest[i];
    std::printf("%s\"%s\":{\"ns\":%llu,\"lock\":\"0x%llx\",\"goes_on\":%s", i == 0 ? "" : ",",
                kTimeNames[i], number(one.ns), number(one.lock),
                one.goes_on.load(relaxed) != 0 ? "true" : "false");
    stack_number(r, "stack", one.stack.load(relaxed));
    std::printf("}");
  }
  std::printf("}");
}

// Prints the threads that are waiting for a lock, or were when the process ended.
void inside(const Record& r) {
  const char* separator = "";
  for (const Inside& one : r.inside) {
    const std::uint32_t tid = one.tid.load(relaxed), mode = one.mode.load(relaxed);
    if (tid == 0 || number(one.lock) == 0) continue;
    std::printf(
        "%s{\"thread\":%u,\"lock\":\"0x%llx\",\"kind\":\"%s\",\"asks_to\":\"%s\",\"place\":",
        separator, tid, number(one.lock), (mode & kOfMutexes) != 0 ? "mutex" : "rwlock",
        (mode & kToWrite) != 0 ? "write" : "read");
    recording::put_place(r.head, number(one.place));
    std::printf("}");
    separator = ",";
  }
}

void process(const Record& r) {
  std::printf("{");
  recording::put_head(r.head);
  std::printf(",\n\"most_rwlocks_held\":%llu,\"most_mutexes_held\":%llu",
              number(r.most_rwlocks_held), number(r.most_mutexes_held));
  longest(r);
  std::printf(",\n\"counts\":{");
  counts(r);
  std::printf("}");
  stacks(r);
  std::printf(",\n\"inside\":[");
  inside(r);
  std::printf("],\n\"findings\":[");
  findings(r);
  std::printf("]}");
}

// Version 7 lacked the findings between those with two places and those with more. It had no places
// of the longest holds, and no longest holds of mutexes.
constexpr std::size_t kFirstWithMoreBefore = static_cast<std::size_t>(Finding::unknown_layout) + 1;
constexpr std::size_t kWithMoreBefore = 6;
struct RecordBefore {
  recording::Head head;
  Word most_rwlocks_held, most_mutexes_held, longest_read_ns, longest_write_ns;
  Word counts[kStripes][static_cast<std::size_t>(Count::cond_broadcast) + 1];
  FindingRecord findings[kFirstWithMoreBefore + kWithMoreBefore];
  MorePlaces more[kWithMoreBefore][kExamples];
  Circle circle[kCircles][kExamples];
  NativeAtomic<std::uint32_t> stacks;
  RecordedStack stack[kStacks];
};
static_assert(kSchema == 8);

// Copies plain bytes, from words that nobody changes any more.
void copy(void* into, const void* from, std::size_t bytes) { std::memcpy(into, from, bytes); }
void copy(Word& into, const Word& from) { into.store(number(from), relaxed); }

bool from_before(std::vector<char>& bytes) {
  if (bytes.size() != sizeof(RecordBefore)) return false;
  const auto& before = *reinterpret_cast<const RecordBefore*>(bytes.data());
  if (before.head.size != sizeof before) return false;
  std::vector<char> now(sizeof(Record));
  auto& r = *reinterpret_cast<Record*>(now.data());
  copy(&r.head, &before.head, sizeof r.head);
  r.head.size = sizeof r;
  copy(r.most_rwlocks_held, before.most_rwlocks_held);
  copy(r.most_mutexes_held, before.most_mutexes_held);
  copy(r.longest[static_cast<std::size_t>(Time::read)].ns, before.longest_read_ns);
  copy(r.longest[static_cast<std::size_t>(Time::write)].ns, before.longest_write_ns);
  for (std::size_t i = 0; i < kStripes; ++i)
    copy(r.counts[i], before.counts[i], sizeof before.counts[i]);
  copy(r.findings, before.findings, kFirstWithMoreBefore * sizeof *r.findings);
  copy(r.findings + kFirstWithMore, before.findings + kFirstWithMoreBefore,
       kWithMoreBefore * sizeof *r.findings);
  copy(r.more, before.more, sizeof before.more);
  copy(r.circle, before.circle, sizeof before.circle);
  r.stacks.store(before.stacks.load(relaxed), relaxed);
  copy(r.stack, before.stack, sizeof before.stack);
  bytes = std::move(now);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  recording::RecordedFile file;
  std::printf("{\"schema\":%u,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"processes\":[", kSchema);
  const char* separator = "\n";
  for (int i = 1; i < argc; ++i) {
    const auto result = file.read(argv[i], kFormat, from_before);
    if (result == recording::RecordedFile::bad) {
      std::fprintf(
          stderr,
          "lockswap-audit-read: %s is not an audit record of this version, nor of the one before\n",
          argv[i]);
      return 2;
    }
    if (result == recording::RecordedFile::empty) continue;
    std::printf("%s", separator);
    separator = ",\n";
    process(file.record<Record>());
  }
  std::printf("]}\n");
  return 0;
}
