#include "address_space/large_pages.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "address_space/own.h"

namespace bench {
namespace {

constexpr std::uint64_t kPages = 512;

class LargePages : public Program {
 public:
  LargePages(std::unique_ptr<Program> program, bool faults_again)
      : program_(std::move(program)), faults_again_(faults_again) {}
  void next(Steps& steps) override {
    // Steps may be of touches alone that are none here.
    for (const std::size_t before = steps.size(); steps.size() == before;) {
      theirs_.clear();
      program_->next(theirs_);
      for (const Step& s : theirs_)
        take(s, steps);
    }
  }

 private:
  void take(const Step& s, Steps& steps) {
    switch (s.kind) {
      case Step::write:
      case Step::read:
        touch(s, steps);
        return;
      case Step::brk:
        forget(std::min(regions_.brk(), s.end), std::max(regions_.brk(), s.end));
        break;
      case Step::map:
      case Step::unmap:
      case Step::protect:
      case Step::discard:
        forget(s.start, s.end);
        break;
      default:
        break;
    }
    regions_.apply(s, 0);
    steps.push_back(s);
  }
  void touch(const Step& s, Steps& steps) {
    for (std::uint64_t p = s.start; p < s.end; ++p) {
      const std::uint64_t first = p - p % kPages;
      if (is_whole(first) && !is_fault(p, first)) continue;
      Step one = s;
      one.start = p;
      one.end = p + 1;
      if (!steps.empty() && steps.back().kind == one.kind && steps.back().end == p) {
        steps.back().end = one.end;
      } else {
        steps.push_back(one);
      }
    }
  }
  bool is_fault(std::uint64_t page, std::uint64_t first) {
    return faults_again_ ? page == first : touched_.insert(first).second;
  }
  // A fault in it may fill all of it.
  bool is_whole(std::uint64_t first) const {
    const auto above = regions_.runs().upper_bound(first);
    if (above == regions_.runs().begin()) return false;
    const Own::Run& run = std::prev(above)->second;
    return run.file < 0 && run.end >= first + kPages;
  }
  void forget(std::uint64_t start, std::uint64_t end) {
    touched_.erase(touched_.lower_bound(start - start % kPages), touched_.lower_bound(end));
  }

  std::unique_ptr<Program> program_;
  bool faults_again_;
  Steps theirs_;
  Own regions_{tables_of(0)};
  std::set<std::uint64_t> touched_;
};

}  // namespace

std::unique_ptr<Program> with_large_pages(std::unique_ptr<Program> program, bool faults_again) {
  return std::make_unique<LargePages>(std::move(program), faults_again);
}

}  // namespace bench
