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

Words in code are no words: `settle`, `whoever`.
The lock shows who waits, and the readers who come early go first.

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
    ("Who comes waits.", "write a noun"),
    ("It wakes whoever waits.", "write a noun"),
    ("The word is changed by who waits.", "'by who': write"),
    ("The lock settles that.", "'settles': write"),
    ("The word tells it.", "'tells': write"),
    ("The lock has a hand-over.", "'hand-over': write"),
]

COMMENTS = {
    "src/a.h": ("// The lock settles that.\n", "int settle_it();\n", "// " + "x" * 99 + "\n"),
    "harness/a.py": ("# The lock settles that.\n", "def settle_it(): ...\n", "# " + "x" * 120 + "\n"),
    "a.sh": ("# The lock settles that.\n", "settle_it() { :; }\n", "# " + "x" * 120 + "\n"),
}


@pytest.fixture
def small(checkout):
    checkout.write("docs/page.md", CLEAN_DOCUMENT)
    checkout.write("docs/other.md", "# Other\n\n## There\n")
    checkout.write("src/b.h", '// Comments are clean; `settle` is code.\nconst char* text = "settle // whoever";\n')
    checkout.write("harness/b.py", '"""Clean."""\n\nTEXT = "settle # whoever"\n')
    table = (ROOT / "docs/glossary.md").read_text().partition("## Forbidden words")[2]
    checkout.write("docs/glossary.md", "# Glossary\n\n## Forbidden words" + table)
    checkout.write("scripts/prose_allowed.toml", "[loose]\n[links]\n[counts]\n")
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


@pytest.mark.parametrize("name", COMMENTS)
@pytest.mark.parametrize("kind", range(3))
def test_a_fault_in_a_source(small, name, kind):
    small.write(name, "\n" + COMMENTS[name][kind])
    result = small.check("check_prose.py")
    assert result.returncode == 1
    assert f"{name}:2: " in result.stdout


def test_a_sentence_over_two_comment_lines_is_one(small):
    small.write("src/a.h", "// The lock says\n// who waits for it.\n")
    assert small.check("check_prose.py").returncode == 0
    small.write("src/a.h", "// The lock is free.\n// Who waits sees\n// that.\n")
    result = small.check("check_prose.py")
    assert "src/a.h:2: 'Who'" in result.stdout


def test_a_docstring_is_a_comment(small):
    small.write("harness/a.py", '"""Clean.\n\nIt wakes whoever waits.\n"""\n')
    assert "harness/a.py:3: " in small.check("check_prose.py").stdout


def test_a_module_with_a_forbidden_name(small):
    small.write("harness/lockswap/run/sides.py", '"""Clean."""\n')
    assert "harness/lockswap/run/sides.py:1: " in small.check("check_prose.py").stdout


def test_what_is_allowed_may_only_become_less(small):
    allowed = "[loose]\n[links]\n[counts]\n"
    small.write("src/a.h", "// It settles.\n\n// It tells.\n")
    small.write("scripts/prose_allowed.toml", allowed + '"src/a.h" = 2\n')
    assert small.check("check_prose.py").returncode == 0
    assert "src/a.h:3: " in small.check("check_prose.py", "--list").stdout
    small.write("src/a.h", "// It settles.\n\n// It tells.\n\n// It is told.\n")
    assert small.check("check_prose.py").returncode == 1
    small.write("src/a.h", "// It settles.\n")
    result = small.check("check_prose.py")
    assert result.returncode == 1
    assert "src/a.h is allowed 2 findings and has 1" in result.stdout
    small.check("check_prose.py", "--regenerate")
    assert (small.root / "scripts/prose_allowed.toml").read_text() == allowed + '"src/a.h" = 1\n'
    assert small.check("check_prose.py").returncode == 0


def test_a_dead_link_may_be_allowed_while_it_is_there(small):
    allowed = '[loose]\n[links]\n"docs/bad.md: none.md" = "a reason"\n[counts]\n'
    small.write("scripts/prose_allowed.toml", allowed)
    small.write("docs/bad.md", "A [link](none.md).\n")
    assert small.check("check_prose.py").returncode == 0
    small.write("docs/bad.md", "Text.\n")
    assert "is allowed, but not there" in small.check("check_prose.py").stdout


def test_a_glossary_without_its_table_is_a_finding(small):
    small.write("docs/glossary.md", "# Glossary\n")
    result = small.check("check_prose.py")
    assert result.returncode == 1
    assert "docs/glossary.md:1: there is no table" in result.stdout
