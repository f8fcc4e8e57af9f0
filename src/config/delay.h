// A delay (LOCKSWAP_DELAY): holds of some locks are made longer, to see how much those locks
// matter; or the same time is spent behind the release, where it costs the processor as much and
// keeps nobody waiting. The value is words of a rule (policy.h), a colon and the time:
//
//   fill:+5us                             in each hold, of locks that the function fill initialises
//   module=prog symbol=hot:after+500ns    behind each release, of the locks in a variable
//   site=fill kind=rwlock mode=read:+5us  in read holds alone
//
// This file reads it; interpose/delayed.h does it.
#pragma once

#include <cstdint>

#include "config/policy.h"

namespace lockswap {

struct Delay {
  Policy policy;  // one rule, which says of no kind that it meets what is to run it
  std::uint64_t ns = 0;
  bool after = false;  // behind the release
  bool reads = true, writes = true;
};

// As read_config has found it; nullptr if none is asked for.
const Delay* delay() noexcept;

// Reads the value, which need not stay. Returns false if something is wrong; then `message` says it
// in a line.
bool read_delay(const char* value, char* message, std::uint32_t size) noexcept;

}  // namespace lockswap
