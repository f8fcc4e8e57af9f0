// The cases of a mutex of mutex_list.def. Each mutex has a translation unit of its own for them,
// which CMake writes from mutex_cases.cpp.in.
#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "mutex_under_test.h"
#include "registry/list_words.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::explore::mutex {

// How far quick runs go.
constexpr Bounds kFull{2, 2, 1, 1};
constexpr Bounds kSmall{1, 1, 1, 1};
// Where smaller scripts look at orders, or at stray wake-ups.
constexpr Bounds kNoStale{1, 0, 1, 1};
constexpr Bounds kNoStray{1, 1, 0, 1};
constexpr Bounds kNoStrayNoStale{1, 0, 0, 0};
// Threads run until they wait.
constexpr Bounds kOnlyStale{0, 3, 0, 0};
// As in rw_scripts.h.
constexpr Bounds kSequence{1, 0, 0, 1};
constexpr Bounds kSwitches{2, 0, 0, 1};
constexpr Bounds kStraySwitches{2, 0, 1, 0};
constexpr Bounds kRationedBounds{2, 1, 1, 2};
constexpr Bounds kRationedSwitches{2, 0, 0, 0};
// Where time passes at any moment, and each step is many.
constexpr Bounds kTimes{0, 0, 0, 2};

// For queues, at full length.
constexpr Bounds kQueue{3, 1, 0, 1};

struct MutexScript {
  const char* name;
  std::vector<std::string> threads;
  const Bounds* quick = nullptr;  // nullptr means by the number of threads
  bool gives_back_nodes = false;  // see Case
};
using MutexScripts = std::vector<MutexScript>;

extern const MutexScripts kGeneral;
extern const MutexScripts kGiveUp;
extern const MutexScripts kMany;
extern const MutexScripts kDestroy;
extern const MutexScripts kContract;
extern const MutexScripts kRecursive;
extern const MutexScript kForkRecursiveTwo;
extern const MutexScripts kFork;
extern const MutexScripts kZeroed;
extern const MutexScripts kCond;
extern const MutexScripts kCondStop;
extern const MutexScripts kCondPriority;
extern const MutexScripts kCondFork;
extern const MutexScripts kManyCond;
extern const MutexScripts kAfterTimeOut;
extern const MutexScripts kFar;
extern const MutexScripts kMoreContract;
extern const MutexScripts kAlone;
extern const MutexScripts kTwoLocks;
extern const MutexScripts kMoreFork;
extern const MutexScripts kWound;
extern const MutexScript kChannels;
extern const MutexScripts kMoreCond;
extern const MutexScripts kMoreManyCond;
extern const MutexScripts kCondQueue;
extern const MutexScripts kCondSpin;
// For mutexes that ration hand-offs.
extern const MutexScripts kRationed;
extern const MutexScript kOldest;
extern const MutexScripts kRationedMany;
extern const MutexScripts kUrgent;
extern const MutexScript kLifted;
// What the cases of a mutex depend on, beside its name.
struct Traits {
  bool has_same_contract = false;  // as the mutex before it in the list
  bool is_large = false;           // its state is a block beside it
  bool rations_hand_offs = false;
};

class MutexBuilder {
 public:
  explicit MutexBuilder(Cases& cases) : cases_(cases) {}

  // A line of mutex_list.def; of yield, see RwBuilder::add_line.
  template <template <class, class> class Core, ListWords kWords>
  void add_line(const std::string& name) {
    const std::string mutex = "mutex/" + name;
    add<Core, Spin, has(kWords, SAME_CONTRACT)>(mutex + "/spin");
    add<Core, Park, has(kWords, SAME_CONTRACT)>(mutex + "/park");
    using Contract = MutexLock<Core, Park>;
    if constexpr (has(kWords, SHOWS_CONDS)) {
      add_conds("cond/" + name + "/park", lock<Contract>(), lock<Contract, 1>());
    } else if constexpr (!has(kWords, WAITS_AS_ANOTHER)) {
      add_each_cond("cond/" + name + "/park", lock<Contract>());
    }
  }

  // All that is asked of condition variables, over this mutex.
  void add_conds(const std::string& name, LockUnderTest& mutex, LockUnderTest& second);

 private:
  // The mutexes of a type that an execution may have.
  template <class Lock, int... kPlace>
  static LockUnderTest& lock() {
    static Lock lock(kPlace...);
    return lock;
  }

  template <template <class, class> class Core, template <class> class Wait, bool kSameContract>
  void add(const std::string& name) {
    using Contract = MutexLock<Core, Wait>;
    using Explored = Core<explore::Explored, Wait<explore::Explored>>;
    Traits traits;
    traits.has_same_contract = kSameContract;
    traits.is_large = requires { &Explored::block_bytes; };
    traits.rations_hand_offs = requires { Explored::kRationsHandOffs; };
    LockUnderTest& core = lock<MutexCore<Core, Wait>>();
    if constexpr (kSameContract) {
      add_core(name, traits, core);
      add_each(name, lock<Contract>());
    } else {
      add_all(name, traits, core, lock<Contract>(), lock<Contract, 1>(),
              lock<MutexLock<Core, Wait, mutex_kind::kRecursive>>());
    }
  }

  void add_all(const std::string& name, const Traits& traits, LockUnderTest& core,
               LockUnderTest& contract, LockUnderTest& second, LockUnderTest& recursive);
  void add_core(const std::string& name, const Traits& traits, LockUnderTest& core);
  // The least that a mutex and a wait policy need.
  void add_each(const std::string& name, LockUnderTest& contract);
  // A condition variable; over other mutexes only what the two share.
  void add_each_cond(const std::string& name, LockUnderTest& mutex);
  void add_wound(const std::string& name, LockUnderTest& core);
  void add_rationed(const std::string& name, LockUnderTest& core);
  Case& add_case(const std::string& lock_name, LockUnderTest& lock, const MutexScript& s);

  Cases& cases_;
};

}  // namespace lockswap::explore::mutex
