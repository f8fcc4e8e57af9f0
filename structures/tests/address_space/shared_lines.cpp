// Operations and faults of one thread in turn, as the two threads of `isolated` do them, for a
// trace of their accesses: which cache lines a fault touches that the operation before it has
// written. With two threads each of those is fetched from the other one's processor.
//
//   address_space_shared_lines DESIGN TURNS
//
// A store to `mark` says what follows: an operation, a fault, and then neither. Prints where it is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "address_space/designs.h"
#include "address_space/native.h"

namespace {

using namespace lockswap::address_space;
constexpr std::uint64_t kArena = 1 << 24;  // as in apps/address_space
constexpr std::uint64_t kPages = 1 << 15;
constexpr std::uint64_t kWritten = 64;
alignas(64) volatile std::uint64_t mark;  // in a line of its own
alignas(64) std::uint64_t refused;

template <template <class> class Design>
int run(std::uint64_t turns) {
  using Engine = Space<NativeMachine, Design>;
  const auto engine = std::make_unique<Engine>();
  typename Engine::Hand mapper(engine->sync());
  typename Engine::Hand faulter(engine->sync());
  const std::uint64_t mapped = kArena;
  const std::uint64_t written = 2 * kArena;
  engine->map(faulter, {.start = written, .end = written + kPages, .protection = kRead | kWrite});
  for (std::uint64_t p = written; p < written + kWritten; ++p)
    refused += engine->write(faulter, p, 1) ? 0 : 1;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    mark = 2;
    if (turn % 2 == 0) {
      engine->map(mapper, {.start = mapped, .end = mapped + kPages, .protection = kRead | kWrite});
    } else {
      engine->unmap(mapper, mapped, mapped + kPages);
    }
    mark = 1;
    refused += engine->write(faulter, written + turn % kWritten, turn) ? 0 : 1;
    mark = 0;
  }
  std::printf("mark %p refused %llu\n", const_cast<std::uint64_t*>(&mark),
              static_cast<unsigned long long>(refused));
  return refused == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const std::uint64_t turns = std::strtoull(argv[2], nullptr, 10);
#define DESIGN(name, Class) \
  if (std::strcmp(argv[1], name) == 0) return run<Class>(turns);
#include "address_space/designs.def"
#undef DESIGN
  return 2;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
