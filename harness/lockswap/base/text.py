"""Numbers and lists as people write them."""

import math
from collections.abc import Iterable

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


def times(ratio: float) -> str:
    """A ratio: 1.05×, 12×, 0.87×."""
    if math.isinf(ratio):
        return "∞"
    if ratio == 0:
        return "0×"
    if ratio >= 1000:
        return f"{si(ratio)}×"
    if ratio >= 100:
        return f"{ratio:.0f}×"
    if ratio >= 10:
        return f"{ratio:.1f}×"
    return f"{ratio:.2f}×" if ratio >= 0.01 else f"{ratio:.2g}×"


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
    return f"{count} {word}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    seconds = max(0, round(seconds))
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60}:{seconds % 60:02}"
