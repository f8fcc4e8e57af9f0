"""Signals by name."""

import signal


def signal_name(number: float) -> str:
    """`number` may be a figure of a table."""
    return signal.Signals(int(number)).name if is_signal(int(number)) else f"signal {number:.0f}"


def is_signal(number: int) -> bool:
    return number in signal.Signals._value2member_map_
