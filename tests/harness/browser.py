"""Debian's chromium, driven through selenium: what a page does in a real browser."""

import json
import os
import shutil
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service

# For each element that shows text of its own: the contrast of that text to what lies behind it, where it is too low.
_CONTRAST = """
const number = (text) => text.match(/[\\d.]+/g).map(Number);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = number(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
  if (!text || !element.checkVisibility() || element.closest("script, style")) continue;
  const style = getComputedStyle(element);
  const color = number(element.closest("svg") ? style.fill : style.color);
  if (color[3] === 0) continue;
  const [x, y] = [light(color), light(behind(element))].sort((a, b) => b - a);
  const contrast = (x + 0.05) / (y + 0.05);
  if (contrast < (text === "✗" ? 3 : 4.5)) // a mark, not a text
    found.push(`${contrast.toFixed(2)} ${element.tagName} "${text.slice(0, 40)}"`);
}
return found;
"""

# What reaches beyond the page's width, though it does not lie in a part that scrolls by itself.
_BEYOND = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")]
  .filter((element) => element.checkVisibility() && !element.closest(".scroll > *, svg *, .skip"))
  .filter((element) => element.getBoundingClientRect().right > width + 1)
  .map((element) => `${element.tagName} ${element.className} ${Math.round(element.getBoundingClientRect().right)}`);
"""

# Plots that are empty, and texts in them that are cut off.
_PLOTS = """
const bad = [];
for (const svg of document.querySelectorAll("figure svg")) {
  const frame = svg.getBoundingClientRect();
  const name = svg.getAttribute("aria-label");
  if (frame.width < 200 || frame.height < 100) bad.push(`${name}: ${frame.width} x ${frame.height}`);
  if (!svg.querySelector("[data-lock] path, [data-lock] use")) bad.push(`${name}: nothing is drawn`);
  for (const text of svg.querySelectorAll("text")) {
    const place = text.getBoundingClientRect();
    const x = Math.max(frame.left - place.left, place.right - frame.right);
    const y = Math.max(frame.top - place.top, place.bottom - frame.bottom);
    if (Math.max(x, y) > 1)
      bad.push(`${name}: "${text.textContent}" is cut off`);
  }
}
return bad;
"""


def _start(chromium: str, chromedriver: str, profile: Path) -> webdriver.Chrome:
    """On a loaded machine the driver may give up waiting for the browser: then it is asked again.

    Each attempt has a profile of its own, since the browser of the last one may still hold the last one's lock.
    """
    for number in range(4):
        try:
            return _started(chromium, chromedriver, profile / str(number))
        except WebDriverException as error:
            last = error
    raise last


def _started(chromium: str, chromedriver: str, profile: Path) -> webdriver.Chrome:
    profile.mkdir(parents=True)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",  # chromium refuses to be root with it, and the page is our own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "accept")
    service = Service(chromedriver, env=os.environ | {"HOME": str(profile)})
    return webdriver.Chrome(options=options, service=service)


class Browser:
    """One headless browser; `open` forgets what the last page said."""

    def __init__(self, profile: Path) -> None:
        chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
        assert chromium and chromedriver, "these tests need Debian's packages chromium and chromium-driver"
        self.driver = _start(chromium, chromedriver, profile)
        self.driver.set_page_load_timeout(600)
        self.driver.set_script_timeout(600)

    def close(self) -> None:
        self.driver.quit()

    def open(self, page: Path, width: int = 1400, dark: bool = False, media: str = "screen") -> None:
        self.size(width)
        self.media(dark, media)
        self.requests()
        self.complaints()
        self.driver.get(page.resolve().as_uri())

    def size(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def media(self, dark: bool, media: str = "screen") -> None:
        # Without smooth scrolling an element is where it is when it is clicked.
        features = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        emulated = [{"name": name, "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": emulated})

    def run(self, script: str, *args: object):
        return self.driver.execute_script(script, *args)

    def complaints(self) -> list[str]:
        """What the console said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call, but those that carry their data with them."""
        entries = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith("data:")]

    def low_contrast(self) -> list[str]:
        return self.run(_CONTRAST)

    def beyond_the_page(self) -> list[str]:
        wider = self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return [*([f"the page is {wider} px too wide"] if wider > 0 else []), *self.run(_BEYOND)]

    def bad_plots(self) -> list[str]:
        return self.run(_PLOTS)

    def open_details(self) -> None:
        """Unfold everything."""
        self.run("for (const part of document.querySelectorAll('details')) part.open = true")
        self.run("for (const button of document.querySelectorAll('[aria-expanded=false]')) button.click()")
