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
    out << "what this build has beside glibc's lock may keep programs waiting that are right "
           "under that one";
  } else if (same_name(choice.one_cpu, choice.several_cpus)) {
    out << "a running thread takes it, one alone where trials show that to be faster, and nobody "
           "waits for ever";
  } else {
    out << "the process may use " << topology.allowed
        << (topology.allowed == 1 ? " processor" : " processors");
  }
}

}  // namespace lockswap
