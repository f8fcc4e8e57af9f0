"""Profiles: which lock hurts, which line waits for it, and which line holds it meanwhile."""
