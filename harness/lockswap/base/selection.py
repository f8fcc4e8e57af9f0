"""Choices from what people typed: each name is looked up in the registry."""

from dataclasses import replace

from lockswap.base.choice import (
    COND,
    CONDS,
    MUTEX_MARK,
    NONE,
    PEER_MARK,
    PTHREAD,
    RANGE_MARK,
    SETTING_MARK,
    VERSUS,
    Choice,
)
from lockswap.base.errors import UserError
from lockswap.base.registry import Registry


def chosen(registry: Registry, rwlock: str | None, mutex: str | None) -> Choice:
    """From names that people typed; UserError if there is no such lock."""
    one = None if rwlock is None else registry.rwlock(rwlock)
    other = None if mutex is None else registry.mutex(mutex)
    if NONE in (one, other):
        if one and other and one != other:
            raise _only_none(one == NONE)
        return Choice(NONE)
    return Choice(one or PTHREAD, other)


def with_conds(choice: Choice, cond: str) -> Choice:
    """The same with condition variables that people typed."""
    name = {"glibc": PTHREAD}.get(cond.lower(), cond.lower())
    if name not in CONDS:
        raise UserError(f"--cond '{cond}': choose {' or '.join(CONDS)}")
    if choice.rwlock == NONE:
        raise UserError(f"'{NONE}' is the program without lockswap, so it can't be combined with --cond")
    return replace(choice, settings=(*choice.settings, (COND, name)))


def _only_none(rwlock: bool) -> UserError:
    """'none' was said of rwlocks, or else of mutexes, beside a lock of the other kind."""
    option, what = ("--rwlock", "rwlocks") if rwlock else ("--mutex", "mutexes")
    return UserError(
        f"'{NONE}' for {what} is the program without lockswap, so no other lock can run beside it: drop {option}, and "
        f"{what} stay glibc's; 'lockswap audit -- CMD' shows which locks a program takes"
    )


def parse(registry: Registry, text: str) -> Choice:
    """A label that people typed: 'ba', 'mutex:mcs', 'ba+mutex:mcs', 'range:list-rw', 'ba@LOCKSWAP_SPIN=0'."""
    text, mark, more = text.partition(SETTING_MARK)
    if mark:
        of_settings = Choice.of(mark + more)
        if not more or more != of_settings.label.removeprefix(mark):
            raise UserError(f"'{text}{mark}{more}': write @NAME=VALUE as in --scan, or @{VERSUS}")
        return replace(parse(registry, text), settings=of_settings.settings, versus=of_settings.versus)
    if text.strip().lower().startswith(RANGE_MARK):
        return Choice.of(registry.range_lock(text.strip()[len(RANGE_MARK) :]))
    if text.strip().startswith(PEER_MARK):
        return Choice.of(text.strip())  # whether there is such a peer depends on the workload
    first, plus, second = text.strip().partition("+")
    if first.lower().startswith(MUTEX_MARK) and not plus:
        return chosen(registry, None, first[len(MUTEX_MARK) :])
    if plus and not second.lower().startswith(MUTEX_MARK):
        raise UserError(f"'{text}' is not a choice of locks; write 'ba', 'mutex:mcs' or 'ba+mutex:mcs'")
    return chosen(registry, first, second[len(MUTEX_MARK) :] if plus else None)


def named(registry: Registry, rwlocks: list[str], mutexes: list[str], pairs: bool = False) -> list[str]:
    """Labels of these rwlocks and these mutexes, each alone; with `pairs` also of each with each.

    Where both kinds are named, the other kind is passed through to glibc: so all of them pay alike for being preloaded.
    Without 'none', which is measured anyhow.
    """
    first, second = _named(rwlocks, registry.rwlock), _named(mutexes, registry.mutex)
    if (first == [] and any(second)) or (second == [] and any(first)):
        raise _only_none(first == [])
    if pairs and not (rwlocks and mutexes):
        raise UserError("--pairs combines rwlocks with mutexes: name both, as in -l ba -m mcs --pairs")
    both = [Choice(one or PTHREAD, other) for one in first for other in second]
    if not (rwlocks and mutexes):
        return list(dict.fromkeys(choice.label for choice in both))
    alone = [Choice(one, PTHREAD) for one in first] + [Choice(PTHREAD, other) for other in second]
    return list(dict.fromkeys(choice.label for choice in [*alone, *(both if pairs else [])]))


def range_labels(registry: Registry, names: list[str]) -> list[str]:
    """Labels of range locks that people named."""
    return list(dict.fromkeys(map(registry.range_lock, names)))


def _named(names: list[str], look_up) -> list[str | None]:
    found = [look_up(name) for name in names]
    return [name for name in found if name != NONE] if found else [None]
