#!/usr/bin/env python3
"""List the parts of the packages in a folder, as a bill of materials in the form of CycloneDX.

    list_parts.py FOLDER

It has each package with its checksum, what the package depends on, and what it was built with, in the versions that a
.buildinfo beside it names. The same packages always give the same file, FOLDER/lockswap-VERSION.cdx.json.
"""

import hashlib
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from email.parser import Parser
from email.utils import parsedate_to_datetime
from pathlib import Path
from zipfile import ZipFile

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[1]
MIT = DisjunctiveLicense(id="MIT")
NAMESPACES = {"deb": "debian", "pypi": None}  # of package URLs


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def alternatives(field: str) -> Iterator[str]:
    """What a field such as Depends names, an item each: `libc6 (>= 2.34)`, `libdw1t64 | libdw1`."""
    yield from filter(None, (" ".join(item.split()) for item in field.split(",")))


def described(file: Path, kind: str, name: str, version: str, **qualifiers: str) -> Component:
    """A package of ours."""
    return Component(
        type=ComponentType.APPLICATION,
        name=name,
        version=version,
        bom_ref=file.name,
        purl=PackageURL(type=kind, namespace=NAMESPACES[kind], name=name, version=version, qualifiers=qualifiers),
        licenses=[MIT],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(file.read_bytes()).hexdigest())],
        properties=[Property(name="file", value=file.name)],
    )


def deb(file: Path) -> tuple[Component, list[str]]:
    fields = Parser().parsestr(output("dpkg-deb", "-f", file))
    ours = described(file, "deb", fields["Package"], fields["Version"], arch=fields["Architecture"])
    wanted = [item for name in ("Pre-Depends", "Depends") for item in alternatives(fields.get(name, ""))]
    return ours, [f"deb {item}" for item in wanted]


def wheel(file: Path) -> tuple[Component, list[str]]:
    with ZipFile(file) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        fields = Parser().parsestr(archive.read(name).decode())
    ours = described(file, "pypi", fields["Name"], fields["Version"])
    return ours, [f"pypi {item}" for item in fields.get_all("Requires-Dist", [])]


def wanted_from_others(item: str) -> Component:
    """What a package of ours depends on. Which version is there, the system decides that installs it."""
    kind, _, text = item.partition(" ")
    name = re.match(r"[\w.+-]+", text)[0]
    purl = PackageURL(type=kind, namespace=NAMESPACES[kind], name=name)
    asked = Property(name="required", value=text)
    return Component(type=ComponentType.LIBRARY, name=name, bom_ref=item, purl=purl, properties=[asked])


def built_with(folder: Path) -> Iterator[Component]:
    """The packages that the build asks for, and the compiler's, in the versions that it had."""
    control = Parser().parsestr((ROOT / "debian/control").read_text(encoding="utf-8"))
    asked = {item.split()[0].split(":")[0] for item in alternatives(control["Build-Depends"])}
    for file in sorted(folder.glob("*.buildinfo")):
        there = Parser().parsestr(file.read_text(encoding="utf-8"))["Installed-Build-Depends"]
        for name, version in re.findall(r"(\S+) \(= (\S+?)\)", there):
            if name in asked | {"libc6-dev"} or re.fullmatch(r"g\+\+-\d+", name):
                yield Component(
                    type=ComponentType.LIBRARY,
                    name=name,
                    version=version,
                    bom_ref=f"built with {name} {version}",
                    purl=PackageURL(type="deb", namespace=NAMESPACES["deb"], name=name, version=version),
                    scope=ComponentScope.EXCLUDED,  # not a part of what is installed
                )


def newest_version() -> tuple[str, datetime]:
    """With its date. A wheel is also built where there is no dpkg-parsechangelog."""
    text = (ROOT / "debian/changelog").read_text(encoding="utf-8")
    version = re.match(r"lockswap \((\S+)\)", text)[1]
    return version, parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", text, re.MULTILINE)[1]).astimezone(UTC)


def bill(folder: Path) -> Bom:
    packages = [deb(file) for file in sorted(folder.glob("*.deb"))]
    packages += [wheel(file) for file in sorted(folder.glob("*.whl"))]
    if not packages:
        sys.exit(f"list_parts.py: there is no package in {folder}: run ./run.sh package or ./run.sh wheel")
    bom = Bom()
    version, released = newest_version()
    bom.metadata.component = Component(
        type=ComponentType.APPLICATION, name="lockswap", version=version, bom_ref="lockswap", licenses=[MIT]
    )
    bom.metadata.timestamp = released
    all_ours = [ours for ours, _ in packages]
    by_name = {(ours.purl.type, ours.name): ours for ours in all_ours}
    parts: dict[str, Component] = {}  # by the item that asks for it
    for item in (item for _, items in packages for item in items):
        wanted = wanted_from_others(item)
        parts[item] = by_name.get((wanted.purl.type, wanted.name), wanted)
    for part in [*all_ours, *parts.values(), *built_with(folder)]:
        bom.components.add(part)
    bom.register_dependency(bom.metadata.component, all_ours)
    for ours, items in packages:
        bom.register_dependency(ours, [parts[item] for item in items])
    # Drawn by lot elsewhere: here it follows from the packages.
    sums = "".join(checksum.content for ours in all_ours for checksum in ours.hashes)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, sums)
    return bom


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    bom = bill(folder)
    for old in folder.glob("*.cdx.json"):
        old.unlink()
    file = folder / f"lockswap-{bom.metadata.component.version}.cdx.json"
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
