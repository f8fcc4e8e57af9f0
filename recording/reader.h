// What the readers of recordings have in common: a file and its check, and what begins each as
// JSON. The process may still run, and the file may be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recording/head.h"

namespace lockswap::recording {

class RecordedFile {
 public:
  // An empty file is of a process that was stopped while it made it.
  enum Result { good, empty, bad };
  // from_before: makes bytes of the version before this one those of this one. Returns false if
  // they are too few.
  Result read(const char* path, const Format& format, bool (*from_before)(std::vector<char>&));

  template <class Record>
  const Record& record() const {
    return *reinterpret_cast<const Record*>(bytes_.data());
  }
  // Behind the record, whose size is `from`. Returns nullptr where there is no such thing.
  template <class T>
  const T* at(std::size_t from, std::uint32_t offset, std::size_t bytes = sizeof(T)) const {
    if (offset < from || offset % alignof(T) != 0 || offset + bytes > bytes_.size()) return nullptr;
    return reinterpret_cast<const T*>(bytes_.data() + offset);
  }

 private:
  std::vector<char> bytes_;
};

// Prints the members "pid" to "modules" of a process.
void put_head(const Head& head);
// Prints a pair of numbers; the first one is -1 where no module is known.
void put_place(const Head& head, Place place);
void put_places(const Head& head, const Place* place, std::uint32_t count);
bool is_in_module(const Head& head, Place place);

}  // namespace lockswap::recording
