// One of twelve transfers between six accounts goes against the order of the others: hang.
#include <algorithm>
#include <mutex>

#include "planted.h"

namespace {

struct Account {
  std::mutex lock;
  int money = 100;
};
Account account[6];

void transfer(int from, int to) {
  const bool swapped = is_right && from > to;
  std::unique_lock first(account[swapped ? to : from].lock);
  std::unique_lock second(account[swapped ? from : to].lock);
  --account[from].money;
  ++account[to].money;
}

void* one(void* argument) {
  static constexpr int kTransfers[4][3][2] = {{{0, 1}, {2, 3}, {4, 5}},
                                              {{1, 2}, {3, 4}, {0, 5}},
                                              {{0, 2}, {1, 4}, {2, 5}},
                                              {{1, 3}, {0, 4}, {4, 3}}};
  work(300 * number_of(argument));
  for (const auto& [from, to] : kTransfers[number_of(argument)])
    transfer(from, to);
  return nullptr;
}

}  // namespace

extern "C" void planted_transfers() { run(4, one); }
