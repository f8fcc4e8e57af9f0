"""One HTML page without scripts: the report, and a flame graph of waiting by holder."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from lockswap.base.text import time
from lockswap.profile.names import Function
from lockswap.profile.summary import Lock

_WIDTH_OF_TIMES, _HEIGHT_OF_TIMES = 720, 32
_LEAST = 0.001  # of all waiting: what is narrower is not drawn
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; }
pre { font-size: 12px; overflow-x: auto; }
.row { display: flex; }
.frame { box-sizing: border-box; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; font-size: 11px;
  line-height: 17px; padding: 0 3px; border: 1px solid Canvas; color: #111; }
.holder { background: #f4a582; } .lock { background: #fddc6c; font-weight: 600; } .waiter { background: #92c5de; }
.times td { white-space: nowrap; vertical-align: bottom; padding-right: 1em; }
.times .name { white-space: normal; max-width: 18rem; } .times svg { background: #8882; display: block; }
.split { display: flex; width: 8rem; height: 12px; } .on { background: #92c5de; } .off { background: #f4a582; }
.key span { padding: 0 .5em; color: #111; }
"""


@dataclass(frozen=True)
class Times:
    """How many threads waited for some locks, on average in each column."""

    column_ns: float
    rows: list[tuple[Lock, list[float]]]


@dataclass
class _Node:
    part: str  # holder, lock or waiter
    ns: int = 0
    waits: int = 0
    below: dict[tuple[str, str], "_Node"] = field(default_factory=dict)


def page(text: str, times: Times | None, stacks: Iterable[tuple[list[Function], int, int]]) -> str:
    """From the report as text, and (stack, outermost first; waits; nanoseconds)."""
    root = _Node("")
    for stack, waits, ns in stacks:
        _insert(root, stack, waits, ns)
    flames = "".join(_drawn(name, node, root.ns, root.ns) for (_, name), node in _widest_first(root))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>lockswap profile</title><style>{_STYLE}</style></head><body>
<h1>lockswap profile</h1>
<pre>{escape(text)}</pre>
<h2>Over time</h2>
{_times(times)}
<h2>Waiting by holder</h2>
<p class="key">From the top: <span class="holder">the holder's functions</span> down to its release,
<span class="lock">the lock</span>, and <span class="waiter">the waiter's functions</span>, its call first.
A width is the time waited; {time(root.ns)} is all of it. Hover for figures.</p>
<div class="row">{flames or "No wait was long enough."}</div>
</body></html>
"""


def _times(times: Times | None) -> str:
    """A row for each of the hottest locks: a bar's height is how many threads waited on average."""
    if times is None:
        return "<p>No wait for a lock has ended.</p>"
    most = max(max(values) for _, values in times.rows)
    drawn = "".join(_row(lock, values, most, times.column_ns) for lock, values in times.rows)
    columns = len(times.rows[0][1])
    return f"""<p class="key">How many threads waited for each of the hottest locks, over
{time(times.column_ns * columns)} in columns of {time(times.column_ns)}; the full height is {most:.2g} threads. On the
right, what holders of long holds did: <span class="on">ran</span> or <span class="off">did not run</span>.</p>
<table class="times">{drawn}</table>"""


def _row(lock: Lock, values: list[float], most: float, column_ns: float) -> str:
    width = _WIDTH_OF_TIMES / len(values)
    bars = "".join(
        f'<rect x="{width * number:.2f}" y="{_HEIGHT_OF_TIMES * (1 - value / most):.2f}" width="{width:.2f}" '
        f'height="{_HEIGHT_OF_TIMES * value / most:.2f}" fill="#d6604d">'
        f"<title>{time(number * column_ns)}: {value:.3g} threads</title></rect>"
        for number, value in enumerate(values)
        if value
    )
    return (
        f'<tr><td class="name">{escape(f"{lock.kind} {lock.name}")}</td><td>'
        f'<svg width="{_WIDTH_OF_TIMES}" height="{_HEIGHT_OF_TIMES}">{bars}</svg></td><td>{_split(lock)}</td></tr>'
    )


def _split(lock: Lock) -> str:
    whole = sum(mode.split_ns for mode in lock.modes.values())
    if not whole:
        return ""
    ran = 100 * sum(mode.on_processor_ns for mode in lock.modes.values()) / whole
    return (
        f'<div class="split" title="{ran:.0f} % ran"><div class="on" style="width:{ran:.1f}%"></div>'
        f'<div class="off" style="width:{100 - ran:.1f}%"></div></div>'
    )


def _insert(root: _Node, stack: list[Function], waits: int, ns: int) -> None:
    node, part = root, "holder"
    root.ns += ns
    root.waits += waits
    for one in stack:
        is_lock = (
            one.name.startswith("[") and part == "holder" and not one.line and not one.name.startswith("[no file]")
        )
        part = "lock" if is_lock else part
        node = node.below.setdefault((part, str(one)), _Node(part))
        node.ns += ns
        node.waits += waits
        part = "waiter" if is_lock else part


def _widest_first(node: _Node) -> list[tuple[tuple[str, str], _Node]]:
    return sorted(node.below.items(), key=lambda item: -item[1].ns)


def _drawn(name: str, node: _Node, above: int, whole: int) -> str:
    if not above or node.ns < _LEAST * whole:
        return ""
    below = "".join(_drawn(text, one, node.ns, whole) for (_, text), one in _widest_first(node))
    says = f"{name}\n{time(node.ns)} in {node.waits:,} waits, {100 * node.ns / whole:.1f} % of all"
    return (
        f'<div style="width:{100 * node.ns / above:.3f}%"><div class="frame {node.part}" title="{escape(says)}">'
        f'{escape(name)}</div><div class="row">{below}</div></div>'
    )
