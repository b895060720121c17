"""What the core promises holds for exports and imports, too: secrets, formats, tiers, filters, kinds, broken clones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ai_lessons.app import entries, pending_rules, review, secrets
from ai_lessons.errors import UnsupportedRepository
from ai_lessons.features.transfer import chosen, everything, jobs, sites
from ai_lessons.model import config
from ai_lessons.model.entries import Kind, handle
from ai_lessons.telling.start import at_the_start
from app.test_edited_files import PATH, lesson
from app.test_secret_gate import KEY, SECRET
from app.test_tiers import SHARED, Here
from companies_world import begin
from interfaces.test_broken_repository import BROKEN
from interfaces.test_every_kind import ID, TITLE, files_of
from interfaces.world import LESSON, Run
from real_world import Git, commit_all, put_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.world import Company, World
    from companies_world import World as Companies
    from git.test_filters import Crypt
    from interfaces.test_broken_repository import Shop


def test_a_secret_that_was_saved_by_hand_is_masked_in_every_export(world: World) -> None:
    world.write(PATH, lesson(f"Use this for the robot:\n{KEY}"))
    library = world.library
    shown = entries.show(library, PATH)
    for exported in (everything.export_file(library, None).document, list(sites.bundle([shown]))):
        assert "Use this for the robot" in repr(exported)
        assert KEY not in repr(exported)


def test_an_export_that_holds_one_comes_in_only_with_its_reason(
    world: World, tmp_path: Path
) -> None:
    world.add("A token", SECRET, allow_secrets=[(secrets.fingerprint(KEY), "revoked")])
    file = tmp_path / "all.json"
    everything.export_file(world.library, file)
    text = file.read_text()
    shutil.rmtree(world.root / "global")
    world.commit()
    file.write_text(text.replace("allow_secrets", "allow_nothing"))
    done = jobs.import_files(world.fresh(), [file], "groove")
    assert not done.written
    assert "GitLab" in done.skipped[0][1]
    file.write_text(text)
    assert [one.title for one in jobs.import_files(world.fresh(), [file], "groove").written] == [
        "A token"
    ]


def test_nothing_is_imported_into_a_repository_of_a_newer_program(
    world: World, tmp_path: Path
) -> None:
    newer = f"format: {config.FORMAT + 1}\n"
    world.committed(".ai-lessons/config.yaml", newer, message="a newer program was here")
    (tmp_path / "doc.md").write_text("# Doc\n")
    with pytest.raises(UnsupportedRepository, match="this program knows 1"):
        jobs.import_files(world.library, [tmp_path / "doc.md"], "markdown")
    assert world.status() == ""
    assert world.commits()[0] == "a newer program was here"


def test_statements_that_came_in_together_are_told_in_the_order_of_their_file(
    world: World, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    stated = [f"Never write thing {number} by hand." for number in range(8)]
    (tmp_path / "AGENTS.md").write_text(
        "# Things\n\n" + "".join(f"- {words}\n" for words in stated)
    )
    jobs.import_files(
        world.library, [tmp_path / "AGENTS.md"], "agents-md", project="shop", split_up=True
    )
    for pending in pending_rules.pending_rules(world.library):
        review.approve_rule(world.library, pending.id)
    context = at_the_start(world.fresh(cwd=shop), shop, "")
    assert [entry.title for entry in context.entries] == stated


@pytest.mark.parametrize("same", [True, False])
def test_a_tier_is_exported_with_all_that_it_has_as_it_is_called_there(
    company: Company, tmp_path: Path, same: bool
) -> None:
    here = Here(company.folder, company.git, company.options, company.closing)
    here.approved("user", "Deploy on Monday", "Ask the duty officer.", by="Ada")
    if same:
        here.approved("project", "Deploy on Monday", "Ask the duty officer.", by="Bo")
    else:
        here.approved("project", "Deploy on Friday", "Ask no one.", by="Bo")
    library = here.reading("project", "user")
    assert entries.show(library, SHARED).entry.tier == "user"
    file = tmp_path / "AGENTS.md"
    everything.export_file(library, file, "agents-md")
    day, text = ("Monday", "Ask the duty officer.") if same else ("Friday", "Ask no one.")
    assert f"Deploy on {day} (R-{SHARED[-6:]})" in file.read_text()
    assert text in file.read_text()
    (skill,) = chosen.skills(library).values()
    assert text.encode() in b"".join(skill.values())
    document = everything.export_file(library, None).document
    assert document is not None
    assert text in str(document["files"])
    assert entries.show(library, SHARED).entry.tier == "user"


@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_an_entry_of_any_kind_goes_out_and_comes_into_another_repository(
    run: Run, knowledge: Path, git: Git, tmp_path: Path, kind: Kind
) -> None:
    name = handle(kind, ID)
    git(knowledge, "switch", "-q", "-c", f"rules/{name}")
    for path, text in files_of(kind).items():
        put_file(knowledge / path, text)
    commit_all(git, knowledge, "An entry")
    git(knowledge, "switch", "-q", "main")
    git(knowledge, "merge", "-q", "--no-ff", "-m", f"Merge branch 'rules/{name}'", f"rules/{name}")
    file, other = tmp_path / "export.json", tmp_path / "other"
    counts = run("admin", "export", file, "--json").json
    assert counts[kind.folder] == len(run("recall", "list", "--type", kind, "--json").json) > 0
    assert run("admin", "init", other).code == 0
    imported = run("--repo", other, "admin", "import", file, "--json").json
    came = imported["queued" if kind is Kind.RULE else "written"]
    assert ID in {entry["id"] for entry in came}
    if kind is not Kind.RULE:
        assert TITLE in run("--repo", other, "recall", "show", name).out


def test_a_hidden_rule_is_exported_as_its_filter_gives_it(crypt: Crypt, tmp_path: Path) -> None:
    crypt.approved()
    crypt("admin", "export", str(tmp_path / "A.md"), "--to", "agents-md")
    assert "Ask PENGUIN." in (tmp_path / "A.md").read_text()


@pytest.mark.parametrize("prepare", BROKEN.values(), ids=BROKEN)
def test_what_is_in_force_is_exported_from_a_broken_repository(
    shop: Shop, prepare: Callable[[Shop], object]
) -> None:
    prepare(shop)
    assert shop.run("admin", "export", "AGENTS.md", "--to", "agents-md").code == 0
    assert "GOODMARK" in Path("AGENTS.md").read_text()


def test_a_bundle_keeps_an_entry_as_unsure_as_what_it_comes_from(
    three: Path, run: Run, tmp_path: Path, git: Git
) -> None:
    doubted = ("--confidence", "low", "--source", "hearsay")
    assert run("contribute", "update", LESSON, *doubted).code == 0
    file, other = tmp_path / "bundle.json", tmp_path / "other"
    fields = ("--title", "Derived", "--content", "Seen.", "--project", "alone")
    link = ("--confidence", "high", "--link", f"derived_from={LESSON}")
    assert run("add", *fields, *link).code == 0
    assert run("admin", "export", str(file), "--project", "alone").code == 0
    git(tmp_path, "init", "-q", str(other))
    assert run("--repo", str(other), "admin", "import", str(file)).code == 0
    (imported,) = run("--repo", str(other), "list", "--json").json
    assert (imported["confidence"], imported["source"]) == ("low", "hearsay")


def test_an_export_of_a_company_keeps_where_its_lessons_come_from(companies: Companies) -> None:
    ann = companies.ann
    original = ann.handle("shop", "shop frobnicates")
    proposed = ann.promote("shop", original, "enterprise:acme")["proposal"]["handle"]
    companies.approve("acme", proposed)
    ann.ours("acme", "--repo", ".", "contribute", "feedback", proposed, "helpful")
    ann.ours("acme", "--repo", ".", "admin", "export", "../acme.json")
    begin(ann, "again")
    done = ann.data("again", "--repo", ".", "admin", "import", "../acme.json")
    assert len(done["written"]) == 3
    ann.ours("again", "--repo", ".", "admin", "export", "../again.json")
    first, second = (
        json.loads((ann.home / name).read_text()) for name in ("acme.json", "again.json")
    )
    assert first | {"exported_at": ""} == second | {"exported_at": ""}
    why = ann.ours("again", "--repo", ".", "recall", "why", proposed).out
    assert "source: tested; promoted from project:shop" in why
    assert "helpful 1 | last used" in why
