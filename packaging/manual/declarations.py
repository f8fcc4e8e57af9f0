"""The declarations of the public headers with their comments, as doxygen reads them."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from page import BOLD, Span

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("include/lockswap", "structures/include/lockswap")
# The reference's settings.
SETTINGS = """
@INCLUDE = docs/Doxyfile
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
WARNINGS = NO
WARN_IF_UNDOCUMENTED = NO
"""


@dataclass(frozen=True)
class Declaration:
    """One declaration: `text` is how it is written, `spans` what its comment says."""

    name: str
    kind: str
    text: str
    spans: tuple[Span, ...]
    line: int
    values: tuple[tuple[str, tuple[Span, ...]], ...] = ()  # of an enumeration or a structure


@dataclass
class Header:
    """The declarations of a header, in its order; `owners` has its classes, each with its public members."""

    file: Path
    members: list[Declaration] = field(default_factory=list)
    owners: list[tuple[Declaration, list[Declaration]]] = field(default_factory=list)

    @property
    def include(self) -> str:
        return f"lockswap/{self.file.name}"

    @property
    def is_cpp(self) -> bool:
        return self.file.suffix == ".hpp"

    @property
    def of_structures(self) -> bool:
        return "structures" in self.file.parts


def headers(doxygen: str, folder: Path) -> list[Header]:
    """All headers that programs include, by their names."""
    text = SETTINGS.format(out=folder)
    subprocess.run([doxygen, "-"], input=text, text=True, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    found = {file: Header(file) for place in FOLDERS for file in sorted((ROOT / place).glob("*.h*"))}
    for file in sorted((folder / "xml").glob("*.xml")):
        for compound in ElementTree.parse(file).getroot().iter("compounddef"):
            _read(compound, found)
    for header in found.values():
        header.members.sort(key=lambda one: one.line)
        header.owners.sort(key=lambda one: one[0].line)
    return list(found.values())


def _read(compound: ElementTree.Element, found: dict[Path, Header]) -> None:
    kind = compound.get("kind")
    if kind in ("class", "struct") and compound.get("prot") in (None, "public"):
        if header := _header_of(compound, found):
            owner = _declaration(compound, compound.findtext("compoundname", ""))
            header.owners.append((owner, sorted(_members_of(compound), key=lambda one: one.line)))
    elif kind in ("file", "namespace"):
        for section in compound.iter("sectiondef"):
            for member in section.iter("memberdef"):
                header = _header_of(member, found)
                if header and (kind == "file") != header.is_cpp and not member.findtext("name", "").startswith("__"):
                    header.members.append(_member(member))


def _header_of(element: ElementTree.Element, found: dict[Path, Header]) -> Header | None:
    location = element.find("location")
    return found.get(ROOT / location.get("file", "")) if location is not None else None


def _members_of(compound: ElementTree.Element) -> Iterator[Declaration]:
    for section in compound.iter("sectiondef"):
        if section.get("kind", "").startswith("public"):
            for member in section.iter("memberdef"):
                is_deleted = "=delete" in member.findtext("argsstring", "").replace(" ", "")
                if not is_deleted and not member.findtext("name", "").startswith("~"):
                    yield _member(member)


def _member(member: ElementTree.Element) -> Declaration:
    values = tuple((value.findtext("name", ""), tuple(_said(value))) for value in member.iter("enumvalue"))
    name = member.findtext("name", "")
    return _declaration(member, "" if name.startswith("@") else name, values)


def _declaration(
    element: ElementTree.Element, name: str, values: tuple[tuple[str, tuple[Span, ...]], ...] = ()
) -> Declaration:
    kind = element.get("kind", "")
    line = int(element.find("location").get("line", "0"))
    return Declaration(name, kind, _written(element, name), tuple(_said(element)), line, values)


def _written(element: ElementTree.Element, name: str) -> str:
    """As in the header: 'int lockswap_range_release(lockswap_range *range)'."""
    kind = element.get("kind")
    if kind == "define":
        parameters = ", ".join(one.text or "" for one in element.iter("defname"))
        return f"#define {name}" + (f"({parameters})" if parameters else "")
    if kind in ("class", "struct", "enum"):
        return f"{_template(element)}{kind} {name}".strip()
    type_of = "".join(element.find("type").itertext()) if element.find("type") is not None else ""
    type_of = re.sub(r"< | (?=>)", lambda found: found[0].strip(), type_of)
    if kind == "typedef":
        return f"using {name} = {type_of}"
    words = " ".join(f"{_template(element)}{type_of} {name}".split())
    return re.sub(r"(?<=[*&]) (?=\w+$)", "", words) + _arguments(element)


def _template(element: ElementTree.Element) -> str:
    found = element.find("templateparamlist")
    if found is None:
        return ""
    parameters = []
    for one in found.findall("param"):
        words = "".join(one.find("type").itertext()) if one.find("type") is not None else ""
        name, default = one.findtext("declname", ""), one.find("defval")
        value = f" = {''.join(default.itertext())}" if default is not None else ""
        parameters.append(f"{words} {name}".strip() + value)
    return f"template <{', '.join(parameters)}> "


def _arguments(element: ElementTree.Element) -> str:
    return re.sub(r"\s*=\s*default$", "", element.findtext("argsstring", "") or "")


def _said(element: ElementTree.Element) -> Iterator[Span]:
    """The comment of a declaration, as one text."""
    for part in ("briefdescription", "detaileddescription"):
        found = element.find(part)
        if found is not None:
            yield from _text_in(found)
            yield Span(" ")


def _text_in(element: ElementTree.Element) -> Iterator[Span]:
    """What is marked as code, and refers to another declaration, is bold."""
    if element.text:
        is_literal = element.tag in ("computeroutput", "verbatim") or (element.tag == "ref" and "_" in element.text)
        yield Span(element.text, BOLD if is_literal else "R")
    for child in element:
        yield from _text_in(child)
        if child.tag == "para":
            yield Span(" ")
        if child.tail:
            yield Span(child.tail)
