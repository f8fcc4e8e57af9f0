#include "config/auto.h"

#include "config/config.h"
#include "platform/native.h"
#include "platform/topology.h"

namespace lockswap {
namespace {

const char* chosen(const AutoChoice& choice, const Config& config) noexcept {
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return choice.on({.allowed = topology.allowed});
}

}  // namespace

const char* auto_rwlock(const Config& config) noexcept { return chosen(kAutoRwlock, config); }
const char* auto_mutex(const Config& config) noexcept { return chosen(kAutoMutex, config); }

void put_auto_reason(Text& out, const AutoChoice& choice) noexcept {
  if (choice.left_out != nullptr) out << choice.left_out << " " << kWhyLeftOut << "; ";
  if (same_name(choice.several_cpus, "pthread")) {
    out << "this build's other locks may block programs that are correct with glibc's";
  } else if (same_name(choice.one_cpu, choice.several_cpus)) {
    out << "it lets one thread go on alone where trials show that to be faster, and every waiter "
           "gets its turn";
  } else {
    out << "the process may use " << topology.allowed
        << (topology.allowed == 1 ? " processor" : " processors");
  }
}

}  // namespace lockswap
