// What the readers of all recordings have in common: opening and checking a file, and printing the
// beginning of each as JSON. The process may still be running, and the file may be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recording/head.h"

namespace lockswap::recording {

class RecordedFile {
 public:
  // An empty file was left by a process that was stopped while it made the file.
  enum Result { good, empty, bad };
  // from_before: converts the bytes of the previous version to this one. Returns false if there are
  // too few.
  Result read(const char* path, const Format& format, bool (*from_before)(std::vector<char>&));

  template <class Record>
  const Record& record() const {
    return *reinterpret_cast<const Record*>(bytes_.data());
  }
  // Returns what is at that offset, after the record, whose size is `from`. Returns nullptr if it
  // is outside the file.
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
// Prints a pair of numbers. The first one is -1 if no module is known.
void put_place(const Head& head, Place place);
void put_places(const Head& head, const Place* place, std::uint32_t count);
bool is_in_module(const Head& head, Place place);

}  // namespace lockswap::recording
