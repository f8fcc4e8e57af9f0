// `--design rwlock:LOCK`: the design `rwlock` on a lock of the registry, which the preload library
// puts there. This process begins anew, with that library under it.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "common/options.h"

namespace bench {

// Does not return if such a design is among the arguments.
inline void begin_anew_on_lock(int argc, char** argv, const Options& options) {
  const std::string prefix = "rwlock:";
  std::vector<std::string> words(argv, argv + argc);
  std::string lock;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_joined = words[i].starts_with("--design=");
    if (!is_joined && words[i - 1] != "--design") continue;
    const std::string design = is_joined ? words[i].substr(9) : words[i];
    if (!design.starts_with(prefix)) continue;
    lock = design.substr(prefix.size());
    words[i] = is_joined ? "--design=rwlock" : "rwlock";
  }
  if (lock.empty()) return;
  const char* const preloaded = std::getenv("LD_PRELOAD");
  if (preloaded != nullptr && std::strstr(preloaded, "liblockswap.so") != nullptr)
    options.refuse("--design rwlock:" + lock + ": a lock is chosen already; say --design rwlock");
  namespace fs = std::filesystem;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  fs::path library;
  for (const char* const where : {"../liblockswap.so", "../../liblockswap.so"}) {
    if (library.empty() && fs::exists(here / where)) library = fs::canonical(here / where);
  }
  if (library.empty())
    options.refuse("--design rwlock:" + lock + ": there is no liblockswap.so beside this program");
  const std::string others = preloaded == nullptr ? "" : std::string(":") + preloaded;
  setenv("LD_PRELOAD", (library.string() + others).c_str(), 1);
  setenv("LOCKSWAP_RWLOCK", lock.c_str(), 1);
  std::vector<char*> line;
  for (std::string& word : words)
    line.push_back(word.data());
  line.push_back(nullptr);
  execv("/proc/self/exe", line.data());
  options.refuse(std::string("this program can't begin anew: ") + std::strerror(errno));
}

}  // namespace bench
