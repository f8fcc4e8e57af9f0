// lockswap-audit-read FILE...: prints the records that audited processes left, as JSON on stdout.
// Exit status 2 if a file is no record of this version.

#include <cstdio>
#include <cstring>
#include <memory>

#include "audit/record.h"

namespace {

using namespace lockswap::audit;
using lockswap::relaxed;

unsigned long long number(const Word& w) { return w.load(relaxed); }

void string(const char* s) {
  std::putchar('"');
  for (; *s != 0; ++s) {
    const auto c = static_cast<unsigned char>(*s);
    if (c == '"' || c == '\\') std::putchar('\\');
    if (c < 0x20) {
      std::printf("\\u%04x", c);
    } else {
      std::putchar(c);
    }
  }
  std::putchar('"');
}

void place(const Place& p) {
  std::printf("{\"address\":\"0x%llx\",\"offset\":%llu,\"file\":",
              static_cast<unsigned long long>(p.address),
              static_cast<unsigned long long>(p.offset));
  string(p.file);
  std::printf("}");
}

// more: nullptr for findings that have two places.
void example(const Example& e, const MorePlaces* more) {
  std::printf("{\"times\":%llu,\"lock\":\"0x%llx\",\"thread\":%u,\"other_thread\":%u",
              static_cast<unsigned long long>(e.times), static_cast<unsigned long long>(e.lock),
              e.thread, e.other_thread);
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
    std::printf("%s\n{\"name\":\"%s\",\"times\":%llu,\"examples\":[", separator, kFindingNames[f],
                number(found.times));
    separator = ",";
    for (std::size_t i = 0; i < number(found.examples) && i < kExamples; ++i) {
      if (i != 0) std::putchar(',');
      example(found.example[i], f < kFirstWithMore ? nullptr : &r.more[f - kFirstWithMore][i]);
    }
    std::printf("]}");
  }
}

void process(const Record& r) {
  std::printf("{\"pid\":%u,\"parent\":%u,\"ended\":%s,\"program\":", r.pid, r.parent,
              r.ended.load(relaxed) != 0 ? "true" : "false");
  string(r.program);
  std::printf(",\"exe\":");
  string(r.exe);
  std::printf(",\n\"most_rwlocks_held\":%llu,\"most_mutexes_held\":%llu",
              number(r.most_rwlocks_held), number(r.most_mutexes_held));
  std::printf(",\"longest_read_ns\":%llu,\"longest_write_ns\":%llu,\n\"counts\":{",
              number(r.longest_read_ns), number(r.longest_write_ns));
  counts(r);
  std::printf("},\n\"findings\":[");
  findings(r);
  std::printf("]}");
}

// The record of a process that may still run.
bool read(const char* path, Record& into) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  const std::size_t n = std::fread(static_cast<void*>(&into), 1, sizeof into, file);
  std::fclose(file);
  into.program[sizeof into.program - 1] = into.exe[sizeof into.exe - 1] = 0;
  return n == sizeof into && into.magic == kMagic && into.schema == kSchema &&
         into.size == sizeof into;
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
