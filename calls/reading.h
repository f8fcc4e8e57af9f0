// The recorded calls of a process, by thread. The process may still be running, and the file may be
// damaged, but the calls that are returned are complete and in order.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/record.h"
#include "recording/reader.h"

namespace lockswap::calls {

struct RecordedThread {
  std::vector<Call> call;  // in order: each begins after the one before has ended
};

class RecordedCalls {
 public:
  recording::RecordedFile::Result read(const char* path);

  const Record& record() const { return file_.record<Record>(); }
  const std::vector<RecordedThread>& threads() const { return threads_; }
  // Nanoseconds from the start of the process to the end of the recording.
  std::uint64_t end() const { return end_; }
  // Returns how much recording adds to the time between two calls, in nanoseconds. `holds`: the
  // thread has just acquired a lock.
  std::uint64_t added(bool holds) const;

 private:
  void add(const Chunk& chunk, RecordedThread& thread);
  const Chunk* chunk(std::uint64_t number) const;

  recording::RecordedFile file_;
  std::vector<RecordedThread> threads_;
  std::uint64_t end_ = 0;
};

}  // namespace lockswap::calls
