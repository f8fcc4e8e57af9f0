// Threads that read and write plain data under each lock of variants/list.def. tests/unit/rw_stress
// does the same for the shipped locks. It is built under ThreadSanitizer, too.
//
// usage: variants_stress [MILLISECONDS for each lock]
#include <cstdio>
#include <cstdlib>

#include "rw_stress.h"
#include "variants/cores.h"
#include "variants/forms.h"
#include "wait/park.h"

namespace lockswap::variants {
namespace {

template <template <class, class> class Core, class Form>
void line(const char* name, int milliseconds) {
  using W = Park<Native>;
  using Lock = typename Form::template Lock<Native, W, Core<Native, W>, CountNothing>;
  stress::run<W, Lock>("", name, milliseconds);
}

}  // namespace
}  // namespace lockswap::variants

int main(int argc, char** argv) {
  using namespace lockswap;
  using namespace lockswap::variants;
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (milliseconds <= 0) {
    std::fprintf(stderr, "usage: variants_stress [MILLISECONDS]\n");
    return 2;
  }
  stress::start();
#define VARIANT(name, Core, Form, extent) line<Core, Form>(name, milliseconds);
#include "variants/list.def"
#undef VARIANT
  return stress::say_failures();
}
