"""The worlds of the tests of the core, for the tests of features."""

from app.conftest import company, embedder, world
from interfaces.conftest import approved, host, knowledge, proposal, run, signed, spawn, transcript

__all__ = [
    "approved", "company", "embedder", "host", "knowledge", "proposal", "run", "signed", "spawn", "transcript", "world",
]  # fmt: skip
