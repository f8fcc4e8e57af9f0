// Checks whether an object meets a rule of a policy, for registry/policy_ops.h.
#pragma once

#include "registry/policy_ops.h"

namespace lockswap {

CallSite first_rule_met(const Policy& policy, ObjectKind kind, const void* object,
                        const void* caller) noexcept;

}  // namespace lockswap
