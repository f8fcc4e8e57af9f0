"""How places are named, without a program."""

import pytest

from lockswap.profile.names import Function, MadeFunctions, Names, site
from lockswap.profile.symbolizer import short

WRAPPERS = [
    "std::mutex::lock",
    "std::__shared_mutex_pthread::lock_shared",
    "std::lock_guard<std::mutex>::lock_guard",
    "__gthread_mutex_lock",
    "qemu_mutex_lock_impl",
    "qemu_rec_mutex_lock_impl",
    "bql_lock_impl",
    "rocksdb::port::Mutex::Lock",
    "kyotocabinet::SpinRWLock::lock_reader",
    "CRYPTO_THREAD_read_lock",
    "uv_mutex_lock",
    "g_mutex_lock_slowpath",
    "PyThread_acquire_lock",
    "std::thread::join",
    "std::__glibcxx_rwlock_rdlock",
    "std::cv_status std::condition_variable::wait_until<std::chrono::seconds>",
    "std::__1::mutex::lock",
    "QMutexLocker::QMutexLocker",
]
WRAPPERS_FILES = [
    "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
    "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/std_mutex.h",
    "/opt/gcc-15/include/c++/15.1.0/mutex",
    "/usr/lib/llvm-14/bin/../include/c++/v1/__mutex_base",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "third_party/boost/thread/pthread/mutex.hpp",
    "/src/abseil-cpp/absl/synchronization/mutex.cc",
    "/usr/include/x86_64-linux-gnu/qt5/QtCore/qmutex.h",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_is_passed_over(wrapper):
    assert site([Function(wrapper), Function("serve", "server.c:7")]) == Function("serve", "server.c:7")
    # Where nothing else is known it is better than nothing.
    assert site([Function(wrapper)]) == Function(wrapper)


@pytest.mark.parametrize("file", WRAPPERS_FILES)
def test_a_wrapper_is_known_by_its_file(file):
    # addr2line calls inlined functions by the name of the function around them.
    assert (
        site([Function("serve", "x.h:749", file), Function("serve", "server.cc:7", "/src/server.cc")]).line
        == "server.cc:7"
    )


@pytest.mark.parametrize("file", ["/src/mutex.h", "/src/boost/threads.cpp", "libc++/mutex", "/src/c++/shared_mutex"])
def test_a_user_s_file_is_none(file):
    assert site([Function("serve", "x.h:7", file), Function("main")]) == Function("serve", "x.h:7")


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        ("serve(int, char const*)", "serve"),
        ("(anonymous namespace)::serve(int)", "(anonymous namespace)::serve"),
        ("std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"),
        ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
        ("run(int)::'lambda'(int)::operator()(int) const", "run(int)::'lambda'(int)::operator()"),
        ("operator<<(Log&, int)", "operator<<"),
        ("operator()", "operator()"),
        ("decltype(auto) std::__apply_impl<int>(int&&)", "decltype(auto) std::__apply_impl<int>"),
        ("decltype (f(g)) std::invoke<int>(int&&)", "decltype (f(g)) std::invoke<int>"),
        ("(anonymous namespace)::serve(int) [clone .part.0]", "(anonymous namespace)::serve"),
    ],
)
def test_a_name_has_no_parameters(whole, name):
    assert short(whole) == name


@pytest.mark.parametrize(
    "user",
    [
        "lock_table",
        "mutex_pool_grow",
        "MyMutexUser::run",
        "unlock_door",
        "f(int, std::string)::{lambda()#1}::operator()",
    ],
)
def test_a_user_is_none(user):
    assert site([Function(user), Function("main")]) == Function(user)


def test_what_is_made_later_has_the_name():
    made = MadeFunctions(["1000 20 old", "1010 10 LazyCompile:~run /srv/app.js:3", "not a line", "zz 1 bad"])
    assert made.at(0x100F) == "old" and made.at(0x1010) == "LazyCompile:~run /srv/app.js:3"
    assert made.at(0x1020) is None and made.at(0xFFF) is None


def test_an_address_in_no_file():
    process = {"pid": 0, "modules": [], "stacks": [], "locks": [], "made_code": [[0x1000, 0x2000]]}
    names = Names([process])
    assert str(names.frame(process, [-1, 0x1800])[0]) == "[JIT] 0x1800"
    assert str(names.frame(process, [-1, 0x2800])[0]) == "[no file] 0x2800"
