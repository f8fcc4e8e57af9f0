// Addresses as numbers, as in the audit's tables and its record.
#pragma once

#include <cstdint>

namespace lockswap::audit {

inline std::uint64_t address_of(const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p);
}
inline const void* pointer_to(std::uint64_t address) noexcept {
  return reinterpret_cast<const void*>(address);
}

}  // namespace lockswap::audit
