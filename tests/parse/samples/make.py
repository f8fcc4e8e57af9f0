#!/usr/bin/env python3
"""Make the kept samples of what processes leave behind, from programs of the tests.

    make.py BUILD     writes profile-N.gz, calls-N.gz and audit-N.gz here, for the versions that BUILD writes

A sample of an older version stays as it is, and is removed when no reader takes it any more.
"""

import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {".lockprof": "profile", ".lockcalls": "calls"}
_CHUNK = 16 << 10
_VERSION_AT = 8  # behind the magic number
_PATH = re.compile(rb"/[\x21-\x7e]{4,}")


def without_paths(record: bytes) -> bytes:
    """Paths of this machine are no part of a sample."""

    def replace(match: re.Match[bytes]) -> bytes:
        new = b"/opt/" + Path(match[0].decode()).name.encode()
        return new.ljust(len(match[0]), b"\0") if len(new) <= len(match[0]) else match[0]

    return _PATH.sub(replace, record)


def keep(kind: str, file: Path) -> None:
    record = file.read_bytes()
    if kind == "calls":  # which grows by many chunks at a time
        record = record[: -(-len(record.rstrip(b"\0")) // _CHUNK) * _CHUNK]
    (version,) = struct.unpack_from("<I", record, _VERSION_AT)
    (HERE / f"{kind}-{version}.gz").write_bytes(gzip.compress(without_paths(record), 9, mtime=0))


def main(build: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for library, variable, value, command in (
            ("liblockswap.so", "LOCKSWAP_PROFILE", folder, ["tests/profile/profile_hot_locks", "killed"]),
            ("liblockswap.so", "LOCKSWAP_RECORD", folder, ["tests/calls/calls_subject", "killed"]),
            ("liblockswap-audit.so", "LOCKSWAP_AUDIT", f"{folder}/audit", ["tests/audit/audit_shared", "orders"]),
        ):
            if (build / library).exists():
                env = os.environ | {"LD_PRELOAD": str(build / library), variable: value}
                subprocess.run([build / command[0], *command[1:]], env=env, check=False)
        for file in sorted(Path(folder).iterdir()):
            keep("audit" if file.name.startswith("audit") else KINDS[file.suffix], file)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
