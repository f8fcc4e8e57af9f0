"""`lockswap policy check`: run a program with a policy, and show what each rule matched."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lockswap.base.paths import Paths
from lockswap.policy import arms, places
from lockswap.run import extra_preload, passing_on, program, sanitizer
from lockswap.run.preload import STRICT, clean_environment, ld_preload

_MOST_PLACES = 12  # of a rule, in the text


def run(paths: Paths, rules: str, command: list[str], as_json: bool, preload_first: Sequence[str] = ()) -> int:
    """Returns the program's exit status (128 + N after signal N)."""
    path = program.resolve(command[0])
    for warning in [*program.hindrances(Path(path)), *sanitizer.warnings(command)]:
        print(f"lockswap: warning: {warning}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="lockswap-policy-") as folder:
        env = {key: value for key, value in clean_environment(os.environ).items() if key not in _SET_HERE}
        first = [*sanitizer.runtimes(command), *extra_preload.first(preload_first)]
        env["LD_PRELOAD"] = ld_preload(paths.library, env.get("LD_PRELOAD", ""), [str(paths.stats_on_signal)], first)
        env |= sanitizer.variables(env, command)
        env["LOCKSWAP_POLICY"] = str(arms.found(paths, rules) or rules)
        env["LOCKSWAP_STATS"] = f"{folder}/stats"
        env[STRICT] = "1"
        status = passing_on.run(path, command, env).returncode
        found = [json.loads(file.read_text()) for file in sorted(Path(folder).iterdir())]
    processes = [one for one in found if one["policy"] is not None]
    if not processes and status == 0:
        print("lockswap policy: no process left a report; none took a lock, or all bypass it", file=sys.stderr)
    # Stdout is the program's.
    print(json.dumps(processes, indent=1) + "\n" if as_json else as_text(processes), file=sys.stderr, end="")
    return status if status >= 0 else 128 - status


# What this command says itself; a policy goes with no lock for all.
_SET_HERE = ("LOCKSWAP_POLICY", "LOCKSWAP_STATS", "LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX")


def as_text(processes: list[dict]) -> str:
    names = places.Names(place for one in processes for place in one["policy"]["places"])
    return "".join(_process(one, names) for one in processes)


def _process(one: dict, names: places.Names) -> str:
    policy = one["policy"]
    lines = [f"lockswap policy: {one['program']} (pid {one['pid']})"]
    matched = [(f"line {rule['line']}: {rule['rule']}", rule, n) for n, rule in enumerate(policy["rules"])]
    for title, counts, number in [*matched, ("matched by no rule: glibc's", policy["rest"], None)]:
        lines.append(f"  {title}: {_objects(counts)}")
        mine = [place for place in policy["places"] if place["rule"] == number]
        mine.sort(key=lambda place: -place["objects"])
        lines += [f"    {place['objects']:>7} {place['kind']:<6} {names.text(place)}" for place in mine[:_MOST_PLACES]]
        if len(mine) > _MOST_PLACES:
            lines.append(f"    and {len(mine) - _MOST_PLACES} more call sites; --json has them")
    if policy["other_places"]:
        lines.append(f"  {policy['other_places']} more objects, whose call sites found no room")
    return "\n".join(lines) + "\n"


def _objects(counts: dict) -> str:
    if not counts["rwlocks"] and not counts["mutexes"]:
        return "nothing"
    words = [(counts["rwlocks"], "rwlock", "rwlocks"), (counts["mutexes"], "mutex", "mutexes")]
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in words if n)
