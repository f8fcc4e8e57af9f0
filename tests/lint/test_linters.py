"""Each linter of `./run.sh lint` passes clean text and fails on a seeded violation, naming file and line."""

import json
import subprocess

import pytest

CLEAN = {
    "src/a.cpp": "int answer() { return 42; }\n",
    "harness/a.py": '"""Clean."""\n\nANSWER = 42\n',
    "a.sh": '#!/bin/sh\necho "$1"\n',
}

VIOLATIONS = {
    "format": ("src/bad.cpp", "int  answer() { return 42; }\n", 1),
    "complexity": ("src/bad.cpp", "\nint many(int a) {\n" + 25 * "  if (a > 1) --a;\n" + "  return a;\n}\n", 2),
    "tidy": ("src/bad.cpp", "\nint* none() { return 0; }\n", 2),
    "ruff": ("harness/bad.py", '"""Bad."""\n\nimport os\n', 3),
    "shell": ("bad.sh", "#!/bin/sh\necho $1\n", 2),
}


def compile_commands(checkout, *names: str) -> None:
    root = checkout.root
    commands = [
        {
            "directory": str(root),
            "file": str(root / name),
            "output": name + ".o",
            "command": f"c++ -std=c++20 -c {root / name} -o {name}.o",
        }
        for name in names
    ]
    checkout.write("build/compile_commands.json", json.dumps(commands))


@pytest.mark.parametrize("linter", VIOLATIONS)
def test_clean_text_passes(checkout, linter):
    for name, text in CLEAN.items():
        checkout.write(name, text)
    compile_commands(checkout, "src/a.cpp")
    result = checkout.lint(linter)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("linter", VIOLATIONS)
def test_seeded_violation_fails_with_file_and_line(checkout, linter):
    name, text, line = VIOLATIONS[linter]
    checkout.write(name, text)
    compile_commands(checkout, "src/bad.cpp")
    result = checkout.lint(linter)
    assert result.returncode != 0
    assert f"{name}:{line}:" in result.stdout + result.stderr


def test_ruff_format_names_the_file(checkout):
    checkout.write("harness/bad.py", '"""Bad."""\n\nANSWER   =   42\n')
    result = checkout.lint("ruff")
    assert result.returncode != 0
    assert "harness/bad.py:3:" in result.stdout + result.stderr


def test_tidy_leaves_alone_what_did_not_change_unless_asked(checkout):
    name, text, _ = VIOLATIONS["tidy"]
    checkout.write(name, text)
    compile_commands(checkout, name)
    checkout.commit()
    assert checkout.lint("tidy").returncode != 0, "the last commit is looked at"
    checkout.write("src/a.cpp", CLEAN["src/a.cpp"])
    compile_commands(checkout, name, "src/a.cpp")
    assert checkout.lint("tidy").returncode == 0
    assert checkout.lint("tidy", "--full").returncode != 0


def test_tidy_analyses_paths_in_the_product_alone(checkout):
    text = "int a(int x) {\n  int* p = x == 0 ? nullptr : &x;\n  return *p;\n}\n"
    names = ["src/a.cpp", "tests/a.cpp", "structures/apps/a.cpp"]
    for name in names:
        checkout.write(name, text)
    compile_commands(checkout, *names)
    result = checkout.lint("tidy")
    assert result.returncode != 0
    assert "src/a.cpp:3:" in result.stdout
    assert "tests/a.cpp" not in result.stdout and "apps/a.cpp" not in result.stdout


def test_tidy_reads_a_changed_header_through_a_unit_that_includes_it(checkout):
    """A header is no translation unit: the unit is found in ninja's record of what the last build read."""
    checkout.write("src/a.h", "inline int* none() { return 0; }\n")
    checkout.write("src/a.cpp", '#include "a.h"\nint* a() { return none(); }\n')
    checkout.write("src/CMakeLists.txt", "add_library(a a.cpp)\n")
    checkout.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(t LANGUAGES CXX)\n"
        "set(CMAKE_EXPORT_COMPILE_COMMANDS ON)\nadd_subdirectory(src)\n",
    )
    build = checkout.root / "build"
    subprocess.run(["cmake", "-S", checkout.root, "-B", build, "-G", "Ninja"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    checkout.commit()
    checkout.write("src/a.h", "\ninline int* none() { return 0; }\n")
    result = checkout.lint("tidy")
    assert result.returncode != 0
    assert "src/a.h:2:" in result.stdout
