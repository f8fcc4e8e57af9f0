"""What raw.csv keeps of a run, and what a run's account says."""

import pytest

from lockswap.records.folder import Folder, RawWriter
from lockswap.records.row import Row
from lockswap.run import perf, usage


def row(run: int, ops: float) -> Row:
    return Row(run, 1, "w", "ba", 2, "ok", numbers={"wall_s": 1.0}, metrics={"ops": ops})


def test_rows_are_kept_over_an_interrupt(tmp_path):
    written = [row(1, 1_234_567.0), row(2, 0.1234567), row(3, 98_765.43)]
    for one in written:  # as a campaign that is resumed after each run
        writer = RawWriter(Folder(tmp_path), ["ops"])
        writer.add(one)
        writer.close()
    assert Folder(tmp_path).rows() == written
    assert Folder(tmp_path).raw.read_text().count("workload") == 1


def test_perf_s_processor_time_goes_before_the_kernel_s(tmp_path):
    account, counted = tmp_path / "account", tmp_path / "counted"
    account.write_text(
        "pid 7\nwall_ns 2000000000\nuser_s 1.5\nsys_s 0.25\nswitches_voluntary 3\nswitches_involuntary 4\n"
        "faults_minor 5\nfaults_major 6\nexit 0\n"
    )
    plain = usage.of(account)
    assert (plain["wall_s"], plain["cpu_s"]) == (2, 1.75)
    assert (plain["context_switches"], plain["page_faults"]) == (7, 11)
    counted.write_text("1250.5,msec,task-clock:u,1,100.00,,\n9,,context-switches,1,100.00,,\n")
    by_perf = usage.of(account, counted)
    assert by_perf["cpu_s"] == pytest.approx(1.2505) and by_perf["context_switches"] == 9


def test_perf_output_is_understood():
    text = "# started on x\n\n12.5,msec,task-clock:u,1,100.00,,\n3,,context-switches,1,100.00,,\n"
    text += "<not supported>,,cycles,0,,,\n"
    assert perf.parse(text) == {"task-clock": 12.5, "context-switches": 3}
