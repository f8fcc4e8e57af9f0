"""The list of survivors: how it names places, and what the tests that read it pass on."""

import subprocess
import sys
from pathlib import Path

import orders
import pytest
import survivors
from patched import SOURCES

SOURCE = """\
  template <class F>
  [[gnu::noinline]] bool wait(std::uint32_t target,
                              const Deadline* deadline) noexcept {
    for (int i = 0; i != 3; ++i) {
      if (rout_.load(acquire) == target) return true;
    }
    return W::until(rout_, acquire, deadline, [&](std::uint32_t v) {
      return done(v);
    });
  }
  static constexpr Order kLook = seq_cst;  // of a look
  bool has_writer() const noexcept { return rin_.load(acquire) != 0; }
""".splitlines()


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("rout_.load", "wait"),
        ("W::until", "wait"),
        ("done(v)", "wait"),
        ("kLook", "kLook"),
        ("rin_.load", "has_writer"),
    ],
)
def test_a_line_is_named_by_what_is_around_it(words, function):
    line = next(i for i, text in enumerate(SOURCE) if words in text)
    assert survivors.function_at(SOURCE, line) == function


def test_a_file_is_named_with_as_many_folders_as_it_takes():
    assert survivors.is_file("locks/rw/cohort.h", "cohort.h")
    assert survivors.is_file("locks/rw/cohort.h", "rw/cohort.h")
    assert not survivors.is_file("locks/mutex/cohort.h", "rw/cohort.h")
    assert not survivors.is_file("locks/mutex/node_cohort.h", "cohort.h")


def test_a_listed_file_is_one_file():
    example = SOURCES.parent / "tests/example_lock"  # which the explorer switches to
    headers = [h.relative_to(folder).as_posix() for folder in (SOURCES, example) for h in folder.rglob("*.h")]
    listed = survivors.read_list()
    entries = [o for group in listed["survivors"] for o in group["orders"]]
    for entry in [*entries, *listed["untried"], *listed["random_changes"]]:
        assert len([h for h in headers if survivors.is_file(h, entry["file"])]) == 1, entry


def test_an_untried_order_that_is_not_listed_is_reported_and_a_stale_row_too():
    places = "\n".join(f"place    {s.file} f: load  {s.file}:{s.last}" for s in orders.statements_with_orders())
    assert orders.never_tried(places, []) == []
    stale = {"file": "rw/ba.h", "function": "gone", "from": "acquire"}
    assert orders.never_tried(places, [stale]) == ["LISTED AS UNTRIED, but it is tried or gone: rw/ba.h gone: acquire"]
    without = "\n".join(line for line in places.splitlines() if "quiescence.h:" not in line)
    missing = orders.never_tried(without, [])
    assert missing
    assert all(line.startswith("NOT TRIED, NOT LISTED  readers/quiescence.h:") for line in missing)


def fake_explorer(build: Path) -> None:
    program = build / "bin/lockswap-explore"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >>{build}/calls\n', encoding="utf-8")
    program.chmod(0o755)


def run_orders(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, orders.__file__, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("limit", "number"), [("--seconds", 2.5), ("--executions", 20000000)])
def test_orders_passes_the_limit_on(tmp_path, limit, number):
    fake_explorer(tmp_path)
    run_orders(limit, number, tmp_path)
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert len(calls) == 1 and calls[0].endswith(f" {limit} {number}") and " --jobs 2" in calls[0]


@pytest.mark.parametrize("limit", ["--seconds", "--executions"])
@pytest.mark.parametrize("number", ["0", "-1", "soon"])
def test_orders_refuses_what_is_no_limit(tmp_path, limit, number):
    ran = run_orders(limit, number, tmp_path)
    assert ran.returncode == 2
    assert limit in ran.stderr


def test_orders_says_in_its_help_what_the_limit_is_of():
    assert "each weakened order in N executions at most" in " ".join(run_orders("--help").stdout.split())
