// A lock as the workloads of the cost model see it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockswap::predict {

class Lock {
 public:
  virtual ~Lock() = default;
  // Makes it a new lock, in the run that has begun.
  virtual void begin() = 0;
  virtual void read() = 0;
  virtual void write() = 0;
  virtual void read_unlock() = 0;
  virtual void write_unlock() = 0;
};

struct NamedLock {
  std::string name;  // as users type it
  std::string kind;  // rwlock, mutex; raw: a word and its updates, to calibrate by
  bool parks;        // how its waiters wait: they sleep, or poll
  std::function<std::unique_ptr<Lock>()> make;
};
using NamedLocks = std::vector<NamedLock>;

template <class L>
void add(NamedLocks& to, const std::string& name, const std::string& kind, bool parks = false) {
  to.push_back({name, kind, parks, [] { return std::make_unique<L>(); }});
}

// Appends words with atomic updates: a write is one.
void add_raw(NamedLocks& to);
// Appends a lock under BRAVO each of whose instances has a readers table of its own.
void add_with_own_table(NamedLocks& to);
// Appends glibc's locks, written from its algorithms.
void add_glibcs(NamedLocks& to);

// All of the library's lists, and the raw ones.
NamedLocks all_locks();

}  // namespace lockswap::predict
