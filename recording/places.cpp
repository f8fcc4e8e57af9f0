#include "recording/places.h"

#include <cstring>

#include "platform/text.h"
#include "recording/modules.h"

namespace lockswap::recording {
namespace {

std::uint64_t number_of(const void* object) noexcept {
  return reinterpret_cast<std::uint64_t>(object);
}

bool is_module(const Module& m, const Loaded& l) noexcept {
  return m.object == number_of(l.object) && m.begin == l.begin &&
         std::strncmp(m.path, l.path, sizeof m.path - 1) == 0;
}

std::uint64_t find_module(const Head& head, const Loaded& l, std::uint32_t from,
                          std::uint32_t to) noexcept {
  for (std::uint32_t i = from; i < to; ++i) {
    if (is_module(head.module[i], l)) return i;
  }
  return kNoModule;
}

void fill_in(Module& m, const Loaded& l) noexcept {
  m.object = number_of(l.object);
  m.begin = l.begin;
  Text(m.path, sizeof m.path) << l.path;
  if (const BuildId id = modules.build_id(l); id.size <= sizeof m.build_id) {
    m.build_id_size = id.size;
    std::memcpy(m.build_id, id.bytes, id.size);
  }
}

std::uint64_t note_module(Head& head, Guard& guard, const Loaded& l) noexcept {
  const std::uint32_t known = head.modules.load(acquire);  // pairs with the store below
  if (const std::uint64_t i = find_module(head, l, 0, known); i != kNoModule) return i;
  guard.lock();
  const std::uint32_t count = head.modules.load(relaxed);  // relaxed: under the guard
  std::uint64_t i = find_module(head, l, known, count);
  if (i == kNoModule && count < kMostModules) {
    fill_in(head.module[count], l);
    head.modules.store(count + 1, release);  // pairs with the load above
    i = count;
  }
  guard.unlock();
  return i;
}

// Returns the place of an address, in the module that contains the address `inside`.
Place place_of(Head& head, Guard& guard, std::uint64_t address, std::uint64_t inside) noexcept {
  if (modules.at == nullptr) return place(kNoModule, address);
  const Loaded l = modules.at(reinterpret_cast<const void*>(inside));
  const std::uint64_t module = l.object == nullptr ? kNoModule : note_module(head, guard, l);
  return place(module, module == kNoModule ? address : address - l.base);
}

}  // namespace

Place place_of_code(Head& head, Guard& guard, std::uint64_t return_address) noexcept {
  // A return address may be the first one after its module.
  return place_of(head, guard, return_address, return_address - 1);
}
Place place_of_data(Head& head, Guard& guard, std::uint64_t address) noexcept {
  return place_of(head, guard, address, address);
}

}  // namespace lockswap::recording
