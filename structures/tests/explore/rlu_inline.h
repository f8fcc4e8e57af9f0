// The text of lockswap/rlu_inline.h over the explored platform: what it calls, and its words, are
// those of src/rlu there.
#pragma once

#include <cstdint>

#include "multicore/explore/platform.h"
#include "rlu/section.h"

namespace lockswap::explore::inlined {

template <class H>
struct Sections {
  using S = rlu::Section<Explored, H>;
  using Context = rlu::Context<Explored>;

  static void lockswap_rlu_reader_lock() { S::begin(); }
  static void lockswap_rlu_reader_unlock() { S::end(); }
  static unsigned lockswap_rlu_depth() { return 0; }

#define LOCKSWAP_RLU_EXPLORED
#define LOCKSWAP_RLU_ORDER_RELAXED relaxed
#define LOCKSWAP_RLU_ORDER_ACQUIRE acquire
#define LOCKSWAP_RLU_HERE (&rlu::local<Explored>())
#define LOCKSWAP_RLU_CONTEXT Context
#define LOCKSWAP_RLU_STATE(context) ((context)->depth | std::uint64_t{(context)->duties} << 32)
#define LOCKSWAP_RLU_SET_STATE(context, value) ((context)->depth = (value), (context)->duties = 0)
#define LOCKSWAP_RLU_NOW(order) rlu::shared<Explored>().clock.now().load(LOCKSWAP_RLU_ORDER_##order)
#define LOCKSWAP_RLU_MARK() Explored::process_mark()
#define LOCKSWAP_RLU_SET_WORD(context, value) (context)->word.store((value), release)
#define LOCKSWAP_RLU_LIGHT_FENCE() \
  if (rlu::shared<Explored>().clock.fence().is_on()) S::fence(*rlu::local<Explored>().context)
#include "lockswap/rlu_inline.h"
#undef LOCKSWAP_RLU_EXPLORED
#undef LOCKSWAP_RLU_ORDER_RELAXED
#undef LOCKSWAP_RLU_ORDER_ACQUIRE
#undef LOCKSWAP_RLU_HERE
#undef LOCKSWAP_RLU_CONTEXT
#undef LOCKSWAP_RLU_STATE
#undef LOCKSWAP_RLU_SET_STATE
#undef LOCKSWAP_RLU_NOW
#undef LOCKSWAP_RLU_MARK
#undef LOCKSWAP_RLU_SET_WORD
#undef LOCKSWAP_RLU_LIGHT_FENCE
};

}  // namespace lockswap::explore::inlined
