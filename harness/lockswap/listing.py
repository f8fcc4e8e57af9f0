"""`lockswap list`: what there is to choose from, in short; and everything that is known of one."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property

from lockswap.base.choice import NONE
from lockswap.base.columns import aligned, described, terminal_width, wrapped
from lockswap.base.paths import Paths
from lockswap.base.registry import Family, Lock, RangeLock, Registry
from lockswap.base.text import plural, words
from lockswap.figures import reader as figures
from lockswap.figures.figure import Figure
from lockswap.predict import advice, places
from lockswap.recipes import reader
from lockswap.recipes.recipe import KINDS, Recipe

AS_IT_IS = "the program as it is, without lockswap"
# Stands for a lock in the name and summary of a family.
OF = "<L>"


class Listing:
    """Each method gives lines, or blocks of lines that belong together."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.registry = Registry.load(paths)
        self.workloads = reader.load_all(paths.recipes, paths.structure_recipes)
        self.advice = advice.read(places.advice(paths))
        self.width = terminal_width()
        self.lists = {
            "ranges": self.ranges,
            "workloads": self.all_workloads,
            "structures": self.structures,
            "papers": self.papers,
            "variables": self.variables,
            "waits": self.waits,
        }

    def of(self, name: str | None) -> list[str]:
        if name is None:
            return self.everything()
        show = self.lists.get(name.lower())
        return show() if show else self.one(name)

    def everything(self) -> list[str]:
        registry = self.registry
        lines = [f"Reader-writer locks (--rwlock), lockswap {registry.version}"]
        lines += self._locks([(NONE, AS_IT_IS)], registry.rwlocks)
        lines += ["", "Mutexes, each with matching condition variables (--mutex)"]
        lines += self._locks([], registry.mutexes)
        by_default = [*registry.default_rwlocks, *(f"mutex:{name}" for name in registry.default_mutexes)]
        lines += [
            "",
            *wrapped(f"Where none is named, compare takes {words(by_default)}.", self.width),
            *wrapped("'lockswap list NAME' shows everything about a lock, mutex, range lock or workload.", self.width),
            *wrapped(
                f"'lockswap list ranges' ({len(registry.range_locks)} range locks), "
                f"'list workloads' ({len(self._about_locks())}), 'list waits', 'list variables'.",
                self.width,
            ),
            *self._elsewhere(),
            *self._of_papers(),
            *self._left_out(),
        ]
        return lines

    def _left_out(self) -> list[str]:
        names = self.registry.left_out
        return wrapped(f"Left out of this build (LOCKSWAP_WITHOUT): {', '.join(names)}.", self.width) if names else []

    def _locks(self, rows: list[tuple[str, str]], locks: Iterable[Lock]) -> list[str]:
        families = self.registry.families(locks)
        shown: set[str] = set()
        for lock in locks:
            family = next((one for one in families if lock.name in one.members), None)
            if family is None:
                rows.append((lock.name, lock.summary))
            elif family.prefix not in shown:
                shown.add(family.prefix)
                rows.append((family.prefix + OF, summary_of(family)))
        lines = aligned(rows, self.width)
        by_bases: dict[tuple[str, ...], list[str]] = {}
        for family in families:
            by_bases.setdefault(family.bases, []).append(family.prefix + OF)
        for bases, names in by_bases.items():
            lines += wrapped(f"  {OF} of {words(names)}: {', '.join(bases)}", self.width, rest="    ")
        return lines

    def ranges(self) -> list[str]:
        if not self.registry.range_locks:
            return ["There are no range locks in this build."]
        rows = [(_range_name(lock), lock.summary) for lock in self.registry.range_locks]
        return ["Range locks, for programs that call them (--range; docs/range-locks.md)", *aligned(rows, self.width)]

    def waits(self) -> list[str]:
        return ["How waiting threads wait (--wait)", *aligned(self.registry.waits.items(), self.width)]

    def variables(self) -> list[str]:
        rows = [(row["name"], row["type"], row["default"] or "unset", row["help"]) for row in self.registry.config]
        heads = ("variable", "value", "default", "what it does")
        return ["Variables of the library (compare --scan varies them)", *aligned([heads, *rows], self.width)]

    def all_workloads(self) -> list[str]:
        if not self._about_locks():
            return ["There are no workloads: apps/recipes is empty.", *self._elsewhere()]
        table = self._table_of(self._about_locks())
        return ["Workloads (--workload; apps/recipes)", *table, *self._elsewhere()]

    def structures(self) -> list[str]:
        if not self._about_structures():
            return ["There are no workloads of structures: structures/apps/recipes is not there."]
        title = "Workloads of the structures beside the locks (--workload; structures/README.md)"
        return [title, *self._table_of(self._about_structures())]

    def _elsewhere(self) -> list[str]:
        """That there is more than locks."""
        count = len(self._about_structures())
        text = f"Structures that are not locks: 'lockswap list structures' ({plural(count, 'workload')})."
        return wrapped(text, self.width) if count else []

    @cached_property
    def figures(self) -> dict[str, Figure]:
        return figures.load_all(self.paths)

    def papers(self) -> list[str]:
        if not self.figures:
            return ["There are no figures of papers: apps/recipes/papers is not there."]
        there = self.figures.values()
        heads = ("figure", "paper", "is", "what")
        rows = [(one.name, one.paper, one.number, _what(one)) for one in there]
        count = sum(not one.missing for one in there)
        end = f"'lockswap paper NAME' measures one: {count} of {plural(len(rows), 'figure')} and tables."
        return ["Figures of papers (docs/papers.md)", *aligned([heads, *rows], self.width), *wrapped(end, self.width)]

    def _of_papers(self) -> list[str]:
        count = sum(not one.missing for one in self.figures.values())
        text = f"Figures of papers that 'lockswap paper' measures: 'lockswap list papers' ({plural(count, 'figure')})."
        return wrapped(text, self.width) if count else []

    def _figure(self, figure: Figure) -> list[str]:
        axis = ", ".join(x.name for x in figure.xs) or "numbers of threads"
        facts = [
            ("what", _what(figure)),
            ("lines", ", ".join(line.name for line in figure.lines)),
            ("x axis", "" if figure.missing else f"{figure.x_label}: {axis}"),
            ("y axis", ", ".join(y.name for y in figure.ys)),
            ("workload", ", ".join(dict.fromkeys(panel.workload for panel in figure.panels))),
            ("not here", figure.lacks),
            ("note", figure.note),
        ]
        return [f"{figure.name}, {figure.number} of {figure.paper}", *described(facts, self.width)]

    def _about_locks(self) -> list[Recipe]:
        return [recipe for recipe in self.workloads.values() if not recipe.of_structures]

    def _about_structures(self) -> list[Recipe]:
        return [recipe for recipe in self.workloads.values() if recipe.of_structures]

    def _table_of(self, workloads: Iterable[Recipe]) -> list[str]:
        rows = [
            (
                recipe.name,
                words(KINDS[kind] for kind in recipe.takes),
                _campaign(recipe),
                self._built(recipe),
                recipe.title,
            )
            for recipe in workloads
        ]
        heads = ("workload", "takes", "campaign", "built", "what")
        return aligned([heads, *rows], self.width)

    def _built(self, recipe: Recipe) -> str:
        return "yes" if recipe.program_present(self.paths.apps) else "not yet"

    def one(self, name: str) -> list[str]:
        """Everything of a name: it may be a lock, a mutex, a range lock, a variable and a workload at once."""
        typed = name.strip().lower()
        registry = self.registry
        blocks = [
            *self._ways(typed),
            *(self._lock(lock, "reader-writer lock", "--rwlock") for lock in registry.rwlocks if _is(lock, typed)),
            *(self._lock(lock, "mutex", "--mutex") for lock in registry.mutexes if _is(lock, typed)),
            *(self._range(lock) for lock in registry.range_locks if lock.name.lower() == typed),
            *(self._variable(row) for row in registry.config if row["name"].lower() == typed),
            *(self._workload(one) for one in self.workloads.values() if typed == one.name.lower()),
            *self._variants(typed),
            *(self._figure(one) for one in self.figures.values() if typed == one.name),
        ]
        for family in (*registry.families(registry.rwlocks), *registry.families(registry.mutexes)):
            if typed in (family.prefix.rstrip("-"), family.prefix + OF.lower(), family.prefix):
                blocks.append(self._family(family))
        if not blocks:
            raise self._unknown(name)
        return [line for block in blocks for line in ("", *block)][1:]

    def _ways(self, typed: str) -> Iterable[list[str]]:
        if typed == NONE:
            yield [f"{NONE}: {AS_IT_IS}; compare always measures it"]
        if typed in self.registry.waits:
            facts = [("what it does", self.registry.waits[typed])]
            yield [f"{typed}, a way to wait (--wait {typed})", *described(facts, self.width)]

    def _unknown(self, name: str) -> Exception:
        registry = self.registry
        there = {one: one for one in (NONE, *self.lists, *self.workloads)}
        there |= {one.family: one.family for one in self.workloads.values() if one.family}
        for lock in (*registry.rwlocks, *registry.mutexes):
            there |= dict.fromkeys((lock.name, *lock.aliases), lock.name)
        there |= {lock.name: lock.name for lock in registry.range_locks}
        there |= {row["name"]: row["name"] for row in registry.config}
        there |= {name: name for name in self.figures}
        return registry.unknown("lock, workload or list", name, there, "lockswap list")

    def _lock(self, lock: Lock, what: str, option: str) -> list[str]:
        locks = self.registry.rwlocks if option == "--rwlock" else self.registry.mutexes
        prefixes = [family.prefix for family in self.registry.families(locks) if lock.name in family.bases]
        return [
            f"{lock.name}, a {what} ({option} {lock.name})",
            *described(
                [
                    ("what it is", lock.summary),
                    ("also called", ", ".join(lock.aliases)),
                    ("fairness", lock.fairness),
                    ("kinds", lock.kinds),
                    ("can", ", ".join(lock.capabilities)),
                    ("bytes", "" if lock.footprint_bytes is None else str(lock.footprint_bytes)),
                    ("source", lock.source),
                    ("modelled", advice.of(self.advice, option.removeprefix("--"), lock.name)),
                    ("also as", ", ".join(prefix + lock.name for prefix in prefixes)),
                ],
                self.width,
            ),
        ]

    def _family(self, family: Family) -> list[str]:
        facts = [("what it is", summary_of(family)), ("locks", ", ".join(family.members))]
        return [f"{family.prefix}{OF}, a family of locks", *described(facts, self.width)]

    def _range(self, lock: RangeLock) -> list[str]:
        facts = [
            ("what it is", lock.summary),
            ("fairness", lock.fairness),
            ("source", lock.source),
            ("made of", "reader-writer locks: ':RWLOCK' behind the name says which" if lock.of_rwlocks else ""),
            ("options", " and ".join(f"{lock.name}:{word}" for word in lock.words)),
        ]
        return [f"{lock.name}, a range lock (--range {lock.name})", *described(facts, self.width)]

    def _variable(self, row: dict) -> list[str]:
        facts = [("what it does", row["help"]), ("value", row["type"]), ("default", row["default"] or "unset")]
        return [f"{row['name']}, a variable of the library", *described(facts, self.width)]

    def _variants(self, family: str) -> Iterable[list[str]]:
        found = [one for one in self.workloads.values() if family and one.family.lower() == family]
        if found:
            facts = [("workloads", ", ".join(one.name for one in found)), ("measures", found[0].measures)]
            yield [f"{family}, a recipe with variants (--workload {family}: all)", *described(facts, self.width)]

    def _workload(self, recipe: Recipe) -> list[str]:
        facts = [
            ("what", recipe.title),
            ("measures", recipe.measures),
            ("note", recipe.note),
            ("takes", words(KINDS[kind] for kind in recipe.takes)),
            ("peers", ", ".join(recipe.peers)),
            (recipe.threads_label, ", ".join(map(str, recipe.threads))),
            ("campaign", _campaign(recipe)),
            ("built", self._built(recipe)),
            ("source", recipe.source),
        ]
        return [f"{recipe.name}, a workload (--workload {recipe.name})", *described(facts, self.width)]


def show(paths: Paths, name: str | None, as_json: bool) -> None:
    if as_json:
        print(_json(paths, Registry.load(paths), reader.load_all(paths.recipes, paths.structure_recipes)))
        return
    print("\n".join(Listing(paths).of(name)))


def _what(figure: Figure) -> str:
    if figure.missing:
        return f"{figure.title}: can't be measured, because {figure.missing}"
    return f"{'model: ' if figure.model else ''}{figure.title}"


def _is(lock: Lock, typed: str) -> bool:
    return typed in (spelling.lower() for spelling in (lock.name, *lock.aliases))


def _range_name(lock: RangeLock) -> str:
    return lock.name + "[:RWLOCK]" * lock.of_rwlocks + "".join(f"[:{word}]" for word in lock.words)


def _campaign(recipe: Recipe) -> str:
    return "by name only" if recipe.by_name else "quick" if recipe.quick else "normal"


def summary_of(family: Family) -> str:
    """What its members' summaries have in common, OF for the lock that each is made of."""
    texts = [text.replace(base, OF, 1) for text, base in zip(family.summaries, family.bases, strict=True)]
    if len(set(texts)) == 1:
        return texts[0]
    common = texts[0]
    for text in texts:
        while not text.startswith(common):
            common = common[:-1]
    return (common + OF) if common else f"{plural(len(texts), 'lock')}, each over another one"


def _json(paths: Paths, registry: Registry, workloads: dict[str, Recipe]) -> str:
    return json.dumps(
        {
            "schema": 1,
            "version": registry.version,
            "rwlocks": [asdict(lock) for lock in registry.rwlocks],
            "mutexes": [
                {key: value for key, value in asdict(lock).items() if key not in ("capabilities", "kinds")}
                for lock in registry.mutexes
            ],
            "range_locks": [asdict(lock) for lock in registry.range_locks],
            "left_out": registry.left_out,
            "waits": registry.waits,
            "workloads": [
                asdict(recipe) | {"built": recipe.program_present(paths.apps)} for recipe in workloads.values()
            ],
        },
        indent=2,
    )
