"""A knowledge base for coding agents and the people who steer them, kept as files in git."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def submodules(package: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for a package: `package.module` loads the module when it is first named."""

    def load(name: str) -> ModuleType:
        path = f"{package}.{name}"
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise  # a package that the module needs is not installed
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from error

    return load
