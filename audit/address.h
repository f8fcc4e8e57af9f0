// Addresses as numbers, as the audit's tables and its record have them.
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
