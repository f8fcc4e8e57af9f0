#include "multicore/explore/seen_states.h"

namespace lockswap::explore {

void SeenStates::clear() {
  if (used_ == 0) return;
  entries_.assign(kFirst, Entry{});
  used_ = 0;
}

bool SeenStates::covers(const Left& more, const Left& less) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] < less[i]) return false;
  }
  return true;
}

bool SeenStates::has(std::uint64_t fingerprint, const Left& left) {
  if (fingerprint == 0) fingerprint = 1;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t i = fingerprint & mask; entries_[i].fingerprint != 0; i = (i + 1) & mask) {
    Entry& e = entries_[i];
    if (e.fingerprint != fingerprint) continue;
    if (covers(e.left, left)) return true;
    if (covers(left, e.left)) {
      e.left = left;
      return false;
    }
  }
  // A search with more states than fit continues without storing new ones.
  if (used_ * 2 >= kMost) return false;
  if (used_ * 2 >= entries_.size()) grow();
  put({fingerprint, left});
  return false;
}

void SeenStates::put(const Entry& entry) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = entry.fingerprint & mask;
  while (entries_[i].fingerprint != 0)
    i = (i + 1) & mask;
  entries_[i] = entry;
  ++used_;
}

void SeenStates::grow() {
  std::vector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  used_ = 0;
  for (const Entry& e : old) {
    if (e.fingerprint != 0) put(e);
  }
}

}  // namespace lockswap::explore
