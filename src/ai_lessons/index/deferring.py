"""Imports of packages that others import, put off until they are used."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType


def defer(package: str) -> None:
    """Let `import package` and imports of its submodules succeed without running its `__init__` yet.

    It runs when a name that only `__init__` gives is first asked for (LazyLoader runs it at the import of a submodule).
    A package that is loaded, or that is not installed, is left alone.
    """
    spec = None if package in sys.modules else find_spec(package)
    if spec is None or spec.loader is None or spec.submodule_search_locations is None:
        return
    loader, module = spec.loader, ModuleType(package)
    module.__spec__, module.__loader__, module.__file__ = spec, loader, spec.origin
    module.__package__, module.__path__ = package, list(spec.submodule_search_locations)

    def wake(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if module.__dict__.pop("__getattr__", None):
            loader.exec_module(module)
        try:
            return module.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    module.__dict__["__getattr__"] = wake
    sys.modules[package] = module
