#!/usr/bin/env python3
"""Runs the tests of the aarch64 build under the emulator, with one libc after the other.

    run.py BUILD JOBS ROOT...

BUILD is the cross build, a ROOT has the files of a system for aarch64; TESTS_EMULATOR runs its programs. Each lock has
a sample of the cases of conformance, which is another one under each ROOT.
skipped.toml says what is left out: the run fails if it names a case that there is not, or more than one in twenty.
Exit status 1 if anything fails.
"""

import os
import re
import resource
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST_SKIPPED = 1 / 20
SUITES = {
    "unit": r"^unit/(parts|batches)$",
    "stacks": r"^aarch64/stacks$",
    "conformance": r"^conformance/",
    "life": r"^life/",
}


def listed(program: Path, *arguments: str) -> list[str]:
    """Googletest's cases in a program."""
    command = [os.environ["TESTS_EMULATOR"], str(program), "--gtest_list_tests", *arguments]
    suite, cases = "", []
    # The status is ignored: conformance programs run a single case, and fail when several are listed.
    for line in subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines():
        if line.startswith(" "):
            cases.append(suite + line.split("#")[0].strip())
        elif line.endswith("."):
            suite = line
    return cases


def all_cases(build: Path) -> dict[str, list[str]]:
    conformance = [build / "tests/conformance" / name for name in ("rwlock_conformance", "mutex_conformance")]
    return {
        "unit": listed(build / "tests/unit/unit_tests"),
        "conformance": [case for program in conformance for case in listed(program, "--case", "*", "")],
        "life": [
            f"{file.stem}.{name}"
            for file in sorted((HERE.parent / "life").glob("*.py"))
            for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
        ],
    }


def left_out(build: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Names by suite, and what is wrong with the file."""
    names: dict[str, list[str]] = {}
    wrong = []
    cases = all_cases(build)
    for entry in tomllib.loads((HERE / "skipped.toml").read_text())["skipped"]:
        if not entry["reason"].strip():
            wrong.append(f"{entry['cases']} have no reason")
        for case in entry["cases"]:
            if case not in cases[entry["suite"]]:
                wrong.append(f"{entry['suite']} has no case {case} any more")
            names.setdefault(entry["suite"], []).append(case)
    skipped, there = sum(map(len, names.values())), sum(map(len, cases.values()))
    print(f"{skipped} of {there} cases are left out, see tests/aarch64/skipped.toml")
    if skipped > there * MOST_SKIPPED:
        wrong.append(f"{skipped} of {there} cases are skipped: at most one in twenty may be")
    return names, wrong


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0  # by the cases themselves
    cpu: float = 0
    wall: float = 0
    broken: list[str] = field(default_factory=list)  # ctest's tests

    def read(self, line: str) -> None:
        """Counts what the programs say of their cases."""
        if said := re.search(r": (\d+) cases passed, (\d+) failed, (\d+) skipped", line):
            passed, failed, skipped = map(int, said.groups())
        elif said := re.search(r"\[  (PASSED|FAILED|SKIPPED) *\] (\d+) tests?\b", line):
            count = int(said[2])
            passed, failed, skipped = (count if said[1] == what else 0 for what in ("PASSED", "FAILED", "SKIPPED"))
        elif re.search(r": \d+ of \d+ stacks have", line):
            passed, failed, skipped = 1, 0, 0
        elif said := re.match(r"\d+: (ok     |FAILED |skipped) .*\(\d+\.\d s\)", line):
            passed, failed, skipped = (int(said[1].strip() == what) for what in ("ok", "FAILED", "skipped"))
        else:
            return
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped


def run(build: Path, jobs: str, tests: str, environment: dict[str, str], log: Path) -> Result:
    result = Result()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = ["ctest", "--test-dir", str(build), "-V", "-j", jobs, "-LE", "^full$", "-R", tests, "--no-tests=error"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result.wall = time.monotonic() - start
    log.write_text(done.stdout + done.stderr)
    for line in done.stdout.splitlines():
        result.read(line)
        if broken := re.match(r"\s*\d+/\d+ Test +#\d+: (\S+) [. ]*\*\*\*(?!Skipped)(\w+)", line):
            result.broken.append(f"{broken[1]}: {broken[2]}")
    if done.returncode != 0 and not result.broken:
        result.broken.append(f"ctest: status {done.returncode}")
    return result


def main() -> int:
    if len(sys.argv) < 4:
        print("usage: run.py BUILD JOBS ROOT...", file=sys.stderr)
        return 2
    build, jobs, roots = Path(sys.argv[1]).resolve(), sys.argv[2], [Path(root).resolve() for root in sys.argv[3:]]
    os.environ["QEMU_LD_PREFIX"] = str(roots[0])
    names, wrong = left_out(build)
    table = []
    for number, root in enumerate(roots):
        for suite, tests in SUITES.items():
            environment = {"QEMU_LD_PREFIX": str(root), "TESTS_WITHOUT": ":".join(names.get(suite, []))}
            environment["TESTS_SAMPLE"] = str(number % 4)
            if suite == "unit":
                environment["GTEST_FILTER"] = "-" + environment["TESTS_WITHOUT"]
            log = build.parent / f"{root.name}-{suite}.log"
            result = run(build, jobs, tests, environment, log)
            wrong += [f"{root.name}: {what} (see {log})" for what in result.broken]
            table.append(
                f"{suite:12} {root.name:10} {result.passed:7} {result.failed:7} {len(names.get(suite, [])):9} "
                f"{result.skipped:8} {result.cpu:7.0f} {result.wall:7.0f}"
            )
            print(f"{root.name}, {suite}: {'failed' if result.broken else 'passed'} ({result.wall:.0f} s)", flush=True)
    print("\nsuite        libc        passed  failed  left out  skipped   CPU s  wall s")
    print("\n".join(table))
    for line in wrong:
        print(f"FAILED {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
