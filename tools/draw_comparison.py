"""Draws the picture of the README from a campaign in results/: programs by locks, coloured by what is shown.

usage: PYTHONPATH=harness build/venv/bin/python tools/draw_comparison.py

Writes docs/images/comparison-light.svg and -dark.svg. A coloured cell has the ratio to glibc's lock; where the campaign
can't tell (docs/measuring.md says when), the cell is empty.
"""

from pathlib import Path
from xml.sax.saxutils import escape

from lockswap.base.choice import NONE
from lockswap.findings import reading
from lockswap.findings.measured import Workload
from lockswap.findings.stats import FASTER, SLOWER, Ratio

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = ROOT / "results/2026-11-seven-locks"
THREADS = 8
ROWS = (  # what stands in the picture, the workload, its figure
    ("RocksDB db_bench: gets", "db-bench", "gets"),
    ("RocksDB db_bench: puts", "db-bench", "puts"),
    ("Kyoto kccachetest wicked: all", "kccachetest-wicked", "operations"),
    ("Kyoto kccachetest order: gets", "kccachetest-order", "get"),
    ("Kyoto kccachetest order: sets", "kccachetest-order", "set+remove"),
    ("Kyoto kcprototest order: gets", "kcprototest-order", "get"),
    ("Kyoto kcprototest order: sets", "kcprototest-order", "set+remove"),
    ("liburcu test_rwlock: reads", "test-rwlock", "reads"),
    ("liburcu test_rwlock: writes", "test-rwlock", "writes"),
)
LEGEND = (("better", "more than with glibc's"), ("worse", "fewer"), ("open", "no difference shown"))
THEMES = {  # colours of text, and fill and text of the cells
    "light": {"text": "#1f2328", "better": "#bfe6d0", "on-better": "#0b4a30", "worse": "#fbd3c1", "on-worse": "#7a2a0a"}
    | {"open": "#e9ecef"},
    "dark": {"text": "#e6edf3", "better": "#175c3f", "on-better": "#d6f7e6", "worse": "#6b3012", "on-worse": "#ffe0d1"}
    | {"open": "#2b3036"},
}
LEFT, TOP, WIDE, HIGH, GAP = 226, 62, 82, 27, 3  # pixels: labels, headings, a cell and what is free around it


def kind_of(ratio: Ratio) -> str:
    return {FASTER: "better", SLOWER: "worse"}.get(ratio.verdict, "open")


def times(ratio: Ratio) -> str:
    value = ratio.estimate
    form = ",.0f" if value >= 9.95 else ".1f" if value >= 1.95 else ".2f" if value >= 0.1 else ".2g"
    return f"{value:{form}}×"


def text(x: float, y: float, content: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{more}>{escape(content)}</text>'


def cell(x: float, y: float, width: float, fill: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HIGH - GAP}" rx="4" fill="{fill}"/>'


def drawing(ratios: dict[str, list[Ratio]], colours: dict[str, str]) -> str:
    """`ratios`: of each lock, one for each row."""
    width, bottom = LEFT + WIDE * len(ratios), TOP + HIGH * len(ROWS)
    title = f"Operations per second, relative to glibc's reader-writer lock ({THREADS} threads, 2 CPUs)"
    middle = ' text-anchor="middle"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 40}" role="img" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="14">',
        f"<title>{escape(title)}</title>",
        text(0, 18, title, colours["text"], ' font-weight="600" font-size="15"'),
    ]
    parts += [text(0, TOP + HIGH * row + 17, label, colours["text"]) for row, (label, _, _) in enumerate(ROWS)]
    for column, (lock, found) in enumerate(ratios.items()):
        parts.append(text(LEFT + WIDE * (column + 0.5), TOP - 10, lock, colours["text"], middle + ' font-weight="600"'))
        for row, ratio in enumerate(found):
            y, kind = TOP + HIGH * row, kind_of(ratio)
            parts.append(cell(LEFT + WIDE * column, y, WIDE - GAP, colours[kind]))
            if kind != "open":
                x = LEFT + WIDE * column + (WIDE - GAP) / 2
                parts.append(text(x, y + 17, times(ratio), colours[f"on-{kind}"], middle + ' font-size="13"'))
    x = float(LEFT)
    for kind, meaning in LEGEND:
        parts += [cell(x, bottom + 11, 34, colours[kind]), text(x + 42, bottom + 29, meaning, colours["text"])]
        x += 66 + 7.2 * len(meaning)
    return "\n".join([*parts, "</svg>", ""])


def ratio_of(workload: Workload, lock: str, figure: str) -> Ratio:
    metric = next(metric for metric in workload.metrics if metric.name == figure)
    return workload.ratio(THREADS, lock, metric)


def pictures() -> dict[Path, str]:
    """By file, what belongs into it."""
    campaign = reading.read(CAMPAIGN).campaign
    workloads = {workload.name: workload for workload in campaign.workloads}
    rows = [workloads[name] for _, name, _ in ROWS]
    locks = [lock for lock in rows[0].locks if lock not in (NONE, rows[0].against)]
    ratios = {
        lock: [ratio_of(workload, lock, figure) for workload, (_, _, figure) in zip(rows, ROWS, strict=True)]
        for lock in locks
    }
    # The locks that gain in most rows, and lose in fewest, come first.
    score = {"better": 1, "worse": -1, "open": 0}
    ratios = dict(sorted(ratios.items(), key=lambda item: -sum(score[kind_of(ratio)] for ratio in item[1])))
    return {ROOT / f"docs/images/comparison-{theme}.svg": drawing(ratios, THEMES[theme]) for theme in THEMES}


if __name__ == "__main__":
    for path, content in pictures().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
