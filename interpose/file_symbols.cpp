#include "interpose/file_symbols.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <link.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/syscall.h"

namespace lockswap {
namespace {

struct Range {
  std::uintptr_t begin, end;
  int rule;
  Named what;
};

// What the rules name in one file. It stays when the file is unloaded, because the same file may be
// loaded again.
struct KnownFile {
  static constexpr std::size_t kMostRanges = 160;
  KnownFile* next;
  std::uintptr_t base;
  std::uint64_t path_hash;
  std::size_t count;
  Range ranges[kMostRanges];
};
constinit NativeAtomic<KnownFile*> known{};

std::uint64_t hash_of(const char* s) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (; *s != 0; ++s)
    h = (h ^ static_cast<unsigned char>(*s)) * 0x100000001b3u;
  return h;
}

// The compiler splits functions: f.cold, f.part.0 and f.constprop.0 are parts of f.
bool is_part_of(const char* symbol, const char* name) noexcept {
  const std::size_t n = std::strlen(name);
  return std::strncmp(symbol, name, n) == 0 && (symbol[n] == 0 || symbol[n] == '.');
}

void note(KnownFile& file, const Policy& policy, const ElfW(Sym) & s, const char* name) noexcept {
  const int type = ELF64_ST_TYPE(s.st_info);
  const bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
  if (s.st_shndx == SHN_UNDEF || (!code && type != STT_OBJECT)) return;
  for (int r = 0; r < policy.count && file.count < KnownFile::kMostRanges; ++r) {
    const char* wanted = code ? policy.rules[r].site : policy.rules[r].symbol;
    if (wanted == nullptr || !is_part_of(name, wanted)) continue;
    const std::uintptr_t begin = file.base + s.st_value;
    file.ranges[file.count++] = {begin, begin + std::max<std::uintptr_t>(s.st_size, 1), r,
                                 code ? Named::site : Named::symbol};
  }
}

// A file in memory, which may contain anything. Nothing is trusted that points outside of it.
struct Image {
  const std::byte* at;
  std::size_t size;

  template <class T>
  const T* get(std::size_t offset, std::size_t count = 1) const noexcept {
    const bool fits =
        offset % alignof(T) == 0 && offset <= size && count <= (size - offset) / sizeof(T);
    return fits ? reinterpret_cast<const T*>(at + offset) : nullptr;
  }
};

void note_all(KnownFile& file, const Policy& policy, const Image& image) noexcept {
  const auto* header = image.get<ElfW(Ehdr)>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto* sections = image.get<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  // Uses the full symbol table if there is one, and otherwise the exported symbols.
  const ElfW(Shdr)* table = nullptr;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_SYMTAB ||
        (sections[i].sh_type == SHT_DYNSYM && table == nullptr)) {
      table = &sections[i];
    }
  }
  if (table == nullptr || table->sh_link >= header->e_shnum) return;
  const ElfW(Shdr)& names = sections[table->sh_link];
  const std::size_t count = table->sh_size / sizeof(ElfW(Sym));
  const auto* symbols = image.get<ElfW(Sym)>(table->sh_offset, count);
  const auto* text = image.get<char>(names.sh_offset, names.sh_size);
  if (symbols == nullptr || text == nullptr || names.sh_size == 0 || text[names.sh_size - 1] != 0) {
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (symbols[i].st_name < names.sh_size)
      note(file, policy, symbols[i], text + symbols[i].st_name);
  }
}

void read_file(KnownFile& file, const Policy& policy, const char* path) noexcept {
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const long size = raw_syscall(SYS_lseek, fd, 0, SEEK_END);
  if (size > 0) {
    const long at = raw_syscall(SYS_mmap, 0, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at > 0 || at < -4095) {
      const auto bytes = static_cast<std::size_t>(size);
      note_all(file, policy, {reinterpret_cast<const std::byte*>(at), bytes});
      unmap_pages(reinterpret_cast<void*>(at), bytes);
    }
  }
  raw_syscall(SYS_close, fd);
}

const KnownFile* known_file(const Policy& policy, const Module& module) noexcept {
  const char* path = module.path()[0] == 0 ? program_path() : module.path();
  const std::uint64_t path_hash = hash_of(path);
  KnownFile* head = known.load(acquire);  // pairs with the release below
  for (const KnownFile* f = head; f != nullptr; f = f->next) {
    if (f->base == module.object->l_addr && f->path_hash == path_hash) return f;
  }
  auto* file = static_cast<KnownFile*>(map_pages(sizeof(KnownFile)));
  if (file == nullptr) return nullptr;
  file->base = module.object->l_addr;
  file->path_hash = path_hash;
  read_file(*file, policy, path);
  do {  // threads that come together each add an entry, and all are the same
    file->next = head;
  } while (!known.compare_exchange(head, file, release));
  return file;
}

}  // namespace

bool lies_in(const Policy& policy, int rule, Named what, const Module& module,
             const void* address) noexcept {
  const KnownFile* file = known_file(policy, module);
  const auto p = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = 0; file != nullptr && i < file->count; ++i) {
    const Range& r = file->ranges[i];
    if (r.rule == rule && r.what == what && r.begin <= p && p < r.end) return true;
  }
  return false;
}

}  // namespace lockswap
