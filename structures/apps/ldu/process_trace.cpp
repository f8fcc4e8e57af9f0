#include "ldu/process_trace.h"

#include <optional>
#include <set>
#include <sstream>

#include "address_space/contents.h"

namespace bench {
namespace {

constexpr std::uint64_t kMost = 1 << 20;  // processes, files
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 31;

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  ProcessTrace read() {
    std::string whole;
    if (const std::string why = read_contents(file_, whole); !why.empty())
      throw ProcessTraceError{file_ + ": " + why};
    std::istringstream text(whole);
    for (std::string line; std::getline(text, line);) {
      ++line_;
      if (line_ == 1) {
        if (line != "lockswap-process-trace 1")
          fail("this is no trace of processes: 'lockswap-process-trace 1' is missing");
      } else if (!line.empty() && line[0] != '#') {
        words_ = std::istringstream(line);
        take();
        if (std::string more; words_ >> more) fail("'" + more + "' is too much");
      }
    }
    if (line_ == 0) throw ProcessTraceError{file_ + ": the file is empty"};
    if (trace_.steps.empty()) throw ProcessTraceError{file_ + ": it has no step"};
    for (const auto& p : living_) {
      if (p) throw ProcessTraceError{file_ + ": it ends before all processes have ended"};
    }
    return std::move(trace_);
  }

 private:
  using Kind = ProcessStep::Kind;

  [[noreturn]] void fail(const std::string& why) const {
    throw ProcessTraceError{file_ + ":" + std::to_string(line_) + ": " + why};
  }
  std::uint32_t number(std::uint64_t below, const char* what) {
    std::string word;
    if (!(words_ >> word)) fail(std::string("the number of ") + what + " is missing");
    if (word.empty() || word.size() > 12 || word.find_first_not_of("0123456789") != word.npos)
      fail("'" + word + "' is no number of " + what);
    const std::uint64_t n = std::stoull(word);
    if (n >= below) fail("'" + word + "': " + what + " go from 0 to " + std::to_string(below - 1));
    return static_cast<std::uint32_t>(n);
  }
  std::set<std::uint32_t>& living(std::uint32_t p) {
    if (!living_[p]) fail("process " + std::to_string(p) + " does not run");
    return *living_[p];
  }
  std::uint32_t fresh_process() {
    const std::uint32_t p = number(trace_.processes, "processes");
    if (living_[p]) fail("process " + std::to_string(p) + " runs already");
    living_[p].emplace();
    return p;
  }
  void take() {
    std::string kind;
    words_ >> kind;
    if (kind == "files") {
      trace_.files = number(kMost, "files");
    } else if (kind == "processes") {
      trace_.processes = number(kMost, "processes");
      living_.resize(trace_.processes);
    } else if (kind == "start") {
      trace_.steps.push_back({Kind::start, fresh_process()});
    } else if (kind == "fork") {
      const std::uint32_t parent = number(trace_.processes, "processes");
      const auto copied = living(parent).size();
      const std::uint32_t child = fresh_process();
      for (std::size_t i = 0; i < copied; ++i)
        living_[child]->insert(trace_.mappings++);
      trace_.steps.push_back({Kind::fork, parent, child});
    } else if (kind == "exec" || kind == "end") {
      const std::uint32_t p = number(trace_.processes, "processes");
      living(p).clear();
      if (kind == "end") living_[p].reset();
      trace_.steps.push_back({kind == "end" ? Kind::end : Kind::exec, p});
    } else if (kind == "map" || kind == "unmap") {
      change(kind == "map");
    } else {
      fail("'" + kind + "' is no step");
    }
  }
  void change(bool map) {
    const std::uint32_t p = number(trace_.processes, "processes");
    const std::uint32_t m = number(std::uint64_t{1} << 32, "mappings");
    if (!map) {
      if (living(p).erase(m) == 0) fail("process " + std::to_string(p) + " has no such mapping");
      trace_.steps.push_back({Kind::unmap, p, m});
      return;
    }
    if (m != trace_.mappings) fail("the next mapping is number " + std::to_string(trace_.mappings));
    living(p).insert(m);
    ++trace_.mappings;
    const std::uint32_t file = number(trace_.files, "files");
    const std::uint32_t first = number(kMostPages, "pages");
    const std::uint32_t pages = number(kMostPages, "pages");
    if (pages == 0) fail("a mapping has at least one page");
    trace_.steps.push_back({Kind::map, p, m, file, {first, first + pages - 1}});
  }

  const std::string& file_;
  std::istringstream words_;
  std::uint64_t line_ = 0;
  std::vector<std::optional<std::set<std::uint32_t>>> living_;  // mappings of those that run
  ProcessTrace trace_;
};

}  // namespace

ProcessTrace read_process_trace(const std::string& file) { return Reader(file).read(); }

}  // namespace bench
