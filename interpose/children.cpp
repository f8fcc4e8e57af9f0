#include "interpose/children.h"

#include <cerrno>  // program_invocation_short_name
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "interpose/exports.h"
#include "interpose/real_function.h"
#include "platform/output_file.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/write.h"

namespace lockswap {
namespace {

constinit char file[4200] = "";

constinit RealFunction<decltype(&wait)> real_wait("wait", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&waitpid)> real_waitpid("waitpid", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&wait3)> real_wait3("wait3", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&wait4)> real_wait4("wait4", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&waitid)> real_waitid("waitid", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&system)> real_system("system", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&pclose)> real_pclose("pclose", LOCKSWAP_OLDEST);

// Programs wait in signal handlers, and between vfork and exec. So this makes a single write, uses
// no memory but the stack, and keeps errno.
[[gnu::noinline]] void note_signal(std::int64_t child, int signal) noexcept {
  if (file[0] == 0) return;
  const long fd = open_output_file(file, O_WRONLY | O_APPEND);
  if (fd < 0) return;
  char line[128];
  Text(line, sizeof line - 1) << static_cast<std::uint64_t>(raw_syscall(SYS_getpid)) << " "
                              << static_cast<std::uint64_t>(child) << " "
                              << static_cast<std::uint64_t>(signal) << " "
                              << program_invocation_short_name;
  const std::size_t length = std::strlen(line);
  line[length] = '\n';
  write_bytes(fd, line, length + 1);
  raw_syscall(SYS_close, fd);
}

// Log a child that a signal has ended, and return the call's result: the child's id or, if the call
// gives none, the status.
pid_t noted(pid_t child, const int* status) noexcept {
  if (child > 0 && WIFSIGNALED(*status)) [[unlikely]]
    note_signal(child, WTERMSIG(*status));
  return child;
}
int noted_status(int status) noexcept {
  if (status != -1 && WIFSIGNALED(status)) [[unlikely]]
    note_signal(0, WTERMSIG(status));
  return status;
}

}  // namespace

void log_children(const char* prefix) noexcept { Text(file, sizeof file) << prefix << ".children"; }

}  // namespace lockswap

using namespace lockswap;

extern "C" {

// All but pclose are cancellation points, so no frame here may have work to do during the call.

LOCKSWAP_EXPORTED pid_t lockswap_wait(int* status) {
  int mine = 0;
  int* const filled = status != nullptr ? status : &mine;
  return noted(real_wait.get()(filled), filled);
}

LOCKSWAP_EXPORTED pid_t lockswap_waitpid(pid_t child, int* status, int options) {
  int mine = 0;
  int* const filled = status != nullptr ? status : &mine;
  return noted(real_waitpid.get()(child, filled, options), filled);
}

LOCKSWAP_EXPORTED pid_t lockswap_wait3(int* status, int options, rusage* used) {
  int mine = 0;
  int* const filled = status != nullptr ? status : &mine;
  return noted(real_wait3.get()(filled, options, used), filled);
}

LOCKSWAP_EXPORTED pid_t lockswap_wait4(pid_t child, int* status, int options, rusage* used) {
  int mine = 0;
  int* const filled = status != nullptr ? status : &mine;
  return noted(real_wait4.get()(child, filled, options, used), filled);
}

LOCKSWAP_EXPORTED int lockswap_waitid(idtype_t which, id_t child, siginfo_t* info, int options) {
  siginfo_t mine{};
  siginfo_t* const filled = info != nullptr ? info : &mine;
  const int result = real_waitid.get()(which, child, filled, options);
  // The kernel writes 0 as the id if no child has changed.
  if (result == 0 && filled->si_pid != 0 && (options & WNOWAIT) == 0 &&
      (filled->si_code == CLD_KILLED || filled->si_code == CLD_DUMPED)) [[unlikely]]
    note_signal(filled->si_pid, filled->si_status);
  return result;
}

LOCKSWAP_EXPORTED int lockswap_system(const char* command) {
  const int status = real_system.get()(command);
  return command != nullptr ? noted_status(status) : status;
}

LOCKSWAP_EXPORTED int lockswap_pclose(FILE* stream) {
  return noted_status(real_pclose.get()(stream));
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_wait)
LOCKSWAP_SYMBOLS(lockswap_waitpid)
LOCKSWAP_SYMBOLS(lockswap_wait3)
LOCKSWAP_SYMBOLS(lockswap_wait4)
LOCKSWAP_SYMBOLS(lockswap_waitid)
LOCKSWAP_SYMBOLS(lockswap_system)
LOCKSWAP_SYMBOLS(lockswap_pclose)
