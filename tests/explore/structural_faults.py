"""Plants the faults of structural_faults.toml, each of which a case of the explorer must find.

structural_faults.py BUILD-DIRECTORY [NAME...]; status 1 if one is missed, or an edit no longer fits the source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from patched import SOURCES, Explorer, write_overlay

TABLE = Path(__file__).with_name("structural_faults.toml")

# Comes first in each edited header.
SWITCH = """\
#ifndef LOCKSWAP_PLANTED_FAULT
#define LOCKSWAP_PLANTED_FAULT
#include <cstdlib>
#include <cstring>
namespace lockswap {
inline const char* const planted_fault = std::getenv("LOCKSWAP_PLANTED_FAULT");
inline bool planted(const char* name) { return planted_fault && std::strcmp(planted_fault, name) == 0; }
%s
}
#endif
"""


def edited(table: dict) -> dict[str, str]:
    """The headers with all edits in them; exits if one does not fit."""
    names = [f["name"] for f in table["fault"]]
    used: set[str] = set()

    def switch(match: re.Match[str]) -> str:
        used.add(match[1])
        return f"::lockswap::fault_{match[1]}"

    texts: dict[str, str] = {}
    for edit in table["edit"]:
        name, old, new = edit["file"], edit["old"].lstrip("\n"), edit["new"].lstrip("\n")
        text = texts.get(name) or (SOURCES / name).read_text(encoding="utf-8")
        if text.count(old) != 1:
            sys.exit(f"{TABLE.name}: this occurs {text.count(old)} times in {name}, not once:\n{old}")
        texts[name] = text.replace(old, re.sub(r"FAULT\((\w+)\)", switch, new))
    if used != set(names):
        sys.exit(f"{TABLE.name}: faults without an edit, or edits without a fault: {used ^ set(names)}")
    flags = "\n".join(f'inline const bool fault_{n} = planted("{n}");' for n in names)
    return {name: SWITCH % flags + text for name, text in texts.items()}


def main() -> int:
    build, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    failed = 0
    with tempfile.TemporaryDirectory(dir=build) as work:
        write_overlay(Path(work) / "src", edited(table))
        program = Explorer(build).build(Path(work) / "src", Path(work) / "explore")

        def judge(name: str, says: str, case: str, bounds: str | None, wanted: int) -> None:
            nonlocal failed
            command = [program, "run", "--quick", *(["--bounds", bounds] if bounds else []), f"={case}"]
            environment = {**os.environ, "LOCKSWAP_PLANTED_FAULT": name}
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            good = ran.returncode == wanted
            failed += not good
            right, wrong = ("found", "MISSED") if wanted == 1 else ("passes", "FAILED")
            print(f"{right if good else wrong:7} {says}: {case}", flush=True)
            if not good:
                print(ran.stdout + ran.stderr)

        # Without a fault the edited headers are the shipped ones.
        for case, bounds in sorted({(f.get("found_by", ""), f.get("bounds")) for f in table["fault"]}, key=str):
            if case:
                judge("none", "no fault planted", case, bounds, 0)
        for fault in table["fault"]:
            if chosen and fault["name"] not in chosen:
                continue
            case = fault.get("found_by")
            judge(fault["name"], fault["says"], case or fault["passes"], fault.get("bounds"), 1 if case else 0)
    print(f"{len(table['fault'])} structural faults and controls, {failed} not as they must be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
