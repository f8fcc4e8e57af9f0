// Deferral for the length of a test.
#pragma once

#include "lockswap/rlu.h"

namespace bench {

// Sets how many commits are deferred, and sets it back.
class Deferred {
 public:
  explicit Deferred(unsigned commits) { lockswap_rlu_set_deferral(commits); }
  ~Deferred() {
    lockswap_rlu_flush_all();
    lockswap_rlu_set_deferral(1);
  }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
};

}  // namespace bench
