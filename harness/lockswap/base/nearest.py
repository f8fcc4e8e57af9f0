"""What to say of a name that does not exist: the nearest that do, and the command that lists all."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from lockswap.base.errors import UserError

# So many names are said in full; of more, so many are suggested.
FEW, SUGGESTED = 4, 3


def unknown(what: str, name: str, there: Iterable[str] | Mapping[str, str], see: str = "") -> UserError:
    """An error for "there is no WHAT called NAME".

    `there` has the names that exist, or each spelling with its name. `see` is the command that shows all of them.
    """
    names = there if isinstance(there, Mapping) else {one: one for one in there}
    said = f"no {what} '{name}'"
    near = nearest(name, names)
    every = list(dict.fromkeys(names.values()))
    if near:
        said += f", did you mean {_either(near)}?"
    elif len(every) <= FEW:
        said += f" (there {'are: ' + ', '.join(every) if every else 'is none'})"
    if see and len(every) > FEW:
        said += f"{'' if near else ';'} '{see}' shows all"
    return UserError(said)


def nearest(name: str, names: Mapping[str, str]) -> list[str]:
    """Names that begin with what was typed, then those that are spelled like it."""
    typed = name.strip().lower()
    lower = {spelling.lower(): found for spelling, found in names.items()}
    begins = [spelling for spelling in lower if len(typed) > 1 and spelling.startswith(typed)]
    alike = get_close_matches(typed, lower, n=SUGGESTED)
    return list(dict.fromkeys(lower[spelling] for spelling in [*begins, *alike]))[:SUGGESTED]


def _either(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]
