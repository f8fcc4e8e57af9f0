// A fuzzer of range_lock.h: a string of bytes says which thread makes which call, one call after
// the other, and a model says what each must return.
//
// Calls never overlap, so the model is exact: a list of ranges and their holders. A call that would
// wait is made in the form that does not. Threads end and others begin in their places; locks are
// destroyed and made anew with other attributes.
//
//   range_fuzz SEED STRINGS     random strings; status 1 and the string, if the model disagrees
//   range_fuzz FILE...          a string from each file
// Built by clang with -fsanitize=fuzzer -DLOCKSWAP_LIBFUZZER it is a target for libFuzzer.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "lockswap/range_lock.h"

namespace {

constexpr int kThreads = 3;
constexpr int kHandles = 8;

// A thread that does one thing at a time for the main thread, which waits for it.
class Puppet {
 public:
  Puppet() : thread_([this] { run(); }) {}
  ~Puppet() {
    call(nullptr);
    thread_.join();
  }
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;

  void call(std::function<void()> f) {
    what_ = std::move(f);
    go_.release();
    done_.acquire();
  }

 private:
  void run() {
    for (bool more = true; more; done_.release()) {
      go_.acquire();
      more = static_cast<bool>(what_);
      if (more) what_();
    }
  }

  std::function<void()> what_;
  std::binary_semaphore go_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;
};

struct Implementation {
  const char* name;
  bool shares;
  bool upgrades = false;
};
constexpr Implementation kImplementations[] = {
    {"list-rw", true},         {"list-ex", false},   {"sharded-rw", true},
    {"kernel-rw", true, true}, {"lustre-ex", false},
};

// What a handle is of.
struct Held {
  bool held = false;
  int thread = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool shared = false;
};

enum class Form { waits, tries, late };

class Run {
 public:
  Run(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {
    for (auto& p : puppets_)
      p = std::make_unique<Puppet>();
    begin();
  }

  // Empty, or what went wrong.
  std::string go() {
    while (at_ != end_ && wrong_.empty()) {
      ++step_;
      switch (const std::uint8_t what = next(); what % 16) {
        case 0:
        case 1:
        case 2:
          acquire(Form::waits);
          break;
        case 3:
        case 4:
        case 5:
          acquire(Form::tries);
          break;
        case 6:
        case 7:
          acquire(Form::late);
          break;
        case 12:
          upgrade();
          break;
        case 13:
          downgrade();
          break;
        case 14:
          what < 128 ? destroy() : again();
          break;
        case 15:
          what < 64 ? replace_thread() : wrong_arguments();
          break;
        default:
          release();
      }
    }
    for (int i = 0; i < kHandles; ++i) {
      if (held_[i].held) release_handle(i, held_[i].thread);
    }
    destroy();
    return wrong_;
  }

 private:
  std::uint8_t next() { return at_ == end_ ? 0 : *at_++; }
  int next_thread() { return next() % kThreads; }

  void expect(const char* call, int result, int must) {
    if (result == must || !wrong_.empty()) return;
    wrong_ = "step " + std::to_string(step_) + ", " + implementation_->name + ": " + call +
             " gives " + std::to_string(result) + ", not " + std::to_string(must);
  }

  void begin() {
    const std::uint8_t how = next();
    implementation_ = &kImplementations[how % std::size(kImplementations)];
    lockswap_range_lock_attr attr;
    expect("attr_init", lockswap_range_lock_attr_init(&attr), 0);
    expect("set_implementation",
           lockswap_range_lock_attr_set_implementation(&attr, implementation_->name), 0);
    expect("set_fair", lockswap_range_lock_attr_set_fair(&attr, how >> 4 & 1), 0);
    expect("set_preference", lockswap_range_lock_attr_set_preference(&attr, how >> 5 & 1), 0);
    expect("set_segment", lockswap_range_lock_attr_set_segment(&attr, 1 + (how >> 6) * 5), 0);
    expect("init", lockswap_range_lock_init(&lock_, &attr), 0);
  }

  // Whether the range would have to wait for one of that thread, or of others.
  struct Conflicts {
    bool own = false;
    bool others = false;
  };
  Conflicts conflicts(int thread, std::uint64_t start, std::uint64_t end, bool shared) const {
    Conflicts c;
    for (const Held& h : held_) {
      if (!h.held || h.end <= start || end <= h.start || (h.shared && shared)) continue;
      (h.thread == thread ? c.own : c.others) = true;
    }
    return c;
  }

  void acquire(Form form) {
    const int thread = next_thread();
    const int handle = next() % kHandles;
    const bool shared = next() % 2 != 0;
    const std::uint64_t start = next() % 64;
    // Now and then all that there is.
    const std::uint8_t length = next();
    const std::uint64_t end = length == 255 ? UINT64_MAX : start + 1 + length % 16;
    if (held_[handle].held) return;

    const Conflicts c = conflicts(thread, start, end, shared && implementation_->shares);
    if (form == Form::waits && c.others && !c.own) form = Form::tries;
    const int mode = shared ? LOCKSWAP_RANGE_SHARED : LOCKSWAP_RANGE_EXCLUSIVE;
    lockswap_range* r = &ranges_[handle];
    int result = -1;
    puppets_[thread]->call([&] {
      const timespec past{0, 0};
      switch (form) {
        case Form::waits:
          result = end == UINT64_MAX && start == 0
                       ? lockswap_range_acquire_full(&lock_, r, mode)
                       : lockswap_range_acquire(&lock_, r, start, end, mode);
          break;
        case Form::tries:
          result = lockswap_range_try_acquire(&lock_, r, start, end, mode);
          break;
        case Form::late:
          result = lockswap_range_timed_acquire(&lock_, r, start, end, mode, &past);
          break;
      }
    });
    const bool any = c.own || c.others;
    const int must = !any ? 0 : form == Form::tries ? EBUSY : c.own ? EDEADLK : ETIMEDOUT;
    expect(form == Form::tries ? "try" : form == Form::late ? "timed" : "acquire", result, must);
    if (result == 0) held_[handle] = {true, thread, start, end, shared && implementation_->shares};
  }

  void release() {
    const int thread = next_thread();
    release_handle(next() % kHandles, thread);
  }
  void release_handle(int handle, int thread) {
    Held& h = held_[handle];
    int result = -1;
    puppets_[thread]->call([&] { result = lockswap_range_release(&ranges_[handle]); });
    const int must = !h.held ? EINVAL : h.thread != thread ? EPERM : 0;
    expect("release", result, must);
    if (must == 0) h.held = false;
  }

  void downgrade() {
    const int thread = next_thread();
    const int handle = next() % kHandles;
    Held& h = held_[handle];
    int result = -1;
    puppets_[thread]->call([&] { result = lockswap_range_downgrade(&ranges_[handle]); });
    const int must = !h.held                    ? EINVAL
                     : h.thread != thread       ? EPERM
                     : !implementation_->shares ? ENOTSUP
                     : h.shared                 ? EINVAL
                                                : 0;
    expect("downgrade", result, must);
    if (must == 0) h.shared = true;
  }

  void upgrade() {
    const int thread = next_thread();
    const int handle = next() % kHandles;
    Held& h = held_[handle];
    int result = -1;
    puppets_[thread]->call([&] { result = lockswap_range_try_upgrade(&ranges_[handle]); });
    const auto others_overlap = [&] {
      const Held mine = h;
      h.held = false;
      const Conflicts c = conflicts(thread, mine.start, mine.end, false);
      h.held = true;
      return c.own || c.others;
    };
    const int must = !h.held                      ? EINVAL
                     : h.thread != thread         ? EPERM
                     : !implementation_->upgrades ? ENOTSUP
                     : !h.shared                  ? EINVAL
                     : others_overlap()           ? EBUSY
                                                  : 0;
    expect("upgrade", result, must);
    if (must == 0) h.shared = false;
  }

  bool any_held() const {
    for (const Held& h : held_) {
      if (h.held) return true;
    }
    return false;
  }
  void destroy() { expect("destroy", lockswap_range_lock_destroy(&lock_), any_held() ? EBUSY : 0); }
  void again() {
    destroy();
    if (!any_held()) begin();
  }

  // A thread that holds nothing ends, and another comes.
  void replace_thread() {
    const int thread = next_thread();
    for (const Held& h : held_) {
      if (h.held && h.thread == thread) return;
    }
    puppets_[thread] = nullptr;
    puppets_[thread] = std::make_unique<Puppet>();
  }

  void wrong_arguments() {
    lockswap_range r;
    const std::uint64_t start = next();
    const std::uint64_t end = next() % (start + 1);
    expect("empty range", lockswap_range_acquire(&lock_, &r, start, end, LOCKSWAP_RANGE_SHARED),
           EINVAL);
    expect("wrong mode", lockswap_range_try_acquire(&lock_, &r, 0, 1, 2 + next()), EINVAL);
    expect("of no range", lockswap_range_release(&r), EINVAL);
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  int step_ = 0;
  std::string wrong_;
  const Implementation* implementation_ = nullptr;
  lockswap_range_lock lock_ = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  std::array<lockswap_range, kHandles> ranges_{};
  std::array<Held, kHandles> held_{};
  std::array<std::unique_ptr<Puppet>, kThreads> puppets_;
};

// The same, and what nobody else sees: nodes must not get more and more.
std::string run(const std::uint8_t* data, std::size_t size) {
  std::string wrong = Run(data, size).go();
  lockswap_range_counts counts{};
  lockswap_range_get_counts(&counts);
  // Three threads and the main one; of lists and trees.
  if (wrong.empty() && counts.threads > 2 * (kThreads + 1)) {
    wrong =
        std::to_string(counts.threads) + " supplies for " + std::to_string(kThreads) + " threads";
  }
  return wrong;
}

}  // namespace

#ifdef LOCKSWAP_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const std::string wrong = run(data, size); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
#else
int main(int argc, char** argv) {
  char* end = nullptr;
  const unsigned long seed = argc == 3 ? std::strtoul(argv[1], &end, 10) : 0;
  std::vector<std::uint8_t> bytes;
  if (argc == 3 && *end == 0) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const long strings = std::atol(argv[2]);
    for (long i = 0; i < strings; ++i) {
      bytes.resize(random() % 2000);
      for (std::uint8_t& b : bytes)
        b = static_cast<std::uint8_t>(random());
      if (const std::string wrong = run(bytes.data(), bytes.size()); !wrong.empty()) {
        std::printf("string %ld of seed %lu: %s\n", i, seed, wrong.c_str());
        return 1;
      }
    }
    std::printf("%ld strings, all as the model says\n", strings);
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: range_fuzz SEED STRINGS | FILE...\n");
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    if (const std::string wrong = run(bytes.data(), bytes.size()); !wrong.empty()) {
      std::printf("%s: %s\n", argv[i], wrong.c_str());
      return 1;
    }
  }
  return 0;
}
#endif
