// What processes do beside reverse maps: a job's other work, and a mail server's spool.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <set>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

#include "common/random.h"
#include "common/report.h"
#include "ldu/locks.h"

namespace bench {

// A thread's own: arithmetic, bytes through a pipe, and a block of a file in memory, as jobs of
// AIM7 do between their forks. Nothing of it is shared with another thread.
class OtherWork {
 public:
  OtherWork() {
    if (pipe2(pipe_, O_CLOEXEC) != 0) wrong_result("there is no pipe");
    file_ = memfd_create("job", MFD_CLOEXEC);
    if (file_ < 0) wrong_result("there is no file in memory");
  }
  ~OtherWork() {
    close(pipe_[0]);
    close(pipe_[1]);
    close(file_);
  }
  OtherWork(const OtherWork&) = delete;
  OtherWork& operator=(const OtherWork&) = delete;

  void run(int units) {
    for (int i = 0; i < units; ++i) {
      for (std::uint64_t& word : words_)
        sum_ = sum_ * 6364136223846793005u + (word ^= sum_);
      through_pipe();
      through_file();
    }
    keep(sum_);
  }

 private:
  void through_pipe() {
    std::array<char, 512> bytes{};
    std::memcpy(bytes.data(), words_.data(), bytes.size());
    const auto size = static_cast<ssize_t>(bytes.size());
    if (write(pipe_[1], bytes.data(), bytes.size()) != size ||
        read(pipe_[0], bytes.data(), bytes.size()) != size ||
        std::memcmp(bytes.data(), words_.data(), bytes.size()) != 0) {
      wrong_result("a pipe gave other bytes");
    }
  }
  void through_file() {
    std::array<std::uint64_t, kWords> back{};
    constexpr auto kSize = static_cast<ssize_t>(sizeof(back));
    if (pwrite(file_, words_.data(), sizeof(back), 0) != kSize ||
        pread(file_, back.data(), sizeof(back), 0) != kSize || back != words_) {
      wrong_result("a file gave other bytes");
    }
  }

  static constexpr std::size_t kWords = 256;
  std::array<std::uint64_t, kWords> words_{};
  std::uint64_t sum_ = 1;
  int pipe_[2];
  int file_;
};

// A mail server's spool: directories, each with a lock that a thread takes to create or remove a
// file, as a kernel does. A message is two files, in the directory that its number gives.
class Spool {
 public:
  explicit Spool(int directories) {
    for (int i = 0; i < directories; ++i)
      directories_.push_back(std::make_unique<Directory>());
  }
  // Nothing happens without directories.
  void receive(std::uint64_t message) {
    change(message, [](Directory& d, std::uint64_t file) {
      if (!d.files.insert(file).second) wrong_result("a message is in the spool twice");
    });
  }
  void deliver(std::uint64_t message) {
    change(message, [](Directory& d, std::uint64_t file) {
      if (d.files.erase(file) != 1) wrong_result("a message got lost in the spool");
    });
  }
  void check_empty() const {
    for (const auto& d : directories_) {
      if (!d->files.empty()) wrong_result("a message is left in the spool");
    }
  }

 private:
  struct alignas(128) Directory {
    Mutex<LockClass::spool> lock;
    std::set<std::uint64_t> files;
  };
  template <class F>
  void change(std::uint64_t message, F f) {
    if (directories_.empty()) return;
    Directory& d = *directories_[message % directories_.size()];
    for (const std::uint64_t file : {message * 2, message * 2 + 1}) {
      d.lock.lock();
      f(d, file);
      d.lock.unlock();
    }
  }
  std::vector<std::unique_ptr<Directory>> directories_;
};

}  // namespace bench
