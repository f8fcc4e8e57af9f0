"""How to cite lockswap, and the papers that its locks come from. docs/algorithms.md has the same list."""

from dataclasses import dataclass

# As in the CITATION.cff of the repository, which is made from this.
TITLE = "lockswap"
ABSTRACT = (
    "Runs unmodified Linux programs with other pthread locks, measures which lock is fastest for them, and finds the "
    "lock that slows them down or hangs them."
)
AUTHORS = "The lockswap authors"
RELEASED = "2026-11-29"  # this version
LICENSE = "MIT"
KEYWORDS = ("locks", "synchronisation", "reader-writer locks", "pthreads", "performance")


@dataclass(frozen=True)
class Paper:
    """`cited` is how the registry names it in the source of a lock; `people` are given names and family names."""

    cited: str
    people: tuple[tuple[str, str], ...]
    title: str
    place: str  # a journal with its volume, or a conference
    year: int
    kind: str = "conference-paper"  # of the Citation File Format
    doi: str = ""  # USENIX and reports have none


_ANDERSON, _DICE, _KOGAN = ("James H.", "Anderson"), ("Dave", "Dice"), ("Alex", "Kogan")
_MARATHE, _SHAVIT, _SCOTT = ("Virendra J.", "Marathe"), ("Nir", "Shavit"), ("Michael L.", "Scott")
_SCHERER = ("William N.", "Scherer III")

PAPERS = (
    Paper(
        "Brandenburg and Anderson 2010",
        (("Björn B.", "Brandenburg"), _ANDERSON),
        "Spin-based reader-writer synchronization for multiprocessor real-time systems",
        "Real-Time Systems 46",
        2010,
        "article",
        doi="10.1007/s11241-010-9097-2",
    ),
    Paper(
        "Dice and Kogan 2019",
        (_DICE, _KOGAN),
        "BRAVO - Biased Locking for Reader-Writer Locks",
        "USENIX Annual Technical Conference (ATC)",
        2019,
    ),
    Paper(
        "Calciu and others 2013",
        (("Irina", "Calciu"), _DICE, ("Yossi", "Lev"), ("Victor", "Luchangco"), _MARATHE, _SHAVIT),
        "NUMA-aware reader-writer locks",
        "Symposium on Principles and Practice of Parallel Programming (PPoPP)",
        2013,
        doi="10.1145/2442516.2442532",
    ),
    Paper(
        "Dice, Marathe and Shavit 2012",
        (_DICE, _MARATHE, _SHAVIT),
        "Lock cohorting: a general technique for designing NUMA locks",
        "Symposium on Principles and Practice of Parallel Programming (PPoPP)",
        2012,
        doi="10.1145/2145816.2145848",
    ),
    Paper(
        "Matveev and others 2015",
        (("Alexander", "Matveev"), _SHAVIT, ("Pascal", "Felber"), ("Patrick", "Marlier")),
        "Read-log-update: a lightweight synchronization mechanism for concurrent programming",
        "Symposium on Operating Systems Principles (SOSP)",
        2015,
        doi="10.1145/2815400.2815406",
    ),
    Paper(
        "Desnoyers and others 2012",
        (
            ("Mathieu", "Desnoyers"),
            ("Paul E.", "McKenney"),
            ("Alan S.", "Stern"),
            ("Michel R.", "Dagenais"),
            ("Jonathan", "Walpole"),
        ),
        "User-level implementations of read-copy update",
        "IEEE Transactions on Parallel and Distributed Systems (TPDS)",
        2012,
        "article",
        doi="10.1109/TPDS.2011.159",
    ),
    Paper(
        "Mellor-Crummey and Scott 1991",
        (("John M.", "Mellor-Crummey"), _SCOTT),
        "Algorithms for scalable synchronization on shared-memory multiprocessors",
        "ACM Transactions on Computer Systems (TOCS)",
        1991,
        "article",
        doi="10.1145/103727.103729",
    ),
    Paper(
        "Craig 1993",
        (("Travis S.", "Craig"),),
        "Building FIFO and priority-queuing spin locks from atomic swap",
        "University of Washington",
        1993,
        "report",
    ),
    Paper(
        "Landin and Hagersten 1994",
        (("Peter", "Magnusson"), ("Anders", "Landin"), ("Erik", "Hagersten")),
        "Queue locks on cache coherent multiprocessors",
        "International Parallel Processing Symposium (IPPS)",
        1994,
        doi="10.1109/IPPS.1994.288305",
    ),
    Paper(
        "Scott and Scherer 2001",
        (_SCOTT, _SCHERER),
        "Scalable queue-based spin locks with timeout",
        "Symposium on Principles and Practice of Parallel Programming (PPoPP)",
        2001,
        doi="10.1145/379539.379566",
    ),
    Paper(
        "Kogan, Dice, Issa, EuroSys 2020",
        (_KOGAN, _DICE, ("Shady", "Issa")),
        "Scalable Range Locks for Scalable Address Spaces and Beyond",
        "European Conference on Computer Systems (EuroSys)",
        2020,
        doi="10.1145/3342195.3387533",
    ),
    Paper("Drepper, Futexes are tricky", (("Ulrich", "Drepper"),), "Futexes are tricky", "Red Hat", 2011, "report"),
    Paper(
        "Dice and Kogan, Avoiding Scalability Collapse",
        (_DICE, _KOGAN),
        "Avoiding scalability collapse by restricting concurrency",
        "European Conference on Parallel and Distributed Computing (Euro-Par)",
        2019,
        doi="10.48550/arXiv.1905.10818",  # the longer version
    ),
)
