"""Where the programs are: installed, or unpacked below build/."""

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from suite.wrong import Wrong


def own_folder(wanted: Path) -> tuple[Path, IO]:
    """A folder for the outputs of this process alone: the one that is wanted or, while another run has that, one with
    a number behind its name. It is this run's while the file stays open."""
    for number in range(1, 1000):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        folder.mkdir(parents=True, exist_ok=True)
        mark = (folder / ".in-use").open("w")
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            mark.close()
        else:
            return folder, mark
    raise Wrong(f"all folders {wanted}* are in use")


@dataclass(frozen=True)
class Place:
    build: Path
    library: Path

    @property
    def apps(self) -> Path:
        return self.build / "apps"

    @property
    def roots(self) -> list[Path]:
        """The file trees of the unpacked packages, one for the quick set, one for what the full set has besides."""
        return [root for name in ("quick", "full") if (root := self.build / f"programs/{name}/root").is_dir()]

    def program(self, name: str) -> str:
        """The path of a program. Never a shell script of a version manager: Debian's folders come before PATH."""
        folders = ("usr/bin", "usr/sbin", "bin", "sbin")
        for root in [*self.roots, Path("/")]:
            for folder in folders:
                if os.access(path := root / folder / name, os.X_OK):
                    return str(path)
        if (found := shutil.which(name)) is not None:
            return found
        raise Wrong(f"{name} is not there; './run.sh test' gets what the quick tests need, './run.sh test --full' all")

    def data(self, path: str) -> Path:
        """A file or folder of a package, by its path without the leading slash."""
        for root in [*self.roots, Path("/")]:
            if (root / path).exists():
                return root / path
        raise Wrong(f"/{path} is neither installed nor unpacked; './run.sh test --full' gets it")

    def library_file(self, path: str) -> Path:
        """A library or plug-in, by its path below the folder of libraries."""
        for root in [*self.roots, Path("/")]:
            for found in (root / "usr/lib").glob(f"*-linux-gnu/{path}"):
                return found
        raise Wrong(f"{path} is in no folder of libraries; './run.sh test --full' gets it")

    def libraries(self) -> str:
        """LD_LIBRARY_PATH for unpacked programs."""
        folders = [f for root in self.roots for top in ("usr/lib", "lib") for f in (root / top).glob("*-linux-gnu")]
        return ":".join(map(str, folders))
