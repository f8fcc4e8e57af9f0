"""Locks in memory that processes share, without PTHREAD_PROCESS_SHARED: what the records of all processes say together.

A lock's place in its file identifies it, also in shared memory that has no name.
"""

from collections.abc import Iterable, Iterator, Sequence

from lockswap.base.text import plural

BETWEEN, LEFT, ALONE = "private_between_processes", "left_in_shared_memory", "private_in_shared_memory"
_KINDS = {"rwlock": "rwlock", "mutex": "mutex", "cond": "condition variable"}
_SHOWN = 3  # processes
_Sight = tuple[int, dict]  # the number of a process, and a lock as that one's record has it


def found(processes: Sequence[dict]) -> Iterator[tuple[str, str, dict]]:
    """For each finding its name, the kind of lock and an example; locks that were used alike are one example."""
    examples: dict[tuple, dict] = {}
    for sights in _by_lock(processes):
        users = _first_of_each_process(sights)
        for name in _names(users):
            _, first = users[0]
            alike = (name, first["kind"], first["device"], first["inode"], _places(users))
            if alike in examples:
                examples[alike]["times"] += 1
            else:
                examples[alike] = _example(processes, users)
    for (name, kind, *_), example in examples.items():
        yield name, kind, example


def _by_lock(processes: Sequence[dict]) -> Iterable[list[_Sight]]:
    locks: dict[tuple, list[_Sight]] = {}
    for number, process in enumerate(processes):
        for lock in process.get("shared_locks", ()):
            segment = lock["file"].startswith("/SYSV")  # whose inode is a number of its own kind
            key = (lock["kind"], segment, lock["device"], lock["inode"], lock["offset"])
            locks.setdefault(key, []).append((number, lock))
    return locks.values()


def _first_of_each_process(sights: Iterable[_Sight]) -> list[_Sight]:
    """A process that maps the file twice finds what it has left itself."""
    first: dict[tuple[int, int], _Sight] = {}
    for number, lock in sights:
        first.setdefault((number, lock["pid"]), (number, lock))
    return list(first.values())


def _names(users: Sequence[_Sight]) -> list[str]:
    left = any(lock["not_glibcs"] or lock["gone_holder"] for _, lock in users)
    # If each process initialises it, each has a lock of its own.
    handed_on = len(users) > 1 and not all(lock["begins"] for _, lock in users)
    used_before = any(lock["is_used"] and not lock["begins"] for _, lock in users)
    names = [LEFT] if left else []
    if handed_on or (used_before and not left):
        names.append(BETWEEN)
    return names or [ALONE]


def _places(users: Iterable[_Sight]) -> tuple:
    return tuple((number, lock["stack"]) for number, lock in users)


def _example(processes: Sequence[dict], users: Sequence[_Sight]) -> dict:
    """With the keys of all examples, of the first process that used it."""
    number, lock = users[0]
    nowhere = {"address": "0x0", "offset": 0, "file": ""}
    return {
        "times": 1,
        "lock": lock["lock"],
        "thread": lock["thread"],
        "other_thread": 0,
        "stack": lock["stack"],
        "other_stack": None,
        "place": nowhere,
        "other_place": nowhere,
        "kind": lock["kind"],
        "memory": {key: lock[key] for key in ("file", "device", "inode", "offset")},
        "users": [
            {"process": n, "program": processes[n]["program"]}
            | {key: one[key] for key in ("pid", "thread", "stack", "begins", "is_used", "not_glibcs", "gone_holder")}
            for n, one in users
        ],
        "program": processes[number]["program"],
        "pid": lock["pid"],
        "process": number,
    }


def lines(example: dict) -> list[str]:
    """What the example says for people, whose users have "at"."""
    memory, users = example["memory"], example["users"]
    where = f"at offset {memory['offset']:#x} of {_in_words(memory['file'])}"
    said = [f"{plural(example['times'], _KINDS[example['kind']])} {where}", *map(_use, users[:_SHOWN])]
    more = len(users) - _SHOWN
    return said + ([f"  and {plural(more, 'other process')}: --json has them"] if more > 0 else [])


def _use(user: dict) -> str:
    does = "initialises" if user["begins"] else "uses"
    said = f"  {user['program']} ({user['pid']}) {does} it" + (f" at {user['at']}" if user["at"] else "")
    if user["gone_holder"]:
        return f"{said}, held by thread {user['gone_holder']}, which doesn't exist"
    return f"{said}, with bytes that are not glibc's" if user["not_glibcs"] else said


def _in_words(file: str) -> str:
    """What the kernel calls the mapping."""
    if file.startswith("/dev/zero"):
        return "shared memory without a name"
    return "a segment of System V's shared memory" if file.startswith("/SYSV") else file
