// A lock as the workloads of the cost model see it.
#pragma once

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
  bool is_mutex;
  bool parks;  // how its waiters wait: they sleep, or poll
  std::unique_ptr<Lock> lock;
};
using NamedLocks = std::vector<NamedLock>;

// All of the library's lists.
NamedLocks all_locks();

}  // namespace lockswap::predict
