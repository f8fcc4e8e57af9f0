// An index whose updates are deferred: by threads' logs (PLDU), by the index's own (GLDU), or with
// time stamps.
#pragma once

#include <cstdint>

#include "ldu/locks.h"
#include "ldu/mapping.h"
#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"

namespace bench {

enum class Logs : std::uint8_t { of_threads, own, stamped };

template <class Structure, class Lock, Logs kLogs, class P = lockswap::ldu_machine>
class DeferredIndex {
  using Hook = lockswap::basic_ldu_hook<P>;

 public:
  static constexpr bool kReuses = true;
  static constexpr bool kAbsorbs = kLogs != Logs::stamped;
  struct Mapping : Structure::Node {
    Hook hook;
  };
  struct Behind {
    using object = Mapping;
    static Hook& hook(Mapping& m) { return m.hook; }
    void insert(Mapping& m) { all.insert(m); }
    void remove(Mapping& m) { all.remove(m); }
    void free(Mapping& m) { delete &m; }
    Structure all;
  };
  using Shared = lockswap::basic_ldu_logs<P>;
  struct Hand {
    explicit Hand(Shared& logs) : me(logs) {}
    typename Shared::thread me;
  };
  explicit DeferredIndex(Shared& logs) : set_(logs) {}
  static void flush(Shared&) {}

  void insert(Hand& hand, Mapping& m) {
    if constexpr (kLogs == Logs::own) {
      set_.insert(m);
    } else {
      set_.insert(hand.me, m);
    }
  }
  void remove(Hand& hand, Mapping& m) {
    if constexpr (kLogs == Logs::own) {
      set_.remove(m);
    } else {
      set_.remove(hand.me, m);
    }
  }
  void retire(Hand& hand, Mapping& m) {
    if constexpr (kLogs == Logs::own) {
      set_.retire(m);
    } else {
      set_.retire(hand.me, m);
    }
  }
  // It was removed.
  void free(Hand& hand, Mapping& m) { set_.free(hand.me, m); }
  template <class F = NothingElse>
  std::uint64_t walk(Hand&, std::uint32_t page, F f = {}) {
    return set_.read([page, &f](const Behind& b) {
      std::uint64_t found = 0;
      b.all.walk(page, [&](const auto& m) { f(m), ++found; });
      return found;
    });
  }
  void set_limit(std::uint32_t objects) { set_.set_limit(objects); }
  // Counts of all updates that were applied.
  lockswap::ldu_counts counts() { return set_.counts(); }

 private:
  std::conditional_t<kLogs == Logs::stamped, lockswap::ldu_stamped<Behind, Lock, P>,
                     lockswap::ldu<Behind, Lock, P>>
      set_;
};

}  // namespace bench
