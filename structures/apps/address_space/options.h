// How the spaces of a run are, whatever the design.
#pragma once

namespace bench {

struct SpaceOptions {
  bool mmap_cache = false;   // the region that was found last is kept; of designs that have it
  bool large_pages = false;  // of 2 MB
  bool stacks = false;       // grow when they are accessed below
  bool prepares = false;     // the first fault in a region makes it known to reverse maps
};

// Before threads look.
template <class Engine>
void set_up(Engine& space, const SpaceOptions& options) {
  if constexpr (requires { space.sync().index().keep_last(); }) {
    if (options.mmap_cache) space.sync().index().keep_last();
  }
  if (options.large_pages) space.use_large_pages();
  if (options.prepares) space.use_reverse_maps();
  if (options.stacks) space.use_stacks(2048, 256);  // Linux: 8 MB, and 1 MB free below
}

}  // namespace bench
