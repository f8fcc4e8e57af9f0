#include "config/delay.h"

#include <cstring>

#include "platform/text.h"

namespace lockswap {
namespace {

constexpr std::size_t kMostText = 4096;
constexpr std::uint64_t kMostNs = 1'000'000'000;

constinit char words[kMostText];  // the rule points into it
constinit Delay found{};
constinit bool is_asked_for = false;

class DelayReader {
 public:
  DelayReader(const char* value, char* message, std::uint32_t size) noexcept
      : value_(value), message_(message), size_(size) {}

  bool read_all() noexcept {
    found = Delay{};
    if (std::strlen(value_) >= kMostText) {
      Text(message_, size_) << "lockswap: LOCKSWAP_DELAY is longer than "
                            << std::uint64_t{kMostText - 1} << " bytes";
      return false;
    }
    std::memcpy(words, value_, std::strlen(value_) + 1);
    char* colon = std::strrchr(words, ':');
    if (colon == nullptr) return complain() << kForm, false;
    *colon = 0;
    if (!read_time(colon + 1)) return false;
    char* rest = nullptr;
    for (char* word = strtok_r(words, " \t", &rest); word != nullptr;
         word = strtok_r(nullptr, " \t", &rest)) {
      if (!read_word(word)) return false;
    }
    return has_rule();
  }

 private:
  static constexpr const char* kForm =
      "is not a delay; write words of a rule, ':' and a time, such as 'module=prog "
      "symbol=hot:+5us'";

  Text complain() noexcept {
    Text text(message_, size_);
    text << "lockswap: LOCKSWAP_DELAY=" << value_ << " ";
    return text;
  }

  bool read_time(const char* at) noexcept {
    if (const char* behind = after_prefix(at, "after"); behind != nullptr) {
      found.after = true;
      at = behind;
    }
    const char* digits = at + (*at == '+' ? 1 : 0);
    const char* end = digits;
    std::uint64_t n = 0;
    for (; *end >= '0' && *end <= '9' && n <= kMostNs; ++end)
      n = n * 10 + static_cast<unsigned>(*end - '0');
    const bool is_us = same_name(end, "us");
    found.ns = is_us ? n * 1000 : n;
    if (*at == '+' && end != digits && (is_us || same_name(end, "ns")) && found.ns <= kMostNs)
      return true;
    complain() << "has no time after its last ':'; write +5us, +500ns, or after+5us, with at most "
                  "a second";
    return false;
  }

  bool read_word(char* word) noexcept {
    Rule& rule = found.policy.rules[0];
    if (std::strchr(word, '=') == nullptr) {
      if (rule.site != nullptr || rule.address != 0)
        return complain() << "names two functions; drop one", false;
      rule.site = word;
      return true;
    }
    const char* value = std::strchr(word, '=') + 1;
    if (after_prefix(word, "kind=") != nullptr) {
      wants_rwlock_ = same_name(value, "rwlock");
      wants_mutex_ = same_name(value, "mutex");
      if (wants_rwlock_ || wants_mutex_) return true;
      return complain() << "has an unknown kind; write kind=mutex or kind=rwlock", false;
    }
    if (after_prefix(word, "mode=") != nullptr) {
      found.reads = same_name(value, "read");
      found.writes = same_name(value, "write");
      if (found.reads || found.writes) return true;
      return complain() << "has an unknown mode; write mode=read or mode=write", false;
    }
    const char* why = nullptr;
    if (read_condition(rule, word, why)) {
      if (why == nullptr) return true;
      return complain() << "has a wrong word: '" << word << "' " << why, false;
    }
    complain() << "has a wrong word: '" << word
               << "'; choose from: FUNCTION, site=0xADDRESS, module=NAME, symbol=NAME, kind=mutex, "
                  "kind=rwlock, mode=read, mode=write";
    return false;
  }

  bool has_rule() noexcept {
    Rule& rule = found.policy.rules[0];
    if (rule.module == nullptr && rule.site == nullptr && rule.address == 0 &&
        rule.symbol == nullptr) {
      return complain() << kForm, false;
    }
    if (rule.address != 0 && rule.module == nullptr)
      return complain() << "has an address without its module; add module=NAME", false;
    if (!(found.reads && found.writes)) {  // mutexes have no modes
      if (!wants_rwlock_)
        return complain() << "has a mode, which mutexes don't have; drop kind=mutex", false;
      wants_mutex_ = false;
    }
    // The lock that the rule names does not matter, only that it names one.
    if (wants_rwlock_) rule.lock[static_cast<std::size_t>(ObjectKind::rwlock)] = "";
    if (wants_mutex_) rule.lock[static_cast<std::size_t>(ObjectKind::mutex)] = "";
    rule.line = 1;
    found.policy.count = 1;
    return true;
  }

  const char* value_;
  char* message_;
  std::uint32_t size_;
  bool wants_rwlock_ = true, wants_mutex_ = true;
};

}  // namespace

const Delay* delay() noexcept { return is_asked_for ? &found : nullptr; }

bool read_delay(const char* value, char* message, std::uint32_t size) noexcept {
  is_asked_for = DelayReader(value, message, size).read_all();
  return is_asked_for;
}

}  // namespace lockswap
