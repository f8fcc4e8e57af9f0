// A file of a test, which is gone when its object is.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

namespace bench {

class WrittenFile {
 public:
  explicit WrittenFile(std::string_view text, std::string_view suffix = "") {
    const char* const folder = std::getenv("TMPDIR");
    name_ = std::string(folder == nullptr ? "/tmp" : folder) + "/written.XXXXXX";
    name_ += suffix;
    const int file = mkstemps(name_.data(), static_cast<int>(suffix.size()));
    if (file < 0) throw std::runtime_error("can't make " + name_);
    const bool is_whole =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
    if (is_whole) return;
    unlink(name_.c_str());
    throw std::runtime_error("can't write " + name_);
  }
  ~WrittenFile() { unlink(name_.c_str()); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace bench
