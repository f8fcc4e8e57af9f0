"""scripts/check_layers.py: each rule of the layer order, broken on purpose."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SPEC = importlib.util.spec_from_file_location("check_layers", ROOT / "scripts/check_layers.py")
check_layers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_layers)

INCLUDES = [
    ("src/platform/futex.h", '#include "wait/park.h"', "src/platform may not include src/wait"),
    ("src/wait/park.h", '#include "../locks/rw/ba.h"', "src/wait may not include src/locks"),
    ("src/locks/rw/ba.h", '#include "src/registry/registry.h"', "src/locks may not include src/registry"),
    ("src/locks/rw/ba.h", "#include <registry/registry.h>", "src/locks may not include src/registry"),
    ("interpose/rwlock.cpp", '#include "locks/rw/ba.h"', "interpose may not include src/locks"),
    ("src/locks/rw/ba.h", '#include "interpose/errno.h"', "src/locks may not include interpose"),
    ("src/locks/rw/ba.h", '#include "multicore/platform.h"', "src/locks may not include src/multicore"),
    ("include/lockswap/range_lock.hpp", '#include "reclaim/epoch.h"', "include/lockswap may not include src/reclaim"),
    ("src/locks/rw/cohort.h", '#include "locks/mutex/ticket.h"', "src/locks/rw may not include src/locks/mutex"),
    ("src/locks/mutex/mcs.h", '#include "locks/rw/ba.h"', "src/locks/mutex may not include src/locks/rw"),
    ("src/locks/common/claims.h", '#include "../rw/ba.h"', "src/locks/common may not include src/locks/rw"),
    ("src/locks/concept.h", '#include "locks/mutex/mcs.h"', "src/locks/ may not include src/locks/mutex"),
    ("structures/src/rlu/section.h", '#include "config/config.h"', "structures/src/rlu may not include src/config"),
    ("structures/src/rlu/section.h", '#include "posix/condvar.h"', "structures/src/rlu may not include src/posix"),
    (
        "structures/include/lockswap/bonsai.hpp",
        '#include "reclaim/epoch.h"',
        "structures/include/lockswap may not include src/reclaim",
    ),
]

# Files of the lock product, which may not include a structure, and the ways to spell that include.
PRODUCT = ("src/locks/rw/ba.h", "interpose/rwlock.cpp", "audit/start.cpp", "fuzz/start.cpp")
PRODUCT += ("recording/file.cpp", "profile/start.cpp", "metrics/start.cpp", "calls/start.cpp")
PRODUCT += ("apps/rwbench.cpp", "harness/native/meter.c", "tests/unit/rows_test.cpp", "include/lockswap/range_lock.h")
SPELT = ("rlu/section.h", "structures/src/rlu/section.h", "lockswap/rlu.h")

MACHINE = [
    ("#include <atomic>", "atomics"),
    ("std::atomic<int> word;", "atomics"),
    ("auto seen = __atomic_load_n(&word, 5);", "atomics"),
    ("#include <linux/futex.h>", "futex"),
    ("long r = syscall(SYS_futex, &word);", "futex"),
    ("int r = clock_gettime(0, &now);", "clocks"),
    ("thread_local int depth;", "thread-locals"),
    ("static __thread int depth;", "thread-locals"),
]


@pytest.fixture(autouse=True)
def folders(checkout):
    """Those that the check names, as in the real tree."""
    folders = [f"{layer}/{inner}" for layer, some in check_layers.FOLDERS.items() for inner in some]
    for folder in [*check_layers.LAYERS, *check_layers.OTHERS, *folders]:
        (checkout.root / folder).mkdir(parents=True, exist_ok=True)


def found(checkout) -> list[str]:
    """What the check says of a tree in which something is wrong."""
    result = checkout.check("check_layers.py")
    assert result.returncode == 1
    return result.stdout.splitlines()


def test_wrong_includes(checkout):
    lines: dict[str, list[str]] = {}
    expected = []
    for path, line, message in INCLUDES:
        some = lines.setdefault(path, ["// A comment."])
        some.append(line)
        expected.append(f"{path}:{len(some)}: {message}")
    for path, some in lines.items():
        checkout.write(path, "\n".join([*some, ""]))
    said = found(checkout)
    missing = [message for message in expected if not any(message in line for line in said)]
    assert not missing, said


def test_nothing_of_the_locks_includes_a_structure(checkout):
    checkout.write("structures/src/rlu/section.h", "int x;\n")
    checkout.write("structures/include/lockswap/rlu.h", "int y;\n")
    assert checkout.check("check_layers.py").returncode == 0
    for path in PRODUCT:
        checkout.write(path, "".join(f'#include "{name}"\n' for name in SPELT))
    said = found(checkout)
    for path in PRODUCT:
        for number in range(1, len(SPELT) + 1):
            here = [line for line in said if f"{path}:{number}: " in line]
            assert any(" may not include structures/" in line for line in here), (path, number, said)


def test_a_structure_may_use_the_locks_sources(checkout):
    checkout.write("src/readers/rows.h", "int x;\n")
    checkout.write("structures/include/lockswap/rlu.h", "int y;\n")
    checkout.write("structures/src/rlu/section.h", '#include "readers/rows.h"\n')
    checkout.write("structures/src/library/rlu.cpp", '#include "rlu/section.h"\n#include "lockswap/rlu.h"\n')
    result = checkout.check("check_layers.py")
    assert result.returncode == 0, result.stdout


def test_the_machine_belongs_to_the_platform(checkout):
    paths = ["src/locks/rw/ba.h", "src/registry/table.cpp", "interpose/rwlock.cpp", "structures/src/rlu/section.h"]
    text = "\n\n" + "".join(f"{line}\n" for line, _ in MACHINE)
    for path in paths:
        checkout.write(path, text)
    said = "\n".join(found(checkout))
    for path in paths:
        for number, (_, what) in enumerate(MACHINE, 3):
            assert f"{path}:{number}: {what} occur in src/platform alone" in said
        (checkout.root / path).unlink()
    checkout.write("src/platform/machine.h", text)
    assert checkout.check("check_layers.py").returncode == 0


def test_a_file_outside_every_layer(checkout):
    checkout.write("src/misc/util.h", "int x;\n")
    result = checkout.check("check_layers.py")
    assert result.returncode == 1
    assert "src/misc/util.h:1: belongs to no layer" in result.stdout


def test_what_is_in_order_passes(checkout):
    checkout.write("src/platform/machine.h", "#include <atomic>\n")
    checkout.write("src/wait/park.h", '#include "platform/machine.h"\n')
    checkout.write(
        "src/locks/rw/ba.h",
        "// std::atomic, futex: only in a comment\n/* thread_local\n */\n"
        '#include "wait/park.h"\n#include "ba_queue.h"\n#include "locks/common/claims.h"\n#include "locks/concept.h"\n',
    )
    checkout.write("src/registry/registry.cpp", '#include "locks/rw/ba.h"\nchar text[] = "clock_gettime";\n')
    checkout.write("interpose/rwlock.cpp", '#include <errno.h>\n#include "registry/registry.h"\n')
    result = checkout.check("check_layers.py")
    assert result.returncode == 0, result.stdout
    assert "5 files" in result.stdout


def test_a_folder_that_does_not_exist_is_not_in_the_check(checkout):
    (checkout.root / "src/locks/mutex").rmdir()
    result = checkout.check("check_layers.py")
    assert result.returncode == 1
    assert "names src/locks/mutex, which is no folder" in result.stdout
