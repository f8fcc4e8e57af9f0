"""clang: LLVM registers its passes and commands under rwlocks."""

import hashlib

from suite.case import WAITS, case
from suite.stage import Stage

SOURCE = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> group(const std::vector<std::string>& words) {
  std::map<std::string, std::vector<int>> found;
  for (std::size_t i = 0; i < words.size(); ++i) found[words[i]].push_back(static_cast<int>(i));
  for (auto& [word, places] : found) std::sort(places.begin(), places.end());
  return found;
}
"""


@case("clang", packages=["clang"], acquisitions=100, quick=True, waits=WAITS)
def clang(stage: Stage) -> None:
    """A C++ file compiled: the same object"""
    stage.write("group.cpp", SOURCE)
    stage.swapped("clang++", "-std=c++17", "-O2", "-c", "group.cpp")
    stage.same(hashlib.sha256((stage.tmp / "group.o").read_bytes()).hexdigest())
