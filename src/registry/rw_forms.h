// The forms of a lock of rw_list.def: alone, and under BRAVO.
#pragma once

#include "platform/system_rwlock.h"
#include "posix/generations.h"
#include "registry/list_words.h"
#include "registry/waits.h"

namespace lockswap {

// Whether readers make no atomic update, so that writers have the kernel run a barrier.
template <class Core>
constexpr bool is_asymmetric = requires {
  requires Core::kAsymmetric;
};

// A lock that is passed through has code of ours only under BRAVO.
constexpr bool has_direct_form(ListWords words) noexcept { return !has(words, PASSED_THROUGH); }
constexpr bool has_bravo_form(ListWords words) noexcept { return has(words, UNDER_BRAVO); }
template <class Core>
constexpr bool has_bravo_asym_form(ListWords words) noexcept {
  return has_bravo_form(words) && !is_asymmetric<Core>;
}

struct RwCode {
  const RwOps* ops;
  bool (*prepare)();
  // For policies (policy_ops.h): makes an unused object one of this lock's, and returns false if
  // another thread has decided otherwise before. The other sets, at start-up, which generation
  // numbers this lock's objects get.
  bool (*adopt)(pthread_rwlock_t*);
  void (*set_numbers)(NumberShare);
};
struct RwCodes {
  RwCode of[WaitTypes::kCount][2];  // by type of wait policy, and whether it is counted
};
struct RwForms {
  RwCodes direct{}, bravo{}, bravo_asym{};
};

}  // namespace lockswap
