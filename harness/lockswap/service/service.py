"""`lockswap service enable|disable|status UNIT`."""

from collections.abc import Callable
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import chosen, with_conds
from lockswap.doctor import process
from lockswap.doctor.finding import STOPS, Finding, note, ok, show, stops
from lockswap.run.preload import ld_preload
from lockswap.service import programs
from lockswap.service.manager import Manager
from lockswap.service.settings import Settings, findings
from lockswap.service.unit import full_name, text_of


def manager_of(user: bool, root: Path | None) -> Manager:
    if user and root:
        raise UserError("--user is for a service of yours and --root for a folder: take one of them")
    if root and not root.is_dir():
        raise UserError(f"--root: there is no folder '{root}'")
    return Manager(user, root.absolute() if root else None)


def variables(
    paths: Paths, library: str, existing: str, rwlock: str | None, mutex: str | None, cond: str | None, wait: str | None
) -> dict[str, str]:
    """What stands in the drop-in. `existing`: the unit's own LD_PRELOAD, which stays."""
    registry = Registry.load(paths)
    if rwlock is None and mutex is None and cond is None:
        raise UserError("say which lock the unit is to run: --rwlock LOCK, --mutex MUTEX or both")
    choice = chosen(registry, rwlock, mutex)
    if cond is not None:
        choice = with_conds(choice, cond)
    if not choice.variables:
        raise UserError("'none' is the unit without lockswap: 'lockswap service disable UNIT' does that")
    found = {"LD_PRELOAD": ld_preload(Path(library), existing), **choice.variables}
    if wait:
        found["LOCKSWAP_WAIT"] = registry.wait(wait)
    return found


def enable(manager: Manager, unit: str, library: str, choose: Callable[[str], dict[str, str]], now: bool) -> int:
    """`choose` gives the variables, from the LD_PRELOAD that the unit has without the drop-in."""
    name = full_name(unit)
    settings = Settings(manager.cat(name))
    text = text_of(name, choose(settings.environment().get("LD_PRELOAD", "")))
    drop_in = manager.drop_in(name)
    drop_in.write(text)
    print(f"{drop_in.file}:\n{text}", end="")
    found = [*findings(settings, library), *programs.findings(settings, manager.root)]
    for one in found:
        print(one)
    _take_effect(manager, name, now)
    return 1 if any(one.level == STOPS for one in found) else 0


def disable(manager: Manager, unit: str, now: bool) -> int:
    name = full_name(unit)
    drop_in = manager.drop_in(name)
    if not drop_in.remove():
        print(f"lockswap: {name} has no {drop_in.file}, so there is nothing to remove")
        return 0
    print(f"lockswap: removed {drop_in.file}")
    _take_effect(manager, name, now)
    return 0


def status(paths: Paths, manager: Manager, unit: str, as_json: bool) -> int:
    name = full_name(unit)
    drop_in = manager.drop_in(name)
    settings = Settings(manager.cat(name))
    text = drop_in.read()
    if text is None:
        found = [stops("drop-in", f"{name} is not enabled: 'lockswap service enable {name} --rwlock LOCK' does that")]
    else:
        found = [ok("drop-in", f"{name} is enabled by {drop_in.file}"), *findings(settings, _library_in(text))]
        found += programs.findings(settings, manager.root)
    found += _running(paths, manager, name)
    return show(found, as_json)


def _running(paths: Paths, manager: Manager, name: str) -> list[Finding]:
    if manager.root:
        return [note("process", f"nothing runs below {manager.root}")]
    pid = manager.show(name, "MainPID")
    if not pid.isdecimal() or int(pid) == 0:
        return [note("process", f"{name} does not run now: 'systemctl status {name}' says why")]
    return process.findings(paths, int(pid))


def _library_in(text: str) -> str:
    words = Settings(text.partition("\n")[2]).environment().get("LD_PRELOAD", "")
    return next((word for word in words.split(":") if Path(word).name.startswith("liblockswap")), "")


def _take_effect(manager: Manager, name: str, now: bool) -> None:
    if manager.root:
        return
    if now:
        manager.restart(name)
        print(f"lockswap: restarted {name}, if it ran")
        return
    commands = f"{manager.command('daemon-reload')} && {manager.command('restart', name)}"
    print(f"lockswap: it takes effect with: {commands}")
