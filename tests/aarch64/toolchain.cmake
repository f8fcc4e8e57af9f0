# Builds for aarch64 with Debian's cross compiler; what it builds runs under qemu's user-mode emulation. QEMU_LD_PREFIX
# in the environment says which libc it runs with, so one build is run with several.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR $ENV{TESTS_EMULATOR})
