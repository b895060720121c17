"""The catalog and the index: projections of the files that can be deleted and built again.

The only importer of lancedb and fastembed; the truth is in the files. Begin with `catalog` (what
lists and shows read), then `index` (passages) and `ranking`. Imports `model`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from ai_lessons import submodules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.search import ranking as ranking
else:
    __getattr__ = submodules(__name__)


def defer(package: str) -> None:
    """Let `import package` and imports of its submodules succeed without running its `__init__` yet.

    It runs when a name of `__init__` is first used (importlib's LazyLoader runs it at the import of a submodule).
    """
    spec = None
    if package not in sys.modules:
        spec = find_spec(package)
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


@contextmanager
def imported_later(package: str) -> Iterator[None]:
    """`import package` in the block imports it when a name of it is first used.

    Outside it is imported at once.
    """
    if package in sys.modules:
        yield
        return
    module = sys.modules[package] = ModuleType(package)
    module.__dict__["__getattr__"] = lambda name: getattr(import_module(package), name)
    try:
        yield
    finally:
        del sys.modules[package]


@contextmanager
def unchecked() -> Iterator[None]:
    """Import packages without two checks, which take a fifth of the import of LanceDB.

    Models of pydantic are built when they are first used (`defer_build`), and the package
    `overrides` does not read the byte code of methods.
    """
    from pydantic import BaseModel  # noqa: PLC0415 - only the import of LanceDB needs it

    config, loaded = BaseModel.model_config, sys.modules.get("overrides")
    stub = ModuleType("overrides")
    stub.__dict__.update(
        override=lambda method: method, EnforceOverrides=type("EnforceOverrides", (), {})
    )
    BaseModel.model_config = {**config, "defer_build": True}
    sys.modules["overrides"] = stub
    try:
        yield
    finally:
        BaseModel.model_config = config
        if loaded is None:
            del sys.modules["overrides"]
        else:
            sys.modules["overrides"] = loaded
