"""What is left of a campaign whose harness is killed, or whose disk is full or loses its power."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lockswap.base.errors import UserError
from lockswap.findings import reading
from lockswap.records import durable
from lockswap.records.folder import Folder, RawWriter
from lockswap.records.row import Row


def some_rows() -> list[Row]:
    details = ["", 'said "no"', "two\nlines", "ä", "a,b", '"']
    return [
        Row(i, 1, "w", "ba", 2, "failed" if detail else "ok", detail, numbers={"wall_s": i / 3}, metrics={"m": 1e9 + i})
        for i, detail in enumerate(details, 1)
    ]


def write(folder: Folder, rows: list[Row]) -> None:
    raw = RawWriter(folder, ["m"])
    for row in rows:
        raw.add(row)
    raw.close()


def test_a_file_that_ends_anywhere_has_the_rows_before_and_goes_on(tmp_path):
    folder, rows = Folder(tmp_path), some_rows()
    write(folder, rows)
    whole, known = folder.raw.read_bytes(), folder.rows()
    assert [row.detail for row in known] == [row.detail for row in rows]
    ends = [len(whole)]
    for count in range(len(rows)):
        folder.raw.unlink()
        write(folder, rows[:count])
        ends.append(len(folder.raw.read_bytes()))
    ends.sort()
    for cut in range(len(whole)):
        for rest in (b"", bytes(100)):  # after a power cut some file systems have zeroes there
            folder.raw.write_bytes(whole[:cut] + rest)
            count = sum(end <= cut for end in ends[1:])
            assert folder.rows() == known[:count], cut
            write(folder, rows[count:])
            assert folder.raw.read_bytes() == whole, cut


def test_a_row_is_on_the_disk_before_the_next_run(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    raw = RawWriter(Folder(tmp_path), ["m"])
    for row in some_rows():
        raw.add(row)
        assert synced[-1] == (tmp_path / "raw.csv").stat().st_size
    raw.close()


def test_a_file_is_on_the_disk_before_it_takes_the_place_of_another(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    monkeypatch.setattr(type(tmp_path), "replace", lambda one, other: calls.append((str(one), str(other))))
    durable.replace(tmp_path / "a", "text")
    part = str(tmp_path / ".a.part")
    assert calls == [part, (part, str(tmp_path / "a")), str(tmp_path)]


def test_a_row_in_the_middle_that_is_no_row_is_said(tmp_path):
    folder = Folder(tmp_path)
    write(folder, some_rows())
    lines = folder.raw.read_text().splitlines(keepends=True)
    for wrong in ("1,2\n", "x" + lines[1], lines[1].replace("\n", ",1\n")):
        folder.raw.write_text("".join([*lines[:2], wrong, *lines[2:]]))
        with pytest.raises(UserError, match=r"raw\.csv, line 3: "):
            folder.rows()


def test_a_file_with_other_columns_does_not_go_on(tmp_path):
    write(Folder(tmp_path), some_rows())
    with pytest.raises(UserError, match="has other columns"):
        RawWriter(Folder(tmp_path), ["m", "n"])


def test_an_error_of_the_harness_leaves_an_unfinished_campaign(lockswap, recipe, repo):
    """A campaign that ended by a fault of ours once counted as finished, so it could not be resumed."""
    recipe("rw")
    code = (
        "import sys\n"
        "from lockswap.campaign import execution\n"
        "from lockswap.__main__ import main\n"
        "execution._Execution._check_all = lambda *unused: 1 / 0\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    options = ["compare", "-w", "rw", "-l", "ba", "-t", "1", "-r", "2", "--name", "c", "--no-report"]
    command = [*lockswap.command()[:1], "-c", code, *options]
    done = subprocess.run(command, env=lockswap.env, cwd=repo, capture_output=True, text=True, timeout=600)
    assert "ZeroDivisionError" in done.stderr
    assert Folder(repo / "results/c").campaign()["finished"] is False


def killed(lockswap, options, wait: Callable[[subprocess.Popen], object]) -> None:
    """The command with all that it has started, when the wait is over."""
    child = subprocess.Popen(
        lockswap.command(*options), env=lockswap.env, cwd=lockswap.root, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait(child)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.full)])
def test_a_harness_that_is_killed_at_any_moment(lockswap, recipe, repo, kills):
    recipe("rw")
    out = repo / "results/c"
    begin = ["compare", "-w", "rw", "-l", "ba,bravo-ba", "-t", "1", "-r", "4", "--out", out, "--no-report"]
    resume = ["compare", "--resume", out, "--no-report"]
    choose = random.Random(kills)

    def until_a_row_is_there(child: subprocess.Popen) -> None:
        while not Folder(out).rows():
            assert child.poll() is None
            time.sleep(0.02)

    killed(lockswap, begin, until_a_row_is_there)
    kept = Folder(out).rows()
    for _ in range(kills):
        killed(lockswap, resume, lambda _: time.sleep(choose.uniform(0.2, 3.0)))
        rows = Folder(out).rows()
        assert rows[: len(kept)] == kept, "a row is gone"
        kept = rows
        assert len(reading.read(out).campaign.rows) == len(rows)
        if Folder(out).campaign()["finished"]:
            break
    done = lockswap(*resume)
    assert done.returncode == 0 or "is finished" in done.stderr, done.stderr
    rows = Folder(out).rows()
    assert rows[: len(kept)] == kept
    assert [row.run for row in rows] == list(range(1, 4 * 5 + 1))
    assert Folder(out).campaign()["finished"] is True
    assert not list(out.glob(".*"))


@pytest.fixture
def small_disk(repo):
    """A file system of half a megabyte in results/."""
    place = repo / "results/disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=512k", "tmpfs", place]
    if subprocess.run(["mount", *options], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_disk_that_becomes_full(lockswap, recipe, repo, small_disk):
    out, filler = small_disk / "c", small_disk / "filler"
    raw = out / "raw.csv"
    full = f"[ ! -e {raw} ] || [ $(wc -l <{raw}) -le 4 ] || [ -e {filler} ] || cat /dev/zero >{filler} || true"
    recipe("rw", replace={"fixed_work": f"""prepare = [["sh", "-c", '{full}']]\nfixed_work"""})
    options = ["compare", "-w", "rw", "-l", "ba", "-t", "1", "-r", "12", "--out", out]
    done = lockswap(*options)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"lockswap: cannot write {raw}: No space left on device; make room there")
    assert last.endswith(f"continue with 'lockswap compare --resume {out}'")
    # The last row has no place in the first block of the file, and it is there: its run was measured.
    kept, size = Folder(out).rows(), raw.stat().st_size
    assert 4 < len(kept) < 48 and [row.run for row in kept] == list(range(1, len(kept) + 1))
    assert size - len(raw.read_bytes().splitlines(keepends=True)[-1]) <= 4096 < size
    assert Folder(out).campaign()["finished"] is False
    assert len(reading.read(out).campaign.rows) == len(kept)

    with filler.open("ab", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:  # as full as before the reserve was given up
            file.write(bytes(4096))
    done = lockswap("report", out)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("lockswap: cannot write")
    done = lockswap("compare", "--resume", out, "--no-report")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert Folder(out).rows() == kept

    filler.write_bytes(b"")
    done = lockswap("compare", "--resume", out, "--no-report")
    assert done.returncode == 0, done.stderr
    rows = Folder(out).rows()
    assert rows[: len(kept)] == kept and [row.run for row in rows] == list(range(1, 49))
    assert Folder(out).campaign()["finished"] is True
    assert not list(out.glob(".*"))
