"""Which locks keep threads waiting in real programs: what a profile says is what the kernel saw in the same run.

bpftrace adds up how long threads slept in the kernel on each word, and knows nothing of the profile. Which lock a word
belongs to follows from the sleeping thread's stack, where the return address of the call stands that the profile has
for its waiters."""

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
from contextlib import contextmanager
from pathlib import Path

import pytest
from tracer import end_tracer, wait_until_attached, why_no_tracer

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
        more = os.environ | {"BPFTRACE_MAP_KEYS_MAX": "65536", "BPFTRACE_MAX_PROBES": "1024"}
        with self.said.open("w") as said:
            tracer = subprocess.Popen(["bpftrace", script, str(program.pid)], env=more, stdout=said, stderr=said)
        try:
            wait_until_attached(tracer, self.said)
            program.send_signal(signal.SIGCONT)
            yield program
            program.wait(timeout=120)
            end_tracer(tracer)
        finally:
            program.kill()
            program.wait()
            tracer.kill()
            tracer.wait()

    def process(self) -> dict:
        files = sorted(self.records.glob("*.lockprof"))
        done = subprocess.run([READER, *files], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)["processes"]
        return max(found, key=lambda one: sum(waited(lock) for lock in one["locks"]))


def waited(lock: dict) -> int:
    return sum(lock[mode]["wait_ns"] for mode in ("exclusive", "shared") if mode in lock)


def is_fixed(path: str) -> bool:
    """A program whose addresses are those of its file."""
    with Path(path).open("rb") as file:
        return file.read(18)[16] == 2


def stacks_of_waiters(process: dict) -> dict[tuple[int, ...], set[int]]:
    """Absolute return addresses, the innermost first: the classes of locks that were waited for from there."""
    bases = [0 if is_fixed(one["path"]) else one["begin"] for one in process["modules"]]
    frames = {
        one["id"]: tuple(bases[module] + address for module, address in one["frames"] if module >= 0)
        for one in process["stacks"]
    }
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


def kernel_sums(said: str, process: dict) -> dict[int, int]:
    """Nanoseconds asleep, by class. A word whose stack has no call of a lock is something else's."""
    slept = {int(word): int(ns) for word, ns in re.findall(r"^@slept\[(\d+)\]: (\d+)", said, re.MULTILINE)}
    waiters = stacks_of_waiters(process)
    sums = defaultdict(int)
    named = {}
    for word, values in re.findall(r"^stack of (\d+):((?: [0-9a-f]+)+)", said, re.MULTILINE):
        stack = [int(value, 16) for value in values.split()]
        best, classes = max(
            ((depth(frames, stack), classes) for frames, classes in waiters.items()), key=lambda p: p[0]
        )
        if best:
            named.setdefault(int(word), classes)
    for word, classes in named.items():
        # Classes with the same stack look alike: the first stands for them, in both sums.
        sums[min(classes)] += slept.get(word, 0)
    return sums


def same_stacks(process: dict) -> dict[int, int]:
    """The class that stands for each one."""
    stands = {}
    for classes in stacks_of_waiters(process).values():
        for one in classes:
            stands[one] = min(min(classes), stands.get(one, one))
    return stands


def compare(run: Run, name: str) -> None:
    process = run.process()
    kernel = kernel_sums(run.said.read_text(), process)
    stands = same_stacks(process)
    profile = defaultdict(int)
    for lock in process["locks"]:
        if lock["class"] in stands:
            profile[stands[lock["class"]]] += waited(lock)
    all_kernel, all_profile = sum(kernel.values()), sum(profile.values())
    print(f"\n{name}: asleep for locks {all_kernel / 1e6:.1f} ms by the kernel, waited {all_profile / 1e6:.1f} ms")
    for one in sorted(profile, key=profile.get, reverse=True)[:4]:
        shares = [100 * sums[one] / max(total, 1) for sums, total in ((kernel, all_kernel), (profile, all_profile))]
        print(f"  class {one}: kernel {shares[0]:.1f} %, profile {shares[1]:.1f} %")
    if max(all_kernel, all_profile) < LEAST_NS:
        # Nobody waits: both say so.
        return
    assert all_kernel > 0 and all_profile > 0
    assert 0.5 < all_profile / all_kernel < 2, "they do not see the same waiting"
    for one in kernel.keys() | profile.keys():
        assert abs(kernel[one] / all_kernel - profile[one] / all_profile) <= FURTHEST_SHARES, one
    first = max(profile, key=profile.get)
    assert kernel[first] >= LEAST_FIRST * max(kernel.values()), "another lock comes first"


@pytest.fixture
def run(tmp_path):
    if why_no_tracer(LIBRARY):
        pytest.skip(why_no_tracer(LIBRARY))
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
