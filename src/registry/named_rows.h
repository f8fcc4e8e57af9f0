// What the tables of mutexes and of reader-writer locks have in common.
#pragma once

#include <array>
#include <cstddef>

#include "config/config.h"
#include "platform/native.h"
#include "platform/text.h"

namespace lockswap {

// Returns nullptr if there is no such name or alias. Case does not matter.
template <class Info, std::size_t kRows>
const Info* row_named(const std::array<Info, kRows>& rows, const char* name) noexcept {
  for (const Info& row : rows) {
    if (same_name(row.name, name)) return &row;
    for (const char* const* alias = row.info.aliases; *alias != nullptr; ++alias) {
      if (same_name(*alias, name)) return &row;
    }
  }
  return nullptr;
}

// Returns the bytes that a lock has outside its pthread object. Reads the topology.
template <class Info>
std::size_t bytes_beside(const Info& row, const Config& config) noexcept {
  if (row.block_bytes == nullptr) return 0;
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return row.block_bytes();
}

}  // namespace lockswap
