// What a program of these tests can do. Each source adds one mode to the program.
#pragma once

namespace address_space_test {

class Mode {
 public:
  // `run` returns whether all was well. Its arguments are how much to do, and a seed.
  Mode(const char* name, bool (*run)(double, unsigned)) : name_(name), run_(run), next_(first_) {
    first_ = this;
  }
  // The status of a program with these arguments: MODE HOW-MUCH [SEED].
  static int run_program(int argc, char** argv);

 private:
  static inline const Mode* first_ = nullptr;
  const char* name_;
  bool (*run_)(double, unsigned);
  const Mode* next_;
};

}  // namespace address_space_test
