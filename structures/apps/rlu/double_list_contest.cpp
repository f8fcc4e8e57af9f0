#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/rlu_sets.h"

bench::Contest bench::double_list_contest() {
  return {
      {"rlu", sorted<RluDoubleList>},
      {"rlu-deferred", sorted<RluDoubleList>, true},
      {"rwlock", sorted<Guarded<PlainDoubleList>>},
      {"mutex", sorted<Guarded<PlainDoubleList, Mutex>>},
  };
}
