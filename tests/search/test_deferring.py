"""A package whose start is put off: in interpreters of their own, because an import is remembered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "heavy"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "print('started')\nfrom heavy.part import light\nanswer = 42\n"
    )
    (folder / "part.py").write_text("light = 1\n")
    return tmp_path


def run(package: Path, program: str) -> list[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), *sys.path])}
    program = f"from ai_lessons.search import defer, imported_later, unchecked\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_what_is_imported_later_starts_with_its_first_name_and_others_import_it_as_ever(
    package: Path,
) -> None:
    (package / "user.py").write_text("import heavy\ndef use(): return heavy.answer\n")
    program = (
        "import sys\nwith imported_later('heavy'):\n    import user\n"
        "print('heavy' in sys.modules)\nprint(user.use())\nfrom heavy.part import light\nprint(light, user.use())"
    )
    assert run(package, program) == ["False", "started", "42", "1 42"]


def test_lancedb_is_imported_whole_but_for_its_rest_client_which_is_still_to_be_had(
    package: Path,
) -> None:
    program = (
        "import ai_lessons.search.table, lancedb, sys\n"
        "print([name for name in sys.modules if name.startswith('lance_namespace_urllib3_client.api')])\n"
        "import lance_namespace_urllib3_client as client\nprint(client.TableApi.__name__)\n"
        "from lancedb.pydantic import LanceModel, Vector\n"
        "class Row(LanceModel):\n    v: Vector(2)\n"
        "print(Row.__name__, Row(v=[1, 2]) is not None, Row.to_arrow_schema().names)"
    )
    assert run(package, program) == ["[]", "TableApi", "Row True ['v']"]


def test_what_is_imported_unchecked_is_whole_and_later_imports_are_as_ever(package: Path) -> None:
    (package / "model.py").write_text(
        "from overrides import EnforceOverrides, override\n"
        "from pydantic import BaseModel\n"
        "class One(BaseModel):\n    number: int\n"
        "class Base(EnforceOverrides):\n    def do(self): return 1\n"
        "class Other(Base):\n    @override\n    def do(self): return 2\n"
    )
    program = (
        "import sys\nfrom pydantic import BaseModel\nbefore = dict(BaseModel.model_config)\n"
        "with unchecked():\n    from model import One, Other\n"
        "print(One.__pydantic_complete__, One(number='3').number, Other().do())\n"
        "print(BaseModel.model_config == before, 'overrides' in sys.modules)\n"
        "class Later(BaseModel):\n    number: int\n"
        "print(Later.__pydantic_complete__)"
    )
    assert run(package, program) == ["False 3 2", "True False", "True"]
