"""What every page has: the template engine, the theme, the filters."""

import base64
import gzip
import math
import re
from collections.abc import Mapping

import jinja2
from markupsafe import Markup, escape

from lockswap.base import text
from lockswap.findings import change, claims, effects
from lockswap.report import answer
from lockswap.report.palette import THEME, LockStyle

# Colours that plots do not have: variable -> (light, dark).
_MORE = {
    "panel": ("#f6f7f9", "#191e25"),
    "line": ("#d9dde3", "#323a45"),
    "link": ("#0b5cad", "#7fbcff"),
    "good": ("#0a6350", "#63e0bd"),
    "good-bg": ("#d8f2ea", "#0f332b"),
    "bad": ("#9c2a14", "#ff9f8a"),
    "bad-bg": ("#fbe4dd", "#43201a"),
    "even": ("#535c69", "#a9b3c0"),
    "even-bg": ("#eef0f3", "#232a33"),
    "hint": ("#6f4a00", "#f0cf83"),
    "hint-bg": ("#fff7e3", "#2a2415"),
    "hint-line": ("#ecd9a3", "#51431f"),
}


# An option, with a value that belongs to it.
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?: \d+%)?")


def options(said: str) -> Markup:
    """A sentence whose options are not broken at the end of a line."""
    return Markup(_OPTION.sub(lambda found: f'<span class="option">{found[0]}</span>', str(escape(said))))


def render(template: str, styles: Mapping[str, LockStyle], /, **variables: object) -> str:
    """A page that needs nothing but itself."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lockswap.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "si": text.si,
        "times": text.times,
        "share": text.share,
        "interval": claims.interval,
        "short": lambda ratio, metric: effects.short(metric, ratio.estimate),
        "change_interval": claims.interval_of_change,
        "words": text.words,
        "tally_words": answer.tally_words,
        "options": options,
        "key": lambda value: "Infinity" if value == math.inf else f"{value:.6g}",
        "gzip": lambda data: base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode(),
    }
    environment.tests["search"] = lambda value, part: part in value
    environment.globals |= {
        "theme": THEME | _MORE,
        "styles": styles,
        "symbol": text.SYMBOL,
        "change_symbol": change.symbol,
        "quantity": text.quantity,
        "plural": text.plural,
    }
    return environment.get_template(template).render(**variables)
