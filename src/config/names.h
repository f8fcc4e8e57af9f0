// The names of locks that a configuration may choose. Its reader is passed these, so it knows no
// lock. registry/all_names.h has those of the library.
#pragma once

#include <cstdint>

#include "config/left_out.h"
#include "config/nearest.h"
#include "platform/text.h"

namespace lockswap {

struct NameList {
  const char* what;  // such as "lock", for messages
  int count;
  const char* (*name)(int);
  // Returns the canonical name for a name or alias, in upper or lower case, or nullptr if there is
  // none.
  const char* (*find)(const char*);
};

struct Names {
  NameList rwlocks, mutexes;  // the first of each is glibc's own
  NameList waits;
  std::uint32_t (*range_kind)(const char*);      // the kind; 0: no such name
  void (*put_ranges)(Text&, const char* typed);  // the possible choices, for messages
};

// Why a name is wrong, for messages: `is_not`, unless this build leaves that lock out.
inline void put_unknown(Text& out, const char* is_not, const char* what,
                        const char* typed) noexcept {
  if (is_left_out(typed)) {
    out << kWhyLeftOut;
  } else {
    out << is_not << what;
  }
  out << "; ";
}

// The same for a name that is not in the list, followed by the possible choices.
inline void put_choice(Text& out, const char* is_not, const NameList& list,
                       const char* typed) noexcept {
  put_unknown(out, is_not, list.what, typed);
  put_nearest(out, typed, list.count, list.name);
  for (int i = 0; i < list.count; ++i)
    out << (i == 0 ? " " : ", ") << list.name(i);
}

}  // namespace lockswap
