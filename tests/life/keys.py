#!/usr/bin/env python3
"""Keys of thread-specific data: lockswap takes one, and leaves it to the program that needs it.

    keys.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import sys
import tempfile

from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
TAKES, HOOK = under.folder / "libtakes_keys.so", under.folder / "libkey_hook.so"


def keys(how: str, **more: object) -> int:
    return int(under.run_well("key_forks", how, **more).stdout)


def test_a_library_that_has_taken_the_first_keys() -> None:
    """The program can still create as many as without lockswap, which then has none."""
    want = keys("plain", lock=None, preload=TAKES)
    for preload in (f"{TAKES}:{under.library}", f"{under.library}:{TAKES}"):
        got = keys("plain", lock=under.plain, preload=preload)
        need(got == want, f"{preload}: {got} keys, {want} without lockswap")


def test_a_child_that_is_forked_while_the_key_is_used() -> None:
    want = keys("plain", lock=None)
    for how in ("other", "handler"):
        # Where locks are counted each thread's first call sets the key's value.
        with tempfile.TemporaryDirectory() as place:
            more = {"preload": f"{under.library}:{HOOK}", "LOCKSWAP_STATS": f"{place}/stats"}
            got = keys(how, lock=under.plain, **more)
        need(got == want, f"{how}: the child has {got} keys, {want} without lockswap")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
