// The data in an object by which its updates can be logged (lockswap/ldu.hpp).
//
// State: a word with at most one pending update, and whether the object is in a log.
//   kInsert   the object is to be inserted
//   kRemove   the object is to be removed
//   kLogged   the object is in a log: the thread that applies the log will read this word
//   kDead     the object is to be freed afterwards
//   kUpdate   one for each insert and remove since it was logged; every second one undid the one
//             before. They are counted here because the exchange is needed anyway.
// Invariants: at most one of kInsert and kRemove is set, because an update that meets its opposite
//   undoes it (absorbing). An object with a pending update, or a dead one, is logged.
// Paper: figures 3 and 5 have a mark, a used bit and a node for an object's insert, and the same
//   again for its remove. At most one of the two marks is ever set, so here they share a word and a
//   node. One exchange marks, absorbs and checks whether to log, where the paper needs up to three.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/machine.hpp"

namespace lockswap {

/// @cond private
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
/// @endcond

/// The part of an object by which its updates can be logged: two words. Copying an object does not
/// copy its hook.
template <class P>
class basic_ldu_hook {
 public:
  /// Makes a hook of an object that has no pending update.
  basic_ldu_hook() noexcept = default;
  /// The same: nothing is copied.
  basic_ldu_hook(const basic_ldu_hook&) noexcept {}
  /// Leaves this hook as it is.
  basic_ldu_hook& operator=(const basic_ldu_hook&) noexcept { return *this; }
  ~basic_ldu_hook() = default;

 private:
  template <class, class, class>
  friend class ldu;
  template <class, class>
  friend class ldu_parts::chain;

  // Marks an update, or undoes its opposite. `last` is kDead or 0. Before it marks an object that
  // is in no log, it calls enter(), and from then on no fork happens until the object is in a log.
  // That happens at most once, because updates of one object come one after the other.
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
      // acq_rel, as in take. release: what the caller did to the object. acquire: the thread that
      // took the object from its log has read next_, which may be overwritten now.
      if (state_.compare_exchange(now, then, std::memory_order_acq_rel)) {
        if ((now & kLogged) == 0) return marked::log_it;
        return absorbs ? marked::absorbed : marked::is_logged;
      }
    }
  }
  // Returns what was pending. From here on the object may be logged again.
  std::uint64_t take() noexcept { return state_.exchange(0, std::memory_order_acq_rel); }

  typename P::template atomic<std::uint64_t> state_{};
  typename P::template plain<std::uint64_t> next_;  // the object below this one in its log
};

}  // namespace lockswap
