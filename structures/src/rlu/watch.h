// What a thread has accessed in its section, in programs that are compiled with checks (checks.h).
// It finds writes without a lock, and stored addresses of copies.
//
// Idea: what a section reads in place stays unchanged until the section ends, since each later
//   commit waits for it. So if an object's bytes have changed by then, some thread has written it
//   without a lock.
// State: a table of what the section has read, which a new stamp empties; and the newest objects
//   that the thread has made, with their checksums from the beginning of the section.
// Limits: the table has a fixed size, and what does not fit is not watched. Of a large object only
//   the first bytes are watched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rlu/object.h"

namespace lockswap::rlu {

class Watch {
 public:
  struct Seen {
    const void* object;
    std::uint64_t sum;
    std::uint64_t stamp;
    std::size_t size;
    bool is_copy;  // another thread's
  };
  static constexpr std::size_t kSeen = 1024;
  static constexpr std::size_t kMade = 16;

  void see(const void* object, std::size_t size, bool is_copy) noexcept {
    Seen* const at = place_of(object);
    if (at == nullptr || at->stamp == stamp_) return;
    *at = {object, is_copy ? 0 : sum_of(object, size), stamp_, size, is_copy};
    ++count_;
  }
  bool has_seen_any() const noexcept { return count_ != 0; }
  // Returns whether the section has read another thread's copy at that address.
  bool is_copy(std::uint64_t address) noexcept {
    const auto* const object = reinterpret_cast<const void*>(address);
    const Seen* const at = count_ == 0 ? nullptr : place_of(object);
    return at != nullptr && at->stamp == stamp_ && at->is_copy;
  }
  // Returns an object that the section has read in place and that has changed since, or nullptr.
  const void* changed() const noexcept {
    for (const Seen& s : seen_) {
      if (s.stamp == stamp_ && !s.is_copy && sum_of(s.object, s.size) != s.sum) return s.object;
    }
    return nullptr;
  }
  // Called when the section is over.
  void forget() noexcept {
    ++stamp_;
    count_ = 0;
  }

  // --- objects that the thread has made
  void made(const void* object, std::size_t size) noexcept {
    made_[next_++ % kMade] = {object, sum_of(object, size), 0, size, false};
  }
  void forget_made() noexcept { made_ = {}; }
  void forget_made(const void* object) noexcept {
    for (Seen& s : made_) {
      if (s.object == object) s.object = nullptr;
    }
  }
  void sum_made() noexcept {
    for (Seen& s : made_) {
      if (s.object != nullptr) s.sum = sum_of(s.object, s.size);
    }
  }
  bool has_changed_made() const noexcept {
    for (const Seen& s : made_) {
      if (s.object != nullptr && sum_of(s.object, s.size) != s.sum) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr std::size_t kProbes = 8;

  static std::uint64_t sum_of(const void* object, std::size_t size) noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(object);
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < size && i < kMostBytes; ++i)
      sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
  }
  // Returns where the object is, or would be, or nullptr if there is no room.
  Seen* place_of(const void* object) noexcept {
    const std::size_t first = static_cast<std::size_t>(
        reinterpret_cast<std::uintptr_t>(object) * 0x9E3779B97F4A7C15u >> 54);
    for (std::size_t i = 0; i < kProbes; ++i) {
      Seen& s = seen_[(first + i) % kSeen];
      if (s.stamp != stamp_ || s.object == object) return &s;
    }
    return nullptr;
  }

  std::uint64_t stamp_ = 1;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::array<Seen, kSeen> seen_{};
  std::array<Seen, kMade> made_{};
};

}  // namespace lockswap::rlu
