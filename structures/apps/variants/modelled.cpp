// lockswap-model-variants: the locks of src/variants/list.def on a modelled machine, in virtual
// time, for the machines that this one is not (predict/session.h).
#include "multicore/cost/platform.h"
#include "predict/rw_locks.h"
#include "predict/session.h"
#include "variants/cores.h"
#include "variants/forms.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace {

using namespace lockswap;
using namespace lockswap::predict;
using namespace lockswap::variants;

// Forms differ in what it costs to scan a table in which the lock isn't named.
template <class W, class Lock>
class Prepared final : public ContractedRwlock<W, Lock> {
  using Base = ContractedRwlock<W, Lock>;
  using typename Base::Frame;

 public:
  void begin() override {
    Base::begin();
    if constexpr (requires(const Frame& frame) { Lock::has_fast_readers(frame); }) {
      const Frame& nobody = *new (cost::zeroed(sizeof(Frame))) Frame{};
      Lock::has_fast_readers(nobody);  // now the table is in the cache
      const std::uint64_t start = Modelled::now();
      Lock::has_fast_readers(nobody);
      Modelled::global<ScanCost>().ns = Modelled::now() - start;
    }
  }
};

template <template <class, class> class Core, class Form, template <class> class Wait>
void add_waiting(NamedLocks& to, const char* name) {
  using W = Wait<Modelled>;
  using Lock = typename Form::template Lock<Modelled, W, Core<Modelled, W>, CountNothing>;
  add<Prepared<W, Lock>>(to, name, "rwlock", W::kParks);
}

NamedLocks all() {
  NamedLocks found;
#define VARIANT(name, Core, Form, extent)     \
  add_waiting<Core, Form, Spin>(found, name); \
  add_waiting<Core, Form, Park>(found, name);
#include "variants/list.def"
#undef VARIANT
  return found;
}

}  // namespace

int main() {
  serve(all());
  return 0;
}
