"""The pages in a real browser: nothing from outside, no error, both themes, phone and desk, mouse and keyboard."""

import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import synthetic
from browser import Browser
from lockswap.side_by_side import campaigns, page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(made_up, tmp_path_factory) -> dict:
    """Both kinds of page, of made-up campaigns."""
    folder = tmp_path_factory.mktemp("pages")
    second = synthetic.write(folder / "a-later-one-with-a-long-name", seed=2, better={"ba": 2})
    return {
        "report": made_up / "report.html",
        "side-by-side": page.write(campaigns.read([made_up, second]), folder / "side-by-side"),
    }


KINDS = pytest.mark.parametrize("kind", ["report", "side-by-side"])


@KINDS
def test_it_needs_nothing_else_and_says_no_error(browser, pages, kind):
    browser.open(pages[kind])
    browser.open_details()
    for button in browser.driver.find_elements(By.CSS_SELECTOR, "main button"):
        if button.is_displayed():
            browser.run("arguments[0].click()", button)
    assert browser.complaints() == []
    assert browser.requests() == [pages[kind].resolve().as_uri()]
    browser.run("localStorage.clear()")


@KINDS
def test_nothing_overflows_and_every_plot_is_whole(browser, pages, kind):
    browser.open(pages[kind])
    for width in (1400, 760, 420, 360):
        browser.size(width)
        assert browser.beyond_the_page() == [], width
    browser.open_details()
    for width in (360, 420, 760, 1400):
        browser.size(width)
        assert browser.beyond_the_page() == [], width
        assert browser.run("return document.querySelectorAll('figure svg').length") >= 4
        assert browser.bad_plots() == [], width


@KINDS
def test_paper_is_wide_enough(browser, pages, kind):
    # A4 lying, less its margins.
    browser.open(pages[kind], 1032, dark=True, media="print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return [...document.querySelectorAll('details')].every((part) => part.open)")
    wide = browser.run("return [...document.querySelectorAll('table')].map((t) => t.getBoundingClientRect().right)")
    assert max(wide) <= 1033 and browser.beyond_the_page() == []
    browser.media(dark=False)


@KINDS
def test_text_can_be_read_in_both_themes(browser, pages, kind):
    browser.open(pages[kind])
    browser.open_details()
    for dark in (False, True):
        browser.media(dark)
        background = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (background != "rgb(255, 255, 255)") == dark
        assert browser.low_contrast() == [], dark


def colors(browser) -> dict:
    """The colors of the page and of one plot's parts."""
    return browser.run(
        """
        const fill = (selector) => getComputedStyle(document.querySelector(selector)).fill;
        return {page: getComputedStyle(document.body).backgroundColor, text: fill("figure svg text"),
                lock: fill("figure svg [data-lock=ba] use"), paper: fill("figure svg > g > g > path")};
        """
    )


def test_the_theme_can_be_chosen_and_is_kept(browser, pages):
    browser.open(pages["report"])
    light = colors(browser)
    button = browser.driver.find_element(By.CSS_SELECTOR, "[data-toggle-theme]")
    assert button.get_attribute("aria-label") == "Switch to the dark theme"
    button.click()
    dark = colors(browser)
    assert all(light[part] != dark[part] for part in light)
    assert light["page"] == light["paper"] and dark["page"] == dark["paper"]
    # The browser hands on in the background what one page stores and the next one reads.
    limit = time.monotonic() + 600
    browser.open(pages["report"])
    while colors(browser) != dark and time.monotonic() < limit:
        browser.open(pages["report"])
    assert colors(browser) == dark
    browser.driver.find_element(By.CSS_SELECTOR, "[data-toggle-theme]").send_keys(Keys.ENTER)
    assert colors(browser) == light
    browser.run("localStorage.clear()")
    browser.open(pages["report"], dark=True)
    assert colors(browser) == dark
    # Paper is white whatever the screen is.
    browser.media(dark=True, media="print")
    assert colors(browser) == light
    browser.media(dark=False)


def column(browser, table: str, head: str) -> list[list[float]]:
    """The sort keys below a head, body by body; rows without a figure are None."""
    return browser.run(
        """
        const table = document.querySelector(arguments[0]);
        const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim() === arguments[1]);
        return [...table.tBodies].map((body) => [...body.rows].filter((row) => !row.dataset.head && row.cells[at])
          .map((row) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim())
          .map((value) => value === "" ? null : value === "Infinity" ? 1e99 : Number(value)));
        """,
        table,
        head,
    )


def button_of(browser, table: str, head: str):
    for button in browser.driver.find_elements(By.CSS_SELECTOR, f"{table} thead button"):
        if button.text.strip() == head:
            return button
    raise AssertionError(f"no button '{head}'")


def is_sorted(bodies: list[list[float]], falling: bool) -> bool:
    for values in bodies:
        known = [value for value in values if value is not None]
        # What has no figure comes last.
        if values[: len(known)] != sorted(known, reverse=falling):
            return False
    return True


@pytest.mark.parametrize(("kind", "press"), [("report", "click"), ("report", Keys.ENTER), ("side-by-side", Keys.SPACE)])
def test_tables_sort(browser, pages, kind, press):
    table, head = "table.answer", {"report": "bravo-ba", "side-by-side": "A → B"}[kind]
    browser.open(pages[kind])
    button = button_of(browser, table, head)

    def again() -> str:
        button.click() if press == "click" else button.send_keys(press)
        sorted_by = browser.driver.find_elements(By.CSS_SELECTOR, f"{table} th[aria-sort]:not([aria-sort=none])")
        assert all(th.text.strip() == head for th in sorted_by)
        return sorted_by[0].get_attribute("aria-sort") if sorted_by else "none"

    before = column(browser, table, head)
    assert sum(len(values) > 1 for values in before) >= 2 and not is_sorted(before, True)
    assert again() == "descending" and is_sorted(column(browser, table, head), True)
    assert again() == "ascending" and is_sorted(column(browser, table, head), False)
    assert again() == "none" and column(browser, table, head) == before


def test_text_columns_sort_and_heads_stay_in_place(browser, pages):
    browser.open(pages["report"])
    browser.open_details()
    button_of(browser, "#w-starving-figures table", "lock").click()
    names = browser.run(
        "const rows = [...document.querySelectorAll('#w-starving-figures tbody tr')];"
        "return rows.map((row) => row.cells[1].textContent.trim())"
    )
    assert names == sorted(names) and len(set(names)) == len(synthetic.LOCKS)
    button_of(browser, "table.answer", "threads").click()
    firsts = browser.run(
        "const bodies = [...document.querySelectorAll('#figures > .scroll tbody')];"
        "return bodies.map((body) => 'head' in body.rows[0].dataset)"
    )
    # Four workloads; one has more figures below, without a head.
    assert firsts == [True, True, False, True, True, True]


@KINDS
def test_more_figures_are_shown_when_asked_for(browser, pages, kind):
    browser.open(pages[kind])
    button = browser.driver.find_element(By.CSS_SELECTOR, "[data-more]")
    part = browser.driver.find_element(By.ID, "more-starving")
    assert button.text == "More: read-p99.9 and fairness" and button.get_attribute("aria-expanded") == "false"
    assert not part.is_displayed()
    button.send_keys(Keys.ENTER)
    assert part.is_displayed() and button.get_attribute("aria-expanded") == "true"
    rows = 2 * len(synthetic.THREADS) * {"report": 1, "side-by-side": len(synthetic.LOCKS) - 1}[kind]
    assert len(part.find_elements(By.TAG_NAME, "tr")) == rows
    button.click()
    assert not part.is_displayed()


def test_the_legend_hides_a_lock_everywhere(browser, pages):
    browser.open(pages["report"])
    shown = """
        const marks = [...document.querySelectorAll("figure svg [data-lock=ba]")];
        return marks.filter((mark) => getComputedStyle(mark).display !== "none").length;
    """
    everywhere = browser.run(shown)
    button = browser.driver.find_element(By.CSS_SELECTOR, "#w-starving .legend button[data-lock=ba]")
    button.send_keys(Keys.SPACE)
    assert everywhere > 10 and browser.run(shown) == 0
    pressed = browser.driver.find_elements(By.CSS_SELECTOR, ".legend button[data-lock=ba][aria-pressed=true]")
    assert not pressed
    button.send_keys(Keys.SPACE)
    assert browser.run(shown) == everywhere
