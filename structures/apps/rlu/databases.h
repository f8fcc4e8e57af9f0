// The cache databases that rlucache compares, in one shape.
//
// A database is made of CacheSetup and has
//   get(key, value) -> bool, set(key, value), add(key, value) -> bool, remove(key) -> bool,
//   count() -> std::int64_t
#pragma once

#include <kccachedb.h>
#include <string>
#include <string_view>

#include "common/report.h"
#include "lockswap/rlu_cache.hpp"
#include "rlu/contest.h"
#include "rlu/guarded_cache.h"

namespace bench {

struct CacheSetup {
  Plan plan;  // its seconds are those of a round
  int records = 1'000'000;
  int value_size = 1024;
  double mutation = 0.02;
  bool lru = false;
  // As many as records, so that the trees are small in tests, too.
  std::size_t buckets() const { return static_cast<std::size_t>(records); }
};

// Ours.
template <class Db>
class OwnDatabase {
 public:
  explicit OwnDatabase(const CacheSetup& s)
      : db_(lockswap::rlu::cache_options{.buckets = s.buckets(), .lru = s.lru}) {}
  bool get(std::string_view key, std::string& value) { return db_.get(key, value); }
  void set(std::string_view key, std::string_view value) { db_.set(key, value); }
  bool add(std::string_view key, std::string_view value) { return db_.add(key, value); }
  bool remove(std::string_view key) { return db_.remove(key); }
  std::int64_t count() { return static_cast<std::int64_t>(db_.count()); }

 private:
  Db db_;
};

// The unmodified library's.
class KyotoDatabase {
 public:
  explicit KyotoDatabase(const CacheSetup& s)
      : buffer_size_(static_cast<std::size_t>(s.value_size)) {
    if (!db_.tune_buckets(static_cast<std::int64_t>(s.buckets())) || !db_.switch_rotation(s.lru) ||
        !db_.open("*", Db::OWRITER | Db::OCREATE))
      wrong("open");
  }
  bool get(std::string_view key, std::string& value) {
    value.resize(buffer_size_);
    const int size = db_.get(key.data(), key.size(), value.data(), value.size());
    if (size < 0) return done(false, Db::Error::NOREC, "get");
    value.resize(static_cast<std::size_t>(size));
    return true;
  }
  void set(std::string_view key, std::string_view value) {
    if (!db_.set(key.data(), key.size(), value.data(), value.size())) wrong("set");
  }
  bool add(std::string_view key, std::string_view value) {
    return done(db_.add(key.data(), key.size(), value.data(), value.size()), Db::Error::DUPREC,
                "add");
  }
  bool remove(std::string_view key) {
    return done(db_.remove(key.data(), key.size()), Db::Error::NOREC, "remove");
  }
  std::int64_t count() { return db_.count(); }

 private:
  using Db = kyotocabinet::CacheDB;
  bool done(bool is_done, Db::Error::Code otherwise, const char* what) {
    if (!is_done && db_.error().code() != otherwise) wrong(what);
    return is_done;
  }
  [[noreturn]] void wrong(const char* what) {
    wrong_result(std::string("CacheDB: ") + what + ": " + db_.error().message());
  }
  Db db_;
  std::size_t buffer_size_;
};

}  // namespace bench
