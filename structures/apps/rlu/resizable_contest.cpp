#include "rlu/contestant_of.h"
#include "rlu/guarded_sets.h"
#include "rlu/rculfhash.h"
#include "rlu/rlu_sets.h"
#include "rlu/triplett.h"

bench::Contest bench::resizable_contest() {
  return {
      {"rlu", unsorted<RluResizable>},
      {"rlu-deferred", unsorted<RluResizable>, true},
      {"triplett", unsorted<TriplettHash<Memb>>},
      {"rculfhash", unsorted<RcuLfHash<Memb>>},
      {"rwlock", unsorted<Guarded<PlainHash>>},
      {"mutex", unsorted<Guarded<PlainHash, Mutex>>},
  };
}
