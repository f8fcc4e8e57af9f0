// Memory of a skip list's nodes: each thread has lists of its own by size, and memory is used again
// once no thread can look at it any more.
//
// A node that was taken out of the list may still be walked through, so its bytes wait until all
// walks that ran then are over (reclaim/epoch.h). Chunks are given back when the memory goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/native.h"
#include "reclaim/epoch.h"

namespace bench {

class SkipListMemory {
  using Epochs = lockswap::Epochs<lockswap::Native>;
  using Walker = lockswap::Walker<lockswap::Native>;

 public:
  static constexpr std::size_t kGrain = 8;       // sizes are multiples
  static constexpr std::size_t kMost = 512;      // the largest size
  static constexpr std::uint32_t kPeriod = 256;  // nodes that wait together

  // A thread's own. As long as the memory; given back by its thread or after it.
  class Owner {
   public:
    explicit Owner(SkipListMemory& of) : of_(of), walker_(new Walker) { of.add(*walker_); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // Between the two, what it meets in the list stays.
    void begin_walk() noexcept { of_.epochs_.begin(*walker_); }
    void end_walk() noexcept { of_.epochs_.end(*walker_); }

    void* take(std::size_t bytes) {
      std::vector<void*>& free = free_[bytes / kGrain];
      if (free.empty()) return fresh(bytes);
      void* p = free.back();
      free.pop_back();
      return p;
    }
    // Called outside walks, for memory that no other thread knows.
    void give(void* p, std::size_t bytes) { free_[bytes / kGrain].push_back(p); }
    // It is out of the list.
    void retire(void* p, std::size_t bytes) {
      open_.push_back({p, bytes});
      if (open_.size() < kPeriod) return;
      if (closed_.empty()) {
        period_ = of_.epochs_.close();
        closed_.swap(open_);
      }
      if (!of_.epochs_.is_over(period_, *walker_)) return;
      for (const Piece& piece : closed_)
        give(piece.at, piece.bytes);
      closed_.clear();
    }

   private:
    struct Piece {
      void* at;
      std::size_t bytes;
    };
    static constexpr std::size_t kChunk = 1 << 20;

    void* fresh(std::size_t bytes) {
      if (left_ < bytes) {
        next_ = of_.chunk(kChunk);
        left_ = kChunk;
      }
      void* p = next_;
      next_ += bytes;
      left_ -= bytes;
      return p;
    }

    SkipListMemory& of_;
    Walker* walker_;
    std::vector<void*> free_[kMost / kGrain + 1];
    std::vector<Piece> open_;
    std::vector<Piece> closed_;
    lockswap::Period<lockswap::Native> period_;
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
  };

 private:
  void add(Walker& w) {
    epochs_.add(w);
    const std::lock_guard lock(guard_);
    walkers_.emplace_back(&w);
  }
  std::byte* chunk(std::size_t bytes) {
    const std::lock_guard lock(guard_);
    return chunks_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }

  Epochs epochs_;
  std::mutex guard_;
  std::vector<std::unique_ptr<Walker>> walkers_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

}  // namespace bench
