// An object is made at its first use, under a lock, without a second look: abort.
#include <mutex>
#include <shared_mutex>

#include "planted.h"

namespace {

std::shared_mutex lock;
int made = 0;

void* one(void* argument) {
  work(300 * number_of(argument));
  {
    std::shared_lock l(lock);
    if (made != 0) return nullptr;
  }
  std::unique_lock l(lock);
  if (!is_right || made == 0) ++made;
  expect(made == 1);
  return nullptr;
}

}  // namespace

extern "C" void planted_lazy() { run(4, one); }
