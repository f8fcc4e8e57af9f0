#include "interpose/modules.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>

#include <sys/auxv.h>

#include "interpose/objects.h"
#include "platform/syscall.h"

namespace lockswap {
namespace {

// The same as dl_find_object of <dlfcn.h>, which older headers lack.
struct FoundObject {
  unsigned long long flags;
  void* begin;
  void* end;
  link_map* object;
  void* unwinding;
  unsigned long long reserved[8];
};
using FindObject = int (*)(void*, FoundObject*);

constinit FindObject find_object = nullptr;
constinit const link_map* last_at_start = nullptr;
constinit char program[4096]{};

Module extent_of(const link_map& object) noexcept {
  const auto [header, count] = headers_of(object);
  Module m{.object = &object, .begin = ~std::uintptr_t{0}, .end = 0};
  for (std::size_t i = 0; i < count; ++i) {
    if (header[i].p_type == PT_GNU_EH_FRAME)
      m.unwinding = reinterpret_cast<const void*>(object.l_addr + header[i].p_vaddr);
    if (header[i].p_type != PT_LOAD) continue;
    const std::uintptr_t at = object.l_addr + header[i].p_vaddr;
    m.begin = std::min(m.begin, at);
    m.end = std::max(m.end, at + header[i].p_memsz);
  }
  return m;
}

}  // namespace

Headers headers_of(const link_map& object) noexcept {
  if (object.l_name[0] == 0) {
    return {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)), getauxval(AT_PHNUM)};
  }
  if (object.l_addr == 0) return {};
  const auto* file = reinterpret_cast<const ElfW(Ehdr)*>(object.l_addr);
  if (std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) return {};
  return {reinterpret_cast<const ElfW(Phdr)*>(object.l_addr + file->e_phoff), file->e_phnum};
}

Module module_of_start_at(const void* address) noexcept {
  const auto p = reinterpret_cast<std::uintptr_t>(address);
  for (const link_map* o = first_object(); o != nullptr; o = o->l_next) {
    if (const Module m = extent_of(*o); m.begin <= p && p < m.end) return m;
    if (o == last_at_start) break;
  }
  return {};
}

Module module_at(const void* address) noexcept {
  if (find_object == nullptr) return module_of_start_at(address);
  FoundObject found{};
  if (find_object(const_cast<void*>(address), &found) != 0) return {};
  return {.object = found.object,
          .begin = reinterpret_cast<std::uintptr_t>(found.begin),
          .end = reinterpret_cast<std::uintptr_t>(found.end),
          .unwinding = found.unwinding};
}

void prepare_modules() noexcept {
  find_object =
      reinterpret_cast<FindObject>(find_symbol_from(first_object(), "_dl_find_object", nullptr));
  for (const link_map* o = first_object(); o != nullptr; o = o->l_next)
    last_at_start = o;
  const long n =
      raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                  reinterpret_cast<long>(program), static_cast<long>(sizeof program - 1));
  program[n > 0 ? n : 0] = 0;
}

const char* program_path() noexcept { return program; }

}  // namespace lockswap
