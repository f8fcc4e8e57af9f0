#include "interpose/module_functions.h"

#include <cstdint>
#include <cstring>

#include "interpose/modules.h"
#include "interpose/objects.h"

namespace lockswap {
namespace {

recording::Loaded loaded_at(const void* address) noexcept {
  const Module m = module_at(address);
  if (m.object == nullptr) return {};
  return {.object = m.object,
          .base = m.object->l_addr,
          .begin = m.begin,
          .end = m.end,
          .path = m.path(),
          .unwinding = m.unwinding};
}

// Reads the build id from memory, since the loader maps notes with the rest of the file.
recording::BuildId build_id_of(const recording::Loaded& module) noexcept {
  const auto* object = static_cast<const link_map*>(module.object);
  const Headers headers = headers_of(*object);
  for (std::size_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& h = headers.at[i];
    if (h.p_type != PT_NOTE || h.p_align > 4) continue;  // the others have other notes
    const auto* at = reinterpret_cast<const char*>(object->l_addr + h.p_vaddr);
    const char* const end = at + h.p_memsz;
    const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const name = at + sizeof *note;
      const char* const bytes = name + padded(note->n_namesz);
      if (bytes > end || note->n_descsz > static_cast<std::size_t>(end - bytes)) break;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU &&
          std::memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
        return {bytes, note->n_descsz};
      }
      at = bytes + padded(note->n_descsz);
    }
  }
  return {};
}

}  // namespace

recording::ModuleFunctions module_functions() noexcept {
  prepare_modules();
  return {.at = loaded_at, .build_id = build_id_of, .own = own_object()};
}

}  // namespace lockswap
