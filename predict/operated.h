// What the threads of a prediction use: a lock with its data, a range lock with an array, or a
// structure. The threads' loop is the same for all of them (workload.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockswap::predict {

struct Workload;

// `over`: the run ended while the thread waited for its turn.
enum class Did : std::uint8_t { read, write, over };

class Operated {
 public:
  virtual ~Operated() = default;
  // Makes it new in the current run.
  virtual void begin(const Workload& workload, int threads) = 0;
  // Makes the next operation of that thread, which must be the machine's current one.
  virtual Did operate(int thread) = 0;
};

struct NamedOperated {
  std::string name;  // as users type it
  std::string kind;  // as in NamedLock
  std::function<std::unique_ptr<Operated>()> make;
};
using AllOperated = std::vector<NamedOperated>;

template <class T>
void add(AllOperated& to, const std::string& name, const std::string& kind) {
  to.push_back({name, kind, [] { return std::make_unique<T>(); }});
}

// Returns the range locks of range_list.def, each with the array of arrbench.
AllOperated all_range_locks();

}  // namespace lockswap::predict
