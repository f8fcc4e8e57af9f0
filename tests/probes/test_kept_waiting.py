"""Which locks keep threads waiting in real programs, and which places: what a profile says is what strace saw.

strace shows each sleep and each wake of the same run, with its stack, and knows nothing of the profile. Which lock a
word belongs to follows from the sleeping thread's stack, where the return addresses stand that the profile has for its
waiters. The place that kept it waiting follows in the same way from the stack of the call that woke it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import futex_calls
import pytest
from futex_calls import Frame

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
READER = BUILD / "bin/lockswap-profile-read"
UNPACKED = BUILD / "programs/quick/root/usr"
pytestmark = pytest.mark.full

# Waits that are shorter in sum decide nothing.
LEAST_S = 0.02
FURTHEST_SHARES = 0.2
LEAST_FIRST = 0.7
LEAST_SLEEPS = 20

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
    """One program under the profile on glibc's locks, and strace beside it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.records = folder / "records"
        self.said = folder / "said"
        self.records.mkdir()

    @contextmanager
    def watched(self, *command: str | Path) -> Iterator[int]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
        preload = [f"LD_PRELOAD={LIBRARY}", f"LOCKSWAP_PROFILE={self.records}"]
        words = ["strace", *futex_calls.OPTIONS, "-o", self.said, "env", *preload, *command]
        tracer = subprocess.Popen(
            list(map(str, words)), env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        try:
            yield child_of(tracer)
            tracer.wait(timeout=300)
        finally:
            if tracer.poll() is None:
                os.kill(child_of(tracer), signal.SIGKILL)
            tracer.wait(timeout=600)

    def process(self) -> dict:
        files = sorted(self.records.glob("*.lockprof"))
        done = subprocess.run([READER, *files], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)["processes"]
        return max(found, key=lambda one: sum(waited(lock) for lock in one["locks"]))


def child_of(tracer: subprocess.Popen) -> int:
    """A signal is to go to the program: strace would leave it alone and end."""
    for _ in range(1000):
        for child in Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split():
            with suppress(OSError):  # strace tries some things first, in children that end at once
                if Path(f"/proc/{child}/exe").readlink().name not in ("strace", "env"):
                    return int(child)
        time.sleep(0.01)
    raise AssertionError("strace starts nothing")


def waited(lock: dict) -> float:
    return sum(lock[mode]["wait_ns"] for mode in ("exclusive", "shared") if mode in lock) / 1e9


def frames_of(process: dict) -> dict[int, tuple[tuple[str, int], ...]]:
    """By the number of a stack: file and return address, the innermost first."""
    paths = [str(Path(one["path"]).resolve()) for one in process["modules"]]
    return {
        one["id"]: tuple((paths[module], address) for module, address in one["frames"] if module >= 0)
        for one in process["stacks"]
    }


class Profile:
    """Classes that were waited for on the same stacks look alike: the first stands for them, here and there."""

    def __init__(self, process: dict):
        kinds = {one["class"]: one["kind"] for one in process["locks"]}
        frames = frames_of(process)
        # The end of a wait for a condition, in which another thread keeps the mutex, counts as a wait for that, too.
        # strace has no line between the two.
        for_conditions = {one["waiter"] for one in process["pairs"] if kinds.get(one["class"]) == "cond"}
        pairs = [
            one
            for one in process["pairs"]
            if kinds.get(one["class"]) in ("mutex", "rwlock") and one["waiter"] not in for_conditions
        ]
        self.waiters: dict[tuple, set[int]] = defaultdict(set)
        for pair in pairs:
            if frames.get(pair["waiter"]):
                self.waiters[frames[pair["waiter"]]].add(pair["class"])
        stands: dict[int, int] = {}
        for classes in self.waiters.values():
            for one in classes:
                stands[one] = min(min(classes), stands.get(one, one))
        self.waited: dict[int, float] = defaultdict(float)
        for pair in pairs:
            if pair["class"] in stands:
                self.waited[stands[pair["class"]]] += pair["wait_ns"] / 1e9
        self.everything = sum(pair["wait_ns"] for pair in pairs) / 1e9
        # By the place that kept them waiting: where its release returns to.
        self.holders: dict[int, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
        for pair in pairs:
            if pair["class"] in stands and frames.get(pair["holder"]):
                self.holders[stands[pair["class"]]][frames[pair["holder"]][0]] += pair["wait_ns"] / 1e9

    def class_of(self, stack: list[tuple[str, int]]) -> int | None:
        """By the stack that has most in common with this one."""

        def common(frames: tuple) -> int:
            return next(
                (n for n, (a, b) in enumerate(zip(frames, stack, strict=False)) if a != b), min(len(frames), len(stack))
            )

        best = max(self.waiters, key=common, default=())
        return min(self.waiters[best]) if common(best) else None


def callers(stack: list[Frame]) -> list[tuple[str, int]]:
    """What stands behind the library's functions, without the one in which it starts threads: a profile has none."""
    inside = next((n for n, frame in enumerate(stack) if frame.path == str(LIBRARY)), len(stack))
    return [(str(Path(one.path).resolve()), one.address) for one in stack[inside:] if one.path != str(LIBRARY)]


def waits_for_lock(stack: list[Frame]) -> bool:
    """Asleep in the library's call that waits for a mutex or an rwlock, whatever the profile says of it."""
    return any(one.path == str(LIBRARY) and "acquire_slowly<" in one.function for one in stack)


def compare(run: Run, name: str) -> None:
    profile = Profile(run.process())
    calls = futex_calls.read(run.said.read_text(errors="replace").splitlines())
    slept: dict[int, float] = defaultdict(float)
    class_of_word: dict[int, int] = {}
    asleep = 0.0
    for one in calls:
        if one.is_wait and waits_for_lock(one.stack):
            asleep += one.seconds
            number = profile.class_of(callers(one.stack))
            if number is not None:
                slept[number] += one.seconds
                class_of_word[one.word] = number
    print(f"\n{name}: asleep for locks {asleep * 1e3:.1f} ms by strace, {len(calls):,} calls of futex;", end=" ")
    print(f"waited {profile.everything * 1e3:.1f} ms by the profile")
    if max(asleep, profile.everything) < LEAST_S:
        # strace finds its sleeps without the profile's help: both say that nobody waits.
        pytest.skip(f"{name}: nobody waits: {asleep * 1e3:.1f} ms and {profile.everything * 1e3:.1f} ms")
    # strace stops a thread at each call, before and after what it takes the time of: the profile has that, too.
    assert 0.5 < profile.everything / max(asleep, 1e-9) < 4, "they do not see the same waiting"
    shares = {
        one: (slept[one] / asleep, profile.waited[one] / profile.everything)
        for one in slept.keys() | profile.waited.keys()
    }
    ranked = sorted(shares, key=lambda one: -shares[one][1])
    for one in ranked[:4]:
        print(f"  class {one}: strace {100 * shares[one][0]:.1f} %, profile {100 * shares[one][1]:.1f} %")
    for one, (theirs, ours) in shares.items():
        assert abs(theirs - ours) <= FURTHEST_SHARES, one
    first = ranked[0]
    assert slept[first] >= LEAST_FIRST * max(slept.values()), "another lock comes first"
    # A word's memory may serve other things, too: a sleep for one of those says nothing about holders.
    for_locks = [one for one in calls if not one.is_wait or waits_for_lock(one.stack)]
    compare_holders(profile.holders, class_of_word, futex_calls.ended(for_locks))


def compare_holders(ours: dict, class_of_word: dict[int, int], wakes: dict) -> None:
    """The place that keeps threads waiting longest is the same one by both, or nearly as long by the other."""
    mine = {(number, place): s for number, places in ours.items() for place, s in places.items()}
    theirs: dict[tuple | None, float] = defaultdict(float)
    elsewhere: dict[tuple, float] = defaultdict(float)
    count = 0
    for word, number in class_of_word.items():
        for wake, seconds in wakes.get(word, []):
            key = (number, next(iter(callers(wake.stack)), None))
            theirs[key if key in mine else None] += seconds
            if key not in mine:
                elsewhere[key] += seconds
            count += 1
    all_ours, all_theirs = sum(mine.values()), sum(theirs.values())
    unknown = theirs.pop(None, 0.0)
    other = 100 * unknown / max(all_theirs, 1e-9)
    print(f"  {count:,} sleeps ended by a wake; {other:.1f} % from places not in the profile")
    for number, place in sorted(elsewhere, key=lambda key: -elsewhere[key])[:3]:
        where = f"{Path(place[0]).name}+{place[1]:#x}" if place else "no call of a lock"
        print(f"    class {number} from {where}: {100 * elsewhere[number, place] / all_theirs:.1f} %")
    if count < LEAST_SLEEPS:
        pytest.skip(f"{count} sleeps are too few to say who keeps threads waiting; the locks agree")
    ranked = sorted(mine, key=lambda key: -mine[key])
    for key in ranked[:3]:
        number, (path, address) = key
        print(f"    class {number} until {Path(path).name}+{address:#x}:", end=" ")
        print(f"strace {100 * theirs[key] / all_theirs:.1f} %, profile {100 * mine[key] / all_ours:.1f} %")
    assert unknown < 0.5 * all_theirs, "other places wake the threads"
    # Where some places keep threads waiting for about as long, either of them may be the first.
    near = [key for key in ranked if mine[key] >= LEAST_FIRST * mine[ranked[0]]]
    assert max(theirs[key] for key in near) >= LEAST_FIRST * max(theirs.values()), "another holder"


@pytest.fixture
def run(tmp_path):
    if why := futex_calls.why_not():
        pytest.skip(why)
    return Run(tmp_path)


def test_a_program_with_a_known_holder(run):
    """What is asked of the others, where the answer is known: all waits are for one mutex, kept in one place."""
    with run.watched(BUILD / "tests/profile/profile_hot_locks", "sleep"):
        pass
    compare(run, "profile_hot_locks")


def test_db_bench(run):
    words = ["--threads=4", "--num=500", "--memtablerep=hash_linkedlist", "--prefix_size=8", "--keys_per_prefix=4"]
    words += ["--inplace_update_support=1", "--inplace_update_num_locks=1", "--allow_concurrent_memtable_write=0"]
    words += ["--duration=3", "--benchmarks=fillseq,readwhilewriting", f"--db={run.folder}/db"]
    with run.watched(needs("db_bench"), *words):
        pass
    compare(run, "db_bench")


def test_kyoto(run):
    with run.watched(needs("kccachetest"), "order", "-th", "4", "-rnd", "2000"):
        pass
    compare(run, "kccachetest")


def test_memcached(run):
    port = free_port()
    words = ["-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "root", "-t", "4", "-m", "64"]
    with run.watched(needs(BUILD / "apps/memcached"), *words) as server:
        wait_for_port(port)
        load = [needs(BUILD / "apps/memcaslap"), f"--servers=127.0.0.1:{port}", "--threads=1", "--concurrency=64"]
        subprocess.run([*load, "--time=6s"], check=True, capture_output=True, timeout=600)
        os.kill(server, signal.SIGTERM)
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
  directory: ""
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
        subprocess.run(
            [*load, "-l", "3", "-c", "8"], env=os.environ | paths, capture_output=True, check=True, timeout=600
        )
        os.kill(program, signal.SIGTERM)
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
