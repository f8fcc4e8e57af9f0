// bonsai_garbage: what the updates of a Bonsai tree leave behind (docs/bonsai.md), by one thread.
//
// --inserts N: inserts N random keys; --sleep S: then a reader sleeps for S seconds in its section
// while --updates updates run, in pairs of an insertion and an erasure.
// --copies path, rotations. Prints "inserts N height H garbage G singles S doubles D", the last
// three for each insertion from half of N to N; with --sleep also "waiting W bytes B after A": the
// most nodes that waited for the reader, their bytes, and those that wait after it.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "common/options.h"
#include "common/random.h"
#include "common/report.h"
#include "lockswap/bonsai.hpp"

namespace {

using lockswap::copies;
using Domain = lockswap::quiescence<>;

template <copies kCopies>
void run(int inserts, double sleep, int updates) {
  Domain domain;
  lockswap::bonsai_map<std::uint64_t, std::uint64_t, Domain, kCopies> map(domain);
  bench::Random random(1);
  const auto key = [&] { return std::uint64_t{random.next()} << 32 | random.next(); };
  const auto n = static_cast<std::uint64_t>(inserts);
  while (map.size() < n / 2)
    map.insert(key(), 0);
  const auto half = map.counts();
  while (map.size() < n)
    map.insert(key(), 0);
  const auto all = map.counts();
  const auto each = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) / static_cast<double>(all.updates - half.updates);
  };
  int height = 0;
  if (!map.is_whole(height)) bench::wrong_result("the tree is out of order, or out of balance");
  std::printf("inserts %d height %d garbage %.3f singles %.3f doubles %.3f\n", inserts, height,
              each(half.garbage, all.garbage), each(half.single_rotations, all.single_rotations),
              each(half.double_rotations, all.double_rotations));
  if (sleep <= 0) return;

  map.synchronize();
  std::atomic<bool> asleep{false};
  std::thread reader([&] {
    Domain::reader me(domain);
    const Domain::section inside(me);
    asleep = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
  });
  while (!asleep)
    std::this_thread::yield();
  for (int i = 0; i < updates; i += 2) {
    const std::uint64_t k = key();
    map.insert(k, 0);
    map.erase(k);
  }
  const std::uint64_t most = map.counts().waiting;
  reader.join();
  map.synchronize();
  std::printf("waiting %" PRIu64 " bytes %" PRIu64 " after %" PRIu64 "\n", most,
              most * map.node_bytes(), map.counts().waiting);
}

}  // namespace

int main(int argc, char** argv) {
  int inserts = 1000;
  int updates = 100'000;
  double sleep = 0;
  std::string form = "path";
  bench::Options options("bonsai_garbage", "What the updates of a Bonsai tree leave behind.");
  options.number("--inserts", inserts, 2, 1 << 26, "keys that are inserted");
  options.number("--sleep", sleep, 0, 3600, "seconds for which a reader sleeps");
  options.number("--updates", updates, 2, 1 << 30, "updates while it sleeps");
  options.choice("--copies", form, {"path", "rotations"}, "what an update copies");
  options.parse(argc, argv);
  if (form == "path") {
    run<copies::path>(inserts, sleep, updates);
  } else {
    run<copies::rotations>(inserts, sleep, updates);
  }
  return 0;
}
