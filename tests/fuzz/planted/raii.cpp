// A path unlocks by hand what its guard unlocks again, when others have it: abort, two are inside.
// glibc accepts the second release, so it takes two more threads until the program notices.
#include <mutex>

#include "planted.h"

namespace {

std::mutex lock, other;
bool is_busy = false;
int inside = 0;

void add() {
  std::unique_lock l(lock);
  if (is_busy) {
    if (is_right) {
      l.unlock();
    } else {
      lock.unlock();
    }
    work(5);
    return;
  }
  expect(++inside == 1);
  { std::unique_lock o(other); }
  expect(--inside == 0);
}
void flush() {
  {
    std::unique_lock l(lock);
    is_busy = true;
  }
  std::unique_lock l(lock);
  is_busy = false;
}

void* one(void* argument) {
  work(300 * number_of(argument));
  if (number_of(argument) == 0) {
    flush();
  } else {
    add();
  }
  return nullptr;
}

}  // namespace

extern "C" void planted_raii() { run(4, one); }
