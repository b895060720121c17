"""The file of the administrators: who may have written it, and which of its keys a user overrides."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ai_lessons import settings
from ai_lessons.errors import UsageError
from features.company.conftest import Clone, Place
from interfaces.world import Run, run_inside
from real_world import instead, put_file

ACME = """
[enterprise.acme]
sync_url = "git@forge.example:acme/knowledge.git"
owners = ["forge.example/acme"]
"""


def load(folder: Path | None = None) -> settings.Settings:
    return settings.load(os.environ, folder)


def of_user(text: str) -> None:
    put_file(Path.home() / ".config/ai-lessons/config.toml", text)


def test_its_values_hold_where_the_users_file_states_none(place: Place) -> None:
    place('offline = true\nmodel_dir = "models"\nrepo = "~/notes"\n'
          "[agents]\nmax_chars = 500\noutcomes = false\n[hooks]\nstart_characters = 10\n")  # fmt: skip
    found = load()
    assert found.offline
    assert found.repo == Path.home() / "notes"
    assert found.model_dir == settings.ADMINISTRATORS.parent / "models"
    assert (found.agents.max_chars, found.agents.outcomes) == (500, False)
    assert found.hooks.start_characters == 10
    of_user('offline = false\nrepo = "mine"\nmodel_dir = "/m"\n[agents]\nmax_chars = 600\n')
    found = load()
    assert not found.offline
    assert found.repo == Path.home() / ".config/ai-lessons/mine"
    assert found.model_dir == Path("/m")
    assert (found.agents.max_chars, found.agents.outcomes) == (600, False)


def test_of_a_company_in_both_files_the_users_names_the_place_alone(
    place: Place, clone: Clone
) -> None:
    place(ACME)
    of_user('[enterprise.acme]\npath = "~/elsewhere"\nsync_url = "git@forge.evil:x/y"\n'
            'owners = ["forge.example/mine"]\n')  # fmt: skip
    (tier,) = [tier for tier in load().places.known if tier.name == "enterprise:acme"]
    assert tier.root == Path.home() / "elsewhere"
    assert tier.url == "git@forge.example:acme/knowledge.git"
    assert tier.owners == ("forge.example/acme",)
    assert load(clone("git@forge.example:mine/x")).places.belongs_to == ""


@pytest.mark.parametrize("part", ["file", "folder"])
def test_a_file_that_others_may_write_does_not_count(
    place: Place, run: Run, own: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a search downloads no model
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    file = place(ACME)
    target = file if part == "file" else file.parent
    mode = target.stat().st_mode
    target.chmod(mode | 0o022)
    expected = f"{target.name} can be written by others than root"
    assert load().places.refused.endswith(f"{file} does not count here: {target.parent}/{expected}")
    assert expected in run("admin", "doctor").out
    assert expected in run("admin", "status").out
    assert expected in run("admin", "tiers").err
    assert expected in run("search", "anything").err
    target.chmod(mode)
    assert load().places.refused == ""


def test_a_file_of_another_user_does_not_count(place: Place) -> None:
    file = place(ACME)
    with instead("ai_lessons.features.company.administrators.PLACERS", frozenset({4711})):
        assert f"{file} belongs to another user than root" in load().places.refused


def test_a_link_counts_if_it_and_what_it_leads_to_do(place: Place, tmp_path: Path) -> None:
    file = place(ACME)
    real = file.rename(tmp_path / "real.toml")
    file.symlink_to(real)
    assert load().places.refused == ""
    real.chmod(0o666)
    assert f"{real} can be written by others" in load().places.refused


def test_a_list_of_signers_that_others_may_write_does_not_count(place: Place) -> None:
    file = place(ACME + 'signers = "acme.signers"\n')
    put_file(file.parent / "acme.signers", "").chmod(0o666)
    assert "acme.signers can be written by others than root" in load().places.refused


@pytest.mark.parametrize(("text", "why"), [
    ("[enterprise", "not valid TOML"),
    ("x = 'a'\n" * 2, "not valid TOML"),
    ('offline = "yes"', "offline must be true or false"),
    ("[agents]\nmax_chars = 'x'", "agents has the keys"),
    ("enterprise = 1", "enterprise must be a table"),
    ("[enterprise]\nacme = 1", "enterprise.acme must be a table"),
    ('[enterprise."../x"]\nsync_url = "y"', "has letters, digits"),
    ('[enterprise.acme]\nowners = "forge.example/acme"', "must be a list of texts"),
    ('[enterprise.acme]\nowners = ["forge.example"]', "has HOST/OWNER, not 'forge.example'"),
    ('[enterprise.acme]\nrequire = "nobody"', "must be one of: merge, forge, signed"),
    ("[enterprise.acme]\ndistinct = true", "needs enterprise.acme.require"),
    ('[enterprise.acme]\nrequire = "merge"\ndistinct = "x"', "must be true or false"),
    ("a = 1\n" + "#" * 70_000, "more than 64 KiB"),
])  # fmt: skip
def test_a_file_that_makes_no_sense_does_not_count_and_stops_nobody(
    place: Place, run: Run, own: Path, text: str, why: str
) -> None:
    place(text)
    assert why in load().places.refused
    assert load().places.known[-1].name == "user"
    assert not load().offline
    assert why in run("admin", "doctor").out


def test_a_file_that_cannot_be_read_is_named(place: Place, run: Run, own: Path) -> None:
    file = place(ACME)
    file.unlink()
    file.mkdir()
    assert "config.toml: Is a directory" in run("admin", "doctor").out


def test_a_user_file_that_makes_no_sense_is_still_an_error(place: Place) -> None:
    place(ACME)
    of_user("[enterprise.acme]\npath = 1\n")
    with pytest.raises(UsageError, match="path must be a text"):
        load()


def test_keys_that_mean_nothing_are_named_by_the_doctor(
    place: Place, clone: Clone, own: Path
) -> None:
    place(ACME + 'singers = "x"\nsigners = "acme.signers"\n')
    code = clone("git@forge.example:acme/shop")
    (Path.home() / ".ai/enterprise/acme").mkdir(parents=True)
    told = run_inside(["admin", "doctor"], code).out
    assert "unknown key 'enterprise.acme.singers' is passed over (did you mean signers?)" in told


def test_nobody_is_answered_over_http_while_the_file_does_not_count(
    place: Place, run: Run, own: Path
) -> None:
    """A gateway may stand in it, and without it whoever calls would be answered."""
    place('offline = "yes"')
    done = run("admin", "mcp", "--http", "127.0.0.1:0")
    assert (done.code, "it may state a gateway" in done.err) == (8, True), done.err


def test_a_gateway_that_administrators_state_holds(place: Place, run: Run, own: Path) -> None:
    pytest.importorskip("ai_lessons.features.gateway")
    place('[gateway]\nname_header = "X-User"\ndomain = "acme.example"\nloopback = true\n')
    done = run("admin", "mcp", "--http", "127.0.0.1:0")
    assert "nothing to serve but your own repository" in done.err
