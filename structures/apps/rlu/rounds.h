// What programs share that run contestants in turns: which ones, and what their rounds come to:
// medians, and ratios with intervals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "common/options.h"
#include "rlu/contest.h"

namespace bench {

// The parts of a list with commas in between.
inline std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Those of `all`, which have a `name`, that --with names; all of them: "all".
template <class All>
auto named_by_with(const std::string& with, const All& all, const Options& options) {
  std::string names;
  for (const auto& one : all)
    names.append(names.empty() ? "" : ", ").append(one.name);
  std::vector<const std::remove_reference_t<decltype(*std::begin(all))>*> named;
  const auto name_one = [&](const std::string& name) {
    const auto found = std::find_if(std::begin(all), std::end(all),
                                    [&](const auto& one) { return one.name == name; });
    if (found == std::end(all))
      options.refuse("--with: '" + name + "' is none of " + names + " (or all)");
    if (std::find(named.begin(), named.end(), &*found) != named.end())
      options.refuse("--with has '" + name + "' twice");
    named.push_back(&*found);
  };
  for (const std::string& part : parts_of(with == "all" ? names : with))
    name_one(part.substr(std::min(part.find_first_not_of(' '), part.size())));
  return named;
}

// The figures of one contestant, a value a round.
struct Rounds {
  std::vector<double> ops_cpu;
  std::vector<double> ops_thread_cpu;
  std::vector<double> ops_s;
  std::vector<double> reads_s, reads_cpu;
  std::vector<double> writes_s, writes_cpu;
  std::vector<double> resizes_s;
  std::vector<double> resizes_cpu;  // a CPU-second of all but the workers

  void add(const Round& r) {
    double reads = 0;
    double writes = 0;
    double read_rate = 0;
    double write_rate = 0;
    double cpu = 0;
    for (const Share& s : r.phase) {
      reads += static_cast<double>(s.reads);
      writes += static_cast<double>(s.writes);
      read_rate += static_cast<double>(s.reads) / s.seconds;
      write_rate += static_cast<double>(s.writes) / s.seconds;
      cpu += s.cpu_seconds;
    }
    reads_s.push_back(read_rate);
    writes_s.push_back(write_rate);
    ops_s.push_back(read_rate + write_rate);
    reads_cpu.push_back(reads / r.cpu_seconds);
    writes_cpu.push_back(writes / r.cpu_seconds);
    ops_cpu.push_back((reads + writes) / r.cpu_seconds);
    ops_thread_cpu.push_back((reads + writes) / cpu);
    resizes_s.push_back(static_cast<double>(r.resizes) / r.seconds);
    resizes_cpu.push_back(static_cast<double>(r.resizes) / (r.cpu_seconds - cpu));
  }
};

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// How many of n sorted values lie outside of the interval at each end: as many as leave it in 95 %
// of cases over the median of what the values are drawn from.
inline std::size_t outside(std::size_t n) {
  double chance = 1;  // that no value is below the median, and then at most k
  for (std::size_t i = 0; i < n; ++i)
    chance /= 2;
  double term = chance;
  std::size_t k = 0;
  while (chance <= 0.025 && k < n / 2) {
    ++k;
    term = term * static_cast<double>(n - k + 1) / static_cast<double>(k);
    chance += term;
  }
  return k;  // 0: there are too few values
}

inline std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> r;
  for (std::size_t i = 0; i < a.size(); ++i)
    r.push_back(a[i] / b[i]);
  std::sort(r.begin(), r.end());
  return r;
}

inline std::string shown(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

inline void print_rounds(const std::string& of, const Rounds& r, bool resizes = false) {
  const std::string name = shown(of);
  std::printf("%s_ops_cpu %.0f %s_ops_s %.0f %s_ops_thread_cpu %.0f\n", name.c_str(),
              median(r.ops_cpu), name.c_str(), median(r.ops_s), name.c_str(),
              median(r.ops_thread_cpu));
  std::printf("%s_reads_s %.0f %s_writes_s %.0f %s_reads_cpu %.0f %s_writes_cpu %.0f\n",
              name.c_str(), median(r.reads_s), name.c_str(), median(r.writes_s), name.c_str(),
              median(r.reads_cpu), name.c_str(), median(r.writes_cpu));
  if (!resizes) return;
  std::printf("%s_resizes_s %.2f %s_resizes_cpu %.2f\n", name.c_str(), median(r.resizes_s),
              name.c_str(), median(r.resizes_cpu));
}

// Never cut to 0: a thread that resizes all the time leaves others next to nothing. Never with an
// exponent: a reader of these lines may look for digits.
inline void print_figure(const std::string& name, double figure) {
  const char* const form = figure >= 1000 ? "%s %.0f" : figure < 0.001 ? "%s %.9f" : "%s %.4g";
  std::printf(form, name.c_str(), figure);
}
// The median of sorted values, with an interval where there are enough.
inline void print_interval(const std::string& name, const std::vector<double>& sorted) {
  print_figure(name, median(sorted));
  if (const std::size_t k = outside(sorted.size()); k != 0) {
    print_figure(" " + name + "_low", sorted[k - 1]);
    print_figure(" " + name + "_high", sorted[sorted.size() - k]);
  }
}

inline void print_ratio(const std::string& first, const Rounds& first_rounds,
                        const std::string& other, const Rounds& other_rounds,
                        bool resizes = false) {
  const std::string name = shown(first) + "_to_" + shown(other);
  print_interval(name, ratios(first_rounds.ops_cpu, other_rounds.ops_cpu));
  print_figure(" " + name + "_by_thread_cpu",
               median(ratios(first_rounds.ops_thread_cpu, other_rounds.ops_thread_cpu)));
  std::printf("\n");
  print_interval(name + "_by_clock", ratios(first_rounds.ops_s, other_rounds.ops_s));
  std::printf("\n");
  const auto each_resized = [](const Rounds& r) {
    return std::all_of(r.resizes_cpu.begin(), r.resizes_cpu.end(),
                       [](double n) { return n > 0 && std::isfinite(n); });
  };
  // A set that can't be resized has none, and in a short round the thread may not get that far.
  if (!resizes || !each_resized(first_rounds) || !each_resized(other_rounds)) return;
  print_interval(name + "_resizes", ratios(first_rounds.resizes_cpu, other_rounds.resizes_cpu));
  std::printf("\n");
}

}  // namespace bench
