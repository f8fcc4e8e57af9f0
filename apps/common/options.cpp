#include "common/options.h"

#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

namespace bench {
namespace {

// As a person would write it: 1, not 1.000000.
template <class T>
std::string shown(T value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
  return text;
}

}  // namespace

Options::Options(const char* program, const char* summary)
    : program_(program), app_(std::make_unique<CLI::App>(summary, program)) {}

Options::~Options() = default;

template <class T>
void Options::ranged(const char* name, T& value, T low, T high, const char* help) {
  const std::string range = shown(low) + " to " + shown(high);
  // CLI11's own range check lets nan through.
  const auto check = [low, high, range](const std::string& text) -> std::string {
    T v{};
    if (CLI::detail::lexical_cast(text, v) && v >= low && v <= high) return {};
    return "'" + text + "' is not a number from " + range;
  };
  app_->add_option(name, value, help)
      ->check(check)
      ->type_name("(" + range + ")")
      ->default_str(shown(value));
}

void Options::number(const char* name, int& value, int low, int high, const char* help) {
  ranged(name, value, low, high, help);
}
void Options::number(const char* name, double& value, double low, double high, const char* help) {
  ranged(name, value, low, high, help);
}

void Options::flag(const char* name, bool& value, const char* help) {
  app_->add_flag(name, value, help)->type_name("");
}

void Options::choice(const char* name, std::string& value, const std::vector<std::string>& allowed,
                     const char* help) {
  std::string names;
  for (const std::string& a : allowed)
    names += (names.empty() ? "" : ", ") + a;
  const auto check = [allowed, names](const std::string& text) -> std::string {
    for (const std::string& a : allowed) {
      if (a == text) return {};
    }
    return "'" + text + "' is none of " + names;
  };
  app_->add_option(name, value, help)
      ->check(check)
      ->type_name("(" + names + ")")
      ->default_str(value);
}

void Options::text(const char* name, std::string& value, const char* help) {
  app_->add_option(name, value, help)->type_name("")->default_str(value);
}

void Options::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_->help().c_str(), stdout);
    std::exit(0);
  } catch (const CLI::ParseError& wrong) {
    refuse(wrong.what());
  }
}

void Options::refuse(const std::string& why) const {
  std::fprintf(stderr, "%s: %s (see %s --help)\n", program_.c_str(), why.c_str(), program_.c_str());
  std::exit(2);
}

}  // namespace bench
