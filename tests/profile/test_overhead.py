"""What a profile costs, and what its estimate says of that: within bounds that a busy machine keeps, too.

The figures are overhead.py's, on a quiet machine."""

import statistics

import overhead
import pytest

pytestmark = [pytest.mark.full, pytest.mark.alone]

# The target is 1.10.
MOST = 1.4
APART = 0.25


@pytest.mark.parametrize("length", overhead.LENGTHS)
@pytest.mark.parametrize("name", overhead.PROGRAMS)
def test_the_estimate_is_what_pairs_say(name, length):
    if missing := [tool for tool in overhead.NEEDS[name] if overhead.found(tool) is None]:
        pytest.skip(f"{' and '.join(missing)} not found")
    ratios, estimates = overhead.measure(name, overhead.LENGTHS[length], 6)
    ratio = ratios.get("processor", ratios["wall"])
    estimated = statistics.median(estimates)
    print(f"{name} {length}: {ratio}, estimated {estimated:.3f}")
    assert ratio.low < MOST
    assert 1 < estimated < MOST
    assert ratio.low - APART < estimated < ratio.high + APART
