"""`lockswap metrics`: what is printed is OpenMetrics, or Prometheus's text, and has what was counted."""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older_text
from subject import COUNTED, HELD_S, SUBJECT, WAITS, counting, environment, lockswap, run

from lockswap.metrics.exposition import OPENMETRICS, Scraped, render
from lockswap.metrics.folder import of_folder
from lockswap.metrics.labels import Labelled, Labels
from lockswap.metrics.record import BUCKETS, Counts, read

PACKAGING = Path(__file__).resolve().parents[2] / "packaging/monitoring"


def samples(text: str, parse=openmetrics) -> dict[tuple[str, str, str], float]:
    """By name, lock and bound; of one process."""
    return {
        (one.name, one.labels.get("lock", ""), one.labels.get("le", "")): one.value
        for family in parse(text)
        for one in family.samples
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(tmp_path, "mutex", "fail", "count", LOCKSWAP_METRICS_HOLDS="1")
    return tmp_path


@pytest.mark.parametrize(("option", "parse"), [((), openmetrics), (("--text",), older_text)])
def test_what_is_printed_was_counted(folder: Path, option: tuple, parse) -> None:
    done = lockswap(*option, folder)
    assert done.returncode == 0, done.stderr
    found = samples(done.stdout, parse)
    assert found["lockswap_acquisitions_total", "counted", ""] > COUNTED * 0.98
    assert found["lockswap_failed_tries_total", "tried", ""] == WAITS
    assert found["lockswap_wait_seconds_count", "waited", ""] == WAITS
    assert found["lockswap_wait_seconds_bucket", "waited", "+Inf"] == WAITS
    assert found["lockswap_wait_seconds_bucket", "waited", "0.005"] == 0
    assert found["lockswap_wait_seconds_sum", "waited", ""] > WAITS * HELD_S * 0.99
    assert found["lockswap_hold_seconds_count", "counted", ""] > COUNTED * 0.98
    assert found["lockswap_process_alive", "", ""] == 0


def test_the_units_are_said(folder: Path) -> None:
    families = {family.name: family for family in openmetrics(lockswap(folder).stdout)}
    assert families["lockswap_wait_seconds"].unit == "seconds"
    assert all(family.documentation for family in families.values())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian's prometheus)")
def test_promtool_finds_nothing(folder: Path) -> None:
    """It reads the older format alone."""
    text = lockswap("--text", folder).stdout
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian's prometheus)")
def test_promtool_takes_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", PACKAGING / "alerts.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 rules found" in done.stdout


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian's prometheus)")
def test_the_rules_fire_when_they_should() -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", Path(__file__).with_name("alerts_test.yml")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_board_and_the_rules_ask_for_metrics_that_there_are(folder: Path) -> None:
    printed = set(re.findall(r"# TYPE (\w+)", lockswap("--text", folder).stdout))
    for file in ("alerts.yml", "grafana.json"):
        asked = set(re.findall(r"\blockswap_\w+", (PACKAGING / file).read_text()))
        known = {name for name in asked if re.sub(r"_(bucket|sum|count)$", "", name) in printed}
        assert asked == known != set()


def test_stale_files_are_said_and_removed_on_request(folder: Path) -> None:
    done = lockswap(folder)
    assert "1 file of ended processes; --clean removes" in done.stderr
    with subprocess.Popen([SUBJECT, "count", "pause"], env=counting(folder), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = lockswap("--clean", folder)
        process.kill()
    assert "removed 1 file of ended processes" in done.stderr
    assert done.stdout.count("lockswap_process_info{") == 2
    assert [path.name for path in folder.iterdir()] == [f"{process.pid}.0.lockmetrics"]


def test_one_process(tmp_path: Path) -> None:
    with subprocess.Popen([SUBJECT, "count", "pause"], env=counting(tmp_path), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = lockswap(process.pid)
        process.kill()
    assert samples(done.stdout)["lockswap_process_alive", "", ""] == 1
    assert done.stderr == ""
    done = lockswap(os.getpid())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"process {os.getpid()} doesn't count for monitoring" in done.stderr


def test_a_damaged_file_hides_no_other(folder: Path) -> None:
    (folder / "1.0.lockmetrics").write_bytes(b"nonsense" * 30000)
    (folder / "2.0.lockmetrics").symlink_to("/etc/passwd")
    os.mkfifo(folder / "3.0.lockmetrics")
    done = lockswap(folder)
    assert done.returncode == 1
    assert samples(done.stdout)["lockswap_unreadable_files", "", ""] == 3
    assert samples(done.stdout)["lockswap_wait_seconds_count", "waited", ""] == WAITS
    assert done.stderr.count("is not a file of LOCKSWAP_METRICS") == 2
    assert lockswap(folder / "no").returncode == 2


def test_names_with_any_letters_are_escaped(folder: Path) -> None:
    (record,) = of_folder(folder).records
    name = 'operator"" \\_x\n'
    counts = {"exclusive": record.series[1].counts["exclusive"]}
    text = render([Scraped(record, None, [Labelled(name, "mutex", counts)])], 0)
    assert ("lockswap_acquisitions_total", name, "") in samples(text)


def test_a_server_answers_in_the_format_that_is_asked_for(folder: Path) -> None:
    command = [sys.executable, "-m", "lockswap", "metrics", "--listen", "127.0.0.1:0", folder]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://\S+", server.stdout.readline())[0]
            request = urllib.request.Request(address, headers={"Accept": "application/openmetrics-text"})
            with urllib.request.urlopen(request) as answer:
                assert answer.headers["Content-Type"] == OPENMETRICS
                assert samples(answer.read().decode())["lockswap_wait_seconds_count", "waited", ""] == WAITS
            with urllib.request.urlopen(address) as answer:
                assert samples(answer.read().decode(), older_text)["lockswap_process_alive", "", ""] == 0
        finally:
            server.terminate()


def cpu_s(act: Callable[[], object]) -> float:
    begin = time.process_time()
    act()
    return time.process_time() - begin


def count_to_100_000() -> None:
    for _ in range(100_000):
        pass


def test_a_scrape_of_ten_thousand_locks_takes_five_milliseconds(tmp_path: Path) -> None:
    """The processor time of a server's second scrape; names are looked up in the first. A processor that others heat up
    or share is slower, so it's compared with a loop, which takes 1.3 ms on the machine of the figures."""
    (record,) = run(tmp_path, "many", "more")
    labels = Labels()
    labels.of(record)

    def scrape() -> None:
        again = read(record.path)
        render([Scraped(again, True, labels.of(again))], 0)

    spent = [(cpu_s(scrape), cpu_s(count_to_100_000)) for _ in range(20)]
    scrapes, loops = zip(*spent, strict=True)
    assert min(scrapes) < 5 / 1.3 * min(loops), spent


def full_record() -> list[Labelled]:
    counts = Counts(1, 1, 1, 10**9, (1,) * BUCKETS, 10**9, (1,) * BUCKETS)
    return [Labelled(f"lock {n}", "rwlock", {"exclusive": counts, "shared": counts}) for n in range(201)]


def test_the_largest_scrape_has_a_bound(folder: Path) -> None:
    (record,) = of_folder(folder).records
    text = render([Scraped(record, True, full_record())], 0)
    assert len(samples(text)) > 0
    assert len(text) < 2_500_000
