// The Bonsai tree of the library, with lockswap's own grace periods or with liburcu's.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "bonsai/shape.h"
#include "common/report.h"
#include "lockswap/bonsai.hpp"

namespace bench {

struct OwnPeriods {
  using Domain = lockswap::quiescence<>;
  struct Reader : Domain::reader {
    explicit Reader(Domain& domain) : Domain::reader(domain) {}
  };
  static void attach() {}
  static void operation_ends() {}
};

template <lockswap::copies kCopies, class Periods>
class Bonsai {
  using Domain = typename Periods::Domain;

 public:
  struct Hand {
    Hand(Bonsai& of, unsigned) : reader(of.domain_) {}
    typename Periods::Reader reader;
  };
  static void attach() { Periods::attach(); }
  bool contains(Hand& h, std::uint32_t key) {
    const bool found = map_.find(h.reader, key).has_value();
    Periods::operation_ends();
    return found;
  }
  bool insert(Hand&, std::uint32_t key) {
    must(pthread_mutex_lock(&mutex_), "pthread_mutex_lock");
    const bool done = map_.insert(key, key);
    must(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock");
    return done;
  }
  bool erase(Hand&, std::uint32_t key) {
    must(pthread_mutex_lock(&mutex_), "pthread_mutex_lock");
    const bool done = map_.erase(key);
    must(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock");
    return done;
  }
  Shape shape() {
    Shape s;
    if (!map_.is_whole(s.height)) wrong_result("the tree is out of order, or out of balance");
    for ([[maybe_unused]] const auto& e : map_.exclusive())
      ++s.regions;
    const auto c = map_.counts();
    s.garbage = static_cast<double>(c.garbage) / static_cast<double>(c.updates);
    return s;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Domain domain_;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies> map_{domain_};
};

}  // namespace bench
