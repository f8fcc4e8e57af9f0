#include "multicore/explore/memory.h"

namespace lockswap::explore {

void Memory::reset() {
  count_ = 0;
  seq_cst_ = View{};
  gone_.clear();
}

int Memory::enroll(const void* address, std::size_t, std::uint64_t initial) {
  if (count_ == kMaxLocations) return kFull;
  Location& l = locations_[count_];
  l.address = address;
  l.poisoned = poisoned(address);
  l.history.clear();
  l.history.push_back(Message{View{}, initial});
  return count_++;
}

int Memory::find(const void* address) const {
  for (int i = count_; i-- != 0;) {
    if (locations_[i].address == address) return i;
  }
  return kFull;
}

int Memory::oldest_readable(int location, const ThreadView& t, Order order) const {
  const int known = t.now.seen(location);
  return order == seq_cst ? std::max<int>(known, seq_cst_.seen(location)) : known;
}

void Memory::read(ThreadView& t, int location, int index, Order order) {
  const Message& m = locations_[location].history[index];
  const auto i = static_cast<std::uint8_t>(index);
  std::uint8_t& seen = t.now.seen(location);
  seen = std::max(seen, i);
  t.acquirable.join(m.view);
  if (acquires(order)) t.now.join(m.view);
  if (order == seq_cst) {
    std::uint8_t& latest = seq_cst_.seen(location);
    latest = std::max(latest, i);
  }
}

bool Memory::write(ThreadView& t, int thread, int location, std::uint64_t value, Order order,
                   bool is_update) {
  auto& history = locations_[location].history;
  std::uint8_t& clock = t.now.clock(thread);
  if (history.size() > kMostWrites || clock == kMostWrites) return false;
  const auto index = static_cast<std::uint8_t>(history.size());
  t.now.seen(location) = index;
  Message m{is_update ? history.back().view : View{}, value};
  m.view.join(releases(order) ? t.now : t.released);
  m.view.seen(location) = index;
  if (order == seq_cst) seq_cst_.seen(location) = index;
  history.push_back(m);
  ++clock;  // what this thread does from now on is not in the message
  return true;
}

void Memory::fence(ThreadView& t, Order order) {
  if (acquires(order)) t.now.join(t.acquirable);
  if (order == seq_cst) {
    t.now.join(seq_cst_);
    seq_cst_ = t.now;
    seq_cst_.forget_clocks();
  }
  if (releases(order)) t.released = t.now;
}

void Memory::poison(const void* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  gone_.push_back({from, from + bytes});
  for (int i = 0; i < count_; ++i) {
    if (poisoned(locations_[i].address)) locations_[i].poisoned = true;
  }
}

void Memory::heal(const void* begin) {
  std::erase_if(gone_, [begin](const Range& r) {
    return r.begin == reinterpret_cast<std::uintptr_t>(begin);
  });
}

bool Memory::poisoned(const void* address) const {
  const auto p = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& r : gone_) {
    if (p >= r.begin && p < r.end) return true;
  }
  return false;
}

}  // namespace lockswap::explore
