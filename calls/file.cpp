#include "calls/file.h"

#include <algorithm>
#include <ctime>

#include "platform/clock.h"
#include "platform/ticks.h"
#include "recording/file.h"

namespace lockswap::calls {
namespace {

// The file grows in steps of this size.
constexpr std::uint64_t kStep = 64 * Chunk::kBytes;

std::uint64_t most_bytes = 0;
std::uint64_t allocated = 0;  // under the guard

recording::FileKind kind() noexcept {
  return {.format = kFormat,
          .blocks = kFirstChunk,
          .mapped = static_cast<std::uint32_t>(most_bytes),
          .before = "/",
          .behind = ".lockcalls"};
}

void fill_in(Record& r, std::uint64_t after_ns) noexcept {
  allocated = kFirstChunk;
  r.most_bytes = most_bytes;
  r.after_ns = after_ns;
  r.began_ticks = Ticks::now();
  r.began_cpu_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

bool grow() noexcept {
  if (allocated + Chunk::kBytes > most_bytes) return false;
  const std::uint64_t step =
      std::min(kStep, (most_bytes - allocated) / Chunk::kBytes * Chunk::kBytes);
  if (!recording::grow_file(allocated, step)) return false;
  allocated += step;
  return true;
}

}  // namespace

bool open_file(const char* folder, std::uint64_t most, std::uint64_t after_ns) noexcept {
  most_bytes = most;
  the_record = reinterpret_cast<Record*>(recording::open_file(kind(), folder));
  if (the_record == nullptr) return false;
  fill_in(*the_record, after_ns);
  return true;
}

bool reopen_file() noexcept {
  const std::uint64_t pair = record().pair_ns_256, hold = record().hold_ns_256,
                      think = record().think_ns_256;
  if (!recording::reopen_file(kind(), record().head)) return false;
  fill_in(record(), 0);  // the child's parent has waited for after_ns already
  record().pair_ns_256 = pair;
  record().hold_ns_256 = hold;
  record().think_ns_256 = think;
  return true;
}

// relaxed: under the guard. A reader takes what is there.
Chunk* take_chunk(std::uint64_t thread) noexcept {
  const std::uint64_t number = record().chunks.load(relaxed);
  const std::uint64_t begin = kFirstChunk + number * Chunk::kBytes;
  if (begin + Chunk::kBytes > allocated && !grow()) return nullptr;
  auto* const chunk = reinterpret_cast<Chunk*>(reinterpret_cast<char*>(the_record) + begin);
  chunk->thread = thread;
  record().chunks.store(number + 1, relaxed);
  return chunk;
}

}  // namespace lockswap::calls
