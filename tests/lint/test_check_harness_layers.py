"""scripts/check_harness_layers.py: each rule of the order of the harness's modules, broken on purpose."""

import re

import pytest


def write(checkout, **modules: str) -> None:
    """Modules by their path below the top, with __ for a slash; each package gets its __init__."""
    checkout.write("harness/lockswap/__init__.py", '"""The top."""\n')
    for name, text in modules.items():
        path = name.replace("__", "/")
        if "/" in path:
            checkout.write(f"harness/lockswap/{path.split('/')[0]}/__init__.py", '"""A folder."""\n')
        checkout.write(f"harness/lockswap/{path}.py", text)


def finding(checkout) -> str:
    result = checkout.check("check_harness_layers.py")
    assert result.returncode == 1, result.stdout
    assert len(result.stdout.splitlines()) == 1, result.stdout
    return result.stdout


def test_what_is_in_order_passes(checkout):
    write(
        checkout,
        base__text='"""No import."""\n',
        run__runner="import json\nfrom lockswap.base.text import words\n",
        cli="def run():\n    from lockswap.run import runner\n",
    )
    result = checkout.check("check_harness_layers.py")
    assert (result.returncode, result.stdout) == (0, "harness: 6 modules on 3 floors, no cycle\n")


@pytest.mark.parametrize(
    "back",
    [
        "from lockswap.run import runner\n",
        "from lockswap.run.runner import run\n",
        "import lockswap.run.runner\n",
        "from . import runner\n",
        "from .runner import run\n",
        "def late():\n    from lockswap.run import runner\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lockswap.run.runner import run\n",
    ],
)
def test_a_cycle_of_modules(checkout, back):
    write(checkout, run__runner="import os\n\nfrom lockswap.run import server\n", run__server=back)
    text = finding(checkout)
    assert "modules form a cycle: lockswap.run." in text
    line = len(back.splitlines())
    assert "harness/lockswap/run/runner.py:3:" in text or f"harness/lockswap/run/server.py:{line}:" in text


def test_a_cycle_of_packages(checkout):
    write(
        checkout,
        run__runner="from lockswap.report.page import page\n",
        report__page='"""No import."""\n',
        report__terminal="\nfrom lockswap.run import steps\n",
        run__steps='"""No import."""\n',
    )
    text = finding(checkout)
    assert "packages form a cycle: lockswap.r" in text
    assert "run/runner.py:1:" in text or "report/terminal.py:2:" in text


def tower(floors: int) -> dict[str, str]:
    above = {f"folder{n}__floor": f"from lockswap.folder{n - 1} import floor\n" for n in range(2, floors + 1)}
    return {"folder1__floor": '"""No import."""\n', **above}


def test_too_many_floors(checkout):
    write(checkout, **tower(9))
    assert checkout.check("check_harness_layers.py").returncode == 0
    write(checkout, **tower(10))
    assert "harness/lockswap/folder10/floor.py:1: on floor 10 of at most 9: lockswap.folder10.floor -> " in finding(
        checkout
    )


def test_an_import_that_leads_nowhere(checkout):
    write(checkout, cli="\nfrom lockswap.gone import anything\n")
    assert "harness/lockswap/cli.py:2: there is no module lockswap.gone" in finding(checkout)


def test_it_is_part_of_the_layers_lint(checkout):
    # The check of the C++ layers, which the same linter runs, wants its folders.
    for folder in re.findall(r"names (\S+), which is no folder", checkout.lint("layers").stdout):
        (checkout.root / folder).mkdir(parents=True, exist_ok=True)
    write(checkout, **tower(10))
    result = checkout.lint("layers")
    assert result.returncode == 1 and "on floor 10 of at most 9" in result.stdout
    write(checkout, folder10__floor="")
    result = checkout.lint("layers")
    assert result.returncode == 0, result.stdout
