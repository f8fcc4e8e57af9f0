# A wheel, which scikit-build-core builds (pyproject.toml). What is in it depends neither on the folder nor on the time of
# the build, and runs with each glibc with which the preload libraries do.
set(CMAKE_SKIP_RPATH ON)
# These stand behind the flags of the build type. Debug information would be stripped, but a build ID is a hash of
# what there was before.
add_compile_options(-g0 -ffile-prefix-map=${CMAKE_BINARY_DIR}/= -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

# lockswap_link_statically(PROGRAM...): with this system's glibc, since the program would need that one or a newer one.
# Nothing is preloaded into these programs.
function(lockswap_link_statically)
  foreach(program IN LISTS ARGN)
    target_link_options(${program} PRIVATE -static)
  endforeach()
endfunction()
