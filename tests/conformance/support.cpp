#include "support.h"

#include <algorithm>
#include <cctype>
#include <errno.h>
#include <filesystem>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include "../asleep.h"

namespace conformance {

namespace {

std::string environment(const char* name) {
  const char* value = getenv(name);
  std::string text = value != nullptr ? value : "";
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

int percent_by(const char* variable) {
  const std::string given = environment(variable);
  return given.empty() ? 100 : atoi(given.c_str());
}
int percent_of(int n, int percent) {
  return std::max(1, static_cast<int>(static_cast<std::int64_t>(n) * percent / 100));
}

void pause_ms(int ms) {
  timespec t{ms / 1000, (ms % 1000) * kMillisecond};
  nanosleep(&t, nullptr);
}

}  // namespace

const std::string& lock_under_test() {
  static const std::string name = environment("LOCKSWAP_RWLOCK");
  return name;
}

bool lock_is(const char* flag) {
  return environment("RWLOCK_TEST_LOCK_IS").find(" " + std::string(flag) + " ") !=
         std::string::npos;
}

const std::string& mutex_under_test() {
  static const std::string name = environment("LOCKSWAP_MUTEX");
  return name;
}

bool glibc_conds() { return glibc_mutexes() && environment("LOCKSWAP_COND") != "own"; }

bool glibc_mutexes() { return mutex_under_test().empty() || mutex_under_test() == "pthread"; }

namespace {
bool lockswap_waits() { return !(lock_under_test().empty() && mutex_under_test().empty()); }
}  // namespace

bool spinning() {
  static const bool yes = lockswap_waits() && environment("LOCKSWAP_WAIT") == "spin";
  return yes;
}

bool glibc_underneath() {
  const std::string& name = lock_under_test();
  return name.empty() || name == "pthread" || name == "pthread-wp" || bravo_over_glibc();
}

bool readers_may_starve_writers() { return glibc_underneath() || lock_is("writers_can_starve"); }
bool bravo_over_glibc() {
  const std::string& name = lock_under_test();
  return name == "bravo-pthread" || name == "bravo-asym-pthread";
}

int scaled(int n) {
  static const int percent = percent_by("RWLOCK_TEST_PERCENT");
  return percent_of(n, percent);
}

int scaled_up(int n) { return std::max(n, scaled(n)); }

int scaled_time(int ms) {
  static const int percent = percent_by("RWLOCK_TEST_TIME_PERCENT");
  return percent_of(ms, percent);
}

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// ---- return codes

std::string errno_name(int value) {
  if (value == 0) return "0";
  const char* name = strerrorname_np(value);
  return name != nullptr ? name : std::to_string(value);
}

std::ostream& operator<<(std::ostream& out, const Rc& rc) {
  return out << errno_name(rc.value) << (rc.errno_kept ? "" : " and errno changed");
}

Rc call(const std::function<int()>& f) {
  constexpr int kUntouched = 4711;
  const int saved = errno;
  errno = kUntouched;
  Rc rc;
  rc.value = f();
  rc.errno_kept = errno == kUntouched;
  errno = saved;
  return rc;
}

// ---- deadlines

timespec now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t;
}

timespec after(clockid_t clock, std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec t = now(clock);
  std::int64_t sum = t.tv_nsec + nanoseconds;
  t.tv_sec += sum / kSecond;
  sum %= kSecond;
  if (sum < 0) {
    sum += kSecond;
    t.tv_sec -= 1;
  }
  t.tv_nsec = sum;
  return t;
}

bool reached(clockid_t clock, const timespec& deadline) {
  const timespec t = now(clock);
  return t.tv_sec != deadline.tv_sec ? t.tv_sec > deadline.tv_sec : t.tv_nsec >= deadline.tv_nsec;
}

std::int64_t milliseconds() {
  const timespec t = now(CLOCK_MONOTONIC);
  return t.tv_sec * 1000 + t.tv_nsec / kMillisecond;
}

// ---- actors

Actor::Actor() : thread_([this] { loop(); }) { tid_.wait(0); }

Actor::~Actor() {
  finish();
  state_ = kQuit;
  state_.notify_all();
  thread_.join();
}

void Actor::loop() {
  tid_ = gettid();
  tid_.notify_all();
  for (;;) {
    state_.wait(kIdle);
    const int state = state_.load();
    if (state == kQuit) return;
    if (state != kPosted) continue;
    state_ = kRunning;
    task_();
    state_ = kIdle;
    state_.notify_all();
  }
}

void Actor::start(std::function<void()> task) {
  finish();
  task_ = std::move(task);
  state_ = kPosted;
  state_.notify_all();
}

void Actor::finish() {
  for (int state = state_.load(); state != kIdle; state = state_.load())
    state_.wait(state);
}

bool Actor::done() const { return state_.load() == kIdle; }

void Actor::wait_until_asleep() const {
  constexpr int kPatience = 10'000;  // milliseconds
  // This much processor time means that it spins. Those that will sleep may spin for a while first.
  static const std::int64_t spun =
      (lockswap_waits() && environment("LOCKSWAP_WAIT") != "park" ? 1 : 4) * kMillisecond;
  const auto used = [&] { return cpu_ns_of(const_cast<std::thread&>(thread_).native_handle()); };
  const std::int64_t start = used();
  int seen_asleep = 0;
  for (int waited = 0; waited < kPatience && !done(); ++waited) {
    const bool started = state_.load() == kRunning;
    seen_asleep = started && is_asleep(tid_.load()) ? seen_asleep + 1 : 0;
    if (seen_asleep == 3 || (started && used() - start > spun)) return;
    pause_ms(1);
  }
}

// ---- guarded data

void Guarded::read_inside() {
  readers.fetch_add(1);
  const std::uint64_t before = first.load(std::memory_order_relaxed);
  if (writers.load() != 0 || before != second.load(std::memory_order_relaxed))
    violations.fetch_add(1);
  readers.fetch_sub(1);
}

void Guarded::write_inside() {
  if (writers.fetch_add(1) != 0 || readers.load() != 0) violations.fetch_add(1);
  const std::uint64_t value = first.load(std::memory_order_relaxed);
  if (value != second.load(std::memory_order_relaxed)) violations.fetch_add(1);
  first.store(value + 1, std::memory_order_relaxed);
  for (int i = 0; i < 20; ++i)
    asm volatile("");
  second.store(value + 1, std::memory_order_relaxed);
  if (readers.load() != 0) violations.fetch_add(1);
  writers.fetch_sub(1);
}

void expect_free(pthread_rwlock_t* lock) {
  Actor other;
  other.run([&] {
    EXPECT_RC(0, pthread_rwlock_trywrlock(lock));
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
  });
}

void expect_works(pthread_rwlock_t* lock) {
  Actor other;
  ASSERT_RC(0, pthread_rwlock_rdlock(lock));
  other.run([&] {
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
    EXPECT_RC(0, pthread_rwlock_tryrdlock(lock));
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
  });
  ASSERT_RC(0, pthread_rwlock_unlock(lock));
  ASSERT_RC(0, pthread_rwlock_wrlock(lock));
  other.run([&] {
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(lock));
    EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(lock));
  });
  ASSERT_RC(0, pthread_rwlock_unlock(lock));
  other.run([&] {
    EXPECT_RC(0, pthread_rwlock_wrlock(lock));
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
    EXPECT_RC(0, pthread_rwlock_rdlock(lock));
    EXPECT_RC(0, pthread_rwlock_unlock(lock));
  });
  ASSERT_RC(0, pthread_rwlock_trywrlock(lock));
  ASSERT_RC(0, pthread_rwlock_unlock(lock));
}

std::uint32_t seed() {
  static const std::uint32_t value = [] {
    const char* given = getenv("RWLOCK_TEST_SEED");
    return given != nullptr ? static_cast<std::uint32_t>(strtoul(given, nullptr, 0))
                            : static_cast<std::uint32_t>(now(CLOCK_REALTIME).tv_nsec);
  }();
  return value;
}

void hammer(int threads, int ms, const Body& body) {
  SCOPED_TRACE("RWLOCK_TEST_SEED=" + std::to_string(seed()));
  const std::int64_t end = milliseconds() + ms;
  std::vector<std::thread> crew;
  for (int i = 0; i < threads; ++i)
    crew.emplace_back([&, i] {
      std::mt19937 random(seed() + static_cast<unsigned>(i));
      do
        body(i, random);
      while (milliseconds() < end);
    });
  for (std::thread& t : crew)
    t.join();
}

void warm_up_readers(pthread_rwlock_t* lock, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(0, pthread_rwlock_rdlock(lock));
    ASSERT_EQ(0, pthread_rwlock_unlock(lock));
  }
}

pid_t start_child(const std::function<int()>& f) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int status = f();
    fflush(nullptr);
    _exit(status != 0 || testing::Test::HasFailure() ? 1 : 0);
  }
  return pid;
}

int end_of_child(pid_t pid) {
  int status = -1;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

int in_child(const std::function<int()>& f) { return end_of_child(start_child(f)); }

std::vector<std::string> self_command(std::vector<std::string> arguments) {
  const char* self = "/proc/self/exe";
  std::vector<std::string> command{self};
  // The emulator says whose file it runs to those that read the link, but not to the kernel.
  if (const char* emulator = getenv("TESTS_EMULATOR"))
    command = {emulator, std::filesystem::read_symlink(self)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace conformance
