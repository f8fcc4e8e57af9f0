#include "audit/places.h"

#include "platform/text.h"
#include "recording/mappings.h"

namespace lockswap::audit {

void locate(std::uint64_t address, Place& into) noexcept {
  into.address = address;
  into.offset = 0;
  into.file[0] = 0;
  if (address == 0) return;
  recording::Mappings mappings;
  for (recording::Mapping m; mappings.next(m);) {
    if (address < m.begin || address >= m.end) continue;
    if (m.path[0] != '/') return;
    Text(into.file, sizeof into.file) << static_cast<const char*>(m.path);
    into.offset = address - m.begin + m.offset;
    return;
  }
}

}  // namespace lockswap::audit
