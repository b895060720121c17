"""Several repositories read as one: the project's, the user's, an enterprise's. Each is a real one, made by git."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import editing, entries, linking, proposals, review, search
from ai_lessons.app.answers import ContextQuery, Query
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import RuleDraft
from ai_lessons.errors import AmbiguousName, StorageFailed
from ai_lessons.model import Places, TierPlace
from ai_lessons.model.entries import Kind
from ai_lessons.telling import context
from ai_lessons.telling.start import at_the_start
from app.world import ACME, LESSON, OTHER, Company, World, lesson, options, query
from real_world import Git, put_file

pytestmark = pytest.mark.usefixtures("embedder")
SHARED = "01JD3Z8QK5W7M2X9V4T6QQQ888"
THIRD = "01JD3Z8QK5W7M2X9V4T6QQQ333"
FROM_ACME = "01JD3Z8QK5W7M2X9V4T6QQQ444"


ALL = ("project", "user", ACME)


class Here(Company):
    """Where one stands, in a project of acme."""

    def put(self, tier: str, entry_id: str, title: str, *, day: int = 21, **more: str) -> None:
        text = lesson(entry_id, title, **more).replace("2026-11-21", f"2026-11-{day}")
        put_file(self.root(tier) / f"global/lessons/2026-11/{entry_id.lower()}.md", text)

    def approved(self, tier: str, title: str, text: str, *, by: str) -> None:
        """A rule with the id that two tiers state, approved by a merge of this person."""
        root, branch = self.root(tier), f"rules/R-{SHARED[-6:]}-deploy"
        self.git(root, "config", "user.name", by)
        self.git(root, "checkout", "-q", "-b", branch)
        head = f"id: {SHARED}\nkind: rule\ntitle: {title}\nrationale: because\ncreated: 2026-11-21T20:14:00Z"
        put_file(root / "global/rules/deploy.md", f"---\n{head}\n---\n{text}\n")
        self.commit(tier, "Propose rule")
        self.git(root, "checkout", "-q", "main")
        self.git(root, "merge", "-q", "--no-ff", "-m", f"Merge branch '{branch}'", branch)

    def reading(self, *names: str) -> Library:
        """The library that writes to the first of these tiers and reads all."""
        known = tuple(TierPlace(name, self.root(name)) for name in ALL)
        places = Places(tuple(one for one in known if one.name in names), known)
        return self.opened(names[0], tier=names[0], places=places)


@pytest.fixture
def here(company: Company) -> Here:
    place = Here(company.folder, company.git, company.options, company.closing)
    for tier, entry_id, colour in (
        ("project", LESSON, "blue"),
        ("user", OTHER, "red"),
        (ACME, FROM_ACME, "green"),
    ):
        place.put(tier, entry_id, f"Frobnicate widgets with the {colour} lever")
        place.commit(tier)
    return place


def found(library: Library, text: str, **more: Any) -> list[tuple[str, str]]:
    """(tier, title) of what a search finds, best first."""
    return [
        (hit.entry.tier, hit.entry.title)
        for hit in search.search(library, query(text, **more)).lessons
    ]


def test_the_best_match_comes_first_in_whichever_tier_it_lies(here: Here) -> None:
    for tier, colour in (("project", "blue"), ("user", "red"), (ACME, "green")):
        assert found(here.reading(*ALL), f"the {colour} lever for widgets")[0][0] == tier


def test_equal_results_come_nearest_first(here: Here) -> None:
    for place, tier in enumerate(ALL):
        here.put(tier, f"01JD3Z8QK5W7M2X9V4T6QQ00{9 - place}0", "Glue the gasket with care")
    assert [tier for tier, _ in found(here.reading(*ALL), "glue the gasket with care")][:3] == list(
        ALL
    )


def test_a_word_that_is_common_in_a_small_tier_weighs_as_it_does_over_all(here: Here) -> None:
    for number in range(60):
        here.put(
            "user",
            f"01JD3Z8QK5W7M2X9V4T6Q1{number:04d}",
            f"Sundry note number {number} about levers and paint",
        )
    first = found(here.reading("project", "user"), "frobnicate blue")[0]
    assert first == ("project", "Frobnicate widgets with the blue lever")


def test_a_list_over_tiers_has_the_order_of_one_repository_that_holds_everything(
    here: Here, tmp_path: Path, git: Git
) -> None:
    for number in range(6):
        here.put(
            ALL[number % 3],
            f"01JD3Z8QK5W7M2X9V4T6Q2{number:04d}",
            f"{'bcaBCA'[number]} note",
            day=10 + number,
        )
    whole = World(tmp_path / "whole", git, options(tmp_path))
    whole.root.mkdir()
    git(whole.root, "init", "-q")
    for tier in ALL:
        for file in here.root(tier).rglob("*.md"):
            whole.write(str(file.relative_to(here.root(tier))), file.read_bytes())
    library = here.reading(*ALL)
    for sort in ("newest", "created", "title", "path", "firm"):
        of_tiers, of_one = (
            entries.list_entries(one, sort=sort, limit=5).entries
            for one in (library, whole.library)
        )
        assert [summary.id for summary in of_tiers] == [summary.id for summary in of_one], sort
    whole.close()


@pytest.mark.parametrize("names", [ALL, ALL[:2], ALL[::2], ALL[1:]])
def test_no_tier_hides_or_relabels_an_entry_of_another_with_its_id(
    here: Here, names: tuple[str, ...]
) -> None:
    for tier in ALL:
        here.put(tier, LESSON, f"Frobnicate widgets with a lever of {tier}")
    library = here.reading(*names)
    listed = {
        one.title: one for one in entries.list_entries(library).entries if "a lever of" in one.title
    }
    assert {title: one.tier for title, one in listed.items()} == {
        f"Frobnicate widgets with a lever of {tier}": tier for tier in names
    }
    assert (
        len({one.id for one in listed.values()})
        == len({one.handle for one in listed.values()})
        == len(names)
    )
    first = next(tier for tier in ("user", ACME, "project") if tier in names)
    assert entries.show(library, LESSON).entry.tier == first
    for title, summary in listed.items():
        for ref in (summary.id, summary.handle):
            shown = entries.show(library, ref).entry
            assert (shown.title, shown.tier) == (title, summary.tier)
        assert (summary.tier, title) in found(library, title)


def test_a_text_that_two_tiers_have_is_told_once(here: Here) -> None:
    here.put("user", LESSON, "Frobnicate")
    here.put("project", LESSON, "Frobnicate")
    for names, tier in ((ALL, "user"), (("project",), "project")):
        summaries = entries.list_entries(here.reading(*names)).entries
        assert [summary.tier for summary in summaries if summary.title == "Frobnicate"] == [tier]


def test_the_same_bytes_in_another_project_are_another_text(here: Here) -> None:
    here.put("user", LESSON, "Frobnicate")
    text = (here.root("user") / f"global/lessons/2026-11/{LESSON.lower()}.md").read_bytes()
    put_file(here.root(ACME) / f"shop/lessons/2026-11/{LESSON.lower()}.md", text)
    summaries = entries.list_entries(here.reading("user", ACME)).entries
    titled = {
        (summary.tier, summary.project) for summary in summaries if summary.title == "Frobnicate"
    }
    assert titled == {("user", "global"), (ACME, "shop")}


@pytest.mark.parametrize("tier", ["user", ACME])
def test_a_text_that_states_the_id_by_which_another_goes_hides_nothing(
    here: Here, tier: str
) -> None:
    here.put("user", LESSON, "Frobnicate by hand")
    here.put(ACME, LESSON, "Frobnicate by machine")
    library = here.reading("user", ACME)
    guessed = {one.title: one.id for one in entries.list_entries(library).entries}[
        "Frobnicate by machine"
    ]
    assert guessed != LESSON
    here.put(tier, guessed, "Frobnicate not at all")
    for _ in range(2):
        listed = {one.title: one for one in entries.list_entries(library).entries}
        assert listed["Frobnicate by machine"].tier == ACME
        assert listed["Frobnicate not at all"].tier == tier
        assert len({one.id for one in listed.values()}) == len(listed)
        assert (
            entries.show(library, listed["Frobnicate by machine"].id).entry.title
            == "Frobnicate by machine"
        )


def test_one_handle_for_two_entries_of_different_tiers_is_ambiguous(here: Here) -> None:
    here.put("user", f"01JD3Z8QK5W7M2X9V4T7{LESSON[-6:]}", "Another one")
    library = here.reading(*ALL)
    with pytest.raises(AmbiguousName) as caught:
        entries.show(library, f"L-{LESSON[-6:]}")
    assert "(project: Frobnicate" in caught.value.hint
    assert "(user: Another one)" in caught.value.hint
    assert entries.show(library, LESSON).entry.tier == "project"


class TestWriting:
    def test_an_entry_is_changed_where_it_lies(self, here: Here) -> None:
        library = here.reading(*ALL)
        done = editing.update(library, OTHER, title="Frobnicate widgets with the crimson lever")
        assert (done.tier, done.commit is not None) == ("user", True)
        assert "crimson" in (here.root("user") / done.path).read_text()
        editing.keep(library, OTHER)
        editing.edit(library, OTHER, lambda text, _: text + "\nMore.\n")
        assert "More." in (here.root("user") / done.path).read_text()

    def test_a_link_over_tiers_stands_in_the_entry_that_it_starts_at(self, here: Here) -> None:
        library = here.reading(*ALL)
        linking.link(library, LESSON, OTHER, "related_to")
        linking.link(library, OTHER, LESSON, "related_to", 0.5)
        assert (
            OTHER
            in (here.root("project") / f"global/lessons/2026-11/{LESSON.lower()}.md").read_text()
        )
        assert [(one.target, one.weight) for one in entries.related(library, OTHER)] == [
            (LESSON, 0.5)
        ]
        linking.unlink(library, OTHER, LESSON)
        assert entries.related(library, LESSON) == ()


class TestRelations:
    def test_of_two_that_contradict_each_other_the_nearer_comes_first_and_it_is_said(
        self, here: Here
    ) -> None:
        here.put(
            "user", THIRD, "Glue gaskets hot", links="\n  - contradicts: 01JD3Z8QK5W7M2X9V4T6QQQ555"
        )
        here.put(
            "project",
            "01JD3Z8QK5W7M2X9V4T6QQQ555",
            "Never glue anything that is made of rubber or cork",
        )
        answer = search.search(here.reading(*ALL), Query("glue gaskets hot"))
        tiers = [hit.entry.tier for hit in answer.lessons]
        assert tiers.index("project") < tiers.index("user")
        said = [note for note in answer.notes if "contradict each other" in note]
        assert len(said) == 1
        assert "[L-QQQ555] of the project tier is nearer, so it counts" in said[0]

    def test_of_two_that_contradict_each_other_only_the_nearer_comes_unasked(
        self, here: Here
    ) -> None:
        here.put("user", THIRD, "Glue gaskets hot", links=f"\n  - contradicts: {LESSON}")
        found = context.context(here.reading(*ALL), ContextQuery(project="global"))
        assert THIRD not in {summary.id for summary in found.lessons}
        assert [(one.entry.id, one.reason) for one in found.left_out] == [(THIRD, "contradicts")]

    def test_what_another_tier_supersedes_makes_way(self, here: Here) -> None:
        here.put("project", THIRD, "Frobnicate no widgets", links=f"\n  - supersedes: {OTHER}")
        library = here.reading(*ALL)
        assert OTHER not in {summary.id for summary in entries.list_entries(library).entries}
        assert "user" not in {tier for tier, _ in found(library, "frobnicate widgets")}
        assert OTHER in {
            summary.id for summary in entries.list_entries(here.reading("user")).entries
        }

    def test_a_copy_of_another_tier_is_shown_once_and_the_nearer_one_is(self, here: Here) -> None:
        title = "Frobnicate widgets with the blue lever"
        here.put("user", THIRD, title, links=f"\n  - derived_from: {LESSON}")
        assert [
            tier for tier, one in found(here.reading(*ALL), "the blue lever") if one == title
        ] == ["project"]
        here.put(
            "project",
            LESSON,
            title,
            links="",
            body="A longer text scores less: " + "of this and that, " * 40,
        )
        assert [
            tier for tier, one in found(here.reading(*ALL), "the blue lever") if one == title
        ] == ["project"]

    def test_copies_of_one_original_that_is_not_read_here_are_shown_once(self, here: Here) -> None:
        for tier, entry in (("user", THIRD), (ACME, "01JD3Z8QK5W7M2X9V4T6QQQ555")):
            here.put(
                tier,
                entry,
                "Grease the blue lever",
                links="\n  - derived_from: 01JD3Z8QK5W7M2X9V4T6QQQ777",
            )
        shown = found(here.reading(*ALL), "grease the blue lever")
        assert [tier for tier, title in shown if title == "Grease the blue lever"] == ["user"]


class TestRules:
    def test_rules_of_all_tiers_come_with_who_approved_them(self, here: Here) -> None:
        for tier in ("user", ACME):
            library = here.reading(tier)
            made = proposals.suggest_rule(
                library, RuleDraft(f"Follow {tier}", "because", content="Do it.")
            )
            review.approve_rule(library, made.branch)
        found = context.context(here.reading(*ALL), ContextQuery(project="global", approvals=True))
        assert {summary.tier for summary in found.rules} == {"user", ACME}
        assert found.approvals.keys() == {summary.id for summary in found.rules}

    @pytest.mark.parametrize("tiers", [("user", ACME), ("project", "user"), ("project", ACME)])
    def test_two_rules_of_one_id_are_two_rules_each_with_where_it_comes_from(
        self, here: Here, tmp_path: Path, tiers: tuple[str, str]
    ) -> None:
        here.approved(tiers[0], "Deploy on Monday", "Ask the duty officer.", by="Ada")
        here.approved(tiers[1], "Deploy on Friday", "Ask no one.", by="Bo")
        library = here.reading(*tiers)
        served = {("Deploy on Monday", tiers[0], "Ada"), ("Deploy on Friday", tiers[1], "Bo")}
        listed = entries.list_entries(library, kinds={Kind.RULE}).entries
        assert {(rule.title, rule.tier) for rule in listed} == {triple[:2] for triple in served}
        assert len({rule.handle for rule in listed}) == 2
        hits = search.search(library, query("deploy on monday or on friday")).rules
        assert {(hit.entry.title, hit.entry.tier) for hit in hits} == {
            triple[:2] for triple in served
        }
        asked = context.context(library, ContextQuery(project="global", approvals=True))
        for told in (asked, at_the_start(library, tmp_path)):
            rules = [rule for rule in told.entries if rule.kind is Kind.RULE]
            labels = {
                (rule.title, rule.tier, told.approvals[rule.id].approved_by.split()[0])
                for rule in rules
            }
            assert labels == served
        texts = at_the_start(library, tmp_path).texts
        shown = {
            rule.title: (texts[rule.id], entries.show(library, rule.handle).body.strip())
            for rule in listed
        }
        assert shown["Deploy on Monday"] == ("Ask the duty officer.",) * 2
        assert shown["Deploy on Friday"] == ("Ask no one.",) * 2


class TestOpening:
    def test_a_user_without_a_repository_reads_the_projects_alone(self, here: Here) -> None:
        shutil.rmtree(here.root("user"))
        listing = entries.list_entries(here.reading(*ALL[:2]))
        assert [summary.tier for summary in listing.entries] == ["project"]
        assert listing.notes == ()

    def test_a_damaged_repository_of_the_user_is_an_error_at_once(self, here: Here) -> None:
        (here.root("user") / ".git/HEAD").unlink()
        with pytest.raises(StorageFailed, match="is damaged: it has no HEAD") as caught:
            here.reading(*ALL)
        assert str(here.root("user")) in str(caught.value)
        assert "clone again" in caught.value.hint

    def test_a_damaged_repository_of_an_enterprise_is_left_out_with_a_note(
        self, here: Here
    ) -> None:
        (here.root(ACME) / ".git/HEAD").unlink()
        notes = entries.list_entries(here.reading(*ALL)).notes
        assert any(note.startswith("without the enterprise:acme tier: ") for note in notes)

    def test_a_repository_of_an_enterprise_with_a_newer_program_is_read_with_a_note(
        self, here: Here
    ) -> None:
        put_file(here.root(ACME) / ".ai-lessons/config.yaml", "format: 99\n")
        notes = search.search(here.reading(*ALL), Query("frobnicate")).notes
        assert any("has format 99" in note for note in notes)


def test_a_repository_that_was_named_is_read_without_a_word_about_others(here: Here) -> None:
    place = (TierPlace("user", here.root("user")),)
    named = here.opened(
        "user", tier="user", places=Places(place, place, "enterprise:zeta", named=True)
    )
    assert entries.list_entries(named).notes == ()
