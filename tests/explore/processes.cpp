#include "processes.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include <sys/wait.h>

namespace lockswap::explore {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string content_of(std::FILE* file) {
  std::string content;
  char buffer[1 << 16];
  std::rewind(file);
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file))
    content.append(buffer, n);
  return content;
}

void wait_for(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) give_up("lockswap-explore: cannot wait");
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  if (status != 0) std::exit(1);
}

}  // namespace

std::vector<std::string> in_processes(
    unsigned count, const std::function<void(unsigned part, std::FILE* out)>& work) {
  std::fflush(nullptr);  // or each process writes it
  std::vector<std::FILE*> files;
  std::vector<pid_t> processes;
  for (unsigned part = 0; part < count; ++part) {
    std::FILE* const file = std::tmpfile();
    if (file == nullptr) give_up("lockswap-explore: cannot make a temporary file");
    files.push_back(file);
    if (count == 1) {
      work(part, file);
      break;
    }
    const pid_t process = fork();
    if (process < 0) give_up("lockswap-explore: cannot fork");
    if (process == 0) {
      work(part, file);
      _exit(std::fflush(nullptr) == 0 ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes)
    wait_for(process);
  std::vector<std::string> contents;
  for (std::FILE* const file : files) {
    contents.push_back(content_of(file));
    std::fclose(file);
  }
  return contents;
}

}  // namespace lockswap::explore
