"""The model for ESBMC has what the locks ask of a platform today; `./run.sh check`, which runs it, takes long."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/models"


def compiles(model: Path) -> tuple[bool, str]:
    command = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-fconcepts-diagnostics-depth=9",
        "-include",
        MODELS / "no_esbmc.h",
        "-I",
        ROOT / "src",
        model,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def test_the_model_is_a_platform():
    good, says = compiles(MODELS / "esbmc.cpp")
    assert good, says


def test_a_platform_that_lacks_something_is_none(tmp_path):
    line = "  static bool is_alone();\n"
    text = (MODELS / "esbmc.cpp").read_text(encoding="utf-8")
    assert text.count(line) == 1
    poorer = tmp_path / "esbmc.cpp"
    poorer.write_text(text.replace(line, ""), encoding="utf-8")
    good, says = compiles(poorer)
    assert not good and "is_alone" in says
