"""Docs of packages at the version that a project pins: taken in one commit, found by that version, kept fresh."""

import shutil
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from ai_lessons import extensions
from ai_lessons.app import search, validation
from ai_lessons.errors import InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.features.packages import jobs
from app.world import World, query
from features.packages.test_installed import make_python
from real_world import put_file

# of another feature, which may be taken out
REFRESH = extensions.load("ai_lessons.features.intake.refreshing:refresh")

PYPROJECT = '[project]\nname = "shop"\ndependencies = ["Click_Like>=1", "absent"]\n'
PAGES = "README.md", "api/clicklike.md", "clicklike/docs/guide.rst.md"
LOCK = '[[package]]\nname = "{}"\nversion = "{}"\n\n'


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A project with a lock file, and an environment in which the package is installed."""
    folder = tmp_path / "code"
    make_python(folder / ".venv/lib/python3.12/site-packages")
    (folder / ".git").mkdir()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    lock(folder, "1.2.0")
    return folder


def lock(folder: Path, version: str) -> None:
    text = LOCK.format("click-like", version) + LOCK.format("indirect", "3.0")
    (folder / "uv.lock").write_text(text)


def upgrade(code: Path, version: str) -> None:
    site = code / ".venv/lib/python3.12/site-packages"
    shutil.rmtree(site)
    make_python(site, version)


def asked(world: World, code: Path, text: str, **more: Any) -> list[tuple[str, tuple[str, ...]]]:
    found = search.search(world.fresh(cwd=code), query(text, **more))
    return [(hit.entry.path, tuple(hit.entry.versions)) for hit in found.docs]


def test_docs_of_what_is_installed_come_in_one_commit_and_twice_change_nothing(
    world: World, code: Path
) -> None:
    done = jobs.add(world.fresh(cwd=code), ["click-like"])
    assert {one.path for one in done.written} == {f"click-like/docs/1.2.0/{page}" for page in PAGES}
    assert done.skipped == ()
    assert world.commits()[0] == "Add docs of Click-Like 1.2.0"
    text = world.read("click-like/docs/1.2.0/api/clicklike.md")
    assert "source_ref: pkg:pypi/Click-Like@1.2.0\n" in text
    assert (
        "source:\n  package: Click-Like\n  licence: MIT\n  origin: https://example.org/docs\n"
        in text
    )
    again = jobs.add(world.fresh(cwd=code), ["Click_Like==1.2.0"])
    assert (again.written, again.unchanged, again.commit) == ((), 3, None)


def test_a_page_that_was_edited_here_is_brought_up_to_date_and_keeps_its_id(
    world: World, code: Path
) -> None:
    (first,) = [
        one
        for one in jobs.add(world.fresh(cwd=code), ["click-like"]).written
        if "README" in one.path
    ]
    site = code / ".venv/lib/python3.12/site-packages"
    meta = site / "click_like-1.2.0.dist-info/METADATA"
    meta.write_text(meta.read_text().replace("Makes commands.", "Makes better commands."))
    again = jobs.add(world.fresh(cwd=code), ["click-like"])
    assert [(one.id, one.path) for one in again.written] == [(first.id, first.path)]
    assert "Makes better commands." in world.read(first.path)


def test_of_a_lock_file_come_the_packages_that_the_project_asks_for(
    world: World, code: Path
) -> None:
    done = jobs.add(world.fresh(cwd=code), [], lock="")
    assert {one.path.split("/")[0] for one in done.written} == {"click-like"}
    below = code / "src"
    below.mkdir()
    assert jobs.add(world.fresh(cwd=below), [], lock="../uv.lock").unchanged == 3
    (code / "Cargo.lock").write_text(LOCK.format("serde", "1.0.0"))
    (code / "pyproject.toml").write_text("[project\n")
    with pytest.raises(InvalidEntry, match="pyproject"):
        jobs.add(world.fresh(cwd=code), [], lock="")
    (code / "pyproject.toml").unlink()
    with_all = jobs.add(world.fresh(cwd=code), [], lock="")
    assert [(name, with_all.unchanged) for name, _ in with_all.skipped] == [("indirect", 3)]


LOCKS = {
    "uv.lock": LOCK,
    "requirements.txt": "{}=={}\n",
    "requirements-dev.txt": "{} @ file:.#=={}\n",
}


@pytest.mark.parametrize("lock_file", LOCKS)
def test_a_lock_file_of_a_cloned_project_runs_none_of_its_code(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_file: str
) -> None:
    code, ran = tmp_path / "cloned", tmp_path / "ran"
    names = [
        "./evil",
        "-rfile",
        "--requirement=file",
        "evil @ file:evil",
        "evil",
        "git+file:evil#egg=evil",
    ]
    names += [str(code / "evil"), "evil/", "pip"]
    if lock_file != "requirements.txt":  # each name that may be one asks pip
        names = [*names[:2], "pip"]
    for name in ("evil", "evil==1", "evil @ file:evil==1"):
        put_file(
            code / name / "setup.py",
            f"open({str(ran)!r}, 'w').close()\nfrom setuptools import setup\nsetup()\n",
        )
    put_file(code / "pip/__main__.py", f"open({str(ran)!r}, 'w').close()\n")
    put_file(code / "file", "./evil\n")
    put_file(code / lock_file, "".join(LOCKS[lock_file].format(name, "1") for name in names))
    monkeypatch.chdir(code)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    lock = "" if lock_file == "uv.lock" else lock_file  # without a name it is looked for
    with suppress(NotFound):  # of what cannot be read as a requirement nothing is left
        jobs.add(world.fresh(cwd=code, offline=False), [], lock=lock)
    with pytest.raises(Refused, match="no package of Python"):
        jobs.add(world.fresh(cwd=code, offline=False), ["./evil==1"])
    assert not ran.exists()


def test_the_pinned_version_answers_and_after_an_upgrade_the_new_one_beside_it(
    world: World, code: Path
) -> None:
    jobs.add(world.fresh(cwd=code), [], lock="")
    question = "how do I make an option required"
    assert asked(world, code, question)[0] == ("click-like/docs/1.2.0/api/clicklike.md", ("1.2.0",))
    upgrade(code, "2.0.0")
    (stale,) = jobs.stale(world.fresh(cwd=code).primary)
    assert (
        validation.validate(world.fresh(cwd=code), content=True).problems == ()
    )  # a machine does not make CI red
    assert "2.0.0 is installed" in stale.reason
    done = REFRESH(world.fresh(cwd=code), [], every=True)
    assert {one.path for one in done if one.changed} == {
        f"click-like/docs/2.0.0/{page}" for page in PAGES
    }
    assert list(jobs.stale(world.fresh(cwd=code).primary)) == []
    assert asked(world, code, question)[0][1] == (
        "1.2.0",
    )  # what is locked counts, not what is installed
    lock(code, "2.0.0")
    assert asked(world, code, question)[0][1] == ("2.0.0",)
    assert REFRESH(world.fresh(cwd=code), [], every=True) == ()


def test_a_real_package_answers_a_real_question(world: World, tmp_path: Path) -> None:
    done = jobs.add(world.fresh(cwd=tmp_path), ["click"])
    version = distribution("click").version
    assert f"click/docs/{version}/api/click.core.md" in {one.path for one in done.written}
    assert asked(world, tmp_path, "Option is_flag prompt")[0] == (
        f"click/docs/{version}/api/click.core.md",
        (version,),
    )


def test_what_cannot_be_had_is_told_and_nothing_is_written(world: World, tmp_path: Path) -> None:
    before = world.commits()
    cases: tuple[tuple[list[str], str | None, type[Exception]], ...] = (
        ([], None, UsageError), (["a b"], None, UsageError), (["not-installed"], None, NotFound),
        (["npm:click"], None, NotFound), (["click==0.0.1"], None, Refused), ([], "no.lock", NotFound),
        ([], "", NotFound),
    )  # fmt: skip
    for names, lock_file, error in cases:
        with pytest.raises(error):
            jobs.add(world.fresh(cwd=tmp_path), names, lock=lock_file)
        assert world.commits() == before


@pytest.mark.parametrize("named", ["uv.lock", "pyproject.toml"])
def test_a_lock_or_project_file_that_a_link_leads_out_of_the_code_to_is_not_read(
    world: World, code: Path, tmp_path: Path, named: str
) -> None:
    (code / named).rename(tmp_path / named)
    (code / named).symlink_to(tmp_path / named)
    with pytest.raises(Refused, match="by a link"):
        jobs.add(world.fresh(cwd=code), [], lock="uv.lock")


def test_a_page_that_holds_a_secret_and_a_package_that_cannot_be_had_are_left_out_and_named(
    world: World, code: Path
) -> None:
    guide = code / ".venv/lib/python3.12/site-packages/clicklike/docs/guide.rst"
    guide.write_text("key = 'AKIA" + "Q3EGPLXTNZ5WYB7M'\n")
    done = jobs.add(world.fresh(cwd=code), ["click-like", "not-installed"])
    assert len(done.written) == 2
    assert {name for name, _ in done.skipped} == {
        "not-installed",
        "Click-Like 1.2.0: clicklike/docs/guide.rst.md",
    }


def test_of_a_huge_package_so_many_pages_are_taken_and_that_is_said(
    world: World, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_PAGES", 2)
    done = jobs.add(world.fresh(cwd=code), ["click-like"])
    assert len(done.written) == 2
    assert done.skipped == (("Click-Like 1.2.0", "only 2 pages are taken"),)
