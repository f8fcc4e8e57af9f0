"""Every way to name a program, for every command that starts one: it is what a shell would start, or one line says
why there is none."""

import os
import sys
from pathlib import Path

import pytest

from harness_support import FAKES, one_line_error

WAYS = {
    "audit": lambda line: ["audit", "--", *line],
    "run": lambda line: ["run", "--rwlock", "ba", "--", *line],
    "compare": lambda line: [*COMPARE, "--", *line],
    "--versus": lambda line: [*COMPARE, "--versus", words(line), "--", "true"],
    "--server": lambda line: [*SERVER, "true", "--server", words(line)],
    "--load": lambda line: [*SERVER, words(line), "--server", "./server"],
    "--prepare": lambda line: [*COMPARE, "--prepare", words(line), "--", "true"],
    "--cleanup": lambda line: [*COMPARE, "--cleanup", words(line), "--", "true"],
}
COMPARE = ["compare", "-r", "1", "--no-report", "--out", "out", "-l", "pthread"]
SERVER = [*COMPARE, "--ready", "started", "--load"]


def words(line: list[str]) -> str:
    return " ".join(f"'{word}'" for word in line)


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.fixture
def here(tmp_path) -> Path:
    """A folder of programs, and others of the same names in PATH. Each says in `log` which it is and how it was
    called."""
    folder, in_path = tmp_path / "a folder", tmp_path / "in-path"
    for name in (folder / "sub", in_path):
        name.mkdir(parents=True)
    for name in ("prog", "my prog", "a=b", "sub/prog", "server"):
        write(folder / name, f"here {name}")
    for name in ("prog", "my prog", "a=b", "only-in-path"):
        write(in_path / name, f"in PATH {name}")
    (folder / "link").symlink_to("prog")
    (folder / "only-here").write_bytes((folder / "prog").read_bytes())
    (folder / "only-here").chmod(0o755)
    (folder / "plain").write_text("not a program\n")
    (in_path / "plain").write_bytes((in_path / "prog").read_bytes())
    (in_path / "plain").chmod(0o755)
    return folder


def write(file: Path, what: str) -> None:
    """A program that also serves as a server. Its log is beside PATH's folder and the other."""
    log = Path(file.parts[0], *file.parts[1 : file.parts.index("in-path" if "in-path" in file.parts else "a folder")])
    file.write_text(
        f"#!{sys.executable} -IS\n"
        "import os, signal, sys\n"
        f"open({str(log / 'log')!r}, 'a').write({what!r} + ' | ' + ' '.join(sys.argv[1:]) + '\\n')\n"
        "print('started', flush=True)\n"
        "if 'serve' in sys.argv or os.path.basename(sys.argv[0]) == 'server': signal.pause()\n"
    )
    file.chmod(0o755)


def started(here: Path) -> set[str]:
    log = here.parent / "log"
    lines = set(log.read_text().splitlines()) if log.exists() else set()
    return {line for line in lines if not line.startswith("here server")}


def path(here: Path, *before: str) -> dict[str, str]:
    return {"PATH": ":".join([*before, str(here.parent / "in-path"), str(FAKES), os.environ["PATH"]])}


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("sub/prog", "here sub/prog"),
        ("sub/../prog", "here prog"),
        ("./link", "here prog"),
        ("{folder}/my prog", "here my prog"),
        ("my prog", "in PATH my prog"),
        ("a=b", "in PATH a=b"),
        ("only-in-path", "in PATH only-in-path"),
    ],
)
@pytest.mark.parametrize("command", ["audit", "compare"])
def test_it_is_what_a_shell_would_start(lockswap, here, command, name, which):
    done = lockswap(*WAYS[command]([name.replace("{folder}", str(here)), "a b"]), cwd=here, env=path(here))
    assert started(here) == {f"{which} | a b"}, done.stderr


@pytest.mark.parametrize(
    ("name", "which"), [("./prog", "here prog"), ("{folder}/a=b", "here a=b"), ("prog", "in PATH prog")]
)
def test_every_command_starts_the_same(lockswap, here, way, name, which):
    argument = "serve" if way is WAYS["--server"] else "a b"
    line = [name.replace("{folder}", str(here)), argument]
    done = lockswap(*way(line), cwd=here, env=path(here))
    assert started(here) == {f"{which} | {argument}"}, done.stderr
    assert "cannot start" not in done.stderr


@pytest.mark.parametrize("empty", ["", "."])
def test_an_entry_of_path_may_be_the_current_folder(lockswap, here, empty):
    done = lockswap(*WAYS["audit"](["prog"]), cwd=here, env=path(here, empty))
    assert started(here) == {"here prog | "}, done.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("./missing", "cannot start './missing': no such file"),
        ("missing", "cannot start 'missing': not found in PATH; give its path, or install it"),
        ("only-here", "cannot start 'only-here': not found in PATH; the one in this folder is './only-here'"),
        ("./plain", "'./plain' is not executable; 'chmod +x' it, or start it through its interpreter"),
        ("./sub", "'./sub' is a folder, not a program"),
        ("sub", "cannot start 'sub': not found in PATH"),
        ("/etc", "'/etc' is a folder, not a program"),
        ("", "the name of the program is empty"),
    ],
)
def test_what_cannot_be_started_is_one_line_and_starts_nothing(lockswap, here, way, name, says):
    assert says in one_line_error(lockswap.inside(*way([name]), cwd=here, env=path(here)))
    assert started(here) == set()
    assert not (here / "out").exists()


@pytest.mark.parametrize("command", ["audit", "run"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#!/no/such/interpreter\n", "it asks for '/no/such/interpreter', which is not there"),
        ("echo hello\n", "it has no '#!' line and is no program; start it through its interpreter"),
    ],
)
def test_what_the_kernel_refuses_is_one_line(lockswap, here, command, text, says):
    (here / "odd").write_text(text)
    (here / "odd").chmod(0o755)
    error = one_line_error(lockswap(*WAYS[command](["./odd"]), cwd=here))
    assert f"cannot start './odd': {says}" in error


@pytest.mark.parametrize("command", ["audit", "run", "compare"])
def test_a_program_sees_the_name_by_which_it_was_started(lockswap, here, command):
    """Such as python in a virtual environment, or busybox: it goes by its name, not by the file behind a link."""
    (here / "link").unlink()
    (here / "link").symlink_to("/bin/bash")
    lockswap(*WAYS[command](["./link", "-c", "echo $0 >name"]), cwd=here)
    assert Path((here / "name").read_text().strip()).name == "link"
