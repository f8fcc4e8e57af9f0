#include "interpose/objects.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

extern "C" {
// By this symbol, copies of the library recognise each other.
__attribute__((visibility("default"))) extern const char lockswap_version[];
const char lockswap_version[] = LOCKSWAP_VERSION;
}

namespace lockswap {
namespace {

// The contents of an object's dynamic section.
struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH
  const ElfW(Half) * versions = nullptr;
  const ElfW(Verdef) * definitions = nullptr;
  const ElfW(Rela) * relocations = nullptr;
  const ElfW(Rela) * calls = nullptr;  // functions, bound on the first call or before
  std::size_t relocation_bytes = 0;
  std::size_t call_bytes = 0;

  explicit Tables(const link_map& object) noexcept {
    for (const ElfW(Dyn)* d = object.l_ld; d->d_tag != DT_NULL; ++d) {
      // The loader has converted most offsets into addresses in place.
      ElfW(Addr) at = d->d_un.d_ptr;
      if (at < object.l_addr) at += object.l_addr;
      switch (d->d_tag) {
        case DT_STRTAB:
          strings = reinterpret_cast<const char*>(at);
          break;
        case DT_SYMTAB:
          symbols = reinterpret_cast<const ElfW(Sym)*>(at);
          break;
        case DT_GNU_HASH:
          hash = reinterpret_cast<const std::uint32_t*>(at);
          break;
        case DT_VERSYM:
          versions = reinterpret_cast<const ElfW(Half)*>(at);
          break;
        case DT_VERDEF:
          definitions = reinterpret_cast<const ElfW(Verdef)*>(at);
          break;
        case DT_RELA:
          relocations = reinterpret_cast<const ElfW(Rela)*>(at);
          break;
        case DT_RELASZ:
          relocation_bytes = d->d_un.d_val;
          break;
        case DT_JMPREL:
          calls = reinterpret_cast<const ElfW(Rela)*>(at);
          break;
        case DT_PLTRELSZ:
          call_bytes = d->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
};

std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t h = 5381;
  for (; *name != 0; ++name)
    h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

constexpr ElfW(Half) kHidden = 0x8000;  // in a version index: not the default version

bool has_version(const Tables& t, std::uint32_t symbol, const char* version) noexcept {
  if (t.versions == nullptr || t.definitions == nullptr) return true;
  const ElfW(Half) index = t.versions[symbol];
  if (version == nullptr) return (index & kHidden) == 0;
  for (const ElfW(Verdef)* d = t.definitions;;) {
    const auto* bytes = reinterpret_cast<const char*>(d);
    if (d->vd_ndx == (index & ~kHidden)) {
      const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(bytes + d->vd_aux);
      return std::strcmp(t.strings + name->vda_name, version) == 0;
    }
    if (d->vd_next == 0) return false;
    d = reinterpret_cast<const ElfW(Verdef)*>(bytes + d->vd_next);
  }
}

void visit_table(const link_map& object, const Tables& t, const ElfW(Rela) * from,
                 std::size_t bytes, Visit visit, void* context) noexcept {
  for (std::size_t i = 0; i < bytes / sizeof *from; ++i) {
    const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(from[i].r_info));
    if (symbol == 0) continue;
    auto* slot = reinterpret_cast<void* const*>(object.l_addr + from[i].r_offset);
    visit(context, t.strings + t.symbols[symbol].st_name, *slot);
  }
}

}  // namespace

link_map* first_object() noexcept { return _r_debug.r_map; }

link_map* own_object() noexcept {
  link_map* m = first_object();
  while (m != nullptr && m->l_ld != _DYNAMIC)  // _DYNAMIC is this library's own
    m = m->l_next;
  return m;
}

const char* file_name(const link_map& object) noexcept {
  const char* slash = std::strrchr(object.l_name, '/');
  return slash != nullptr ? slash + 1 : object.l_name;
}

bool is_glibcs(const link_map& object) noexcept {
  const char* name = file_name(object);
  for (const char* of_glibc : {"libc.so.", "libpthread.so.", "librt.so."}) {
    if (std::strncmp(name, of_glibc, std::strlen(of_glibc)) == 0) return true;
  }
  return false;
}

bool is_copy(const link_map& object) noexcept {
  return find_symbol(object, "lockswap_version", nullptr) != nullptr;
}

void* find_symbol(const link_map& object, const char* name, const char* version) noexcept {
  const Tables t(object);
  if (t.hash == nullptr || t.symbols == nullptr || t.strings == nullptr) return nullptr;
  // The table has four numbers, a Bloom filter, the first symbol of each bucket, and a hash for
  // each symbol, whose lowest bit marks the end of its bucket.
  const std::uint32_t buckets = t.hash[0], first = t.hash[1], filter_words = t.hash[2];
  const std::uint32_t* bucket = t.hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = bucket + buckets;
  if (buckets == 0) return nullptr;
  const std::uint32_t wanted = hash_of(name);
  std::uint32_t i = bucket[wanted % buckets];
  if (i < first) return nullptr;
  for (;; ++i) {
    const std::uint32_t h = chain[i - first];
    const ElfW(Sym)& s = t.symbols[i];
    const bool usable = s.st_shndx != SHN_UNDEF && (ELF64_ST_TYPE(s.st_info) == STT_FUNC ||
                                                    ELF64_ST_TYPE(s.st_info) == STT_OBJECT);
    if ((h | 1) == (wanted | 1) && usable && std::strcmp(t.strings + s.st_name, name) == 0 &&
        has_version(t, i, version)) {
      return reinterpret_cast<void*>(object.l_addr + s.st_value);
    }
    if ((h & 1) != 0) return nullptr;
  }
}

void* find_symbol_from(const link_map* from, const char* name, const char* version) noexcept {
  for (; from != nullptr; from = from->l_next) {
    void* p = find_symbol(*from, name, version);
    if (p != nullptr && !is_copy(*from)) return p;
  }
  return nullptr;
}

void visit_references(const link_map& object, Visit visit, void* context) noexcept {
  const Tables t(object);
  if (t.symbols == nullptr || t.strings == nullptr) return;
  if (t.calls != nullptr) visit_table(object, t, t.calls, t.call_bytes, visit, context);
  if (t.relocations != nullptr)
    visit_table(object, t, t.relocations, t.relocation_bytes, visit, context);
}

void with_stable_list(void (*look)(void*), void* context) noexcept {
  // dl_iterate_phdr holds the lock of the loader's list during each of its callbacks. The loader
  // releases that lock before it runs constructors.
  struct Look {
    void (*look)(void*);
    void* context;
  } at{look, context};
  const auto once = [](dl_phdr_info*, std::size_t, void* p) {
    const Look& l = *static_cast<Look*>(p);
    l.look(l.context);
    return 1;  // enough
  };
  dl_iterate_phdr(once, &at);
}

void visit_other_namespaces(void (*visit)(void*, const link_map*), void* context) noexcept {
  struct Extended {  // struct r_debug_extended of glibc 2.35
    r_debug base;
    Extended* next;
  };
  constexpr int kExtended = 2;
  if (_r_debug.r_version < kExtended) return;
  r_debug* volatile base = &_r_debug;  // keeps the compiler from assuming the declared size
  for (auto* d = reinterpret_cast<Extended*>(base)->next; d != nullptr; d = d->next)
    visit(context, d->base.r_map);
}

}  // namespace lockswap
