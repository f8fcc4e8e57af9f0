#include "recording/reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "recording/json.h"

namespace lockswap::recording {
namespace {

using Number = unsigned long long;

std::vector<char> content_of(std::FILE* file) {
  std::vector<char> bytes;
  char chunk[1 << 16];
  for (std::size_t n; (n = std::fread(chunk, 1, sizeof chunk, file)) != 0;)
    bytes.insert(bytes.end(), chunk, chunk + n);
  return bytes;
}

std::uint32_t modules_of(const Head& head) {
  return std::min(head.modules.load(relaxed), kMostModules);  // relaxed: it is a copy
}

}  // namespace

RecordedFile::Result RecordedFile::read(const char* path, const Format& format,
                                        bool (*from_before)(std::vector<char>&)) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return bad;
  bytes_ = content_of(file);
  std::fclose(file);
  if (bytes_.empty()) return empty;
  struct {
    std::uint64_t magic;
    std::uint32_t schema;
  } first{};  // the same in all versions
  if (bytes_.size() < sizeof first) return bad;
  std::memcpy(&first, bytes_.data(), sizeof first);
  if (first.magic == 0) return empty;
  if (first.magic != format.magic) return bad;
  if (first.schema + 1 == format.schema) {
    if (!from_before(bytes_)) return bad;
  } else if (first.schema != format.schema) {
    return bad;
  }
  return bytes_.size() >= format.size && record<Head>().size == format.size ? good : bad;
}

bool is_in_module(const Head& head, Place place) { return module_of(place) < modules_of(head); }

void put_place(const Head& head, Place place) {
  const long long module =
      is_in_module(head, place) ? static_cast<long long>(module_of(place)) : -1;
  std::printf("[%lld,%llu]", module, static_cast<Number>(address_in_module(place)));
}

void put_places(const Head& head, const Place* place, std::uint32_t count) {
  std::printf("[");
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0) std::printf(",");
    put_place(head, place[i]);
  }
  std::printf("]");
}

void put_head(const Head& head) {
  std::printf("\"pid\":%u,\"parent\":%u,\"ended\":%s,\"program\":", head.pid, head.parent,
              head.ended.load(relaxed) != 0 ? "true" : "false");
  put_json_string(head.program);
  std::printf(",\"exe\":");
  put_json_string(head.exe);
  std::printf(",\n\"modules\":[");
  for (std::uint32_t i = 0; i < modules_of(head); ++i) {
    const Module& m = head.module[i];
    std::printf("%s\n{\"path\":", i == 0 ? "" : ",");
    if (m.path[0] != 0) {
      put_json_string(m.path);
    } else {
      put_json_string(head.exe);
    }
    std::printf(",\"begin\":%llu,\"build_id\":\"", static_cast<Number>(m.begin));
    for (std::uint32_t b = 0; b < std::min<std::size_t>(m.build_id_size, sizeof m.build_id); ++b)
      std::printf("%02x", m.build_id[b]);
    std::printf("\"}");
  }
  std::printf("]");
}

}  // namespace lockswap::recording
