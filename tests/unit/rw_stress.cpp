// The lock templates themselves, without the preload: threads read and write plain data under each
// lock and wait policy. It is built a second time under ThreadSanitizer, which checks that the
// declared memory orders cover every access.
//
// usage: rw_stress [MILLISECONDS for each lock and wait policy]

#include "rw_stress.h"

#include <cstdio>
#include <cstdlib>

namespace lockswap::stress {

#define RW_LOCK(name, Class, header, words) void line_##Class(const char* wait, int milliseconds);
#include "registry/rw_list.def"
#undef RW_LOCK
}  // namespace lockswap::stress

int main(int argc, char** argv) {
  using namespace lockswap;
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (milliseconds <= 0) {
    std::fprintf(stderr, "usage: rw_stress [MILLISECONDS]\n");
    return 2;
  }
  stress::start();
  for (const char* wait : {"park", "yield", "spin"}) {
    std::printf("%s\n", wait);
#define RW_LOCK(name, Class, header, words) stress::line_##Class(wait, milliseconds);
#include "registry/rw_list.def"
#undef RW_LOCK
  }
  return stress::say_failures();
}
