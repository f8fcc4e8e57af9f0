#!/usr/bin/python3
"""Runs a program on an emulated machine with several memory nodes, and ends with its status.

    run.py --nodes 4 nproc
    run.py --nodes 2 --rwlock cohort numactl --cpunodebind=1 build/tests/stress/rwlock_stress --seconds 5
    run.py --shape 0-4/5/- build/tests/machines/machine_view

Words of the command that are files here are files there, with the shared libraries that they need; busybox's
commands are there, too. Needs what './run.sh test --full' installs."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

import machine


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], usage="run.py [OPTIONS] COMMAND...")
    parser.add_argument("--nodes", type=int, default=2, metavar="N", help="memory nodes (2)")
    parser.add_argument("--cpus", type=int, default=8, metavar="N", help="CPUs, spread over the nodes (8)")
    parser.add_argument("--smt", type=int, default=1, metavar="N", help="hardware threads of a core (1)")
    parser.add_argument("--shape", metavar="LISTS", help="instead: the CPUs of each node, 0-2/3,4/-; - for none, last")
    parser.add_argument("--rwlock", metavar="NAME", help="run it under the library, with this lock")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="end the machine after that (120)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    known = parser.parse_args()
    if not known.command:
        parser.error("which command? For example: run.py --nodes 4 nproc")
    if known.shape is None and (known.nodes < 1 or known.cpus % known.nodes or known.cpus < known.nodes):
        parser.error("--cpus must be a multiple of --nodes")
    return known


def main() -> int:
    known = arguments()
    if known.shape is not None:
        shape = machine.Machine(tuple("" if node == "-" else node for node in known.shape.split("/")), known.smt)
    else:
        shape = machine.Machine.even(known.nodes, known.cpus, known.smt)
    words = [str(Path(word).absolute()) if Path(word).is_file() else word for word in known.command]
    words = [shutil.which(word) or word if word == "numactl" else word for word in words]
    files = {Path(word) for word in words if Path(word).is_file()}
    settings = {name: value for name, value in os.environ.items() if name.startswith(("LOCKSWAP_", "GLIBC_TUNABLES"))}
    if known.rwlock is not None:
        library = machine.BUILD / "liblockswap.so"
        files.add(library)
        settings |= {"LD_PRELOAD": str(library), "LOCKSWAP_RWLOCK": known.rwlock}
    job = shlex.join(["env", *(f"{name}={value}" for name, value in settings.items()), *words])
    try:
        return machine.run(shape, job, files, known.limit, show=True)[1]
    except machine.MachineError as problem:
        print(f"run.py: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
