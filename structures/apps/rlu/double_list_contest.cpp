#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/rcu_double_list.h"
#include "rlu/rlu_sets.h"

bench::Contest bench::double_list_contest() {
  return {
      {"rlu", sorted<RluDoubleList>},
      {"rlu-deferred", sorted<RluDoubleList>, true},
      {"rcu-memb-call", sorted<RcuDoubleList<Memb, Freeing::call>>},
      {"rcu-memb-sync", sorted<RcuDoubleList<Memb, Freeing::wait>>},
      {"rcu-qsbr-call", sorted<RcuDoubleList<Qsbr, Freeing::call>>},
      {"rwlock", sorted<Guarded<PlainDoubleList>>},
      {"mutex", sorted<Guarded<PlainDoubleList, Mutex>>},
  };
}
