// A record that a process left, as its reader gets it: for a search by libFuzzer. RECORD_READER is
// the reader's source, as "profile/read_main.cpp".
#define main read_record
#include RECORD_READER
#undef main

#include <cstdint>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = [] {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) std::abort();
    return memfd_create("record", 0);
  }();
  static std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  static char name[] = "read";
  char* words[] = {name, path.data(), nullptr};
  read_record(2, words);
  return 0;
}
