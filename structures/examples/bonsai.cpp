// The program of docs/bonsai.md: regions of an address space, looked up while they change.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

#include <lockswap/bonsai.hpp>

struct region {
  std::uint64_t end;
  int protection;
};
using domain = lockswap::quiescence<>;
using regions = lockswap::bonsai_map<std::uint64_t, region, domain>;

int main() {
  domain readers;        // one for all trees of the program
  regions map(readers);  // maps a region's start to the region
  std::mutex writers;    // updates exclude each other; lookups take no lock

  std::thread mapper([&] {
    for (std::uint64_t start = 0; start < 1'000'000; start += 4096) {
      const std::lock_guard lock(writers);
      map.insert(start, {start + 4096, 3});
    }
  });

  domain::reader me(readers);  // a thread's place, for as long as the thread reads
  std::uint64_t found = 0;
  for (std::uint64_t address = 100; address < 1'000'000; address += 4096) {
    const auto at = map.floor(me, address);  // the region that may contain the address
    if (at && address < at->value.end) ++found;
  }
  mapper.join();

  std::uint64_t last_end = 0;
  bool in_order = true;
  const auto now = map.snapshot_for(me);  // a consistent snapshot, in key order
  for (const auto& [start, r] : now) {
    in_order = in_order && start >= last_end;
    last_end = r.end;
  }
  std::printf("found %s, in order %s\n", found <= 245 ? "some" : "too many",
              in_order ? "yes" : "no");
  return in_order && last_end >= 1'000'000 ? 0 : 1;
}
