"""Run and compare unmodified programs under swapped pthread locks."""
