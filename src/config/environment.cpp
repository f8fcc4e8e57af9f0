#include "config/environment.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unistd.h>

#include <sys/auxv.h>

// The loader's variable: where the kernel put the process's argument count.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace lockswap {

// An executable's pre-initialisers run, and may lock, before libc has set its own pointer. Then the
// environment is found where the kernel put it: on the first stack, after the arguments.
char** environment() noexcept {
  if (getauxval(AT_SECURE) != 0) return nullptr;
  if (environ != nullptr) return environ;
  auto* at = static_cast<char**>(__libc_stack_end);
  if (at == nullptr) return nullptr;
  const auto arguments = reinterpret_cast<std::uintptr_t>(*at);
  return at + 1 + arguments + 1;
}

const char* environment_value(const char* name) noexcept {
  const std::size_t n = std::strlen(name);
  for (char** e = environment(); e != nullptr && *e != nullptr; ++e) {
    if (std::strncmp(*e, name, n) == 0 && (*e)[n] == '=') {
      return (*e)[n + 1] == 0 ? nullptr : *e + n + 1;
    }
  }
  return nullptr;
}

}  // namespace lockswap
