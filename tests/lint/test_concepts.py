"""The concepts of the locks: a lock without a member fails at its own line, with the member's name."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
COMPILER = ["g++", "-std=c++20", "-fsyntax-only", f"-I{SRC}"]

INCLUDES = """#include "locks/concept.h"
#include "platform/native.h"
#include "range/concept.h"
#include "wait/park.h"
using namespace lockswap;
"""

EVERY_CORE = {
    "kClaims": "static constexpr Claims kClaims{};",
    "prepare": "static bool prepare() noexcept;",
    "needs_no_repair": "bool needs_no_repair(bool) const noexcept;",
    "repair_after_fork": "void repair_after_fork(bool) noexcept;",
}

# For each kind its concept, and a lock that has what the concept asks for, member by member.
KINDS = {
    "RwCore": EVERY_CORE
    | {
        "read_arrive": "std::uint32_t read_arrive() noexcept;",
        "read_wait": "bool read_wait(std::uint32_t, const Deadline*) noexcept;",
        "read_withdraw": "bool read_withdraw(std::uint32_t) noexcept;",
        "try_read_lock": "bool try_read_lock() noexcept;",
        "read_unlock": "void read_unlock() noexcept;",
        "write_lock": "void write_lock() noexcept;",
        "write_lock_until": "bool write_lock_until(const Deadline*) noexcept;",
        "try_write_lock": "bool try_write_lock() noexcept;",
        "write_unlock": "void write_unlock() noexcept;",
        "has_readers": "bool has_readers() const noexcept;",
        "has_writer": "bool has_writer() const noexcept;",
        "too_many_readers": "bool too_many_readers() const noexcept;",
    },
    "MutexCore": EVERY_CORE
    | {
        "lock": "void lock() noexcept;",
        "lock_until": "bool lock_until(const Deadline*) noexcept;",
        "try_lock": "bool try_lock() noexcept;",
        "unlock": "void unlock() noexcept;",
        "idle": "bool idle() const noexcept;",
    },
    "RangeLock": {
        "Node": "struct Node {};",
        "kCanShare": "static constexpr bool kCanShare = true;",
        "kHoldsMany": "static constexpr bool kHoldsMany = true;",
        "kTakes": "static constexpr RangeOptions kTakes{};",
        "acquire_slowly": "int acquire_slowly(const RangeRequest&, RangeOptions, void*&) noexcept;",
        "release_slowly": "void release_slowly(void*) noexcept;",
        "downgrade": "void downgrade(void*) noexcept;",
        "is_mine": "static bool is_mine(const void*) noexcept;",
        "is_shared": "static bool is_shared(const void*) noexcept;",
        "busy": "bool busy() noexcept;",
    },
}


def lock(name: str, members: dict[str, str], without: str = "") -> str:
    lines = [line.replace("void*&", "Node*&") for member, line in members.items() if member != without]
    return "\n".join(["template <Platform P, WaitPolicy<P> W>", f"struct {name} {{", *lines, "};", ""])


def compile_text(file: Path, text: str) -> subprocess.CompletedProcess:
    file.write_text(text)
    return subprocess.run(
        [*COMPILER, file], capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    )


STAGES = {
    "fast_write_lock": "bool fast_write_lock() noexcept;",
    "fast_write_unlock": "bool fast_write_unlock() noexcept;",
}


def test_locks_with_all_members(tmp_path):
    wholes = [(f"Whole{concept}", concept, members) for concept, members in KINDS.items()]
    wholes.append(("Staged", "StagesAreWhole", KINDS["RwCore"] | STAGES))
    text = INCLUDES + "".join(lock(name, members) for name, _, members in wholes)
    text += "".join(f"static_assert({concept}<{name}<Native, Park<Native>>>);\n" for name, concept, _ in wholes)
    result = compile_text(tmp_path / "whole.cpp", text)
    assert result.returncode == 0, result.stderr


def test_locks_without_a_member(tmp_path):
    """Each member in turn, so that the concept asks for all of them. One compiler for all: it reads long headers."""
    broken = [
        (concept, members, member, f"Without_{member}_{concept}")
        for concept, members in KINDS.items()
        for member in members
        if member != "Node"
    ]
    broken += [("StagesAreWhole", KINDS["RwCore"] | STAGES, stage, f"Without_{stage}_Stage") for stage in STAGES]
    text = INCLUDES + "".join(lock(name, members, member) for _, members, member, name in broken)
    first = text.count("\n") + 1
    text += "".join(f"static_assert({concept}<{name}<Native, Park<Native>>>);\n" for concept, _, _, name in broken)
    file = tmp_path / "broken.cpp"
    result = compile_text(file, text)
    assert result.returncode != 0
    # What is said of one assertion goes up to the next one's error.
    said = re.split(rf"(?m)^{re.escape(str(file))}:(\d+):\d+: error: static assertion failed", result.stderr)
    reports = dict(zip(map(int, said[1::2]), said[2::2], strict=True))
    assert sorted(reports) == list(range(first, first + len(broken)))
    for line, (concept, _, member, _) in enumerate(broken, first):
        # Not only as a part of the broken lock's name. What the compiler says of a stage has no name of a member.
        assert concept == "StagesAreWhole" or re.search(rf"\b{member}\b", reports[line]), f"{member}:\n{reports[line]}"


def test_platform_checks_all_that_locks_ask_for():
    """Each member of the platform that a header uses is in one of its concepts."""
    checked = "".join(f.read_text() for f in (SRC / "platform").glob("concept*.h"))
    used = {}
    for folder in ("wait", "readers", "reclaim", "locks", "range", "posix"):
        for file in (SRC / folder).rglob("*.h"):
            code = re.sub(r"//[^\n]*", "", file.read_text())
            for member in re.findall(r"(?<!\w)P::(?:template )?(\w+)", code):
                used.setdefault(member, file.relative_to(ROOT))
    assert len(used) >= 40
    unchecked = {m: f for m, f in used.items() if not re.search(rf"P::(?:template )?{m}\b", checked)}
    assert not unchecked, unchecked
