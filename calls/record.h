// What a process under LOCKSWAP_RECORD leaves behind: a shared mapping of one file, with the lock
// calls of each thread in order, and their times. So the record survives kill -9. liblockswap.so
// writes it, lockswap-calls-read summarises it, and lockswap-model replays it.
//
// The file is the Record, followed by chunks of calls. Each chunk belongs to one thread, whose
// later chunks follow its earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "recording/head.h"

namespace lockswap::calls {

inline constexpr std::uint64_t kMagic = 0x736c6c6163706c;  // "lpcalls"
inline constexpr std::uint32_t kSchema = 1;

using Word = NativeAtomic<std::uint64_t>;

enum class What : std::uint8_t {
  none,
  lock,       // a mutex was acquired
  read,       // a reader-writer lock, for reading
  write,      // for writing
  unlock,     // of any kind of lock
  wait,       // for a condition, without the mutex: comes between an unlock and a lock
  timed_out,  // the same, if its deadline passed
  signal,
  broadcast,
  slept,      // the thread gave up its processor: it slept, or waited for something else
  preempted,  // other threads took its processor
  kEnd,
};

// A call that has returned. Locks and condition variables are numbered from 1.
struct Call {
  std::uint64_t when;  // the kind of call, and above it the start, in ns since the process's start
  std::uint64_t took;  // nanoseconds, and above them the object's number

  static constexpr unsigned kWhatBits = 8, kTookBits = 40;
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << kTookBits) - 1;
  static constexpr std::uint32_t kMostObjects = 1u << (64 - kTookBits);

  static constexpr Call of(What what, std::uint32_t object, std::uint64_t at,
                           std::uint64_t ns) noexcept {
    return {at << kWhatBits | static_cast<std::uint64_t>(what),
            std::uint64_t{object} << kTookBits | (ns < kLongest ? ns : kLongest)};
  }
  constexpr What what() const noexcept { return static_cast<What>(when & 0xff); }
  constexpr std::uint64_t at() const noexcept { return when >> kWhatBits; }
  constexpr std::uint64_t ns() const noexcept { return took & kLongest; }
  constexpr std::uint64_t end() const noexcept { return at() + ns(); }
  constexpr std::uint32_t object() const noexcept {
    return static_cast<std::uint32_t>(took >> kTookBits);
  }
};

// Its calls end at the first one with kind nothing.
struct Chunk {
  static constexpr std::uint32_t kBytes = 16u << 10;
  static constexpr std::uint32_t kCalls = kBytes / sizeof(Call) - 1;

  std::uint64_t thread;  // counted from 1
  std::uint64_t unused;
  Call call[kCalls];
};
static_assert(sizeof(Chunk) == Chunk::kBytes);

struct Record {
  recording::Head head;
  std::uint64_t most_bytes;  // the limit for the file
  std::uint64_t after_ns;    // requested start of recording, from the process's start
  std::uint64_t began_ticks;
  std::uint64_t began_cpu_ns;  // processor time of the process, as below
  Word ended_ns;               // end of recording: the file is full, or the process ends
  Word ended_cpu_ns;
  Word is_full;
  Word chunks;
  Word left_out;  // calls on locks that found no room, or in signal handlers
  Word failed;    // tries that failed, and acquisitions that timed out
  Word chunk_ns;  // processor time for beginning chunks
  // The cost of recording in 1/256 ns, measured at start-up: for a lock and its release, and as
  // included in the recorded times between these two, and between a release and the next lock.
  std::uint64_t pair_ns_256, hold_ns_256, think_ns_256;
};

inline constexpr std::uint32_t kFirstChunk =
    (sizeof(Record) + Chunk::kBytes - 1) / Chunk::kBytes * Chunk::kBytes;
inline constexpr recording::Format kFormat{
    .magic = kMagic, .schema = kSchema, .size = sizeof(Record)};

}  // namespace lockswap::calls
