"""The program of the tutorial in docs/rlu.md compiles, with and without checks, and prints what the page says.
The other examples there and in docs/rlu-structures.md compile."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STRUCTURES = Path(__file__).resolve().parents[2]


def main() -> int:
    build = Path(sys.argv[1])
    page = (STRUCTURES / "docs/rlu.md").read_text(encoding="utf-8")
    program = re.search(r"^```c\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    printed = re.search(r"^It prints `(.*)`\.$", page, re.MULTILINE)
    if program is None or printed is None:
        sys.exit("structures/docs/rlu.md has no program, or does not say what it prints")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tutorial.c"
        source.write_text(program[1], encoding="utf-8")
        for flags in ([], ["-DLOCKSWAP_RLU_CHECKS"]):
            words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *flags, "-I", STRUCTURES / "include", source]
            words += ["-L", build, "-llockswap_structures", "-o", Path(folder) / "tutorial"]
            subprocess.run(words, check=True)
            env = {**os.environ, "LD_LIBRARY_PATH": str(build)}
            ran = subprocess.run([Path(folder) / "tutorial"], env=env, check=True, capture_output=True, text=True)
            if ran.stdout.strip() != printed[1]:
                sys.exit(f"the program printed {ran.stdout!r}, and not {printed[1]!r}")
    lists = page[program.end() :]
    example = re.search(r"^```c\n(.*?)^```$", lists, re.DOTALL | re.MULTILINE)
    if example is None:
        sys.exit("structures/docs/rlu.md has no example of a list")
    words = ["cc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"]
    subprocess.run([*words, "-I", STRUCTURES / "include", "-"], input=example[1], text=True, check=True)
    example = re.search(
        r"^```cpp\n(.*?)^```$", (STRUCTURES / "docs/rlu-structures.md").read_text(), re.DOTALL | re.MULTILINE
    )
    if example is None:
        sys.exit("structures/docs/rlu-structures.md has no example")
    words = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]
    subprocess.run([*words, "-I", STRUCTURES / "include", "-"], input=example[1], text=True, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
