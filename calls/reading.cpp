#include "calls/reading.h"

#include <algorithm>
#include <unordered_map>

namespace lockswap::calls {

namespace {

// There is no version before the first.
bool from_before(std::vector<char>&) { return false; }

}  // namespace

recording::RecordedFile::Result RecordedCalls::read(const char* path) {
  const auto result = file_.read(path, kFormat, from_before);
  if (result != recording::RecordedFile::good) return result;
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::uint64_t number = 0; const Chunk* const next = chunk(number); ++number) {
    if (next->thread == 0 || next->call[0].what() == What::none) continue;
    const auto [found, is_new] = place.try_emplace(next->thread, threads_.size());
    if (is_new) threads_.emplace_back();
    add(*next, threads_[found->second]);
  }
  return result;
}

const Chunk* RecordedCalls::chunk(std::uint64_t number) const {
  if (number >= record().chunks.load(relaxed)) return nullptr;  // relaxed: it is a copy
  const std::uint64_t begin = kFirstChunk + number * Chunk::kBytes;
  if (begin > ~std::uint32_t{0}) return nullptr;
  return file_.at<Chunk>(sizeof(Record), static_cast<std::uint32_t>(begin));
}

// Drops calls that are out of order, and those from after the recording had ended for others.
void RecordedCalls::add(const Chunk& chunk, RecordedThread& thread) {
  const std::uint64_t ended = record().ended_ns.load(relaxed);
  for (const Call& call : chunk.call) {
    if (call.what() == What::none) return;
    const std::uint64_t before = thread.call.empty() ? 0 : thread.call.back().end();
    const bool is_one = call.what() < What::kEnd && call.at() >= before;
    if (!is_one || (ended != 0 && call.end() > ended)) continue;
    thread.call.push_back(call);
    end_ = std::max(end_, call.end());
  }
}

std::uint64_t RecordedCalls::added(bool holds) const {
  return (holds ? record().hold_ns_256 : record().think_ns_256) / 256;
}

}  // namespace lockswap::calls
