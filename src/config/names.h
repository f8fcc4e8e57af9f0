// The names of locks that a configuration chooses from. What reads it is given them, so it knows no
// lock: registry/all_names.h has those of the library.
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
  // The canonical name for that name or alias, in whichever case; nullptr if there is none.
  const char* (*find)(const char*);
};

struct Names {
  NameList rwlocks, mutexes;  // the first of each is glibc's own
  NameList waits;
  std::uint32_t (*range_kind)(const char*);      // its kind; 0: there is none of that name
  void (*put_ranges)(Text&, const char* typed);  // what may be chosen instead, for messages
};

// Why a name is none, for messages: `is_not`, unless this build leaves that lock out.
inline void put_unknown(Text& out, const char* is_not, const char* what,
                        const char* typed) noexcept {
  if (is_left_out(typed)) {
    out << kWhyLeftOut;
  } else {
    out << is_not << what;
  }
  out << "; ";
}

// The same for a name that the list has not, and what may be chosen instead.
inline void put_choice(Text& out, const char* is_not, const NameList& list,
                       const char* typed) noexcept {
  put_unknown(out, is_not, list.what, typed);
  put_nearest(out, typed, list.count, list.name);
  for (int i = 0; i < list.count; ++i)
    out << (i == 0 ? " " : ", ") << list.name(i);
}

}  // namespace lockswap
