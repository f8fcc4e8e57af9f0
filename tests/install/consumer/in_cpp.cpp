// The same in C++.
#include <cstdio>

#include <lockswap/range_lock.hpp>

int main() {
  lockswap::range_lock lock;
  const auto range = lock.exclusive(0, 10);
  return range && std::puts("acquired") >= 0 ? 0 : 1;
}
