"""A Prometheus scrapes `lockswap metrics --listen` and finds what was counted, with our alerts loaded."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from subject import ROOT, WAITS, environment, run

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]


@contextmanager
def started(command: list, **more: object) -> Iterator[subprocess.Popen]:
    with subprocess.Popen(command, stderr=subprocess.STDOUT, text=True, **more) as process:
        try:
            yield process
        finally:
            process.terminate()


def ask(address: str, path: str, **query: str) -> dict:
    with urllib.request.urlopen(f"http://{address}{path}?{urllib.parse.urlencode(query)}") as answer:
        return json.load(answer)["data"]


def until(found, log: Path) -> object:
    """The first answer that is not empty; Prometheus has minutes for it, on a machine that is busy."""
    for _ in range(240):
        try:
            if answer := found():
                return answer
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(log.read_text())


def test_what_prometheus_scrapes_was_counted(tmp_path: Path) -> None:
    files, log = tmp_path / "files", tmp_path / "log"
    files.mkdir()
    run(files, "mutex")
    listen = [sys.executable, "-m", "lockswap", "metrics", "--listen", "127.0.0.1:0", files]
    with started(listen, env=environment(), stdout=subprocess.PIPE) as server:
        address = re.search(r"http://(\S+)/metrics", server.stdout.readline())[1]
        config = tmp_path / "prometheus.yml"
        config.write_text(
            f"global: {{scrape_interval: 1s}}\nrule_files: [{ROOT}/packaging/monitoring/alerts.yml]\n"
            f"scrape_configs: [{{job_name: lockswap, static_configs: [{{targets: ['{address}']}}]}}]\n"
        )
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data"]
        with log.open("w") as out, started([*command, "--web.listen-address=127.0.0.1:0"], stdout=out):
            own = until(lambda: re.search(r"address=(127\.0\.0\.1:[1-9]\d*)", log.read_text()), log)[1]
            (target,) = until(lambda: ask(own, "/api/v1/targets")["activeTargets"], log)
            query = 'lockswap_wait_seconds_count{lock="waited"}'
            (series,) = until(lambda: ask(own, "/api/v1/query", query=query)["result"], log)
            (rules,) = ask(own, "/api/v1/rules")["groups"]
    assert float(series["value"][1]) == WAITS
    assert series["metric"]["program"] == "metrics_subject"
    assert target["labels"]["job"] == "lockswap"
    assert len(rules["rules"]) == 3
