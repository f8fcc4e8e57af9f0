"""Which names are suggested for one that does not exist."""

from lockswap.base.nearest import nearest, unknown


def test_what_begins_so_comes_before_what_is_spelled_alike():
    assert nearest("slo", {"solo": "solo", "slow20": "slow20"}) == ["slow20", "solo"]
    assert nearest("S", {"slow20": "slow20"}) == []  # one letter begins too much


def test_an_alias_suggests_its_name_once():
    assert nearest("pf-", {"PF-T": "pf-t", "pf-t": "pf-t", "PF-Q": "ba"}) == ["pf-t", "ba"]


def test_few_names_are_all_said():
    assert str(unknown("lock", "x", ["one", "two"])) == "no lock 'x' (there are: one, two)"
    assert str(unknown("lock", "x", [])) == "no lock 'x' (there is none)"
