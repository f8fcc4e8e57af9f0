#include "config/policy.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include "platform/error_text.h"
#include "platform/memory.h"
#include "platform/syscall.h"
#include "platform/text.h"

namespace lockswap {
namespace {

constexpr std::size_t kMostText = 64 * 1024;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

// A value that begins with small letters and '=' is a rule. A file with such a name must be given
// with a path.
bool is_rule(const char* value) noexcept {
  while (is_blank(*value) || *value == '\n')
    ++value;
  const char* end = value;
  while (*end >= 'a' && *end <= 'z')
    ++end;
  return *end == '=' || *value == '#';
}

// Programs that set their title overwrite the environment, so a rule is copied like a file. Returns
// 0 or an errno, and fills in the text.
int copy_text(const char* value, char* text) noexcept {
  if (is_rule(value)) {
    const std::size_t length = std::strlen(value);
    if (length >= kMostText) return E2BIG;
    std::memcpy(text, value, length + 1);
    return 0;
  }
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(value), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return static_cast<int>(-fd);
  std::size_t n = 0;
  long got = 1;
  while (n < kMostText && got > 0) {
    got = raw_syscall(SYS_read, fd, reinterpret_cast<long>(text + n),
                      static_cast<long>(kMostText - n));
    if (got == -EINTR)
      got = 1;
    else if (got > 0)
      n += static_cast<std::size_t>(got);
  }
  raw_syscall(SYS_close, fd);
  if (got < 0) return static_cast<int>(-got);
  if (n == kMostText) return E2BIG;
  text[n] = 0;
  return 0;
}

// Returns whether the word is `key`, '=' and a value.
bool is_word(const char* word, const char* key) noexcept {
  const std::size_t n = std::strlen(key);
  return std::strncmp(word, key, n) == 0 && word[n] == '=';
}

// Returns what is wrong with the value, or nullptr.
const char* set(const char*& into, const char* value) noexcept {
  if (into != nullptr) return "is given twice in one rule; drop one";
  into = value;
  return nullptr;
}

const char* read_site(Rule& rule, const char* value) noexcept {
  if (rule.address != 0 || rule.site != nullptr) return "is given twice in one rule; drop one";
  const char* digits = after_prefix(value, "0x");
  if (digits == nullptr) {
    rule.site = value;
    return nullptr;
  }
  std::uintptr_t n = 0;
  for (; *digits != 0 && n >> 60 == 0; ++digits) {
    const char c = lower(*digits);
    if (c >= '0' && c <= '9') {
      n = n * 16 + static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      n = n * 16 + static_cast<unsigned>(c - 'a' + 10);
    } else {
      break;
    }
  }
  if (*digits != 0 || n == 0) {
    return "is not an address; write site=0x1a2b, as 'lockswap policy check' prints it";
  }
  rule.address = n;
  return nullptr;
}

class PolicyReader {
 public:
  PolicyReader(Policy& policy, const Names& names, const char* value, char* message,
               std::uint32_t size) noexcept
      : policy_(policy), names_(names), value_(value), message_(message), size_(size) {}

  // Splits `text` into words, to which the rules then point.
  bool read(char* text) noexcept {
    for (std::uint32_t line = 1; ok_ && text != nullptr; ++line) {
      char* end = std::strchr(text, '\n');
      if (end != nullptr) *end = 0;
      read_line(text, line);
      text = end == nullptr ? nullptr : end + 1;
    }
    if (ok_ && policy_.count == 0)
      begin() << "has no rule; write one, such as 'module=libcrypto.so.3 rwlock=LOCK'";
    return ok_;
  }

 private:
  Text begin() noexcept {
    ok_ = false;
    Text text(message_, size_);
    text << "lockswap: LOCKSWAP_POLICY: ";
    if (!is_rule(value_)) text << value_ << " ";
    return text;
  }
  Text complain(const char* word) noexcept {
    Text text = begin();
    text << "line " << std::uint64_t{line_};
    if (word != nullptr) text << ": '" << word << "'";
    text << " ";
    return text;
  }

  void read_line(char* at, std::uint32_t line) noexcept {
    line_ = line;
    Rule rule{.line = line};
    bool any = false;
    for (;;) {
      while (is_blank(*at))
        ++at;
      if (*at == 0 || *at == '#' || !ok_) break;
      char* word = at;
      while (*at != 0 && !is_blank(*at))
        ++at;
      if (*at != 0) *at++ = 0;
      if (is_word(word, "version")) {
        read_version(word, !any);
        continue;
      }
      any = true;
      read_word(rule, word);
    }
    if (!ok_ || !any) return;
    if (rule.lock[0] == nullptr && rule.lock[1] == nullptr) {
      complain(nullptr) << "does not name a lock; add rwlock=LOCK or mutex=MUTEX";
    } else if (rule.address != 0 && rule.module == nullptr) {
      complain(nullptr) << "has an address without its module; add module=NAME";
    } else if (policy_.count == Policy::kMostRules) {
      complain(nullptr) << "is one rule too many; a policy has at most "
                        << std::uint64_t{Policy::kMostRules};
    } else {
      policy_.rules[policy_.count++] = rule;
    }
  }

  // The words of rules have had only one meaning so far, which is version 1 and need not be named.
  void read_version(const char* word, bool is_first_of_line) noexcept {
    if (has_version_ || !is_first_of_line || policy_.count != 0) {
      complain(word) << "must be the first word of the policy";
    } else if (std::strcmp(word, "version=1") != 0) {
      complain(word) << "is a version that this lockswap can't read; it reads version=1";
    }
    has_version_ = true;
  }

  void read_word(Rule& rule, char* word) noexcept {
    const char* why = nullptr;
    if (read_condition(rule, word, why)) {
      if (why != nullptr) complain(word) << why;
      return;
    }
    const char* value = std::strchr(word, '=');
    if (is_word(word, "rwlock")) {
      choose(rule, ObjectKind::rwlock, word, value + 1, names_.rwlocks);
    } else if (is_word(word, "mutex")) {
      choose(rule, ObjectKind::mutex, word, value + 1, names_.mutexes);
    } else {
      complain(word) << "is not a word of a rule; choose from: module=NAME, site=FUNCTION, "
                        "site=0xADDRESS, symbol=NAME, rwlock=LOCK, mutex=MUTEX";
    }
  }

  void choose(Rule& rule, ObjectKind kind, const char* word, const char* value,
              const NameList& list) noexcept {
    const auto k = static_cast<std::size_t>(kind);
    const char* name = list.find(value);
    if (name == nullptr) {
      Text text = complain(word);
      put_choice(text, "does not name a ", list, value);
      return;
    }
    if (rule.lock[k] != nullptr) {
      complain(word) << "is the second " << list.what << " of one rule; drop one";
      return;
    }
    rule.lock[k] = name;
    if (std::strcmp(name, list.name(0)) == 0) return;  // glibc's own
    for (int i = 1; i < kMostRunners; ++i) {
      const char*& runner = policy_.runners[k][i];
      if (runner == nullptr) runner = name;
      if (std::strcmp(runner, name) == 0) {
        rule.runner[k] = static_cast<Runner>(i);
        return;
      }
    }
    complain(word) << "is one lock too many; a policy names at most "
                   << static_cast<std::uint64_t>(kMostRunners - 1) << " of a kind";
  }

  Policy& policy_;
  const Names& names_;
  const char* value_;
  char* message_;
  std::uint32_t size_;
  std::uint32_t line_ = 0;
  bool has_version_ = false;
  bool ok_ = true;
};

}  // namespace

bool read_condition(Rule& rule, const char* word, const char*& why) noexcept {
  const char* value = std::strchr(word, '=');
  if (value == nullptr) return false;
  ++value;
  if (*value == 0) {
    why = "has no value after the '='";
  } else if (is_word(word, "module")) {
    why = set(rule.module, value);
  } else if (is_word(word, "symbol")) {
    why = set(rule.symbol, value);
  } else if (is_word(word, "site")) {
    why = read_site(rule, value);
  } else {
    return false;
  }
  return true;
}

bool Policy::has_rules_of(ObjectKind kind) const noexcept {
  for (int i = 0; i < count; ++i) {
    if (rules[i].lock[static_cast<std::size_t>(kind)] != nullptr) return true;
  }
  return false;
}

namespace {
constinit Policy policy{};
}

const Policy* policy_without(ObjectKind kind) noexcept {
  const auto k = static_cast<std::size_t>(kind);
  for (int i = 0; i < policy.count; ++i)
    policy.rules[i].lock[k] = nullptr;
  for (const char*& runner : policy.runners[k])
    runner = nullptr;
  return &policy;
}

const Policy* read_policy(const char* value, const Names& names, char* message,
                          std::uint32_t size) noexcept {
  auto* text = static_cast<char*>(map_pages(kMostText));
  if (text == nullptr) {
    Text(message, size)
        << "lockswap: LOCKSWAP_POLICY: no memory for its rules; raise the limit (ulimit -v)";
    return nullptr;
  }
  policy = Policy{};
  if (const int error = copy_text(value, text); error != 0) {
    Text out(message, size);
    out << "lockswap: LOCKSWAP_POLICY: " << value << " ";
    if (error == E2BIG) {
      out << "is longer than " << kMostText << " bytes";
    } else {
      put_error(out << "cannot be read (", error);
      out << "); it is neither a file nor a rule such as 'module=libcrypto.so.3 rwlock=LOCK'";
    }
    return nullptr;
  }
  return PolicyReader(policy, names, value, message, size).read(text) ? &policy : nullptr;
}

void put_rule(Text& out, const Rule& rule) noexcept {
  const char* space = "";
  const auto word = [&](const char* key, const char* value) {
    if (value == nullptr) return;
    out << space << key << value;
    space = " ";
  };
  word("module=", rule.module);
  word("site=", rule.site);
  if (rule.address != 0) {
    word("site=", "");
    out.hex(rule.address);
  }
  word("symbol=", rule.symbol);
  word("rwlock=", rule.lock[0]);
  word("mutex=", rule.lock[1]);
}

}  // namespace lockswap
