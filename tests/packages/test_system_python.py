"""-DLOCKSWAP_SYSTEM_PYTHON=ON installs a command that uses the system's Python packages, as distributions want it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("tree")
    options = [
        "-DLOCKSWAP_APPS=OFF",
        "-DLOCKSWAP_HARNESS=ON",
        "-DLOCKSWAP_SYSTEM_PYTHON=ON",
        "-DLOCKSWAP_COMMIT=Debian 1",
    ]
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *options], check=True, capture_output=True)
    return build


def test_nothing_asks_for_packages_of_the_build(tree):
    assert not (tree / "venv").exists()
    subprocess.run(["cmake", "-P", tree / "packaging/before.cmake"], check=True, capture_output=True)


def test_the_launcher_lets_python_see_the_packages_of_the_system_and_nothing_of_the_user(tree, tmp_path):
    prefix = f"-DCMAKE_INSTALL_PREFIX={tmp_path}"
    for script in ("commit", "install"):
        subprocess.run(["cmake", prefix, "-P", tree / f"packaging/{script}.cmake"], check=True, capture_output=True)
    launcher = (tmp_path / "bin/lockswap").read_text()
    assert "\npython=/usr/bin/python3\n" in launcher
    assert 'exec "$python" -I "' in launcher
    assert not (tmp_path / "lib/lockswap/packages").exists()
    assert (tmp_path / "lib/lockswap/installed").read_text() == "Debian 1\n"
