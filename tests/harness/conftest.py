"""A small checkout to test against: a stand-in library and registry, and a real program that takes rwlocks."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

import synthetic
from harness_support import LOCKS, MUTEXES, NATIVE, RECIPE, ROOT, Lockswap, compile_c
from lockswap.findings import reading
from lockswap.report import writer


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "full: takes minutes; only in './run.sh test --full'")


def make_checkout(root: Path) -> Path:
    """Lay a folder out like a built repository."""
    for folder in ("build/bin", "build/apps", "apps/recipes", "results"):
        (root / folder).mkdir(parents=True)
    compile_c(
        NATIVE / "fake_lockswap.c",
        root / "build/liblockswap.so",
        "-shared",
        "-fPIC",
        "-ldl",
    )
    compile_c(NATIVE / "rwbench.c", root / "build/apps/rwbench", "-pthread")
    compile_c(NATIVE / "steady.c", root / "build/apps/steady", "-pthread")
    compile_c(NATIVE / "tiny.c", root / "build/apps/tiny", "-pthread")
    compile_c(NATIVE / "quick_meter.c", root / "build/bin/lockswap-meter")
    helper = root / "build/bin/lockswap-stats-on-signal.so"
    compile_c(ROOT / "harness/native/stats_on_signal.c", helper, "-shared", "-fPIC", "-pthread")
    compile_c(NATIVE / "mutexbench.c", root / "build/apps/mutexbench", "-pthread")
    registry = {
        "schema": 1,
        "version": "0.1.0",
        "rwlocks": [
            {
                "name": name,
                "aliases": ["PF-Q"] if name == "ba" else [],
                "summary": f"the lock {name}",
                "source": "a test",
                "fairness": "none",
                "footprint_bytes": 56,
                "capabilities": ["try"],
                "kinds": "",
                "passes_through": name == "pthread",
                "compared_by_default": name in ("ba", "bravo-ba"),
            }
            for name in LOCKS
        ],
        "mutexes": [
            {
                "name": name,
                "aliases": ["glibc"] if name == "pthread" else [],
                "summary": f"the mutex {name}",
                "source": "a test",
                "fairness": "none",
                "footprint_bytes": 40,
                "passes_through": name == "pthread",
                "compared_by_default": name == "ba",
            }
            for name in MUTEXES
        ],
        "waits": [
            {"name": "park", "summary": "sleeps"},
            {"name": "spin", "summary": "spins"},
        ],
        "range_locks": [
            {
                "name": name,
                "summary": "",
                "source": "",
                "fairness": "",
                "of_rwlocks": name == "rwlock",
                "words": ["writers-first", "unfair"] if name == "list-rw" else [],
            }
            for name in ("list-rw", "rwlock", "plain-tree")
        ],
        "config": [
            {"name": "LOCKSWAP_SPIN", "type": "0..1000000", "default": "50", "help": "pauses before parking"},
            {"name": "LOCKSWAP_RWLOCK", "type": "lock", "default": "", "help": "the lock"},
        ],
    }
    prints(root / "build/bin/lockswap-registry", registry)
    # An audit that sees nothing; tests/audit has the real one.
    shutil.copy(root / "build/liblockswap.so", root / "build/liblockswap-audit.so")
    prints(root / "build/bin/lockswap-audit-read", {"processes": []})
    return root


def prints(program: Path, data: object) -> None:
    """Make a program that prints JSON."""
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(data)}\nEND\n")
    program.chmod(0o755)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory) -> Path:
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def made_up(checkout, tmp_path_factory) -> Path:
    """The campaign of every kind of row with its report, which several files of tests look at. The first of pytest's
    processes that wants it draws it for all, since that takes seconds."""
    base = tmp_path_factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "report/made-up"
    path.parent.mkdir(exist_ok=True)
    with (path.parent / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            patch.setenv("LOCKSWAP_HOME", str(checkout))  # whose registry says which lock has which colour
            found = reading.read(synthetic.write(path))
            assert writer.write(found) == path / "report.html"
    return path


@pytest.fixture
def repo(checkout, tmp_path) -> Path:
    """A checkout of one's own: recipes and results may be changed, programs are shared."""
    root = tmp_path / "repo"
    root.mkdir()
    (root / "build").symlink_to(checkout / "build")
    shutil.copytree(checkout / "apps", root / "apps")
    (root / "results").mkdir()
    return root


@pytest.fixture
def recipe(repo):
    """Write a recipe for rwbench: recipe("name", "--wrong") or recipe("name", replace={...})."""

    def write(
        name: str,
        *extra: str,
        timeout: float = 20,
        replace: dict[str, str] | None = None,
    ) -> Path:
        text = RECIPE.format(name=name, extra="".join(f', "{word}"' for word in extra), timeout=timeout)
        for old, new in (replace or {}).items():
            assert old in text
            text = text.replace(old, new)
        path = repo / "apps/recipes" / f"{name}.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def lockswap(repo) -> Lockswap:
    return Lockswap(repo)
