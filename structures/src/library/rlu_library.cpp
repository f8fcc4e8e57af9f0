#include "library/rlu_library.h"

namespace lockswap {

LOCKSWAP_SHOWN_PER_THREAD_HERE(rlu::Local<Native>, rlu_here);

}  // namespace lockswap
