// The rows of the registry for a line of rw_list.def.
//
//   RW_LOCK("pf-t", PfT, "locks/rw/pf-t.h", UNDER_BRAVO)   becomes
//   {.direct = {.name = "pf-t", ...}, .bravo = {.name = "bravo-pf-t", ...}, .bravo_asym = {...}}
//
// The rest of the rows is the lock's own kInfo and kClaims. Rows for BRAVO have those of the lock
// below, and print_registry.cpp adds what BRAVO changes.
#pragma once

#include <cstddef>
#include <string_view>

#include "locks/common/events.h"
#include "locks/common/lock_info.h"
#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "platform/text.h"
#include "readers/row_slots.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "registry/rw_lock_info.h"
#include "wait/park.h"

namespace lockswap {

// A row for each form of a lock. If the lock does not have a form, that row has no name.
struct RwRows {
  RwLockInfo direct{}, bravo{}, bravo_asym{};
};

struct RwNames {
  const char *direct, *bravo, *bravo_asym;
};

// BRAVO's alias "bravo-PF-Q" for a lock's alias "PF-Q", made at compile time.
template <class Core, bool kAsymmetric, int kNumber>
struct BravoAlias {
  static constexpr const char* kOwn = Core::kInfo.aliases[kNumber];
  static constexpr std::string_view kAlias = kOwn == nullptr ? "" : kOwn;
  struct Made {
    char text[sizeof "bravo-asym-" + kAlias.size()];
  };
  static constexpr Made kMade = [] {
    Made made{};
    Text(made.text, sizeof made.text) << (kAsymmetric ? "bravo-asym-" : "bravo-") << kAlias.data();
    return made;
  }();
  // Returns nullptr if the lock has no such alias.
  static constexpr const char* kText = kAlias.empty() ? nullptr : kMade.text;
};

// The row of a lock under BRAVO, from the row of the lock alone.
template <class Lock, class Core, bool kAsymmetric>
constexpr RwLockInfo bravo_row(const RwLockInfo& alone, const char* name, const RwCodes& code) {
  RwLockInfo row = alone;
  row.name = name;
  row.info.source = kAsymmetric
                        ? "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5"
                        : "Dice and Kogan 2019, listing 1";
  row.info.barges = false;
  row.info.aliases[0] = BravoAlias<Core, kAsymmetric, 0>::kText;
  row.info.aliases[1] = BravoAlias<Core, kAsymmetric, 1>::kText;
  row.info.instructions = Lock::kInstructions;
  if (row.info.write_instructions != 0) row.info.write_instructions += Lock::kWriteInstructions;
  row.claims = Lock::kClaims;
  row.code = &code;
  row.under = alone.name;
  row.biased = true;
  row.asymmetric = kAsymmetric || alone.asymmetric;
  row.compared_by_default = false;
  return row;
}

template <template <class, class> class CoreOf, ListWords kWords>
constexpr RwRows rw_rows(const RwNames& names, const RwForms& forms) {
  using W = Park<Native>;  // the rows are the same for each wait policy
  using Core = CoreOf<Native, W>;
  RwLockInfo alone{.name = names.direct,
                   .info = Core::kInfo,
                   .claims = Unbiased<Native, Core, CountNothing>::kClaims,
                   .code = &forms.direct,
                   .over_glibc = has(kWords, PASSED_THROUGH),  // such a lock has no row of its own
                   .asymmetric = is_asymmetric<Core>,
                   .compared_by_default = has(kWords, COMPARED)};
  if constexpr (requires { &Core::block_bytes; }) alone.block_bytes = &Core::block_bytes;

  RwRows rows{};
  if constexpr (has_direct_form(kWords)) rows.direct = alone;
  if constexpr (has_bravo_form(kWords)) {
    using Lock = Bravo<Native, W, Core, CountNothing>;
    rows.bravo = bravo_row<Lock, Core, false>(alone, names.bravo, forms.bravo);
    rows.bravo.compared_by_default = has(kWords, LEADS_BRAVO);
  }
  if constexpr (has_bravo_asym_form<Core>(kWords)) {
    using Lock = Bravo<Native, W, Core, CountNothing, RowSlots<Native, W>>;
    rows.bravo_asym = bravo_row<Lock, Core, true>(alone, names.bravo_asym, forms.bravo_asym);
  }
  return rows;
}

}  // namespace lockswap
