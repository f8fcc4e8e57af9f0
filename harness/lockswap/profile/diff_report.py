"""Two profiles compared, as text of 80 columns, as data, and as a page."""

import shlex
from dataclasses import asdict
from html import escape

from lockswap.base.text import plural, share, time
from lockswap.profile.diff import FEW, SAME, Change, Difference, LockChange, Measured, PairChange, Run
from lockswap.profile.report import wrapped

SCHEMA = 1
_PAIRS = 3  # of a lock
_COLOUR = {"better": "#92c5de", "worse": "#f4a582"}


def as_text(difference: Difference, top: int) -> str:
    changed = [lock for lock in difference.locks if lock.change.verdict not in (FEW, SAME)]
    lines = [wrapped("lockswap report: two profiles, waiting for mutexes and rwlocks, before -> after", "", "  ")]
    lines += [_run("before", difference.before), _run("after ", difference.after)]
    lines += [wrapped(f"all: {_words(difference.whole)}", "", "  ")]
    for number, lock in enumerate(changed[:top], 1):
        lines += ["", *_lock(number, lock)]
    lines += ["", *_rest(difference, changed, top)]
    return "".join(f"{line}\n" for line in lines)


def as_data(difference: Difference) -> dict:
    return {
        "schema": SCHEMA,
        "before": _run_data(difference.before),
        "after": _run_data(difference.after),
        "all": _data(difference.whole),
        "locks": [
            {
                "kind": lock.kind,
                "name": lock.name,
                **_data(lock.change),
                "pairs": [{"waiter": pair.waiter, "holder": pair.holder, **_data(pair.change)} for pair in lock.pairs],
            }
            for lock in difference.locks
        ],
    }


def page(difference: Difference, text: str) -> str:
    """Bars of waiting in a second, before above after; of an acquisition where the runs' lengths are not known."""
    shown = [lock for lock in difference.locks if lock.change.verdict != FEW]
    unit = "of waiting in a second" if difference.whole.a_second else "of waiting in an acquisition"
    most = max([1.0, *(max(_values(lock.change)) for lock in shown)])
    rows = "".join(_row(lock, most) for lock in shown)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>lockswap report: two profiles</title><style>
:root {{ color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }}
body {{ margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; }}
pre {{ font-size: 12px; overflow-x: auto; }}
.bar {{ height: 12px; min-width: 1px; background: #bbb; margin: 1px 0; }} td {{ vertical-align: middle; }}
</style></head><body>
<h1>lockswap report: two profiles</h1>
<pre>{escape(text)}</pre>
<h2>By lock</h2>
<p>Bars are time {unit}: before above, after below.</p>
<table>{rows or "<tr><td>No lock has enough waits.</td></tr>"}</table>
</body></html>
"""


def _row(lock: LockChange, most: float) -> str:
    before, after = _values(lock.change)
    colour = _COLOUR.get(lock.change.verdict, "#fddc6c")
    return (
        f"<tr><td>{escape(f'{lock.kind} {lock.name}')}</td><td>{lock.change.verdict}</td><td style='width:40rem'>"
        f"<div class='bar' style='width:{100 * before / most:.2f}%' title='{time(before)}'></div>"
        f"<div class='bar' style='width:{100 * after / most:.2f}%;background:{colour}' title='{time(after)}'></div>"
        "</td></tr>"
    )


def _values(change: Change) -> tuple[float, float]:
    return change.a_second or change.an_acquisition


def _run(word: str, run: Run) -> str:
    length = "of unknown length" if run.seconds is None else f"{time(run.seconds * 1e9)}"
    rate = f" ({run.acquisitions / run.seconds:,.0f} a second)" if run.seconds else ""
    command = f"; {shlex.join(run.command)}" if run.command else ""
    return wrapped(f"{word}: {run.where}: {length}, {run.acquisitions:,} acquisitions{rate}{command}", "", "  ")


def _lock(number: int, lock: LockChange) -> list[str]:
    change = lock.change
    lines = [wrapped(f"{change.verdict}: {lock.kind} {lock.name}{_where(change)}", f"{number:>2}. ", "    ")]
    lines.append(wrapped(_words(change), "    ", "      "))
    if change.before is not None and change.after is not None:
        lines.append(wrapped(_more(change.before, change.after), "    ", "      "))
    for pair in lock.pairs[:_PAIRS]:
        lines += _pair(pair)
    return lines


def _where(change: Change) -> str:
    if change.before is None:
        return " (only after)"
    return " (only before)" if change.after is None else ""


def _words(change: Change) -> str:
    words = []
    if change.a_second is not None:
        words.append(f"{_from_to(change.a_second)} in a second")
    words.append(f"{_from_to(change.an_acquisition)} in an acquisition")
    return f"waited {', '.join(words)}"


def _from_to(values: tuple[float, float]) -> str:
    before, after = values
    ratio = f" ({after / before:.2f} x)" if before and after else ""
    return f"{time(before)} -> {time(after)}{ratio}"


def _more(before: Measured, after: Measured) -> str:
    contended = " -> ".join(
        share(one.contended / one.acquisitions) if one.acquisitions else "-" for one in (before, after)
    )
    words = [f"contended {contended}", f"longest wait {time(before.most_wait_ns)} -> {time(after.most_wait_ns)}"]
    if before.mean_hold_ns is not None and after.mean_hold_ns is not None:
        words.append(f"mean hold {time(before.mean_hold_ns)} -> {time(after.mean_hold_ns)}")
    return "; ".join(words)


def _pair(pair: PairChange) -> list[str]:
    waits = " -> ".join(f"{one.waits if one else 0:,}" for one in (pair.change.before, pair.change.after))
    return [
        wrapped(f"{pair.change.verdict}: {_words(pair.change)}; waits {waits}:", "    - ", "      "),
        wrapped(f"holds until {pair.holder}", "      ", "        "),
        wrapped(f"waits at    {pair.waiter}", "      ", "        "),
    ]


def _rest(difference: Difference, changed: list[LockChange], top: int) -> list[str]:
    words = []
    if not changed:
        words.append("No lock changed.")
    if len(changed) > top:
        words.append(f"{plural(len(changed) - top, 'lock')} more changed; --top shows more.")
    for verdict, text in ((SAME, "changed by less than 10 %"), (FEW, "had too few waits to tell")):
        if count := sum(lock.change.verdict == verdict for lock in difference.locks):
            words.append(f"{plural(count, 'lock')} {text}.")
    if difference.whole.a_second is None:
        words.append("How long a run took is not known, so nothing is compared by the second.")
    for word, run in (("before", difference.before), ("after", difference.after)):
        if run.left_out:
            words.append(f"Of the run {word}, {run.left_out:,} calls or waits found no room and are missing.")
    words.append("Each side is one profile: how much two runs of the same program differ, it does not say.")
    return [wrapped(" ".join(words), "", "  ")]


def _run_data(run: Run) -> dict:
    return {
        "from": run.where,
        "command": run.command,
        "seconds": run.seconds,
        "acquisitions": run.acquisitions,
        "wait_ns": run.wait_ns,
        "left_out": run.left_out,
    }


def _data(change: Change) -> dict:
    return {
        "verdict": change.verdict,
        "wait_ns_a_second": change.a_second,
        "wait_ns_an_acquisition": change.an_acquisition,
        "before": asdict(change.before) if change.before else None,
        "after": asdict(change.after) if change.after else None,
    }
