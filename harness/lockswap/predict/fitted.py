"""The constants that were fitted to measurements, in words. Nothing else of the model was fitted."""

from lockswap.predict.draws import FITTED
from lockswap.predict.machines import Machine

_WORDS = {
    "update": "an atomic update takes {:g} ns more than a load",
    "reach": "a request reaches a line's owner after {:.0%} of a transfer",
    "queued": "a transfer takes {:g} times as long while others wait",
}


def values(machine: Machine) -> dict[str, float]:
    return FITTED if machine.fitted is None else FITTED | {"latencies": machine.fitted}


def said(machine: Machine) -> str:
    facts = [_WORDS[name].format(value) for name, value in FITTED.items()]
    if machine.fitted is not None:
        facts.append(f"latencies of {machine.name} are {machine.fitted:g} times those of its source")
    return f"Fitted constants: {'; '.join(facts)}."
