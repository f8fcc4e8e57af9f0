"""`lockswap top` of a process that counts for monitoring."""

import re
import subprocess
import sys
from pathlib import Path

from subject import SUBJECT, counting, environment, run

from lockswap.metrics.labels import Labels
from lockswap.metrics.top import as_text, rows


def test_the_longest_waits_come_first(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "mutex", "read")
    found = rows([], Labels().of(record))
    assert {row.lock.lock for row in found[:2]} == {"waited", "shared"}
    text = as_text(record.pid, found, record, 1.0, 10)
    assert re.search(r"^ +\d+\.\d\d +\d +11 +- +[≤>][\d.]+ m?s  mutex waited$", text, re.MULTILINE), text
    assert re.search(r"^ +\d+\.\d\d +\d +11 +55 % +[≤>][\d.]+ m?s  rwlock shared$", text, re.MULTILINE), text


def test_a_table_of_a_running_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lockswap", "top", "--count", "1", "--interval", "0.2"]
    with subprocess.Popen([SUBJECT, "count", "pause"], env=counting(tmp_path), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = subprocess.run([*command, str(process.pid)], capture_output=True, text=True, env=environment())
        process.kill()
    assert done.returncode == 0, done.stderr
    assert f"metrics_subject (process {process.pid}), by its counts for monitoring" in done.stdout
    assert "no lock was taken" in done.stdout
