// The locks that the program can have, whether they are compiled in or not.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace peers {

struct Known {
  std::string_view name;
  std::string_view needs;  // a package of Debian
};

inline constexpr std::array kKnown{
    Known{"std", ""},
    Known{"absl", "libabsl-dev"},
    Known{"nsync", "libnsync-dev"},
    Known{"parking-lot", "cargo"},
    Known{"boost", "libboost-thread-dev"},
    Known{"tbb-spin", "libtbb-dev"},
    Known{"tbb-queuing", "libtbb-dev"},
    Known{"tbb-rw", "libtbb-dev"},
    Known{"ck-rwlock", "libck-dev"},
    Known{"ck-pflock", "libck-dev"},
    Known{"ck-brlock", "libck-dev"},
    Known{"ck-mcs", "libck-dev"},
    Known{"ck-ticket", "libck-dev"},
};

// Where it stands in the list.
inline std::size_t place_of(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kKnown, name, &Known::name);
  return static_cast<std::size_t>(found - kKnown.begin());
}

}  // namespace peers
