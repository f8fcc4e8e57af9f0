"""scripts/check_symbols.py: a library that differs from its version script, in each way that matters."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAP = """\
OLD_1 {
  global:
    held;  /* kept; for old programs */
  local: *;
};
NEW_2 {
  global: held; taken;
} OLD_1;
"""

SOURCE = """\
__attribute__((symver("held@OLD_1"), used)) int old_held(void) { return 1; }
__attribute__((symver("held@@NEW_2"), used)) int new_held(void) { return 2; }
int taken(void) { return 3; }
"""


def library(checkout, source: str = SOURCE, linked_with: str = MAP, *flags: str) -> None:
    checkout.write("lock.c", source)
    checkout.write("linked.map", linked_with)
    words = ["gcc", "-g1", "-shared", "-fPIC", "-nostartfiles", "-Wl,--version-script=linked.map"]
    subprocess.run([*words, "-o", "lock.so", "lock.c", *flags], cwd=checkout.root, check=True)


def run(checkout, script: str = MAP):
    checkout.write("lock.map", script)
    return checkout.check("check_symbols.py", "lock.so", "lock.map")


def test_agreement_passes(checkout):
    library(checkout)
    result = run(checkout)
    assert result.returncode == 0, result.stdout
    assert "3 listed and exported" in result.stdout


def test_listed_but_missing(checkout):
    library(checkout)
    result = run(checkout, MAP.replace("taken;", "taken;\n    tried;"))
    assert result.returncode == 1
    assert "lock.map:8: tried@NEW_2 is listed, but lock.so does not export it" in result.stdout


def test_listed_at_another_version(checkout):
    """The trap of old programs: the name is there, the version they ask for is not."""
    library(checkout)
    result = run(checkout, MAP.replace("held;  /*", "held; taken;  /*"))
    assert result.returncode == 1
    assert "lock.map:3: taken@OLD_1 is listed" in result.stdout


def test_exported_but_not_listed(checkout):
    library(checkout)
    result = run(checkout, MAP.replace(" taken;", ""))
    assert result.returncode == 1
    assert "lock.c:3: taken@NEW_2 is exported, but lock.map does not list it" in result.stdout


@pytest.mark.parametrize("call", ["malloc(8)", 'printf("hello")', 'fopen("x", "r")'])
def test_calls_that_a_preload_may_not_make(checkout, call):
    headers = "#include <stdio.h>\n#include <stdlib.h>\n"
    source = f"{headers}{SOURCE}void* use(void) {{ return (void*)(long){call}; }}\n"
    everything = MAP.replace("taken;", "taken; use;")
    library(checkout, source, everything)
    result = run(checkout, everything)
    assert result.returncode == 1
    assert f"lock.map:1: lock.so calls {call.partition('(')[0]}" in result.stdout


def test_needs_only_libc(checkout):
    library(checkout, SOURCE, MAP, "-Wl,--no-as-needed", "-lm")
    result = run(checkout)
    assert result.returncode == 1
    assert "lock.map:1: lock.so needs libm.so.6" in result.stdout


PROMISE = '#define OLDEST "{}"\n'
# A function that glibc 2.34 moved to libc, and the flag of 2.32, which is asked for weakly.
MOVED = """\
#include <pthread.h>
extern char __libc_single_threaded __attribute__((weak));
int use(void) { pthread_testcancel(); return &__libc_single_threaded != 0; }
"""


@pytest.mark.parametrize(
    ("oldest", "found"),
    [
        ("2.31", ["pthread_testcancel@GLIBC_2.34", "__libc_single_threaded@GLIBC_2.32"]),
        ("2.32", ["pthread_testcancel@GLIBC_2.34"]),
        ("2.34", []),
    ],
)
def test_needs_no_newer_glibc(checkout, oldest, found):
    everything = MAP.replace("taken;", "taken; use;")
    library(checkout, SOURCE + MOVED, everything)
    checkout.write("lock.map", everything)
    checkout.write("interpose/exports.h", PROMISE.format(oldest))
    result = checkout.check("check_symbols.py", "lock.so", "lock.map", "OLDEST")
    assert result.returncode == (1 if found else 0), result.stdout
    for name in found:
        assert f"lock.so needs {name}, but glibc {oldest} must load it" in result.stdout
    assert result.stdout.count(" must load it") == len(found)


def test_documents_name_the_oldest_glibc():
    oldest = re.search(r'LOCKSWAP_OLDEST_GLIBC "([\d.]+)"', (ROOT / "interpose/exports.h").read_text())[1]
    for document in ("README.md", "docs/interposition.md", "docs/limits.md"):
        assert f"glibc {oldest} or newer" in (ROOT / document).read_text(), document
