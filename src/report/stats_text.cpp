// The report as text.
#include <cerrno>  // program_invocation_short_name
#include <span>
#include <unistd.h>

#include "config/auto.h"
#include "registry/keep_glibcs.h"
#include "report/stats_forms.h"

namespace lockswap {
namespace {

bool is_shell(const char* program) noexcept {
  for (const char* shell : {"sh", "bash", "dash", "zsh", "ksh"}) {
    if (same_name(program, shell)) return true;
  }
  return false;
}

void put_text_counts(Text& out, std::span<const Field> fields, const Totals& t) noexcept {
  for (const Field& f : fields) {
    if (t[f.event] != 0) out << "  " << f.name << " " << t[f.event] << "\n";
  }
}

// Appends why `auto` chose that lock.
void put_reason(Text& out, bool automatic, const AutoChoice& choice) noexcept {
  if (!automatic) return;
  put_auto_reason(out << "  auto, as ", choice);
  out << "\n";
}

bool saw_conds(const Totals& t) noexcept {
  bool any = false;
  for (const Field& f : kOfConds)
    any = any || t[f.event] != 0;
  return any;
}

}  // namespace

void put_share(Text& out, std::uint64_t fast, std::uint64_t reads) noexcept {
  const auto millionths =
      static_cast<std::uint64_t>(static_cast<double>(fast) * 1e6 / static_cast<double>(reads));
  char places[8];
  for (int i = 6, v = static_cast<int>(millionths % 1'000'000); i-- > 0; v /= 10) {
    places[i] = static_cast<char>('0' + v % 10);
  }
  places[6] = 0;
  out << millionths / 1'000'000 << "." << places;
}

void put_text_mutexes(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  if (counts_conds_alone(config)) {
    out << "lockswap: condition variables " << name_of_conds(config) << ":"
        << (saw_conds(t) ? "\n" : " 0 calls seen\n");
    put_text_counts(out, kOfConds, t);
  }
  if (!counts_mutexes(config)) return;
  out << "lockswap: mutex " << name_of_mutex(config) << (config.automatic_mutex ? " (auto)" : "")
      << ": " << t[Event::mutex_call] << " calls seen, " << t.mutexes << " mutexes\n";
  put_reason(out, config.automatic_mutex, kAutoMutex);
  put_text_counts(out, kMutexFields, t);
  for (std::size_t i = 0; i < top.count; ++i) {
    out << "  mutex ";
    out.hex(top.at[i]->key.load(relaxed))
        << ": " << top.at[i]->get(Event::mutex_lock) << " acquisitions\n";
  }
}

void put_text_rwlocks(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  out << "lockswap: " << program_invocation_short_name << " (pid "
      << static_cast<std::uint64_t>(getpid()) << "), rwlock " << name_of_lock(config)
      << (config.automatic ? " (auto)" : "") << ", wait " << config.wait << ": " << t[Event::call]
      << " calls seen, " << t.locks << " locks\n";
  put_reason(out, config.automatic, kAutoRwlock);
  put_kept(out, "  ", config, "\n");
  if (t[Event::call] == 0) {
    out << (is_shell(program_invocation_short_name)
                ? "  This is a shell; the programs that it starts have reports of their own if "
                  "they lock.\n"
                : "  The program takes no pthread reader-writer locks, or bypasses the preload.\n");
    return;
  }
  put_text_counts(out, kFields, t);
  if (has_bias(config) && t[Event::read] != 0) {
    out << "  share of fast reads ";
    put_share(out, t[Event::fast_read], t[Event::read]);
    out << "\n";
  }
  for (std::size_t i = 0; i < top.count; ++i) {
    const Counts& c = *top.at[i];
    out << "  lock ";
    out.hex(c.key.load(relaxed)) << ": " << c.get(Event::read) << " reads, " << c.get(Event::write)
                                 << " writes";
    if (has_bias(config)) {
      out << ", " << c.get(Event::fast_read) << " fast, " << c.get(Event::revocation)
          << " revocations";
    }
    out << "\n";
  }
}

void put_bypasses(Text& out, const Bypasses& b) noexcept {
  out << b.count << (b.count == 1 ? " object bypasses" : " objects bypass")
      << " the preload and call glibc's lock functions:";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i)
    out << (i == 0 ? " " : ", ") << b.first[i].object << " (" << b.first[i].how << ")";
  out << (b.count > Bypasses::kMost ? ", ...\n" : "\n");
}

}  // namespace lockswap
