"""Run and compare unmodified programs under swapped pthread locks."""

__version__ = "0.1.0"
