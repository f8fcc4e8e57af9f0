#include "multicore/explore/memory.h"

namespace lockswap::explore {
namespace {
// What a thread does besides writes; the numbers are arbitrary.
constexpr std::uint64_t kDelays = 11;
constexpr std::uint64_t kHandsOn = 12;
}  // namespace

void Memory::reset(MemoryModel model) {
  model_ = model;
  count_ = 0;
  threads_.fill(ThreadView{});
  for (int i = 0; i < kMaxThreads; ++i)
    pasts_[i] = static_cast<std::uint64_t>(i) + 1;
  seq_cst_ = futex_ = View{};
  parcels_.clear();
  for (auto& buffer : buffers_)
    buffer.clear();
  gone_.clear();
}

int Memory::enroll(const void* address, std::uint64_t initial) {
  if (count_ == kMaxLocations) return kFull;
  Location& l = locations_[count_];
  const int before = find(address);
  l.address = address;
  l.name = before == kFull ? mix(reinterpret_cast<std::uintptr_t>(address), 1)
                           : mix(locations_[before].name, 2);
  l.poisoned = poisoned(address);
  l.history.clear();
  l.order = mix(l.name, initial);
  l.history.push_back(Message{View{}, initial, false, l.order});
  return count_++;
}

int Memory::find(const void* address) const {
  for (int i = count_; i-- != 0;) {
    if (locations_[i].address == address) return i;
  }
  return kFull;
}

int Memory::oldest_readable(int thread, int location, Order order) const {
  if (model_ != MemoryModel::c11) return newest(location);
  const int known = threads_[thread].now.seen(location);
  return order == seq_cst ? std::max<int>(known, seq_cst_.seen(location)) : known;
}

void Memory::read(int thread, int location, int index, Order order) {
  ThreadView& t = threads_[thread];
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
  adds_to_past(thread, m.id);
}

// Returns what a store with that order carries, except for its own place.
Message Memory::message(int thread, std::uint64_t value, Order order) const {
  const ThreadView& t = threads_[thread];
  return {releases(order) ? t.now : t.released, value, false, pasts_[thread]};
}

bool Memory::write(int thread, int location, int before, std::uint64_t value, Order order,
                   bool is_update) {
  auto& history = locations_[location].history;
  if (history.size() > kMostWrites || clock_is_full(thread)) return false;
  const int index = before + 1;
  if (index != static_cast<int>(history.size())) make_room(location, index);
  adds_to_past(thread, history[before].id);
  Message m = message(thread, value, order);
  m.is_update = is_update;
  if (is_update) m.view.join(history[before].view);
  if (order == seq_cst) seq_cst_.seen(location) = static_cast<std::uint8_t>(index);
  place(thread, location, index, m);
  ++threads_[thread].now.clock(thread);  // later actions of the thread are not in the message
  return true;
}

void Memory::place(int thread, int location, int index, Message& m) {
  auto& history = locations_[location].history;
  const auto i = static_cast<std::uint8_t>(index);
  threads_[thread].now.seen(location) = i;
  m.view.seen(location) = i;
  history.insert(history.begin() + index, m);
  std::uint64_t& order_hash = locations_[location].order;
  if (index + 1 == static_cast<int>(history.size())) {
    order_hash = mix(order_hash, m.id);
    return;
  }
  order_hash = history[0].id;
  for (std::size_t at = 1; at < history.size(); ++at)
    order_hash = mix(order_hash, history[at].id);
}

// Increments every index that refers to a write at that index or after it.
void Memory::make_room(int location, int index) {
  const auto shift = [=](View& v) {
    if (v.seen(location) >= index) ++v.seen(location);
  };
  for (ThreadView& t : threads_) {
    shift(t.now);
    shift(t.acquirable);
    shift(t.released);
  }
  for (int i = 0; i < count_; ++i) {
    for (Message& m : locations_[i].history)
      shift(m.view);
  }
  for (Parcel& p : parcels_)
    shift(p.view);
  shift(seq_cst_);
  shift(futex_);
}

void Memory::fence(int thread, Order order) {
  ThreadView& t = threads_[thread];
  if (acquires(order)) t.now.join(t.acquirable);
  if (order == seq_cst) {
    adds_to_past(thread, seq_cst_knows());
    t.now.join(seq_cst_);
    seq_cst_ = t.now;
    seq_cst_.forget_clocks();
  }
  if (releases(order)) t.released = t.now;
}

bool Memory::delay(int thread, int location, std::uint64_t value, Order order) {
  if (clock_is_full(thread)) return false;
  adds_to_past(thread, kDelays);
  buffers_[thread].push_back({message(thread, value, order), location});
  ++threads_[thread].now.clock(thread);
  return true;
}

int Memory::flush_one(int thread) {
  auto& buffer = buffers_[thread];
  Delayed d = buffer.front();
  buffer.erase(buffer.begin());
  const int index = newest(d.location) + 1;
  if (index > kMostWrites) return kFull;
  place(thread, d.location, index, d.message);
  return d.location;
}

std::uint32_t Memory::related(std::uint32_t threads) const {
  for (std::uint32_t before = 0; before != threads;) {
    before = threads;
    for (int t = 0; t < kMaxThreads; ++t) {
      if ((threads >> t & 1) == 0) continue;
      for (const Delayed& d : buffers_[t]) {
        for (int other = 0; other < kMaxThreads; ++other) {
          if (has_delayed(other, d.location)) threads |= 1u << other;
        }
      }
    }
  }
  return threads;
}

const std::uint64_t* Memory::forwarded(int thread, int location) const {
  const auto& buffer = buffers_[thread];
  for (std::size_t i = buffer.size(); i-- != 0;) {
    if (buffer[i].location == location) return &buffer[i].message.value;
  }
  return nullptr;
}

int Memory::hand_on(int thread) {
  adds_to_past(thread, kHandsOn);
  parcels_.push_back({threads_[thread].now, pasts_[thread]});
  ++threads_[thread].now.clock(thread);
  return static_cast<int>(parcels_.size()) - 1;
}

void Memory::take_over(int thread, int parcel) {
  adds_to_past(thread, parcels_[parcel].id);
  threads_[thread].now.join(parcels_[parcel].view);
}

void Memory::wake_sees(int thread, int location) {
  std::uint8_t& seen = futex_.seen(location);
  seen = std::max(seen, threads_[thread].now.seen(location));
}

void Memory::sleeper_sees(int thread, int location) {
  std::uint8_t& seen = threads_[thread].now.seen(location);
  seen = std::max(seen, futex_.seen(location));
  adds_to_past(thread, id_of(location, futex_.seen(location)));
}

void Memory::sleeper_reads(int thread, int location, int index) {
  threads_[thread].now.seen(location) = static_cast<std::uint8_t>(index);
  adds_to_past(thread, id_of(location, index));
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

void Memory::revive(const void* begin, std::size_t bytes) {
  heal(begin);
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  for (int i = 0; i < count_; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(locations_[i].address);
    if (at >= from && at < from + bytes) locations_[i].poisoned = false;
  }
}

// Returns a hash of the write to each atomic that the shared seq_cst view has seen.
std::uint64_t Memory::seq_cst_knows() const {
  std::uint64_t sum = 0;
  for (int i = 0; i < count_; ++i) {
    if (seq_cst_.seen(i) != 0) sum += mix(locations_[i].name, id_of(i, seq_cst_.seen(i)));
  }
  return sum;
}

void Memory::unite_pasts(int thread, int count) {
  std::uint64_t all = pasts_[thread];
  for (int i = 0; i < count; ++i)
    all = mix(all, pasts_[i]);
  for (int i = 0; i < count; ++i)
    pasts_[i] = mix(all, static_cast<std::uint64_t>(i));
}

// A sum, because the numbers of atomics depend on which was accessed first.
std::uint64_t Memory::contents() const {
  std::uint64_t sum = 0;
  for (int i = 0; i < count_; ++i) {
    const Location& l = locations_[i];
    sum += mix(mix(l.name, l.order), std::uint64_t{seq_cst_.seen(i)} << 9 |
                                         std::uint64_t{futex_.seen(i)} << 1 | (l.poisoned ? 1 : 0));
  }
  for (const Range& r : gone_)
    sum += mix(r.begin, r.end);
  for (int i = 0; i < kMaxThreads; ++i) {
    if (!buffers_[i].empty()) sum += mix(static_cast<std::uint64_t>(i), buffers_[i].size());
  }
  return sum;
}

bool Memory::poisoned(const void* address) const {
  const auto p = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& r : gone_) {
    if (p >= r.begin && p < r.end) return true;
  }
  return false;
}

}  // namespace lockswap::explore
