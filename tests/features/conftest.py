"""The worlds of the tests of the core, for the tests of features."""

from app.conftest import company, embedder, world
from interfaces.conftest import approved, host, knowledge, proposal, run, signed, spawn, transcript
from interfaces.rules_with_checks import checked, rules

__all__ = [
    "approved", "checked", "company", "embedder", "host", "knowledge", "proposal", "rules", "run", "signed", "spawn",
    "transcript", "world",
]  # fmt: skip
