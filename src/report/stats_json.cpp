// The report as JSON.
#include <cerrno>  // program_invocation_short_name
#include <span>
#include <unistd.h>

#include "config/auto.h"
#include "report/stats_forms.h"

namespace lockswap {
namespace {

template <class Get>
void put_json_counts(Text& out, std::span<const Field> fields, Get get) noexcept {
  for (const Field& f : fields)
    out << (&f == fields.data() ? "\"" : ",\"") << f.name << "\":" << get(f.event);
}

template <class Get>
void put_json_share(Text& out, const Config& config, Get get) noexcept {
  out << "\"fast_read_share\":";
  if (has_bias(config) && get(Event::read) != 0) {
    put_share(out, get(Event::fast_read), get(Event::read));
  } else {
    out << "null";
  }
}

}  // namespace

void put_json_string(Text& out, const char* s) noexcept {
  out << "\"";
  for (; *s != 0; ++s) {
    const char one[2] = {*s, 0};
    const auto c = static_cast<unsigned char>(*s);
    if (c == '"' || c == '\\') {
      out << "\\" << one;
    } else if (c < 0x20) {
      out << "?";
    } else {
      out << one;
    }
  }
  out << "\"";
}

namespace {

// Appends why `auto` chose that lock.
void put_json_reason(Text& out, bool automatic, const AutoChoice& choice) noexcept {
  out << "\"auto_reason\":";
  if (automatic) {
    put_auto_reason(out << "\"", choice);
    out << "\"";
  } else {
    out << "null";
  }
}

// Appends why objects stay glibc's for which another lock was chosen; null if there are none.
void put_json_kept(Text& out, const Config& config) noexcept {
  const auto put_one = [&out](const char* name, const char* why) {
    out << name;
    if (why == nullptr) {
      out << "null";
    } else {
      put_json_string(out, why);
    }
  };
  put_one("\"kept_by_glibc\":{\"rwlocks\":", config.kept.rwlocks);
  put_one(",\"mutexes\":", config.kept.mutexes);
  put_one(",\"conds\":", config.kept.conds);
  out << "}";
}

void put_json_bypasses(Text& out, const Bypasses* found) noexcept {
  if (found == nullptr) {
    out << "\"bypasses\":null,\"bypassed_by\":null";
    return;
  }
  const Bypasses& b = *found;
  out << "\"bypasses\":" << b.count << ",\"bypassed_by\":[";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i) {
    out << (i == 0 ? "{\"object\":" : ",{\"object\":");
    put_json_string(out, b.first[i].object);
    out << ",\"how\":\"" << b.first[i].how << "\"}";
  }
  out << "]";
}

template <class PutOne>
void put_json_busiest(Text& out, const Busiest& top, const PutOne& put_one) noexcept {
  out << "\"busiest\":[";
  for (std::size_t i = 0; i < top.count; ++i) {
    out << (i == 0 ? "\n" : ",\n") << "{\"address\":\"";
    out.hex(top.at[i]->key.load(relaxed)) << "\",";
    put_one(*top.at[i]);
    out << "}";
  }
  out << "]";
}

// null: no mutex is chosen, so none is counted.
void put_json_mutexes(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  if (!counts_mutexes(config)) {
    out << "\"mutexes\":null";
    return;
  }
  const auto total = [&t](Event e) { return t[e]; };
  out << "\"mutexes\":{\"mutex\":\"" << name_of_mutex(config)
      << "\",\"auto\":" << (config.automatic_mutex ? "true" : "false") << ",";
  put_json_reason(out, config.automatic_mutex, kAutoMutex);
  out << ",\"calls\":" << t[Event::mutex_call] << ",\"locks\":" << t.mutexes << ",\n\"totals\":{";
  put_json_counts(out, kMutexFields, total);
  out << "},\n";
  put_json_busiest(out, top, [&out](const Counts& c) {
    put_json_counts(out, kOfOneMutex, [&c](Event e) { return c.get(e); });
  });
  out << "}";
}

// null: they are not counted.
void put_json_conds(Text& out, const Config& config, const Totals& t) noexcept {
  if (!counts_conds(config)) {
    out << "\"conds\":null";
    return;
  }
  out << "\"conds\":{\"cond\":\"" << name_of_conds(config) << "\",\"totals\":{";
  put_json_counts(out, kOfConds, [&t](Event e) { return t[e]; });
  out << "}}";
}

}  // namespace

void put_json(Text& out, const Config& config, const Totals& t, const Busiest& top,
              const Busiest& top_mutexes, const Bypasses* bypasses) noexcept {
  const auto total = [&t](Event e) { return t[e]; };
  out << "{\"schema\":1,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"pid\":"
      << static_cast<std::uint64_t>(getpid()) << ",\"program\":";
  put_json_string(out, program_invocation_short_name);
  out << ",\"rwlock\":\"" << name_of_lock(config)
      << "\",\"auto\":" << (config.automatic ? "true" : "false") << ",";
  put_json_reason(out, config.automatic, kAutoRwlock);
  out << ",\"wait\":\"" << config.wait << "\",\"calls\":" << t[Event::call]
      << ",\"locks\":" << t.locks << ",";
  put_json_bypasses(out, bypasses);
  put_json_kept(out << ",", config);
  out << ",\n\"totals\":{";
  put_json_counts(out, kFields, total);
  out << "},\n";
  put_json_share(out, config, total);
  out << ",\n";
  put_json_busiest(out, top, [&](const Counts& c) {
    const auto one = [&c](Event e) { return c.get(e); };
    put_json_counts(out, kFields, one);
    out << ",";
    put_json_share(out, config, one);
  });
  out << ",\n";
  put_json_mutexes(out, config, t, top_mutexes);
  out << ",\n";
  put_json_conds(out, config, t);
  out << ",\n";
  put_json_policy(out, config);
  out << "}\n";
}

}  // namespace lockswap
