// The second program of docs/range-locks.md: the same as range_records.c in C++.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <lockswap/range_lock.hpp>

namespace {

lockswap::range_lock lock;
constexpr std::uint64_t size = 64, kRecords = 8;
std::array<char, kRecords * size> buffer{};  // a unit of the lock is a byte
std::atomic<int> torn{0};

void work(char mark) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t offset = i * 3 % kRecords * size;
    {
      const auto part = lock.exclusive(offset, offset + size);  // waits
      std::memset(&buffer[offset], mark, size);
    }  // released
    if (const auto part = lock.try_shared(offset, offset + size)) {
      for (std::uint64_t at = offset; at < offset + size; ++at)
        torn += buffer[at] != buffer[offset] ? 1 : 0;
    }
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (const char mark : {'a', 'b', 'c', 'd'})
    threads.emplace_back(work, mark);
  for (std::thread& thread : threads)
    thread.join();
  std::printf("%d records, %d torn\n", static_cast<int>(kRecords), torn.load());
  return torn == 0 ? 0 : 1;
}
