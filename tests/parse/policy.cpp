// The texts of LOCKSWAP_POLICY and LOCKSWAP_DELAY. An input is a text; it ends at its first zero.
#include "registry/policy.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <sys/mman.h>

#include "platform/text.h"
#include "registry/delay.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

template <class Row>
Row named(const char* name) {
  Row row{};
  row.name = name;
  return row;
}
const RwLockInfo kRwlocks[] = {named<RwLockInfo>("pthread"), named<RwLockInfo>("first"),
                               named<RwLockInfo>("second")};
const MutexInfo kMutexes[] = {named<MutexInfo>("pthread"), named<MutexInfo>("third")};

template <class Row, std::size_t kCount>
const Row* find(const Row (&rows)[kCount], const char* name) {
  for (const Row& row : rows) {
    if (same_name(row.name, name)) return &row;
  }
  return nullptr;
}

}  // namespace

RwLocks rwlocks() noexcept { return {kRwlocks, 3}; }
Mutexes mutexes() noexcept { return {kMutexes, 2}; }
const RwLockInfo* find_rwlock(const char* name) noexcept { return find(kRwlocks, name); }
const MutexInfo* find_mutex(const char* name) noexcept { return find(kMutexes, name); }

}  // namespace lockswap

using namespace lockswap;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Just as large as it says, so that a sanitizer sees what is written behind it.
  constexpr std::uint32_t kSize = 300;
  const std::unique_ptr<char[]> message(new char[kSize]());
  // Not a file's name: what lies about here is no input.
  const std::string rules = "module=x rwlock=first\n" + text;
  if (const Policy* policy = read_policy(rules.c_str(), message.get(), kSize); policy != nullptr) {
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
