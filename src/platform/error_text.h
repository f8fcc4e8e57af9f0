// What an errno of a file means, as a clause, because strerror may allocate and is localised.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/text.h"

namespace lockswap {

constexpr const char* error_text(int error) noexcept {
  switch (error) {
    case ENOENT:
      return "there is no such file or folder";
    case ENOTDIR:
      return "it is no folder";
    case EISDIR:
      return "it is a folder";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "the file system is read-only";
    case ENOSPC:
    case EDQUOT:
      return "there is no room left";
    default:
      return nullptr;
  }
}

inline void put_error(Text& out, int error) noexcept {
  if (const char* text = error_text(error); text != nullptr) {
    out << text;
  } else {
    out << "error " << static_cast<std::uint64_t>(error);
  }
}

}  // namespace lockswap
