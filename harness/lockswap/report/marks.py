"""Marks of a lock in a plot, which a page can show and hide."""

from matplotlib.artist import Artist

# How the id of a group of a lock's marks begins; a page makes an attribute of it, to show and hide locks.
OF_LOCK = "of-lock--"


def mark(artist: Artist, lock: str) -> None:
    """This artist shows `lock`: a page can hide it."""
    count = getattr(artist.figure, "lockswap_marks", 0) + 1
    artist.figure.lockswap_marks = count
    artist.set_gid(f"{OF_LOCK}{lock}--{count}")
