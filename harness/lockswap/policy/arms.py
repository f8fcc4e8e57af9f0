"""Policy files as arms of `lockswap compare`: each is known by its file's name, as `policy:libcrypto`."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from lockswap.base.choice import MUTEX, POLICY_MARK, PTHREAD, RWLOCK, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths

_SUFFIX = ".policy"
_RULE = re.compile(rf"\b({RWLOCK}|{MUTEX})=\S")


def resolve(paths: Paths, asked: Iterable[str]) -> dict[str, Path]:
    """The files that people named, by the names of their arms. A ready-made one needs no folder: 'libcrypto'."""
    found: dict[str, Path] = {}
    for text in asked:
        file = _find(paths, text)
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", file.name.removesuffix(_SUFFIX))
        if found.get(name, file) != file:
            raise UserError(f"--policy {text}: {found[name]} has the same name; give one of them another")
        found[name] = file
    return found


def label(name: str, file: Path) -> str:
    """The label of the arm. Its rules say which kinds of locks it is about."""
    kinds = _kinds(file)
    if not kinds:
        raise UserError(f"--policy {file}: no rule in it names a lock; write one as 'module=NAME rwlock=LOCK'")
    arm = POLICY_MARK + name
    if kinds == {MUTEX}:
        return Choice(PTHREAD, arm).label
    return Choice(arm, arm if MUTEX in kinds else None).label


def texts(policies: Mapping[str, Path]) -> dict[str, str]:
    """The rules of each, for the record: without comments."""
    return {name: "\n".join(_rules(file)) for name, file in policies.items()}


def found(paths: Paths, text: str) -> Path | None:
    """A file, or a ready-made policy by its name; None: the text is neither."""
    file = Path(text).absolute()
    return file if file.is_file() else _ready_made(paths).get(text.removesuffix(_SUFFIX))


def _ready_made(paths: Paths) -> dict[str, Path]:
    return {one.name.removesuffix(_SUFFIX): one for one in sorted(paths.policies.glob(f"*{_SUFFIX}"))}


def _find(paths: Paths, text: str) -> Path:
    if one := found(paths, text):
        return one
    ready_made = _ready_made(paths)
    known = f"; ready-made are {', '.join(ready_made)}" if ready_made else ""
    raise UserError(f"--policy {text}: there is no such file{known}")


def _rules(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--policy {file}: {error}") from error
    return [rule for rule in (line.partition("#")[0].strip() for line in lines) if rule]


def _kinds(file: Path) -> set[str]:
    return {kind for rule in _rules(file) for kind in _RULE.findall(rule)}
