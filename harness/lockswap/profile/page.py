"""One HTML page without scripts: the report, and a flame graph of waiting by holder."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from lockswap.profile.names import Function
from lockswap.profile.report import time

_LEAST = 0.001  # of all waiting: what is narrower is not drawn
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem auto; max-width: 78rem; padding: 0 1rem; }
pre { font-size: 12px; overflow-x: auto; }
.row { display: flex; }
.frame { box-sizing: border-box; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; font-size: 11px;
  line-height: 17px; padding: 0 3px; border: 1px solid Canvas; color: #111; }
.holder { background: #f4a582; } .lock { background: #fddc6c; font-weight: 600; } .waiter { background: #92c5de; }
.key span { padding: 0 .5em; color: #111; }
"""


@dataclass
class _Node:
    part: str  # holder, lock or waiter
    ns: int = 0
    waits: int = 0
    below: dict[tuple[str, str], "_Node"] = field(default_factory=dict)


def page(text: str, stacks: Iterable[tuple[list[Function], int, int]]) -> str:
    """From the report as text, and (stack, outermost first; waits; nanoseconds)."""
    root = _Node("")
    for stack, waits, ns in stacks:
        _insert(root, stack, waits, ns)
    flames = "".join(_drawn(name, node, root.ns, root.ns) for (_, name), node in _widest_first(root))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>lockswap profile</title><style>{_STYLE}</style></head><body>
<h1>lockswap profile</h1>
<pre>{escape(text)}</pre>
<h2>Waiting by holder</h2>
<p class="key">From the top: <span class="holder">the holder's functions</span> down to its release,
<span class="lock">the lock</span>, and <span class="waiter">the waiter's functions</span>, its call first.
A width is the time waited; {time(root.ns)} is all of it. Hover for figures.</p>
<div class="row">{flames or "No wait was long enough."}</div>
</body></html>
"""


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
