#!/usr/bin/env python3
"""Measures what the tests find: plants each fault of faults.toml, and runs tests that the edit reaches until one fails.

power.py run [NAME...] [--tree FOLDER] [--most SECONDS]   all faults whose row is missing or old; or these
power.py summary                                          how many each tier finds, by part

The faults are planted in a worktree of its own with a build of its own, at the commit of this tree. The entries of
./run.sh test come first, then those that only --full runs; those with a name that the fault gives as near first, then
the cheapest. What failed runs again without the fault, and must pass then.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from faults import ROOT, Fault, Row, planted_together, read_faults, read_table, summary, write_table

AT_ONCE = 2
# What files of pytest run programs with, without naming it. A test of ctest has it in its command.
LIBRARIES = ("liblockswap.so", "liblockswap-audit.so", "liblockswap-fuzz.so", "liblockswap_api.so")


@dataclass(frozen=True)
class Step:
    """An entry in one of the two tiers."""

    entry: object
    tier: str
    cost: float
    select: str = ""  # only these tests of it


class Tree:
    """The worktree in which faults are planted, at this tree's commit, built."""

    def __init__(self, folder: Path) -> None:
        self.root, self.build = folder, folder / "build"
        commit = self._git(ROOT, "rev-parse", "HEAD")
        if not (folder / ".git").exists():
            self._git(ROOT, "worktree", "add", "--detach", str(folder), commit)
        self._git(folder, "checkout", "--quiet", "--force", "--detach", commit)
        subprocess.run(["./run.sh", "build"], cwd=folder, check=True)
        self.make("tests")
        sys.path.insert(0, str(folder / "tests/tiers"))
        import changed
        import costs
        import entries
        from graph import Graph
        from imports import Modules

        self.changed, self.costs, self.marked = changed, costs, entries.MARKED
        self.known = costs.read()
        self.entries = [e for e in entries.all_entries(self.build) if e.kind != "part"]
        self.graph, self.modules = Graph(self.build), Modules()

    @staticmethod
    def _git(folder: Path, *words: str) -> str:
        ran = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def make(self, *targets: str) -> None:
        command = ["nice", "-n", "12", "ninja", "-C", str(self.build), "-j", str(AT_ONCE), *targets]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise ValueError(f"does not build:\n{ran.stdout[-2000:]}")

    def steps(self, fault: Fault) -> tuple[list[Step], dict[str, list[str]]]:
        """What the edit reaches, in the order in which it is run; and what must be built for each."""
        found = self.changed.reached(self.entries, [fault.file], self.graph, self.modules)
        steps = []
        for entry in (*found.first, *found.others):
            tiers = [entry.tier]
            if entry.kind == "pytest" and entry.tier == "test":
                text = (self.root / entry.own_name).read_text(encoding="utf-8")
                tiers += ["full"] if "full" in self.marked.findall(text) else []
            steps += [Step(entry, tier, self.costs.cost_of(entry, tier, self.known)) for tier in tiers]

            if fault.select and fault.near[0] in entry.name and entry.kind == "pytest":
                steps.append(Step(entry, "test", 0, fault.select))

        def rank(step: Step) -> tuple[bool, bool, int, float]:
            near = [i for i, part in enumerate(fault.near) if part in step.entry.name]
            return step.tier == "full", not step.select, near[0] if near else len(fault.near), step.cost

        return sorted(steps, key=rank), found.targets

    def run(self, step: Step, log: Path, switched: str = "") -> tuple[bool, float]:
        """Whether it failed, and its CPU seconds. `switched`: the fault, in a build with several."""
        name = step.entry.own_name
        if step.entry.kind == "ctest":
            number = step.entry.number
            command = ["ctest", "--test-dir", str(self.build), "-I", f"{number},{number}", "--output-on-failure"]
            command += ["--no-tests=error"]
        else:
            marks = "not full and not alone" if step.tier == "test" else "full and not alone"
            command = [str(self.build / "venv/bin/python"), "-m", "pytest", "-q", "-x", "-m", marks, name]
            command += ["-k", step.select] if step.select else []
        environment = {key: value for key, value in os.environ.items() if key != "TEST_RECORD"}
        environment["PLANTED_FAULT"] = switched
        # Many faults are hangs. Nothing else should run beside this, so they are known sooner than in ./run.sh test.
        environment |= {"TEST_IDLE_SECONDS": "60", "TEST_CPU_SECONDS": "600"}
        with log.open("a", encoding="utf-8") as out:
            out.write(f"== {step.entry.name}\n")
            out.flush()
            words = {"stdout": out, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
            child = subprocess.Popen(["nice", "-n", "12", *command], cwd=self.root, env=environment, **words)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode not in (0, 5), used.ru_utime + used.ru_stime  # 5: the marks leave pytest nothing


def first_to_fail(
    tree: Tree, steps: list[Step], log: Path, most: float, switched: str = ""
) -> tuple[Step | None, float]:
    """The step that failed, if one did, and the CPU seconds until then."""
    left, running, spent = list(steps), {}, 0.0
    failed: list[Step] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while (left and not failed and spent < most) or running:
            while left and not failed and spent < most and len(running) < AT_ONCE:
                step = left.pop(0)
                # A log each, since two run at once.
                running[pool.submit(tree.run, step, log.with_suffix(f".{len(left)}"), switched)] = step
            done: set[Future] = wait(running, return_when=FIRST_COMPLETED).done
            for one in done:
                step = running.pop(one)
                is_failed, seconds = one.result()
                spent += seconds
                if is_failed:
                    failed.append(step)
    return (failed[0] if failed else None), spent


def plant(tree: Tree, fault: Fault, logs: Path, most: float, left_out: set[str]) -> tuple[Row, Step | None]:
    """Plants the fault, runs tests until one fails, and takes the fault out again."""
    file = tree.root / fault.file
    original = file.read_text(encoding="utf-8")
    steps, targets = tree.steps(fault)
    steps = [step for step in steps if step.entry.name not in left_out]
    built: set[str] = set()
    spent = 0.0
    try:
        file.write_text(fault.planted_in(tree.root), encoding="utf-8")
        for tier in ("test", "full"):
            left = [step for step in steps if step.tier == tier]
            # In groups, as most faults are found by the first ones, and the others need more to be built.
            while left:
                near = sum(any(part in step.entry.name for part in fault.near) for step in left)
                size = 1 if left[0].select else near or 12
                group, left = left[:size], left[size:]
                needed = {name for step in group for name in targets[step.entry.name]}
                if file.suffix != ".py" and any(step.entry.kind == "pytest" for step in group):
                    needed |= set(LIBRARIES)
                if needed - built:
                    built |= needed
                    tree.make(*sorted(needed))
                step, seconds = first_to_fail(tree, group, logs / f"{fault.name}.log", most - spent)
                spent += seconds
                if step is not None:
                    return Row(fault.name, fault.edit, tier, step.entry.name, spent), step
                if spent >= most:
                    print(f"   {fault.name}: {len(left)} entries of {tier} were not run", flush=True)
                    break
    finally:
        file.write_text(original, encoding="utf-8")
        if built:
            tree.make(*sorted(built))  # so that the next fault meets nothing of this one
    return Row(fault.name, fault.edit, "none", "-", spent), None


def find_together(tree: Tree, faults: list[Fault], logs: Path, options: argparse.Namespace) -> Iterator[Row]:
    """As find, with one build for all, of the entries that they give as near: those must do."""
    originals = {fault.file: (tree.root / fault.file).read_text(encoding="utf-8") for fault in faults}
    chosen: dict[str, list[Step]] = {}
    needed: set[str] = set()
    for fault in faults:
        steps, targets = tree.steps(fault)
        near = [s for s in steps if any(part in s.entry.name for part in fault.near)]
        chosen[fault.name] = [s for s in near if s.tier == "test"] or near
        needed |= {target for step in chosen[fault.name] for target in targets[step.entry.name]}
    sound: set[str] = set()
    try:
        for file, text in planted_together(faults, tree.root).items():
            (tree.root / file).write_text(text, encoding="utf-8")
        tree.make(*sorted(needed))
        for fault in faults:
            spent, left = 0.0, chosen[fault.name]
            while left:
                step, seconds = first_to_fail(tree, left, logs / f"{fault.name}.log", options.most - spent, fault.name)
                spent += seconds
                if step is None or step.entry.name in sound or not tree.run(step, logs / "control.log")[0]:
                    break
                print(f"   {step.entry.name} fails without a fault, too, and is left out", flush=True)
                left = left[left.index(step) + 1 :]
                step = None
            if step is None:
                print(f"   {fault.name}: nothing near finds it", flush=True)
                continue
            sound.add(step.entry.name)
            yield Row(fault.name, fault.edit, step.tier, step.entry.name, spent)
    finally:
        for file, text in originals.items():
            (tree.root / file).write_text(text, encoding="utf-8")
        tree.make(*sorted(needed))


def find(tree: Tree, fault: Fault, logs: Path, options: argparse.Namespace, sound: set[str], broken: set[str]) -> Row:
    """What failed has found the fault if it passes without. `sound` and `broken`: the entries that are known to."""
    for old in logs.glob(f"{fault.name}.*"):
        old.unlink()
    while True:
        row, step = plant(tree, fault, logs, options.most, broken)
        if step is None or step.entry.name in sound:
            return row
        if not tree.run(step, logs / "control.log")[0]:
            sound.add(step.entry.name)
            return row
        print(f"   {step.entry.name} fails without a fault, too, and is left out", flush=True)
        broken.add(step.entry.name)


def run(options: argparse.Namespace) -> int:
    faults, rows = read_faults(), read_table()
    unknown = set(options.names) - {fault.name for fault in faults}
    if unknown:
        raise ValueError(f"faults.toml has no {', '.join(sorted(unknown))}")
    chosen = [f for name in options.names for f in faults if f.name == name]
    if not options.names:
        chosen = [f for f in faults if f.name not in rows or rows[f.name].edit != f.edit or rows[f.name].tier == "none"]
    tree = Tree(options.tree.resolve())
    logs = tree.build / "power"
    logs.mkdir(parents=True, exist_ok=True)
    sound: set[str] = set()
    broken = {e.name for e in tree.entries if options.leave_out and re.search(options.leave_out, e.name)}
    names = {fault.name for fault in faults}

    def keep(row: Row) -> None:
        # Others may have written meanwhile.
        write_table({name: one for name, one in {**read_table(), row.name: row}.items() if name in names})
        print(f"{row.tier:5} {row.name}: {row.finder}, {row.seconds:.1f} CPU seconds", flush=True)

    together = [fault for fault in chosen if fault.switched] if options.together else []
    if together:
        for row in find_together(tree, together, logs, options):
            keep(row)
    for fault in chosen:
        if fault in together:
            continue
        try:
            keep(find(tree, fault, logs, options, sound, broken))
        except ValueError as error:
            print(f"!! {fault.name}: {error}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("names", nargs="*", metavar="NAME")
    runs.add_argument("--tree", type=Path, default=ROOT / "build/power/tree", metavar="FOLDER")
    runs.add_argument("--together", action="store_true", help="one build for all faults that have a switched form")
    runs.add_argument("--leave-out", metavar="REGEX", help="entries that can't pass here, such as '^ctest:programs/'")
    runs.add_argument(
        "--most", type=float, default=float("inf"), metavar="SECONDS", help="CPU seconds of tests a fault"
    )
    commands.add_parser("summary")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the fault is taken out
    try:
        if options.command == "run":
            return run(options)
        print("\n".join(summary(read_faults(), read_table())))
        return 0
    except ValueError as error:
        print(f"power.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
