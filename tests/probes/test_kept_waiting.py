"""Which locks keep threads waiting in real programs: what a profile says is what the kernel saw in the same run.

bpftrace adds up how long threads slept in the kernel on each word, and knows nothing of the profile. Which lock a word
belongs to follows from the sleeping thread's stack, where the return address of the call stands that the profile has
for its waiters. Who kept it waiting follows in the same way from the stack of the call that wakes it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from tracer import end_tracer, wait_until_attached, why_no_kprobes, why_no_tracer

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
READER = BUILD / "bin/lockswap-profile-read"
UNPACKED = BUILD / "programs/quick/root/usr"
pytestmark = pytest.mark.full

# Sleeps that are shorter in sum decide nothing.
LEAST_NS = 20_000_000
FURTHEST_SHARES = 0.2
LEAST_FIRST = 0.7

DUCKDB = """
import duckdb, threading
db = duckdb.connect()
db.execute("set threads = 4")
db.execute("create table t (i bigint, g bigint)")
def work(n):
    own = db.cursor()
    for k in range(60):
        own.execute(f"insert into t select range, range % 7 from range({500 * n}, {500 * n + 500})")
        own.execute("select g, count(*), sum(i) from t group by g").fetchall()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
NODE = """
const crypto = require('crypto');
let left = 200;
for (let i = 0; i < 200; i++) crypto.pbkdf2('s' + i, 'salt', 4000, 32, 'sha256', () => {
  crypto.randomBytes(1 << 16, () => { if (--left === 0) process.exit(0); });
});
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def needs(path: Path | str) -> str:
    found = shutil.which(path)
    if found is None:
        pytest.skip(f"{path} is not there")
    return found


class Run:
    """One program under the profile on glibc's locks, and the tracer beside it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.records = folder / "records"
        self.said = folder / "said"
        self.records.mkdir()

    @contextmanager
    def watched(self, *command: str | Path):
        """It stands still until the tracer looks."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
        preload = [f"LD_PRELOAD={LIBRARY}", f"LOCKSWAP_PROFILE={self.records}"]
        words = ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", "env", *preload, *map(str, command)]
        program = subprocess.Popen(words, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        os.waitpid(program.pid, os.WUNTRACED)
        script = Path(__file__).with_name("kept_waiting.bt")
        # Each word's sum is a line at the end.
        more = os.environ | {
            "BPFTRACE_MAP_KEYS_MAX": "65536",
            "BPFTRACE_PERF_RB_PAGES": "1024",
            "BPFTRACE_STRLEN": "64",
        }
        with self.said.open("w") as said:
            tracer = subprocess.Popen(["bpftrace", script, str(program.pid)], env=more, stdout=said, stderr=said)
        try:
            wait_until_attached(tracer, self.said)
            program.send_signal(signal.SIGCONT)
            self.base = base_of_library(program)
            yield program
            program.wait(timeout=120)
            end_tracer(tracer)
        finally:
            program.kill()
            program.wait()
            tracer.kill()
            tracer.wait()

    def in_acquisitions(self, address: int) -> bool:
        """Whether it lies in what waits for a lock there."""
        return any(begin <= address - self.base < end for begin, end in waiting_code())

    def process(self) -> dict:
        files = sorted(self.records.glob("*.lockprof"))
        done = subprocess.run([READER, *files], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)["processes"]
        return max(found, key=lambda one: sum(waited(lock) for lock in one["locks"]))


def base_of_library(program: subprocess.Popen) -> int:
    """Where the library lies, once the program itself runs and not `env` before it."""
    for _ in range(400):
        proc = Path(f"/proc/{program.pid}")
        try:
            is_it = (proc / "exe").readlink().name not in ("env", "sh", "dash", "bash")
            found = re.search(rf"^([0-9a-f]+)-\S+ r\S+ 0+ .* {LIBRARY}$", (proc / "maps").read_text(), re.MULTILINE)
        except OSError:
            break
        if is_it and found:
            return int(found[1], 16)
        time.sleep(0.01)
    raise AssertionError("the program doesn't begin")


@cache
def waiting_code() -> list[tuple[int, int]]:
    """The library's functions in which a thread waits for a mutex or an rwlock."""
    done = subprocess.run(["nm", "-C", "--defined-only", "-S", LIBRARY], check=True, capture_output=True, text=True)
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) t .*profile::acquire_slowly<", done.stdout, re.MULTILINE)
    assert found
    return [(int(begin, 16), int(begin, 16) + int(size, 16)) for begin, size in found]


def waited(lock: dict) -> int:
    return sum(lock[mode]["wait_ns"] for mode in ("exclusive", "shared") if mode in lock)


def is_fixed(path: str) -> bool:
    """A program whose addresses are those of its file."""
    with Path(path).open("rb") as file:
        return file.read(18)[16] == 2


def absolute_frames(process: dict) -> dict[int, tuple[int, ...]]:
    """Return addresses of each stack, the innermost first."""
    bases = [0 if is_fixed(one["path"]) else one["begin"] for one in process["modules"]]
    return {
        one["id"]: tuple(bases[module] + address for module, address in one["frames"] if module >= 0)
        for one in process["stacks"]
    }


def stacks_of_waiters(process: dict) -> dict[tuple[int, ...], set[int]]:
    """The classes of locks that were waited for from there."""
    frames = absolute_frames(process)
    kinds = {one["class"]: one["kind"] for one in process["locks"]}
    found = defaultdict(set)
    for pair in process["pairs"]:
        if kinds.get(pair["class"]) in ("mutex", "rwlock") and frames.get(pair["waiter"]):
            found[frames[pair["waiter"]]].add(pair["class"])
    return found


def depth(frames: tuple[int, ...], stack: list[int]) -> int:
    """How many of the return addresses stand in the stack, in their order and without a gap."""
    at = 0
    for n, frame in enumerate(frames):
        if frame not in stack[at:]:
            return n
        at = stack.index(frame, at) + 1
    return len(frames)


class Kernel:
    """What bpftrace said, by class. A word whose stack has no call of a lock is something else's."""

    def __init__(self, said: str, process: dict, in_acquisitions: Callable[[int], bool]):
        self.lost = re.findall(r"^Lost \d+ events", said, re.MULTILINE)
        slept = {int(word): int(ns) for word, ns in re.findall(r"^@slept\[(\d+)\]: (\d+)", said, re.MULTILINE)}
        waiters = stacks_of_waiters(process)
        self.sums: dict[int, int] = defaultdict(int)
        self.classes: dict[int, int] = {}  # by word
        # Words that threads sleep on in the library's calls that wait for a lock, whatever the profile says of them.
        self.words_of_locks: set[int] = set()
        for word, values in re.findall(r"^stack of (\d+):((?: [0-9a-f]+)+)", said, re.MULTILINE):
            stack = [int(value, 16) for value in values.split()]
            if any(map(in_acquisitions, stack)):
                self.words_of_locks.add(int(word))
            best, classes = max(
                ((depth(frames, stack), classes) for frames, classes in waiters.items()),
                key=lambda p: p[0],
                default=(0, set()),
            )
            if best and int(word) not in self.classes:
                # Classes with the same stack look alike: the first stands for them, in both sums.
                self.classes[int(word)] = min(classes)
        for word, one in self.classes.items():
            self.sums[one] += slept.get(word, 0)
        self.all_of_locks = sum(slept.get(word, 0) for word in self.words_of_locks)
        self._wakes = re.findall(r"^wake of (\d+) after (\d+):((?: [0-9a-f]+)+)", said, re.MULTILINE)

    def holders(self, one: int, sites: set[int]) -> dict[int, int]:
        """How long somebody had waited when the kernel was told to wake him, by who told it: where that call returns
        to. Of wakes at other places nothing is known here, but how many they are."""
        found: dict[int, int] = defaultdict(int)
        for word, ns, values in self._wakes:
            if self.classes.get(int(word)) == one:
                stack = [int(value, 16) for value in values.split()]
                found[next((value for value in stack if value in sites), 0)] += int(ns)
        return found


def holders_of(process: dict, one: int) -> dict[int, int]:
    """By the profile: how long each place kept others waiting, where its release returns to."""
    frames = absolute_frames(process)
    found: dict[int, int] = defaultdict(int)
    stands = same_stacks(process)
    for pair in process["pairs"]:
        if stands.get(pair["class"]) == one and frames.get(pair["holder"]):
            found[frames[pair["holder"]][0]] += pair["wait_ns"]
    return found


def same_stacks(process: dict) -> dict[int, int]:
    """The class that stands for each one."""
    stands = {}
    for classes in stacks_of_waiters(process).values():
        for one in classes:
            stands[one] = min(min(classes), stands.get(one, one))
    return stands


def compare(run: Run, name: str) -> None:
    process = run.process()
    kernel = Kernel(run.said.read_text(), process, run.in_acquisitions)
    assert not kernel.lost, "the tracer lost events, so its sums are too small"
    stands = same_stacks(process)
    profile = defaultdict(int)
    for lock in process["locks"]:
        if lock["class"] in stands:
            profile[stands[lock["class"]]] += waited(lock)
    all_kernel, all_profile = sum(kernel.sums.values()), sum(profile.values())
    print(f"\n{name}: asleep for locks {all_kernel / 1e6:.1f} ms by the kernel, waited {all_profile / 1e6:.1f} ms")
    for one in sorted(profile, key=profile.get, reverse=True)[:4]:
        shares = [
            100 * sums[one] / max(total, 1) for sums, total in ((kernel.sums, all_kernel), (profile, all_profile))
        ]
        print(f"  class {one}: kernel {shares[0]:.1f} %, profile {shares[1]:.1f} %")
    everything = sum(waited(lock) for lock in process["locks"] if lock["kind"] in ("mutex", "rwlock"))
    if max(all_kernel, all_profile) < LEAST_NS:
        print(
            f"  nobody waits long: {kernel.all_of_locks / 1e6:.1f} ms by the kernel, {everything / 1e6:.1f} ms in all"
        )
        # By words that need no profile to be found, and by all classes.
        assert kernel.all_of_locks < 2 * LEAST_NS and everything < 2 * LEAST_NS
        return
    assert all_kernel > 0 and all_profile > 0
    assert 0.5 < all_profile / all_kernel < 2, "they do not see the same waiting"
    for one in kernel.sums.keys() | profile.keys():
        assert abs(kernel.sums[one] / all_kernel - profile[one] / all_profile) <= FURTHEST_SHARES, one
    first = max(profile, key=profile.get)
    assert kernel.sums[first] >= LEAST_FIRST * max(kernel.sums.values()), "another lock comes first"
    compare_holders(kernel, process, first)


def compare_holders(kernel: Kernel, process: dict, one: int) -> None:
    """The place that keeps others waiting longest is, by both, the same one, or they are near each other."""
    by_profile = holders_of(process, one)
    by_kernel = kernel.holders(one, set(by_profile))
    known = sum(by_kernel.values()) - by_kernel.get(0, 0)
    total = max(sum(by_kernel.values()), 1)
    print(f"  holders: {100 * known / total:.0f} % of what the kernel woke is at places that the profile has")
    for place in sorted(by_profile, key=by_profile.get, reverse=True)[:3]:
        shares = [100 * sums.get(place, 0) / max(sum(sums.values()), 1) for sums in (by_kernel, by_profile)]
        print(f"    {place:#x}: kernel {shares[0]:.1f} %, profile {shares[1]:.1f} %")
    assert known > 0.5 * total, "other places wake the threads"
    first = max(by_profile, key=by_profile.get)
    assert by_kernel[first] >= LEAST_FIRST * max(ns for place, ns in by_kernel.items() if place), "another holder"


@pytest.fixture
def run(tmp_path):
    if why := why_no_tracer(LIBRARY) or why_no_kprobes():
        pytest.skip(why)
    return Run(tmp_path)


def test_db_bench(run):
    words = ["--threads=4", "--num=10000", "--memtablerep=hash_linkedlist", "--prefix_size=8", "--keys_per_prefix=4"]
    words += ["--inplace_update_support=1", "--inplace_update_num_locks=1", "--allow_concurrent_memtable_write=0"]
    words += ["--duration=3", "--benchmarks=fillseq,readwhilewriting", f"--db={run.folder}/db"]
    with run.watched(needs("db_bench"), *words):
        pass
    compare(run, "db_bench")


def test_kyoto(run):
    with run.watched(needs("kccachetest"), "order", "-th", "4", "-rnd", "200000"):
        pass
    compare(run, "kccachetest")


def test_memcached(run):
    port = free_port()
    words = ["-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "root", "-t", "4", "-m", "64"]
    with run.watched(needs(BUILD / "apps/memcached"), *words) as server:
        wait_for_port(port)
        load = [needs(BUILD / "apps/memcaslap"), f"--servers=127.0.0.1:{port}", "--threads=1", "--concurrency=32"]
        subprocess.run([*load, "--time=3s"], check=True, capture_output=True, timeout=60)
        server.terminate()
    compare(run, "memcached")


def test_unbound(run):
    port = free_port()
    names = "".join(f'local-data: "n{n}.test. A 127.0.0.2"\n' for n in range(200))
    (run.folder / "unbound.conf").write_text(f"""
server:
  interface: 127.0.0.1
  port: {port}
  num-threads: 4
  do-daemonize: no
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  do-ip6: no
  module-config: "iterator"
  local-zone: "test." static
{names}
remote-control:
  control-enable: no
""")
    (run.folder / "queries").write_text("".join(f"n{n}.test A\n" for n in range(200)))
    paths = {"LD_LIBRARY_PATH": f"{UNPACKED}/lib/x86_64-linux-gnu"}
    server = ["env", *(f"{k}={v}" for k, v in paths.items()), needs(UNPACKED / "sbin/unbound")]
    with run.watched(*server, "-d", "-c", run.folder / "unbound.conf") as program:
        time.sleep(2)
        load = [needs(UNPACKED / "bin/dnsperf"), "-s", "127.0.0.1", "-p", str(port), "-d", run.folder / "queries"]
        subprocess.run([*load, "-l", "3", "-c", "8"], env=os.environ | paths, capture_output=True, timeout=60)
        program.terminate()
    compare(run, "unbound")


def test_node(run):
    (run.folder / "work.js").write_text(NODE)
    with run.watched(needs("node"), run.folder / "work.js"):
        pass
    compare(run, "node")


def test_duckdb(run):
    """Made by scripts/programs.sh: PyPI's package, beside the environment of the tests."""
    folder = BUILD / "programs/duckdb"
    if not folder.exists():
        pytest.skip("duckdb is not there")
    (run.folder / "work.py").write_text(DUCKDB)
    with run.watched("env", f"PYTHONPATH={folder}", sys.executable, run.folder / "work.py"):
        pass
    compare(run, "duckdb")


def wait_for_port(port: int) -> None:
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server doesn't listen")
