// Publishes which lock a thread is waiting for: to the record, which shows it if the process is
// killed, and to threads that wait for this one to end.
#pragma once

#include <cstdint>

#include "audit/me.h"
#include "audit/record.h"
#include "audit/world.h"

namespace lockswap::audit {

void begin_asking(Me& m, const Question& question) noexcept;

// Exists during a call that may wait.
class Asking {
 public:
  Asking(Me& m, const Question& question) noexcept : record_(m.record) {
    if (record_ != nullptr) begin_asking(m, question);
  }
  ~Asking() {
    if (record_ != nullptr) record_->inside->lock.store(0, relaxed);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  ThreadRecord* record_;
};

}  // namespace lockswap::audit
