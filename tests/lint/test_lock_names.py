"""The files that name a lock, which shall be few: its header, its line in the registry's list, its planted faults and
documents. The others stand in lock_names.toml, each with its reason, and that list only shrinks."""

import ast
import re
import sys
import tomllib
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from git_files import git_files  # noqa: E402

EXCEPTIONS = Path(__file__).with_name("lock_names.toml")
LISTS = sorted((ROOT / "src/registry").glob("*_list.def"))
LINE = re.compile(r'^(RW_LOCK|MUTEX|RANGE_LOCK)\("([^"]+)", (\w+), "([^"]+)"', re.MULTILINE)
# glibc's, a word that stands for much else.
PASSED_THROUGH = {"pthread"}
NOT_COUNTED = (
    "*.md",
    "*.def",
    "results/*",
    "*tests/explore/mutants.cpp",
    "*tests/explore/*faults.toml",
    "*tests/explore/faults/*",
    "*tests/explore/survivors.toml",
    "tests/power/faults.toml",
    "tests/lint/*lock_names*",
    "tests/example_lock/*",
)
C_LIKE = {".c", ".cc", ".cpp", ".h", ".hpp", ".in"}
TEXT = {".txt", ".cmake", ".toml", ".sh", ".inc", ".json", ".map"}
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')


def names_only(literals: list[str]) -> str:
    """Without sentences, in which "cohort" and "ticket" are words."""
    return "\n".join(literal for literal in literals if literal.count(" ") < 2)


class Lock:
    def __init__(self, name: str, class_name: str, header: str) -> None:
        self.name, self.class_name, self.header = name, class_name, f"src/{header}"
        self.words = re.compile(rf"(?<![\w-])(?:bravo-(?:asym-)?)?{re.escape(name)}(?![\w-])")
        self.identifier = re.compile(rf"\b{class_name}\b")

    def is_named_in(self, strings: str, code: str) -> bool:
        # As a substring first, which is much faster than an expression and seldom there.
        return bool(
            (self.name in strings and self.words.search(strings))
            or (self.class_name in code and self.identifier.search(code))
        )


@cache
def locks() -> list[Lock]:
    lines = [found for path in LISTS for found in LINE.findall(path.read_text())]
    return [Lock(name, cls, header) for _, name, cls, header in lines if name not in PASSED_THROUGH]


def strings_and_code(path: Path) -> tuple[str, str]:
    """What a file says in literals, and in identifiers. Comments count as neither."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        tree = ast.parse(text)
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        constants = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs)
        return names_only([n.value for n in constants if isinstance(n.value, str)]), ""
    if path.suffix in C_LIKE:
        text = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)
        return names_only(LITERAL.findall(text)), LITERAL.sub('""', text)
    if path.suffix in TEXT or path.name in ("run", "run.sh"):
        return re.sub(r"(?m)(^|\s)#.*", "", text), ""
    return "", ""


@cache
def named() -> frozenset[tuple[str, str]]:
    """Each file that names a lock, with the lock."""
    files = [f for f in git_files() if not any(fnmatch(f, pattern) for pattern in NOT_COUNTED)]
    found = set()
    for file in files:
        if not (ROOT / file).is_file():
            continue
        strings, code = strings_and_code(ROOT / file)
        found |= {(file, lock.name) for lock in locks() if file != lock.header and lock.is_named_in(strings, code)}
    return frozenset(found)


@cache
def exceptions() -> list[tuple[str, str, str]]:
    rows = tomllib.loads(EXCEPTIONS.read_text())["exception"]
    return [(file, lock, row["why"]) for row in rows for file, locks in row["names"].items() for lock in locks]


def test_each_exception_has_a_reason():
    for file, lock, why in exceptions():
        assert len(why) > 10, f"{file}, {lock}: why does it name the lock?"


def test_locks_are_named_where_the_guide_says():
    allowed = exceptions()
    extra = sorted(
        f"{file}: {lock}"
        for file, lock in named()
        if not any(fnmatch(file, pattern) and lock == one for pattern, one, _ in allowed)
    )
    assert not extra, (
        "these files name a lock; ask the registry instead (or, in C++, the list), or say in "
        "tests/lint/lock_names.toml why they must:\n" + "\n".join(extra)
    )


def test_the_list_of_exceptions_only_shrinks():
    stale = [
        f"{pattern}: {lock}"
        for pattern, lock, _ in exceptions()
        if not any(fnmatch(file, pattern) and lock == one for file, one in named())
    ]
    assert not stale, "these no longer name the lock; take them out of tests/lint/lock_names.toml:\n" + "\n".join(stale)
