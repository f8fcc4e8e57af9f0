// lockswap-audit-read FILE...: prints the records that audited processes left, as JSON on stdout.
// The exit status is 2 if a file is not a record of this version or the one before.

#include <algorithm>
#include <cstddef>
#include <cstdio>
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

void shared_lock(const SharedLock& one) {
  std::printf("{\"kind\":\"%s\",\"lock\":\"0x%llx\",\"pid\":%u,\"thread\":%u",
              kObjectKindNames[static_cast<std::size_t>(one.kind)],
              static_cast<unsigned long long>(one.address), one.pid, one.thread);
  std::printf(",\"device\":%llu,\"inode\":%llu,\"offset\":%llu",
              static_cast<unsigned long long>(one.device),
              static_cast<unsigned long long>(one.inode),
              static_cast<unsigned long long>(one.offset));
  const auto flag = [](const char* name, std::uint32_t is) {
    std::printf(",\"%s\":%s", name, is != 0 ? "true" : "false");
  };
  flag("begins", one.begins);
  flag("is_used", one.is_used);
  flag("not_glibcs", one.not_glibcs);
  std::printf(",\"gone_holder\":%u,\"file\":", one.gone_holder);
  put_json_string(one.file);
}

void shared_locks(const Record& r) {
  std::printf(",\n\"shared_locks_cut\":%s,\"shared_locks\":[",
              r.shared_locks_cut.load(relaxed) != 0 ? "true" : "false");
  const std::uint32_t count = std::min(r.shared_locks.load(lockswap::acquire), kSharedLocks);
  const char* separator = "\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    const SharedLock& one = r.shared_lock[i];
    if (one.kind >= ObjectKind::kEnd) continue;  // the file is damaged
    std::printf("%s", separator);
    separator = ",\n";
    shared_lock(one);
    stack_number(r, "stack", one.stack);
    std::printf("}");
  }
  std::printf("]");
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
  std::printf("]");
  shared_locks(r);
  std::printf("}");
}

// Version 8 ended before the locks in shared memory.
constexpr std::size_t kSizeBefore = offsetof(Record, shared_locks);
static_assert(kSchema == 9);

bool from_before(std::vector<char>& bytes) {
  if (bytes.size() < kSizeBefore) return false;
  auto& head = *reinterpret_cast<recording::Head*>(bytes.data());
  if (head.size != kSizeBefore) return false;
  bytes.resize(kSizeBefore);  // a longer file is damaged
  bytes.resize(sizeof(Record));
  reinterpret_cast<recording::Head*>(bytes.data())->size = sizeof(Record);
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
