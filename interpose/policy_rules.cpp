#include "interpose/policy_rules.h"

#include <cstring>

#include "interpose/file_symbols.h"
#include "interpose/modules.h"

namespace lockswap {
namespace {

// `*` stands for any characters.
bool matches(const char* pattern, const char* text) noexcept {
  const char* star = nullptr;
  const char* from = nullptr;
  while (*text != 0) {
    if (*pattern == '*') {
      star = pattern++;
      from = text;
    } else if (*pattern == *text) {
      ++pattern;
      ++text;
    } else if (star != nullptr) {
      pattern = star + 1;
      text = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    ++pattern;
  return *pattern == 0;
}

bool is_named(const char* pattern, const Module& module) noexcept {
  const char* path = module.path()[0] == 0 ? program_path() : module.path();
  const char* slash = std::strchr(pattern, '/') != nullptr ? nullptr : std::strrchr(path, '/');
  return matches(pattern, slash == nullptr ? path : slash + 1);
}

// A call's return address is after the call, and if the call is the function's last instruction, in
// the next function.
const void* inside_call(const void* caller) noexcept {
  return static_cast<const std::byte*>(caller) - 1;
}

bool is_met(const Policy& policy, int number, const void* object, const void* caller,
            const Module& module) noexcept {
  const Rule& rule = policy.rules[number];
  const bool by_caller = rule.module != nullptr || rule.site != nullptr || rule.address != 0;
  if (by_caller && module.object == nullptr) return false;
  if (rule.module != nullptr && !is_named(rule.module, module)) return false;
  if (rule.address != 0 && module.address_of(caller) != rule.address) return false;
  if (rule.site != nullptr && !lies_in(policy, number, Named::site, module, inside_call(caller))) {
    return false;
  }
  if (rule.symbol == nullptr) return true;
  const Module of_object = module_at(object);
  return of_object.object != nullptr && lies_in(policy, number, Named::symbol, of_object, object);
}

}  // namespace

CallSite first_rule_met(const Policy& policy, ObjectKind kind, const void* object,
                        const void* caller) noexcept {
  const Module module = module_at(inside_call(caller));
  CallSite site;
  if (module.object != nullptr) {
    site.module = module.path()[0] == 0 ? program_path() : module.path();
    site.address = module.address_of(caller);
  }
  for (int i = 0; i < policy.count && site.rule < 0; ++i) {
    const bool is_of_kind = policy.rules[i].lock[static_cast<std::size_t>(kind)] != nullptr;
    if (is_of_kind && is_met(policy, i, object, caller, module)) site.rule = i;
  }
  return site;
}

}  // namespace lockswap
