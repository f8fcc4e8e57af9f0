// Actions of a program that decide whether its threads can run: it stops them in signal handlers,
// or gives them real-time policies. Locks that are handed off to a certain thread, first come,
// first served, take neither into account.

#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sched.h>

#include "audit/entry.h"
#include "audit/report.h"
#include "audit/world.h"
#include "interpose/exports.h"
#include "interpose/real_symbols.h"
#include "platform/real_time.h"

namespace lockswap::audit {
namespace {

template <class F>
F real(const char* name, const char* version) noexcept {
  return reinterpret_cast<F>(find_real_function(name, version));
}

void note_signal(pthread_t thread, int signal) noexcept {
  if (!has_begun() || me().busy || signal <= 0 || signal > 64) return;
  world().threads.sent(thread, static_cast<unsigned>(signal));
}

bool is_handled(int signal) noexcept {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_DFL &&
         now.sa_handler != SIG_IGN;
}

// Returns whether the thread is in the handler of a signal that another thread sent to it. It is if
// it has a handler for the signal, which can't be delivered now, nor during the wait.
bool is_in_handler_of_signal(const Me& m, const sigset_t& while_it_waits) noexcept {
  if (m.record == nullptr || m.process != world().number) return false;
  const std::uint64_t sent = m.record->signals.load(relaxed);
  sigset_t blocked;
  if (sent == 0 || sigprocmask(SIG_BLOCK, nullptr, &blocked) != 0) return false;
  for (int s = 1; s <= 64; ++s) {
    if ((sent >> (s - 1) & 1) != 0 && sigismember(&blocked, s) == 1 &&
        sigismember(&while_it_waits, s) == 1 && is_handled(s))
      return true;
  }
  return false;
}

}  // namespace
}  // namespace lockswap::audit

using namespace lockswap::audit;

extern "C" {

// A cancellation point, so no frame here may have work left to do.
LOCKSWAP_EXPORTED int lockswap_sigsuspend(const sigset_t* mask) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  if (me().inside != 0 && !me().busy) {
    note(Finding::stopped_in_lock_call, {.lock = nullptr, .site = site});
  } else if (!me().busy && is_in_handler_of_signal(me(), *mask)) {
    note(Finding::stopped_by_signal, {.lock = nullptr, .site = site});
  }
  static const auto wait = real<decltype(&sigsuspend)>("sigsuspend", LOCKSWAP_OLDEST);
  return wait(mask);
}

// Notes a thread that gets a real-time policy. A thread that has one when it first locks is noted
// then. Before any thread has locked, there is nobody to note.
LOCKSWAP_EXPORTED int lockswap_setschedparam(pthread_t thread, int policy, const sched_param* p) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  const bool notes = has_begun() && !me().busy;
  if (notes) known_me(site);
  static const auto set =
      real<decltype(&pthread_setschedparam)>("pthread_setschedparam", LOCKSWAP_OLDEST);
  const int error = set(thread, policy, p);
  if (notes && error == 0 && lockswap::is_real_time(static_cast<std::uint32_t>(policy)))
    note_real_time(thread, site);
  return error;
}

// Takes the kernel's thread id. Only the calling thread is noted.
LOCKSWAP_EXPORTED int lockswap_setscheduler(pid_t thread, int policy, const sched_param* p) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  const bool notes = has_begun() && !me().busy;
  if (notes) known_me(site);
  static const auto set =
      real<decltype(&sched_setscheduler)>("sched_setscheduler", LOCKSWAP_OLDEST);
  const int error = set(thread, policy, p);
  const bool mine = thread == 0 || static_cast<std::uint32_t>(thread) == me().tid;
  if (notes && mine && error == 0 && lockswap::is_real_time(static_cast<std::uint32_t>(policy)))
    note_real_time(pthread_self(), site);
  return error;
}

// Signals that threads send to each other. They distinguish a handler that waits from a thread
// whose work is to wait for signals.
LOCKSWAP_EXPORTED int lockswap_kill(pthread_t thread, int signal) {
  note_signal(thread, signal);
  static const auto send = real<decltype(&pthread_kill)>("pthread_kill", "GLIBC_2.34");
  return send(thread, signal);
}
LOCKSWAP_EXPORTED int lockswap_old_kill(pthread_t thread, int signal) {
  note_signal(thread, signal);
  static const auto send = real<decltype(&pthread_kill)>("pthread_kill", LOCKSWAP_OLDEST);
  return send(thread, signal);
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_sigsuspend)
LOCKSWAP_SYMBOLS(lockswap_setschedparam)
LOCKSWAP_SYMBOLS(lockswap_setscheduler)
LOCKSWAP_SYMBOLS(lockswap_kill)
LOCKSWAP_SYMBOLS(lockswap_old_kill)
