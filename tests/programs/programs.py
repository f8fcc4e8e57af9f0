#!/usr/bin/env python3
"""Unmodified programs under the locks: no crash, no hang, the result of a run without the library, the lock was used.

    programs.py run BUILD CASE... [--locks A,B] [--once] [--under CHOICE,WAIT | --sample N | --all]
    programs.py list | packages | unpacked  [--quick | --full]

`run` without these takes two locks with wait policies and one choice with a mutex for each case, by the commit that
is checked out.
Exit status 1: a case failed; 2: wrong arguments; 77: no case ran, since the distribution lacks their packages.
"""

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "harness")]
sys.dont_write_bytecode = True

from suite.case import WAITS, Case, all_cases  # noqa: E402
from suite.choice import IN_A_SAMPLE, combinations, sample  # noqa: E402
from suite.place import Place, own_folder  # noqa: E402
from suite.stage import Under  # noqa: E402
from suite.trial import Trial  # noqa: E402

SKIPPED = 77


def at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run cases")
    run.add_argument("build", type=Path, help="the build folder")
    run.add_argument("cases", nargs="*", metavar="CASE", help="names of cases; default: the quick ones")
    run.add_argument("--locks", help="locks to choose from, with commas; default: all but pthread-wp")
    run.add_argument(
        "--once", action="store_true", help="once under each lock: the first one uncounted, others counted"
    )
    which = run.add_mutually_exclusive_group()
    which.add_argument("--under", help="CHOICE or CHOICE,WAIT; CHOICE is LOCK, mutex:MUTEX or LOCK+mutex:MUTEX")
    which.add_argument(
        "--sample", type=at_least_one, default=IN_A_SAMPLE, metavar="N", help="N choices, by the case (default: 3)"
    )
    which.add_argument(
        "--all", action="store_true", help="all locks, under all wait policies of the case; all mutexes; some of both"
    )
    for name, what in {
        "list": "names of the cases",
        "packages": "Debian packages to install",
        "unpacked": "Debian packages to unpack",
    }.items():
        sub = commands.add_parser(name, help=what)
        which = sub.add_mutually_exclusive_group()
        which.add_argument("--quick", action="store_true", help="of the quick cases")
        which.add_argument("--full", action="store_true", help="of the other cases")
    return parser.parse_args()


def locks_of(build: Path) -> tuple[list[str], list[str]]:
    """The library's rwlocks and mutexes. Not pthread-wp: under it recursive readers may deadlock, as it says. Nor
    auto, which is one of the others."""
    out = subprocess.run([build / "bin/lockswap-registry"], capture_output=True, text=True, check=True).stdout
    found = json.loads(out)
    rwlocks, mutexes = ([lock["name"] for lock in found[kind]] for kind in ("rwlocks", "mutexes"))
    return [name for name in rwlocks if name not in ("pthread-wp", "auto")], [
        name for name in mutexes if name != "auto"
    ]


def under(text: str) -> Under:
    lock, _, wait = text.partition(",")
    if wait not in ("", *WAITS):
        raise SystemExit(f"programs.py: --under {text}: '{wait}' is none of {', '.join(WAITS)}")
    return Under(lock, wait or "park")


def absent(build: Path, case: Case) -> list[str]:
    """What the case needs and the set-up found nowhere: packages, or a script of apps/fetch that failed."""
    file = build / "programs/absent"
    lines = set(file.read_text().splitlines()) if file.exists() else set()
    return sorted(lines & {*case.packages, *case.unpacked, f"fetch:{case.fetched}"})


def run(args: argparse.Namespace, known: dict[str, Case]) -> int:
    if unknown := [name for name in args.cases if name not in known]:
        print(f"programs.py: no case '{unknown[0]}' (there are: {', '.join(known)})", file=sys.stderr)
        return 2
    build = args.build.resolve()
    place = Place(build, build / "liblockswap.so")
    locks, mutexes = locks_of(build)
    if args.locks:
        locks = args.locks.split(",")
    good, ran = True, False
    for name in args.cases or [name for name, case in known.items() if case.quick]:
        case = known[name]
        if lacking := absent(build, case):
            print(f"skipped {name}: not to be had here: {', '.join(lacking)}", flush=True)
            continue
        ran = True
        # Another run of the case may go on side by side.
        folder, mark = own_folder(build / "programs/out" / name)
        if args.all:
            unders = combinations(case, locks, mutexes)
        elif args.under:
            unders = [under(args.under)]
        else:
            unders = sample(case, locks, mutexes, args.sample)
        with mark:
            good = Trial(place, case, folder).hold(unders, args.once) and good
    return SKIPPED if not ran else 0 if good else 1


def main() -> int:
    args = arguments()
    known = all_cases()
    if args.command == "run":
        # Ended from outside, it ends what it started.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return run(args, known)
    cases = [case for case in known.values() if not (args.quick and not case.quick) and not (args.full and case.quick)]
    if args.command == "list":
        print(*(case.name for case in cases), sep="\n")
    else:
        print(*sorted({package for case in cases for package in getattr(case, args.command)}), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
