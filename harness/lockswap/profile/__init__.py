"""Profiles: which lock hurts, who waits for it, and who holds it meanwhile."""
