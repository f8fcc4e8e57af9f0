// What pages must be after the steps of a thread, or of a trace in order: a plain model, which has
// no lock, no page table and no line in common with the engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "address_space/mappings.h"
#include "address_space/program.h"
#include "address_space/values.h"

namespace bench {

inline constexpr std::uint64_t kFileFirst = 1;  // page n of a file has this much more than n

class Own {
 public:
  struct Run {
    std::uint64_t end;
    std::uint32_t protection;
    int file;
    bool shared;
    std::uint64_t base;
    bool operator==(const Run&) const = default;
  };
  // Counts for one kind of operation.
  struct Kinds {
    std::uint64_t all = 0;
    std::uint64_t structural = 0;  // change the number of regions, or what is behind one
    std::uint64_t spread = 0;      // protect: not all is in one region
    std::uint64_t split = 0;       // structural, and in one region
    Parts parts{};                 // protect: of the structural ones, where they are
  };

  explicit Own(std::uint64_t heap) : brk_(heap) {}
  // `value` is what a step writes.
  void apply(const Step& step, std::uint64_t value);
  // What execve mapped.
  void load(const Step& map) {
    apply(map, 0);
    mappings_.put(map.start, map.end, true);
  }

  const std::map<std::uint64_t, Run>& runs() const { return runs_; }
  // What a read of a mapped page gives.
  std::uint64_t value(std::uint64_t page) const;
  std::uint64_t brk() const { return brk_; }
  void forget_counts() { kinds_ = {}; }
  const Kinds& kinds(Step::Kind kind) const { return kinds_[kind]; }
  const Run* at(std::uint64_t page) const;
  // f(page), of those that were written since they were mapped.
  template <class F>
  void each_written(F f) const {
    values_.each(f);
  }
  bool is_mapped(std::uint64_t start, std::uint64_t end) const;  // all of it

 private:
  struct Backing {
    int file;
    bool shared;
    std::uint64_t base;
    bool operator==(const Backing&) const = default;
  };
  // What is behind the runs that have a page in [start, end) or touch it.
  std::vector<Backing> behind(std::uint64_t start, std::uint64_t end) const;
  void cut(std::uint64_t at);
  void put(std::uint64_t start, std::uint64_t end, const Run& run);
  void remove(std::uint64_t start, std::uint64_t end);
  // Returns false if pages of several regions were protected.
  bool carry_out(const Step& step, std::uint64_t value);
  bool protect(const Step& step);  // whether it was in one region
  void merge_around(std::uint64_t start, std::uint64_t end);
  Part part_of(const Step& protect) const;  // before it

  std::uint64_t brk_;
  std::map<std::uint64_t, Run> runs_;  // by their starts; none continues another
  Mappings mappings_;
  Values values_;  // plus 1
  std::array<Kinds, Step::fork + 1> kinds_;
};

}  // namespace bench
