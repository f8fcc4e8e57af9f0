"""`lockswap audit`: run a program on glibc's locks, and say what matters before they are swapped."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from lockswap.audit import elf, report, verdict
from lockswap.audit.findings import Audit
from lockswap.base.errors import UserError
from lockswap.base.files import check_can_be_written
from lockswap.base.paths import Paths
from lockswap.run import children, extra_preload, passing_on, preload_order, program, sanitizer
from lockswap.run.ended import Ended
from lockswap.run.preload import clean_environment, ld_preload

FOUND = 3  # exit status of --fail-on-findings, as of compare's --fail-below
_AT_ONCE = 500  # files for one call of the reader


def run(
    paths: Paths,
    command: list[str],
    as_json: bool,
    out: Path | None,
    fail_on_findings: bool,
    preload: Sequence[str] = (),
    preload_first: Sequence[str] = (),
    junit: Path | None = None,
) -> int:
    """Returns the program's exit status (128 + N after signal N), or FOUND."""
    path = program.resolve(command[0])
    library, reader = paths.audit_library, paths.audit_reader
    for option, file in (("--out", out), ("--junit", junit)):
        if file is not None:
            check_can_be_written(option, file)
    before, others = (
        [*sanitizer.runtimes(command), *extra_preload.first(preload_first)],
        extra_preload.resolve(preload),
    )
    hindrances = elf.hindrances(Path(path))
    for hindrance in hindrances:
        print(f"lockswap: warning: {hindrance}", file=sys.stderr)

    with tempfile.TemporaryDirectory(prefix="lockswap-audit-") as folder:
        record = Path(folder) / "record"
        env = _environment(library, record, others, before)
        env |= sanitizer.variables(env, command)
        for warning in preload_order.warnings(env["LD_PRELOAD"], library):
            print(f"lockswap: warning: {warning}", file=sys.stderr)
        status = passing_on.run(path, command, env).returncode
        processes = _read(reader, [one for one in sorted(Path(folder).iterdir()) if one.suffix != children.SUFFIX])
        signalled = children.read(record, processes)
    ended = Ended(command, status, seen=frozenset(one["program"] for one in processes))
    shell = program.shell_of(Path(path))
    audit = Audit(
        command,
        ended.shell_status,
        processes,
        hindrances,
        shell,
        ended.in_words(),
        never_started=bool(ended.not_started),
        signalled=signalled,
    )
    text = report.as_json(audit) if as_json else report.as_text(audit, out is not None)
    if out is None:
        print(text, file=sys.stderr, end="")
    else:
        out.write_text(text, encoding="utf-8")
        print(f"lockswap audit: {verdict.summary(audit)}; the report is in {out}", file=sys.stderr)
    if junit is not None:
        junit.write_text(report.as_junit(audit), encoding="utf-8")
    return FOUND if fail_on_findings and status == 0 and verdict.is_failure(audit) else ended.shell_status


def _environment(library: Path, record: Path, others: Iterable[str], first: Iterable[str]) -> dict[str, str]:
    env = {key: value for key, value in clean_environment(os.environ).items() if not key.startswith("LOCKSWAP_")}
    before = env.get("LD_PRELOAD", "").replace(":", " ").split()
    before = [entry for entry in before if Path(entry).name != "liblockswap.so"]
    env["LD_PRELOAD"] = ld_preload(library, ":".join(before), others, first)
    env["LOCKSWAP_AUDIT"] = str(record)
    return env


def _read(reader: Path, files: list[Path]) -> list[dict]:
    found: list[dict] = []
    for start in range(0, len(files), _AT_ONCE):
        done = subprocess.run([reader, *files[start : start + _AT_ONCE]], capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{done.stderr.strip()}; rebuild with './run.sh build'")
        found += json.loads(done.stdout)["processes"]
    return [one | {"running": not one["ended"] and Path(f"/proc/{one['pid']}").exists()} for one in found]
