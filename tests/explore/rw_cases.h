// The cases of a lock of rw_list.def. Each lock has a translation unit of its own, which CMake
// writes from rw_cases.cpp.in: it makes the locks under test, and rw_cases.cpp makes their cases.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "lock_under_test.h"
#include "locks/common/read_tokens.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "rw_scripts.h"
#include "wait/park.h"
#include "wait/spin.h"

namespace lockswap::explore::rw {

// What the cases of a lock depend on, beside its name.
struct Traits {
  bool is_large = false;    // its state is a block beside it
  bool has_tokens = false;  // its reads have tokens
  bool is_systems = false;  // glibc's, which is a model here
  bool rations_hand_offs = false;
  bool leaves_bias = false;  // its readers may leave the bias of an unbiased lock alone
  bool readers_exclude = false;
  bool is_bravo = false;  // it is under BRAVO
  bool is_asym = false;   // and fast readers have rows, not slots

  // For a lock of which most is explored as another one: bounds as if it were small.
  constexpr Traits briefly() const {
    Traits brief = *this;
    brief.is_large = brief.has_tokens = false;
    return brief;
  }
  constexpr Traits under_bravo(bool asym = false) const {
    Traits bravo = *this;
    bravo.is_bravo = true;
    bravo.is_asym = asym;
    return bravo;
  }
};
template <class Core>
constexpr Traits traits_of() {
  Traits traits;
  traits.is_large = requires { &Core::block_bytes; };
  traits.has_tokens = ReadTokens<Core>::kHasTokens;
  traits.is_systems = !requires(Core & core) { core.idle(); };
  traits.rations_hand_offs = requires { Core::kRationsHandOffs; };
  traits.leaves_bias = OneUpdateReadCore<Core> || ReadIfFreeCore<Core>;
  traits.readers_exclude = Core::kClaims.readers_exclude;
  return traits;
}

class RwBuilder {
 public:
  // A line of rw_list.def, with all its forms. The wait policy yield is the source of spin and
  // differs below P::await alone, so nothing is explored under its name.
  template <template <class, class> class Core, ListWords kWords>
  void add_line(const std::string& name) {
    using Any = Core<Explored, Spin<Explored>>;
    constexpr bool kIsBriefly = has(kWords, SAME_EXPLORED) || has(kWords, SAME_CONTRACT);
    if constexpr (has_direct_form(kWords)) {
      if constexpr (has(kWords, SAME_EXPLORED)) {
        add_unbiased_form<Core, Direct>(name);
      } else if constexpr (has(kWords, SAME_CONTRACT)) {
        add_core_and_each<Core, Spin>(name + "/spin");
        add_core_and_each<Core, Park>(name + "/park");
      } else {
        constexpr bool kBravo = has_bravo_form(kWords);
        add<Core, Spin, kBravo>(name + "/spin");
        add<Core, Park, kBravo>(name + "/park");
      }
    }
    if constexpr (has_bravo_form(kWords)) {
      if constexpr (kIsBriefly) {
        add_form_briefly<Core, UnderBravo>("bravo-" + name);
      } else if constexpr (!has_direct_form(kWords)) {
        // glibc's lock is a model here; how it waits is its own affair, so the policy is BRAVO's.
        add_bravo<Core, Spin, UnderBravo>("bravo-" + name + "/spin",
                                          kTraits<Core, Spin>.under_bravo());
        add_bravo<Core, Park, UnderBravo>("bravo-" + name + "/park",
                                          kTraits<Core, Park>.under_bravo());
      }
    }
    if constexpr (has_bravo_asym_form<Any>(kWords)) {
      const std::string asym = "bravo-asym-" + name;
      if constexpr (has(kWords, EXPLORES_ASYM)) {
        add_bravo_asym<Core, Spin>(asym + "/spin");
        add_bravo_asym<Core, Park>(asym + "/park");
      } else {
        add_form_briefly<Core, UnderBravoAsym>(asym);
      }
    }
  }

  // The same core under another form of BRAVO, by all of BRAVO's cases or by the least of them.
  template <template <class, class> class Core, class Over>
  void add_form(const std::string& name) {
    constexpr Traits traits = kTraits<Core, Spin>.briefly().under_bravo();
    add_bravo<Core, Spin, Over>(name + "/spin", traits);
    add_bravo_forks(name + "/spin", traits, first<ContractLock<Core, Spin, Over>>());
    add_each_bravo<Core, Park, Over>(name + "/park");
  }
  template <template <class, class> class Core, class Over>
  void add_form_briefly(const std::string& name) {
    add_each_bravo<Core, Spin, Over>(name + "/spin");
    add_each_bravo<Core, Park, Over>(name + "/park");
  }
  // The least of a form whose bias never is on.
  template <template <class, class> class Core, class Over>
  void add_unbiased_form(const std::string& name) {
    add_each(name + "/spin", {}, first<ContractLock<Core, Spin, Over>>());
    add_each(name + "/park", {}, first<ContractLock<Core, Park, Over>>());
  }

  Cases take() { return std::move(cases_); }

 private:
  template <template <class, class> class Core, template <class> class Wait>
  static constexpr Traits kTraits = traits_of<Core<Explored, Wait<Explored>>>();

  // The two locks of a type that an execution may have.
  template <class Lock>
  static LockUnderTest& first() {
    static Lock lock;
    return lock;
  }
  template <class Lock>
  static LockUnderTest& second() {
    static Lock lock(1);
    return lock;
  }

  // A lock, and the same under BRAVO. Name: lock/wait policy.
  template <template <class, class> class Core, template <class> class Wait, bool kBravo>
  void add(const std::string& name) {
    using Contract = ContractLock<Core, Wait, Direct>;
    constexpr Traits traits = kTraits<Core, Wait>;
    add_all(name, traits, first<CoreLock<Core, Wait>>(), first<Contract>(), second<Contract>());
    if constexpr (kBravo) {
      add_bravo<Core, Wait, UnderBravo>("bravo-" + name, traits.under_bravo());
      add_bravo_forks("bravo-" + name, traits.under_bravo(),
                      first<ContractLock<Core, Wait, UnderBravo>>());
    }
  }
  template <template <class, class> class Core, template <class> class Wait>
  void add_core_and_each(const std::string& name) {
    add_core(name, kTraits<Core, Wait>, first<CoreLock<Core, Wait>>(),
             first<ContractLock<Core, Wait, Direct>>());
  }
  template <template <class, class> class Core, template <class> class Wait, class Over>
  void add_bravo(const std::string& name, const Traits& traits) {
    using Contract = ContractLock<Core, Wait, Over>;
    add_bravo(name, traits, first<Contract>(), second<Contract>());
  }
  // The same BRAVO over another lock, with readers in rows.
  template <template <class, class> class Core, template <class> class Wait>
  void add_bravo_asym(const std::string& name) {
    constexpr Traits traits = kTraits<Core, Wait>.under_bravo(true);
    add_bravo<Core, Wait, UnderBravoAsym>(name, traits);
    add_bravo_forks(name, traits, first<ContractLock<Core, Wait, UnderBravoAsym>>());
  }
  template <template <class, class> class Core, template <class> class Wait, class Over>
  void add_each_bravo(const std::string& name) {
    constexpr bool kIsAsym = std::same_as<Over, UnderBravoAsym>;
    add_each(name, kTraits<Core, Wait>.under_bravo(kIsAsym),
             first<ContractLock<Core, Wait, Over>>());
  }

  // All cases of a core, and of the lock with its contract.
  void add_all(const std::string& name, const Traits& traits, LockUnderTest& core,
               LockUnderTest& contract, LockUnderTest& second);
  // Those of a lock that differs from another one in its core alone.
  void add_core(const std::string& name, const Traits& traits, LockUnderTest& core,
                LockUnderTest& contract);
  // The least that a lock and a wait policy need.
  void add_each(const std::string& name, const Traits& traits, LockUnderTest& contract);
  void add_bravo(const std::string& name, const Traits& traits, LockUnderTest& bravo,
                 LockUnderTest& second);
  void add_bravo_forks(const std::string& name, const Traits& traits, LockUnderTest& bravo);

  // These are about the lock that `traits_` describes.
  void add_give_ups(const std::string& lock_name, LockUnderTest& lock);
  void add_patience(const std::string& name, LockUnderTest& lock, LockUnderTest* second);
  void add_rationed(const std::string& name, LockUnderTest& core);
  void add_wound(const std::string& name, LockUnderTest& core);
  Case& make_patient(Case& c) const;
  Case& add_case(const std::string& lock_name, LockUnderTest& lock, const Script& s);
  Bounds quick_bounds(const std::string& lock_name, const Script& s) const;

  Traits traits_;
  Cases cases_;
};

}  // namespace lockswap::explore::rw
