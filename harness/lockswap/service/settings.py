"""What a unit's file says, as far as it matters to a preloaded library."""

import re
from pathlib import Path

from lockswap.doctor.finding import Finding, note, stops
from lockswap.service.unit import MARKER

_FILTER_THAT_DOES = "@system-service"
_HOMES = ("/home/", "/root/", "/run/user/")
_TEMPORARY = ("/tmp/", "/var/tmp/")
# What hides files, or forbids code in them; and what makes exceptions of that.
_KEPT_BY = {
    "InaccessiblePaths": ("BindReadOnlyPaths", "BindPaths"),
    "TemporaryFileSystem": ("BindReadOnlyPaths", "BindPaths"),
    "NoExecPaths": ("ExecPaths",),
}
_TRUE = ("yes", "true", "on", "1")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{3}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Settings:
    """Of the section [Service], in which an empty value forgets those before."""

    def __init__(self, text: str) -> None:
        self._values: dict[str, list[str]] = {}
        section = ""
        ours = False
        for line in re.sub(r"\\\n", " ", text).splitlines():
            line = line.strip()
            if line.startswith("# /"):  # systemctl cat names each file
                ours = False
            ours |= line == MARKER
            if line.startswith("[") and line.endswith("]"):
                section = line
            elif "=" in line and line[:1] not in ("#", ";") and section == "[Service]" and not ours:
                key, _, value = line.partition("=")
                self._add(key.strip(), value.strip())

    def _add(self, key: str, value: str) -> None:
        if value:
            self._values.setdefault(key, []).append(value)
        else:
            self._values[key] = []

    def all(self, key: str) -> list[str]:
        return self._values.get(key, [])

    def last(self, key: str) -> str:
        return (self.all(key) or [""])[-1]

    def environment(self) -> dict[str, str]:
        """Without what files of EnvironmentFile= say."""
        found: dict[str, str] = {}
        for value in self.all("Environment"):
            found |= dict(word.split("=", 1) for word in _words(value) if "=" in word)
        return found


def findings(settings: Settings, library: str) -> list[Finding]:
    """What would keep the library out of the unit's processes, or in them from its work."""
    return [*_hides(settings, library), *_drops(settings), *_filters(settings), *_limits(settings)]


def _hides(settings: Settings, library: str) -> list[Finding]:
    found = []
    home = settings.last("ProtectHome").lower()
    if library.startswith(_HOMES) and home in (*_TRUE, "tmpfs"):
        found.append(stops("ProtectHome", f"ProtectHome={home} hides {library}: install the library below /usr"))
    if library.startswith(_TEMPORARY) and settings.last("PrivateTmp").lower() in (*_TRUE, "disconnected"):
        found.append(stops("PrivateTmp", f"PrivateTmp= hides {library}: install the library below /usr"))
    for key in ("RootDirectory", "RootImage"):
        if root := settings.last(key):
            found.append(stops(key, f"{key}={root} has a root of its own: put the library at {library} in there"))
    for key in _KEPT_BY:
        hidden = [one.split(":")[0] for one in _paths(settings, key)]
        kept = [one.split(":")[-1] for name in _KEPT_BY[key] for one in _paths(settings, name)]
        if any(_is_below(library, one) for one in hidden) and not any(_is_below(library, one) for one in kept):
            cure = f"{_KEPT_BY[key][0]}={library}"
            found.append(stops(key, f"{key}={' '.join(hidden)} keeps {library} from being loaded: add {cure}"))
    return found


def _paths(settings: Settings, key: str) -> list[str]:
    return [one.lstrip("-+") for value in settings.all(key) for one in value.split()]


def _drops(settings: Settings) -> list[Finding]:
    found = []
    unset = [word.split("=")[0] for value in settings.all("UnsetEnvironment") for word in _words(value)]
    if dropped := [name for name in unset if name == "LD_PRELOAD" or name.startswith("LOCKSWAP_")]:
        found.append(stops("UnsetEnvironment", f"UnsetEnvironment= takes {', '.join(dropped)} away: take it out there"))
    for value in settings.all("EnvironmentFile"):
        file = value.lstrip("-")
        text = f"EnvironmentFile={value} comes after Environment=: an LD_PRELOAD in that file would win"
        try:
            names = re.findall(r"^\s*(LD_PRELOAD|LOCKSWAP_\w+)=", Path(file).read_text(errors="replace"), re.MULTILINE)
        except OSError:
            found.append(note("EnvironmentFile", f"{text}; it can't be read here"))
            continue
        if names:
            found.append(stops("EnvironmentFile", f"{file} sets {', '.join(names)}, which wins: take it out there"))
    return found


def _filters(settings: Settings) -> list[Finding]:
    """Without SystemCallErrorNumber= a call that is refused kills the service. The library calls madvise at its start,
    which isn't in @default."""
    words = [word for value in settings.all("SystemCallFilter") for word in value.split()]
    if not words:
        return []
    allowed = not words[0].startswith("~")
    named = {word.lstrip("~").split(":")[0] for word in words}
    if allowed and _FILTER_THAT_DOES not in named:
        cure = "add @system-service, or the calls of docs/production.md, section 'Filters and sandboxes'"
        if settings.last("SystemCallErrorNumber"):
            return [note("SystemCallFilter", f"SystemCallFilter= may refuse calls of the library: {cure}")]
        return [stops("SystemCallFilter", f"SystemCallFilter= may kill the service at its start: {cure}")]
    if not allowed and (refused := named & {"membarrier", "sched_setaffinity", "@resources", "@process"}):
        return [
            note(
                "SystemCallFilter",
                f"SystemCallFilter=~{' '.join(sorted(refused))} may refuse calls without which some locks are slower, "
                "or don't start (docs/production.md, section 'Filters and sandboxes')",
            )
        ]
    return []


def _limits(settings: Settings) -> list[Finding]:
    found = []
    for key in ("LimitAS", "LimitMEMLOCK"):
        value = settings.last(key).split(":")[0]
        if (size := _bytes(value)) is not None and size < 16 << 20:
            found.append(note(key, f"{key}={value} is little: the library takes 5 MB of address space"))
    return found


def _bytes(value: str) -> int | None:
    found = re.fullmatch(r"(\d+)([KMGT]?)", value)
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ") if found else None


def _is_below(path: str, folder: str) -> bool:
    return folder == "/" or path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _words(text: str) -> list[str]:
    """By systemd's rules: quotes of both kinds, C's escapes, and '%%' for a '%'."""
    found = []
    for word in re.findall(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'\\])+""", text):
        parts = re.findall(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|((?:\\.|[^"'\\])+)""", word)
        plain = "".join(next((part for part in one if part), "") for one in parts)
        found.append(_ESCAPE.sub(_unescaped, plain).replace("%%", "%"))
    return found


def _unescaped(found: re.Match) -> str:
    letter = found[1]
    if letter[0] == "x":
        return chr(int(letter[1:], 16))
    return chr(int(letter, 8)) if len(letter) == 3 else _LETTERS.get(letter, letter)
