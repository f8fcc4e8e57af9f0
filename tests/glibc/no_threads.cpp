// A C++ program without threads: before glibc 2.34 libstdc++ finds out by weak references whether
// it has any, and the preload may not make it believe so.
#include <iostream>
#include <locale>

int main() {
  const std::locale classic = std::locale::classic();
  std::cout << std::use_facet<std::ctype<char>>(classic).toupper('x') << std::endl;
}
