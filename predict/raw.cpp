// Words without a lock, which public tables of raw atomics also have.
#include <array>

#include "multicore/cost/platform.h"
#include "predict/lock.h"

namespace lockswap::predict {

namespace {

struct alignas(128) Word {
  cost::ModelledAtomic<std::uint64_t> v{};
};

template <std::size_t kWords, class Update>
class Raw final : public Lock {
 public:
  void begin() override {
    for (Word& w : words_)
      w.v.store(0, relaxed);
  }
  void write() override {
    for (Word& w : words_)
      Update()(w.v);
  }
  void write_unlock() override {}
  void read() override { write(); }
  void read_unlock() override {}

 private:
  std::array<Word, kWords> words_{};
};

using Value = cost::ModelledAtomic<std::uint64_t>;
struct Add {
  void operator()(Value& v) const { v.fetch_add(1, relaxed); }
};
struct CompareExchange {
  void operator()(Value& v) const {
    std::uint64_t seen = v.load(relaxed);
    while (!v.compare_exchange(seen, seen + 1, relaxed)) {}
  }
};

}  // namespace

void add_raw(NamedLocks& to) {
  add<Raw<1, Add>>(to, "fetch-add", "raw");
  add<Raw<5, Add>>(to, "fetch-add-5", "raw");
  add<Raw<1, CompareExchange>>(to, "compare-exchange", "raw");
}

}  // namespace lockswap::predict
