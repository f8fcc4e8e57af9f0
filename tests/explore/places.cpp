#include "places.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string_view>
#include <type_traits>

#include "processes.h"
#include "runner.h"

namespace lockswap::explore {
namespace {

// "fast_read" of "static Attempt lockswap::Bravo<P, ...>::fast_read(Frame&) [with P = ...]"
std::string function_in(const std::string& pretty) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < pretty.size(); ++i) {
    const char c = pretty[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(') return pretty.substr(begin, std::min(i, pretty.find('<', begin)) - begin);
    if (c == ':' || c == ' ' || c == '*' || c == '&') begin = i + 1;
  }
  return pretty;
}

std::string order_of(const Mutation& m) {
  return std::string(name_of(m.op)) + ' ' + name_of(m.declared);
}

bool same_place(const Mutation& a, const Mutation& b) {
  return a.line == b.line && a.column == b.column && a.op == b.op && a.declared == b.declared &&
         std::string(a.file) == b.file;
}

// The orders that each of these cases comes to. A process writes the case's number and how many
// there are, then the orders: their texts lie in the program, at the same addresses in each
// process.
std::vector<std::vector<Mutation>> sites_of(const std::vector<const Case*>& cases,
                                            const Bounds* bounds, unsigned jobs) {
  static_assert(std::is_trivially_copyable_v<Mutation>);
  const auto collect = [&](unsigned part, std::FILE* out) {
    for (std::size_t i = part; i < cases.size(); i += jobs) {
      const Case& c = *cases[i];
      Sites sites;
      machine.sites = &sites;
      explore(c, bounds != nullptr ? *bounds : c.quick_bounds, {.executions = 4'000});
      machine.sites = nullptr;
      const std::size_t head[] = {i, sites.all().size()};
      std::fwrite(head, sizeof head, 1, out);
      std::fwrite(sites.all().data(), sizeof(Mutation), sites.all().size(), out);
    }
  };
  std::vector<std::vector<Mutation>> all(cases.size());
  for (const std::string& written : in_processes(jobs, collect)) {
    for (std::size_t at = 0; at < written.size();) {
      std::size_t head[2];
      std::memcpy(head, written.data() + at, sizeof head);
      std::vector<Mutation>& sites = all[head[0]];
      sites.resize(head[1]);
      std::memcpy(sites.data(), written.data() + at + sizeof head, head[1] * sizeof(Mutation));
      at += sizeof head + head[1] * sizeof(Mutation);
    }
  }
  return all;
}

}  // namespace

std::vector<Place> find_places(const std::vector<const Case*>& cases, const Bounds* bounds,
                               unsigned jobs) {
  const auto sites = sites_of(cases, bounds, jobs);
  std::vector<std::size_t> by_places(cases.size());
  std::iota(by_places.begin(), by_places.end(), 0);
  std::ranges::stable_sort(by_places, {}, [&sites](std::size_t i) { return sites[i].size(); });
  std::vector<Place> places;
  for (const std::size_t i : by_places) {
    for (const Mutation& s : sites[i]) {
      const std::string_view file = s.file;  // a source is the script's own
      if (!file.ends_with(".h") && !file.ends_with(".hpp")) continue;
      auto known = std::find_if(places.begin(), places.end(),
                                [&](const Place& p) { return same_place(p.at, s); });
      if (known == places.end()) known = places.insert(known, {s, "", {}});
      known->cases.push_back(cases[i]);
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    const int files = std::strcmp(a.at.file, b.at.file);
    return files != 0                   ? files < 0
           : a.at.line != b.at.line     ? a.at.line < b.at.line
           : a.at.column != b.at.column ? a.at.column < b.at.column
                                        : a.at.op < b.at.op;
  });
  std::vector<std::string> plain;
  for (Place& p : places) {
    plain.push_back(std::string(p.at.file) + ' ' + function_in(p.at.function) + ": " +
                    order_of(p.at));
    const auto n = std::count(plain.begin(), plain.end(), plain.back());
    p.name = plain.back() + (n == 1 ? "" : " #" + std::to_string(n));
  }
  return places;
}

}  // namespace lockswap::explore
