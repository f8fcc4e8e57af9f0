#include "address_space/program.h"

#include <algorithm>
#include <utility>

#include "address_space/allocator.h"
#include "address_space/large_pages.h"
#include "common/random.h"

namespace bench {
namespace {

constexpr std::uint64_t kChunk = 64;       // pages of one call of next
constexpr std::uint64_t kInput = 1 << 22;  // where a program's input is, from its arena's begin

// page_fault1, page_fault2 of will-it-scale: map, write each page, unmap. mmap1, mmap2: without
// the writing. The second of each maps a file of the thread's own, private.
class WillItScale : public Program {
 public:
  WillItScale(std::uint64_t at, std::uint64_t pages, bool writes, bool file)
      : at_(at), pages_(pages), writes_(writes), file_(file) {}
  void next(Steps& steps) override {
    if (done_ == 0)
      steps.push_back({.kind = Step::map,
                       .start = at_,
                       .end = at_ + pages_,
                       .protection = kReadWrite,
                       .file = file_ ? 0 : -1,
                       .base = file_ ? at_ : 0});
    if (writes_) {
      const std::uint64_t end = std::min(done_ + kChunk, pages_);
      steps.push_back({.kind = Step::write, .start = at_ + done_, .end = at_ + end});
      done_ = end;
    }
    if (!writes_ || done_ == pages_) {
      steps.push_back({.kind = Step::unmap, .start = at_, .end = at_ + pages_});
      done_ = 0;
    }
  }

 private:
  std::uint64_t at_, pages_;
  bool writes_, file_;
  std::uint64_t done_ = 0;
};

// Bonsai, 7.3: one thread maps and unmaps for a share of its time, the others fault all the time.
class Mapper : public Program {
 public:
  Mapper(std::uint64_t at, std::uint64_t pages, double share)
      : at_(at), pages_(pages), share_(share) {}
  void next(Steps& steps) override {
    if (share_ > 0) {
      steps.push_back(
          {.kind = Step::map, .start = at_, .end = at_ + pages_, .protection = kReadWrite});
      steps.push_back({.kind = Step::unmap, .start = at_, .end = at_ + pages_});
    }
    steps.push_back({.kind = Step::rest, .share = share_});
  }

 private:
  std::uint64_t at_, pages_;
  double share_;
};
class Faulter : public Program {
 public:
  Faulter(std::uint64_t at, std::uint64_t pages) : at_(at), pages_(pages) {}
  void next(Steps& steps) override {
    if (!mapped_) {
      steps.push_back(
          {.kind = Step::map, .start = at_, .end = at_ + pages_, .protection = kReadWrite});
      mapped_ = true;
    }
    const std::uint64_t end = std::min(done_ + kChunk, pages_);
    steps.push_back({.kind = Step::write, .start = at_ + done_, .end = at_ + end});
    done_ = end == pages_ ? 0 : end;
  }

 private:
  std::uint64_t at_, pages_;
  std::uint64_t done_ = 0;
  bool mapped_ = false;
};

// Deep recursion: a stack that grows by a page at a time, until its thread ends and another one
// has it anew.
class Recursion : public Program {
 public:
  explicit Recursion(std::uint64_t at) : top_(at + kMost) {}
  void next(Steps& steps) override {
    if (depth_ == 0) {
      depth_ = 1;
      steps.push_back({.kind = Step::map,
                       .start = top_ - 1,
                       .end = top_,
                       .protection = kReadWrite,
                       .stack = true});
    }
    for (std::uint64_t i = 0; i < kAtOnce && depth_ < kMost; ++i, ++depth_) {
      const std::uint64_t page = top_ - depth_ - 1;
      steps.push_back({.kind = Step::write, .start = page, .end = page + 1, .stack = true});
    }
    if (depth_ < kMost) return;
    steps.push_back({.kind = Step::unmap, .start = top_ - kMost, .end = top_});
    depth_ = 0;
  }

 private:
  static constexpr std::uint64_t kMost = 512;
  static constexpr std::uint64_t kAtOnce = 8;
  std::uint64_t top_;
  std::uint64_t depth_ = 0;  // pages
};

std::unique_ptr<Allocator> allocator(const Work& work, int number) {
  const std::uint64_t at = tables_of(number);
  if (work.memory == "segments") return std::make_unique<Segments>(at);
  if (number == 0) return std::make_unique<GlibcHeap>(at);
  return std::make_unique<GlibcArena>(at);
}

// Metis. Threads map their input and read it (wc, wr: a file), allocate tables as they go on, and
// look at each other's tables. wrmem first writes its input, which is memory.
class MapReduce : public Program {
 public:
  struct Mix {
    std::uint64_t input;   // pages read
    std::uint64_t tables;  // pages allocated
    std::uint64_t others;  // pages of other threads read
    bool memory;           // the input is written first
  };
  MapReduce(const Work& work, int number, const Mix& mix)
      : at_(arena_of(number) + kInput),
        pages_(work.pages),
        mix_(mix),
        threads_(work.threads),
        number_(number),
        allocator_(allocator(work, number)),
        random_(static_cast<std::uint64_t>(number) + 1) {}
  void next(Steps& steps) override {
    if (done_ == 0) {
      if (mapped_) steps.push_back({.kind = Step::unmap, .start = at_, .end = at_ + pages_});
      mapped_ = true;
      written_ = 0;
      steps.push_back({.kind = Step::map,
                       .start = at_,
                       .end = at_ + pages_,
                       .protection = kReadWrite,
                       .file = mix_.memory ? -1 : 0,
                       .base = mix_.memory ? 0 : at_});
    }
    if (mix_.memory && written_ < pages_) {
      const std::uint64_t end = std::min(written_ + kChunk, pages_);
      steps.push_back({.kind = Step::write, .start = at_ + written_, .end = at_ + end});
      written_ = end;
      done_ = std::max<std::uint64_t>(done_, 1);  // it is mapped
      return;
    }
    const std::uint64_t from = std::min(done_, pages_ - 1);
    const std::uint64_t end = std::min(from + mix_.input, pages_);
    steps.push_back({.kind = Step::read, .start = at_ + from, .end = at_ + end});
    for (std::uint64_t i = 0; i < mix_.tables; ++i)
      allocator_->page(steps);
    if (threads_ > 1) visit(steps);
    done_ = end == pages_ ? 0 : end;
  }

 private:
  void visit(Steps& steps) {
    const auto others = static_cast<std::uint32_t>(threads_ - 1);
    const int other = (number_ + 1 + static_cast<int>(random_.below(others))) % threads_;
    const std::uint64_t tables = tables_of(other) + random_.below(1024);
    steps.push_back({.kind = Step::visit, .start = tables, .end = tables + mix_.others});
  }
  std::uint64_t at_, pages_;
  Mix mix_;
  int threads_, number_;
  std::unique_ptr<Allocator> allocator_;
  Random random_;
  std::uint64_t done_ = 0, written_ = 0;
  bool mapped_ = false;
};

// malloc as glibc has it: the main thread's heap grows by brk, those of the others by mprotect.
class Malloc : public Program {
 public:
  Malloc(const Work& work, int number) : allocator_(allocator(work, number)) {}
  void next(Steps& steps) override {
    for (std::uint64_t i = 0; i < kChunk / 4; ++i)
      allocator_->page(steps);
  }

 private:
  std::unique_ptr<Allocator> allocator_;
};

// Psearchy: a table of `pages`, written at first; then for each file a buffer of a page that is
// mapped, used and unmapped, and words that go into the table.
class Psearchy : public Program {
 public:
  Psearchy(std::uint64_t at, std::uint64_t pages, int number)
      : at_(at), pages_(pages), random_(static_cast<std::uint64_t>(number) + 1) {}
  void next(Steps& steps) override {
    if (zeroed_ < pages_) {
      if (zeroed_ == 0)
        steps.push_back(
            {.kind = Step::map, .start = at_, .end = at_ + pages_, .protection = kReadWrite});
      const std::uint64_t end = std::min(zeroed_ + kChunk, pages_);
      steps.push_back({.kind = Step::write, .start = at_ + zeroed_, .end = at_ + end});
      zeroed_ = end;
      return;
    }
    const std::uint64_t buffer = at_ + kInput;
    steps.push_back(
        {.kind = Step::map, .start = buffer, .end = buffer + 1, .protection = kReadWrite});
    steps.push_back({.kind = Step::write, .start = buffer, .end = buffer + 1});
    for (int i = 0; i < kWords; ++i) {
      const std::uint64_t p = at_ + random_.below(static_cast<std::uint32_t>(pages_));
      steps.push_back({.kind = Step::write, .start = p, .end = p + 1});
    }
    steps.push_back({.kind = Step::unmap, .start = buffer, .end = buffer + 1});
  }

 private:
  static constexpr int kWords = 3;  // of 368 MB in 33,312 files: eleven KB a file
  std::uint64_t at_, pages_;
  Random random_;
  std::uint64_t zeroed_ = 0;
};

// Dedup: chunks of 4 to 8 MB that are mapped, written, and unmapped when some more are there.
class Dedup : public Program {
 public:
  Dedup(std::uint64_t at, int number) : at_(at), random_(static_cast<std::uint64_t>(number) + 1) {}
  void next(Steps& steps) override {
    std::uint64_t& pages = size_[turn_];
    const std::uint64_t start = at_ + turn_ * (kMost + 1);
    if (done_ == 0) {
      if (pages != 0) steps.push_back({.kind = Step::unmap, .start = start, .end = start + pages});
      pages = kMost / 2 + random_.below(kMost / 2 + 1);
      steps.push_back(
          {.kind = Step::map, .start = start, .end = start + pages, .protection = kReadWrite});
    }
    const std::uint64_t end = std::min(done_ + kChunk, pages);
    steps.push_back({.kind = Step::write, .start = start + done_, .end = start + end});
    done_ = end;
    if (done_ == pages) {
      done_ = 0;
      turn_ = (turn_ + 1) % kChunks;
    }
  }

 private:
  static constexpr std::uint32_t kMost = 2048;
  static constexpr std::size_t kChunks = 8;
  std::uint64_t at_;
  Random random_;
  std::uint64_t size_[kChunks] = {};
  std::size_t turn_ = 0;
  std::uint64_t done_ = 0;
};

std::unique_ptr<Program> small_paged(const Work& work, int number) {
  const std::uint64_t at = arena_of(number);
  const std::string& name = work.workload;
  // How many pages of each kind go together is ours: the papers say only that the three use
  // mprotect much, that faults are most of what happens, and that wr allocates more than wc.
  if (name == "wc")
    return std::make_unique<MapReduce>(work, number, MapReduce::Mix{16, 1, 4, false});
  if (name == "wr")
    return std::make_unique<MapReduce>(work, number, MapReduce::Mix{8, 4, 4, false});
  if (name == "wrmem")
    return std::make_unique<MapReduce>(work, number, MapReduce::Mix{8, 4, 4, true});
  if (name == "malloc") return std::make_unique<Malloc>(work, number);
  if (name == "psearchy") return std::make_unique<Psearchy>(at, work.pages, number);
  if (name == "stack") return std::make_unique<Recursion>(at);
  if (name == "dedup") return std::make_unique<Dedup>(at, number);
  if (name == "isolated" && number == 0)
    return std::make_unique<Mapper>(at, work.pages, work.mapping);
  if (name == "isolated") return std::make_unique<Faulter>(at, work.pages);
  const bool writes = name.starts_with("page_fault");
  return std::make_unique<WillItScale>(at, work.pages, writes, name.back() == '2');
}

}  // namespace

const std::vector<std::string>& workloads() {
  static const std::vector<std::string> names = {"page_fault1", "page_fault2", "mmap1", "mmap2",
                                                 "isolated",    "wc",          "wr",    "wrmem",
                                                 "malloc",      "psearchy",    "dedup", "stack"};
  return names;
}

std::unique_ptr<Program> program_of(const Work& work, int number) {
  auto program = small_paged(work, number);
  if (!work.large_pages) return program;
  return with_large_pages(std::move(program), work.workload == "isolated");
}

}  // namespace bench
