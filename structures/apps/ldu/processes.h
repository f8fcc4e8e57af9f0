// Processes as objects, with what a kernel's reverse maps see of them: for each file its mappings,
// and for each process that has forked the mappings that share its anonymous pages.
//
//   start   maps a program, its libraries, and anonymous memory
//   fork    maps the same files once more. The child's anonymous memory may hold pages of each of
//           its ancestors since the last exec, so it is put into the chain of each, and has its own
//   exec    ends all mappings and starts anew
//   exit    ends all mappings
//   reclaim finds all that have a page of a file; or those that may have one of a process. With
//           memory it takes the page away from each
//   truncate  finds all that have a page of a file and, with memory, cuts each off from there on
//
// Indexes are used by many threads, a process by one, but for walks; `first` is the ancestor of
// all, which nobody but walks changes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/random.h"
#include "common/report.h"
#include "ldu/mapping.h"
#include "ldu/memory.h"
#include "lockswap/ldu/chain.hpp"

namespace bench {

struct MapCounts {
  std::uint64_t updates = 0;
  std::uint64_t walks = 0;
  std::uint64_t taken = 0;  // pages that reclaim and truncate took from processes, or found gone
};

template <class FileIndex, class AnonIndex>
class Processes {
  using FileMapping = typename FileIndex::Mapping;
  using AnonMapping = typename AnonIndex::Mapping;

  struct Anon {
    explicit Anon(typename AnonIndex::Shared& shared) : index(shared) {}
    AnonIndex index;
    std::atomic<std::uint32_t> users{1};
    std::uint32_t links = 0;  // by the thread that has all its processes; not of `first`
  };

 public:
  struct Hand {
    explicit Hand(Processes& of) : files(of.file_shared_), anons(of.anon_shared_) {}
    typename FileIndex::Hand files;
    typename AnonIndex::Hand anons;
    MapCounts counts;
  };
  class Process {
    friend class Processes;
    struct Link {
      Anon* anon;
      AnonMapping* mapping;
    };
    struct Mapped {
      std::uint32_t file;
      FileMapping* mapping;
      std::uint64_t place;  // in its memory
    };
    std::shared_ptr<Memory> memory_;  // if processes have any
    std::vector<Mapped> files_;
    std::vector<Link> links_;  // its own is the last
  };
  static constexpr std::uint32_t kPrograms = 8;
  static constexpr std::uint32_t kLibraries = 4;
  static constexpr std::uint32_t kFiles = kLibraries + kPrograms;

  // with_memory: each has an address space of the model, too.
  Processes(std::uint32_t files, bool with_memory) : with_memory_(with_memory) {
    for (std::uint32_t f = 0; f < files; ++f) {
      contents_.push_back(std::make_unique<Memory::File>(f + 1));
      files_.push_back(std::make_unique<FileIndex>(file_shared_));
    }
  }
  ~Processes() {
    files_.clear();
    FileIndex::flush(file_shared_);
    AnonIndex::flush(anon_shared_);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  Process start(Hand& hand, std::uint32_t program) {
    Process p = fresh();
    for (std::uint32_t library = 0; library < kLibraries; ++library)
      map_file(hand, p, library, 4);
    map_file(hand, p, kLibraries + program % kPrograms, 3);
    map_anon(hand, p);
    return p;
  }
  Process fork(Hand& hand, const Process& parent) {
    Process child;
    if (with_memory_) child.memory_ = std::make_shared<Memory>(parent.memory_.get());
    child.files_.reserve(parent.files_.size());
    for (const auto& m : parent.files_)
      map(hand, child, m.file, m.mapping->pages, m.place);
    for (const auto& l : parent.links_) {
      l.anon->users.fetch_add(1, std::memory_order_relaxed);  // the parent's keeps it
      link(hand, child, *l.anon);
    }
    map_anon(hand, child);
    return child;
  }
  void exec(Hand& hand, Process& p, std::uint32_t program) {
    exit(hand, p);
    p = start(hand, program);
  }
  void exit(Hand& hand, Process& p) {
    for (const auto& m : p.files_)
      files_[m.file]->retire(hand.files, *m.mapping);
    for (std::size_t i = p.links_.size(); i-- > 0;) {
      const auto& l = p.links_[i];
      --l.anon->links;
      l.anon->index.retire(hand.anons, *l.mapping);
      if (l.anon->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete l.anon;
    }
    hand.counts.updates += p.files_.size() + p.links_.size();
    p = {};
  }

  void reclaim_file(Hand& hand, Random& random) {
    const std::uint32_t file = random.below(static_cast<std::uint32_t>(files_.size()));
    const std::uint32_t page = random.below(kRegionPages * 3);
    ++hand.counts.walks;
    if (!with_memory_) return keep(files_[file]->walk(hand.files, page));
    if (random.below(8) == 0) return truncate(hand, file, page);
    hand.counts.taken += files_[file]->walk(hand.files, page, [page](const auto& m) {
      m.memory->reclaim(m.place + (page - m.pages.first));
    });
  }
  // Processes that map it afterwards have all of it again: the file grows.
  void truncate(Hand& hand, std::uint32_t file, std::uint32_t page) {
    files_[file]->walk(hand.files, page, [&](const auto& m) {
      const std::uint32_t pages = m.pages.last - page + 1;
      const std::uint64_t start = m.place + (page - m.pages.first);
      m.memory->cut(start, start + pages);
      hand.counts.taken += pages;
    });
  }
  // When nobody else does anything: nothing that was truncated can be accessed by these processes,
  // whether a walk has found them or not. Each file's last region loses its second half, for all.
  template <class Living>
  void check_truncate(Hand& hand, Living each_living) {
    constexpr std::uint32_t kPage = kRegionPages * 2 + kRegionPages / 2;
    for (std::uint32_t file = 0; file < files_.size(); ++file)
      truncate(hand, file, kPage);
    const auto check = [](const Process& p) {
      for (const auto& m : p.files_) {
        const Pages pages = m.mapping->pages;
        if (!pages.has(kPage)) continue;
        for (std::uint32_t page = kPage; page <= pages.last; ++page) {
          if (p.memory_->is_there(m.place + (page - pages.first)))
            wrong_result("what was truncated is still mapped");
        }
      }
    };
    check(first);
    each_living(check);
  }
  // The process that has forked the others of this thread, if it is this one's.
  void reclaim_anon(Hand& hand, const Process& p, Random& random) {
    const std::size_t i = random.below(static_cast<std::uint32_t>(p.links_.size()));
    const std::uint32_t page = random.below(kAnonPages);
    ++hand.counts.walks;
    std::uint64_t found = 0;
    if (with_memory_) {
      found = p.links_[i].anon->index.walk(hand.anons, page,
                                           [page](const auto& m) { m.memory->reclaim(page); });
      hand.counts.taken += found;
    } else {
      found = p.links_[i].anon->index.walk(hand.anons, page);
    }
    // All of those but the first process's are this thread's.
    if (p.links_[i].anon != first_anon_ && found != p.links_[i].anon->links)
      wrong_result("a chain does not have the mappings that its processes made");
  }

  // --- a trace's steps
  Process empty(Hand& hand) {
    Process p = fresh();
    map_anon(hand, p);
    return p;
  }
  void map_one(Hand& hand, Process& p, std::uint32_t file, Pages pages) {
    map_new(hand, p, file, pages);
  }
  // `at` counts those that are there, in the order in which they came.
  void unmap_one(Hand& hand, Process& p, std::size_t at) {
    const auto& m = p.files_[at];
    if (with_memory_) p.memory_->unmap(m.place, m.mapping->pages);
    files_[m.file]->retire(hand.files, *m.mapping);
    p.files_.erase(p.files_.begin() + static_cast<std::ptrdiff_t>(at));
    ++hand.counts.updates;
  }

  // By one thread, before the others and after them.
  void begin(Hand& hand) {
    first = start(hand, 0);
    first_anon_ = first.links_.back().anon;
  }
  void end(Hand& hand) {
    first_anon_ = nullptr;
    exit(hand, first);
    for (auto& file : files_) {
      for (std::uint32_t page = 0; page < kRegionPages * 4; ++page) {
        if (file->walk(hand.files, page) != 0) wrong_result("a mapping is left");
      }
    }
  }
  Process first;
  FileIndex& library() { return *files_[0]; }
  typename FileIndex::Shared& file_shared() { return file_shared_; }
  lockswap::ldu_counts file_counts() {
    lockswap::ldu_counts sum;
    for (auto& file : files_) {
      const lockswap::ldu_counts one = file->counts();
      sum.updates += one.updates;
      sum.absorbed += one.absorbed;
      sum.logged += one.logged;
    }
    return sum;
  }

 private:
  static constexpr std::uint32_t kRegionPages = 32;
  static constexpr std::uint32_t kAnonPages = Memory::kAnonPages;

  Process fresh() {
    Process p;
    if (with_memory_) p.memory_ = std::make_shared<Memory>();
    return p;
  }
  void map_new(Hand& hand, Process& p, std::uint32_t file, Pages pages) {
    map(hand, p, file, pages, with_memory_ ? p.memory_->map(*contents_[file], pages) : 0);
  }
  // In the reverse map alone.
  void map(Hand& hand, Process& p, std::uint32_t file, Pages pages, std::uint64_t place) {
    auto* m = new FileMapping;
    m->pages = pages;
    m->memory = p.memory_;
    m->place = place;
    p.files_.push_back({file, m, place});
    files_[file]->insert(hand.files, *m);
    ++hand.counts.updates;
  }
  void map_file(Hand& hand, Process& p, std::uint32_t file, std::uint32_t regions) {
    for (std::uint32_t r = 0; r < regions; ++r)
      map_new(hand, p, file, {r * kRegionPages, (r + 1) * kRegionPages - 1});
  }
  void map_anon(Hand& hand, Process& p) { link(hand, p, *new Anon(anon_shared_)); }
  void link(Hand& hand, Process& p, Anon& anon) {
    auto* m = new AnonMapping;
    m->pages = {0, kAnonPages - 1};
    m->memory = p.memory_;
    p.links_.push_back({&anon, m});
    if (&anon != first_anon_) ++anon.links;
    anon.index.insert(hand.anons, *m);
    ++hand.counts.updates;
  }

  typename FileIndex::Shared file_shared_;
  typename AnonIndex::Shared anon_shared_;
  bool with_memory_;
  std::vector<std::unique_ptr<Memory::File>> contents_;
  std::vector<std::unique_ptr<FileIndex>> files_;
  Anon* first_anon_ = nullptr;
};

}  // namespace bench
