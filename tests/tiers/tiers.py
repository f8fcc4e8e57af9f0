#!/usr/bin/env python3
"""The tiers of the tests: README.md. scripts/test.sh calls this.

tiers.py BUILD plan FOLDER [--slice K/N] [--again]    of the full tier, what this tree lacks, or that slice of it
tiers.py BUILD changed FOLDER [--base BASE]           what an edit reaches, at quick depth
tiers.py BUILD passed PART | by-output JUNIT          add to what was run of this tree
tiers.py BUILD report                                 what the last run of `test` cost, against the record
tiers.py BUILD record test|full                       write that to tests/costs.tsv

plan and changed write to FOLDER: `ctest`, for its option -I; `pytest`, files; `parts`; `targets`, what must be built;
`locks`, for try; `state`, the file that takes the results.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import changed
import costs
import slices
import state
from entries import Entry, all_entries
from graph import Graph
from imports import Modules


def write_plan(folder: Path, chosen: list[Entry]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    numbers = sorted(entry.number for entry in chosen if entry.kind == "ctest")
    # Start, end, stride, and then the numbers: an end before the start leaves these alone.
    (folder / "ctest").write_text(f"1,0,1,{','.join(map(str, numbers))}\n" if numbers else "")
    for kind in ("pytest", "part"):
        names = [entry.own_name for entry in chosen if entry.kind == kind]
        (folder / ("parts" if kind == "part" else kind)).write_text("".join(f"{name}\n" for name in names))


def plan(build: Path, options: argparse.Namespace) -> int:
    known, entries = costs.read(), all_entries(build)
    file = state.file_of(build)
    if options.again:
        file.unlink()
        file = state.file_of(build)
    of_slice, which = entries, ""
    if options.slice:
        k, n = slices.parse(options.slice)
        of_slice, which = slices.cut(entries, n, known)[k - 1], f", slice {k} of {n}"
    left = state.left(of_slice, file)
    write_plan(options.folder, left)
    (options.folder / "state").write_text(f"{file}\n")
    seconds = costs.total(left, "full", known)
    unknown = sum(("full", e.name) not in known and (e.tier, e.name) not in known for e in left)
    done = len(of_slice) - len(left)
    not_known = f" ({unknown} are not recorded)" if unknown else ""
    print(f"== tree {file.stem}{which}: {done} of {len(of_slice)} entries have passed")
    print(f"== {len(left)} to run, some {seconds:.0f} CPU seconds by the record{not_known}")
    print(f"== results are kept in {file}; an interrupted run goes on from there")
    return 0


def plan_changed(build: Path, options: argparse.Namespace) -> int:
    base, files = changed.changed_files(options.base)
    known, entries = costs.read(), all_entries(build)
    found = changed.reached(entries, files, Graph(build), Modules())
    chosen = changed.choose(found, known, changed.budget_for(files))
    locks = changed.headers_of(files)
    write_plan(options.folder, chosen)
    targets = {target for entry in chosen for target in found.targets[entry.name]}
    (options.folder / "targets").write_text("".join(f"{name}\n" for name in sorted(targets)))
    (options.folder / "locks").write_text("".join(f"{name}\n" for name in locks[: changed.MOST_TRIED]))
    (options.folder / "files").write_text("".join(f"{name}\n" for name in files))
    reached = [*found.first, *found.others]
    of_test = [entry for entry in reached if entry.tier == "test"]
    print(f"== {len(files)} files differ from {base}")
    print(f"== they reach {len(of_test)} entries of test, {len(reached)} of test --full")
    tried = f", and tries {', '.join(locks[: changed.MOST_TRIED])}" if locks else ""
    print(f"== this runs {len(chosen)} entries, some {costs.total(chosen, 'test', known):.0f} CPU seconds{tried}")
    whole, full = costs.total(of_test, "test", known), costs.total(reached, "full", known)
    print(f"== whole depth: all that they reach takes {whole:.0f} CPU seconds in test, {full:.0f} in test --full")
    return 0


def passed(build: Path, options: argparse.Namespace) -> int:
    state.add(state.file_of(build), "passed", f"part:{options.part}")
    return 0


def by_output(build: Path, options: argparse.Namespace) -> int:
    """Those that ctest judges by their output: what measured them doesn't know how they ended."""
    names = {entry.own_name for entry in all_entries(build) if entry.by_output}
    for case in ET.parse(options.junit).getroot().iter("testcase"):
        if case.get("name") in names and case.get("status") == "run":
            state.add(Path(options.state), "passed", f"ctest:{case.get('name')}", 0, float(case.get("time", "0")))
    return 0


def last_run(build: Path, tier: str) -> costs.Costs:
    file = build / "tested/test.tsv" if tier == "test" else state.file_of(build)
    return {key: cpu for key, cpu in state.measured(file, tier).items() if not key[1].startswith("part:")}


def report(build: Path, _: argparse.Namespace) -> int:
    lines = costs.dearer(last_run(build, "test"), costs.read())
    if lines:
        print(f"== dearer than tests/costs.tsv says, {len(lines)} entries (tests/tiers/README.md):")
        print("\n".join(f"   {line}" for line in lines[:10]))
        if len(lines) > 10:
            print(f"   and {len(lines) - 10} more")
    return 0


def record(build: Path, options: argparse.Namespace) -> int:
    """Entries that are gone lose their lines; those that didn't run keep them."""
    there = {entry.name for entry in all_entries(build)}
    kept = {key: seconds for key, seconds in costs.read().items() if key[1] in there}
    costs.write(kept | last_run(build, options.tier))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run) -> argparse.ArgumentParser:
        made = commands.add_parser(name)
        made.set_defaults(run=run)
        return made

    full = command("plan", plan)
    full.add_argument("folder", type=Path)
    full.add_argument("--slice")
    full.add_argument("--again", action="store_true")
    edit = command("changed", plan_changed)
    edit.add_argument("folder", type=Path)
    edit.add_argument("--base")
    command("passed", passed).add_argument("part")
    outputs = command("by-output", by_output)
    outputs.add_argument("junit")
    outputs.add_argument("state")
    command("report", report)
    command("record", record).add_argument("tier", choices=("test", "full"))
    options = parser.parse_args()
    try:
        return options.run(options.build, options)
    except ValueError as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
