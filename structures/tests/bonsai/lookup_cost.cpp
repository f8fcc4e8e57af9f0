// Lookups of one thread, as those of apps/bonsai, for a count of their instructions and cache
// misses by callgrind: `lookups` is a function of its own so that it collects there alone.
//
//   bonsai_lookup_cost STRUCTURE REGIONS LOOKUPS
//
// STRUCTURE is path or rotations, the Bonsai tree, or map: std::map under glibc's rwlock.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <type_traits>

#include "common/random.h"
#include "lockswap/bonsai.hpp"

namespace {

using Key = std::uint32_t;

template <lockswap::copies kind>
class Tree {
 public:
  void insert(Key key) { map_.insert(key, key); }
  bool contains(Key key) { return map_.find(me_, key).has_value(); }

 private:
  using Domain = lockswap::quiescence<>;
  Domain domain_;
  Domain::reader me_{domain_};
  lockswap::bonsai_map<Key, Key, Domain, kind> map_{domain_};
};

class LockedMap {
 public:
  void insert(Key key) { map_.emplace(key, key); }
  bool contains(Key key) {
    pthread_rwlock_rdlock(&lock_);
    const bool found = map_.find(key) != map_.end();
    pthread_rwlock_unlock(&lock_);
    return found;
  }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
  std::map<Key, Key> map_;
};

template <class Structure>
[[gnu::noinline]] std::uint64_t lookups(Structure& of, bench::Random& random, Key keys,
                                        std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    found += of.contains(1 + random.below(keys)) ? 1 : 0;
  return found;
}

template <class Structure>
int run(Key regions, std::uint64_t count) {
  Structure structure;
  const Key keys = 2 * regions;
  bench::Random filling(0);
  for (Key there = 0; there < regions;) {
    const Key key = 1 + filling.below(keys);
    if (structure.contains(key)) continue;
    structure.insert(key);
    ++there;
  }
  bench::Random random(1);
  const std::uint64_t found = lookups(structure, random, keys, count);
  std::printf("lookups %llu found %llu\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(found));
  return found > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto regions = static_cast<Key>(std::strtoul(argv[2], nullptr, 10));
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  if (std::strcmp(argv[1], "path") == 0) return run<Tree<lockswap::copies::path>>(regions, count);
  if (std::strcmp(argv[1], "rotations") == 0)
    return run<Tree<lockswap::copies::rotations>>(regions, count);
  if (std::strcmp(argv[1], "map") == 0) return run<LockedMap>(regions, count);
  return 2;
}
