// kyoto: threads that use one in-memory database of the unmodified Kyoto Cabinet library.
//
// Like the RLU paper's section 4.8 (2 % and 10 % mutation, 1 GB): each thread picks random keys and
// gets them; --mutation says how many of 100 operations are instead a set, an add or a remove (a
// third each). So in the long run two keys of three are there. That is how the database is loaded:
// --records of them, and it stays at that size. --cursor says how many of 1000 operations are
// instead a cursor that is made, jumps to a key and reads there.
//
// --db says which database, and they take their one rwlock in different ways:
//   protohash  ProtoHashDB: get reads, set, add and remove write: an honest mix
//   cache      CacheDB: get AND set, add, remove read (and take one of 16 mutexes); only cursors
//              write. --mutation does not change its rwlock's mix.
//
// An operation that is no get counts as a write. The lock is inside the library, so what is timed
// is the whole operation: get_p50_ns, ... and change_p50_ns, ... in the place of common/report.h's
// read_... and write_.... `found` is the share of gets that found their key, about 0.667. Exit
// status 1: a value is not what was stored, or the database lost count. Plain pthread API; --help
// shows the options.

#include <cstring>
#include <kccachedb.h>
#include <kcprotodb.h>

#include "common/random.h"
#include "common/report.h"

namespace {

using namespace bench;
using kyotocabinet::BasicDB;
using kyotocabinet::CacheDB;
using kyotocabinet::ProtoHashDB;

struct Mix {
  std::uint32_t keys;  // there are these, from 0; two of three are in the database
  std::size_t value_size;
  std::uint64_t mutation;  // shares, see share_of_32_bits
  std::uint64_t cursor;
};

constexpr std::size_t kKeySize = sizeof(std::uint64_t);

// A value begins with its key, so that a reader sees whether it is the right one.
class Record {
 public:
  explicit Record(std::size_t value_size) : value_(value_size, 'v') {}

  void choose(std::uint64_t key) {
    std::memcpy(key_, &key, kKeySize);
    std::memcpy(value_.data(), &key, kKeySize);
  }
  const char* key() const { return key_; }
  const std::vector<char>& value() const { return value_; }

 private:
  char key_[kKeySize] = {};
  std::vector<char> value_;
};

template <class Db>
class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t found = 0;

  Worker(Db& db, const Mix& mix, unsigned number)
      : db_(db), mix_(mix), random_(number), record_(mix.value_size), got_(mix.value_size + 1) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      record_.choose(random_.below(mix_.keys));
      const std::uint64_t dice = random_.next();
      if (dice < mix_.mutation) {
        watch.write([&] { change(); });
        ++writes;
      } else if (dice < mix_.mutation + mix_.cursor) {
        watch.write([&] { use_cursor(); });
        ++writes;
      } else {
        int size = 0;
        watch.read([&] { size = get(); });
        check_got(size);
        ++reads;
      }
    }
  }

 private:
  int get() { return db_.get(record_.key(), kKeySize, got_.data(), got_.size()); }

  void change() {
    const std::vector<char>& value = record_.value();
    switch (random_.below(3)) {
      case 0:
        if (!db_.set(record_.key(), kKeySize, value.data(), value.size()))
          wrong_result(std::string("set: ") + db_.error().message());
        break;
      case 1:
        expect(db_.add(record_.key(), kKeySize, value.data(), value.size()),
               BasicDB::Error::DUPREC);
        break;
      default:
        expect(db_.remove(record_.key(), kKeySize), BasicDB::Error::NOREC);
    }
  }

  void use_cursor() {
    const std::unique_ptr<BasicDB::Cursor> cursor(db_.cursor());
    if (!cursor->jump(record_.key(), kKeySize)) {
      expect(false, BasicDB::Error::NOREC);
      return;
    }
    // The key may have been removed by now, and the cursor may be at another one, or nowhere.
    std::size_t size = 0;
    const std::unique_ptr<char[]> value(cursor->get_value(&size));
    if (value != nullptr && size != mix_.value_size) wrong_result("a cursor's value is too short");
  }

  void expect(bool done, BasicDB::Error::Code otherwise) {
    if (!done && db_.error().code() != otherwise)
      wrong_result(std::string("the database says: ") + db_.error().message());
  }
  void check_got(int size) {
    if (size < 0) return expect(false, BasicDB::Error::NOREC);
    ++found;
    if (static_cast<std::size_t>(size) != mix_.value_size ||
        std::memcmp(got_.data(), record_.key(), kKeySize) != 0)
      wrong_result("a value is not what was stored");
  }

  Db& db_;
  const Mix& mix_;
  Random random_;
  Record record_;
  std::vector<char> got_;
};

template <class Db>
void load(Db& db, const Mix& mix) {
  if (!db.open("*", BasicDB::OWRITER | BasicDB::OCREATE))
    wrong_result(std::string("cannot open the database: ") + db.error().message());
  Record record(mix.value_size);
  for (std::uint32_t key = 0; key < mix.keys; ++key) {
    if (key % 3 == 2) continue;
    record.choose(key);
    if (!db.set(record.key(), kKeySize, record.value().data(), mix.value_size))
      wrong_result(std::string("cannot load the database: ") + db.error().message());
  }
}

// Every record that the database counts is there and whole.
template <class Db>
void check_all(Db& db, const Mix& mix) {
  Record record(mix.value_size);
  std::vector<char> got(mix.value_size + 1);
  std::int64_t there = 0;
  for (std::uint32_t key = 0; key < mix.keys; ++key) {
    record.choose(key);
    const int size = db.get(record.key(), kKeySize, got.data(), got.size());
    if (size < 0) continue;
    ++there;
    if (static_cast<std::size_t>(size) != mix.value_size ||
        std::memcmp(got.data(), record.value().data(), mix.value_size) != 0)
      wrong_result("a value is not what was stored");
  }
  if (there != db.count()) wrong_result("the database counts other records than there are");
}

template <class Db>
void run(const Plan& plan, const Mix& mix) {
  static Db db;  // the library closes it when the program ends
  load(db, mix);
  std::vector<Worker<Db>> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(db, mix, static_cast<unsigned>(i));
  run_and_print(plan, workers, "get", "change");
  check_all(db, mix);
  std::uint64_t found = 0;
  for (const Worker<Db>& w : workers)
    found += w.found;
  const std::uint64_t gets = reads_of(workers);
  std::printf("found %.4f\n",
              gets == 0 ? 0 : static_cast<double>(found) / static_cast<double>(gets));
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  std::string db = "protohash";
  int records = 1'000'000;
  int value_size = 1024;
  double mutation = 2;
  double cursor = 0;
  Options options("kyoto", "Threads use one in-memory database of Kyoto Cabinet.");
  add_plan_options(options, plan);
  options.choice("--db", db, {"protohash", "cache"}, "which database");
  options.number("--records", records, 2, 100'000'000, "records in the database");
  options.number("--value-size", value_size, 8, 1 << 20, "bytes of a value");
  options.number("--mutation", mutation, 0, 100, "of 100 operations: sets, adds and removes");
  options.number("--cursor", cursor, 0, 1000, "of 1000 operations: uses of a cursor");
  options.parse(argc, argv);
  if (mutation / 100 + cursor / 1000 > 1)
    options.refuse("--mutation and --cursor: together more than all operations");

  const Mix mix{.keys = static_cast<std::uint32_t>(records + records / 2),
                .value_size = static_cast<std::size_t>(value_size),
                .mutation = share_of_32_bits(mutation / 100),
                .cursor = share_of_32_bits(cursor / 1000)};
  if (db == "cache") {
    run<CacheDB>(plan, mix);
  } else {
    run<ProtoHashDB>(plan, mix);
  }
  return 0;
}
