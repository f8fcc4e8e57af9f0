// What is missing in a cache is computed without the lock and added without a second look: abort.
#include <algorithm>
#include <mutex>
#include <vector>

#include "planted.h"

namespace {

std::mutex lock;
std::vector<int> entries;

bool has(int key) { return std::find(entries.begin(), entries.end(), key) != entries.end(); }

void* one(void* argument) {
  static constexpr int kKeys[5][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 3}};
  work(300 * number_of(argument));
  for (const int key : kKeys[number_of(argument)]) {
    std::unique_lock l(lock);
    if (has(key)) continue;
    l.unlock();
    work(5);
    l.lock();
    if (is_right && has(key)) continue;
    expect(!has(key));
    entries.push_back(key);
  }
  return nullptr;
}

}  // namespace

extern "C" void planted_cache() { run(5, one); }
