"""A plot's SVG for the page, with nothing that a reader cannot see: matplotlib's is three times as long."""

import re
import zlib

_TAG = re.compile(r"<[^>]*>")
_REFERENCE = re.compile(r'(?:href="#|url\(#)([^")]+)')
# Marks of one kind that follow each other, such as the points of a series.
_MARKS = re.compile(r'<g((?: clip-path="[^"]*")?)>((?:<use [^>]*style="([^"]*)"/>)(?:<use [^>]*style="\3"/>)*)</g>')


def compact(svg: str, name: str) -> str:
    """`name` is the plot's own in its page: it makes the ids that are left unique there."""
    svg = re.sub(r">\s+<", "><", svg.strip())
    svg = _TAG.sub(lambda tag: _shorter(tag[0]), svg)
    svg = _short_ids(svg, f"p{zlib.crc32(name.encode()):x}-")
    svg = _MARKS.sub(lambda found: f'<g{found[1]} style="{found[3]}">{_without_style(found[2])}</g>', svg)
    while (less := re.sub(r"<g[^>]*/>|<g[^>]*></g>|<defs></defs>|<defs/>", "", svg)) != svg:
        svg = less
    # What says nothing: groups without attributes.
    while (less := re.sub(r"<g>((?:(?!</?g[ >]).)*)</g>", r"\1", svg)) != svg:
        svg = less
    # Ticks stand one by one in groups of their own.
    return re.sub(r'<g style="([^"]*)"><use ([^>]*)/></g>', r'<use style="\1" \2/>', svg)


def _shorter(tag: str) -> str:
    """Numbers of no more digits than a screen shows; no line ends, no turns by nothing."""
    tag = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(path[0].split())), tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"| id=""', "", tag)
    tag = tag.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    tag = re.sub(r"font-family: 'DejaVu Sans'; ?|stroke-dashoffset: 0; ?", "", tag)  # the page has its own font
    tag = re.sub(r' style="[^"]*"', lambda style: re.sub(r"([:;]) ", r"\1", style[0]), tag)
    if "aria-label" in tag:
        return tag
    # The shape of a mark keeps two decimals, a position one.
    digits = 2 if tag.startswith("<path id=") else 1
    number = re.compile(rf"\d+\.\d{{{digits + 1},}}")
    return number.sub(lambda found: f"{float(found[0]):.{digits}f}".rstrip("0").rstrip("."), tag)


def _short_ids(svg: str, prefix: str) -> str:
    wanted = {old: f"{prefix}{n:x}" for n, old in enumerate(dict.fromkeys(_REFERENCE.findall(svg)))}
    svg = re.sub(r' id="([^"]*)"', lambda found: f' id="{wanted[found[1]]}"' if found[1] in wanted else "", svg)
    return _REFERENCE.sub(lambda found: found[0].replace(found[1], wanted[found[1]]), svg)


def _without_style(marks: str) -> str:
    return re.sub(r' style="[^"]*"', "", marks)
