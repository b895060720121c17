"""Code belongs to a company by the owner of its remotes, and by nothing that it says of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ai_lessons import settings
from features.company.conftest import Clone, Place
from interfaces.world import Run, run_inside
from real_world import Git, put_file

OURS = "git@forge.example:acme/shop.git"
ACME = """
[enterprise.acme]
sync_url = "git@forge.example:acme/knowledge.git"
owners = ["forge.example/acme"]
"""
TWO = (
    ACME
    + """
[enterprise.beta]
sync_url = "git@forge.example:beta/knowledge.git"
owners = ["forge.example/beta", "forge.example/acme"]
"""
)


def belongs_to(folder: Path) -> str:
    """The tier that is read in this folder beside the user's."""
    return settings.load(os.environ, folder).places.belongs_to


def note(folder: Path) -> str:
    return settings.load(os.environ, folder).places.note


def test_a_remote_of_the_company_is_enough(place: Place, clone: Clone) -> None:
    place(ACME)
    code = clone(OURS)
    (code / "src").mkdir()
    for folder in (code, code / "src"):
        chosen = settings.load(os.environ, folder)
        assert [tier.name for tier in chosen.places.reads] == ["user", "enterprise:acme"]
        assert chosen.places.reads[1].root == Path.home() / ".ai/enterprise/acme"
        assert (chosen.tier, chosen.places.note) == ("user", "")
        because = f"forge.example/acme owns the remote origin, says {settings.ADMINISTRATORS}"
        assert chosen.places.because == because


def test_other_code_and_no_code_belong_to_nobody(
    place: Place, clone: Clone, tmp_path: Path
) -> None:
    place(ACME)
    for address in ("git@forge.example:acme-evil/shop", "/srv/forge.example/acme/shop", ""):
        assert belongs_to(clone(address, name=f"code{len(address)}")) == ""
    assert belongs_to(tmp_path) == ""


def test_without_the_file_nothing_is_different(clone: Clone) -> None:
    assert belongs_to(clone(OURS)) == ""
    assert settings.load(os.environ, clone(OURS)).places.refused == ""


def test_git_is_asked_only_where_a_remote_looks_like_the_companys(
    place: Place, clone: Clone, git: Git, started: Path
) -> None:
    place(ACME)
    other, ours = clone("git@forge.example:ann/shop", name="other"), clone(OURS)
    started.unlink()
    belongs_to(other)
    assert not started.exists()
    # a helper that lives on does not ask again before something changed
    for _ in range(3):
        assert belongs_to(ours) == "enterprise:acme"
    assert started.read_text().count("\n") == 1
    git(ours, "config", "remote.origin.url", "git@forge.example:ann/shop")
    assert belongs_to(ours) == ""


@pytest.mark.parametrize("level", ["--local", "--global"])
def test_an_address_that_git_rewrites_has_to_be_the_companys_in_both_forms(
    place: Place, clone: Clone, git: Git, level: str
) -> None:
    place(ACME)
    alias, leads_away = clone("acme:shop", name="alias"), clone(OURS, name="away")
    disguised = clone("https://forge.evil/acme/shop", name="disguised")
    over_ssh = clone("https://forge.example/acme/shop", name="ssh")
    for folder in (alias, leads_away, disguised, over_ssh):
        git(folder, "config", level, "url.git@forge.example:acme/.insteadOf", "acme:")
        git(folder, "config", level, "url.git@forge.evil:.insteadOf", "git@forge.example:")
        git(folder, "config", level, "url.https://forge.example/.insteadOf", "https://forge.evil/")
        git(folder, "config", level, "url.ssh://git@forge.example/.insteadOf",
            "https://forge.example/")  # fmt: skip
    assert belongs_to(alias) == ""
    assert belongs_to(leads_away) == ""
    assert belongs_to(disguised) == ""
    assert belongs_to(over_ssh) == "enterprise:acme"


def test_what_a_clone_brings_enrols_nobody(place: Place, clone: Clone, git: Git) -> None:
    place(ACME)
    code = clone("git@forge.example:evil/shop")
    put_file(code / ".ai-lessons.toml", 'enterprise = "acme"\n')
    put_file(code / ".gitmodules", f'[submodule "x"]\n\tpath = x\n\turl = {OURS}\n')
    put_file(code / ".gitconfig", f'[remote "origin"]\n\turl = {OURS}\n')
    put_file(code / "config", f'[remote "origin"]\n\turl = {OURS}\n')
    # a folder that looks like git's own, which git takes for one if it is asked there
    bare = code / "tools"
    git(code, "init", "-q", "--bare", str(bare))
    git(bare, "config", "remote.origin.url", OURS)
    for folder in (code, bare):
        assert belongs_to(folder) == ""
        assert "enterprise:acme, which owns no remote of this code" in note(folder)
    assert not (Path.home() / ".ai/enterprise").exists()


def test_a_repository_of_another_user_enrols_nobody(
    place: Place, clone: Clone, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(ACME)
    code = clone(OURS)
    # git's own switch for tests of this
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert belongs_to(code) == ""
    git(Path.home(), "config", "--global", "safe.directory", str(code))
    assert belongs_to(code) == "enterprise:acme"


def test_linked_worktrees_and_submodules_belong_by_their_own_remotes(
    place: Place, clone: Clone, git: Git, tmp_path: Path
) -> None:
    place(ACME)
    code = clone(OURS)
    git(code, "commit", "-q", "--allow-empty", "-m", "first")
    git(code, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert belongs_to(tmp_path / "linked") == "enterprise:acme"
    outer = clone("git@forge.example:ann/all", name="outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(code), "in")
    assert belongs_to(outer / "in") == ""
    git(outer / "in", "remote", "set-url", "origin", OURS)
    assert belongs_to(outer / "in") == "enterprise:acme"
    assert belongs_to(outer) == ""


def test_origin_counts_before_other_remotes(place: Place, clone: Clone) -> None:
    place(
        ACME.replace('"forge.example/acme"', '"forge.example/acme"')
        + """
[enterprise.beta]
owners = ["forge.example/beta"]
"""
    )
    fork = clone("git@forge.example:ann/shop", name="fork", upstream=OURS)
    assert belongs_to(fork) == "enterprise:acme"
    both = clone("git@forge.example:beta/shop", name="both", upstream=OURS)
    assert belongs_to(both) == "enterprise:beta"


def test_a_project_chooses_among_companies_that_own_its_remote(place: Place, clone: Clone) -> None:
    place(TWO)
    code = clone(OURS)
    assert belongs_to(code) == ""
    assert "this code may belong to acme, beta" in note(code)
    for name in ("acme", "beta"):
        put_file(code / ".ai-lessons.toml", f'enterprise = "{name}"\n')
        assert belongs_to(code) == f"enterprise:{name}"
        assert note(code) == ""
    put_file(code / ".ai-lessons.toml", 'enterprise = "gamma"\n')
    assert belongs_to(code) == ""
    only_beta = clone("git@forge.example:beta/shop", name="of-beta")
    put_file(only_beta / ".ai-lessons.toml", 'enterprise = "acme"\n')
    assert belongs_to(only_beta) == "enterprise:beta"
    assert "enterprise:beta holds" in note(only_beta)


def test_the_innermost_group_is_the_owner(place: Place, clone: Clone) -> None:
    place(ACME + '[enterprise.lab]\nowners = ["forge.example/acme/lab"]\n')
    assert belongs_to(clone("git@forge.example:acme/lab/shop")) == "enterprise:lab"
    assert belongs_to(clone("git@forge.example:acme/sales/shop")) == "enterprise:acme"


def test_a_user_maps_owners_in_a_file_of_their_own(place: Place, clone: Clone) -> None:
    config = put_file(Path.home() / ".config/ai-lessons/config.toml",
                      '[enterprise.mine]\npath = "~/mine"\nowners = ["forge.example/acme"]\n')  # fmt: skip
    code = clone(OURS)
    assert belongs_to(code) == "enterprise:mine"
    put_file(code / ".ai-lessons.toml", 'enterprise = "other"\n')
    with config.open("a") as file:
        file.write('[enterprise.other]\npath = "~/other"\n')
    assert belongs_to(code) == "enterprise:other"
    # what the administrators state of the same owner holds
    place(ACME)
    assert belongs_to(code) == "enterprise:acme"


def test_the_tiers_say_where_the_company_comes_from(place: Place, clone: Clone, run: Run) -> None:
    place(ACME)
    code = clone(OURS)
    rows = {row["tier"]: row for row in run_inside(["admin", "tiers", "--json"], code).json}
    acme = rows["enterprise:acme"]
    assert acme["state"] == "missing"
    assert acme["why"].startswith("forge.example/acme owns the remote origin, says ")
    assert acme["hint"] == "ai-lessons admin sync"
    found = run_inside(["search", "anything"], code)
    assert "without the enterprise:acme tier" not in found.out
    assert run("admin", "tiers").code == 0
