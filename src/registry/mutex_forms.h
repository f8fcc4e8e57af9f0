// The code for a line of mutex_list.def: by type of wait policy, and counted or not.
#pragma once

#include <pthread.h>

#include "platform/system_mutex.h"
#include "registry/waits.h"

namespace lockswap {

struct MutexCode {
  const MutexOps* ops;
  bool (*prepare)();
  MutexOfConds of_conds;
};
struct MutexCodes {
  MutexCode of[WaitTypes::kCount][2];
};

}  // namespace lockswap
