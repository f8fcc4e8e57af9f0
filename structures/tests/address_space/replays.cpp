// Random traces, replayed by their threads in each design: what waits for what is enough for the
// check that follows each replay, and the replay has no race of its own.
//
//   replays SECONDS [SEED]    for each design
#include <cstdio>
#include <random>
#include <string>

#include "address_space/designs.h"
#include "address_space/replay.h"
#include "address_space/trace.h"
#include "modes.h"
#include "seen_ranges.h"
#include "written_file.h"

namespace bench {
namespace {

using namespace lockswap::address_space;
constexpr unsigned kThreads = 4;
constexpr std::uint64_t kPages = 96;

// Steps that a program may take one after the other, dealt to threads.
std::string random_trace(std::mt19937& random) {
  std::string text = "lockswap-vm-trace 1\nfaults recorded\nthreads 4\nheap 1000\nthere 8 4\n";
  Own own(0x1000);
  own.apply({.kind = Step::map, .start = 8, .end = 12, .protection = 7}, 0);
  char line[96];
  for (unsigned t = 0; t < kThreads; ++t)
    text += "discard " + std::to_string(t) + " 900 1\n";
  for (int i = 0; i < 400; ++i) {
    const unsigned thread = random() % kThreads;
    Step s{};
    s.start = random() % kPages;
    s.end = s.start + 1 + random() % 8;
    const unsigned kind = random() % 12;
    if (kind < 5) {
      const Own::Run* run = own.at(s.start);
      if (run == nullptr || run->end <= s.start) continue;
      const bool writes = random() % 2 == 0 && (run->protection & 2) != 0;
      if (!writes && (run->protection & 1) == 0) continue;
      std::snprintf(line, sizeof line, "%s %u %llx 1\n", writes ? "write" : "read", thread,
                    static_cast<unsigned long long>(s.start));
    } else if (kind < 8) {
      static const char* const kEnds[] = {"rw-\n", "r--\n", "rw- private 0 3\n", "rw- shared 1 0\n",
                                          "rw- private 1 0\n"};
      static constexpr std::uint32_t kProtections[] = {3, 1, 3, 3, 3};
      const unsigned which = random() % 5;
      s.kind = Step::map;
      s.protection = kProtections[which];
      std::snprintf(line, sizeof line, "map %u %llx %llx %s", thread,
                    static_cast<unsigned long long>(s.start),
                    static_cast<unsigned long long>(s.end - s.start), kEnds[which]);
    } else if (kind < 10) {
      s.kind = Step::protect;
      s.protection = random() % 2 == 0 ? 1 : 3;
      if (!own.is_mapped(s.start, s.end)) continue;
      std::snprintf(line, sizeof line, "protect %u %llx %llx %s\n", thread,
                    static_cast<unsigned long long>(s.start),
                    static_cast<unsigned long long>(s.end - s.start),
                    s.protection == 1 ? "r--" : "rw-");
    } else if (kind == 10) {
      s.kind = random() % 2 == 0 ? Step::unmap : Step::discard;
      std::snprintf(line, sizeof line, "%s %u %llx %llx\n",
                    s.kind == Step::unmap ? "unmap" : "discard", thread,
                    static_cast<unsigned long long>(s.start),
                    static_cast<unsigned long long>(s.end - s.start));
    } else {
      s.kind = random() % 4 == 0 ? Step::fork : Step::brk;
      s.end = 0x1000 + random() % 8;
      if (s.kind == Step::fork) {
        std::snprintf(line, sizeof line, "fork %u\n", thread);
      } else {
        std::snprintf(line, sizeof line, "brk %u %llx\n", thread,
                      static_cast<unsigned long long>(s.end));
      }
    }
    if (kind >= 5) own.apply(s, 0);
    text += line;
  }
  return text;
}

template <template <class> class Design>
bool replay_in(const char* name, double seconds, unsigned seed) {
  using Engine = Space<address_space_test::M, Design>;
  std::mt19937 random(seed);
  std::uint64_t traces = 0;
  std::uint64_t rounds = 0;
  std::uint64_t ordered = 0;
  const double end = seconds_of(CLOCK_MONOTONIC) + seconds;
  while (seconds_of(CLOCK_MONOTONIC) < end || traces == 0) {
    const Trace trace = read_trace(WrittenFile(random_trace(random)).name());
    Replayed all = replay_for<Engine, false>(trace, 0.005, {.large_pages = traces % 2 == 1});
    if constexpr (requires(typename Engine::Hand & h) { h.attempts; })
      all.attempts.check({&trace.own}, all.rounds);
    ++traces;
    rounds += all.rounds;
    ordered += all.ordered;
  }
  std::printf("%s: %llu traces, %llu rounds, %llu steps waited for others\n", name,
              static_cast<unsigned long long>(traces), static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(ordered));
  return ordered > 0;
}

bool replays(double seconds, unsigned seed) {
  bool good = true;
#define DESIGN(name, Class) good = replay_in<Class>(name, seconds, seed) && good;
#include "address_space/designs.def"
#undef DESIGN
  return good;
}
const address_space_test::Mode kReplays("replays", replays);

}  // namespace
}  // namespace bench
