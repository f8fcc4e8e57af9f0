"""A profile's page in a real browser: on a phone and on a desk, sorted, and with figures that need no mouse."""

from collections import Counter
from types import SimpleNamespace

import pytest
from selenium.webdriver.common.by import By

from browser import Browser
from lockswap.profile import hints, output
from lockswap.profile.names import Function
from lockswap.profile.summary import EXCLUSIVE, Cause, Lock, Mode, Pair, Profile, Side, Unfinished, Waited

MS = 1_000_000
LONG = "std::unordered_map<std::string, std::shared_ptr<Session>>::find_or_insert"


def lock(name: str, waits: int, mean_ms: float, **more) -> Lock:
    ns = round(waits * mean_ms * MS)
    mode = Mode(waits * 4, waits, ns, waits, waits, ns, most_wait_ns=2 * ns // waits, most_hold_ns=ns // waits)
    mode.waits, mode.holds = Counter({ns // waits: waits}), Counter({ns // waits: waits})
    mode.split_holds, mode.split_ns, mode.on_processor_ns = waits, ns, ns * more.get("ran", 100) // 100
    made = Lock("mutex", name, Function("main", "server.cpp:7"), True, objects=1, threads=4)
    made.modes[EXCLUSIVE] = mode
    main = Function("main", "server.cpp:90")
    sides = [
        Side("exclusive", (Function(f"{LONG}<{name}>" if side else f"fill_{name}", f"{name}.cpp:{12 + side}"), main))
        for side in (1, 0)
    ]
    made.pairs[tuple(sides)] = Pair(*sides, waits, ns, ns * more.get("until", 99) // 100, 2 * ns // waits)
    made.timeline = [Waited(0, 10 * MS, [0, ns // 2, ns // 2, 0])]
    return made


def profile(locks: list[Lock], **more) -> Profile:
    run = SimpleNamespace(command=["server"], status=0, wall_s=1.0, cpu_s=1.0, slept=9)
    process = {"pid": 1, "parent": 0, "program": "server", "exe": "/server", "ended": True, "threads": 4, "dropped": {}}
    process |= {"counter": "tsc", "slept": 9, "started_ns": 0, "last_ns": 1000 * MS, "locks": [], "threads_now": []}
    process |= {"cost": {"pair_ns": 1, "unwind_ns": 0, "start_ns": 0}}
    return Profile(run, 10_000, locks, [], [], [process], [], **more)


LOCKS = [lock("sessions", 400, 2), lock("small", 90, 3, ran=5), lock("a_lock_with_a_long_name" * 3, 900, 0.02)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    output.write(profile(LOCKS), "lockswap profile: server\n" + 80 * "x", folder)
    return folder / "profile.html"


@pytest.mark.parametrize("width", [360, 400, 1400])
def test_nothing_overflows(browser, page, width):
    browser.open(page, width)
    assert browser.beyond_the_page() == []
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_read(browser, page, dark):
    browser.open(page, dark=dark)
    assert browser.low_contrast() == []


@pytest.mark.parametrize("width", [400, 1400])
def test_the_locks_sort(browser, page, width):
    browser.open(page, width)
    first = (
        "return [...document.querySelectorAll('table')[0].tBodies[0].rows].map((r) => r.cells[0].innerText.slice(0, 9))"
    )
    assert [name[6:] for name in browser.run(first)] == ["ses", "sma", "a_l"]
    heads = {
        one.text.split()[0]: one for one in browser.driver.find_elements(By.CSS_SELECTOR, "table:first-of-type th")
    }
    for head, order in (("acquisitions", ["a_l", "ses", "sma"]), ("acquisitions", ["sma", "ses", "a_l"])):
        heads[head].find_element(By.TAG_NAME, "button").click()
        assert [name[6:] for name in browser.run(first)] == order
    heads["lock"].find_element(By.TAG_NAME, "button").click()
    assert [name[6:] for name in browser.run(first)] == ["a_l", "ses", "sma"]


def test_a_line_leads_to_its_flame_graph(browser, page):
    browser.open(page)
    links = browser.run("return [...document.querySelectorAll('a')].map((a) => [a.innerText, a.getAttribute('href')])")
    assert ["mutex sessions", "#lock-1"] in links and ["fill_sessions sessions.cpp:12", "#flame-1"] in links
    assert browser.run("return [...document.querySelectorAll('a')].every((a) => document.querySelector(a.hash))")
    graph = browser.driver.find_element(By.ID, "flame-2").text
    assert "fill_small small.cpp:12 · 270 ms" in graph and "sessions" not in graph


def test_figures_are_there_without_the_mouse(browser, page):
    browser.open(page, 400)
    text = browser.run("return document.body.innerText")
    assert "800 ms" in text and "ran for 5 % of the time" in text
    assert "threads on average" in text and "at most" in text


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lock("m", 400, 2), "A wait for fill_m m.cpp:12 takes 2.00 ms on average"),
        (lock("m", 400, 2, ran=20), "off-CPU for 80 % of their long holds"),
        (lock("m", 400, 2, until=20), "comes after the release"),
        (lock("m", 4000, 0.02), "held shortly and often"),
        (lock("m", 4, 0.02), "little to gain"),
    ],
)
def test_each_lock_has_a_sentence(made, says):
    assert says in hints.hint(made, profile([made]))


def test_what_never_ended_is_said_first():
    made = lock("m", 400, 2)
    waiting = Unfinished(made, EXCLUSIVE, 1, 2, 5, 9, ())
    assert hints.hint(made, profile([made], unfinished=[waiting])).startswith("1 thread still waited for it at the end")


def test_the_lock_at_the_root_is_named():
    made, root = lock("m", 400, 2), lock("root", 400, 2)
    (pair,), (other,) = made.pairs.values(), root.pairs.values()
    pair.causes.append(Cause(root, other, pair.wait_ns // 2))
    assert "while it waits for mutex root itself" in hints.hint(made, profile([made, root]))
