"""To which CPUs a program is confined."""

from lockswap.run import cpus
from lockswap.run.cpus import Cpu


def test_pin_policies():
    # Two packages of two cores with two threads each, numbered as Linux does: siblings are 0 and 4, ...
    eight = [Cpu(number, number // 2 % 2, number // 2 % 2, number % 2) for number in range(8)]
    assert cpus.pin_set("compact", 2, eight) == [0, 4]
    assert cpus.pin_set("compact", 4, eight) == [0, 1, 4, 5]
    assert cpus.pin_set("scatter", 2, eight) == [0, 2]
    assert cpus.pin_set("scatter", 4, eight) == [0, 1, 2, 3]
    assert cpus.pin_set("scatter", 99, eight) == list(range(8))


def test_thread_counts_end_with_the_most():
    counts = [cpus.thread_counts(n) for n in (1, 2, 3, 6, 8)]
    assert counts == [(1,), (1, 2), (1, 2, 3), (1, 2, 4, 6), (1, 2, 4, 8)]
