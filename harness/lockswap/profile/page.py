"""One HTML page: a table of the locks, and of each who kept whom waiting, with a flame graph of waiting by holder."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from lockswap.base.text import plural, share, time
from lockswap.profile.names import Function
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Pair, Profile, quantile

_WIDTH_OF_TIMES, _HEIGHT_OF_TIMES = 720, 32
_LEAST = 0.001  # of all waiting: what is narrower is not drawn
_PAIRS = 10  # of a lock
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; overflow-wrap: anywhere;
  background: Canvas; color: CanvasText; }
pre { font-size: 12px; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; vertical-align: top; white-space: nowrap; }
th { vertical-align: bottom; } .name { text-align: left; white-space: normal; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: inherit; text-decoration: underline dotted; }
[aria-sort=ascending] button::after { content: " ▲"; } [aria-sort=descending] button::after { content: " ▼"; }
tbody tr { border-top: 1px solid #8884; } section:target { outline: 2px solid #4393c3; outline-offset: .3rem; }
.row { display: flex; } .flame { min-width: 44rem; }
.frame { box-sizing: border-box; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; font-size: 11px;
  line-height: 17px; padding: 0 3px; border: 1px solid Canvas; color: #111; }
.holder { background: #f4a582; } .lock { background: #fddc6c; font-weight: 600; } .waiter { background: #92c5de; }
.times svg { background: #8882; display: block; width: 100%; height: 2rem; }
.split { display: flex; max-width: 20rem; height: 12px; } .on { background: #92c5de; } .off { background: #f4a582; }
.key span { padding: 0 .5em; color: #111; }
@media (max-width: 44rem) {
  thead tr { display: flex; flex-wrap: wrap; gap: 0 1rem; } th { padding: 0; }
  tbody tr { display: block; padding: .4rem 0; } td { display: flex; gap: .5rem; padding: 0; text-align: left;
    white-space: normal; }
  td[data-label]::before { content: attr(data-label); flex: 0 0 8.5rem; opacity: .75; }
}
"""
_SCRIPT = """
for (const table of document.querySelectorAll("table[data-sorts]")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], rows = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    const words = head.classList.contains("name");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || (words && !head.hasAttribute("aria-sort"));
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => (words ? a.localeCompare(b, "en", { numeric: true }) : a - b);
      body.append(...[...rows].sort((a, b) => (up ? 1 : -1) * compare(value(a), value(b))));
    });
  });
}
"""
Stacks = list[tuple[list[Function], int, int]]  # outermost first; waits; nanoseconds


@dataclass(frozen=True)
class Times:
    """How many threads waited for some locks, on average in each column."""

    column_ns: float
    rows: list[tuple[Lock, list[float]]]


@dataclass(frozen=True)
class Shown:
    """A lock of the page, with what to do about it."""

    lock: Lock
    hint: str
    stacks: Stacks


@dataclass
class _Node:
    part: str  # holder, lock or waiter
    ns: int = 0
    waits: int = 0
    below: dict[tuple[str, str], "_Node"] = field(default_factory=dict)


def page(profile: Profile, text: str, times: Times | None, locks: list[Shown]) -> str:
    """`text` is the report; `locks` are those that threads waited for, the longest waits first."""
    parts = "".join(_section(number, one, profile) for number, one in enumerate(locks, 1))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>lockswap profile</title><style>{_STYLE}</style></head><body>
<h1>lockswap profile</h1>
{_locks(profile, locks)}
<h2>Over time</h2>
{_times(times)}
<h2>Who kept whom waiting</h2>
<p class="key">In a flame graph, from the top: <span class="holder">the holder's functions</span> down to its release,
<span class="lock">the lock</span>, and <span class="waiter">the waiter's functions</span>, its call first.
A width is the time waited; {time(profile.wait_ns)} is all of it.</p>
{parts or "<p>No wait was long enough.</p>"}
<h2>The report as text</h2>
<div class="scroll"><pre>{escape(text)}</pre></div>
<script>{_SCRIPT}</script>
</body></html>
"""


def _table(heads: Iterable[str], rows: Iterable[Iterable[tuple[str, float | None]]], named: int) -> str:
    """Cells are (HTML, what to sort by); the first `named` columns are words."""
    heads = list(heads)

    def cell(column: int, html: str, value: float | None) -> str:
        words = ' class="name"' if column < named else ""
        return (
            f'<td{words} data-label="{escape(heads[column])}"{"" if value is None else f" data-value={value:.0f}"}>'
            f"<span>{html}</span></td>"
        )

    head = "".join(
        f'<th scope="col"{" class=name" if column < named else ""}>{escape(text)}</th>'
        for column, text in enumerate(heads)
    )
    body = "".join(f"<tr>{''.join(cell(n, *one) for n, one in enumerate(row))}</tr>" for row in rows)
    return f"<table data-sorts><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _locks(profile: Profile, locks: list[Shown]) -> str:
    if not locks:
        return "<p>No wait for a lock has ended.</p>"
    heads = ("lock", "waited", "of all", "acquisitions", "had to wait", "wait p50", "wait p99", "longest", "hold p99")
    rows = []
    for number, one in enumerate(locks, 1):
        lock, whole = one.lock, profile.wait_ns
        part = lock.wait_ns / whole if whole else 0
        waits = [quantile(lock.waits, at, lock.most_wait_ns) if lock.waits else None for at in (0.5, 0.99)]
        held = lock.modes[EXCLUSIVE].holds + lock.modes[SHARED].holds
        most_hold = max(mode.most_hold_ns for mode in lock.modes.values())
        hold = quantile(held, 0.99, most_hold) if held else None
        had_to = lock.contended / lock.acquisitions if lock.acquisitions else 0
        rows.append(
            [
                (f'<a href="#lock-{number}">{escape(f"{lock.kind} {lock.name}")}</a>', None),
                (time(lock.wait_ns), lock.wait_ns),
                (share(part), 1e6 * part),
                (f"{lock.acquisitions:,}", lock.acquisitions),
                (share(had_to), 1e6 * had_to),
                *(("–" if ns is None else time(ns), ns or 0) for ns in [*waits, lock.most_wait_ns, hold]),
            ]
        )
    return _table(heads, rows, 1)


def _section(number: int, one: Shown, profile: Profile) -> str:
    lock = one.lock
    root = _Node("")
    for stack, waits, ns in one.stacks:
        _insert(root, stack, waits, ns)
    flames = "".join(_drawn(name, node, root.ns, profile.wait_ns) for (_, name), node in _widest_first(root))
    graph = (
        f'<section id="flame-{number}" class="scroll" tabindex="0" aria-label="Flame graph of {escape(lock.name)}">'
        f'<div class="row flame">{flames}</div></section>'
        if flames
        else ""
    )
    pairs = lock.by_sites()[:_PAIRS]
    heads = ("holds until", "waits at", "waited", "waits", "longest", "after the release")
    table = _table(heads, [_pair(number, pair, bool(flames)) for pair in pairs], 2) if pairs else ""
    where = f"{'Initialised' if lock.by_init else 'First taken'} in {lock.place}"
    return f"""<section id="lock-{number}"><h3>{escape(f"{lock.kind} {lock.name}")}</h3>
<p><b>{_with_code(one.hint)}</b></p>
<p>{escape(where)}; {plural(lock.objects, "object")}, {plural(lock.threads, "thread")}. {_split(lock)}</p>
{table}{graph}</section>
"""


def _with_code(text: str) -> str:
    return re.sub(r"`(.*?)`", r"<code>\1</code>", escape(text))


def _pair(number: int, pair: Pair, has_graph: bool) -> list[tuple[str, float | None]]:
    after = pair.wait_ns - pair.until_release_ns if pair.until_release_ns else None
    holder = escape(str(pair.holder.site))
    return [
        (f'<a href="#flame-{number}">{holder}</a>' if has_graph else holder, None),
        (escape(str(pair.waiter.site)), None),
        (time(pair.wait_ns), pair.wait_ns),
        (f"{pair.waits:,}", pair.waits),
        (time(pair.most_ns), pair.most_ns),
        ("–" if after is None else time(after), after or 0),
    ]


def _times(times: Times | None) -> str:
    """A row for each of the hottest locks: a bar's height is how many threads waited on average."""
    if times is None:
        return "<p>No wait for a lock has ended.</p>"
    most = max(max(values) for _, values in times.rows)
    drawn = "".join(_row(lock, values, most, times.column_ns) for lock, values in times.rows)
    columns = len(times.rows[0][1])
    return f"""<p>How many threads waited for each of the hottest locks, over
{time(times.column_ns * columns)} in columns of {time(times.column_ns)}; the full height is {most:.2g} threads.</p>
<div class="times">{drawn}</div>"""


def _row(lock: Lock, values: list[float], most: float, column_ns: float) -> str:
    width = _WIDTH_OF_TIMES / len(values)
    bars = "".join(
        f'<rect x="{width * number:.2f}" y="{_HEIGHT_OF_TIMES * (1 - value / most):.2f}" width="{width:.2f}" '
        f'height="{_HEIGHT_OF_TIMES * value / most:.2f}" fill="#d6604d">'
        f"<title>{time(number * column_ns)}: {value:.3g} threads</title></rect>"
        for number, value in enumerate(values)
        if value
    )
    peak = max(range(len(values)), key=values.__getitem__)
    mean = sum(values) / len(values)
    return (
        f"<p>{escape(f'{lock.kind} {lock.name}')}: {mean:.2g} threads on average, at most {values[peak]:.2g}, "
        f"{time(peak * column_ns)} after the start</p>"
        f'<svg viewBox="0 0 {_WIDTH_OF_TIMES} {_HEIGHT_OF_TIMES}" preserveAspectRatio="none" role="img" '
        f'aria-label="Waiting for {escape(lock.name)} over time">{bars}</svg>'
    )


def _split(lock: Lock) -> str:
    whole = sum(mode.split_ns for mode in lock.modes.values())
    if not whole:
        return ""
    ran = sum(mode.on_processor_ns for mode in lock.modes.values()) / whole
    return (
        f"In long holds its holders ran for {share(ran)} of the time:</p>"
        f'<div class="split"><div class="on" style="width:{100 * ran:.1f}%"></div>'
        f'<div class="off" style="width:{100 - 100 * ran:.1f}%"></div></div><p>'
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
    says = f"{name}\n{time(node.ns)} in {plural(node.waits, 'wait')}, {100 * node.ns / whole:.1f} % of all"
    return (
        f'<div style="width:{100 * node.ns / above:.3f}%"><div class="frame {node.part}" title="{escape(says)}">'
        f'{escape(name)} · {time(node.ns)}</div><div class="row">{below}</div></div>'
    )
