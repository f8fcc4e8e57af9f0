#include "registry/rlu_library.h"

#include "registry/rlu_forked.h"

namespace lockswap {

LOCKSWAP_SHOWN_PER_THREAD_HERE(rlu::Local<Native>, rlu_here);

void rlu_forked() noexcept { RluLibrary::Threads::forked(); }

}  // namespace lockswap
