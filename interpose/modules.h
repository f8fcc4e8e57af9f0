// Finds the loaded file that an address is in. Needs neither the loader's lock nor memory, since a
// lock may be called from anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace lockswap {

struct Module {
  const link_map* object = nullptr;  // nullptr if there is none
  std::uintptr_t begin = 0, end = 0;
  const void* unwinding = nullptr;  // its .eh_frame_hdr; nullptr if it has none

  const char* path() const noexcept { return object->l_name; }  // "": the program
  // Returns the address as in the file's own tables.
  std::uintptr_t address_of(const void* p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - object->l_addr;
  }
};

// Uses _dl_find_object (glibc 2.35 and newer), which knows what dlopen and dlclose did. With an
// older glibc it uses the list of what was loaded at start-up, so it returns no module for files
// loaded by dlopen.
Module module_at(const void* address) noexcept;
// The same, but always by the list of what was loaded at start-up.
Module module_of_start_at(const void* address) noexcept;

// A module's program headers, which are at its beginning. The kernel tells where the program's are.
struct Headers {
  const ElfW(Phdr) * at = nullptr;
  std::size_t count = 0;
};
Headers headers_of(const link_map& object) noexcept;

// Called at start-up.
void prepare_modules() noexcept;

// The program's own file.
const char* program_path() noexcept;

}  // namespace lockswap
