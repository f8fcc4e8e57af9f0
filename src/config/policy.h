// A policy (LOCKSWAP_POLICY): rules that say which objects are swapped, and by what. One rule a
// line, words `key=value` in any order:
//
//   module=NAME    the call that initialises the object, or that is the first on it, is in this
//                  library or program; a path, or a file's name, with `*` for anything
//   site=FUNCTION  ... is in this function, by its name in the file's symbol table
//   site=0xADDRESS ... returns to this address of its file
//   symbol=NAME    the object lies in this variable
//   rwlock=LOCK    it is an rwlock: LOCK runs it
//   mutex=MUTEX    it is a mutex: MUTEX runs it
//
// The text may begin with the word `version=1`: what these words mean. A text without it is of that
// version, too.
//
// All conditions of a rule must be met; the first rule of an object's kind that is met decides.
// What no rule catches is glibc's. This file reads rules; registry/policy_ops.h runs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/names.h"

namespace lockswap {

// What runs an object: 0 is glibc, else a place in the tables of policy_ops.h.
using Runner = std::uint8_t;
inline constexpr Runner kGlibc = 0;
inline constexpr int kMostRunners = 16;  // with glibc; for each kind of object

enum class ObjectKind : std::uint8_t { rwlock, mutex };
inline constexpr std::size_t kObjectKinds = 2;

struct Rule {
  std::uint32_t line;
  const char* module = nullptr;  // nullptr means any
  const char* site = nullptr;    // a function
  std::uintptr_t address = 0;    // 0: any
  const char* symbol = nullptr;
  // By kind: the canonical name of the lock; nullptr if the rule says nothing of that kind.
  const char* lock[kObjectKinds] = {};
  Runner runner[kObjectKinds] = {};
};

struct Policy {
  static constexpr int kMostRules = 64;
  Rule rules[kMostRules];
  int count = 0;
  // The locks that rules name, by kind and runner; nullptr if there is none.
  const char* runners[kObjectKinds][kMostRunners] = {};

  bool has_rules_of(ObjectKind kind) const noexcept;
  // A rule of that kind names a lock of ours, or glibc's in another mode.
  bool swaps(ObjectKind kind) const noexcept {
    return runners[static_cast<std::size_t>(kind)][1] != nullptr;
  }
};

// Reads the value of LOCKSWAP_POLICY, a file's name or a rule, into a policy that stays. nullptr:
// there is something wrong, and `message` says it in a line that names the line and the word.
const Policy* read_policy(const char* value, const Names& names, char* message,
                          std::uint32_t size) noexcept;

// The policy that read_policy has returned, from then on without what its rules say of that kind.
const Policy* policy_without(ObjectKind kind) noexcept;

// Reads one of the words module=, site= and symbol= into a rule that keeps pointers into it. False:
// it is another word. `why` says what is wrong with it; it stays as it is if nothing is.
bool read_condition(Rule& rule, const char* word, const char*& why) noexcept;

// A rule as its words, for reports.
void put_rule(Text& out, const Rule& rule) noexcept;

// Where a call comes from, as far as a policy asks.
struct CallSite {
  int rule = -1;                 // the rule that catches it; -1: none
  const char* module = nullptr;  // its file's path; "": the program; nullptr if it can't be found
  std::uintptr_t address = 0;    // in that file
};

}  // namespace lockswap
