// The recorded calls of a process, thread by thread. The process may still run, and the file may be
// damaged: what is read is in order and whole all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/record.h"
#include "recording/reader.h"

namespace lockswap::calls {

struct RecordedThread {
  std::vector<Call> call;  // in order: none begins before the one before it has ended
};

class RecordedCalls {
 public:
  recording::RecordedFile::Result read(const char* path);

  const Record& record() const { return file_.record<Record>(); }
  const std::vector<RecordedThread>& threads() const { return threads_; }
  // Nanoseconds from the start of the process to the end of the recording.
  std::uint64_t end() const { return end_; }
  // What recording adds to the time between two calls, in nanoseconds; `holds`: the thread has just
  // acquired a lock.
  std::uint64_t added(bool holds) const;

 private:
  void add(const Chunk& chunk, RecordedThread& thread);
  const Chunk* chunk(std::uint64_t number) const;

  recording::RecordedFile file_;
  std::vector<RecordedThread> threads_;
  std::uint64_t end_ = 0;
};

}  // namespace lockswap::calls
