// Range locks in C++: the handle of a range releases it at the end of its scope. Threads append
// records to a buffer while others read it: a writer has the bytes of its record alone, and a
// reader skips records that are being written.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <lockswap/range_lock.hpp>

namespace {

constexpr std::uint64_t kRecord = 64, kRecords = 256;
constexpr unsigned kThreads = 4;

lockswap::range_lock lock;  // the implementation that LOCKSWAP_RANGE names, or the default one
std::array<char, kRecord * kRecords> buffer{};
std::atomic<std::uint64_t> next{0};
std::atomic<unsigned> torn{0}, busy{0};

void append(char mark) {
  for (;;) {
    const std::uint64_t record = next.fetch_add(1);
    if (record >= kRecords) return;
    const std::uint64_t begin = record * kRecord;
    const auto mine = lock.exclusive(begin, begin + kRecord);
    std::memset(&buffer[begin], mark, kRecord);
  }
}

void look() {
  for (std::uint64_t record = 0; record < kRecords; ++record) {
    const std::uint64_t begin = record * kRecord;
    const auto shared = lock.try_shared(begin, begin + kRecord);
    if (!shared) {
      ++busy;  // it is being written
      continue;
    }
    for (std::uint64_t i = begin; i < begin + kRecord; ++i)
      torn += buffer[i] != buffer[begin] ? 1 : 0;
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back(append, static_cast<char>('a' + i));
    threads.emplace_back(look);
  }
  for (std::thread& thread : threads)
    thread.join();

  auto all = lock.exclusive();  // the whole buffer
  unsigned missing = 0;
  for (const char byte : buffer)
    missing += byte == 0 ? 1 : 0;
  all.downgrade();  // others may read again
  std::printf("%u torn, %u missing\n", torn.load(), missing);
  return torn != 0 || missing != 0 ? 1 : 0;
}
