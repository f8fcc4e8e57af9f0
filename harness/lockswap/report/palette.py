"""How a lock looks: one colour and one marker in every plot and on every page, in light and in dark.

The colours differ by at least 17 (CIE 1976 Lab) for people with any of the three kinds of colour blindness, and have a
contrast of at least 3 to the paper; tests/harness/test_looks.py computes both. The markers differ anyway.
"""

from dataclasses import dataclass

from matplotlib.markers import MarkerStyle

from lockswap.base.choice import NONE, PTHREAD, Choice

# Each colour of the light theme has a CSS variable; a page replaces one by the other.
INK, MUTED, GRID, BAND, PAPER = "#1b1f24", "#5c6673", "#e4e7eb", "#dfe3e8", "#ffffff"

# lock -> light, dark, marker
_KNOWN = {
    NONE: ("#868e98", "#7d8794", "X"),
    PTHREAD: ("#1f242b", "#eef1f5", "s"),
    "ba": ("#1764d8", "#6db3ff", "o"),
    "bravo-ba": ("#b8320c", "#f0602e", "^"),
    "pf-t": ("#0e9668", "#3ddc9b", "D"),
    "bravo-pf-t": ("#6f1d9e", "#b45bf0", "v"),
    "bravo-pthread": ("#b08900", "#ffcf40", "P"),
    "cohort": ("#a01080", "#a838a8", "p"),
    "per-cpu": ("#005830", "#287850", "h"),
    "rlu": ("#6000f8", "#7830f8", "d"),
}
# Locks without colours of their own get these, in order.
_OTHERS = (
    ("#c2255c", "#ff86ad", "<"),
    ("#0c8599", "#3bc9db", ">"),
    ("#5f3dc4", "#b197fc", "*"),
    ("#2b8a3e", "#69db7c", (4, 1, 0)),
    ("#864a1c", "#d9a066", (3, 1, 0)),
    ("#4a5568", "#a0aec0", (6, 1, 0)),
)

# CSS variable -> (light, dark)
THEME = {
    "ink": (INK, "#e8ebf0"),
    "muted": (MUTED, "#9aa5b4"),
    "grid": (GRID, "#2a313b"),
    "band": (BAND, "#313a46"),
    "paper": (PAPER, "#12161b"),
    **{f"lock-{name}": (light, dark) for name, (light, dark, _) in _KNOWN.items()},
    **{f"lock-other-{index}": (light, dark) for index, (light, dark, _) in enumerate(_OTHERS)},
}

STYLE = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.labelsize": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "text.color": INK,
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "legend.frameon": False,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "text.parse_math": False,  # a figure's name may have a dollar sign
    "svg.fonttype": "none",  # text stays text: selectable, small
    "svg.hashsalt": "lockswap",  # the same data gives the same file
}


@dataclass(frozen=True)
class Look:
    variable: str
    color: str
    marker: str | tuple[int, int, int]  # one of matplotlib's, or a star: its points, 1, its angle
    dash: str

    @property
    def path(self) -> str:
        """The marker as the data of an SVG path, within -1 to 1."""
        style = MarkerStyle(self.marker)
        shape = style.get_path().transformed(style.get_transform())
        reach = abs(shape.get_extents().get_points()).max()
        parts = []
        for points, code in shape.iter_segments(simplify=False):
            letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
            parts.append(letter + ("" if letter == "Z" else " ".join(f"{value / reach:.2f}" for value in points)))
        # SVG counts downwards.
        return "".join(parts)


def looks(locks: list[str]) -> dict[str, Look]:
    """A lock of ours looks the same in every report, as a mutex too; others get what is left, in order."""
    found: dict[str, Look] = {}
    others: dict[str, int] = {}
    for lock in locks:
        choice = Choice.of(lock)
        # Of a pair of locks both count, so it is something else.
        name = choice.mutex if choice.mutex and choice.rwlock == PTHREAD else lock
        dash = "--" if lock == NONE else "-"
        if name in _KNOWN:
            light, _, marker = _KNOWN[name]
            found[lock] = Look(f"lock-{name}", light, marker, dash)
        else:
            index = others.setdefault(name, len(others)) % len(_OTHERS)
            light, _, marker = _OTHERS[index]
            found[lock] = Look(f"lock-other-{index}", light, marker, dash)
    return found
