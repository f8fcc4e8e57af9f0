#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/harris_michael.h"
#include "rlu/rcu_sets.h"
#include "rlu/rlu_sets.h"

bench::Contest bench::list_contest() {
  return {
      {"rlu", sorted<RluList>},
      {"rlu-deferred", sorted<RluList>, true},
      {"rcu-memb-call", sorted<RcuList<Memb, Freeing::call>>},
      {"rcu-memb-sync", sorted<RcuList<Memb, Freeing::wait>>},
      {"rcu-qsbr-call", sorted<RcuList<Qsbr, Freeing::call>>},
      {"rcu-qsbr-sync", sorted<RcuList<Qsbr, Freeing::wait>>},
      {"rcu-bp-call", sorted<RcuList<Bp, Freeing::call>>},
      {"rcu-bp-sync", sorted<RcuList<Bp, Freeing::wait>>},
      {"harris-leaky", sorted<HarrisMichaelList<Leak>>},
      {"harris-hazard", sorted<HarrisMichaelList<Hazards>>},
      {"rwlock", sorted<Guarded<PlainList>>},
      {"mutex", sorted<Guarded<PlainList, Mutex>>},
  };
}
