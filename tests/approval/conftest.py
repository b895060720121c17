"""The fixtures of the tests of git: repositories with people at them."""

from git.conftest import be, desk, mine, opened, store

__all__ = ("be", "desk", "mine", "opened", "store")
