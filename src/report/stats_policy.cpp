// What the rules of a policy caught, in the two forms of a report.
#include <cstddef>
#include <cstdint>

#include "config/policy.h"
#include "platform/text.h"
#include "report/stats_forms.h"
#include "stats/policy_catches.h"

namespace lockswap {
namespace {

// The report has room for this many; the others are counted together.
constexpr std::size_t kMostPlaces = 150;

bool is_filled(const Catch& c) noexcept {
  return c.filled.load(acquire) != 0;  // pairs with count_catch
}

void put_json_places(Text& out, const Catches& all) noexcept {
  std::uint64_t others = all.dropped.load(relaxed);  // counts, all
  std::size_t n = 0;
  out << "\"places\":[";
  for (const Catch& c : all.places) {
    const std::uint64_t count = c.count.load(relaxed);
    if (count == 0) continue;
    if (!is_filled(c) || n == kMostPlaces) {
      others += count;
      continue;
    }
    out << (n++ == 0 ? "\n{\"rule\":" : ",\n{\"rule\":");
    if (c.rule < 0) {
      out << "null";
    } else {
      out << static_cast<std::uint64_t>(c.rule);
    }
    out << ",\"kind\":\"" << (c.kind == ObjectKind::rwlock ? "rwlock" : "mutex")
        << "\",\"objects\":" << count << ",\"file\":";
    put_json_string(out, c.file);
    out << ",\"address\":" << std::uint64_t{c.address} << "}";
  }
  out << "],\"other_places\":" << others;
}

void put_json_objects(Text& out, const Catches& all, int rule) noexcept {
  out << "\"rwlocks\":" << all.of(rule, ObjectKind::rwlock)
      << ",\"mutexes\":" << all.of(rule, ObjectKind::mutex);
}

void put_text_objects(Text& out, const Catches& all, int rule) noexcept {
  out << ": " << all.of(rule, ObjectKind::rwlock) << " rwlocks, " << all.of(rule, ObjectKind::mutex)
      << " mutexes\n";
}

}  // namespace

void put_json_policy(Text& out, const Config& config) noexcept {
  const Catches* all = catches();
  if (config.policy == nullptr || all == nullptr) {
    out << "\"policy\":null";
    return;
  }
  const Policy& policy = *config.policy;
  out << "\"policy\":{\"rules\":[";
  for (int i = 0; i < policy.count; ++i) {
    static constinit char words[4096];  // one report at a time
    Text text(words, sizeof words);
    put_rule(text, policy.rules[i]);
    out << (i == 0 ? "\n{\"line\":" : ",\n{\"line\":") << std::uint64_t{policy.rules[i].line}
        << ",\"rule\":";
    put_json_string(out, words);
    out << ",";
    put_json_objects(out, *all, i);
    out << "}";
  }
  out << "],\n\"rest\":{";
  put_json_objects(out, *all, -1);
  out << "},\n";
  put_json_places(out, *all);
  out << "}";
}

void put_text_policy(Text& out, const Config& config) noexcept {
  const Catches* all = catches();
  if (config.policy == nullptr || all == nullptr) return;
  const Policy& policy = *config.policy;
  for (int i = 0; i < policy.count; ++i) {
    const Rule& rule = policy.rules[i];
    if (rule.lock[0] == nullptr && rule.lock[1] == nullptr) continue;  // without effect here
    out << "  rule in line " << std::uint64_t{rule.line} << ", ";
    put_rule(out, rule);
    put_text_objects(out, *all, i);
  }
  out << "  matched by no rule, so they stay glibc's";
  put_text_objects(out, *all, -1);
}

}  // namespace lockswap
