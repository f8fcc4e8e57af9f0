"""The audit's report, for people and for scripts."""

import io
import json
import shlex
from collections import Counter
from dataclasses import asdict
from itertools import islice

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockswap.audit import shared, verdict
from lockswap.audit.findings import LOOK, Audit, Found
from lockswap.audit.places import Places
from lockswap.audit.stacks import Stacks, letters
from lockswap.base.junit import ERROR, FAILURE, Case, document
from lockswap.base.text import plural, share
from lockswap.report.console import listed, open_console

SCHEMA = 4
_STYLES = {verdict.SAFE: "bold green", verdict.UNUSED: "bold", verdict.UNKNOWN: "bold yellow", LOOK: "bold yellow"}
_SHOWN = 3  # examples of a finding
_SHOWN_INSIDE = 10  # threads in lock calls
_TIMES = ("read", "write", "mutex", "write_wait")  # of which the longest is kept
_LONG_WAIT = 1_000_000  # ns: shorter ones of writers need no words
# One of the first four, and any of the others.
_MUTEX_KINDS = ("normal", "recursive", "errorcheck", "adaptive", "robust", "inherit", "protect", "process_shared")


def as_json(audit: Audit) -> str:
    texts = _Texts(audit)
    return (
        json.dumps(
            {
                "schema": SCHEMA,
                "command": audit.command,
                "exit_status": audit.status,
                "verdict": verdict.summary(audit),
                "verdicts": {kind: asdict(one) for kind, one in verdict.of_each(audit).items()},
                "not_looked_at": list(verdict.NEVER_SEEN),
                "safe": verdict.is_safe(audit),
                "ended": audit.ended,
                "signalled": [asdict(child) for child in audit.signalled],
                "look_at": audit.look,
                "hindrances": audit.hindrances,
                "notes": audit.notes,
                "counts": dict(audit.counts),
                "most_rwlocks_held": audit.most("most_rwlocks_held"),
                "most_mutexes_held": audit.most("most_mutexes_held"),
                "inside": [
                    {"thread": one["thread"], "process": n, "at": texts.call(n, i), "lock": one["lock"]}
                    for n, i, one in audit.inside
                ],
                "longest": {what: texts.longest(what) for what in _TIMES},
                "findings": [
                    {
                        "name": found.name,
                        "level": found.meaning.level,
                        "times": found.times,
                        "title": found.meaning.title,
                        "says": found.meaning.says,
                        "examples": [texts.of(example) for example in found.examples],
                    }
                    for found in audit.findings
                ],
                "processes": audit.processes,
            },
            indent=1,
        )
        + "\n"
    )


def as_junit(audit: Audit) -> str:
    """A test for the run and one for each kind of finding, which fails if there is something to look at."""
    texts = _Texts(audit)
    command = shlex.join(audit.command)
    unknown = audit.ended or verdict.level(audit) == verdict.UNKNOWN
    cases = [Case("the run", *((ERROR, verdict.summary(audit)) if unknown else ()))]
    if audit.hindrances:
        lines = "\n".join(audit.hindrances)
        cases.append(Case("what a preload does not reach", FAILURE, audit.hindrances[0], lines))
    for found in audit.findings:
        title = f"{found.meaning.title} ({plural(found.times, 'time')})"
        lines = "\n".join([title, found.meaning.says, *_examples(found, texts)])
        outcome = (FAILURE, title, lines) if found.meaning.level == LOOK else ()
        cases.append(Case(found.name, *outcome))
    return document(f"lockswap audit -- {command}", cases)


def as_text(audit: Audit, plain: bool) -> str:
    """`plain`: for a file, without the terminal's colours and width."""
    terminal = Console(width=120, no_color=True) if plain else open_console(stderr=True)
    console = Console(
        file=io.StringIO(), width=terminal.width, force_terminal=terminal.is_terminal, no_color=terminal.no_color
    )
    console.print(Text(f"lockswap audit: {shlex.join(audit.command)}", style="bold"), soft_wrap=True)
    texts = _Texts(audit)
    console.print(_figures(audit, texts))
    for found in audit.findings:
        console.print()
        console.print(_heading(found))
        console.print(listed(" ", [found.meaning.says, *_examples(found, texts)]))
    if audit.inside:
        console.print()
        console.print(Text(f"• {verdict.in_calls(audit)} when the run ended", style="dim"))
        console.print(listed(" ", _inside(audit, texts)))
    for mark, lines in (("!", audit.hindrances), ("•", audit.notes)):
        if lines:
            console.print()
            console.print(listed(mark, lines, "yellow" if mark == "!" else "dim"))
    console.print()
    console.print(_verdicts(audit))
    console.print()
    console.print(Text(verdict.summary(audit), style=_STYLES[verdict.level(audit)]), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


class _Texts:
    """Names for the places, stacks and locks of examples."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._places, self._stacks = Places(_places(audit)), Stacks(audit.processes)

    def of(self, example: dict) -> dict:
        """The example, and what it says for people."""
        process, stacks = example["process"], self._stacks
        named = example | {
            "at": stacks.user(process, example["stack"]) or self._places.text(example["place"]),
            "other_at": stacks.user(process, example["other_stack"]) or self._places.text(example["other_place"]),
            "more_at": [self._places.text(place) for place in example.get("more_places", [])],
            "stack_at": stacks.frames(process, example["stack"]),
            "other_stack_at": stacks.frames(process, example["other_stack"]),
        }
        if "users" in example:
            users = [one | {"at": stacks.user(one["process"], one["stack"])} for one in example["users"]]
            return named | {"users": users}
        if "circle" not in example:
            return named
        circle = [
            part
            | {f"{what}_at": stacks.frames(process, part[f"{what}_stack"]) for what in ("held", "asked")}
            | {f"{what}_user": stacks.user(process, part[f"{what}_stack"]) for what in ("held", "asked")}
            | {"lock": stacks.lock(process, part["held"])}
            for part in example["circle"]
        ]
        # Findings that are not cycles have two places; this one shows its first two.
        held = [part["held_user"] or other for part, other in zip(circle, named["more_at"], strict=False)]
        return named | {"circle": circle, "more_at": held}

    def longest(self, what: str) -> dict | None:
        """The longest time of that kind, where it began, and whether it went on until the process ended."""
        found = self._audit.longest(what)
        if found is None:
            return None
        number, one = found
        process = self._audit.processes[number]
        of = {"program": process["program"], "pid": process["pid"], "lock": one["lock"]}
        return {"ns": one["ns"], "goes_on": one["goes_on"], "at": self._stacks.user(number, one["stack"])} | of

    def call(self, process: int, number: int) -> str:
        return self._stacks.call(process, number)

    def stack(self, example: dict, number: int | None) -> str:
        return self._stacks.line(example["process"], number)


def _places(audit: Audit) -> list[dict]:
    examples = [example for found in audit.findings for example in found.examples]
    two = [example[which] for example in examples for which in ("place", "other_place")]
    return two + [place for example in examples for place in example.get("more_places", [])]


def _inside(audit: Audit, texts: _Texts) -> list[str]:
    lines = []
    for n, i, one in audit.inside[:_SHOWN_INSIDE]:
        process = audit.processes[n]
        asks = "a mutex" if one["kind"] == "mutex" else f"a rwlock, to {one['asks_to']}"
        who = f"thread {one['thread']} of {process['program']} ({process['pid']})"
        lines.append(f"{who} asks for {asks}, at {texts.call(n, i)}")
    more = len(audit.inside) - _SHOWN_INSIDE
    return lines + ([f"and {plural(more, 'other thread')}: --json has them"] if more > 0 else [])


def _heading(found: Found) -> Text:
    grave = found.meaning.level == LOOK
    mark = Text("! " if grave else "• ", style="yellow" if grave else "dim")
    return mark + Text(f"{found.meaning.title}: {plural(found.times, 'time')}", style="bold" if grave else "")


def _examples(found: Found, texts: _Texts) -> list[str]:
    says = _EXAMPLES.get(found.name, _example)
    lines = [line for example in found.examples[:_SHOWN] for line in says(texts.of(example), texts)]
    if more := len(found.examples) - _SHOWN:
        lines += [f"and {plural(more, 'other place')}: --json has them"] if more > 0 else []
    return lines


def _example(example: dict, texts: _Texts) -> list[str]:
    at, other = example["at"], example["other_at"]
    if not int(example["other_place"]["address"], 16) and example["other_place"]["file"]:
        other = example["other_place"]["file"]  # a library's name
    words = [_times(example)]
    words += [f"at {at}"] if at else []
    is_held = example["other_thread"] not in (0, example["thread"])
    if is_held:
        words.append(f"held by thread {example['other_thread']}" + (f", which took it at {other}" if other else ""))
    elif other:
        words.append(f"taken before at {other}" if example["lock"] != "0x0" else other)
    return [", ".join(words), *_both_stacks(example, texts, "took it" if is_held else "")]


def _both_stacks(example: dict, texts: _Texts, other_did: str) -> list[str]:
    sides = [(example["stack"], f"thread {example['thread']}")]
    sides.append((example["other_stack"], f"thread {example['other_thread']} {other_did}".rstrip()))
    return [f"  {who}: {texts.stack(example, number)}" for number, who in sides if number is not None and other_did]


def _two_mutexes(example: dict, texts: _Texts) -> list[str]:
    waits = f"thread {example['thread']} waits at {example['at']}"
    other = f"thread {example['other_thread']} waits with another mutex at {example['other_at']}"
    return [f"{_times(example)}: {waits}; {other}", *_both_stacks(example, texts, "waits")]


def _orders(example: dict, texts: _Texts) -> list[str]:
    circle = example["circle"]
    names = list(islice(letters(), len(circle)))
    nexts = names[1:] + names[:1]
    parts, stacks = [], []
    for n, part in enumerate(circle):
        held = part["held_user"] or _nth(example["more_at"], n)
        asked = part["asked_user"] or _nth([example["at"], example["other_at"]], n)
        who = f"thread {part['thread']}" if n == 0 or not example["one_thread"] else "the same thread"
        parts.append(f"{who} takes {names[n]} at {held}, then {nexts[n]} at {asked}")
        for what, name, mode in (("held", names[n], "holds_to"), ("asked", nexts[n], "asks_to")):
            does = "takes" if part[what]["kind"] == "mutex" else f"{part[mode]}s"
            if number := texts.stack(example, part[f"{what}_stack"]):
                stacks.append(f"  thread {part['thread']} {does} {name}: {number}")
    locks = ", ".join(f"{name} is {part['lock']}" for name, part in zip(names, circle, strict=True))
    if any(part["held"]["object"] is None for part in circle):
        locks += ". A lock that is left behind without its destroy, as std::mutex is, can't be told from a later one "
        locks += "at its address: make sure that one address is one lock"
    return [f"{_times(example)}: {'; '.join(parts)}", f"  {locks}", *stacks]


def _nth(texts: list[str], n: int) -> str:
    return texts[n] if n < len(texts) and texts[n] else "a place that is not known"


def _wait(example: dict, _texts: _Texts) -> list[str]:
    at, held, writer = example["at"], example["other_at"], example["more_at"][0]
    return [
        f"{_times(example)}, thread {example['thread']} waits at {at}, reads since {held}; a writer asks at {writer}"
    ]


def _taken(example: dict, texts: _Texts) -> list[str]:
    words = f"{_times(example)}: thread {example['thread']} took it at {example['at']}"
    stack = texts.stack(example, example["stack"])
    return [words, *([f"  thread {example['thread']}: {stack}"] if stack else [])]


def _join(example: dict, texts: _Texts) -> list[str]:
    asks, holds = example["thread"], example["other_thread"]
    held, join = example["other_at"] or "a place that is not known", example["more_at"][0]
    says = f"thread {holds} waits for the end of thread {asks} at {join} and holds what it took at {held}, "
    return [
        f"{_times(example)}: {says}which thread {asks} asks for at {example['at']}",
        *_both_stacks(example, texts, "took it"),
    ]


def _starved(example: dict, _texts: _Texts) -> list[str]:
    return [f"{_times(example)}, at {example['at']}: {example['other_place']['file']}"]


def _in_shared(example: dict, _texts: _Texts) -> list[str]:
    return shared.lines(example)


_EXAMPLES = {
    shared.BETWEEN: _in_shared,
    shared.LEFT: _in_shared,
    shared.ALONE: _in_shared,
    "starving_writer": _starved,
    "join_while_holding": _join,
    "ended_holding": _taken,
    "circle_of_orders": _orders,
    "circle_with_reads": _orders,
    "opposite_orders": _orders,
    "opposite_mixed_orders": _orders,
    "opposite_read_orders": _orders,
    "cond_two_mutexes": _two_mutexes,
    "cond_changes_mutex": _two_mutexes,
    "wait_while_reading": _wait,
}


def _times(example: dict) -> str:
    return f"{plural(example['times'], 'time')} in {example['program']} ({example['pid']})"


def _verdicts(audit: Audit) -> Table:
    grid = Table.grid(padding=(0, 2))
    for kind, one in verdict.of_each(audit).items():
        grid.add_row(Text(kind, style="dim"), Text(one.says))
    for line in verdict.NEVER_SEEN:
        grid.add_row(Text("not seen", style="dim"), Text(line, style="dim"))
    return grid


def _figures(audit: Audit, texts: _Texts) -> Table:
    grid = Table.grid(padding=(0, 2))
    for name, text in _lines(audit, texts):
        grid.add_row(Text(name, style="dim"), Text(text))
    return grid


def _lines(audit: Audit, texts: _Texts) -> list[tuple[str, str]]:
    c, running = audit.counts, sum(process["running"] for process in audit.processes)
    still = f", {running} of them still running" if running else ""
    names = f" ({audit.programs})" if len(audit.processes) > 1 else ""
    lines = [("processes", f"{len(audit.processes)}{names}{still}; exit status {audit.status}")]
    lines.append(("rwlocks", _rwlocks(audit)))
    if audit.rwlock_calls:
        acquired = c["reads"] + c["writes"]
        tries = c["tryrdlock"] + c["trywrlock"]
        lines.append(("tries", _of(tries, acquired + c["rw_busy"] + c["rw_timeouts"]) + _busy(c["rw_busy"])))
        timed = sum(c[name] for name in ("timedrdlock", "clockrdlock", "timedwrlock", "clockwrlock"))
        lines.append(("timed", _of(timed, acquired + c["rw_busy"] + c["rw_timeouts"]) + _clocks(audit, "rw", timed)))
        most = plural(audit.most("most_rwlocks_held"), "rwlock")
        held = [f"at most {most} by one thread"]
        held += [f"read for {_longest(texts, 'read')}"] if c["reads"] else []
        held += [f"written for {_longest(texts, 'write')}"] if c["writes"] else []
        lines.append(("held", "; ".join(held)))
        wait = texts.longest("write_wait")
        if wait and wait["ns"] >= _LONG_WAIT:
            asked = f", asked for at {wait['at']}" if wait["at"] else ""
            lines.append(("waits", f"a writer waited for up to {_time(wait['ns'])}{asked}"))
    if audit.mutex_calls:
        lines.append(("mutexes", _mutexes(audit, texts)))
    if audit.cond_calls:
        lines.append(("condvars", _condvars(audit)))
    return lines


def _rwlocks(audit: Audit) -> str:
    c = audit.counts
    if not audit.rwlock_calls:
        return "none: no rwlock function was called"
    names = {
        "rw_prefer_writer": "PREFER_WRITER",
        "rw_prefer_writer_nonrecursive": "PREFER_WRITER_NONRECURSIVE",
        "rw_process_shared": "process-shared",
    }
    kinds = _counted(c, names)
    extra = f" ({', '.join(kinds)})" if kinds else ""
    return f"{c['rwlocks']:,} seen{extra}; {_many(c['reads'], 'read')}, {_many(c['writes'], 'write')}"


def _mutexes(audit: Audit, texts: _Texts) -> str:
    c = audit.counts
    kinds = [f"{c[f'mutex_{kind}']:,} {kind.replace('_', '-')}" for kind in _MUTEX_KINDS if c[f"mutex_{kind}"]]
    asked = c["mutex_acquired"] + c["mutex_busy"] + c["mutex_timeouts"]
    timed = c["mutex_timedlock"] + c["mutex_clocklock"]
    parts = [
        _many(c["mutex_acquired"], "acquisition") + (f" ({', '.join(kinds)})" if kinds else ""),
        f"tries {_of(c['mutex_trylock'], asked)}",
    ]
    parts.append(f"timed {_of(timed, asked)}{_clocks(audit, 'mutex', timed)}")
    parts.append(f"at most {audit.most('most_mutexes_held')} held by one thread")
    parts += [f"held for {_longest(texts, 'mutex')}"] if c["mutex_acquired"] else []
    if c["mutex_owner_dead"]:
        parts.append(f"{c['mutex_owner_dead']:,} times the owner had died")
    return "; ".join(parts)


def _condvars(audit: Audit) -> str:
    c = audit.counts
    timed = _of(c["cond_timed"], c["cond_waits"]) + _clocks(audit, "cond", c["cond_timed"])
    parts = [
        _many(c["cond_waits"], "wait") + _on_shared(c["cond_waits_process_shared"]),
        f"timed {timed}",
        f"{_many(c['cond_signal'], 'signal')}, {_many(c['cond_broadcast'], 'broadcast')}",
    ]
    kinds = {"cond_monotonic": "with the monotonic clock", "cond_process_shared": "process-shared"}
    if c["cond_init"]:
        parts.append(", ".join([f"{c['cond_init']:,} initialised by a call", *_counted(c, kinds)]))
    return "; ".join(parts)


def _on_shared(waits: int) -> str:
    return f" ({waits:,} on process-shared ones)" if waits else ""


def _counted(counts: Counter, names: dict[str, str]) -> list[str]:
    return [f"{counts[name]:,} {what}" for name, what in names.items() if counts[name]]


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _of(part: int, whole: int) -> str:
    return f"{share(part / whole)} ({part:,})" if part and whole else "none"


def _busy(busy: int) -> str:
    return f", of them {busy:,} found it busy" if busy else ""


def _clocks(audit: Audit, what: str, timed: int) -> str:
    names = {f"{what}_clock_realtime": "CLOCK_REALTIME", f"{what}_clock_monotonic": "CLOCK_MONOTONIC"}
    names[f"{what}_clock_other"] = "another clock (EINVAL)"
    parts = [f"{audit.counts[name]:,} by {clock}" for name, clock in names.items() if audit.counts[name]]
    over = audit.counts[f"{what}_timeouts"]
    late = f", {over:,} ran out" if over else ""
    return f", {', '.join(parts)}{late}" if timed else ""


def _longest(texts: _Texts, what: str) -> str:
    one = texts.longest(what)
    if one is None:
        return "a time that is not known, since none had ended"
    open_end = ", until the end of the process" if one["goes_on"] else ""
    return f"up to {_time(one['ns'])}{open_end}" + (f", taken at {one['at']}" if one["at"] else "")


def _time(ns: int) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}"
    return f"{ns} ns"
