// Faults of one thread, for a count of their instructions: page_fault1's rounds of a fault in each
// page of a mapping of 16 MB. `faults` is a function of its own so that callgrind can collect there
// alone, without the map and the unmap.
//
//   address_space_fault_cost DESIGN ROUNDS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "address_space/designs.h"
#include "address_space/native.h"

namespace {

using namespace lockswap::address_space;
constexpr std::uint64_t kFirst = 1 << 24;
constexpr std::uint64_t kPages = 4096;

template <class Engine>
[[gnu::noinline]] std::uint64_t faults(Engine& engine, typename Engine::Hand& hand) {
  std::uint64_t refused = 0;
  for (std::uint64_t p = kFirst; p < kFirst + kPages; ++p)
    refused += engine.write(hand, p, p) ? 0 : 1;
  return refused;
}

template <template <class> class Design>
int run(int rounds) {
  using Engine = Space<NativeMachine, Design>;
  const auto engine = std::make_unique<Engine>();
  typename Engine::Hand hand(engine->sync());
  std::uint64_t refused = 0;
  for (int i = 0; i < rounds; ++i) {
    engine->map(hand, {.start = kFirst, .end = kFirst + kPages, .protection = kRead | kWrite});
    refused += faults(*engine, hand);
    engine->unmap(hand, kFirst, kFirst + kPages);
  }
  std::printf("faults %llu refused %llu\n", static_cast<unsigned long long>(kPages) * rounds,
              static_cast<unsigned long long>(refused));
  return refused == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const int rounds = std::atoi(argv[2]);
#define DESIGN(name, Class) \
  if (std::strcmp(argv[1], name) == 0) return run<Class>(rounds);
#include "address_space/designs.def"
#undef DESIGN
  return 2;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
