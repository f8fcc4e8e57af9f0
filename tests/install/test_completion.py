"""What shells complete: names from the registry and the recipes, folders of campaigns, options; asked as shells ask.

The last tests type into real shells, in which a key completes the line, and have the shell print it.
"""

import os
import pty
import re
import resource
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.cli import cli
from lockswap.shell.completers import VALUES, key_of

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/bin/lockswap"
SHELLS = ("bash", "zsh", "fish")
REGISTRY = Registry.load(Paths(ROOT, ROOT / "build"))
RWLOCKS = [lock.name for lock in REGISTRY.rwlocks]
MUTEXES = [lock.name for lock in REGISTRY.mutexes]

PATH = f"{COMMAND.parent}:/usr/bin:/bin"


def completed(*words: str, cwd: Path = ROOT) -> list[str]:
    """What bash would be offered for the last word, each with its type."""
    env = {"PATH": PATH, "COMP_WORDS": " ".join(("lockswap", *words)), "COMP_CWORD": str(len(words))}
    env["_LOCKSWAP_COMPLETE"] = "bash_complete"
    done = subprocess.run([COMMAND], env=env, cwd=cwd, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def names(*words: str, cwd: Path = ROOT) -> list[str]:
    found = [line for line in completed(*words, cwd=cwd) if line]
    assert all(line.startswith("plain,") for line in found), found
    return [line.removeprefix("plain,") for line in found]


def test_locks_come_from_the_registry() -> None:
    for command in ("run", "compare", "profile"):
        assert names(command, "--rwlock", "") == [*RWLOCKS, "none"]
        assert names(command, "-m", "") == [*MUTEXES, "none"]
    first = RWLOCKS[-1][0]
    assert names("run", "--rwlock", first) == [name for name in [*RWLOCKS, "none"] if name.startswith(first)]


def test_a_list_goes_on_behind_a_comma() -> None:
    first, second = RWLOCKS[1:3]
    offered = names("compare", "--rwlock", f"{first},")
    assert f"{first},{second}" in offered and f"{first},{first}" not in offered
    assert names("compare", "-l", f"{first},{second[:-1]}")[0].startswith(f"{first},{second[:-1]}")
    assert f"{first},{second}" in names("compare", "--rwlock", "=", f"{first},"), "as bash splits '--rwlock=a,'"
    assert names("run", "--rwlock", f"{first},") == [], "run takes one lock"


def test_workloads_variables_policies_and_waits() -> None:
    there = names("compare", "-w", "")
    assert there[0] == "all" and {path.stem for path in (ROOT / "apps/recipes").glob("*.toml")} & set(there)
    assert names("list", "LOCKSWAP_SP") == ["LOCKSWAP_SPIN"]
    assert names("compare", "--scan", "LOCKSWAP_SP") == ["LOCKSWAP_SPIN="]
    assert names("run", "--wait", "") == list(REGISTRY.waits)
    assert names("compare", "--policy", "")[0] == next((ROOT / "packaging/policies").iterdir()).stem
    assert names("advise", "--stop", "TER") == ["TERM"]


def test_services_are_those_of_systemd() -> None:
    there = {file.name for file in Path("/usr/lib/systemd/system").glob("*.service")}
    assert there <= set(names("service", "enable", ""))


def test_options_and_commands() -> None:
    assert names("compare", "--warm") == ["--warmup"]
    assert set(names("")) == {name for name, one in cli.commands.items() if not one.hidden}
    assert names("policy", "") == ["check"]
    assert names("completion", "") == list(SHELLS)


def test_folders_of_campaigns_and_those_that_can_go_on(tmp_path: Path) -> None:
    for name, ended in (("whole", "true"), ("part", "false")):
        folder = tmp_path / "lockswap-results" / name
        folder.mkdir(parents=True)
        (folder / "campaign.toml").write_text(f'schema = 2\nname = "{name}"\nfinished = {ended}\n')
    offered = names("report", "", cwd=tmp_path)
    assert {"lockswap-results/whole", "lockswap-results/part"} <= set(offered)
    assert names("compare", "--resume", "lock", cwd=tmp_path) == ["lockswap-results/part"]
    assert completed("report", "elsewhere", cwd=tmp_path) == ["dir,elsewhere"]


def test_what_is_no_name_is_a_file() -> None:
    assert completed("run", "--rwlock", RWLOCKS[0], "--", "./pro") == ["file,./pro"]
    assert completed("compare", "--policy", "./my.pol") == ["file,./my.pol"]


def test_a_process_with_threads_is_offered(tmp_path: Path) -> None:
    threads = "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); print(1)"
    words = ["/usr/bin/python3", "-u", "-c", f"{threads}; time.sleep(600)"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        try:
            assert str(process.pid) in names("why", "")
        finally:
            process.kill()


def test_each_value_that_is_completed_is_asked_for_somewhere() -> None:
    """And each option for locks is completed."""
    asked = {key_of(one): one for command in commands() for one in command.params}
    assert set(VALUES) - set(asked) == set()
    for key, one in asked.items():
        assert not re.search("LOCK|MUTEX|POLICY$", one.metavar or "") or key in VALUES, key


def commands(command: click.Command = cli) -> Iterator[click.Command]:
    yield command
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        yield from commands(below)


def cpu_s(call: Callable[[], object]) -> float:
    """Of the programs that it runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_completing_costs_less_than_ten_imports_of_click() -> None:
    """One of three: how fast a processor is depends on who else is there."""
    python = [ROOT / "build/venv/bin/python", "-P", "-c", "import click"]
    bare = min(cpu_s(lambda: subprocess.run(python, check=True)) for _ in range(3))
    for words in (("compare", "-w", ""), ("compare", "-l", ""), ("report", ""), ("list", "")):
        assert any(cpu_s(lambda words=words: completed(*words)) < 10 * bare for _ in range(3)), words


def test_an_unbuilt_tree_completes_what_it_can(tmp_path: Path) -> None:
    env = {"PATH": PATH, "LOCKSWAP_HOME": str(tmp_path), "COMP_CWORD": "3", "_LOCKSWAP_COMPLETE": "bash_complete"}
    env["COMP_WORDS"] = "lockswap run --rwlock "
    done = subprocess.run([COMMAND], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("plain,none\n", "")


def test_bash_itself_completes(tmp_path: Path) -> None:
    script = subprocess.check_output([COMMAND, "completion", "bash"], text=True)
    first, second = RWLOCKS[1:3]
    ask = f"""
compopt() {{ :; }}  # it is for the key alone
COMP_WORDS=(lockswap compare --rwlock {first},{second[:-1]}) COMP_CWORD=3
_lockswap_completion lockswap
printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "--norc", "-c", script + ask], env={"PATH": PATH}, capture_output=True, text=True)
    assert f"{first},{second}" in done.stdout.splitlines() and done.stderr == ""


class Terminal:
    """A shell at a terminal, into which one can type."""

    def __init__(self, words: list[str], folder: Path) -> None:
        env = {"PATH": PATH, "HOME": str(folder), "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8"}
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, env)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def wait_for(self, pattern: str) -> str:
        """What the shell has printed since this was asked for last, as far as this. No clock matters but for a shell
        that prints nothing at all."""
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.end], [], [], 300)
            assert ready, self.seen
            self.seen += os.read(self.end, 4096).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found[1] if found.groups() else found[0]

    def close(self) -> None:
        os.kill(self.pid, 9)
        os.close(self.end)
        os.waitpid(self.pid, 0)


STARTED = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(lockswap completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; . ./_lockswap"),
    "fish": (["fish", "--no-config", "-i"], "source ./_lockswap"),
}


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(one, marks=pytest.mark.full) for one in SHELLS[1:])])
def test_a_key_completes_the_line(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"skipped: {shell} is not installed")
    words, setup = STARTED[shell]
    script = subprocess.check_output([COMMAND, "completion", shell], text=True)
    (tmp_path / "_lockswap").write_text(script)
    # One that is not the beginning of another, which the shell would offer as well.
    first, *_, second = (name for name in RWLOCKS if sum(one.startswith(name[:-1]) for one in RWLOCKS) == 1)
    terminal = Terminal(words, tmp_path)
    try:
        terminal.type(f"{setup}\r")
        terminal.type("echo rea''dy\r")
        terminal.wait_for("ready")
        terminal.type(f"lockswap compa\t --rwlock {first},{second[:-1]}\t\x01echo got: \x05 :end\r")
        line = terminal.wait_for(r"got: (lockswap compare[^\r\n]*) +:end\s*[\r\n]")
        assert " ".join(line.split()) == f"lockswap compare --rwlock {first},{second}"
    finally:
        terminal.close()
