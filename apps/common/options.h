// Command lines of the benchmarks: `--name value` and `--flag`, read by CLI11.
//
// Bad input ends the program with one line on stderr and status 2; --help prints all options with
// their ranges and defaults and ends it with status 0. For the main thread, before others run.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

class Options {
 public:
  Options(const char* program, const char* summary);
  ~Options();

  // What `value` is before parse() is the default.
  void number(const char* name, int& value, int low, int high, const char* help);
  void number(const char* name, double& value, double low, double high, const char* help);
  void flag(const char* name, bool& value, const char* help);
  void choice(const char* name, std::string& value, const std::vector<std::string>& allowed,
              const char* help);

  void text(const char* name, std::string& value, const char* help);

  void parse(int argc, char** argv);
  // For what options can only be wrong together: says it like a wrong value, and ends the program.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  template <class T>
  void ranged(const char* name, T& value, T low, T high, const char* help);

  std::string program_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace bench
