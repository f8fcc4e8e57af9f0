#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/rcu_citrus.h"
#include "rlu/rlu_sets.h"

bench::Contest bench::citrus_contest() {
  return {
      {"rlu", sorted<RluCitrus>},
      {"rlu-deferred", sorted<RluCitrus>, true},
      {"rcu-memb", sorted<RcuCitrus<Memb>>},
      {"rcu-qsbr", sorted<RcuCitrus<Qsbr>>},
      {"rwlock", sorted<Guarded<PlainTree>>},
      {"mutex", sorted<Guarded<PlainTree, Mutex>>},
  };
}
