// Empty: CMake needs a source to precompile the headers that the cases of all locks include.
