"""What differs between campaigns: machine, software, settings, workloads."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lockswap.base.text import words
from lockswap.findings.measured import Campaign

# What makes figures of two campaigns those of one machine.
_MACHINE = ("CPU", "usable CPUs", "topology", "memory", "virtualisation", "kernel")
# What makes two runs of one name the same work.
WORK = ("source", "command", "parameters", "length")


@dataclass(frozen=True)
class Difference:
    """One property, and what it is in each campaign."""

    what: str
    values: tuple[str, ...]
    of_machine: bool = False

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def find(campaigns: list[Campaign], shared: list[str]) -> list[Difference]:
    """Everything that is recorded of the campaigns; `shared` names the workloads that all have."""
    recorded = [dict(_properties(campaign, shared)) for campaign in campaigns]
    names = dict.fromkeys(name for properties in recorded for name in properties)
    return [
        # What one campaign alone has (a setting) is missing in the others.
        Difference(name, tuple(properties.get(name, "–") for properties in recorded), name in _MACHINE)
        for name in names
    ]


def other_machine(differences: Iterable[Difference]) -> str:
    """In which properties the machines differ, in words; empty if in none."""
    return words([line.what for line in differences if line.of_machine and line.differs])


def _properties(campaign: Campaign, shared: list[str]) -> Iterable[tuple[str, str]]:
    about, env = campaign.about, campaign.env
    cpu, ours = env.get("cpu", {}), env.get("lockswap", {})
    yield "CPU", _text(cpu.get("model"))
    yield "usable CPUs", _text(cpu.get("usable"))
    yield "topology", _text(cpu.get("topology"))
    yield "memory", f"{env['memory_mb'] / 1024:.0f} GB" if "memory_mb" in env else "–"
    yield "virtualisation", _text(cpu.get("virtualisation"))
    yield "kernel", _text(env.get("kernel"))
    yield "governor", _text(cpu.get("governor"))
    yield "system", _text(env.get("os"))
    yield "glibc", _text(env.get("glibc"))
    yield "compiler", _text(env.get("compiler"))
    yield "lockswap", _text(ours.get("library"))
    yield "commit", _text(ours.get("commit"))
    yield "measured", about["started"][:10]
    yield "load at start", f"{env['load_at_start']:.1f}" if "load_at_start" in env else "–"
    yield "locks", ", ".join(about["locks"])
    yield "rounds", _text(about["repeats"])
    yield "waiting", _text(about.get("wait") or "park")
    for what in ("against", "pin", "numactl", "preload"):
        if about.get(what):
            yield what, _text(about[what])
    for key, value in about.get("settings", {}).items():
        yield key, _text(value)
    for workload in campaign.workloads:
        if workload.name in shared:
            yield from _of_workload(workload.name, workload.info)


def _of_workload(name: str, info: dict[str, Any]) -> Iterable[tuple[str, str]]:
    yield f"{name}: source", _text(info["source"])
    yield f"{name}: command", " ".join(info["command"])
    yield f"{name}: threads", ", ".join(map(str, info["threads"]))
    yield f"{name}: length", "a fixed amount of work" if info["fixed_work"] else f"{info['seconds']} s a run"
    yield f"{name}: parameters", ", ".join(f"{key} = {value}" for key, value in info["params"].items()) or "none"
    for metric in info["metric"]:
        yield f"{name}: {metric['name']}", f"{metric['unit']}, {metric['better']} is better".lstrip(", ")


def _text(value: Any) -> str:
    return "–" if value in (None, "") else value if isinstance(value, str) else str(value)
