// What an object carries so that its updates can be logged (lockswap/ldu.hpp).
//
// State: a word with one update that is pending, or none, and whether the object stands in a log.
//   kInsert   it is to be inserted
//   kRemove   it is to be removed
//   kLogged   it stands in a log: the thread that applies it will look at this word
//   kDead     it is to be freed after that
//   kUpdate   so many inserts and removes since it was logged; every second one took back the one
//             before. They are counted here since the exchange is made anyhow.
// Invariants: of kInsert and kRemove at most one is set, since an update that meets its opposite
//   takes it back (absorbing). What is pending, or dead, is logged.
// Paper: figures 3 and 5 have a mark, a used bit and a node for an object's insert, and the same
//   again for its remove. At most one of the two marks is ever set, so here they share a word and a
//   node: one exchange marks, absorbs and asks whether to log, where the paper has up to three.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/machine.hpp"

namespace lockswap {

template <class Structure, class Lock, class P>
class ldu;

namespace ldu_parts {

inline constexpr std::uint64_t kInsert = 1;
inline constexpr std::uint64_t kRemove = 2;
inline constexpr std::uint64_t kLogged = 4;
inline constexpr std::uint64_t kDead = 8;
inline constexpr std::uint64_t kUpdate = 16;

enum class marked : std::uint8_t { log_it, is_logged, absorbed };

template <class Object, class P>
class chain;

}  // namespace ldu_parts

// All zeroes: nothing pends. Copying an object copies no hook.
template <class P>
class basic_ldu_hook {
 public:
  basic_ldu_hook() noexcept = default;
  basic_ldu_hook(const basic_ldu_hook&) noexcept {}
  basic_ldu_hook& operator=(const basic_ldu_hook&) noexcept { return *this; }
  ~basic_ldu_hook() = default;

 private:
  template <class, class, class>
  friend class ldu;
  template <class, class>
  friend class ldu_parts::chain;

  // Marks an update, or takes its opposite back; `last` is kDead or 0. Calls enter() before it
  // marks an object that stands in no log: from then on no fork comes until it does. That is once
  // at most, since updates of one object come one after the other.
  template <class Enter>
  ldu_parts::marked mark(std::uint64_t update, std::uint64_t last, Enter enter) {
    using namespace ldu_parts;
    const std::uint64_t opposite = update == 0 ? 0 : update ^ (kInsert | kRemove);
    std::uint64_t now = state_.load(std::memory_order_relaxed);  // compared below
    for (;;) {
      if ((now & kLogged) == 0) enter();  // the exchange succeeds
      const bool absorbs = (now & opposite) != 0;
      const std::uint64_t then = ((absorbs ? now & ~opposite : now | update) | kLogged | last) +
                                 (update != 0 ? kUpdate : 0);
      // acq_rel, both with take. release: what the caller made of the object. acquire: the thread
      // that took the object from its log has read next_, which may be written again.
      if (state_.compare_exchange(now, then, std::memory_order_acq_rel)) {
        if ((now & kLogged) == 0) return marked::log_it;
        return absorbs ? marked::absorbed : marked::is_logged;
      }
    }
  }
  // What pended. The object may be logged again from here on.
  std::uint64_t take() noexcept { return state_.exchange(0, std::memory_order_acq_rel); }

  typename P::template atomic<std::uint64_t> state_{};
  typename P::template plain<std::uint64_t> next_;  // the object below it in its log
};

}  // namespace lockswap
