// A hash table on a range lock, which the range-lock paper names as future work. A unit of the lock
// is a hash, so a bucket is a range of hashes, and the table as a whole is all of them. So one lock
// serves every size of the table, and a resize needs no other lock than an insertion does. An
// operation on two keys acquires the range from the one bucket to the other, so nobody sees it half
// done, and no order of locks has to be kept to.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <lockswap/range_lock.hpp>

namespace {

class HashTable {
  using Key = std::uint64_t;

 public:
  // Returns false if it is there already.
  bool insert(Key key) {
    bool full = false;
    const bool is_new = with_buckets(key, key, [&](auto& buckets) {
      std::vector<Key>& keys = bucket_of(buckets, key);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
      keys.push_back(key);
      full = keys.size() > kFull;
      return true;
    });
    if (full) grow();
    return is_new;
  }
  // Returns false if it is not there.
  bool erase(Key key) {
    return with_buckets(key, key, [&](auto& buckets) { return take(buckets, key); });
  }
  // `from` goes and `to` comes, at one moment. Returns false if `from` is not there.
  bool replace(Key from, Key to) {
    return with_buckets(from, to, [&](auto& buckets) {
      if (!take(buckets, from)) return false;
      bucket_of(buckets, to).push_back(to);
      return true;
    });
  }
  bool contains(Key key) {
    const auto shared = lock_.shared(hash(key), hash(key) + 1);
    const std::vector<Key>& keys = bucket_of(buckets_, key);
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  // f(key), of one state of the table.
  template <class F>
  void for_each(F f) {
    const auto all = lock_.shared();
    for (const std::vector<Key>& keys : buckets_) {
      for (const Key key : keys)
        f(key);
    }
  }
  std::size_t buckets() {
    const auto all = lock_.shared();
    return buckets_.size();
  }

 private:
  using Buckets = std::vector<std::vector<Key>>;
  static constexpr unsigned kBits = 32;  // of a hash
  static constexpr std::size_t kFull = 4;

  static std::uint64_t hash(Key key) { return key * 0x9E3779B97F4A7C15u >> (64 - kBits); }
  static std::size_t number_of(const Buckets& buckets, Key key) {
    return static_cast<std::size_t>(hash(key) * buckets.size() >> kBits);
  }
  static std::vector<Key>& bucket_of(Buckets& buckets, Key key) {
    return buckets[number_of(buckets, key)];
  }
  static bool take(Buckets& buckets, Key key) {
    std::vector<Key>& keys = bucket_of(buckets, key);
    const auto at = std::find(keys.begin(), keys.end(), key);
    if (at == keys.end()) return false;
    keys.erase(at);
    return true;
  }
  // f(buckets) with the buckets of both keys, and those between them, exclusively.
  template <class F>
  bool with_buckets(Key one, Key other, F f) {
    const auto [low, high] = std::minmax({hash(one), hash(other)});
    for (;;) {
      // Only a hint until the range is held: then the table can't be resized.
      const std::uint64_t count = count_.load(std::memory_order_relaxed);
      const std::uint64_t width = (std::uint64_t{1} << kBits) / count;
      const auto mine = lock_.exclusive(low / width * width, (high / width + 1) * width);
      if (count == buckets_.size()) return f(buckets_);
    }
  }
  void grow() {
    const auto all = lock_.exclusive();
    Buckets larger(buckets_.size() * 2);
    for (const std::vector<Key>& keys : buckets_) {
      for (const Key key : keys)
        bucket_of(larger, key).push_back(key);
    }
    buckets_ = std::move(larger);
    count_.store(buckets_.size(), std::memory_order_relaxed);
  }

  lockswap::range_lock lock_;  // the implementation that LOCKSWAP_RANGE names, or the default one
  Buckets buckets_{16};        // a power of two
  std::atomic<std::uint64_t> count_{16};
};

constexpr std::uint64_t kThreads = 4, kKeys = 2000, kTokens = 8;
std::atomic<unsigned> wrong{0};
void need(bool good) { wrong += good ? 0 : 1; }

// A thread's own keys come, are there, and every second one goes.
void work(HashTable& table, std::uint64_t thread) {
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::uint64_t key = (i + 1) * 64 + thread;
    need(!table.contains(key));
    need(table.insert(key));
    need(!table.insert(key));
    need(table.contains(key));
    if (i % 2 == 1) need(table.erase(key));
  }
}
// Tokens change their keys all the time, and there are always as many. A token's key ends in 32
// and more.
void move_tokens(HashTable& table, const std::atomic<bool>& stop) {
  for (std::uint64_t i = 0; !stop; ++i) {
    for (std::uint64_t token = 0; token < kTokens; ++token)
      need(table.replace(i * 64 + 32 + token, (i + 1) * 64 + 32 + token));
  }
}
void count_tokens(HashTable& table, const std::atomic<bool>& stop) {
  while (!stop) {
    std::uint64_t tokens = 0;
    table.for_each([&](std::uint64_t key) { tokens += key % 64 >= 32 ? 1 : 0; });
    need(tokens == kTokens);
  }
}

}  // namespace

int main() {
  HashTable table;
  for (std::uint64_t token = 0; token < kTokens; ++token)
    need(table.insert(32 + token));
  std::atomic<bool> stop{false};
  std::thread mover([&] { move_tokens(table, stop); });
  std::thread counter([&] { count_tokens(table, stop); });
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&table, i] { work(table, i); });
  for (std::thread& thread : threads)
    thread.join();
  stop = true;
  mover.join();
  counter.join();

  std::uint64_t left = 0;
  table.for_each([&](std::uint64_t) { ++left; });
  need(left == kThreads * kKeys / 2 + kTokens);
  need(table.buckets() > 16);
  std::printf("%u mistakes, %llu keys\n", wrong.load(), static_cast<unsigned long long>(left));
  return wrong == 0 ? 0 : 1;
}
