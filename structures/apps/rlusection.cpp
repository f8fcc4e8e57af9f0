// rlusection: what it costs to enter a section of readers and to leave it, of Read-Log-Update and
// of liburcu (flavour memb), each called as a library and inlined.
//
// One thread; all four in turns, round after round, there and back. Prints for each the median of
// its rounds, NAME_ns (CPU nanoseconds for enter, leave and the loop around them), and of the
// rounds' ratios the median and the 95 % interval:
//   inlined_to_memb, inlined_to_memb_called, called_to_memb_called
// --only NAME runs one of them --pairs times, for a count of instructions. --help shows the
// options.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/options.h"
#include "lockswap/rlu_inline.h"
#include "rlu/rcu.h"
#include "rlu/rounds.h"
#include "rlu/section_called.h"

namespace {

using namespace bench;

void inlined(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    lockswap_rlu_enter();
    lockswap_rlu_leave();
  }
}
void called(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    lockswap_rlu_reader_lock();
    lockswap_rlu_reader_unlock();
  }
}
void memb(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    urcu_memb_read_lock();
    urcu_memb_read_unlock();
  }
}

struct Kind {
  const char* name;
  void (*run)(std::uint64_t pairs);
  std::vector<double> ns;
};
enum { kInlined, kMemb, kCalled, kMembCalled };
Kind kinds[] = {{"inlined", inlined, {}},
                {"memb", memb, {}},
                {"called", called, {}},
                {"memb_called", memb_called, {}}};

void print(const Kind& a, const Kind& b) {
  const auto r = ratios(a.ns, b.ns);
  std::printf("%s_to_%s %.3f", a.name, b.name, median(r));
  if (const std::size_t k = outside(r.size()); k != 0)
    std::printf(" low %.3f high %.3f", r[k - 1], r[r.size() - k]);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  int pairs = 2'000'000;
  int rounds = 15;
  std::string only = "all";
  Options options("rlusection", "What a section of readers costs.");
  options.number("--pairs", pairs, 1, 1'000'000'000, "enters and leaves in a round of one");
  options.number("--rounds", rounds, 1, 10'000, "rounds");
  options.choice("--only", only, {"all", "inlined", "memb", "called", "memb_called"},
                 "one alone, once");
  options.parse(argc, argv);

  urcu_memb_register_thread();
  lockswap_rlu_register();
  for (const Kind& k : kinds) {
    if (only == k.name) k.run(static_cast<std::uint64_t>(pairs));
  }
  if (only == "all") {
    constexpr std::size_t kKinds = std::size(kinds);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kKinds; ++i) {
        Kind& k = kinds[round % 2 == 0 ? i : kKinds - 1 - i];
        const double began = cpu_ns();
        k.run(static_cast<std::uint64_t>(pairs));
        k.ns.push_back((cpu_ns() - began) / pairs);
      }
    }
    for (const Kind& k : kinds)
      std::printf("%s_ns %.3f\n", k.name, median(k.ns));
    print(kinds[kInlined], kinds[kMemb]);
    print(kinds[kInlined], kinds[kMembCalled]);
    print(kinds[kCalled], kinds[kMembCalled]);
  }
  urcu_memb_unregister_thread();
  return 0;
}
