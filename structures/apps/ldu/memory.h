// The address space of a process: the model in src/address_space, under one reader-writer lock, as
// mmap_sem was. A new process has anonymous pages that it has written; a child shares them until
// one of both writes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "address_space/designs/rwlock.h"
#include "address_space/native.h"
#include "address_space/space.h"
#include "common/report.h"
#include "ldu/mapping.h"

namespace bench {

class Memory {
  using Machine = lockswap::address_space::NativeMachine;
  using Engine = lockswap::address_space::Space<Machine, lockswap::address_space::OneRwLock>;

 public:
  using File = lockswap::address_space::File<Machine>;
  static constexpr std::uint32_t kAnonPages = 256;

  Memory() {
    Engine::Hand hand(engine_.sync());
    engine_.map(hand, {.start = 0, .end = kAnonPages, .protection = kReadWrite});
    write_some(hand);
  }
  // What a fork makes. Any thread may fork a process that stays as it is.
  explicit Memory(Memory* parent) : next_(parent->next_) {
    Engine::Hand of_parent(parent->engine_.sync());
    parent->engine_.fork_to(of_parent, engine_);
    Engine::Hand hand(engine_.sync());
    write_some(hand);
  }

  // A file's page is read once it is mapped, so that there is a frame to take away.
  // The first page at which it is mapped.
  std::uint64_t map(File& file, Pages pages) {
    const std::uint64_t start = next_;
    next_ += pages.last - pages.first + 2;  // no two become one region
    Engine::Hand hand(engine_.sync());
    engine_.map(hand, {.start = start,
                       .end = start + (pages.last - pages.first + 1),
                       .protection = lockswap::address_space::kRead,
                       .file = &file,
                       .base = start - pages.first});
    for (std::uint64_t page = start; page <= start + (pages.last - pages.first); page += 8)
      is_there(page);
    return start;
  }
  // By any thread, also when the process has unmapped it.
  // The frame goes; the next access brings it back.
  void reclaim(std::uint64_t page) {
    Engine::Hand hand(engine_.sync());
    engine_.discard(hand, page, page + 1);
  }
  // It can't be accessed any more.
  void cut(std::uint64_t start, std::uint64_t end) {
    Engine::Hand hand(engine_.sync());
    engine_.unmap(hand, start, end);
  }
  bool is_there(std::uint64_t page) {
    Engine::Hand hand(engine_.sync());
    std::uint64_t value = 0;
    return engine_.read(hand, page, value);
  }
  void unmap(std::uint64_t start, Pages pages) {
    Engine::Hand hand(engine_.sync());
    engine_.unmap(hand, start, start + (pages.last - pages.first + 1));
  }

 private:
  static constexpr std::uint32_t kReadWrite =
      lockswap::address_space::kRead | lockswap::address_space::kWrite;
  static constexpr std::uint64_t kFirstFilePage = 1 << 20;

  void write_some(Engine::Hand& hand) {
    for (std::uint64_t page = 0; page < 4; ++page) {
      if (!engine_.write(hand, page, 1)) wrong_result("a process can't write its own memory");
    }
  }

  Engine engine_;
  std::uint64_t next_ = kFirstFilePage;
};

}  // namespace bench
