// A lock as used by the workloads of the cost model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockswap::predict {

class Lock {
 public:
  virtual ~Lock() = default;
  // Makes it a new lock in the current run.
  virtual void begin() = 0;
  virtual void read() = 0;
  virtual void write() = 0;
  virtual void read_unlock() = 0;
  virtual void write_unlock() = 0;
};

struct NamedLock {
  std::string name;  // as users type it
  std::string kind;  // rwlock, mutex; raw: a word and its updates, for calibration
  bool parks;        // whether its waiters sleep, or only poll
  std::function<std::unique_ptr<Lock>()> make;
};
using NamedLocks = std::vector<NamedLock>;

template <class L>
void add(NamedLocks& to, const std::string& name, const std::string& kind, bool parks = false) {
  to.push_back({name, kind, parks, [] { return std::make_unique<L>(); }});
}

// Appends words with atomic updates, where a write is one update.
void add_raw(NamedLocks& to);
// Appends a lock under BRAVO whose instances each have their own readers table.
void add_with_own_table(NamedLocks& to);
// Appends glibc's locks, implemented from its published algorithms.
void add_glibcs(NamedLocks& to);

// Returns the locks in all of the library's lists, and the raw ones.
NamedLocks all_locks();

}  // namespace lockswap::predict
