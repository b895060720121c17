"""Proposals: branches that wait for a person, and what became of them."""
