// The program reads the block that the library under test keeps beside a lock of `cohort` or
// `per-cpu`. The library has nothing added for that: a block's own counters show enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>

#include "locks/rw/cohort.h"
#include "locks/rw/per-cpu.h"
#include "platform/native.h"
#include "wait/park.h"

namespace blocks {

using namespace lockswap;
using Wait = Park<Native>;

// A lock that was used: side_block.h keeps the pointer in its first bytes.
template <class Head, class Part>
class Block {
 public:
  explicit Block(const pthread_rwlock_t& lock) noexcept {
    std::uintptr_t first;
    std::memcpy(&first, &lock, sizeof first);
    head_ = reinterpret_cast<Head*>(first);
  }
  Head& head() const noexcept { return *head_; }
  Part& part(unsigned i) const noexcept { return reinterpret_cast<Part*>(head_ + 1)[i]; }

  // How many parts the library's blocks have: from how far two lie apart. 0: it is no whole number.
  static unsigned parts() noexcept {
    static pthread_rwlock_t locks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
    for (pthread_rwlock_t& lock : locks) {
      pthread_rwlock_rdlock(&lock);
      pthread_rwlock_unlock(&lock);
    }
    const auto bytes = reinterpret_cast<std::uintptr_t>(Block(locks[1]).head_) -
                       reinterpret_cast<std::uintptr_t>(Block(locks[0]).head_) - sizeof(Head);
    return bytes % sizeof(Part) == 0 ? static_cast<unsigned>(bytes / sizeof(Part)) : 0;
  }

 private:
  Head* head_;
};

using Tickets = TicketLock<Native, Wait>;
using CohortNode = Cohorting<Native, Tickets, Tickets, Native::kMostInARow>::Node;
using CohortBlock = Block<CohortRwHead<Native, Tickets>, CohortRwPart<Native, CohortNode>>;
using PerCpuBlock = Block<PerCpuHead<Native>, PerCpuPart<Native, Wait>>;

// What both have: parts that readers count themselves in at, and that writers take.
class Parts {
 public:
  virtual ~Parts() = default;
  unsigned count() const { return count_; }
  virtual unsigned readers(const pthread_rwlock_t& lock, unsigned part) const = 0;
  // By a lock that is held for writing: whether this part is the writer's.
  virtual bool written(const pthread_rwlock_t& lock, unsigned part) const = 0;

 protected:
  explicit Parts(unsigned count) : count_(count) {}

 private:
  const unsigned count_;
};

class CohortParts : public Parts {
 public:
  CohortParts() : Parts(CohortBlock::parts()) {}
  unsigned readers(const pthread_rwlock_t& lock, unsigned part) const override {
    const auto& r = CohortBlock(lock).part(part).readers;
    return r.arrivals_counted() - r.departures_counted();
  }
  bool written(const pthread_rwlock_t& lock, unsigned part) const override {
    return !CohortBlock(lock).part(part).local.lock.idle();
  }
};

class PerCpuParts : public Parts {
 public:
  PerCpuParts() : Parts(PerCpuBlock::parts()) {}
  unsigned readers(const pthread_rwlock_t& lock, unsigned part) const override {
    return PerCpuBlock(lock).part(part).holds.load(relaxed);
  }
  bool written(const pthread_rwlock_t& lock, unsigned part) const override {
    return PerCpuBlock(lock).part(part).lock.has_writer();
  }
};

// Returns nullptr if LOCKSWAP_RWLOCK is neither.
inline std::unique_ptr<Parts> parts_of_this_lock() {
  const char* name = std::getenv("LOCKSWAP_RWLOCK");
  if (name != nullptr && std::strcmp(name, "cohort") == 0) return std::make_unique<CohortParts>();
  if (name != nullptr && std::strcmp(name, "per-cpu") == 0) return std::make_unique<PerCpuParts>();
  return nullptr;
}

}  // namespace blocks
