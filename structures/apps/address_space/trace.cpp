#include "address_space/trace.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "address_space/contents.h"
#include "address_space/order.h"
#include "address_space/region.h"

namespace bench {
namespace {

constexpr std::uint64_t kMostPages = std::uint64_t{1} << 35;  // of 47 bits of address
constexpr int kMostThreads = 4096;
constexpr int kMostFiles = 1 << 16;

using lockswap::address_space::kRead;
using lockswap::address_space::kWrite;

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  Trace read() {
    std::string whole;
    if (const std::string why = read_contents(file_, whole); !why.empty())
      throw TraceError{file_ + ": " + why};
    std::istringstream text(whole);
    std::string line;
    while (std::getline(text, line)) {
      ++number_;
      if (number_ == 1) {
        if (line != "lockswap-vm-trace 1")
          fail("this is no trace: 'lockswap-vm-trace 1' is missing");
        continue;
      }
      if (line.empty() || line[0] == '#') continue;
      take(line);
    }
    if (number_ == 0) throw TraceError{file_ + ": the file is empty"};
    if (trace_.threads.empty() || !heap_)
      throw TraceError{file_ + ": it ends before its first step"};
    for (auto& steps : trace_.threads) {
      if (steps.empty()) throw TraceError{file_ + ": a thread has no step"};
    }
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw TraceError{file_ + ":" + std::to_string(number_) + ": " + why};
  }
  void take(const std::string& line) {
    words_ = std::istringstream(line);
    const std::string kind = word();
    if (kind == "faults") {
      const std::string how = word();
      if (how != "recorded" && how != "synthesised") fail("faults are 'recorded' or 'synthesised'");
      trace_.synthesised = how == "synthesised";
    } else if (kind == "threads") {
      trace_.threads.resize(number(10, 1, kMostThreads));
    } else if (kind == "heap") {
      trace_.heap = number(16, 1, kMostPages);
      trace_.own = Own(trace_.heap);
      heap_ = true;
    } else if (trace_.threads.empty() || !heap_) {
      fail("'threads' and 'heap' come before '" + kind + "'");
    } else if (kind == "there") {
      Step s{.kind = Step::map};
      range(s);
      s.protection = kRead | kWrite | kTraceExecute;
      if (began_) fail("'there' comes before the first step");
      trace_.there.push_back(s);
      trace_.own.load(s);
    } else {
      step(kind);
    }
    std::string more;
    if (words_ >> more) fail("'" + more + "' is too much");
  }
  void step(const std::string& kind) {
    if (!began_) {
      // What is there is there before all threads.
      trace_.own.forget_counts();
      began_ = true;
    }
    const auto thread = static_cast<std::uint32_t>(number(10, 0, trace_.threads.size() - 1));
    if (kind == "begin") {
      const auto child = static_cast<std::uint32_t>(number(10, 1, trace_.threads.size() - 1));
      if (!trace_.threads[child].empty()) fail("thread " + std::to_string(child) + " has begun");
      order_.begin(thread, child);
      return;
    }
    if (kind == "end") {
      order_.end(thread);
      return;
    }
    TracedStep s;
    if (kind == "read" || kind == "write") {
      s.step.kind = kind == "read" ? Step::read : Step::write;
      range(s.step);
      faults(thread, s);
      return;
    }
    if (kind == "fork") {
      s.step.kind = Step::fork;
      order_.free_step(thread, s.waits);
    } else if (kind == "brk") {
      move_brk(thread, s);
    } else {
      change(kind, thread, s);
    }
    trace_.own.apply(s.step, 0);
    ++trace_.changes;
    trace_.threads[thread].push_back(std::move(s));
  }
  void move_brk(std::uint32_t thread, TracedStep& s) {
    s.step.kind = Step::brk;
    s.step.end = number(16, trace_.heap, kMostPages);
    // Also one that moves nothing has its place among the others, as at the page behind the heap.
    const std::uint64_t now = trace_.own.brk();
    const std::uint64_t first = std::min(now, s.step.end);
    const std::uint64_t last = std::max({now, s.step.end, first + 1});
    s.waits = order_.operation(thread, first, last, true).waits;
  }
  void change(const std::string& kind, std::uint32_t thread, TracedStep& s) {
    static constexpr std::pair<const char*, Step::Kind> kKinds[] = {{"map", Step::map},
                                                                    {"unmap", Step::unmap},
                                                                    {"protect", Step::protect},
                                                                    {"discard", Step::discard}};
    const auto* found = std::ranges::find(kKinds, kind, [](const auto& k) { return k.first; });
    if (found == std::end(kKinds)) fail("'" + kind + "' is no step");
    s.step.kind = found->second;
    range(s.step);
    if (kind == "map" || kind == "protect") s.step.protection = protection();
    if (kind == "map") file_of(s.step);
    if (kind == "protect" && !trace_.own.is_mapped(s.step.start, s.step.end))
      fail("not all of these pages are mapped");
    s.waits = order_.operation(thread, s.step.start, s.step.end, kind != "protect").waits;
  }
  // A step for pages that are alike.
  void faults(std::uint32_t thread, const TracedStep& of) {
    auto& steps = trace_.threads[thread];
    for (std::uint64_t p = of.step.start; p < of.step.end; ++p) {
      const Own::Run* run = trace_.own.at(p);
      const std::uint32_t needed = of.step.kind == Step::read ? kRead : kWrite;
      if (run == nullptr || (run->protection & needed) == 0)
        fail("a page is touched where nothing is mapped, or not so");
      TracedStep one = of;
      one.step.start = p;
      one.step.end = p + 1;
      Order::Place place = order_.fault(thread, p);
      one.waits = std::move(place.waits);
      one.value = (place.number + 1) * kStamp;
      one.oldest = (place.oldest + 1) * kStamp;
      one.step.file = run->file;
      one.step.base = run->base;
      trace_.own.apply(one.step, one.value);
      ++trace_.faults;
      steps.push_back(std::move(one));
    }
  }

  std::string word() {
    std::string found;
    if (!(words_ >> found)) fail("a word is missing at the end");
    return found;
  }
  std::uint64_t number(int base, std::uint64_t low, std::uint64_t high) {
    const std::string text = word();
    char* end = nullptr;
    errno = 0;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, base);
    const bool whole = std::isxdigit(static_cast<unsigned char>(text[0])) != 0 && *end == '\0';
    if (!whole || errno != 0 || value < low || value > high)
      fail("'" + text + "' is no number that may stand here");
    return value;
  }
  void range(Step& s) {
    s.start = number(16, 0, kMostPages - 1);
    s.end = s.start + number(16, 1, kMostPages - s.start);
  }
  std::uint32_t protection() {
    const std::string text = word();
    static constexpr std::uint32_t kBits[] = {kRead, kWrite, kTraceExecute};
    std::uint32_t bits = 0;
    if (text.size() != 3) fail("'" + text + "' is no protection, such as 'rw-'");
    for (std::size_t i = 0; i < 3; ++i) {
      if (text[i] != "rwx"[i] && text[i] != '-')
        fail("'" + text + "' is no protection, such as 'rw-'");
      bits |= text[i] == '-' ? 0 : kBits[i];
    }
    return bits;
  }
  void file_of(Step& s) {
    std::string how;
    if (!(words_ >> how)) return;  // memory
    if (how != "private" && how != "shared") fail("'" + how + "' is not 'private' or 'shared'");
    s.shared = how == "shared";
    s.file = static_cast<int>(number(10, 0, kMostFiles - 1));
    s.base = s.start - number(16, 0, ~std::uint64_t{0} >> 12);
    trace_.files = std::max(trace_.files, s.file + 1);
    trace_.is_shared.resize(static_cast<std::size_t>(trace_.files));
    if (s.shared) trace_.is_shared[static_cast<std::size_t>(s.file)] = true;
  }

  const std::string& file_;
  std::size_t number_ = 0;
  std::istringstream words_;
  bool heap_ = false, began_ = false;
  Order order_;
  Trace trace_;
};

}  // namespace

Trace read_trace(const std::string& file) { return Reader(file).read(); }

}  // namespace bench
