// The texts of LOCKSWAP_POLICY and LOCKSWAP_DELAY. An input is a text; it ends at its first zero.
#include "config/policy.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>

#include <sys/mman.h>

#include "config/delay.h"
#include "platform/text.h"

namespace lockswap {
namespace {

constexpr const char* kRwlocks[] = {"pthread", "first", "second"};
constexpr const char* kMutexes[] = {"pthread", "third"};

template <const auto& kNames>
constexpr NameList list_of(const char* what) {
  return {what, std::size(kNames), [](int i) { return kNames[i]; },
          [](const char* wanted) -> const char* {
            for (const char* name : kNames) {
              if (same_name(name, wanted)) return name;
            }
            return nullptr;
          }};
}
constexpr Names kNames{.rwlocks = list_of<kRwlocks>("lock"),
                       .mutexes = list_of<kMutexes>("mutex"),
                       .waits = {},
                       .range_kind = nullptr,
                       .put_ranges = nullptr};

}  // namespace
}  // namespace lockswap

using namespace lockswap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Just as large as it says, so that a sanitizer sees what is written behind it.
  constexpr std::uint32_t kSize = 300;
  const std::unique_ptr<char[]> message(new char[kSize]());
  // Not a file's name: what lies about here is no input.
  const std::string rules = "module=x rwlock=first\n" + text;
  if (const Policy* policy = read_policy(rules.c_str(), kNames, message.get(), kSize);
      policy != nullptr) {
    const std::unique_ptr<char[]> line(new char[kSize]());
    for (int i = 0; i < policy->count; ++i) {
      Text out(line.get(), kSize);
      put_rule(out, policy->rules[i]);
      if (policy->rules[i].lock[0] == nullptr && policy->rules[i].lock[1] == nullptr) std::abort();
    }
  } else if (message[0] == 0 || std::strlen(message.get()) >= kSize) {
    std::abort();  // it is wrong, and nothing is said
  }
  // Its text stays, as a library needs it. The first rule's module stands behind "module=".
  if (const char* at = policy_without(ObjectKind::rwlock)->rules[0].module; at != nullptr)
    munmap(const_cast<char*>(at) - 7, 64 * 1024);
  message[0] = 0;
  if (!read_delay(text.c_str(), message.get(), kSize) && message[0] == 0) std::abort();
  return 0;
}
