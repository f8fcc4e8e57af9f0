// Which loaded file an address lies in. Neither the loader's lock nor memory is needed: a lock call
// may come from anywhere.
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
  // An address as the file's own tables have it.
  std::uintptr_t address_of(const void* p) const noexcept {
    return reinterpret_cast<std::uintptr_t>(p) - object->l_addr;
  }
};

// By _dl_find_object (glibc 2.35 and newer), which knows what dlopen and dlclose did.
// With an older glibc, by the list of what was loaded at start-up: what dlopen brings is in no
// module.
Module module_at(const void* address) noexcept;
// The latter alone.
Module module_of_start_at(const void* address) noexcept;

// The headers of its file, which lie where it begins; the program's are found by the kernel's word.
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
