"""Bringing an entry to another tier, and evaluating it for there."""
