"""An installation without matplotlib and numpy reports everything but plots, and says how to get those."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import synthetic
from harness_support import ROOT
from lockswap.base import paths
from lockswap.base.paths import Paths
from lockswap.report import drawing

# None in sys.modules: importing it fails, and it is not found.
MISSING = "sys.modules.update(dict.fromkeys(['matplotlib', 'numpy', 'PIL']))"
WITHOUT = f"import sys; {MISSING}; from lockswap.__main__ import main; sys.exit(main())"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("reports") / "made-up")


def report(*words: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", WITHOUT, "report", *map(str, words)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    return subprocess.run(command, env=env, capture_output=True, text=True)


def test_a_campaign(campaign: Path, tmp_path: Path) -> None:
    done = report(campaign, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "lockswap: the report has no plots, because matplotlib is missing: ./run.sh build; then "
        f"'lockswap report {campaign}' draws them\n"
    )
    assert "keep glibc's" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "summary.csv", "summary.json"]
    page = (tmp_path / "report.html").read_text()
    assert "This page has no plots" in page and "<code>./run.sh build</code>" in page
    assert '<figure class="panels' not in page and "A marker is the median" not in page
    assert 'class="glyph"' in page and 'class="scale"' in page and 'id="verdicts"' in page


def test_two_campaigns(campaign: Path, tmp_path: Path) -> None:
    other = synthetic.write(tmp_path / "other", seed=2)
    done = report(campaign, other, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1 and "then this command draws them" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["changes.csv", "changes.json", "report.html"]
    assert "This page has no plots" in (tmp_path / "out/report.html").read_text()


def test_what_to_do_depends_on_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawing.cure(Paths.find()) is None
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert drawing.cure(Paths.find()) == "./run.sh build"
    installed = Paths(tmp_path, tmp_path)
    (tmp_path / "installed").write_text("abc\n")
    assert "apt-get install python3-matplotlib" in drawing.cure(installed)
    installed.own_packages.mkdir()
    assert "cmake --install BUILD --component plots" in drawing.cure(installed)
    monkeypatch.setattr(paths, "_IN_WHEEL", tmp_path)
    assert "pip install 'lockswap[plots]'" in drawing.cure(installed)
