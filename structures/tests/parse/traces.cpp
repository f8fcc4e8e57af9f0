// Traces of a program's mapping calls and of processes. An input is a file.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

#include "address_space/trace.h"
#include "ldu/process_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = memfd_create("trace", 0);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  try {
    bench::read_trace(name);
  } catch (const bench::TraceError&) {}
  try {
    bench::read_process_trace(name);
  } catch (const bench::ProcessTraceError&) {}
  close(fd);
  return 0;
}
