// lockswap-audit-read FILE...: prints the records that audited processes left, as JSON on stdout.
// Exit status 2 if a file is no record of this version or the one before.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

#include "audit/record.h"
#include "profile/json.h"

namespace {

using namespace lockswap::audit;
using lockswap::relaxed;
using lockswap::profile::put_json_string;

unsigned long long number(const Word& w) { return w.load(relaxed); }

void place(const Place& p) {
  std::printf("{\"address\":\"0x%llx\",\"offset\":%llu,\"file\":",
              static_cast<unsigned long long>(p.address),
              static_cast<unsigned long long>(p.offset));
  put_json_string(p.file);
  std::printf("}");
}

void frame(Frame f) {
  const unsigned long long module = f >> kModuleShift;
  constexpr Frame kAddress = (Frame{1} << kModuleShift) - 1;
  std::printf("[%lld,%llu]", module == 0xffff ? -1 : static_cast<long long>(module),
              static_cast<unsigned long long>(f & kAddress));
}

void modules(const Record& r) {
  std::printf(",\n\"modules\":[");
  const auto count = std::min<std::size_t>(r.modules.load(relaxed), kModules);
  for (std::size_t i = 0; i < count; ++i) {
    const Module& m = r.module[i];
    std::printf("%s{\"path\":", i == 0 ? "" : ",");
    if (m.path[0] != 0) {
      put_json_string(m.path);
    } else {
      put_json_string(r.exe);
    }
    std::printf(",\"build_id\":\"");
    for (std::size_t b = 0; b < std::min<std::size_t>(m.build_id_size, sizeof m.build_id); ++b)
      std::printf("%02x", m.build_id[b]);
    std::printf("\"}");
  }
  std::printf("]");
}

void stacks(const Record& r) {
  std::printf(",\n\"stacks\":[");
  const auto count = std::min<std::size_t>(r.stacks.load(relaxed), kStacks);
  for (std::size_t i = 0; i < count; ++i) {
    const RecordedStack& s = r.stack[i];
    std::printf("%s{\"cut\":%s,\"frames\":[", i == 0 ? "" : ",", s.cut != 0 ? "true" : "false");
    for (std::size_t f = 0; f < std::min(s.count, kFrames); ++f) {
      if (f != 0) std::putchar(',');
      frame(s.frame[f]);
    }
    std::printf("]}");
  }
  std::printf("]");
}

void stack_number(const char* name, std::uint32_t stack) {
  if (stack == 0) {
    std::printf(",\"%s\":null", name);
  } else {
    std::printf(",\"%s\":%u", name, stack - 1);
  }
}

void lock(const char* name, std::uint64_t address, Frame object, bool is_mutex) {
  std::printf(",\"%s\":{\"address\":\"0x%llx\",\"kind\":\"%s\",\"object\":", name,
              static_cast<unsigned long long>(address), is_mutex ? "mutex" : "rwlock");
  if (object >> kModuleShift == 0xffff) {
    std::printf("null}");
  } else {
    frame(object);
    std::printf("}");
  }
}

void circle(const Circle& c) {
  std::printf(",\"one_thread\":%s,\"circle\":[", c.one_thread != 0 ? "true" : "false");
  for (std::uint32_t i = 0; i < c.count && i < kLocksOfCircle; ++i) {
    const Part& p = c.part[i];
    std::printf("%s{\"thread\":%u,\"holds_to\":\"%s\",\"asks_to\":\"%s\"", i == 0 ? "" : ",",
                p.thread, p.holds_to_write != 0 ? "write" : "read",
                p.asks_to_write != 0 ? "write" : "read");
    lock("held", p.held, p.held_object, p.held_is_mutex != 0);
    lock("asked", p.asked, p.asked_object, p.asked_is_mutex != 0);
    stack_number("held_stack", p.held_stack);
    stack_number("asked_stack", p.asked_stack);
    std::printf("}");
  }
  std::printf("]");
}

// more: nullptr for findings that have two places; c: for those that are no circle.
void example(const Example& e, const MorePlaces* more, const Circle* c) {
  std::printf("{\"times\":%llu,\"lock\":\"0x%llx\",\"thread\":%u,\"other_thread\":%u",
              static_cast<unsigned long long>(e.times), static_cast<unsigned long long>(e.lock),
              e.thread, e.other_thread);
  stack_number("stack", e.stack);
  stack_number("other_stack", e.other_stack);
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
  if (c != nullptr) circle(*c);
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
      example(found.example[i], has_more ? &r.more[n][i] : nullptr,
              has_more && n < kCircles ? &r.circle[n][i] : nullptr);
    }
    std::printf("]}");
  }
}

void process(const Record& r) {
  std::printf("{\"pid\":%u,\"parent\":%u,\"ended\":%s,\"program\":", r.pid, r.parent,
              r.ended.load(relaxed) != 0 ? "true" : "false");
  put_json_string(r.program);
  std::printf(",\"exe\":");
  put_json_string(r.exe);
  std::printf(",\n\"most_rwlocks_held\":%llu,\"most_mutexes_held\":%llu",
              number(r.most_rwlocks_held), number(r.most_mutexes_held));
  std::printf(",\"longest_read_ns\":%llu,\"longest_write_ns\":%llu,\n\"counts\":{",
              number(r.longest_read_ns), number(r.longest_write_ns));
  counts(r);
  std::printf("}");
  modules(r);
  stacks(r);
  std::printf(",\n\"findings\":[");
  findings(r);
  std::printf("]}");
}

// What names something that isn't there becomes what says that it is not known: the file may be
// damaged, or its writer was killed in the midst of a change.
void drop_dangling(Record& r) {
  const auto modules = std::min<std::size_t>(r.modules.load(relaxed), kModules);
  const auto stacks = std::min<std::size_t>(r.stacks.load(relaxed), kStacks);
  const auto mend_frame = [=](Frame& f) {
    if (f >> kModuleShift >= modules) f |= Frame{0xffff} << kModuleShift;
  };
  const auto mend_stack = [=](std::uint32_t& s) {
    if (s > stacks) s = 0;
  };
  for (RecordedStack& stack : r.stack) {
    for (Frame& f : stack.frame)
      mend_frame(f);
  }
  for (FindingRecord& finding : r.findings) {
    for (Example& e : finding.example) {
      mend_stack(e.stack);
      mend_stack(e.other_stack);
    }
  }
  for (auto& circles : r.circle) {
    for (Circle& circle : circles) {
      for (Part& p : circle.part) {
        mend_frame(p.held_object);
        mend_frame(p.asked_object);
        mend_stack(p.held_stack);
        mend_stack(p.asked_stack);
      }
    }
  }
}

// The one before this one did not have the finding `left_lock_call`.
constexpr std::uint32_t kSchemaBefore = 5;
constexpr std::size_t kSizeBefore = sizeof(Record) - sizeof(FindingRecord);
static_assert(kSchema == kSchemaBefore + 1);

void convert_from_before(Record& r) {
  auto* const bytes = reinterpret_cast<char*>(&r);
  const auto added = static_cast<std::size_t>(Finding::left_lock_call);
  const std::size_t at = offsetof(Record, findings) + added * sizeof(FindingRecord);
  std::memmove(bytes + at + sizeof(FindingRecord), bytes + at, kSizeBefore - at);
  std::memset(bytes + at, 0, sizeof(FindingRecord));
}

// The record of a process that may still run.
bool read(const char* path, Record& into) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  const std::size_t n = std::fread(static_cast<void*>(&into), 1, sizeof into, file);
  std::fclose(file);
  const bool is_of_before = into.schema == kSchemaBefore;
  const std::size_t size = is_of_before ? kSizeBefore : sizeof into;
  if (n != size || into.magic != kMagic || into.size != size) return false;
  if (!is_of_before && into.schema != kSchema) return false;
  if (is_of_before) convert_from_before(into);
  drop_dangling(into);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto record = std::make_unique<Record>();
  std::printf("{\"schema\":%u,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"processes\":[", kSchema);
  const char* separator = "\n";
  for (int i = 1; i < argc; ++i) {
    if (!read(argv[i], *record)) {
      std::fprintf(stderr, "lockswap-audit-read: %s is no audit record of this version\n", argv[i]);
      return 2;
    }
    if (record->pid == 0) continue;
    std::printf("%s", separator);
    separator = ",\n";
    process(*record);
  }
  std::printf("]}\n");
  return 0;
}
