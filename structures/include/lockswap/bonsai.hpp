/// @file
/// The Bonsai tree: an ordered map that any number of threads search without a lock, while one
/// thread at a time changes it. C++20; needs no library.
///
///     lockswap::quiescence<> domain;                                   // one for the program
///     lockswap::bonsai_map<std::uint64_t, region*> regions(domain);
///     thread_local lockswap::quiescence<>::reader me(domain);          // one in each thread
///
///     { std::lock_guard lock(mutex); regions.insert(start, r); }     // writers exclude each other
///     if (auto found = regions.find(me, start)) use(found->value);     // readers take no lock
///     { const auto now = regions.snapshot_for(me);
///       for (const auto& [key, value] : now) ... }                     // one state, in order
///
/// Paper: A. Clements, F. Kaashoek, N. Zeldovich, "Scalable Address Spaces Using RCU Balanced
///   Trees", ASPLOS 2012, section 3.
///
/// Readers: find is linearizable in both forms. floor, ceiling and snapshots are too, but exist
///   only with copies::path, because with changes in place a reader may see halves of two states.
///
/// Space: removed nodes wait for a grace period of the domain. Their number grows while a reader
///   sleeps in its section. With set_garbage_limit an update waits for readers instead.
//
// Idea: an update builds new nodes from the place of the change up to the root (copies::path), and
//   publishes them by one store of the root. copies::rotations is the paper's optimisation: a node
//   whose subtree keeps its shape gets the new child in place, and only a rotation makes new nodes.
// Balance: the weights of two sibling subtrees, even if one is empty, differ by at most a factor of
//   3 (bonsai/update.hpp has the proof). structures/docs/bonsai.md has the deviations.
// Invariants: while readers can see a node, only its child pointers change, and with copies::path,
//   or after the node was removed, not even those. A single store in each update changes what is in
//   the tree.
// Order: that store is a release, and a reader's load of the same pointer is an acquire.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "lockswap/bonsai/memory.hpp"
#include "lockswap/bonsai/node.hpp"
#include "lockswap/bonsai/update.hpp"
#include "lockswap/quiescence.hpp"

namespace lockswap {

/// What an update copies: the whole path from the change up to the root, or only the nodes that a
/// rotation moves, which is the paper's optimisation (section 3.3) and makes fewer nodes.
enum class copies : std::uint8_t { path, rotations };

/// Keys and values are copied byte by byte, and never destroyed.
template <class T>
concept bonsai_item = std::is_trivially_copyable_v<T>;
/// A comparison, which may have a state.
template <class F, class Key>
concept bonsai_order = std::strict_weak_order<const F&, const Key&, const Key&>;

template <bonsai_item Key, bonsai_item Value, rcu_domain Domain = quiescence<>,
          copies kCopies = copies::path, bonsai_order<Key> Less = std::less<Key>,
          class P = real_machine>
/// An ordered map, which readers search without a lock and without waiting (Clements and others,
/// section 3). Any number of threads may read while one thread changes it; the program's lock keeps
/// writers apart. A lookup takes O(log n) steps, and an update makes O(log n) nodes. Removed nodes
/// are freed after a grace period of the domain. P stays as it is, except in tests of the
/// structure.
class bonsai_map {
  static constexpr bool kInPlace = kCopies == copies::rotations;
  using node = bonsai::node<Key, Value, Less, P, kInPlace>;
  using memory = bonsai::memory<node, Domain, P>;
  using update = bonsai::update<node, memory, kInPlace>;

 public:
  /// A key and its value, as a reader has found them.
  struct entry {
    /// The key.
    Key key;
    /// Its value.
    Value value;
  };
  /// Which of the two forms this map has.
  static constexpr copies kind = kCopies;
  /// Heights are less than 2.41 * log2(size + 1).
  static constexpr int most_levels = 160;
  /// Returns an upper bound on the height of a tree with that many keys.
  static constexpr int height_bound(std::uint64_t size) noexcept {
    return 5 * static_cast<int>(std::bit_width(size + 1)) / 2;
  }

  /// Makes an empty map, which frees its nodes after grace periods of this domain.
  explicit bonsai_map(Domain& of, Less less = {}) noexcept : memory_(of), less_(std::move(less)) {}
  /// No thread may use it any more.
  ~bonsai_map() { destroy(root()); }
  bonsai_map(const bonsai_map&) = delete;
  bonsai_map& operator=(const bonsai_map&) = delete;

  // --- for readers: any thread, at any time. They take no lock and never wait.
  /// Returns the key with its value, or nothing. Linearizable. Any thread may call it at any time,
  /// with its own reader.
  std::optional<entry> find(typename Domain::reader& r, const Key& key) const {
    const typename Domain::section inside(r);
    return entry_of(node::find(root(), key, less_));
  }

  /// The state of the tree at one moment. Nothing that it shows is freed while it exists, so it
  /// should not exist for long.
  class view {
   public:
    /// Returns the key with its value, or nothing.
    std::optional<entry> find(const Key& key) const {
      return entry_of(node::find(root_, key, less_));
    }
    /// Returns the greatest key that is not above this one, or nothing.
    std::optional<entry> floor(const Key& key) const {
      return entry_of(node::nearest(root_, key, 0, less_));
    }
    /// Returns the least key that is not below this one, or nothing.
    std::optional<entry> ceiling(const Key& key) const {
      return entry_of(node::nearest(root_, key, 1, less_));
    }

    /// Visits keys in ascending order. Needs no memory besides the object itself.
    class iterator {
     public:
      /// What it shows.
      using value_type = entry;
      /// Unused; iterators must have it.
      using difference_type = std::ptrdiff_t;
      /// It can be passed over once.
      using iterator_concept = std::input_iterator_tag;
      /// Makes the end.
      iterator() noexcept = default;
      /// Returns a copy of the key and its value.
      entry operator*() const { return *entry_of(path_[depth_ - 1]); }
      /// Goes on to the next key.
      iterator& operator++() {
        const node* n = path_[--depth_];
        descend(n->next(1));
        return *this;
      }
      /// The same.
      void operator++(int) { ++*this; }
      /// Returns whether no key is left.
      bool operator==(std::default_sentinel_t) const noexcept { return depth_ == 0; }

     private:
      friend class view;
      void descend(const node* n) {
        for (; n != nullptr; n = n->next(0))
          path_[depth_++] = n;
      }
      std::array<const node*, most_levels> path_;  // the nodes that follow, the next one last
      int depth_ = 0;
    };
    /// Returns an iterator at the least key.
    iterator begin() const {
      iterator i;
      i.descend(root_);
      return i;
    }
    /// Returns an iterator at the least key that is not below this one.
    iterator from(const Key& key) const {
      iterator i;
      for (const node* n = root_; n != nullptr;) {
        const bool below = less_(n->key.get(), key);
        if (!below) i.path_[i.depth_++] = n;
        n = n->next(below ? 1 : 0);
      }
      return i;
    }
    /// Returns the end.
    std::default_sentinel_t end() const noexcept { return {}; }

   private:
    friend class bonsai_map;
    view(const node* root, const Less& less) noexcept : root_(root), less_(less) {}
    const node* root_;
    [[no_unique_address]] Less less_;
  };

  /// A view with its own section, which ends with it. Only the thread of the reader may use it.
  class snapshot : Domain::section, public view {
    using section = typename Domain::section;

   private:
    friend class bonsai_map;
    snapshot(typename Domain::reader& r, const bonsai_map& map)
        : section(r), view(map.root(), map.less_) {}
  };
  /// Returns the state of the tree now. Only with copies::path, because changes in place would
  /// show.
  snapshot snapshot_for(typename Domain::reader& r) const requires(!kInPlace) {
    return snapshot(r, *this);
  }
  /// Returns the greatest key that is not above this one, or nothing. Linearizable; only with
  /// copies::path.
  std::optional<entry> floor(typename Domain::reader& r, const Key& key) const requires(!kInPlace) {
    return snapshot_for(r).floor(key);
  }
  /// Returns the least key that is not below this one, or nothing. Linearizable; only with
  /// copies::path.
  std::optional<entry> ceiling(typename Domain::reader& r, const Key& key) const
      requires(!kInPlace) {
    return snapshot_for(r).ceiling(key);
  }

  /// Returns the number of keys at some recent moment. Needs no section.
  std::uint64_t size() const noexcept {
    return size_.load(std::memory_order_relaxed);  // relaxed: a number
  }
  /// Returns whether size() is 0.
  bool empty() const noexcept { return size() == 0; }

  // --- for writers: under the program's lock, and outside a section. If there is no memory, an
  /// Inserts a key for a writer: under the program's lock, and outside a section. Returns false,
  /// and changes nothing, if the key exists. If there is no memory it throws std::bad_alloc, and
  /// nothing has changed.
  bool insert(const Key& key, const Value& value) {
    if (node::find(root(), key, less_) != nullptr) return false;
    begin_update();
    show_root(update(memory_).inserted(root(), key, value, less_));
    return true;
  }
  /// Sets the key's value, under the same rules as insert(). Returns true if the key is new.
  bool insert_or_assign(const Key& key, const Value& value) {
    if (insert(key, value)) return true;
    begin_update();
    show_root(update(memory_).assigned(root(), key, value, less_));
    return false;
  }
  /// Removes a key for a writer. Returns false if the key does not exist. Throws nothing: if there
  /// is no memory, it waits for readers and uses the nodes that they release.
  bool erase(const Key& key) {
    if (node::find(root(), key, less_) == nullptr) return false;
    memory_.begin_erasure(most_nodes(size()));
    show_root(update(memory_).erased(root(), key, less_));
    return true;
  }
  /// Returns a view for the writer itself, with either form. Valid until its next update.
  view exclusive() const noexcept { return view(root(), less_); }

  /// Frees what no reader can access any more. Never waits.
  void reclaim() { memory_.reclaim(); }
  /// Waits for readers that are in a section now. Then no garbage is left.
  void synchronize() { memory_.synchronize(); }
  /// An update that would leave more garbage than this waits for readers. 0: no limit.
  void set_garbage_limit(std::uint64_t nodes) noexcept { memory_.set_limit(nodes); }
  /// The number of nodes that wait for a grace period together; at least 1.
  void set_batch(std::uint64_t nodes) noexcept { memory_.set_batch(nodes); }
  /// Returns the counts since the map was made. For a writer only.
  bonsai_counts counts() const noexcept { return memory_.counts(); }
  /// Returns the size of a node in bytes.
  static constexpr std::size_t node_bytes() noexcept { return sizeof(node); }

  /// For tests: whether each subtree is in order, balanced and of the recorded size; and the tree's
  /// height.
  bool is_whole(int& height) const {
    const node* last = nullptr;
    return bonsai::is_whole(static_cast<const node*>(root()), last, height, less_) &&
           height <= height_bound(size());
  }

 private:
  node* root() const noexcept {
    // acquire: pairs with show_root; the new nodes.
    return node::at(root_.load(std::memory_order_acquire));
  }
  static std::optional<entry> entry_of(const node* n) {
    if (n == nullptr) return std::nullopt;
    return entry{n->key.get(), n->value.get()};
  }

  // An update makes at most three nodes for each level, plus one.
  static std::uint64_t most_nodes(std::uint64_t size) noexcept {
    return 3 * static_cast<std::uint64_t>(height_bound(size) + 2);
  }
  void begin_update() { memory_.begin_update(most_nodes(size()), most_nodes(size() + 1)); }
  void show_root(node* changed) {
    if (changed != root()) {
      // release: the new nodes; pairs with root.
      root_.store(changed == nullptr ? 0 : changed->address(), std::memory_order_release);
    }
    size_.store(bonsai::size_of(changed), std::memory_order_relaxed);  // relaxed: a number
    memory_.end_update();
  }
  static void destroy(node* n) {
    if (n == nullptr) return;
    destroy(n->next(0));
    destroy(n->next(1));
    memory::destroy(n);
  }

  memory memory_;
  std::atomic<std::uint64_t> size_{0};  // not the platform's, because it orders nothing
  [[no_unique_address]] Less less_;
  // An address. In its own cache line, so that a lookup needs no other line of the map.
  alignas(64) typename P::template atomic<std::uint64_t> root_{};
};

}  // namespace lockswap
