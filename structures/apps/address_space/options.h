// How the spaces of a run are, whatever the design.
#pragma once

namespace bench {

struct SpaceOptions {
  bool mmap_cache = false;   // the region that was found last is kept; of designs that have it
  bool large_pages = false;  // of 2 MB
};

// Before threads look.
template <class Engine>
void set_up(Engine& space, const SpaceOptions& options) {
  if constexpr (requires { space.sync().index().keep_last(); }) {
    if (options.mmap_cache) space.sync().index().keep_last();
  }
  if (options.large_pages) space.use_large_pages();
}

}  // namespace bench
