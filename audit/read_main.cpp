// lockswap-audit-read FILE...: prints the records that audited processes left, as JSON on stdout.
// Exit status 2 if a file is no record of this version or the one before.

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

// The file may be damaged, or its writer was killed in the midst of a change: then what names
// something that isn't there is what says that it is not known.
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

// more: nullptr for findings that have two places; c: for those that are no circle.
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
    for (std::size_t i = 0; i < number(found.examples) && i < kExamples; ++i) {
      if (i != 0) std::putchar(',');
      const bool has_more = f >= kFirstWithMore;
      const std::size_t n = has_more ? f - kFirstWithMore : 0;
      example(r, found.example[i], has_more ? &r.more[n][i] : nullptr,
              has_more && n < kCircles ? &r.circle[n][i] : nullptr);
    }
    std::printf("]}");
  }
}

void process(const Record& r) {
  std::printf("{");
  recording::put_head(r.head);
  std::printf(",\n\"most_rwlocks_held\":%llu,\"most_mutexes_held\":%llu",
              number(r.most_rwlocks_held), number(r.most_mutexes_held));
  std::printf(",\"longest_read_ns\":%llu,\"longest_write_ns\":%llu,\n\"counts\":{",
              number(r.longest_read_ns), number(r.longest_write_ns));
  counts(r);
  std::printf("}");
  stacks(r);
  std::printf(",\n\"findings\":[");
  findings(r);
  std::printf("]}");
}

// Version 6 had no modules in the head, but half as many, without `object`, before the stacks.
constexpr std::uint32_t kModulesBefore = 128;
struct ModuleBefore {
  std::uint64_t begin;
  std::uint32_t build_id_size;
  std::uint8_t build_id[20];
  char path[256];
};
struct HeadBefore {
  std::uint64_t magic;
  std::uint32_t schema, size, pid, parent, ended;
  char program[64];
  char exe[512];
};
constexpr std::size_t kOwnPart = offsetof(Record, stacks) - sizeof(recording::Head);
struct RecordBefore {
  HeadBefore head;
  char own[kOwnPart];  // what lies between the head and the number of stacks
  std::uint32_t modules, stacks;
  ModuleBefore module[kModulesBefore];
  RecordedStack stack[kStacks];
};
static_assert(kSchema == 7);

bool from_before(std::vector<char>& bytes) {
  if (bytes.size() != sizeof(RecordBefore)) return false;
  const auto& before = *reinterpret_cast<const RecordBefore*>(bytes.data());
  if (before.head.size != sizeof before) return false;
  std::vector<char> now(sizeof(Record));
  auto& r = *reinterpret_cast<Record*>(now.data());
  std::memcpy(now.data(), &before.head, offsetof(HeadBefore, program));
  r.head.size = sizeof r;
  r.head.modules.store(std::min(before.modules, kModulesBefore), relaxed);
  std::memcpy(r.head.program, before.head.program, sizeof r.head.program);
  std::memcpy(r.head.exe, before.head.exe, sizeof r.head.exe);
  std::memcpy(now.data() + sizeof r.head, before.own, kOwnPart);
  for (std::uint32_t i = 0; i < kModulesBefore; ++i) {
    const ModuleBefore& m = before.module[i];
    recording::Module& into = r.head.module[i];
    into.begin = m.begin;
    into.build_id_size = m.build_id_size;
    std::memcpy(into.build_id, m.build_id, sizeof m.build_id);
    std::memcpy(into.path, m.path, sizeof m.path);
  }
  r.stacks.store(before.stacks, relaxed);
  std::memcpy(r.stack, before.stack, sizeof before.stack);
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
      std::fprintf(stderr, "lockswap-audit-read: %s is no audit record of this version\n", argv[i]);
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
