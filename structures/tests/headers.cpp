// Empty: CMake needs a source to precompile the headers that the unit tests include.
