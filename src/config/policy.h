// A policy (LOCKSWAP_POLICY): rules that say which objects are swapped, and for which lock. There
// is one rule a line, made of words `key=value` in any order:
//
//   module=NAME    the call that initialises the object, or that is the first on it, is in this
//                  library or program; a path, or a file's name, with `*` for anything
//   site=FUNCTION  ... is in this function, by its name in the file's symbol table
//   site=0xADDRESS ... returns to this address of its file
//   symbol=NAME    the object lies in this variable
//   rwlock=LOCK    it is an rwlock: LOCK runs it
//   mutex=MUTEX    it is a mutex: MUTEX runs it
//
// The text may begin with the word `version=1`, which says what these words mean. A text without it
// has that version, too.
//
// All conditions of a rule must be met, and the first matching rule for an object's kind decides.
// Objects that no rule matches stay glibc's. This file reads rules, and registry/policy_ops.h
// applies them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/names.h"

namespace lockswap {

// What runs an object: 0 is glibc, and other numbers index the tables of policy_ops.h.
using Runner = std::uint8_t;
inline constexpr Runner kGlibc = 0;
inline constexpr int kMostRunners = 16;  // for each kind of object, including glibc

enum class ObjectKind : std::uint8_t { rwlock, mutex };
inline constexpr std::size_t kObjectKinds = 2;

struct Rule {
  std::uint32_t line;
  const char* module = nullptr;  // nullptr means any
  const char* site = nullptr;    // a function
  std::uintptr_t address = 0;    // 0: any
  const char* symbol = nullptr;
  // By kind: the canonical name of the lock, or nullptr if the rule does not apply to that kind.
  const char* lock[kObjectKinds] = {};
  Runner runner[kObjectKinds] = {};
};

struct Policy {
  static constexpr int kMostRules = 64;
  Rule rules[kMostRules];
  int count = 0;
  // The locks that rules name, by kind and runner; nullptr for none.
  const char* runners[kObjectKinds][kMostRunners] = {};

  bool has_rules_of(ObjectKind kind) const noexcept;
  // Returns whether a rule for that kind names a lock of ours, or glibc's in another mode.
  bool swaps(ObjectKind kind) const noexcept {
    return runners[static_cast<std::size_t>(kind)][1] != nullptr;
  }
};

// Reads the value of LOCKSWAP_POLICY, which is a file's name or a rule, into a policy that stays.
// Returns nullptr on an error, with one line in `message` that names the line and the word.
const Policy* read_policy(const char* value, const Names& names, char* message,
                          std::uint32_t size) noexcept;

// Returns the policy that read_policy has returned, after removing its rules for that kind.
const Policy* policy_without(ObjectKind kind) noexcept;

// Reads one of the words module=, site= and symbol= into a rule, which keeps pointers into the
// word. Returns false for other words. Sets `why` to what is wrong, if anything is.
bool read_condition(Rule& rule, const char* word, const char*& why) noexcept;

// Appends a rule as its words, for reports.
void put_rule(Text& out, const Rule& rule) noexcept;

// The origin of a call, as far as a policy needs it.
struct CallSite {
  int rule = -1;                 // the matching rule; -1: none
  const char* module = nullptr;  // its file's path; "": the program; nullptr: unknown
  std::uintptr_t address = 0;    // in that file
};

}  // namespace lockswap
