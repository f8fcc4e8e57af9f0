"""The rows of measure_auto.py: which programs run under which locks, and what is asked of their figures."""

from dataclasses import dataclass, field, replace

from lockswap.recipes.recipe import Metric, Recipe

# A figure that is shown below this falls short, where nothing more is asked.
FLOOR = 0.97


@dataclass(frozen=True)
class Asked:
    """Of a figure: a metric, or several that are added. `least` and `most` bound its ratio to glibc, above 1 = better,
    or with `itself` the figure, in its own unit. `floor`: it may just not be shown below `least`."""

    metrics: tuple[str, ...]
    least: float | None = None
    most: float | None = None
    itself: bool = False
    floor: bool = False
    per_cpu: bool = False  # the figure by the CPU-seconds of the run

    @property
    def name(self) -> str:
        return "+".join(self.metrics) + (" per CPU-s" if self.per_cpu else "")


@dataclass(frozen=True)
class Place:
    """A program with so many threads, and the locks that are measured beside glibc's."""

    workload: str
    threads: int
    asked: dict[str, tuple[Asked, ...]]  # by the lock's label
    quota: int | None = None  # percent of a processor


@dataclass(frozen=True)
class Row:
    title: str
    places: list[Place] = field(default_factory=list)


def floor(*names: str, of: float = FLOOR, per_cpu: bool = False) -> Asked:
    return Asked(names, least=of, floor=True, per_cpu=per_cpu)


def both(*names: str, least: float = FLOOR, is_floor: bool = True) -> tuple[Asked, ...]:
    """By the clock and per CPU-second."""
    one = Asked(names, least=least, floor=is_floor)
    return one, replace(one, per_cpu=True)


# The program that is in no recipe.
PINGPONG = Recipe(
    name="pingpong",
    title="Two threads play ping-pong with condition variables",
    source="lockswap, apps/pingpong.cpp",
    measures="Hand-overs a second.",
    command=("{apps}/pingpong", "{threads}", "{rounds}"),
    threads=(2,),
    metrics=(
        Metric("hand-overs", "total", "hand-overs/s", "higher", r"^handovers_s ([0-9]+)"),
        Metric("per CPU-second", "total", "hand-overs/CPU-s", "higher", r"^handovers_cpu ([0-9]+)"),
    ),
    takes=("mutex",),
    fixed_work=True,
    params={"rounds": 20000},
    quick_params={"rounds": 2000},
)

OWN_CONDS = "mutex:pthread@LOCKSWAP_COND=own"
BOTH = "auto+mutex:auto"


def _rwbench() -> list[Place]:
    asked = {"auto": (*both("reads", "writes"), floor("reads"), floor("writes"))}
    shares = ("9in10", "1in2", "1in10", "1in100", "1in1000", "1in10000")
    return [Place(f"rwbench-{share}", threads, asked) for share in shares for threads in (1, 2, 8, 16, 32)]


def _kccachetest() -> list[Place]:
    def place(threads: int, least: float) -> Place:
        asked = tuple(Asked((name,), least=least) for name in ("get", "set+remove"))
        return Place("kccachetest-order", threads, {"eventual": asked, "auto": (floor("get"), floor("set+remove"))})

    return [place(2, 3.0), place(8, 1.0), place(16, 1.0)]


def _kcprototest() -> list[Place]:
    asked = {"eventual": (Asked(("set+remove",), least=1.0),), "auto": (floor("get"), floor("set+remove"))}
    return [Place("kcprototest-order", threads, asked) for threads in (8, 16)]


def _test_rwlock() -> list[Place]:
    asked = (Asked(("reads",), least=0.95), Asked(("writes",), least=500, itself=True))
    return [Place("test-rwlock", 8, {"eventual": asked, "auto": asked})]


def _db_bench() -> list[Place]:
    asked = (Asked(("gets",), least=0.95), Asked(("puts",), least=3.0), Asked(("get-p99.9",), least=0.5))
    return [Place("db-bench", 8, {"eventual": asked, "auto": asked})]


def _cache_bench() -> list[Place]:
    asked = (Asked(("operations",), least=1.0), Asked(("p99.9",), least=1.0))
    return [Place("cache-bench", threads, {"mutex:eventual": asked}) for threads in (4, 16)]


def _mutex() -> list[Place]:
    def place(variant: str, threads: int, least: float) -> Place:
        asked = both("acquisitions", least=least, is_floor=False)
        return Place(f"pairs-mutex-{variant}", threads, {"mutex:eventual": asked})

    targets = ((2, 1.3), (8, 1.0), (32, 1.0))
    return [place(variant, threads, least) for variant in ("little", "bare") for threads, least in targets]


def _rw2() -> list[Place]:
    def place(workload: str, least: float) -> Place:
        asked = both("reads", "writes", least=least, is_floor=False)
        tails = tuple(floor(name) for name in ("read-p99.9", "write-p99.9"))
        return Place(workload, 2, {"eventual": (*asked, *tails), "auto": both("reads", "writes")})

    return [place("pairs-1in2", 1.0), place("pairs-1in100", 1.4)]


def _crowd() -> list[Place]:
    asked = {"auto": both("reads", "writes")}
    return [Place(f"pairs-{share}", threads, asked) for share in ("1in2", "1in100") for threads in (4, 8, 16)]


def _cond() -> list[Place]:
    def asked(*names: str) -> dict[str, tuple[Asked, ...]]:
        return {OWN_CONDS: tuple(Asked((name,), least=2.0) for name in names)}

    return [
        Place("kcutiltest-cond", 4, asked("waits", "waits in the map")),
        Place("pingpong", 2, asked("hand-overs", "per CPU-second")),
    ]


def _quota() -> list[Place]:
    mutex = Place("pairs-mutex-little", 8, {"mutex:auto": both("acquisitions")}, quota=50)
    return [
        replace(_rwbench()[0], workload=f"rwbench-{share}", threads=8, quota=50) for share in ("1in2", "1in100")
    ] + [mutex]


def _tails() -> list[Place]:
    asked = (
        Asked(("write-max",), most=40_000, itself=True),
        Asked(("write-max",), least=1 / 0.3),
        Asked(("write-p99.9",), most=20_000, itself=True),
        Asked(("fairness",), least=0.3, itself=True),
    )
    return [Place("rwbench-1in100", 32, {"eventual": asked, "auto": asked})]


def _programs() -> list[Place]:
    def place(workload: str, threads: int, *asked: Asked) -> Place:
        return Place(workload, threads, {BOTH: asked})

    return [
        place("memcached", 4, floor("operations")),
        place("db-bench-fill", 4, floor("puts")),
        place("openssl-digest", 1, floor("digests"), floor("per CPU-second")),
        place("openssl-digest", 2, Asked(("digests",), least=1.4), Asked(("per CPU-second",), least=1.4)),
        *(place("openssl-handshakes", n, floor("connections"), floor("per CPU-second")) for n in (1, 2)),
        *(place(f"compressors-{name}", 4, floor("time")) for name in ("pigz", "pbzip2", "xz", "zstd")),
    ]


ROWS = {
    "rwbench": Row("RWBench, `auto`: reads and writes together, and apart", _rwbench()),
    "kccachetest": Row("kccachetest order", _kccachetest()),
    "kcprototest": Row("kcprototest order", _kcprototest()),
    "test_rwlock": Row("test_rwlock, 8 readers", _test_rwlock()),
    "db_bench": Row("db_bench, 8 readers beside a writer", _db_bench()),
    "cache_bench": Row("cache_bench, one shard", _cache_bench()),
    "mutex": Row("A mutex, with little or nothing inside and outside", _mutex()),
    "rw2": Row("A reader-writer lock back to back, 2 threads", _rw2()),
    "crowd": Row("A reader-writer lock back to back, more threads than processors", _crowd()),
    "cond": Row("Condition variables of ours, glibc's mutexes", _cond()),
    "quota": Row("Half a processor by quota, 8 threads", _quota()),
    "tails": Row("RWBench, 32 threads, 1 % writes: how long the longest waits", _tails()),
    "programs": Row("Programs under auto and auto", _programs()),
}
