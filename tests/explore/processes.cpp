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

std::FILE* temporary_file() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) give_up("lockswap-explore: cannot make a temporary file");
  return file;
}

pid_t fork_or_give_up() {
  std::fflush(nullptr);  // or each process writes it
  const pid_t process = fork();
  if (process < 0) give_up("lockswap-explore: cannot fork");
  return process;
}

// Returns the signal that ended it, or 0.
int wait_for(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) give_up("lockswap-explore: cannot wait");
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  if (status != 0) std::exit(1);
  return 0;
}

// Ends this process as another one was ended, unless the signal is 0.
void end_by(int signal) {
  if (signal == 0) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

bool is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT;
}

}  // namespace

std::vector<std::string> in_processes(
    unsigned count, const std::function<void(unsigned part, std::FILE* out)>& work) {
  std::vector<std::FILE*> files;
  std::vector<pid_t> processes;
  for (unsigned part = 0; part < count; ++part) {
    std::FILE* const file = temporary_file();
    files.push_back(file);
    if (count == 1) {
      work(part, file);
      break;
    }
    const pid_t process = fork_or_give_up();
    if (process == 0) {
      work(part, file);
      _exit(std::fflush(nullptr) == 0 ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes)
    end_by(wait_for(process));
  std::vector<std::string> contents;
  for (std::FILE* const file : files) {
    contents.push_back(content_of(file));
    std::fclose(file);
  }
  return contents;
}

Ended in_own_process(const std::function<void(std::FILE* out)>& work) {
  std::FILE* const file = temporary_file();
  const pid_t process = fork_or_give_up();
  if (process == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
    work(file);
    _exit(std::fflush(file) == 0 ? 0 : 1);
  }
  const int signal = wait_for(process);
  if (!is_crash(signal)) end_by(signal);
  Ended ended{content_of(file), is_crash(signal)};
  std::fclose(file);
  return ended;
}

}  // namespace lockswap::explore
