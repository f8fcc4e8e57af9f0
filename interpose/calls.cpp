#include "interpose/calls.h"

#include "calls/locks.h"
#include "calls/start.h"
#include "config/calls.h"
#include "interpose/say_no_file.h"

namespace lockswap {

void begin_calls(RwOps& rwlock, MutexChoice& choice) noexcept {
  static constinit MutexOps mutex{};
  static constinit CondOps cond{};
  static constinit CondOps old_cond{};
  const calls::Bounds bounds{.bytes = std::uint64_t{calls_megabytes()} << 20,
                             .after_ns = std::uint64_t{calls_after_ms()} * 1'000'000};
  if (!calls::begin(calls_folder(), bounds))
    return say_no_file("LOCKSWAP_RECORD: nothing is recorded:", calls_folder());
  rwlock = calls::over_rwlock(rwlock);
  mutex = calls::over_mutex(*choice.mutex);
  cond = calls::over_cond(*choice.cond);
  old_cond = calls::over_old_cond(*choice.old_cond);
  calls::calibrate(mutex, *choice.mutex);
  choice.mutex = &mutex;
  choice.cond = &cond;
  choice.old_cond = &old_cond;
}

}  // namespace lockswap
