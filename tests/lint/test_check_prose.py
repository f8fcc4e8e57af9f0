"""scripts/check_prose.py: each rule of documents and comments, broken on purpose, and text that keeps all of them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CLEAN_DOCUMENT = """# A title

One sentence, which says e.g. that A. Kogan and D. Dice wrote 2.5 pages (see [below](#the-end)).
Another one has `code. Like This.` and [a link](other.md#there).

- **A lead-in.** The sentence after it is the only one.
  1. An item of a list, too.

| a | table |
| --- | --- |
| short | cells |

    a code block may be as long as it likes. It may have two sentences. {long}

```
Also. This. One. {long}
```

<img src="other.md" alt="an image">

## The end
""".format(long="x" * 200)

FAULTS = [  # line, message
    ("One sentence. A second one.", "a second sentence on the line: 'A second one"),
    ('He said "no." Then he left.', "a second sentence"),
    ("It works! `park` sleeps.", "a second sentence"),
    ("- An item. Another sentence.", "a second sentence"),
    ("word " * 40, "a line of "),
    ("| " + "cell " * 30 + "| b |", "a cell of "),
    ("A [link](nowhere.md) that is dead.", "the link 'nowhere.md' leads nowhere"),
    ("An ![image](plots/none.png) that is dead.", "the link 'plots/none.png' leads nowhere"),
    ("A [link](other.md#nowhere) to no heading.", "leads to no heading"),
    ("A [link](#nowhere) to no heading.", "leads to no heading"),
    ('<source srcset="plots/none.svg">', "the link 'plots/none.svg' leads nowhere"),
]

COMMENTS = [  # file, text, the line that is too long, its length
    ("src/a.h", "int a;  // " + "x" * 90, 1, 101),
    ("src/a.cpp", "/* This comment\n" + "x" * 99 + " */", 2, 102),
    ("a.sh", "echo # " + "x" * 114, 1, 121),
]


@pytest.fixture
def small(checkout):
    checkout.write("docs/page.md", CLEAN_DOCUMENT)
    checkout.write("docs/other.md", "# Other\n\n## There\n")
    checkout.write("src/b.h", f'// Short.\nconst char* text = "{"x" * 99} // no comment";\n')
    checkout.write("b.sh", f"echo {'x' * 120}#no-comment\n")
    for script in (checkout.root / "scripts").iterdir():  # the copies have findings of their own
        if script.is_file() and script.suffix in {".py", ".sh"}:
            script.unlink()
    return checkout


def test_clean_text_passes(small):
    result = small.check("check_prose.py")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_a_fault_in_a_document(small, line, message):
    small.write("docs/bad.md", f"# Bad\n\n{line}\n")
    result = small.check("check_prose.py")
    assert result.returncode == 1
    assert "docs/bad.md:3: " in result.stdout
    assert message in result.stdout


@pytest.mark.parametrize(("name", "text", "line", "length"), COMMENTS)
def test_a_comment_that_is_too_long(small, name, text, line, length):
    small.write(name, text + "\n")
    result = small.check("check_prose.py")
    assert result.returncode == 1
    assert f"{name}:{line}: a comment line of {length} characters" in result.stdout
