// Only so that the headers which all locks' cases include are compiled once: CMakeLists.txt.
