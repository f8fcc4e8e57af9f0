// A delay (LOCKSWAP_DELAY): holds of some locks take longer, to see how much those locks matter. Or
// the same time is spent after the release, where it costs as much processor time and makes nobody
// wait. The value is made of a rule's words (policy.h), a colon and the time:
//
//   fill:+5us                             in each hold of locks that the function fill initialises
//   module=prog symbol=hot:after+500ns    after each release of the locks in a variable
//   site=fill kind=rwlock mode=read:+5us  only in read holds
//
// This file reads the value, and interpose/delayed.h applies it.
#pragma once

#include <cstdint>

#include "config/policy.h"

namespace lockswap {

struct Delay {
  Policy policy;  // one rule; for each kind that it matches, the name is ""
  std::uint64_t ns = 0;
  bool after = false;  // after the release
  bool reads = true, writes = true;
};

// Returns the delay that read_config found, or nullptr if there is none.
const Delay* delay() noexcept;

// Reads the value, which need not stay afterwards. Returns false on an error, with one line in
// `message`.
bool read_delay(const char* value, char* message, std::uint32_t size) noexcept;

}  // namespace lockswap
