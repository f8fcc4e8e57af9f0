"""Numbers and lists as people write them."""

import math
import shlex
from collections.abc import Iterable
from pathlib import Path

# A verdict for the eye; the word stands beside it or in a key.
SYMBOL = {"faster": "▲", "slower": "▼", "the same": "=", "can't tell": "?"}

_SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def si(value: float) -> str:
    """Three significant digits: 1.23M, 45.6k, 789, 0.0123."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    for factor, letter in _SI:
        if abs(value) >= factor * 0.9995:
            return f"{_three(value / factor)}{letter}"
    # Unscaled, a whole number is a count: 7, not 7.00.
    return str(int(value)) if float(value).is_integer() else _three(value)


def tick(value: float) -> str:
    """A round value on an axis: 60M, 2.5k, 0.5."""
    for factor, letter in _SI:
        if abs(value) >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"


def _three(value: float) -> str:
    if value == 0:
        return "0"
    # Rounded first: 0.9996 is 1.00, not 1.000.
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return f"{value:.{digits}f}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit: 1.23M reads/s, 45.6 ms."""
    if unit == "s" and 0 < abs(value) < 1:
        return f"{si(value * 1e3)} ms"
    return f"{si(value)} {unit}".rstrip()


def factor(ratio: float) -> float:
    """How far from 1, to whichever side: 2 of 2 and of 0.5."""
    return math.inf if ratio == 0 else max(ratio, 1 / ratio)


def times(ratio: float) -> str:
    """How far from 1 a ratio is: 1.05×, 2.3×, 12×, 170×, 4,500×. To which side, a word says that follows."""
    far = factor(ratio)
    if math.isinf(far):
        return "∞×"
    if far >= 1e6:
        return f"{si(far)}×"
    if far >= 99.5:
        return f"{float(f'{far:.2g}'):,.0f}×"
    return f"{far:.0f}×" if far >= 9.95 else f"{far:.1f}×" if far >= 1.995 else f"{far:.2f}×"


def share(value: float) -> str:
    """A share as percent; 99.97 % is not 100 %."""
    percent = 100 * value
    if 99 < percent < 100 or 0 < percent < 1:
        return f"{percent:.2f} %"
    return f"{percent:.0f} %"


def words(items: Iterable[object]) -> str:
    """1, 2 and 8"""
    texts = [str(item) for item in items]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def plural(count: int, word: str) -> str:
    """'1 process', '2 processes'."""
    return f"{count} {word}{'' if count == 1 else 'es' if word.endswith(('s', 'x')) else 's'}"


def time(ns: float) -> str:
    """Three digits: 12 ns, 3.41 us, 1.20 s."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= factor * 0.9995:
            value = ns / factor
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{ns:.0f} ns"


def duration(seconds: float) -> str:
    seconds = max(0, round(seconds))
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60}:{seconds % 60:02}"


def in_seconds(value: float) -> str:
    """A number of seconds as people type it: 0.5 s, 10 s, 6000 s."""
    return f"{value:.6f}".rstrip("0").rstrip(".") + " s"


def as_word(path: Path | str) -> str:
    """A path in a command that a message shows: a shell takes it for one word, and no command for an option."""
    text = f"./{path}" if str(path).startswith("-") else str(path)
    quoted = shlex.quote(text)
    # The command stands between single quotes.
    return quoted if quoted == text or set(text) & set('"$`\\!') else f'"{text}"'
