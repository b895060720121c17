"""Docs are taken from packages as they lie on the disk: nothing of a package is imported or run."""

import json
import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ai_lessons.errors import NotFound, Refused, StorageFailed, Unreachable
from ai_lessons.features.packages import installed
from ai_lessons.search.model_files import download_wheel
from documents_made import put_zeros
from real_world import instead, put_file

MODULE = '''"""Commands from functions."""
import os
from ._inner import hidden_home

__all__ = ["Option", "command", "hidden_home", "DEFAULT"]

raise SystemExit("nobody may run me")

DEFAULT = 3
"""How often to try."""


class Option(object):
    """An option of a command."""

    def __init__(self, name: str, required: bool = False) -> None:
        """Make it required: Option("--name", required=True)."""

    def _secret(self): ...


async def command(name: str | None = None, *, help: str = "x") -> Option:
    """Decorate a function."""


def _private():
    """Not for people."""
'''


def make_python(site: Path, version: str = "1.2.0", name: str = "Click-Like") -> None:
    """A package of Python as pip installs one."""
    files = {
        "clicklike/__init__.py": MODULE,
        "clicklike/_inner.py": 'def hidden_home():\n    """Public by its export."""\n',
        "clicklike/plain.py": "x = 1\n",
        "clicklike/broken.py": "def (:\n",
        "clicklike/tests/test_it.py": 'def test_it():\n    """No doc."""\n',
        "clicklike/docs/guide.rst": "Guide\n=====\n\nHow to.\n",
        f"click_like-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n"
            "Project-URL: Documentation, https://example.org/docs\n\n# Click-like\n\nMakes commands.\n"
        ),
    }
    files[f"click_like-{version}.dist-info/RECORD"] = (
        "".join(f"{path},,\n" for path in files) + "../../../bin/x,,\n"
    )
    for path, text in files.items():
        put_file(site / path, text)


def make_npm(top: Path, files: dict[str, str]) -> None:
    """A package of npm with these files."""
    for name, text in ({"package.json": '{"version": "1.0.0"}'} | files).items():
        put_file(top / name, text)


def test_a_package_of_python_is_found_by_any_spelling_and_its_docs_are_read(tmp_path: Path) -> None:
    site = tmp_path / ".venv/lib/python3.12/site-packages"
    make_python(site)
    places = installed.places(tmp_path, None)
    assert places[0] == site
    found = installed.find("click_LIKE", places)
    assert (found.ref, found.licence, found.origin) == (
        "pkg:pypi/Click-Like@1.2.0",
        "MIT",
        "https://example.org/docs",
    )
    pages = {page.path: page for page in found.pages()}
    assert pages.keys() == {"README.md", "clicklike/docs/guide.rst.md", "api/clicklike.md"}
    assert pages["README.md"].text == "# Click-like\n\nMakes commands.\n"
    api = pages["api/clicklike.md"]
    assert api.title == "clicklike (Click-Like 1.2.0)"
    assert api.text.startswith("# clicklike\n\nCommands from functions.\n")
    assert (
        "## Option\n\n```python\nclass Option(name: str, required: bool = False)\n```\n\nAn option of a"
        in api.text
    )
    assert (
        "```python\nasync def command(name: str | None = None, *, help: str = 'x') -> Option"
        in api.text
    )
    assert "## hidden_home" in api.text
    assert "## DEFAULT\n\nHow often to try." in api.text
    assert "_secret" not in api.text
    assert "Not for people" not in api.text


def test_the_environment_of_the_code_comes_before_the_active_one_and_before_ours(
    tmp_path: Path,
) -> None:
    code, active = tmp_path / "code/src", tmp_path / "active"
    for root in (tmp_path / "code/.venv", active):
        (root / "lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "code/.git").mkdir()
    (tmp_path / "code/node_modules").mkdir()
    code.mkdir()
    found = installed.places(code, active)
    assert [one.relative_to(tmp_path).parts[0:2] for one in found[:3]] == [
        ("code", ".venv"), ("active", "lib"), ("code", "node_modules"),
    ]  # fmt: skip
    assert installed.find("click", found).place == found[-1]
    assert (
        installed.places(code, active, beside=False) == found[:-1]
    )  # the tests run in an environment of their own


def test_a_package_of_npm_gives_readme_docs_and_types(tmp_path: Path) -> None:
    stated = {
        "version": "3.1.0",
        "license": "ISC",
        "types": "lib.d.ts",
        "repository": {"url": "https://e.org"},
    }
    types = "export function go(): void\n"
    files = {
        "package.json": json.dumps(stated),
        "README.md": "# Web\r\n",
        "docs/a.md": "# A\n",
        "lib.d.ts": types,
    }
    make_npm(tmp_path / "node_modules/@scope/web", files)
    found = installed.find("@scope/web", [tmp_path / "node_modules"])
    assert (found.ref, found.licence, found.origin) == (
        "pkg:npm/@scope/web@3.1.0",
        "ISC",
        "https://e.org",
    )
    pages = {"README.md": "# Web\n", "docs/a.md": "# A\n"}
    pages["types.md"] = f"# Types of @scope/web\n\n```typescript\n{types}\n```\n"
    assert {page.path: page.text for page in found.pages()} == pages


def test_no_path_or_link_leads_out_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the neighbour's\n")
    top, site = tmp_path / "node_modules/web", tmp_path / "site-packages"
    make_npm(top, {"package.json": '{"version": "1.0.0", "types": "../../secret.md"}'})
    (top / "docs").mkdir()
    for link in (top / "README.md", top / "docs/a.md"):
        link.symlink_to(tmp_path / "secret.md")
    make_python(site)
    with (site / "click_like-1.2.0.dist-info/RECORD").open("a") as record:
        record.write(
            f"../docs/../secret.md,,\n{tmp_path}/docs/../secret.md,,\nclicklike/docs/b.md,,\n"
        )
    (site / "clicklike/docs/b.md").symlink_to(tmp_path / "secret.md")
    for package in (installed.find("web", [top.parent]), installed.find("click-like", [site])):
        assert "neighbour" not in "".join(page.text for page in package.pages())


def test_a_package_of_npm_is_found_through_links_inside_the_code_alone(tmp_path: Path) -> None:
    modules = tmp_path / "code/packages/shop/node_modules"
    modules.mkdir(parents=True)
    (tmp_path / "code/.git").mkdir()
    for place in (tmp_path / "code/packages/inside", tmp_path / "outside"):
        make_npm(place, {"README.md": "# Read me\n"})
        (place / "docs").symlink_to("/")
        (modules / place.name).symlink_to(place)
    assert [page.path for page in installed.find("inside", [modules]).pages()] == ["README.md"]
    with pytest.raises(NotFound):
        installed.find("outside", [modules])


@pytest.mark.parametrize("named", ["METADATA", "RECORD"])
@pytest.mark.parametrize("what", ["device", "secret", "pipe"])
def test_a_package_whose_own_files_are_none_is_not_read(
    tmp_path: Path, named: str, what: str
) -> None:
    (tmp_path / "secret.md").write_text("Name: click-like\nVersion: 1\n\nthe neighbour's\n")
    site = tmp_path / "site-packages"
    make_python(site)
    file = site / "click_like-1.2.0.dist-info" / named
    file.unlink()
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero" if what == "device" else tmp_path / "secret.md")
    if named == "METADATA":
        with pytest.raises(NotFound):
            installed.find("click-like", [site])
    else:
        assert [page.path for page in installed.find("click-like", [site]).pages()] == ["README.md"]


@pytest.mark.parametrize("target", ["/dev/zero", "/", "secret.py"])
def test_code_of_a_package_is_not_read_where_a_link_stands_in_it(
    tmp_path: Path, target: str
) -> None:
    (tmp_path / "secret.py").write_text('"""The neighbour\'s."""\n')
    site = tmp_path / "site-packages"
    make_python(site)
    (site / "clicklike/more.py").symlink_to(tmp_path / target)
    pages = {page.path for page in installed.find("click-like", [site]).pages()}
    assert pages == {"README.md", "clicklike/docs/guide.rst.md"}


@pytest.mark.parametrize("name", ["nothing-here", "../etc", "a/b", "", "@x"])
def test_what_is_not_installed_and_what_is_no_name_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "node_modules").mkdir()
    with pytest.raises(NotFound):
        installed.find(name, installed.places(tmp_path, None))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 3}'])
def test_a_damaged_package_of_npm_is_none(tmp_path: Path, text: str) -> None:
    make_npm(tmp_path / "node_modules/web", {"package.json": text})
    with pytest.raises(NotFound):
        installed.find("web", [tmp_path / "node_modules"])


def test_a_page_that_is_too_long_is_cut(tmp_path: Path) -> None:
    make_npm(tmp_path / "node_modules/web", {"README.md": "word " * installed.LARGEST_PAGE})
    found = installed.find("web", [tmp_path / "node_modules"])
    (page,) = found.pages()
    assert page.text.endswith("(cut here)\n")
    assert len(page.text) < installed.LARGEST_PAGE + 20


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("../../evil", "1.0"), ("-rfile", "1.0"), ("evil @ git+https://example.org/x", "1.0"), ("evil", "-rfile"),
        ("", "1"),
    ],
)  # fmt: skip
def test_a_package_of_python_that_says_no_name_or_version_is_none(
    tmp_path: Path, name: str, version: str
) -> None:
    make_python(tmp_path, "1.2.0", name)
    told = tmp_path / "click_like-1.2.0.dist-info/METADATA"
    told.write_text(told.read_text().replace("Version: 1.2.0", f"Version: {version}"))
    with pytest.raises(NotFound):
        installed.find("click-like", [tmp_path])


NO_NAMES = (
    "./evil", "evil/", "/evil", "..", "", "-rfile", "--index-url=https://example.org", "evil @ file:evil", "file:evil",
    "evil @ git+https://example.org/evil.git#", "git+https://example.org/evil.git#egg=evil", "evil[extra]", "évil",
    "evil\n-rfile", "evil; python_version>'3'", "evil.whl ",
)  # fmt: skip
NO_VERSIONS = ("", "./evil", "1 -rfile", "1 @ file:evil", "*", "1,>0")


@pytest.mark.parametrize(
    ("name", "version"),
    [*((one, "1") for one in NO_NAMES), *(("evil", one) for one in NO_VERSIONS)],
)
def test_what_is_no_name_and_version_never_reaches_pip(
    tmp_path: Path, name: str, version: str
) -> None:
    with pytest.raises(Refused, match="no package of Python"):
        installed.fetch(name, version, lambda *_: pytest.fail("pip was asked"), tmp_path)


def pip(*commands: list[str]) -> Callable[[str, str], str]:
    """A download by these commands, which stand for `pip download`."""
    return partial(download_wheel, commands=commands)


def test_pip_is_asked_in_our_folder_for_wheels_alone_and_takes_a_name_for_nothing_else(
    tmp_path: Path,
) -> None:
    script = f'pwd > {tmp_path}/where; echo "$*" > {tmp_path}/asked; exit 1'
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(Unreachable):
        installed.fetch("Click_Like", "1.0-1", pip(["sh", "-c", script, "pip"]), into)
    assert (tmp_path / "where").read_text() == f"{into}\n"
    assert (
        (tmp_path / "asked")
        .read_text()
        .endswith(f"--only-binary :all: --dest {into} -- click-like==1.0.post1\n")
    )


def wheel(folder: Path, version: str) -> list[str]:
    """A command that takes the arguments of `pip download` and brings a wheel."""
    site = folder / "made"
    make_python(site, version)
    with zipfile.ZipFile(folder / "made.whl", "w") as archive:
        for file in site.rglob("*"):
            archive.write(file, file.relative_to(site))
    script = f'for last; do :; done; while [ "$1" != --dest ]; do shift; done; cp {folder}/made.whl "$2"/x.whl'
    return ["sh", "-c", script, "pip"]


def test_another_version_is_fetched_and_only_unpacked(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    found = installed.fetch("click-like", "0.9.0", pip(["false"], wheel(tmp_path, "0.9.0")), into)
    assert found.version == "0.9.0"
    assert "api/clicklike.md" in {page.path for page in found.pages()}
    (into / "x.whl").write_bytes(b"PK")
    with pytest.raises(StorageFailed, match="damaged"):
        installed.fetch("click-like", "0.9.0", pip(["true"]), into)


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ([65 << 20], "has more than 64 MB"),
        ([60 << 20] * 4, "more than 200 MB"),
        ([0] * 51, "more than 50 files"),
    ],
)
def test_a_wheel_that_unpacks_to_too_much_is_refused_and_nothing_of_it_is_written(
    tmp_path: Path, sizes: list[int], reason: str
) -> None:
    into = tmp_path / "into"
    into.mkdir()
    command = wheel(tmp_path, "0.9.0")
    with zipfile.ZipFile(
        tmp_path / "made.whl", "a", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        for number, size in enumerate(sizes):
            put_zeros(archive, f"clicklike/{number}.bin", size)
    # a thousandth of the files, of which a real archive of as many takes seconds to make
    limits = installed.WHEEL._replace(members=installed.WHEEL.members // 1000)
    with (
        instead("ai_lessons.features.packages.installed.WHEEL", limits),
        pytest.raises(StorageFailed, match=reason),
    ):
        installed.fetch("click-like", "0.9.0", pip(["false"], command), into)
    assert [file.name for file in into.iterdir()] == ["x.whl"]


def test_without_pip_or_network_the_reason_is_told(tmp_path: Path) -> None:
    failing = ["sh", "-c", "echo 'no route' >&2; exit 1"]
    for commands, reason in (
        ([], "no pip"),
        ([["/no/such/pip"]], "No such file"),
        ([failing], "no route"),
    ):
        with pytest.raises(Unreachable, match=reason):
            installed.fetch("click-like", "0.9.0", pip(*commands), tmp_path)
