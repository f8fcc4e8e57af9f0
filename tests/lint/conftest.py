"""A small git checkout with the project's linters, in which a test seeds a violation."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", "-C", self.root, *who, *words], check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "a step")

    def lint(self, linter: str, *options: str) -> subprocess.CompletedProcess:
        """Run one linter of scripts/lint.sh as run.sh would."""
        parts = " ".join(f". scripts/{part}.sh;" for part in ("common", "build", "lint"))
        words = ["bash", "-c", f'set -euo pipefail; {parts} "$@"', "lint", f"lint_{linter}", *options]
        return subprocess.run(words, cwd=self.root, capture_output=True, text=True)

    def check(self, script: str, *arguments: str) -> subprocess.CompletedProcess:
        words = [sys.executable, ROOT / "scripts" / script, *arguments]
        return subprocess.run(words, cwd=self.root, capture_output=True, text=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".clang-format", ".clang-tidy", ".shellcheckrc", "ruff.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "venv").symlink_to(ROOT / "build" / "venv")
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    small = Checkout(tmp_path)
    small.git("init", "-q", "-b", "trunk")
    small.commit()
    return small
