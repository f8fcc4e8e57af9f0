// The row of a form of a lock: alone it is the lock's own, under BRAVO it is made from that.
#pragma once

#include <array>
#include <cstddef>

#include "locks/common/events.h"
#include "locks/common/lock_info.h"
#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "readers/row_slots.h"
#include "registry/joined.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "registry/rw_lock_info.h"
#include "wait/park.h"

namespace lockswap {

// What a line of rw_list.def says, and what follows from it. Line: kName, kWords, Core, kForms. The
// wait policy does not matter here.
template <class Line>
struct RwRows {
  using W = Park<Native>;
  using Core = typename Line::template Core<Native, W>;
  static constexpr LockInfo kInfo = Core::kInfo;
  // The contract lets such readers in, whatever the lock (posix/guests.h).
  static constexpr auto kUntilImpatient =
      joined<256>(kInfo.fairness, "; unless readers waited for longer than their patience");

  static constexpr bool kDirect = has_direct_form(Line::kWords);
  static constexpr bool kBravo = has_bravo_form(Line::kWords);
  static constexpr bool kBravoAsym = has_bravo_asym_form<Core>(Line::kWords);

  static constexpr auto block_bytes() -> std::size_t (*)() {
    if constexpr (requires { &Core::block_bytes; }) {
      return &Core::block_bytes;
    } else {
      return nullptr;
    }
  }

  static constexpr RwLockInfo direct() {
    LockInfo info = kInfo;
    info.fairness = kUntilImpatient.text;
    return {.name = Line::kName,
            .info = info,
            .claims = Unbiased<Native, Core, CountNothing>::kClaims,
            .code = &Line::kForms.direct,
            .block_bytes = block_bytes(),
            .asymmetric = is_asymmetric<Core>,
            .compared_by_default = has(Line::kWords, COMPARED)};
  }

  // Under BRAVO.
  template <class Form>
  struct Words {
    static constexpr const char* alias(int i) noexcept {
      return kInfo.aliases[i] == nullptr ? "" : kInfo.aliases[i];
    }
    static constexpr auto kName = joined<48>(Form::kPrefix, Line::kName);
    static constexpr auto kAlias = joined<48>(Form::kPrefix, alias(0));
    static constexpr auto kAlias2 = joined<48>(Form::kPrefix, alias(1));
    static constexpr auto kSummary = joined<128>(Form::kBefore, Line::kName, Form::kBehind);
    static constexpr auto kFairness =
        joined<320>("biased readers go first; the others: ", kUntilImpatient.text);
  };
  struct Plain {
    static constexpr const char* kPrefix = "bravo-";
    static constexpr const char* kBefore = "BRAVO reader bias over ";
    static constexpr const char* kBehind = "";
    static constexpr const char* kSource = "Dice and Kogan 2019, listing 1";
    static constexpr bool kIsAsymmetric = is_asymmetric<Core>;
    static constexpr bool kIsCompared = has(Line::kWords, LEADS_BRAVO);
    static constexpr const RwCodes* kCode = &Line::kForms.bravo;
    using Lock = Bravo<Native, W, Core, CountNothing>;
  };
  struct Asym {
    static constexpr const char* kPrefix = "bravo-asym-";
    static constexpr const char* kBefore = "bravo-";
    static constexpr const char* kBehind =
        " whose readers make no update; each revocation has the kernel run a barrier";
    static constexpr const char* kSource =
        "Dice and Kogan 2019, listing 1; Desnoyers and others 2012, section 5";
    static constexpr bool kIsAsymmetric = true;
    static constexpr bool kIsCompared = false;
    static constexpr const RwCodes* kCode = &Line::kForms.bravo_asym;
    using Lock = Bravo<Native, W, Core, CountNothing, RowSlots<Native, W>>;
  };
  template <class Form>
  static constexpr RwLockInfo under_bravo() {
    using Own = Words<Form>;
    const auto alias = [](int i, const char* made) {
      return kInfo.aliases[i] == nullptr ? nullptr : made;
    };
    return {.name = Own::kName.text,
            .info = {.summary = Own::kSummary.text,
                     .source = Form::kSource,
                     .fairness = Own::kFairness.text,
                     .kinds = kInfo.kinds,
                     .readers_overtake = kInfo.readers_overtake,
                     .writers_can_starve = kInfo.writers_can_starve,
                     .takes_back = kInfo.takes_back,
                     .aliases = {alias(0, Own::kAlias.text), alias(1, Own::kAlias2.text)},
                     .instructions = Form::Lock::kInstructions},
            .claims = Form::Lock::kClaims,
            .code = Form::kCode,
            .block_bytes = block_bytes(),
            .under = Line::kName,
            .biased = true,
            .over_glibc = has(Line::kWords, PASSED_THROUGH),
            .asymmetric = Form::kIsAsymmetric,
            .compared_by_default = Form::kIsCompared};
  }
};

// The rows of the whole list behind the given ones: each lock, then each under BRAVO.
template <std::size_t kFirst, class... Lines>
constexpr auto rw_rows_of(const RwLockInfo (&first)[kFirst]) {
  constexpr std::size_t kRows =
      kFirst +
      (0 + ... + (RwRows<Lines>::kDirect + RwRows<Lines>::kBravo + RwRows<Lines>::kBravoAsym));
  std::array<RwLockInfo, kRows> rows{};
  std::size_t n = 0;
  for (const RwLockInfo& row : first)
    rows[n++] = row;
  const auto direct = [&]<class Line>() {
    if constexpr (RwRows<Line>::kDirect) rows[n++] = RwRows<Line>::direct();
  };
  const auto bravo = [&]<class Line>() {
    using R = RwRows<Line>;
    if constexpr (R::kBravo) rows[n++] = R::template under_bravo<typename R::Plain>();
  };
  const auto bravo_asym = [&]<class Line>() {
    using R = RwRows<Line>;
    if constexpr (R::kBravoAsym) rows[n++] = R::template under_bravo<typename R::Asym>();
  };
  (direct.template operator()<Lines>(), ...);
  (bravo.template operator()<Lines>(), ...);
  (bravo_asym.template operator()<Lines>(), ...);
  return rows;
}

}  // namespace lockswap
