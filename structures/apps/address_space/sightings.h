// What a thread has read in pages of others, which write them meanwhile: page and value, to be
// compared afterwards with what the other has written there at some time. The number of a call is
// what it writes, so the call can be done over again.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "address_space/program.h"

namespace bench {

struct Sighting {
  std::uint64_t value, page;
  // NOLINTNEXTLINE(modernize-use-nullptr): a comparison with 0 that the compiler writes
  auto operator<=>(const Sighting&) const = default;
};

class Sightings {
 public:
  // One that has just been seen is not noted again, so that it costs the thread little.
  void note(std::uint64_t page, std::uint64_t value) {
    const Sighting seen{value, page};
    Sighting& last = last_[place(page)];
    if (value == 0 || last == seen) return;
    last = seen;
    all_.push_back(seen);
    if (all_.size() >= limit_) shrink();
  }
  const std::vector<Sighting>& all() const { return all_; }

 private:
  static constexpr std::size_t kPlaces = 2048;
  static std::size_t place(std::uint64_t page) {
    return (page + page / kArenaPages * 263) % kPlaces;  // threads' pages are apart by arenas
  }
  // There are no more values than writes, but each may be noted often.
  void shrink() {
    std::ranges::sort(all_);
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    limit_ = std::max(limit_, 2 * all_.size());
  }
  std::array<Sighting, kPlaces> last_{};
  std::vector<Sighting> all_;
  std::size_t limit_ = std::size_t{1} << 16;
};

// What others have seen in one thread's pages, while that thread's calls are done over again.
class Seen {
 public:
  explicit Seen(std::vector<Sighting> seen) : seen_(std::move(seen)) { std::ranges::sort(seen_); }
  // The steps of the next call, whose number is what it writes: whether all that was seen of it was
  // written by it.
  bool is_by(const Steps& steps, std::uint64_t call) {
    for (; next_ < seen_.size() && seen_[next_].value == call; ++next_) {
      const std::uint64_t page = seen_[next_].page;
      if (!std::ranges::any_of(steps, [page](const Step& s) {
            return s.kind == Step::write && s.start <= page && page < s.end;
          }))
        return false;
    }
    return true;
  }
  // The first that no call was asked about, or that was not by its call.
  const Sighting* left() const { return next_ == seen_.size() ? nullptr : &seen_[next_]; }

 private:
  std::vector<Sighting> seen_;
  std::size_t next_ = 0;
};

}  // namespace bench
