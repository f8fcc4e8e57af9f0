// The second program of docs/bonsai.md: the tree over liburcu's grace periods.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

#include <lockswap/bonsai.hpp>
#include <lockswap/urcu.hpp>

struct region {
  std::uint64_t end;
  int protection;
};

using domain = lockswap::urcu_domain<lockswap::urcu::memb>;  // or mb, qsbr, bp
domain readers;
lockswap::bonsai_map<std::uint64_t, region, domain> map(readers);

static std::uint64_t ends_from(domain::reader& reader) {
  std::uint64_t sum = 0;
  for (std::uint64_t start = 0; start < 100; ++start) {
    if (const auto found = map.find(reader, start)) sum += found->value.end - start;
  }
  return sum;
}

int main() {
  std::thread mapper([] {
    for (std::uint64_t start = 0; start < 100; ++start) {
      map.insert(start, {start + 1, 3});
      map.insert_or_assign(start, {start + 1, 1});
    }
  });
  const bool few = [] {
    domain::reader me(readers);  // registers the thread with liburcu
    return ends_from(me) <= 100;
  }();
  mapper.join();
  urcu_memb_register_thread();
  std::uint64_t all = 0;
  {
    domain::reader known(readers, lockswap::urcu::registered);  // or: the program has done that
    all = ends_from(known);
  }
  urcu_memb_unregister_thread();
  std::printf("%s, then %d\n", few ? "at most all" : "too many", static_cast<int>(all));
}
