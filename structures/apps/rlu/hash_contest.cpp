#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/harris_michael.h"
#include "rlu/rcu_sets.h"
#include "rlu/rculfhash.h"
#include "rlu/rlu_sets.h"

bench::Contest bench::hash_contest() {
  return {
      {"rlu", unsorted<RluHash>},
      {"rlu-deferred", unsorted<RluHash>, true},
      {"rcu-memb-call", unsorted<RcuHash<Memb, Freeing::call>>},
      {"rcu-memb-sync", unsorted<RcuHash<Memb, Freeing::wait>>},
      {"rcu-qsbr-call", unsorted<RcuHash<Qsbr, Freeing::call>>},
      {"rcu-qsbr-sync", unsorted<RcuHash<Qsbr, Freeing::wait>>},
      {"rcu-bp-call", unsorted<RcuHash<Bp, Freeing::call>>},
      {"rcu-bp-sync", unsorted<RcuHash<Bp, Freeing::wait>>},
      {"harris-leaky", unsorted<HarrisMichaelHash<Leak>>},
      {"harris-hazard", unsorted<HarrisMichaelHash<Hazards>>},
      {"rculfhash", unsorted<RcuLfHash<Memb>>},
      {"rwlock", unsorted<Guarded<PlainHash>>},
      {"mutex", unsorted<Guarded<PlainHash, Mutex>>},
  };
}
