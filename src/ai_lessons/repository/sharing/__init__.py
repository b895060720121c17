"""Bringing clones together: fetch, merge, push, and conflicts."""
