// The mutexes of mutex_list.def on the modelled machine, with the POSIX contract around them,
// called as in ops/mutex_ops.h.
#pragma once

#include <new>

#include "locks/common/events.h"
#include "multicore/cost/platform.h"
#include "posix/mutex_contract.h"
#include "predict/lock.h"
#include "registry/list_words.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::predict {

template <template <class, class> class Core, class W>
class ContractedMutex final : public Lock {
  using Contract = MutexContract<cost::Modelled, Core<cost::Modelled, W>, CountNothing>;
  using Frame = typename Contract::Frame;

 public:
  void begin() override {
    Contract::prepare();
    f_ = new (cost::zeroed(sizeof(Frame))) Frame{};
    Contract::begin(*f_);
    if constexpr (requires { f_->core.use(); }) f_->core.use();
  }
  void write() override {
    if (const auto rest = Contract::fast_lock(*f_); rest != 0) Contract::slow_lock(*f_, rest);
  }
  void write_unlock() override {
    if (const auto rest = Contract::fast_unlock(*f_); rest != 0) Contract::slow_unlock(*f_, rest);
  }
  void read() override { write(); }
  void read_unlock() override { write_unlock(); }

 private:
  Frame* f_ = nullptr;
};

// A line of the list.
template <template <class, class> class Core>
void add_mutex(const std::string& name, NamedLocks& to) {
  const auto add = [&]<class W>() {
    predict::add<ContractedMutex<Core, W>>(to, name, "mutex", W::kParks);
  };
  add.template operator()<Spin<cost::Modelled>>();
  add.template operator()<Park<cost::Modelled>>();
}

}  // namespace lockswap::predict
