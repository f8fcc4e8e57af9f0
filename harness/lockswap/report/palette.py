"""How each lock is drawn: one colour and one marker in every plot and on every page, in light and in dark.

A lock's place in the registry chooses both, so a lock is drawn alike in all reports of one tree. The colours of the
first eight places and of the baselines differ by at least 16 (CIE 1976 Lab) for people with any of the three kinds of
colour blindness, and every colour has a contrast of at least 3 to the paper; tests/harness/test_palette.py computes
both. Locks that share a colour have different markers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.markers import MarkerStyle

from lockswap.base.choice import NONE, PTHREAD, Choice

# Each colour of the light theme has a CSS variable; a page replaces one by the other.
INK, MUTED, GRID, BAND, PAPER = "#1b1f24", "#5c6673", "#e4e7eb", "#cdd4dd", "#ffffff"

# light, dark, marker
_BASELINES = {
    NONE: ("#868e98", "#7d8794", "X"),
    PTHREAD: ("#1f242b", "#eef1f5", "s"),
}
# The same of the places of the registry. The first eight are far apart. After the last place the colours begin anew,
# with other markers.
_PLACES = (
    ("#1764d8", "#6db3ff", "o"),
    ("#b8320c", "#f0602e", "^"),
    ("#a01080", "#a838a8", "p"),
    ("#005830", "#287850", "h"),
    ("#6000f8", "#7830f8", "d"),
    ("#0e9668", "#3ddc9b", "D"),
    ("#6f1d9e", "#b45bf0", "v"),
    ("#b08900", "#ffcf40", "P"),
    ("#c2255c", "#ff86ad", "<"),
    ("#0c8599", "#3bc9db", ">"),
    ("#5f3dc4", "#b197fc", "*"),
    ("#2b8a3e", "#69db7c", (4, 1, 0)),
    ("#864a1c", "#d9a066", (3, 1, 0)),
    ("#4a5568", "#a0aec0", (6, 1, 0)),
)
FAR_APART = 8
# By how many markers the next turn through the colours is shifted; no common factor with their number.
_SHIFT = 5

# CSS variable -> (light, dark)
THEME = {
    "ink": (INK, "#e8ebf0"),
    "muted": (MUTED, "#9aa5b4"),
    "grid": (GRID, "#2a313b"),
    "band": (BAND, "#414d5d"),
    "paper": (PAPER, "#12161b"),
    **{f"lock-{name}": (light, dark) for name, (light, dark, _) in _BASELINES.items()},
    **{f"lock-{number}": (light, dark) for number, (light, dark, _) in enumerate(_PLACES, 1)},
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
class LockStyle:
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


class Palette:
    """Which lock is drawn how. `labels` are those of the registry, in its order."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._places = {label: place for place, label in enumerate(x for x in labels if x not in _BASELINES)}

    def styles(self, locks: Iterable[str]) -> dict[str, LockStyle]:
        """Of the locks of a campaign. A mutex is drawn as the rwlock of its name; what the registry does not have, such
        as a pair of locks, takes the places after, in order."""
        found: dict[str, LockStyle] = {}
        places = dict(self._places)
        for lock in locks:
            choice = Choice.of(lock)
            label = choice.mutex if choice.mutex and choice.rwlock == PTHREAD else lock
            if choice.mutex == PTHREAD:
                label = choice.rwlock  # alone, beside mutexes that are passed through
            if label in _BASELINES:
                light, _, marker = _BASELINES[label]
                found[lock] = LockStyle(f"lock-{label}", light, marker, "--" if lock == NONE else "-")
            else:
                found[lock] = _style(places.setdefault(label, len(places)))
        return found


def _style(place: int) -> LockStyle:
    turn, index = divmod(place, len(_PLACES))
    light, _, _ = _PLACES[index]
    marker = _PLACES[(index + _SHIFT * turn) % len(_PLACES)][2]
    return LockStyle(f"lock-{index + 1}", light, marker, "-")
