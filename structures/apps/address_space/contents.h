// A whole file as text, unpacked by gzip if its name ends in .gz.
#pragma once

#include <string>

namespace bench {

// Returns why not, or nothing.
std::string read_contents(const std::string& file, std::string& text);

}  // namespace bench
