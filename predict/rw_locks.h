// The reader-writer locks of rw_list.def on the modelled machine, with the POSIX contract around
// them, called as in ops/rw_ops.h.
#pragma once

#include <new>
#include <type_traits>

#include "locks/common/events.h"
#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "multicore/cost/platform.h"
#include "posix/rw_contract.h"
#include "predict/lock.h"
#include "readers/readers_table.h"
#include "readers/row_slots.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::predict {

using cost::Modelled;

// What the library prepares once for all locks: BRAVO's table, and the cost of scanning it.
void prepare_readers_table();

template <class W, class LockBelow>
class ContractedRwlock : public Lock {
  using Contract = RwContract<Modelled, W, LockBelow, CountNothing>;

 public:
  void begin() override {
    prepare_readers_table();
    begin_at(*new (cost::zeroed(sizeof(Frame))) Frame{});
  }
  void read() override {
    std::uint64_t rest = Contract::fast_read(*f_);
    if (rest == Contract::kNotBegun) rest = Contract::nested_read(*f_);
    if (rest != 0) Contract::slow_read(*f_, rest, nullptr);
  }
  void write() override {
    const Below below = Contract::fast_write(*f_);
    if (below == Below::arrived) Contract::go_on_writing(*f_);
    if (below == Below::nothing) Contract::write_lock(*f_);
  }
  void read_unlock() override {
    std::uint32_t token = 0;
    if (Contract::has_only_hold(*f_, token)) {
      Contract::fast_read_unlock(*f_, token);
    } else {
      Contract::slow_unlock(*f_);
    }
  }
  void write_unlock() override {
    if (!Contract::fast_write_unlock(*f_)) Contract::write_unlock(*f_);
  }

 protected:
  using Frame = typename Contract::Frame;
  void begin_at(Frame& f) {
    f_ = &f;
    Contract::prepare();
    Contract::begin(*f_);
    if constexpr (requires { f_->core.use(); }) f_->core.use();
  }

 private:
  Frame* f_ = nullptr;
};

template <template <class, class> class Core, template <class> class Wait, ListWords kWords>
void add_forms(const std::string& name, NamedLocks& to) {
  using W = Wait<Modelled>;
  using Any = Core<Modelled, W>;
  const auto add = [&]<class Below>(const std::string& full) {
    predict::add<ContractedRwlock<W, Below>>(to, full, "rwlock", W::kParks);
  };
  if constexpr (has_direct_form(kWords)) {
    add.template operator()<Unbiased<Modelled, Any, CountNothing>>(name);
  }
  if constexpr (has_bravo_form(kWords)) {
    add.template operator()<Bravo<Modelled, W, Any, CountNothing>>("bravo-" + name);
  }
  if constexpr (has_bravo_asym_form<Any>(kWords)) {
    add.template operator()<Bravo<Modelled, W, Any, CountNothing, RowSlots<Modelled, W>>>(
        "bravo-asym-" + name);
  }
}

// A line of the list. glibc's own code can't run on the modelled machine.
template <template <class, class> class Core, ListWords kWords>
void add_rwlock(const std::string& name, NamedLocks& to) {
  if constexpr (!has(kWords, PASSED_THROUGH)) {
    add_forms<Core, Spin, kWords>(name, to);
    add_forms<Core, Park, kWords>(name, to);
  }
}

}  // namespace lockswap::predict
