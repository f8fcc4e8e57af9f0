// A set of words that are not 0, of a fixed size, which forgets some of them when it has no room.
// Lock-free: each place is one atomic word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "platform/atomic.h"

namespace lockswap::audit {

// A word can be in any of the 8 places of a row, which its hash chooses.
template <unsigned kRowBits>
class WordSet {
 public:
  // relaxed, all: a word is all that a place says.
  bool has(std::uint64_t word) const noexcept {
    const Row& row = row_of(word);
    return std::any_of(std::begin(row), std::end(row),
                       [=](const auto& place) { return place.load(relaxed) == word; });
  }
  bool has_room_for(std::uint64_t word) const noexcept {
    const Row& row = row_of(word);
    return std::any_of(std::begin(row), std::end(row),
                       [](const auto& place) { return place.load(relaxed) == 0; });
  }
  // Returns false if the word is there already, or finds no room.
  bool add(std::uint64_t word) noexcept {
    for (auto& place : row_of(word)) {
      std::uint64_t seen = 0;
      if (place.compare_exchange(seen, word, relaxed)) return true;
      if (seen == word) return false;
    }
    return false;
  }
  // Adds the word, in place of another one if need be.
  void put(std::uint64_t word) noexcept {
    if (add(word) || has(word)) return;
    row_of(word)[replaced_.fetch_add(1, relaxed) % kPlaces].store(word, relaxed);
  }
  // Removes the words from `begin` up to, but not including, `end`.
  void remove(std::uint64_t begin, std::uint64_t end) noexcept {
    for (Row& row : row_) {
      for (auto& place : row) {
        std::uint64_t word = place.load(relaxed);
        if (begin <= word && word < end) place.compare_exchange(word, 0, relaxed);
      }
    }
  }

 private:
  static constexpr std::size_t kPlaces = 8;
  using Row = NativeAtomic<std::uint64_t>[kPlaces];

  static std::size_t row_at(std::uint64_t word) noexcept {
    return word * 0x9E3779B97F4A7C15u >> (64 - kRowBits);
  }
  const Row& row_of(std::uint64_t word) const noexcept { return row_[row_at(word)]; }
  Row& row_of(std::uint64_t word) noexcept { return row_[row_at(word)]; }

  Row row_[std::size_t{1} << kRowBits]{};
  NativeAtomic<std::uint32_t> replaced_{};
};

}  // namespace lockswap::audit
