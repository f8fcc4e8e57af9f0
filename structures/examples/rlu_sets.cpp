// Sets under Read-Log-Update in C++: prices by article, in a hash table that is compared by the
// article alone, and the articles in order, in a list. One section changes both.
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include <lockswap/rlu_hash.hpp>
#include <lockswap/rlu_list.hpp>

namespace rlu = lockswap::rlu;

struct price {
  int article;
  int cents;
};
struct by_article {
  std::size_t operator()(const price& p) const { return std::hash<int>{}(p.article); }
  bool operator()(const price& a, const price& b) const { return a.article < b.article; }
};
using prices = rlu::hash_set<price, by_article, by_article>;
using articles = rlu::list<int>;

static bool offer(prices& of, articles& sorted, price p) {
  // Made before the section, which may be aborted and run again.
  prices::entry in_table(p);
  articles::entry in_list(p.article);
  const bool is_new = rlu::update([&](rlu::section& here) -> std::optional<bool> {
    const auto added = of.insert(here, in_table);
    if (!added || !*added) return added;  // no value: abort and retry
    return sorted.insert(here, in_list);
  });
  if (is_new) {
    in_table.inserted();
    in_list.inserted();
  }
  return is_new;
}

int main() {
  constexpr int kArticles = 200;
  prices of(64);  // buckets
  articles sorted;
  std::thread offers([&] {
    for (int article = 0; article < kArticles; ++article)
      offer(of, sorted, {article, 100 + article});
  });

  int without_price = 0;
  for (int round = 0; round < 100; ++round) {
    const rlu::section here;  // one state of both
    for (int article = 0; article < kArticles; ++article)
      without_price += sorted.contains(here, article) && !of.contains(here, {article, 0}) ? 1 : 0;
  }
  offers.join();

  of.insert_or_assign({7, 95});
  const int cents = of.find({7, 0}).value_or(price{}).cents;
  int tens = 0;
  sorted.for_each_between(10, 20, [&tens](int) { ++tens; });
  std::printf("%zu articles, %d without a price, article 7 costs %d\n", of.size(), without_price,
              cents);
  return of.size() == kArticles && without_price == 0 && cents == 95 && tens == 10 ? 0 : 1;
}
