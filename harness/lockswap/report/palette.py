"""How each lock is drawn: one colour and one marker in every plot and on every page, in light and in dark.

A lock's place in the registry chooses both, so a lock is drawn alike in all reports of one tree. The colours of the
first FAR_APART places and of the baselines differ by at least 16 (CIE 1976 Lab) for people with any of the three kinds
of colour blindness, all others differ by at least 7, and every colour has a contrast of at least 3 to the paper;
tests/harness/test_palette.py computes all of it. No two locks of a campaign share a colour, unless they are more than
there are colours; then their markers differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lockswap.base.choice import NONE, PTHREAD, Choice
from lockswap.report.markers import PATHS, Marker

# Each colour of the light theme has a CSS variable; a page replaces one by the other.
INK, MUTED, GRID, BAND, PAPER = "#1b1f24", "#5c6673", "#e4e7eb", "#cdd4dd", "#ffffff"

# light, dark, marker
_BASELINES = {
    NONE: ("#868e98", "#7d8794", "X"),
    PTHREAD: ("#1f242b", "#eef1f5", "s"),
}
# The same of the places of the registry.
_FIRST = (
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
# The colours of the places after those; their markers are the first ones' again.
_MORE = (
    ("#470000", "#c41c3e"),
    ("#390047", "#8c548c"),
    ("#ff3d64", "#ff0066"),
    ("#111174", "#5757c7"),
    ("#85001b", "#b68686"),
    ("#a86ecf", "#9986b6"),
    ("#145e8f", "#4073bf"),
    ("#850050", "#bf4073"),
    ("#9f6079", "#e0002d"),
    ("#003585", "#99d6ff"),
    ("#093e34", "#99ffd6"),
    ("#609f86", "#1fff78"),
    ("#ff00ff", "#f2a6e3"),
    ("#3e3409", "#ffff00"),
    ("#cf6ebb", "#ff3dd8"),
    ("#bf5940", "#ff8b3d"),
    ("#957aff", "#7c5cff"),
    ("#a89238", "#c7c757"),
    ("#df20b9", "#d9bfcf"),
    ("#0027c2", "#3d8bff"),
    ("#795249", "#bf7340"),
    ("#643dff", "#8585d6"),
    ("#607411", "#deff5c"),
    ("#548c54", "#b5f2a6"),
    ("#3d665e", "#73aba0"),
    ("#2093df", "#b3dbe6"),
    ("#402626", "#ee9f8b"),
    ("#660066", "#b400e0"),
)
# By how many markers the next turn through the markers is shifted; no common factor with their number.
_SHIFT = 5
_COLOURS = (*((light, dark) for light, dark, _ in _FIRST), *_MORE)

# CSS variable -> (light, dark)
THEME = {
    "ink": (INK, "#e8ebf0"),
    "muted": (MUTED, "#9aa5b4"),
    "grid": (GRID, "#2a313b"),
    "band": (BAND, "#414d5d"),
    "paper": (PAPER, "#12161b"),
    **{f"lock-{name}": (light, dark) for name, (light, dark, _) in _BASELINES.items()},
    **{f"lock-{number}": colours for number, colours in enumerate(_COLOURS, 1)},
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
    marker: Marker
    dash: str

    @property
    def path(self) -> str:
        """The marker as the data of an SVG path, within -1 to 1."""
        return PATHS[self.marker]


class Palette:
    """Which lock is drawn how. `labels` are those of the registry, in its order."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._places = {label: place for place, label in enumerate(x for x in labels if x not in _BASELINES)}

    def styles(self, locks: Iterable[str]) -> dict[str, LockStyle]:
        """The styles for the locks of a campaign. A mutex is drawn as the rwlock with its name, unless that is there as
        well; what the registry does not have, such as a pair of locks, takes the places after it, in order."""
        locks = list(dict.fromkeys(locks))
        found: dict[str, LockStyle] = {}
        places: dict[str, int] = {}
        # A lock of the registry has its place before others that would be drawn alike.
        for lock in sorted(locks, key=lambda lock: lock not in self._places):
            label = _drawn_as(lock)
            if label in _BASELINES and f"lock-{label}" not in {style.variable for style in found.values()}:
                light, _, marker = _BASELINES[label]
                found[lock] = LockStyle(f"lock-{label}", light, marker, "--" if lock == NONE else "-")
            else:
                places[lock] = self._free_place(label, set(places.values()))
                found[lock] = _style(places[lock])
        return {lock: found[lock] for lock in locks}

    def _free_place(self, label: str, taken: set[int]) -> int:
        """The registry's, if no lock of the campaign has it; else the first one after the registry's whose colour is
        free, or else any."""
        colours = {place % len(_COLOURS) for place in taken}
        own = self._places.get(label)
        if own is not None and own % len(_COLOURS) not in colours:
            return own
        after = len(self._places)
        everywhere = range(after, after + len(_COLOURS))
        free = (place for place in everywhere if place % len(_COLOURS) not in colours)
        return next(free, max(after, *taken) + 1 if taken else after)


def _drawn_as(lock: str) -> str:
    choice = Choice.of(lock)
    if choice.mutex == PTHREAD:
        return choice.rwlock  # alone, beside mutexes that are passed through
    return choice.mutex if choice.mutex and choice.rwlock == PTHREAD else lock


def _style(place: int) -> LockStyle:
    turn, index = divmod(place, len(_COLOURS))
    light, _ = _COLOURS[index]
    turns = len(_COLOURS) // len(_FIRST) * turn + index // len(_FIRST)
    marker = _FIRST[(index + _SHIFT * turns) % len(_FIRST)][2]
    return LockStyle(f"lock-{index + 1}", light, marker, "-")
