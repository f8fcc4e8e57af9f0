// How programs get memory: the mapping calls of glibc's malloc, and of an allocator that maps
// segments.
#pragma once

#include "address_space/program.h"
#include "address_space/region.h"

namespace bench {

inline constexpr std::uint32_t kReadWrite =
    lockswap::address_space::kRead | lockswap::address_space::kWrite;

class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;
  // Appends the steps of one page more, which is written.
  virtual void page(Steps& steps) = 0;
};

// An arena of glibc's malloc: a heap of 64 MB, found in a reservation of twice as much so that it
// is aligned. It grows by mprotect, a page at a time where allocations are small; what is free at
// its end goes back by MADV_DONTNEED. A heap that is full is unmapped here, and the next one made.
class GlibcArena : public Allocator {
 public:
  explicit GlibcArena(std::uint64_t at) : at_(at) {}
  void page(Steps& steps) override {
    if (top_ == 0 || top_ == kHeap) renew(steps);
    const std::uint64_t p = at_ + top_++;
    if (top_ > kFirst)
      steps.push_back({.kind = Step::protect, .start = p, .end = p + 1, .protection = kReadWrite});
    steps.push_back({.kind = Step::write, .start = p, .end = p + 1});
    // Now and then much is freed at once; the pages stay the heap's.
    if (top_ % kTrim == 0)
      steps.push_back({.kind = Step::discard, .start = p - kTrim / 4, .end = p + 1});
  }

 private:
  static constexpr std::uint64_t kHeap = 16384;  // HEAP_MAX_SIZE
  static constexpr std::uint64_t kFirst = 33;    // 132 KB: the first part of a heap
  static constexpr std::uint64_t kTrim = 512;
  void renew(Steps& steps) {
    if (top_ != 0) steps.push_back({.kind = Step::unmap, .start = at_, .end = at_ + kHeap});
    const std::uint64_t low = at_ - kHeap / 4;
    const std::uint64_t high = low + 2 * kHeap;
    steps.push_back({.kind = Step::map, .start = low, .end = high});
    steps.push_back({.kind = Step::unmap, .start = low, .end = at_});
    steps.push_back({.kind = Step::unmap, .start = at_ + kHeap, .end = high});
    steps.push_back(
        {.kind = Step::protect, .start = at_, .end = at_ + kFirst, .protection = kReadWrite});
    top_ = 0;
  }
  std::uint64_t at_;
  std::uint64_t top_ = 0;  // pages in use
};

// glibc's main arena: it grows by brk, 132 KB at a time, and is cut back when much is free.
class GlibcHeap : public Allocator {
 public:
  explicit GlibcHeap(std::uint64_t at) : at_(at) {}
  void page(Steps& steps) override {
    if (used_ == kMost) {
      used_ = end_ = kMost / 2;
      steps.push_back({.kind = Step::brk, .end = at_ + end_});
    }
    if (used_ == end_) {
      end_ += kStep;
      steps.push_back({.kind = Step::brk, .end = at_ + end_});
    }
    const std::uint64_t p = at_ + used_++;
    steps.push_back({.kind = Step::write, .start = p, .end = p + 1});
  }

 private:
  static constexpr std::uint64_t kStep = 33;
  static constexpr std::uint64_t kMost = 1056;  // a multiple of twice kStep
  std::uint64_t at_;
  std::uint64_t used_ = 0, end_ = 0;
};

// Segments of 8 MB, as Streamflow maps them; the oldest goes when there are many.
class Segments : public Allocator {
 public:
  explicit Segments(std::uint64_t at) : at_(at) {}
  void page(Steps& steps) override {
    if (top_ % kSegment == 0) {
      const std::uint64_t start = at_ + place();
      // A page is left between two, so that they do not become one region.
      if (top_ >= kMost * kSegment)
        steps.push_back({.kind = Step::unmap, .start = start, .end = start + kSegment});
      steps.push_back(
          {.kind = Step::map, .start = start, .end = start + kSegment, .protection = kReadWrite});
    }
    const std::uint64_t p = at_ + place() + top_ % kSegment;
    steps.push_back({.kind = Step::write, .start = p, .end = p + 1});
    ++top_;
  }

 private:
  static constexpr std::uint64_t kSegment = 2048;
  static constexpr std::uint64_t kMost = 8;
  std::uint64_t place() const { return (top_ / kSegment % kMost) * (kSegment + 1); }
  std::uint64_t at_;
  std::uint64_t top_ = 0;
};

}  // namespace bench
