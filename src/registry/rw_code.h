// The code for a line of rw_list.def: each form of the lock with each wait policy, with and without
// counting. Each lock has its own translation unit for that, which CMake writes (lists.cmake).
#pragma once

#include <cstddef>

#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "ops/rw_ops.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "readers/row_slots.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "registry/waits.h"
#include "stats/stats.h"

namespace lockswap {

template <template <class, class> class CoreOf, ListWords kWords>
constexpr RwForms rw_forms_of() {
  RwForms forms{};
  WaitTypes::for_each([&]<template <class> class Wait>(std::size_t wait) {
    using W = Wait<Native>;
    using Core = CoreOf<Native, W>;
    const auto put = [wait]<class Lock, class Count>(RwCodes& codes) {
      using Contract = RwContract<Native, W, Lock, Count>;
      using Ops = RwLockOps<Contract, Count>;
      using Slow = typename Contract::Slow;
      codes.of[wait][Count::kCounts] = {&Ops::table, &Slow::prepare, &Ops::Slow::adopt_unused,
                                        &Slow::set_numbers};
    };
    const auto put_each = [&]<class Count>() {
      if constexpr (has_direct_form(kWords))
        put.template operator()<Unbiased<Native, Core, Count>, Count>(forms.direct);
      if constexpr (has_bravo_form(kWords))
        put.template operator()<Bravo<Native, W, Core, Count>, Count>(forms.bravo);
      if constexpr (has_bravo_asym_form<Core>(kWords))
        put.template operator()<Bravo<Native, W, Core, Count, RowSlots<Native, W>>, Count>(
            forms.bravo_asym);
    };
    put_each.template operator()<Uncounted>();
    put_each.template operator()<CountInTable>();
  });
  return forms;
}

}  // namespace lockswap
