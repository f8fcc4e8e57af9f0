#!/usr/bin/env python3
"""Clone and do what the README's first block says, up to the first table of one's own program under three locks.

    first_table.py [--built]

Prints each command with the seconds that it took. `--built`: the build is that of this tree instead of a new one.
Fails if there are more than 6 commands, if a new build and all else take more than 4 minutes, or if there is no table.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_COMMANDS = 6
MOST_SECONDS = 240
LOCKS = 3
BUILD = "./run.sh build"
# What a user has: a program that takes a lock, and says nothing of it.
PROGRAM = r"""
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long shared;
static void* work(void* seen) {
  for (int i = 0; i < 400000; ++i) {
    if (i % 10 == 0) {
      pthread_rwlock_wrlock(&lock);
      ++shared;
    } else {
      pthread_rwlock_rdlock(&lock);
      *(long*)seen += shared;
    }
    pthread_rwlock_unlock(&lock);
  }
  return seen;
}
int main(void) {
  long seen[2] = {0};
  pthread_t other;
  pthread_create(&other, NULL, work, &seen[1]);
  work(&seen[0]);
  return pthread_join(other, NULL);
}
"""


@dataclass(frozen=True)
class Step:
    command: str
    seconds: float
    output: str


def commands(readme: str) -> list[str]:
    """Those of the first indented block, one a line."""
    block = re.search(r"(?:^    \S.*\n)+", readme.replace("\\\n", " "), re.MULTILINE)
    assert block, "the README has no indented block"
    return [line.strip() for line in block[0].splitlines()]


def for_own_program(line: list[str], program: Path) -> list[str]:
    """In a clone, with one's program in the place of ours and no --metric, so that its time counts."""
    *others, last = line
    compare = re.sub(r" +--metric '[^']*'", "", last.partition(" -- ")[0])
    return [f"git clone {shlex.quote(str(ROOT))} lockswap", "cd lockswap", *others, f"{compare} -- {program}"]


def environment() -> dict[str, str]:
    """A newcomer's: no compiler cache, nothing that knows lockswap."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LOCKSWAP_", "CCACHE_", "CMAKE_"))}
    # A clone of another user's checkout; a newcomer clones from elsewhere.
    trusting = {"GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("trusting.gitconfig"))}
    return env | trusting | {"CCACHE_DISABLE": "1", "COLUMNS": "120"}


def steps(line: list[str], folder: Path, built: bool) -> list[Step]:
    done = []
    for command in line:
        began = time.monotonic()
        output = ""
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
        elif built and command == BUILD:
            (folder / "build").symlink_to(ROOT / "build")
        else:
            ran = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment(),
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            )
            output = ran.stdout
            assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        done.append(Step(command, time.monotonic() - began, output))
        print(f"{done[-1].seconds:7.1f} s  {command}", flush=True)
    return done


def check(done: list[Step], built: bool) -> None:
    *_, last = done
    named = re.search(r"--rwlock (\S+)", last.command)
    assert named, last.command
    locks = named[1].split(",")
    assert len(locks) == LOCKS, locks
    columns = [line.split() for line in last.output.splitlines() if line.startswith("rwlocks vs glibc's ")]
    assert columns and columns[0][3:] == locks, f"no picture with columns for {locks}:\n{last.output}"
    verdict = last.output.splitlines()[-1]
    assert verdict.startswith(("Use ", "Keep ", "Can't tell: ")), verdict
    assert len(done) <= MOST_COMMANDS, f"{len(done)} commands, {MOST_COMMANDS} at most"
    seconds = sum(step.seconds for step in done)
    print(f"{seconds:7.1f} s  {len(done)} commands")
    assert built or seconds <= MOST_SECONDS, f"{seconds:.0f} s, {MOST_SECONDS} at most"


def main(built: bool, more: str = "") -> None:
    """`more`: options for the comparison, to make it shorter."""
    with tempfile.TemporaryDirectory(prefix="first-table-", dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "own.c").write_text(PROGRAM)
        subprocess.run(["cc", "-O2", "-pthread", "-o", "own", "own.c"], cwd=folder, check=True)
        line = for_own_program(commands((ROOT / "README.md").read_text(encoding="utf-8")), folder / "own")
        line[-1] = line[-1].replace(" -- ", f"{more} -- ")
        check(steps(line, folder, built), built)


if __name__ == "__main__":
    main("--built" in sys.argv[1:])
