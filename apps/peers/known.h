// The locks that the program can have, whether they are compiled in or not.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace peers {

struct Known {
  std::string_view name;
  std::string_view needs;    // a package of Debian
  std::string_view library;  // how the names of its shared libraries begin; none: it is compiled in
};

inline constexpr std::array kKnown{
    Known{"std", "", "liblockswap.so"},
    Known{"absl", "libabsl-dev", "libabsl_"},
    Known{"nsync", "libnsync-dev", "libnsync_cpp"},
    Known{"parking-lot", "cargo", ""},
    Known{"boost", "libboost-thread-dev", "libboost_thread"},
    Known{"tbb-spin", "libtbb-dev", "libtbb"},
    Known{"tbb-queuing", "libtbb-dev", "libtbb"},
    Known{"tbb-rw", "libtbb-dev", "libtbb"},
    Known{"ck-rwlock", "libck-dev", ""},
    Known{"ck-pflock", "libck-dev", ""},
    Known{"ck-brlock", "libck-dev", ""},
    Known{"ck-mcs", "libck-dev", ""},
    Known{"ck-ticket", "libck-dev", ""},
};

// Where it stands in the list.
inline std::size_t place_of(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kKnown, name, &Known::name);
  return static_cast<std::size_t>(found - kKnown.begin());
}

}  // namespace peers
