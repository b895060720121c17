"""What people install: the wheel and the source archive, built for real, and an editable install."""

import configparser
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build as hatchling

from ai_lessons import extensions
from ai_lessons.interfaces import mcp
from real_world import put_file

PROJECT = Path(__file__).parents[1]
FIND = (
    "import site, sys; site.addsitedir(sys.argv[1]);"
    "from ai_lessons.app.scaffold import hooks_dir, template_dir;"
    "print(template_dir()); print(hooks_dir())"
)


def shipped(folder: str) -> set[str]:
    """Every file of a data folder as git knows it, so that leftovers of an editor do not count."""
    done = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return {name.removeprefix(folder + "/") for name in done.stdout.split("\0") if name}


def python(*arguments: str | Path, cwd: Path = PROJECT) -> str:
    """Run this Python without the path that pytest gave us; its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from that archive."""
    place = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--outdir", place)
    return place


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put_into(tmp_path_factory.mktemp("site"), wheel)


def put_into(site: Path, package: Path) -> Path:
    python(
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        site,
        package,
        cwd=package.parent,
    )
    return site


@pytest.mark.parametrize(
    ("folder", "inside"), [("template-repo", "_template"), ("hooks", "_hooks")]
)
def test_the_wheel_holds_the_template_and_the_hooks_whole(
    wheel: Path, folder: str, inside: str
) -> None:
    prefix = f"ai_lessons/{inside}/"
    names = {
        name.removeprefix(prefix)
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(prefix)
    }

    assert names == shipped(folder)
    for name in names:
        assert zipfile.ZipFile(wheel).read(prefix + name) == (PROJECT / folder / name).read_bytes()


def test_the_wheel_holds_all_that_features_are_made_of(wheel: Path) -> None:
    folder = "ai_lessons/features/"
    names = {
        name.removeprefix(folder)
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(folder)
    }

    assert names == shipped("src/" + folder.rstrip("/"))
    assert any(not name.endswith(".py") for name in names)


def test_the_wheel_names_the_three_programs_and_each_can_be_imported(
    wheel: Path, installed: Path
) -> None:
    archive = zipfile.ZipFile(wheel)
    entry_points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    config = configparser.ConfigParser()
    config.read_string(archive.read(entry_points).decode())
    programs = dict(config["console_scripts"])

    assert set(programs) == {"ai-lessons", "ai-lessons-mcp", *extensions.named("programs")}
    for target in programs.values():
        module, _, function = target.partition(":")
        code = f"import sys; sys.path.insert(0, {str(installed)!r}); import {module} as m; assert callable(m.{function})"
        python("-c", code, cwd=installed)


def test_the_wheel_holds_no_tests_and_the_license(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"ai_lessons"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_installed_wheel_finds_the_template_and_its_scripts_can_run(installed: Path) -> None:
    template, hooks = map(Path, python("-c", FIND, installed, cwd=installed).split())

    assert template == installed / "ai_lessons" / "_template"
    assert os.access(template / "git" / "scripts" / "unversioned" / "lost-in-merge.sh", os.X_OK)
    assert os.access(hooks / "pre-commit", os.X_OK)


def test_an_editable_install_finds_them_beside_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv(
        "SETUPTOOLS_SCM_PRETEND_VERSION", "1.0"
    )  # a clone without history is warned about
    site = put_into(tmp_path / "site", tmp_path / hatchling.build_editable(str(tmp_path)))
    found = list(map(Path, python("-c", FIND, site, cwd=tmp_path).split()))
    assert all(
        (place / probe).exists()
        for place, probe in zip(found, ("README.md", "pre-commit"), strict=True)
    )


def test_the_source_archive_builds_everything_again(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for folder in ("template-repo", "hooks"):
        assert {f"{folder}/{name}" for name in shipped(folder)} <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_the_container_starts_the_server_with_options_that_it_has() -> None:
    text = (PROJECT / "Containerfile").read_text()
    found = re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert found
    program, *arguments = json.loads(found[1])
    given = mcp.mcp.make_context(program, arguments).params
    assert (program, given["http"]) == (mcp.PROGRAM, "0.0.0.0:8765")
    assert given["token_file"]  # without one it refuses to listen for other machines
    assert f"EXPOSE {given['http'].rpartition(':')[2]}\n" in text


def test_the_tests_that_ci_runs_with_the_newest_python_are_there() -> None:
    named = re.findall(r"tests/[\w./*]+", (PROJECT / ".ci/run").read_text())
    assert named
    assert [name for name in named if not list(PROJECT.glob(name))] == []


def test_uv_installs_with_the_settings_of_pip_and_pip_where_it_cannot(tmp_path: Path) -> None:
    fake = put_file(
        tmp_path / "path/uv/__main__.py",
        "import json, os, sys\nprint(json.dumps([sys.argv, *os.environ.items()]))",
    )
    (fake.parent / "__init__.py").touch()
    config = put_file(
        tmp_path / "pip.conf",
        "[global]\nindex-url = https://a\nquiet = 3\n[install]\nextra-index-url = b\n  c\n",
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "SSL_"))
    }
    environment |= {
        "PYTHONPATH": str(fake.parents[1]),
        "PIP_CONFIG_FILE": str(config),
        "PIP_CERT": "/certs",
    }
    command = [sys.executable, str(PROJECT / ".ci/install"), "--no-index", "absent-of-course"]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    options, *variables = json.loads(done.stdout)
    assert {"--default-index=https://a", "--index=b", "--index=c"} < set(options)
    assert options[-2:] == command[-2:]
    assert ["SSL_CERT_FILE", "/certs"] in variables

    environment["PIP_PREFER_BINARY"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.startswith(
        "pip has settings that uv has not (prefer-binary): pip installs\n"
    )
    assert (done.stdout, done.returncode) == ("", 1)  # pip knows no such package
