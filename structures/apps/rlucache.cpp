// rlucache: cache databases side by side: without a global lock, under Read-Log-Update; with one;
// and the unmodified Kyoto Cabinet (A. Matveev, N. Shavit, P. Felber, P. Marlier,
// "Read-Log-Update", SOSP 2015, section 4.8: 2 % and 10 % mutation, 1 GB).
//
// --with names the databases:
//   rlu               lockswap/rlu_cache.hpp: 16 slots, a writer takes the lock of its slot
//   rwlock-exclusive  the same database under one rwlock, which a change takes as a writer: what
//                     the paper says of Kyoto Cabinet
//   rwlock-shared     under one rwlock, which a change takes as a reader, as a get does; each takes
//                     the mutex of its slot: what the shipped Kyoto Cabinet does
//   mutex             under one mutex, which each operation takes
//   kyoto             CacheDB of the library
// All are filled with --records records at first. Then they are used in turns, round after round:
// --threads threads for --seconds take a random key of one and a half times as many, and get it or,
// --mutation of them, set, add or remove it (a third each). So in the long run two keys of three
// are there, as at first. With --lru on a get moves its record to the end of its slot's order.
//
// Prints for each database, with '_' for '-' in its name, the median of its rounds, and how the
// first one stands to each other one, as rlubench does:
//   NAME_ops_cpu, NAME_ops_s, NAME_ops_thread_cpu, NAME_reads_s, NAME_reads_cpu (gets),
//   NAME_writes_s, NAME_writes_cpu (sets, adds and removes), NAME_found (share of the gets that
//   found something), FIRST_to_NAME, with _low and _high
// Exit status 1: a value is not what was stored, or records got lost. --help shows the options.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "common/options.h"
#include "common/random.h"
#include "common/report.h"
#include "rlu/databases.h"
#include "rlu/rounds.h"

namespace {

using namespace bench;

// A value begins with its key, so that a reader sees whether it is the right one.
class Record {
 public:
  explicit Record(const CacheSetup& s) : value_(static_cast<std::size_t>(s.value_size), 'v') {}
  void choose(std::uint64_t key) {
    std::memcpy(key_, &key, sizeof key);
    std::memcpy(value_.data(), &key, sizeof key);
  }
  std::string_view key() const { return {key_, sizeof key_}; }
  std::string_view value() const { return value_; }

 private:
  char key_[sizeof(std::uint64_t)] = {};
  std::string value_;
};

std::uint32_t keys_of(const CacheSetup& s) {
  return static_cast<std::uint32_t>(s.records) + static_cast<std::uint32_t>(s.records / 2);
}

template <class Db>
class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t found = 0;

  Worker(Db& db, const CacheSetup& s, unsigned number)
      : db_(&db),
        keys_(keys_of(s)),
        mutation_(share_of_32_bits(s.mutation)),
        random_(number),
        record_(s) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 16;
    for (int i = 0; i < kBatch; ++i) {
      record_.choose(random_.below(keys_));
      if (random_.with_share(mutation_)) {
        watch.write([&] { change(); });
        ++writes;
        continue;
      }
      bool is_there = false;
      watch.read([&] { is_there = db_->get(record_.key(), got_); });
      ++reads;
      if (!is_there) continue;
      ++found;
      if (got_.size() != record_.value().size() || !got_.starts_with(record_.key()))
        wrong_result("a value is not what was stored");
    }
  }

 private:
  void change() {
    switch (random_.below(3)) {
      case 0:
        return db_->set(record_.key(), record_.value());
      case 1:
        return static_cast<void>(db_->add(record_.key(), record_.value()));
      default:
        return static_cast<void>(db_->remove(record_.key()));
    }
  }

  Db* db_;
  std::uint32_t keys_;
  std::uint64_t mutation_;
  Random random_;
  Record record_;
  std::string got_;
};

class Contender : public Contestant {
 public:
  double found = 0;  // of the reads
  double reads = 0;
};

template <class Db>
class ContenderOf : public Contender {
 public:
  explicit ContenderOf(const CacheSetup& s) : setup_(s), db_(s) {
    Record record(s);
    for (std::uint32_t key = 0; key < keys_of(s); ++key) {
      if (key % 3 == 2) continue;
      record.choose(key);
      db_.set(record.key(), record.value());
    }
  }
  Round run(unsigned number) override {
    std::vector<Worker<Db>> workers;
    for (int i = 0; i < setup_.plan.threads; ++i)
      workers.emplace_back(db_, setup_, number * 1000 + static_cast<unsigned>(i));
    Round r = timed_round(
        [&](Round& round) {
          round.phase = run_phase(setup_.plan, workers, false, setup_.plan.seconds);
        },
        [] {});
    found += static_cast<double>(sum_of(workers, &Worker<Db>::found));
    reads += static_cast<double>(reads_of(workers));
    return r;
  }
  // Each record that is counted is there and whole.
  void check() override {
    Record record(setup_);
    std::string got;
    std::int64_t there = 0;
    const std::int64_t count = db_.count();
    for (std::uint32_t key = 0; key < keys_of(setup_); ++key) {
      record.choose(key);
      if (!db_.get(record.key(), got)) continue;
      ++there;
      if (got != record.value()) wrong_result("a value is not what was stored");
    }
    if (there != count) wrong_result("the database counts other records than there are");
  }

 private:
  CacheSetup setup_;
  Db db_;
};

template <class Db>
std::unique_ptr<Contender> contender(const CacheSetup& s) {
  return std::make_unique<ContenderOf<Db>>(s);
}
struct Kind {
  const char* name;
  std::unique_ptr<Contender> (*make)(const CacheSetup&);
};
const Kind kKinds[] = {
    {"rlu", contender<OwnDatabase<lockswap::rlu::cache>>},
    {"rwlock-exclusive", contender<OwnDatabase<GuardedCache<SetTakes::exclusive>>>},
    {"rwlock-shared", contender<OwnDatabase<GuardedCache<SetTakes::shared>>>},
    {"mutex", contender<OwnDatabase<GuardedCache<SetTakes::exclusive, Mutex>>>},
    {"kyoto", contender<KyotoDatabase>},
};

struct Kept {
  const Kind* kind;
  std::unique_ptr<Contender> contender;
  Rounds figures;
};

std::vector<Kept> chosen(const std::string& with, const Options& options) {
  std::vector<Kept> kept;
  for (const Kind* kind : named_by_with(with, kKinds, options))
    kept.push_back({kind, nullptr, {}});
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  CacheSetup setup;
  setup.plan.seconds = 0.5;
  std::string with = "rlu,rwlock-exclusive,rwlock-shared";
  std::string lru = "off";
  int rounds = 1;
  Options options("rlucache", "Cache databases with and without a global lock, side by side.");
  options.text("--with", with, "the databases, with commas in between; all: each that there is");
  options.number("--threads", setup.plan.threads, 1, 1024, "threads");
  options.number("--seconds", setup.plan.seconds, 0.01, 600, "how long a round of one takes");
  options.number("--rounds", rounds, 1, 1000, "rounds");
  options.number("--mutation", setup.mutation, 0, 1, "share of sets, adds and removes");
  options.number("--records", setup.records, 2, 100'000'000, "that there are at first, in each");
  options.number("--value-size", setup.value_size, 8, 1 << 20, "bytes of a value");
  options.choice("--lru", lru, {"off", "on"}, "a get makes its record the newest one");
  add_least_option(options, setup.plan);
  options.flag("--pin", setup.plan.pin, "pin the threads to the processors in turn");
  options.parse(argc, argv);
  setup.lru = lru == "on";

  std::vector<Kept> databases = chosen(with, options);
  for (Kept& k : databases)
    k.contender = k.kind->make(setup);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < databases.size(); ++i) {
      // There and back: what drifts falls on all of them.
      Kept& k = databases[round % 2 == 0 ? i : databases.size() - 1 - i];
      k.figures.add(k.contender->run(static_cast<unsigned>(round) + 1));
    }
  }
  for (Kept& k : databases) {
    k.contender->check();
    print_rounds(k.kind->name, k.figures);
    std::printf("%s_found %.4f\n", shown(k.kind->name).c_str(),
                k.contender->reads == 0 ? 0 : k.contender->found / k.contender->reads);
  }
  for (std::size_t i = 1; i < databases.size(); ++i)
    print_ratio(databases[0].kind->name, databases[0].figures, databases[i].kind->name,
                databases[i].figures);
  return 0;
}
