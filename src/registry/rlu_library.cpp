#include "registry/rlu_library.h"

#include "registry/rlu_forked.h"

namespace lockswap {

void rlu_forked() noexcept { RluLibrary::Threads::forked(); }

}  // namespace lockswap
