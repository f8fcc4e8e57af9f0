// The virtual machine's memory must allow what its model allows, and nothing else. Litmus tests are
// tiny programs; all their outcomes under each model are compared with the exact set that the model
// defines, worked out by hand. The names are the literature's.
//
// Outcomes that C++20 allows and this machine never shows (its limits, see memory.h) are stated as
// such, so that the limits are tested too.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "multicore/explore/plain.h"
#include "multicore/explore/platform.h"

namespace lockswap::explore {
namespace {

using Outcomes = std::set<std::string>;

// What a thread does, as words:
//
//   x=1:rel       store to x; y, z likewise. Orders: rlx, acq, rel, acq_rel, sc
//   r0=x:acq      load into register 0; r0=x+1:rlx fetch-add; r0=x?0>2:rlx compare-exchange, 1 if
//                 it succeeded
//   fence:sc      also heavy, light
//   data! data?   write, read plain data
//   r0!           end here if register 0 is 0
//
// An outcome is the registers' values in order, then those of x and y at the end if `finals`.
struct Litmus {
  const char* name;
  std::vector<std::string> threads;
  int registers;
  bool finals;
  Outcomes sc, tso, c11;
  Outcomes missing = {};  // C++20 allows them, c11 never shows them
};

struct World {
  ExploredAtomic<std::uint32_t> atoms[3];
  Plain data;
  char registers[4];
};

[[noreturn]] void bad(const std::string& word) {
  std::fprintf(stderr, "litmus_test: bad word '%s'\n", word.c_str());
  std::exit(2);
}

Order order_named(const std::string& name) {
  if (name == "rlx") return relaxed;
  if (name == "acq") return acquire;
  if (name == "rel") return release;
  if (name == "acq_rel") return acq_rel;
  if (name == "sc") return seq_cst;
  bad(name);
}

void step(World& w, const std::string& word) {
  if (word == "heavy") return Explored::heavy_fence();
  if (word == "light") return Explored::light_fence();
  if (word == "data!") return w.data.write();
  if (word == "data?") return w.data.read();
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) bad(word);
  const Order order = order_named(word.substr(colon + 1));
  if (word.starts_with("fence")) return machine.fence(Op::fence, order, Site::current());
  const auto digit = [&](std::size_t at) { return static_cast<std::uint32_t>(word[at] - '0'); };
  if (word[0] != 'r') return w.atoms[word[0] - 'x'].store(digit(2), order);
  char& reg = w.registers[digit(1)];
  auto& atom = w.atoms[word[3] - 'x'];
  std::uint32_t result = 0;
  if (word[4] == '+') {
    result = atom.fetch_add(digit(5), order);
  } else if (word[4] == '?') {
    std::uint32_t expected = digit(5);
    result = atom.compare_exchange(expected, digit(7), order) ? 1 : 0;
  } else {
    result = atom.load(order);
  }
  reg = static_cast<char>('0' + result);
}

std::uint64_t executions[2];  // in all; with the reduction

// A failure is an outcome too, by its text.
Outcomes outcomes_of(const Litmus& l, MemoryModel model, bool reduced = false) {
  std::vector<std::vector<std::string>> threads;
  for (const std::string& t : l.threads) {
    std::istringstream words(t);
    std::string word;
    for (threads.emplace_back(); words >> word;)
      threads.back().push_back(word);
  }
  Outcomes seen;
  std::unique_ptr<World> world;
  Scenario s;
  s.threads = static_cast<int>(threads.size());
  s.setup = [&] { world = std::make_unique<World>(); };
  s.body = [&](int i) {
    for (const std::string& word : threads[static_cast<std::size_t>(i)]) {
      const bool stops = word.size() == 3 && word[2] == '!';
      if (stops && world->registers[word[1] - '0'] == '0') break;
      if (!stops) step(*world, word);
    }
  };
  s.finish = [&] {
    std::string out(world->registers, static_cast<std::size_t>(l.registers));
    for (int i = 0; l.finals && i < 2; ++i)
      out += static_cast<char>('0' + world->atoms[i].load(relaxed));
    seen.insert(out);
  };
  // All that a thread has are values that it read.
  if (reduced) s.state = [] { return std::uint64_t{0}; };
  constexpr Bounds kAll{50, 50, 0, 0};
  machine.model = model;
  machine.search.restart();
  do {
    if (!machine.run(s, kAll)) seen.insert(machine.failure());
    ++executions[reduced];
  } while (machine.search.advance());
  return seen;
}

// All words of that many letters, but for some.
Outcomes all_but(std::size_t length, const Outcomes& without, const std::string& letters = "01") {
  Outcomes all = {""};
  for (std::size_t i = 0; i < length; ++i) {
    Outcomes longer;
    for (const std::string& o : all) {
      for (char c : letters)
        longer.insert(o + c);
    }
    all = std::move(longer);
  }
  for (const std::string& o : without)
    all.erase(o);
  return all;
}

Outcomes operator+(Outcomes a, const Outcomes& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// The same set under each model.
Litmus same(const char* name, std::vector<std::string> threads, int registers, bool finals,
            const Outcomes& o) {
  return {name, std::move(threads), registers, finals, o, o, o};
}

// Two threads read two atoms each twice, or the same one: pairs that coherence allows.
Outcomes coherent_pairs() {
  const std::vector<std::string> pairs = {"00", "01", "02", "11", "12", "22", "21"};
  Outcomes o;
  for (const std::string& a : pairs) {
    for (const std::string& b : pairs)
      o.insert(a + b);
  }
  o.erase("1221");
  o.erase("2112");
  return o;
}

std::vector<Litmus> store_buffering() {
  const Outcomes strong = all_but(2, {"00"}), all = all_but(2, {});
  return {
      {"SB", {"x=1:rlx r0=y:rlx", "y=1:rlx r1=x:rlx"}, 2, false, strong, all, all},
      {"SB+rel+acq", {"x=1:rel r0=y:acq", "y=1:rel r1=x:acq"}, 2, false, strong, all, all},
      {"SB+rmw",
       {"r2=x+1:acq_rel r0=y:acq", "r3=y+1:acq_rel r1=x:acq"},
       2,
       false,
       strong,
       strong,
       all},
      same("SB+sc", {"x=1:sc r0=y:sc", "y=1:sc r1=x:sc"}, 2, false, strong),
      {"SB+sc stores", {"x=1:sc r0=y:acq", "y=1:sc r1=x:acq"}, 2, false, strong, strong, all},
      {"SB+sc loads", {"x=1:rel r0=y:sc", "y=1:rel r1=x:sc"}, 2, false, strong, all, all},
      same("SB+sc fences", {"x=1:rlx fence:sc r0=y:rlx", "y=1:rlx fence:sc r1=x:rlx"}, 2, false,
           strong),
      {"SB+acq_rel fences",
       {"x=1:rlx fence:acq_rel r0=y:rlx", "y=1:rlx fence:acq_rel r1=x:rlx"},
       2,
       false,
       strong,
       all,
       all},
      {"SB+one fence",
       {"x=1:rlx fence:sc r0=y:rlx", "y=1:rlx r1=x:rlx"},
       2,
       false,
       strong,
       all,
       all},
      // C++20 [atomics.order]: a fence on one side, seq_cst accesses on the other.
      same("SB+fence+sc", {"x=1:rlx fence:sc r0=y:rlx", "y=1:sc r1=x:sc"}, 2, false, strong),
      {"SB+fence+sc store",
       {"x=1:rlx fence:sc r0=y:rlx", "y=1:sc r1=x:acq"},
       2,
       false,
       strong,
       strong,
       all},
      same("SB+heavy+light", {"x=1:rlx heavy r0=y:rlx", "y=1:rlx light r1=x:rlx"}, 2, false,
           strong),
      {"SB+light+light",
       {"x=1:rlx light r0=y:rlx", "y=1:rlx light r1=x:rlx"},
       2,
       false,
       strong,
       all,
       all},
      // R: a store and a load after it, against two stores.
      {"R",
       {"x=1:rlx y=1:rlx", "y=2:rlx r0=x:rlx"},
       1,
       true,
       {"011", "111", "112"},
       {"011", "012", "111", "112"},
       {"011", "012", "111", "112"}},
      same("R+sc", {"x=1:sc y=1:sc", "y=2:sc r0=x:sc"}, 1, true, {"011", "111", "112"}),
  };
}

std::vector<Litmus> message_passing() {
  const Outcomes strong = all_but(2, {"10"}), all = all_but(2, {});
  const Outcomes rest = all_but(3, {"110"});
  const Outcomes sequence = {"00", "01", "11", "40", "41", "51"};
  const Outcomes stored = {"000", "001", "011", "040", "041", "100", "101", "111", "141"};
  return {
      {"MP", {"x=1:rlx y=1:rlx", "r0=y:rlx r1=x:rlx"}, 2, false, strong, strong, all},
      same("MP+rel+acq", {"x=1:rlx y=1:rel", "r0=y:acq r1=x:rlx"}, 2, false, strong),
      {"MP+rel", {"x=1:rlx y=1:rel", "r0=y:rlx r1=x:rlx"}, 2, false, strong, strong, all},
      {"MP+acq", {"x=1:rlx y=1:rlx", "r0=y:acq r1=x:rlx"}, 2, false, strong, strong, all},
      same("MP+fences", {"x=1:rlx fence:rel y=1:rlx", "r0=y:rlx fence:acq r1=x:rlx"}, 2, false,
           strong),
      same("MP+rel fence", {"x=1:rlx fence:rel y=1:rlx", "r0=y:acq r1=x:rlx"}, 2, false, strong),
      same("MP+acq fence", {"x=1:rlx y=1:rel", "r0=y:rlx fence:acq r1=x:rlx"}, 2, false, strong),
      {"MP+late fence",
       {"x=1:rlx y=1:rlx fence:rel", "r0=y:acq r1=x:rlx"},
       2,
       false,
       strong,
       strong,
       all},
      // Release sequences: updates continue them, stores do not, the thread's own neither (C++20).
      same("MP+rmw between", {"x=1:rlx y=1:rel", "r2=y+4:rlx", "r0=y:acq r1=x:rlx"}, 2, false,
           sequence),
      {"MP+store between",
       {"x=1:rlx y=1:rel", "r0=y:rlx y=4:rlx", "r1=y:acq r2=x:rlx"},
       3,
       false,
       stored,
       stored,
       stored + Outcomes{"140"}},
      {"MP+own store",
       {"x=1:rlx y=1:rel y=2:rlx", "r0=y:acq r1=x:rlx"},
       2,
       false,
       {"00", "01", "11", "21"},
       {"00", "01", "11", "21"},
       {"00", "01", "11", "20", "21"}},
      // Chains.
      same("WRC+rel+acq", {"x=1:rlx", "r0=x:rlx y=1:rel", "r1=y:acq r2=x:rlx"}, 3, false, rest),
      {"WRC",
       {"x=1:rlx", "r0=x:rlx y=1:rlx", "r1=y:rlx r2=x:rlx"},
       3,
       false,
       rest,
       rest,
       all_but(3, {})},
      same("ISA2+rel+acq", {"x=1:rlx y=1:rel", "r0=y:acq z=1:rel", "r1=z:acq r2=x:rlx"}, 3, false,
           rest),
      {"ISA2+rlx",
       {"x=1:rlx y=1:rel", "r0=y:acq z=1:rlx", "r1=z:acq r2=x:rlx"},
       3,
       false,
       rest,
       rest,
       all_but(3, {})},
      // RWC: the single order of fences reaches threads that only read.
      same("RWC+fences", {"x=1:rlx", "r0=x:acq fence:sc r1=y:rlx", "y=1:rlx fence:sc r2=x:rlx"}, 3,
           false, all_but(3, {"100"})),
      {"RWC",
       {"x=1:rel", "r0=x:acq r1=y:acq", "y=1:rel r2=x:acq"},
       3,
       false,
       all_but(3, {"100"}),
       all_but(3, {}),
       all_but(3, {})},
      // Plain data: happens-before by the declared orders, under each model.
      same("data+rel+acq", {"data! x=1:rel", "r0=x:acq r0! data?"}, 1, false, {"0", "1"}),
      same("data+rlx", {"data! x=1:rlx", "r0=x:acq r0! data?"}, 1, false,
           {"0", "data race: T1 reads what T0 writes, and no order between them"}),
  };
}

std::vector<Litmus> coherence() {
  const Outcomes iriw = all_but(4, {"1010"});
  const Outcomes two = {"12", "21", "22"};
  const Outcomes rmw = {"0131", "1013", "1133"};
  return {
      {"IRIW+acq",
       {"x=1:rel", "y=1:rel", "r0=x:acq r1=y:acq", "r2=y:acq r3=x:acq"},
       4,
       false,
       iriw,
       iriw,
       all_but(4, {})},
      same("IRIW+sc", {"x=1:sc", "y=1:sc", "r0=x:sc r1=y:sc", "r2=y:sc r3=x:sc"}, 4, false, iriw),
      same("IRIW+fences",
           {"x=1:rlx", "y=1:rlx", "r0=x:rlx fence:sc r1=y:rlx", "r2=y:rlx fence:sc r3=x:rlx"}, 4,
           false, iriw),
      same("CoRR", {"x=1:rlx x=2:rlx", "r0=x:rlx r1=x:rlx"}, 2, false,
           {"00", "01", "02", "11", "12", "22"}),
      same("CoRR2", {"x=1:rlx", "x=2:rlx", "r0=x:rlx r1=x:rlx", "r2=x:rlx r3=x:rlx"}, 4, false,
           coherent_pairs()),
      same("CoWR", {"x=1:rlx r0=x:rlx", "x=2:rlx"}, 1, true, {"110", "120", "220"}),
      same("CoRW", {"r0=x:rlx x=1:rlx", "x=2:rlx"}, 1, true, {"010", "020", "210"}),
      // Modification orders that no order of execution gives: a store between older ones.
      {"2+2W", {"x=1:rlx y=2:rlx", "y=1:rlx x=2:rlx"}, 0, true, two, two, two + Outcomes{"11"}},
      {"2+2W+rel", {"x=1:rel y=2:rel", "y=1:rel x=2:rel"}, 0, true, two, two, two + Outcomes{"11"}},
      same("2+2W+sc", {"x=1:sc y=2:sc", "y=1:sc x=2:sc"}, 0, true, two),
      same("2+2W+fences", {"x=1:rlx fence:sc y=2:rlx", "y=1:rlx fence:sc x=2:rlx"}, 0, true, two),
      {"S",
       {"x=2:rlx y=1:rlx", "r0=y:rlx x=1:rlx"},
       1,
       true,
       {"011", "021", "111"},
       {"011", "021", "111"},
       {"011", "021", "111", "121"}},
      same("S+rel+acq", {"x=2:rlx y=1:rel", "r0=y:acq x=1:rlx"}, 1, true, {"011", "021", "111"}),
      // Updates.
      same("RMW", {"r0=x+1:rlx", "r1=x+1:rlx"}, 2, true, {"0120", "1020"}),
      same("CAS", {"r0=x?0>1:rlx", "r1=x?0>2:rlx"}, 2, true, {"1010", "0120"}),
      same("RMW+store", {"r0=x+1:rlx", "x=5:rlx"}, 1, true, {"050", "560"}),
      {"2+2W+rmw",
       {"x=1:rlx r0=y+2:rlx", "y=1:rlx r1=x+2:rlx"},
       2,
       true,
       rmw,
       rmw,
       rmw + Outcomes{"0011"}},
      // Limits.
      {"LB",
       {"r0=y:rlx x=1:rlx", "r1=x:rlx y=1:rlx"},
       2,
       false,
       all_but(2, {"11"}),
       all_but(2, {"11"}),
       all_but(2, {"11"}),
       {"11"}},
      // Its sets are not worked out here. 130 needs a single order that happens-before contradicts.
      {"Z6.U",
       {"x=1:sc y=1:rel", "r0=y+1:sc r1=y:rlx", "y=3:sc r2=x:sc"},
       3,
       false,
       {},
       {},
       {},
       {"130"}},
  };
}

int failures = 0;

void expect(const char* name, const char* model, const Outcomes& seen, const Outcomes& wanted) {
  if (seen == wanted || wanted.empty()) return;
  ++failures;
  const auto print = [](const char* what, const Outcomes& some, const Outcomes& others) {
    for (const std::string& o : some) {
      if (!others.contains(o)) std::printf("  %s %s", what, o.c_str());
    }
  };
  std::printf("FAILED %s under %s:", name, model);
  print("shows", seen, wanted);
  print("lacks", wanted, seen);
  std::printf("\n");
}

void check(const Litmus& l) {
  const Outcomes sc = outcomes_of(l, MemoryModel::sc);
  const Outcomes tso = outcomes_of(l, MemoryModel::tso);
  const Outcomes c11 = outcomes_of(l, MemoryModel::c11);
  expect(l.name, "sc", sc, l.sc);
  expect(l.name, "tso", tso, l.tso);
  expect(l.name, "c11", c11, l.c11);
  // Executions that end where another one went on lose no outcome.
  expect(l.name, "sc, reduced", outcomes_of(l, MemoryModel::sc, true), sc);
  expect(l.name, "tso, reduced", outcomes_of(l, MemoryModel::tso, true), tso);
  expect(l.name, "c11, reduced", outcomes_of(l, MemoryModel::c11, true), c11);
  for (const std::string& o : l.missing) {
    if (!c11.contains(o)) continue;
    ++failures;
    std::printf("FAILED %s: %s is shown now, strike it from the limits\n", l.name, o.c_str());
  }
  std::printf("%-18s %zu outcomes under sc, %zu under tso, %zu under c11\n", l.name, sc.size(),
              tso.size(), c11.size());
}

}  // namespace
}  // namespace lockswap::explore

int main() {
  using namespace lockswap::explore;
  for (const auto& group : {store_buffering(), message_passing(), coherence()}) {
    for (const Litmus& l : group)
      check(l);
  }
  std::printf("%llu executions, %llu with the reduction\n",
              static_cast<unsigned long long>(executions[0]),
              static_cast<unsigned long long>(executions[1]));
  if (executions[1] >= executions[0]) {
    ++failures;
    std::printf("FAILED: the reduction saves nothing\n");
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
