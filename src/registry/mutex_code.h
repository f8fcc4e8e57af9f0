// The code of a mutex with each wait policy, with and without counting. Each mutex has its own
// translation unit for that, which CMake writes (lists.cmake).
#pragma once

#include <cstddef>

#include "ops/mutex_ops.h"
#include "platform/native.h"
#include "posix/mutex_contract.h"
#include "registry/mutex_forms.h"
#include "registry/waits.h"
#include "stats/stats.h"

namespace lockswap {

template <template <class, class> class CoreOf>
constexpr MutexCodes mutex_codes_of() {
  MutexCodes codes{};
  WaitTypes::for_each([&]<template <class> class Wait>(std::size_t wait) {
    const auto code = []<class Count>() -> MutexCode {
      using Contract = MutexContract<Native, CoreOf<Native, Wait<Native>>, Count>;
      using Ops = MutexLockOps<Contract, Count>;
      using Slow = typename Ops::Slow;
      return {&Ops::table, &Contract::Slow::prepare, {&Slow::is_ours, &Slow::count_waiter}};
    };
    codes.of[wait][0] = code.template operator()<Uncounted>();
    codes.of[wait][1] = code.template operator()<CountInTable>();
  });
  return codes;
}

}  // namespace lockswap
