"""matrix.py's comparison, and inside.py where mounts are allowed: each way to differ is found."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
sys.path.insert(0, str(HERE))
import matrix  # noqa: E402

EXCEPTION = {"glibc": "2.43", "test": "life/.*", "plain": "conformance/glibc", "reason": "it is glibc's"}


def cells(**verdicts: str) -> list[matrix.Cell]:
    """Two cells with the same tests passed, but for those given of the second."""
    all_passed = {"life/loader": "passed", "conformance/glibc": "passed"}
    changed = {name.replace("_", "/", 1): verdict for name, verdict in verdicts.items()}
    return [matrix.Cell("ours", "2.36", all_passed), matrix.Cell("ours", "2.43", all_passed | changed)]


def test_equal_verdicts():
    assert matrix.compare(cells(), []) == []


@pytest.mark.parametrize("verdict", ["FAILED", "skipped"])
def test_another_verdict(verdict):
    (finding,) = matrix.compare(cells(life_loader=verdict), [])
    assert "life/loader: ours on 2.43" in finding


def test_failed_everywhere():
    both = cells(life_loader="FAILED")
    both[0].verdicts = both[1].verdicts
    assert len(matrix.compare(both, [])) == 2


def test_skipped_everywhere():
    both = cells(life_loader="skipped")
    both[0].verdicts = both[1].verdicts
    assert matrix.compare(both, []) == []


def test_an_exception_needs_glibcs_own_failure():
    assert len(matrix.compare(cells(life_loader="FAILED"), [EXCEPTION])) == 1
    (finding,) = matrix.compare(cells(life_loader="FAILED", conformance_glibc="FAILED"), [EXCEPTION])
    assert "conformance/glibc" in finding


def test_an_exception_is_of_one_glibc():
    other = EXCEPTION | {"glibc": "2.41"}
    assert len(matrix.compare(cells(life_loader="FAILED", conformance_glibc="FAILED"), [other])) == 2


def test_a_cell_that_could_not_run():
    both = cells()
    both[1].verdicts = {}
    assert matrix.compare(both, []) == []


def inside(*words: object) -> subprocess.CompletedProcess:
    command = [sys.executable, HERE / "inside.py", *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode == matrix.NOT_HERE:
        pytest.skip(done.stderr)
    return done


def test_a_file_over_another(tmp_path):
    (tmp_path / "one").write_text("one")
    (tmp_path / "two").write_text("two")
    done = inside(f"--over={tmp_path}/one={tmp_path}/two", "cat", tmp_path / "two")
    assert (done.returncode, done.stdout) == (0, "one")
    assert (tmp_path / "two").read_text() == "two"


def test_another_glibc_reaches_everything():
    for marker in BUILD.glob("glibc/*/version"):
        version = marker.read_text().strip()
        shell = f"sh -c 'exec {sys.executable} -c \"import platform; print(platform.libc_ver()[1])\"'"
        done = inside(f"--glibc={marker.parent / 'libc6'}", "sh", "-c", shell)
        assert done.stdout.strip() == version
        # Where the system's own has the version of another one, as on Debian 13, that shows nothing.
        assert version != platform.libc_ver()[1] or marker.parent.name == "trixie"


def test_what_is_not_there(tmp_path):
    for words in ([f"--over={tmp_path}/one=/etc/passwd", "true"], [f"--glibc={tmp_path}", "true"], []):
        done = inside(*words)
        assert done.returncode == 2
        assert "inside.py: error" in done.stderr


def test_an_ordinary_user_keeps_the_name():
    if os.geteuid() != 0:
        assert inside("id", "-u").stdout.strip() == str(os.geteuid())
