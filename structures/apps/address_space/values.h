// What is written in pages that may be anywhere: blocks of them, where any was written.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

namespace bench {

class Values {
 public:
  void set(std::uint64_t page, std::uint64_t value) {
    blocks_[page / kPages][page % kPages] = value;
  }
  // 0: none was written.
  std::uint64_t at(std::uint64_t page) const {
    const auto found = blocks_.find(page / kPages);
    return found == blocks_.end() ? 0 : found->second[page % kPages];
  }
  void forget(std::uint64_t start, std::uint64_t end) {
    if ((end - start) / kPages > blocks_.size()) {
      for (auto& [number, block] : blocks_)
        forget_in(block, number, start, end);
      return;
    }
    for (std::uint64_t number = start / kPages; number * kPages < end; ++number) {
      const auto found = blocks_.find(number);
      if (found != blocks_.end()) forget_in(found->second, number, start, end);
    }
  }
  template <class F>
  void each(F f) const {
    for (const auto& [number, block] : blocks_) {
      for (std::uint64_t i = 0; i < kPages; ++i) {
        if (block[i] != 0) f(number * kPages + i);
      }
    }
  }

 private:
  static constexpr std::uint64_t kPages = 512;
  using Block = std::array<std::uint64_t, kPages>;
  static void forget_in(Block& block, std::uint64_t number, std::uint64_t start,
                        std::uint64_t end) {
    const std::uint64_t first = std::max(start, number * kPages);
    const std::uint64_t last = std::min(end, (number + 1) * kPages);
    for (std::uint64_t p = first; p < last; ++p)
      block[p % kPages] = 0;
  }
  std::unordered_map<std::uint64_t, Block> blocks_;
};

}  // namespace bench
