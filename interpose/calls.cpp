#include "interpose/calls.h"

#include "calls/locks.h"
#include "calls/start.h"
#include "config/calls.h"
#include "platform/error_text.h"
#include "platform/say.h"
#include "platform/text.h"
#include "recording/file.h"

namespace lockswap {
namespace {

// A forbidden place is no reason to stop a program.
void say_why_not() noexcept {
  static constinit char line[4200];  // the folder's name has up to 4,000 bytes
  Text text(line, sizeof line);
  text << "lockswap: LOCKSWAP_RECORD: nothing is recorded: no file can be made in ";
  put_error(text << calls_folder() << ": ", recording::file_error());
  text << "\n";
  say(line);
}

}  // namespace

void begin_calls(RwOps& rwlock, MutexChoice& choice) noexcept {
  static constinit MutexOps mutex{};
  static constinit CondOps cond{};
  static constinit CondOps old_cond{};
  const calls::Bounds bounds{.bytes = std::uint64_t{calls_megabytes()} << 20,
                             .after_ns = std::uint64_t{calls_after_ms()} * 1'000'000};
  if (!calls::begin(calls_folder(), bounds)) return say_why_not();
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
