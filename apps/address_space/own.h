// What one thread's pages must be after its steps: a plain model, which has no lock, no page table
// and no line in common with the engine.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "address_space/program.h"

namespace bench {

inline constexpr std::uint64_t kFileFirst = 1;  // page n of a file has this much more than n

class Own {
 public:
  struct Run {
    std::uint64_t end;
    std::uint32_t protection;
    bool file;
    std::uint64_t base;  // page p shows page p - base of the file
    bool operator==(const Run&) const = default;
  };
  // Of one kind of operation.
  struct Kinds {
    std::uint64_t all = 0;
    std::uint64_t structural = 0;  // change the number of regions
    std::uint64_t spread = 0;      // protect: not all is in one region
    std::uint64_t split = 0;       // structural, and in one region
  };

  explicit Own(int number) : first_(arena_of(number)), brk_(tables_of(0)) {}
  // `value` is what a step writes.
  void apply(const Step& step, std::uint64_t value);

  const std::map<std::uint64_t, Run>& runs() const { return runs_; }
  // What a read of a mapped page gives.
  std::uint64_t value(std::uint64_t page) const;
  const Kinds& kinds(Step::Kind kind) const { return kinds_[kind]; }

 private:
  void cut(std::uint64_t at);
  void put(std::uint64_t start, std::uint64_t end, const Run& run);
  void remove(std::uint64_t start, std::uint64_t end);
  bool protect(const Step& step);  // whether it was in one region
  void forget(std::uint64_t start, std::uint64_t end);
  void merge_around(std::uint64_t start, std::uint64_t end);
  const Run* at(std::uint64_t page) const;

  std::uint64_t first_, brk_;
  std::map<std::uint64_t, Run> runs_;  // by their starts; none continues another
  std::vector<std::uint64_t> values_;  // of pages from first_ on, plus 1; 0: none was written
  Kinds kinds_[Step::rest + 1];
};

}  // namespace bench
