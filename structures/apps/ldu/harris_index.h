// An index without locks: the list of Harris, sorted or not. `Nodes` has its links, and frees nodes
// that nobody reads any more (urcu_nodes.h).
//
// Papers: T. Harris, "A Pragmatic Implementation of Non-Blocking Linked-Lists" (DISC 2001); LDU,
//   section 6.1, for the form that is not sorted: a new node comes first, and a remove looks for
//   that very node.
// Idea: a node is removed by a mark in its own link, and then unlinked by the first thread that
//   comes by.
// Order: links are read with acquire and changed with release; all else follows from the updates of
//   one link. A node is freed a grace period after it was unlinked.
#pragma once

#include <atomic>
#include <cstdint>

#include "ldu/mapping.h"

namespace bench {

template <bool kSorted, class Nodes>
class HarrisIndex {
 public:
  static constexpr bool kReuses = false;
  static constexpr bool kAbsorbs = false;
  struct Mapping : Counted, Nodes::Head {
    Pages pages;

   private:
    friend class HarrisIndex;
    typename Nodes::Link next{0};
  };
  struct Shared {};
  struct Hand {
    explicit Hand(Shared&) { Nodes::attach(); }
  };
  explicit HarrisIndex(Shared&) {}
  HarrisIndex(const HarrisIndex&) = delete;
  HarrisIndex& operator=(const HarrisIndex&) = delete;
  static void flush(Shared&) { Nodes::barrier(); }

  void insert(Hand&, Mapping& m) {
    const typename Nodes::Reading here;
    for (;;) {
      Place p{&first_, first_.load(kAcquire)};
      if constexpr (kSorted) {
        if (!find(p, [&m](const Mapping& at) { return !is_before(at, m); })) continue;
      }
      m.next.store(p.at, std::memory_order_relaxed);  // nobody else has it yet
      if (p.link->compare_exchange_strong(p.at, word_of(m), kAcqRel)) return;
    }
  }
  void retire(Hand&, Mapping& m) {
    const typename Nodes::Reading here;
    std::uintptr_t next = m.next.load(kAcquire);
    while (!m.next.compare_exchange_weak(next, next | kMark, kAcqRel)) {}
    // A search that comes by unlinks it, this one or another.
    for (;;) {
      Place p{&first_, first_.load(kAcquire)};
      if (find(p, [&m](const Mapping& at) { return kSorted ? is_before(m, at) : &at == &m; }))
        return;
    }
  }
  template <class F = NothingElse>
  std::uint64_t walk(Hand&, std::uint32_t page, F f = {}) {
    const typename Nodes::Reading here;
    std::uint64_t found = 0;
    for (const Mapping* m = at(first_.load(kAcquire)); m != nullptr;) {
      const std::uintptr_t next = m->next.load(kAcquire);
      if (kSorted && m->pages.first > page) break;
      if ((next & kMark) == 0 && m->pages.has(page)) f(*m), ++found;
      m = at(next);
    }
    return found;
  }

 private:
  using Link = typename Nodes::Link;
  struct Place {
    Link* link;
    std::uintptr_t at;  // what it links to
  };
  enum class Step : std::uint8_t { stands, again };
  static constexpr std::uintptr_t kMark = 1;
  static constexpr auto kAcquire = std::memory_order_acquire;
  static constexpr auto kAcqRel = std::memory_order_acq_rel;

  static Mapping* at(std::uintptr_t word) noexcept {
    return reinterpret_cast<Mapping*>(word & ~kMark);
  }
  static std::uintptr_t word_of(const Mapping& m) noexcept {
    return reinterpret_cast<std::uintptr_t>(&m);
  }
  static bool is_before(const Mapping& a, const Mapping& b) noexcept {
    if (a.pages.first != b.pages.first) return a.pages.first < b.pages.first;
    return word_of(a) < word_of(b);
  }

  // Unlinks what is marked at this place. `again`: something has changed behind it.
  static Step skip_marked(Place& p) {
    if ((p.at & kMark) != 0) return Step::again;
    for (Mapping* m = at(p.at); m != nullptr; m = at(p.at)) {
      const std::uintptr_t next = m->next.load(kAcquire);
      if ((next & kMark) == 0) break;
      if (!p.link->compare_exchange_strong(p.at, next & ~kMark, kAcqRel)) return Step::again;
      Nodes::free_later(*m);
      p.at = next & ~kMark;
    }
    return Step::stands;
  }
  // Goes on to the first node that `ends` the search, or to the end. Returns false if the caller
  // must begin once more.
  template <class Ends>
  static bool find(Place& p, Ends ends) {
    for (;;) {
      if (skip_marked(p) == Step::again) return false;
      Mapping* const m = at(p.at);
      if (m == nullptr || ends(*m)) return true;
      p.link = &m->next;
      p.at = m->next.load(kAcquire);
    }
  }

  Link first_{0};
};

}  // namespace bench
