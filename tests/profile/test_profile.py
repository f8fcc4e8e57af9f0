"""`lockswap profile`: a lock that is made hot, and the line that holds it, come first; the counts are what happened."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import command_server  # noqa: E402

BUILD = ROOT / "build"
PROGRAMS = BUILD / "tests/profile"
HOT = PROGRAMS / "profile_hot_locks"
WRAPPED = PROGRAMS / "profile_hot_wrapped"
LIBRARY = PROGRAMS / "libprofile_hot_library.so"
PRELOAD = BUILD / "liblockswap.so"
READER = BUILD / "bin/lockswap-profile-read"


# For loops that look again until something is there: no measure, but an end if it never comes.
PATIENCE_S = 600
LISTED = json.loads(subprocess.run([BUILD / "bin/lockswap-registry"], capture_output=True, check=True).stdout)
# glibc's own; and the first and the last one of ours, which are as unlike as any.
FIRST, LAST = (
    [row["name"] for row in LISTED[kind] if not row["passes_through"] and not row["chosen"]][n]
    for kind, n in (("rwlocks", 0), ("rwlocks", -1))
)
MUTEX = next(row["name"] for row in LISTED["mutexes"] if not row["passes_through"] and not row["chosen"])


def environment(**more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    return env | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)} | more


def lockswap(*words: object, **more: str) -> subprocess.CompletedProcess:
    return command_server.run(*words, env=environment(**more))


@pytest.fixture
def profile(tmp_path):
    """profile(COMMAND..., options=[...]): profile.json; the program's status is checked."""

    def run(*command: object, status: int = 0, options: tuple = (), **more: str) -> dict:
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = lockswap("profile", "-o", out, *options, "--", *command, **more)
        assert done.returncode == status, done
        # A path alone may be longer than a line.
        several_words = [line for line in done.stderr.splitlines() if " " in line.strip() and str(out) not in line]
        assert all(len(line) <= 80 for line in several_words), done.stderr
        return json.loads((out / "profile.json").read_text()) | {
            "text": done.stderr,
            "stdout": done.stdout,
            "folder": out,
        }

    return run


def line_of(mark: str, source: str = "hot_locks.c") -> str:
    """FILE:NUMBER of the line that carries the mark."""
    lines = (ROOT / "tests/profile" / source).read_text().splitlines()
    return f"{source}:{next(n for n, line in enumerate(lines, 1) if line.endswith(f'// {mark}'))}"


SUMS = ("waits", "wait_ns", "until_release_ns")
LEAST = 0.99  # of a nap: the profile's clock may be a little slower than the kernel's


def hottest(found: dict) -> tuple[dict, dict]:
    """The lock that is named first, and of its pairs of sites the one that waited longest."""
    lock = found["locks"][0]
    by_sites: dict[tuple[str, str], dict] = {}
    for pair in lock["pairs"]:
        sites = (pair["waiter"]["site"], pair["holder"]["site"])
        one = by_sites.setdefault(sites, pair | dict.fromkeys(SUMS, 0))
        for name in SUMS:
            one[name] += pair[name]
    return lock, max(by_sites.values(), key=lambda pair: pair["wait_ns"])


def planted(found: dict, name: str, mark: str, slept_ms: int, source: str = "hot_locks.c") -> dict:
    """`slept_ms`: for how long holders slept in all, each when its waiter did. How long threads waited for a processor
    beside that is the machine's."""
    lock, pair = hottest(found)
    assert name in lock["name"]
    assert line_of(f"waiter {mark}", source) in pair["waiter"]["site"], pair
    assert line_of(f"holder {mark}", source) in pair["holder"]["site"], pair
    assert pair["wait_ns"] >= pair["until_release_ns"] >= LEAST * slept_ms * 1_000_000
    return lock


def test_a_sleep_inside_a_lock(profile):
    lock = planted(found := profile(HOT, "sleep"), "hot", "sleep", 40 * 3)
    assert lock["kind"] == "mutex" and lock["threads"] == 2
    holds = lock["modes"]["exclusive"]["hold_quantiles_ns"]
    assert holds["max"] >= 3_000_000
    waits = lock["modes"]["exclusive"]["wait_quantiles_ns"]
    assert 1_000_000 < waits["p50"] <= waits["p99"]
    text = re.sub(r"\s+", " ", found["text"])
    first, cold = text.find(" 1. mutex hot"), next(one for one in found["locks"] if one["name"] == "cold")
    assert first > 0 and line_of("holder sleep") in text[first:]
    assert cold["wait_ns"] == 0 and cold["acquisitions"] == 40 * 100


def test_one_long_hold_that_nothing_announced(profile):
    planted(profile(HOT, "once"), "hot", "sleep", 100)


def test_a_reader_that_holds_long(profile):
    lock = planted(found := profile(HOT, "reader"), "hot_rw", "reader", 40 * 3)
    assert lock["kind"] == "rwlock"
    pair = hottest(found)[1]
    assert (pair["waiter"]["mode"], pair["holder"]["mode"]) == ("exclusive", "shared")
    assert lock["modes"]["shared"]["acquisitions"] == 40
    assert lock["modes"]["shared"]["contended"] < 40 == lock["modes"]["exclusive"]["contended"]


def test_a_writer_that_starves(profile):
    found = profile(HOT, "starving")
    lock, pair = hottest(found)
    assert lock["name"] == "hot_rw"
    assert line_of("waiter starving") in pair["waiter"]["site"]
    assert line_of("holder starving") in pair["holder"]["site"]
    assert lock["modes"]["exclusive"]["wait_quantiles_ns"]["max"] >= LEAST * 150_000_000


def test_a_convoy_is_charged_to_the_long_hold_before_it(profile):
    found = profile(HOT, "convoy")
    (lock, pair), lines = hottest(found), int(found["stdout"])
    assert lock["name"] == "hot" and lock["contended"] == lines * 8
    assert line_of("waiter convoy") in pair["waiter"]["site"]
    assert line_of("holder convoy") in pair["holder"]["site"]
    # The first of each line has waited for that hold alone; the other seven, for each other's, too, but in four of the
    # lines for the shorter part.
    assert 4 * 8 <= pair["waits"] <= lock["contended"]
    assert pair["until_release_ns"] >= LEAST * pair["waits"] * 50_000_000


def test_readers_that_run_late_were_kept_by_the_writer(profile):
    # On one processor: the last reader runs when others, which were woken with it, have released already.
    found = profile(HOT, "late-readers")
    (lock, pair), late = hottest(found), int(found["stdout"])
    assert lock["name"] == "hot_rw"
    assert line_of("waiter late-readers") in pair["waiter"]["site"]
    assert line_of("holder late-readers") in pair["holder"]["site"]
    assert pair["waits"] == sum(one["waits"] for one in lock["pairs"])
    assert pair["wait_ns"] - pair["until_release_ns"] >= LEAST * late * 500_000


def test_objects_on_the_heap_are_one_lock(profile):
    lock = planted(profile(HOT, "heap"), "make_box", "heap", 60 * 2)
    assert lock["objects"] == 8 and line_of("lock heap") in lock["initialised"]


def test_a_wrapper_is_no_site(profile):
    found = profile(WRAPPED)
    lock = planted(found, "look", "wrapped", 40 * 3, "hot_wrapped.cpp")
    stack = lock["pairs"][0]["waiter"]["stack"]
    assert any("std::mutex::lock" in frame for frame in stack)
    assert any("main" in frame for frame in stack)  # without frame pointers


def test_frames_that_are_hard_to_unwind(profile):
    found = profile(HOT, "frames")
    whole = max(found["locks"][0]["pairs"], key=lambda pair: pair["wait_ns"])
    names = [frame.split(" ")[0] for frame in whole["waiter"]["stack"]]
    chain = ["wait_in_handler", "of_variable_size", "aligned", "hard_waiter", "start_thread"]
    at = [next((n for n, name in enumerate(names) if one in name), None) for one in chain]
    assert None not in at and at == sorted(at), names


def test_a_library_that_is_unloaded(profile):
    planted(profile(HOT, "library", LIBRARY), "of_library", "library", 30 * 3, "hot_library.c")


def test_a_forked_child_has_a_file_of_its_own(profile):
    found = profile(HOT, "fork")
    planted(found, "hot", "sleep", 30 * 3)
    one, other = found["processes"]
    assert {one["pid"] == other["parent"], other["pid"] == one["parent"]} == {True, False}
    # 100 of the parent, 3000 of the child: neither counts the other's.
    cold = next(lock for lock in found["locks"] if lock["name"] == "cold")
    assert cold["acquisitions"] == 100 + 30 * 100


def test_what_execs_is_two_profiles(profile):
    found = profile(HOT, "exec")
    planted(found, "hot", "sleep", 40 * 3)
    assert [one["ended"] for one in sorted(found["processes"], key=lambda one: one["ended"])] == [False, True]


def test_what_was_gathered_survives_kill_9(profile):
    found = profile(HOT, "killed", status=128 + 9)
    planted(found, "hot", "sleep", 39 * 3)  # the last of 40 waits may not have been charged yet
    assert not found["processes"][0]["ended"]


def test_a_signal_handler_that_locks(profile):
    found = profile(HOT, "handlers")
    one = next(lock for lock in found["locks"] if lock["name"] == "of_handler")
    # A handler that interrupted the bookkeeping is passed on, with both its calls, and counted as such.
    assert one["acquisitions"] + found["dropped"]["inside"] // 2 == int(found["stdout"]) > 20


def exclusive(found: dict, name: str) -> dict:
    return next(lock for lock in found["locks"] if lock["name"] == name)["modes"]["exclusive"]


def test_holds_that_sleep_are_off_the_processor(profile):
    found = profile(HOT, "sleep")
    mode = exclusive(found, "hot")
    assert mode["split_holds"] >= 2 and mode["split_ns"] >= mode["split_holds"] * 3_000_000
    assert mode["on_processor_ns"] < 0.2 * mode["split_ns"]
    assert "long holds are off-CPU for" in " ".join(found["text"].split())
    assert exclusive(found, "cold")["split_holds"] == 0


def test_holds_that_compute_are_on_the_processor(profile):
    """Each runs for 1 ms, however many other programs the processors have to run."""
    mode = exclusive(profile(HOT, "busy"), "hot")
    assert mode["split_holds"] >= 8
    assert 0.9 * mode["split_holds"] * 1_000_000 < mode["on_processor_ns"] <= mode["split_ns"]


def test_when_threads_waited(profile):
    """Nothing in the first half, and then all of it; whatever the slots' width was at first."""
    found = profile(HOT, "late")
    times, lock = found["timeline"], found["locks"][0]
    (line,) = (one["waited_ns"] for one in times["locks"] if one["name"] == "hot")
    assert len(line) == times["columns"] > 50
    assert sum(line) == pytest.approx(lock["wait_ns"], rel=0.001)
    # 100 naps of 2 ms come first.
    assert sum(line[: round(200e6 / times["column_ns"])]) < 0.02 * lock["wait_ns"]
    assert max(line) <= 1.02 * times["column_ns"]  # one thread waits
    html = (found["folder"] / "profile.html").read_text()
    assert html.count("<rect") == sum(ns > 0 for ns in line) and "mutex hot" in html


def test_condition_variables(profile):
    found = profile(HOT, "queue")
    (cond,) = found["conds"]
    assert cond["name"] == "filled" and cond["signals"] == 50
    assert cond["acquisitions"] == 50 and cond["wait_ns"] >= LEAST * 50 * 500_000
    # The hold of a thread that waits for a condition ends with the wait.
    hot = next(lock for lock in found["locks"] if lock["name"] == "hot")
    assert hot["modes"]["exclusive"]["hold_quantiles_ns"]["p50"] < 400_000


def test_a_wait_for_a_condition_is_charged_to_the_signal(profile):
    found = profile(HOT, "queue")
    (cond,) = found["conds"]
    pair = cond["pairs"][0]
    assert pair["holder"]["site"].startswith("producer hot_locks.c") and pair["waiter"]["site"].startswith("consumer")
    charged = sum(one["waits"] for one in cond["pairs"] if one["holder"]["stack"])
    assert charged == cond["modes"]["exclusive"]["long_waits"] == 50


def test_what_comes_after_the_signal_is_charged_to_the_holder_of_the_mutex(profile):
    found = profile(HOT, "signal")
    pair = found["conds"][0]["pairs"][0]
    assert line_of("holder signal") in pair["holder"]["site"] and line_of("waiter signal") in pair["waiter"]["site"]
    # From the wait to the signal 2 ms, and 3 ms from there.
    assert 10 <= pair["waits"] <= 20 and pair["until_release_ns"] >= LEAST * pair["waits"] * 2_000_000
    assert pair["wait_ns"] - pair["until_release_ns"] >= LEAST * pair["waits"] * 3_000_000
    lock = next(one for one in found["locks"] if one["name"] == "hot")
    kept = [one for one in lock["pairs"] if line_of("waiter signal") in one["waiter"]["site"]]
    assert sum(one["waits"] for one in kept) == 20
    assert all(line_of("holder kept") in one["holder"]["site"] for one in kept)
    assert sum(one["wait_ns"] for one in kept) >= LEAST * 20 * 3_000_000
    assert "signalled in signal_and_keep" in found["text"]


def test_a_chain_leads_to_the_holder_at_the_root(profile):
    found = profile(HOT, "chain")
    lock = next(one for one in found["locks"] if one["name"] == "hot")
    pairs = [one for one in lock["pairs"] if line_of("holder middle") in one["holder"]["site"]]
    assert all(line_of("waiter last") in one["waiter"]["site"] for one in pairs)
    causes = [cause for one in pairs for cause in one["causes"]]
    assert sum(one["ns"] for one in causes if line_of("holder first") in one["holder"]) > 0
    assert all(one["lock"] == "cold" for one in causes)
    # The middle one does nothing but wait, 5 ms each time for the first one, and all the while the last one waits.
    assert sum(one["ns"] for one in causes) > 0.9 * 5_000_000 * sum(one["waits"] for one in pairs)
    assert sum(one["waits"] for one in pairs) == 40
    (root,) = (one for one in found["locks"] if one["name"] == "cold")
    assert not any(one["causes"] for one in root["pairs"])
    assert "the holder waits itself: for mutex cold, held until" in " ".join(found["text"].split())


def meeting(found: dict, kind: str) -> dict:
    return max((one for one in found["meetings"] if one["kind"] == kind), key=lambda one: one["wait_ns"])


def charged(found: dict, kind: str, waiter: str, holder: str, slept_ms: int) -> dict:
    """All waits are those of the planted pair of places. `slept_ms`: as above."""
    one = meeting(found, kind)
    pairs = [
        pair
        for pair in one["pairs"]
        if line_of(f"waiter {waiter}") in pair["waiter"]["site"] and holder in pair["holder"]["site"]
    ]
    assert sum(pair["waits"] for pair in pairs) == one["contended"] > 0
    assert sum(pair["until_release_ns"] for pair in pairs) >= LEAST * slept_ms * 1_000_000
    return one


def test_a_wait_for_a_semaphore_is_charged_to_the_post(profile):
    found = profile(HOT, "semaphores")
    one = charged(found, "semaphore", "semaphore", line_of("holder semaphore"), 30 * 2)
    # 3 that did not have to wait, one after a post, and 30; a time-out is none.
    assert (one["name"], one["acquisitions"], one["signals"], one["timeouts"]) == ("posted", 34, 31, 2)
    assert one["failed_tries"] == 1 and one["contended"] == 30
    assert "posted in post_late" in found["text"]
    assert not found["locks"] or found["locks"][0]["wait_ns"] == 0


def test_a_wait_at_a_barrier_is_charged_to_the_last_one(profile):
    found = profile(HOT, "barriers")
    one = charged(found, "barrier", "barrier", line_of("holder barrier"), 30 * 2)
    assert one["acquisitions"] == 60 and one["contended"] == 30
    assert "last to arrive at arrive_late" in found["text"]


def test_a_join_is_charged_to_the_thread_that_ended(profile):
    found = profile(HOT, "joins")
    one = charged(found, "join", "join", "long_thread", 5 * 20)
    assert one["acquisitions"] == 5 == one["contended"]
    assert "for a thread of long_thread" in found["text"]


def test_waits_that_are_cancelled_or_interrupted(profile):
    found = profile(HOT, "ended-waits")
    one = meeting(found, "semaphore")
    assert (one["acquisitions"], one["signals"]) == (1, 1)


@pytest.mark.parametrize("case", ["semaphores", "barriers", "joins", "ended-waits"])
def test_without_a_profile_they_are_glibcs_own(case):
    subprocess.run([HOT, case], env=environment(LD_PRELOAD=str(PRELOAD)), check=True)


def test_waits_that_are_not_seen_are_counted(profile):
    found = profile(HOT, "futex")
    # The program says how often it has slept in all until its end.
    assert 150 <= found["processes"][0]["slept"] < int(found["stdout"]) + 50
    text = " ".join(found["text"].split())
    said = re.search(r"Threads slept (\d+) times; 0 waits are seen, so (\d+) or more were for", text)
    assert said and said[1] == said[2] and int(said[1]) >= 150, text


def test_of_a_killed_process_the_command_knows_how_often_it_slept(profile):
    """It left nothing of that itself."""
    found = profile(HOT, "killed", status=128 + 9)
    assert found["processes"][0]["slept"] == 0
    assert re.search(r"Threads slept \d+ times; \d+ waits are seen", " ".join(found["text"].split()))


def test_wake_ups_that_find_nothing_are_counted(profile):
    found = profile(HOT, "broadcasts")
    (cond,) = found["conds"]
    assert (cond["name"], cond["signals"], cond["broadcasts"]) == ("everybody", 41, 41)
    # Six threads are woken for each of 40 pieces of work, and at the end. At least one of them finds the work.
    assert 200 <= cond["woken_with_all"] <= 6 * 41 and 120 <= cond["woken_in_vain"] <= 5 * 40
    text = " ".join(found["text"].split())
    assert "waits, " in text and "; 41 broadcasts" in text
    work = cond["woken_with_all"] - cond["woken_in_vain"]
    assert f"{work} of {cond['woken_with_all']} threads that broadcasts woke found work" in text
    assert "signal instead of broadcast" in text


def test_a_pool_without_work_is_idle(profile):
    found = profile(HOT, "pool")
    assert "signal instead of broadcast" not in found["text"]
    pairs = found["conds"][0]["pairs"]
    idle = [one for one in pairs if one["holder"]["mode"] == "shared"]
    assert sum(one["waits"] for one in idle) == 50
    assert all(line_of("waiter pool") in one["waiter"]["site"] for one in idle)
    ended = [one for one in pairs if line_of("holder pool") in one["holder"]["site"]]
    assert ended and all(one["holder"]["mode"] == "exclusive" for one in ended)
    assert "idle: " in found["text"]


def statistics(tmp_path: Path, case: str, **more: str) -> tuple[dict, dict]:
    """The same run, as LOCKSWAP_STATS counts it and as the profile does."""
    folder = tmp_path / "both"
    folder.mkdir()
    variables = {"LOCKSWAP_PROFILE": str(folder), "LOCKSWAP_STATS": str(tmp_path / "stats"), "LD_PRELOAD": str(PRELOAD)}
    subprocess.run([HOT, case], env=environment(**variables, **more), check=True)
    (stats,) = (json.loads(file.read_text()) for file in tmp_path.glob("stats.*"))
    done = lockswap("report", folder)
    assert done.returncode == 0, done
    return stats, json.loads((folder / "profile.json").read_text())


@pytest.mark.parametrize("case", ["counts", "threads"])
@pytest.mark.parametrize("rwlock", ["pthread", FIRST, LAST])
def test_counts_are_those_of_the_statistics(tmp_path, case, rwlock):
    stats, found = statistics(tmp_path, case, LOCKSWAP_RWLOCK=rwlock, LOCKSWAP_MUTEX="pthread")

    def total(kind: str, mode: str) -> int:
        return sum(lock["modes"][mode]["acquisitions"] for lock in found["locks"] if lock["kind"] == kind)

    assert total("rwlock", "shared") == stats["totals"]["reads"] > 1000
    assert total("rwlock", "exclusive") == stats["totals"]["writes"] >= 300
    assert total("mutex", "exclusive") == stats["mutexes"]["totals"]["acquisitions"] >= 1100


def test_tries_and_timeouts(profile):
    found = profile(HOT, "counts")
    lock = next(lock for lock in found["locks"] if lock["kind"] == "rwlock")
    assert (lock["failed_tries"], lock["timeouts"]) == (5, 1)
    assert lock["modes"]["shared"]["acquisitions"] == 1401 and lock["modes"]["exclusive"]["acquisitions"] == 300


def test_a_lock_that_nobody_waited_for_to_the_end(profile):
    found = profile(HOT, "gives-up")
    lock = next(lock for lock in found["locks"] if lock["name"] == "hot")
    assert (lock["timeouts"], lock["contended"]) == (10, 0)
    # Each deadline is 20 ms ahead of a moment before the call, and a thread that loses its processor there waits for
    # less, on a busy machine perhaps not at all. Two calls' worth is more than one call of the ten could have.
    assert 40e6 <= lock["timed_out_ns"] < 60e9
    text = " ".join(found["text"].split())
    assert re.search(
        r" 1\. mutex hot, .* waited \d[\d.]* m?s in 10 calls that timed out; 1 acquisition without a wait", text
    ), text
    assert "No thread has waited" not in text and "1 lock without a wait" not in text


@pytest.mark.parametrize("options", [("--rwlock", FIRST, "--mutex", MUTEX), ("--rwlock", LAST)])
def test_any_choice_of_locks(profile, options):
    planted(profile(HOT, "reader", options=options), "hot_rw", "reader", 40 * 3)


def test_under_a_policy(profile):
    planted(profile(HOT, "reader", LOCKSWAP_POLICY=f"symbol=hot_rw rwlock={FIRST}"), "hot_rw", "reader", 40 * 3)


def test_collapsed_stacks(profile):
    found = profile(HOT, "sleep")
    lines = (found["folder"] / "waiting.folded").read_text().splitlines()
    frames, us = lines[0].rsplit(" ", 1)
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in lines) * 1000 - found["locks"][0]["wait_ns"]) < 1_000_000
    holder, waiter = frames.split(";[mutex hot];")
    assert holder.split(";")[-1].startswith("hold_long hot_locks.c") and int(us) > 0
    assert waiter.split(";")[0].startswith("wait_for_it hot_locks.c")


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a protobuf message, as (number, value)."""
    found, at = [], 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        value: int | bytes = varint()
        if key & 7 == 2:
            at, value = at + value, data[at : at + value]
        found.append((key >> 3, value))
    return found


def test_a_profile_for_pprof(profile):
    found = profile(HOT, "sleep")
    message = fields(gzip.decompress((found["folder"] / "waiting.pb.gz").read_bytes()))
    strings = [value.decode() for number, value in message if number == 6]
    assert strings[0] == "" and {"delay", "nanoseconds", "hold_long", "hot_locks.c", "[mutex hot]"} <= set(strings)
    samples = [dict(fields(value)) for number, value in message if number == 2]
    locations = {dict(fields(value))[1] for number, value in message if number == 4}
    total = 0
    for sample in samples:
        ids, (_, ns) = (
            [value for _, value in fields(b"".join(b"\x08" + part for part in split(sample[number])))]
            for number in (1, 2)
        )
        assert set(ids) <= locations
        total += ns
    assert total == sum(pair["wait_ns"] for lock in found["locks"] for pair in lock["pairs"])


def test_a_page(profile):
    page = (profile(HOT, "sleep")["folder"] / "profile.html").read_text()
    frames = re.findall(r'class="frame (\w+)" title="([^"]*)"', page)
    assert "1. mutex hot" in page and "<script src" not in page
    assert any(part == "holder" and title.startswith("hold_long hot_locks.c") for part, title in frames)
    # One frame of the lock for each holder's stack.
    shares = [float(re.search(r"([\d.]+) % of all", title)[1]) for part, title in frames if part == "lock"]
    assert all(title.startswith("[mutex hot]") for part, title in frames if part == "lock")
    assert sum(shares) > 99, shares
    assert any(part == "waiter" and title.startswith("wait_for_it hot_locks.c") for part, title in frames)


def split(packed: bytes) -> list[bytes]:
    """The varints in it."""
    return re.findall(rb"[\x80-\xff]*[\x00-\x7f]", packed, re.DOTALL)


def test_without_the_command(tmp_path):
    folder = tmp_path / "recorded"
    folder.mkdir()
    variables = {"LOCKSWAP_PROFILE": str(folder), "LD_PRELOAD": str(PRELOAD)}
    subprocess.run([HOT, "sleep"], env=environment(**variables), check=True)
    done = lockswap("report", folder, "--top", "1")
    assert done.returncode == 0 and "mutex hot" in done.stderr
    assert (folder / "waiting.folded").exists()


def test_a_folder_that_is_not_there_is_said_and_stops_nothing(tmp_path):
    variables = {"LOCKSWAP_PROFILE": str(tmp_path / "nowhere"), "LD_PRELOAD": str(PRELOAD)}
    done = subprocess.run([HOT, "counts"], env=environment(**variables), capture_output=True, text=True)
    assert done.returncode == 0
    place, why = tmp_path / "nowhere", "there is no such file or folder"
    said = "lockswap: LOCKSWAP_PROFILE: nothing is recorded, because no file can be made in"
    assert done.stderr == f"{said} {place}: {why}\n"


def test_a_full_disk_is_an_error(tmp_path):
    place = tmp_path / "full"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        done = lockswap("profile", "-o", place / "out", "--", HOT, "counts")
        assert done.returncode == 2 and not (place / "out").exists()
        assert f"nothing was recorded: there is no room in {place / 'out'} (400 kB are free)" in done.stderr
        assert "profile.html" not in done.stderr
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_program_without_locks(profile):
    found = profile("true")
    assert found["locks"] == [] and "No thread has waited for a lock." in found["text"]


def test_of_a_static_program_nothing_was_recorded(tmp_path):
    program = tmp_path / "static"
    subprocess.run(
        ["gcc", "-static", "-x", "c", "-", "-o", program], input="int main(void) { return 7; }", text=True, check=True
    )
    done = lockswap("profile", "-o", tmp_path / "out", "--", program)
    assert done.returncode == 7
    assert "lockswap profile: nothing was recorded: it ended with exit status 7" in done.stderr
    assert "No thread has waited" not in done.stderr
    # There is no page about nothing.
    assert "profile.html" not in done.stderr and not (tmp_path / "out").exists()


def test_of_a_program_that_its_loader_refuses_nothing_was_recorded(tmp_path):
    library, program = tmp_path / "libgone.so", tmp_path / "lacking"
    for words, source in (
        (["-shared", "-fPIC", "-o", library], "int gone(void) { return 1; }"),
        (["-x", "none", library, "-o", program], "int gone(void); int main(void) { return gone(); }"),
    ):
        subprocess.run(["gcc", "-x", "c", "-", *words], input=source, text=True, check=True)
    library.unlink()
    said = f"'lacking' cannot start, since a library is not found: {library}"
    done = lockswap("profile", "-o", tmp_path / "out", "--", program)
    assert done.returncode == 127 and "profile.html" not in done.stderr
    assert f"lockswap profile: nothing was recorded: {said}" in done.stderr
    done = lockswap("profile", "--", "timeout", "600", program)
    assert done.returncode == 127 and said in " ".join(done.stderr.split())


def test_how_the_program_ended_is_in_the_title():
    for number, name in ((signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL")):
        done = lockswap("profile", "--", sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(number)})")
        assert done.returncode == 128 + number
        assert f"; it ended by {name}" in " ".join(done.stderr.split()).partition(" No thread")[0]


def test_a_file_that_is_no_profile(tmp_path):
    (tmp_path / "1.0.lockprof").write_bytes(b"x" * 100)
    done = lockswap("report", tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "is not a profile of this version" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give the command to run"),
        (("--top", "0", "--", "true"), "--top"),
        (("--top", "many", "--", "true"), "--top"),
        (("--rwlock", "nonsense", "--", "true"), "nonsense"),
        (("--mutex", "none", "--", "true"), "needs the library"),
        (("-o", "/proc/nowhere", "--", "true"), "cannot be made"),
        (("-o", "/nowhere/at/all", "--", "true"), "there is no folder /nowhere/at, make it first"),
        (("-o", "/", "--", "true"), "not an empty folder"),
        (("--seconds", "5", "--", "true"), "--seconds needs --pid"),
        (("--pid", "1", "--", "true"), "--pid profiles a running process"),
        (("--diff", "a"), "see 'lockswap profile --help'"),
        (("--from",), "see 'lockswap profile --help'"),
        (("--from", "/tmp", "--", "true"), "use 'lockswap report DIR'"),
        (("--diff", "/tmp", "/tmp", "--seconds", "5"), "'lockswap report BEFORE AFTER'"),
        (("--json", "--", "true"), "profile.json"),
        (("--", "no-such-program-anywhere"), "no-such-program-anywhere"),
        (("--wrong", "--", "true"), "--wrong"),
    ],
)
def test_bad_input_is_one_line(words, says):
    done = lockswap("profile", *words)
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("lockswap: ") and says in done.stderr


def test_the_name_that_from_had(tmp_path):
    """`profile --from` was the name of `report` until 0.2: it says so, and does the same."""
    done = lockswap("profile", "--from", tmp_path / "nowhere")
    note, error = done.stderr.splitlines()
    assert done.returncode == 2 and "is now 'lockswap report DIR'" in note and "there is no such folder" in error
