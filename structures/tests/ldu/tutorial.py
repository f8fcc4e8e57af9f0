"""The program in docs/ldu.md is a part of tutorial.cpp: its lines stand there, in their order.

tutorial.py; status 1 if one does not.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def words(text: str) -> str:
    """With one blank between words, so that lines may be broken and indented otherwise."""
    return " ".join(text.split())


def main() -> int:
    page = (HERE.parents[1] / "docs/ldu.md").read_text(encoding="utf-8")
    program = words((HERE / "tutorial.cpp").read_text(encoding="utf-8"))
    blocks = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    lines = [words(line) for line in blocks[0].splitlines() if line.strip()]
    if len(lines) < 20:
        print("docs/ldu.md: its program is gone")
        return 1
    at = 0
    for line in lines:
        if (found := program.find(line, at)) < 0:
            print(f"docs/ldu.md has a line that is not in tests/ldu/tutorial.cpp, or not there: {line}")
            return 1
        at = found + len(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
