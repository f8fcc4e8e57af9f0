"""How places are named, without a program."""

import pytest

from lockswap.profile.names import Function, MadeFunctions, Names, site

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
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_is_passed_over(wrapper):
    assert site([Function(wrapper), Function("serve", "server.c:7")]) == Function("serve", "server.c:7")
    # Where nothing else is known it is better than nothing.
    assert site([Function(wrapper)]) == Function(wrapper)


@pytest.mark.parametrize("user", ["lock_table", "mutex_pool_grow", "MyMutexUser::run", "unlock_door"])
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
