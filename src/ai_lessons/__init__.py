"""A knowledge base for coding agents and the people who steer them, kept as files in git."""

from __future__ import annotations

# imports nothing: with `python -m` a module of the folder in which one stands would come first, see
# `__main__`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def submodules(package: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for a package: `package.module` loads the module when it is first named."""

    def load(name: str) -> ModuleType:
        from importlib import import_module  # noqa: PLC0415  # see above

        path = f"{package}.{name}"
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                # a package that the module needs is not installed
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from error

    return load
