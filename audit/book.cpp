#include "audit/book.h"

#include <algorithm>

#include "audit/world.h"
#include "platform/atomic.h"
#include "platform/memory.h"

namespace lockswap::audit {
namespace {

constexpr std::size_t kChunk = 64 << 10;
constexpr std::size_t kFewestBuckets = 512;
constexpr std::size_t kLink = sizeof(void*);

std::uint64_t mix(std::uint64_t address) noexcept { return address * 0x9E3779B97F4A7C15u; }

template <class T>
T* pop(T*& list) noexcept {
  T* first = list;
  if (first != nullptr) list = first->next;
  return first;
}

template <class T>
void push(T*& list, T* item) noexcept {
  item->next = list;
  list = item;
}

// Not in the World: a forked child continues the count, since it knows its own holds by these
// numbers.
constinit NativeAtomic<std::uint64_t> locks_seen{0};

}  // namespace

std::uint64_t new_lock_number() noexcept { return locks_seen.fetch_add(1, relaxed) + 1; }

Shard& shard_of(std::uint64_t address) noexcept { return world().shards[mix(address) >> 58]; }

// Returns the link to the entry, or the empty link at the end of its list.
LockEntry** Shard::place_of(std::uint64_t address) noexcept {
  LockEntry** at = &bucket_[(mix(address) >> 20) & (buckets_ - 1)];
  while (*at != nullptr && (*at)->address != address)
    at = &(*at)->next;
  return at;
}

LockEntry* Shard::find(std::uint64_t address) noexcept {
  return buckets_ == 0 ? nullptr : *place_of(address);
}

LockEntry* Shard::add(std::uint64_t address) noexcept {
  if (locks_ >= buckets_ && !grow() && buckets_ == 0) return nullptr;
  LockEntry* l = pop(free_locks_);
  if (l == nullptr) l = static_cast<LockEntry*>(take(sizeof(LockEntry)));
  if (l == nullptr) return nullptr;
  *l = LockEntry{.address = address, .number = new_lock_number()};
  *place_of(address) = l;
  ++locks_;
  return l;
}

void Shard::remove(std::uint64_t address) noexcept {
  if (buckets_ == 0) return;
  LockEntry** at = place_of(address);
  LockEntry* l = *at;
  if (l == nullptr) return;
  remove_holds(*l);
  waiters_ -= l->waiting_readers + l->waiting_writers;
  *at = l->next;
  push(free_locks_, l);
  --locks_;
}

Hold* Shard::hold_of(LockEntry& lock, std::uint64_t serial) noexcept {
  for (Hold* h = lock.holds; h != nullptr; h = h->next) {
    if (h->serial == serial) return h;
  }
  return nullptr;
}

Hold* Shard::add_hold(LockEntry& lock, const Me& m, std::uint64_t since, std::uint64_t site,
                      std::uint32_t stack) noexcept {
  Hold* h = pop(free_holds_);
  if (h == nullptr) h = static_cast<Hold*>(take(sizeof(Hold)));
  if (h == nullptr) return nullptr;
  *h = Hold{.serial = m.serial,
            .record = m.record,
            .since = since,
            .site = site,
            .stack = stack,
            .tid = m.tid};
  push(lock.holds, h);
  ++holds_;
  return h;
}

void Shard::remove_hold(LockEntry& lock, Hold* hold) noexcept {
  Hold** at = &lock.holds;
  while (*at != hold)
    at = &(*at)->next;
  *at = hold->next;
  world().threads.took_rwlock_from(hold->record, hold->serial);
  push(free_holds_, hold);
  --holds_;
}

void Shard::remove_holds(LockEntry& lock) noexcept {
  while (lock.holds != nullptr)
    remove_hold(lock, lock.holds);
}

bool Shard::grow() noexcept {
  const std::size_t size = std::max(kFewestBuckets, 2 * buckets_);
  auto** bigger = static_cast<LockEntry**>(map_pages(size * kLink));
  if (bigger == nullptr) return false;
  LockEntry** const old = bucket_;
  const std::size_t old_size = buckets_;
  bucket_ = bigger;
  buckets_ = size;
  for (std::size_t i = 0; i < old_size; ++i) {
    while (LockEntry* l = pop(old[i])) {
      l->next = nullptr;
      *place_of(l->address) = l;
    }
  }
  if (old != nullptr) unmap_pages(old, old_size * kLink);
  return true;
}

void* Shard::take(std::size_t bytes) noexcept {
  if (left_ < bytes) {
    void* chunk = map_pages(kChunk);
    if (chunk == nullptr) return nullptr;
    chunk_ = static_cast<char*>(chunk);
    left_ = kChunk;
  }
  void* p = chunk_;
  chunk_ += bytes;
  left_ -= bytes;
  return p;
}

bool is_in_book(std::uint64_t address, std::uint64_t number) noexcept {
  Shard& shard = shard_of(address);
  const Section section(shard.guard);
  const LockEntry* entry = shard.find(address);
  return entry != nullptr && entry->number == number;
}

std::uint64_t number_of_mutex(std::uint64_t address) noexcept {
  Shard& shard = shard_of(address);
  const Section section(shard.guard);
  LockEntry* entry = shard.find(address);
  if (entry != nullptr && !entry->is_mutex) {  // a rwlock that was here has been abandoned
    shard.remove(address);
    entry = nullptr;
  }
  if (entry == nullptr) {
    entry = shard.add(address);
    if (entry == nullptr) return 0;
    entry->is_mutex = true;
  }
  return entry->number;
}

void forget_mutex(std::uint64_t address) noexcept {
  Shard& shard = shard_of(address);
  const Section section(shard.guard);
  if (const LockEntry* entry = shard.find(address); entry != nullptr && entry->is_mutex)
    shard.remove(address);
}

}  // namespace lockswap::audit
