// The ticket lock and two queue locks as their papers print them, for comparison with closed forms.
// The library's own have a word for the holder, and nodes by handles, so they move more lines.
#pragma once

#include <array>

#include "peers/mutexes.h"

namespace lockswap::predict::peers {

// Each of its words on a line of its own, which closed forms take for granted.
class TextbookTicket final : public Mutex {
 public:
  void begin() override {
    next_ = new (cost::zeroed(sizeof(Word))) Word{};
    serving_ = new (cost::zeroed(sizeof(Word))) Word{};
  }
  void write() override {
    const std::uint32_t mine = next_->fetch_add(1, relaxed);
    poll(*serving_, [mine](std::uint32_t v) { return v == mine; });
    held_ = mine;
  }
  void write_unlock() override { serving_->store(held_ + 1, release); }

 private:
  Word* next_ = nullptr;
  Word* serving_ = nullptr;
  std::uint32_t held_ = 0;
};

// A waiter polls the node of the thread before it, and goes on with that node afterwards.
class TextbookClh final : public Mutex {
 public:
  void begin() override {
    for (Word*& node : node_)
      node = new (cost::zeroed(sizeof(Word))) Word{};
    for (std::uint32_t i = 0; i < cost::kMostThreads; ++i)
      mine_[i] = i;
    tail_ = new (cost::zeroed(sizeof(Word))) Word{};
    tail_->store(cost::kMostThreads, relaxed);
  }
  void write() override {
    const std::uint32_t mine = mine_[me()];
    node_[mine]->store(1, relaxed);
    const std::uint32_t before = tail_->exchange(mine, acq_rel);
    poll(*node_[before], [](std::uint32_t v) { return v == 0; });
    held_ = mine;
    mine_[me()] = before;
  }
  void write_unlock() override { node_[held_]->store(0, release); }

 private:
  static std::size_t me() { return static_cast<std::size_t>(machine.current()); }

  Word* tail_ = nullptr;
  std::array<Word*, cost::kMostThreads + 1> node_{};
  std::array<std::uint32_t, cost::kMostThreads> mine_{};
  std::uint32_t held_ = 0;
};

// A waiter polls its own node, to which it has linked the node before.
class TextbookMcs final : public Mutex {
 public:
  void begin() override {
    for (Node*& node : node_)
      node = new (cost::zeroed(sizeof(Node))) Node{};
    tail_ = new (cost::zeroed(sizeof(Word))) Word{};
  }
  void write() override {
    const auto mine = static_cast<std::uint32_t>(machine.current()) + 1;
    Node& node = at(mine);
    node.next.store(0, relaxed);
    const std::uint32_t before = tail_->exchange(mine, acq_rel);
    if (before == 0) return;
    node.waits.store(1, relaxed);
    at(before).next.store(mine, release);
    poll(node.waits, [](std::uint32_t v) { return v == 0; });
  }
  void write_unlock() override {
    const auto mine = static_cast<std::uint32_t>(machine.current()) + 1;
    Node& node = at(mine);
    if (node.next.load(relaxed) == 0) {
      std::uint32_t seen = mine;
      if (tail_->compare_exchange(seen, 0, release)) return;
      poll(node.next, [](std::uint32_t v) { return v != 0; });
    }
    at(node.next.load(relaxed)).waits.store(0, release);
  }

 private:
  struct Node {
    Word next{}, waits{};
  };
  Node& at(std::uint32_t number) { return *node_[number - 1]; }

  Word* tail_ = nullptr;
  std::array<Node*, cost::kMostThreads> node_{};
};

}  // namespace lockswap::predict::peers
