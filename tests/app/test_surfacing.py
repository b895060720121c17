import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import editing, entries, health, history_of_entries, search
from ai_lessons.app.answers import Answer, ContextQuery, Query, Shown
from ai_lessons.app.written import LessonDraft
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import derived_id
from ai_lessons.telling import context as context_job
from app.world import DOC, LESSON, OTHER, CountingEmbedder, World, lesson, query

RULE = "01JD3Z8QK5W7M2X9V4T6RRRR22"
SECOND = "01JD3Z8QK5W7M2X9V4T6SSSS33"
PLANTED = "01JD3Z8QK5W7M2X9V4T6PPPP44"
PATH = "jira/rules/sandbox-first-rrrr22.md"
PUT, NIGHT = "PUT replaces the workflow", "The sandbox resets at night"
BODY = "Try the change in the sandbox first.\n"


QUESTIONS = {"planted words": "zanzibar", "words in force": "a change in the sandbox"}


def rule(title: str = "Sandbox first", body: str = BODY, entry_id: str = RULE, **more: str) -> str:
    extra = "".join(f"{key}: {value}\n" for key, value in more.items())
    return (
        f"---\nid: {entry_id}\nkind: rule\ntitle: {title}\nrationale: a bad change costs everybody a day\n"
        f"tags:\n  - workflows\n{extra}created: 2026-11-21T20:14:00Z\n---\n{body}"
    )


ZANZIBAR = "Ask zanzibar before every change in the sandbox.\n"
PLANT = rule("Zanzibar rule", ZANZIBAR, PLANTED, tags="[zanzibar-tag]").replace(
    "tags:\n  - workflows\n", ""
)
EDITED = rule("Sandbox first, or zanzibar", ZANZIBAR)


def merge(
    world: World,
    path: str = PATH,
    text: str | None = None,
    entry_id: str = RULE,
    into: str = "main",
) -> None:
    """What a person does with a proposal: the text (None: the removal) on its own branch, then `git merge`."""
    branch = f"rules/R-{entry_id[-6:]}-x"
    world.git(world.root, "switch", "-q", "-c", branch, into)
    if text is None:
        world.git(world.root, "rm", "-q", path)
    else:
        world.write(path, text)
        world.git(world.root, "add", path)
    world.git(
        world.root,
        "-c",
        "user.name=Agent",
        "-c",
        "user.email=agent@x",
        "commit",
        "-qm",
        "Propose rule: x",
    )
    world.git(world.root, "switch", "-q", into)
    world.git(world.root, "merge", "-q", "--no-ff", "--no-edit", branch)
    world.git(world.root, "branch", "-qD", branch)


@pytest.fixture
def approved(world: World, embedder: CountingEmbedder) -> World:
    """A repository with two lessons and a rule in force, and nothing uncommitted."""
    world.write("jira/lessons/2026-11/put.md", lesson(LESSON))
    world.committed(
        "jira/lessons/2026-11/sandbox.md", lesson(OTHER, NIGHT, "Every change is lost.\n")
    )
    merge(world, text=rule())
    return world


def rules_of(answer: Answer) -> list[str]:
    return [hit.entry.title for hit in answer.rules]


def shown(world: World, ref: str = RULE) -> Shown:
    return entries.show(world.library, ref)


def everything(world: World) -> dict[str, Any]:
    """All that a reader can get out of the library."""
    library = world.fresh()
    answers: dict[str, Any] = {}
    for name, text in QUESTIONS.items():
        answer = search.search(library, question(text))
        answers[name] = [answer.rules, answer.scripts, answer.lessons, answer.docs]
        answers[f"{name}, rules"] = search.search(
            library, question(text, kinds=frozenset({Kind.RULE}))
        ).rules
    answers["list"] = entries.list_entries(library, status=None).entries
    answers["counts"] = [
        entries.tags(library),
        entries.projects(library),
        entries.versions(library),
    ]
    answers["complete"] = [entries.complete(library, "", what) for what in ("id", "tag", "project")]
    known = LESSON in {summary.id for summary in answers["list"]}
    answers["related"] = entries.related(library, LESSON, 3) if known else ()
    answers["context"] = [
        context_job.context(library, ContextQuery(project="jira")),
        context_job.context(
            library, ContextQuery(context_tags={"zanzibar-tag": None, "workflows": None})
        ),
        context_job.context(library, ContextQuery(query="zanzibar sandbox", project="jira")),
        context_job.context(library, ContextQuery(paths=["zanzibar.py"])),
    ]
    rule_shown = entries.show(library, RULE)
    answers["show"] = [rule_shown.body, rule_shown.raw, rule_shown.frontmatter, rule_shown.entry]
    answers["fingerprints"] = library.primary.catalog.fingerprints()
    return answers


def question(text: str, **more: Any) -> Query:
    return query(text, context_tags={"workflows": None, "zanzibar-tag": None}, **more)


def about_rules(answers: dict[str, Any]) -> str:
    """The part of all answers that says anything of rules, as text."""
    rules = [summary for summary in answers["list"] if summary.kind is Kind.RULE]
    searches = [[hit.entry._replace(score=None) for hit in answers[name][0]] for name in QUESTIONS]
    contexts = [context.rules for context in answers["context"]]
    return repr([rules, searches, contexts, answers["show"]])


# --- no side door: what somebody does, none of which may change what is in force ---


def edit_in_the_tree(world: World) -> None:
    world.write(PATH, EDITED)


def edit_committed(world: World) -> None:
    world.committed(PATH, EDITED)


def removed_in_the_tree(world: World) -> None:
    (world.root / PATH).unlink()


def removed_by_a_commit(world: World) -> None:
    (world.root / PATH).unlink()
    world.commit()


def moved_to_another_project(world: World) -> None:
    (world.root / "other/rules").mkdir(parents=True)
    world.git(world.root, "mv", PATH, "other/rules/x.md")
    world.commit()


def new_rule_committed(world: World) -> None:
    world.committed("jira/rules/z.md", PLANT)


def another_branch_checked_out(world: World) -> None:
    world.git(world.root, "switch", "-q", "-c", "feature")
    edit_committed(world)
    new_rule_committed(world)


def merged_into_another_branch(world: World) -> None:
    world.git(world.root, "branch", "evil")
    world.git(world.root, "switch", "-q", "evil")
    merge(world, "jira/rules/z.md", PLANT, PLANTED, into="evil")


def settings_that_name_another_branch(world: World) -> None:
    merged_into_another_branch(world)
    world.git(world.root, "switch", "-q", "main")
    world.write(".ai-lessons/config.yaml", "approval:\n  branch: evil\n")


def committed_settings_that_name_another_branch(world: World) -> None:
    settings_that_name_another_branch(world)
    world.commit()


def files_that_say_they_are_rules(world: World) -> None:
    world.write("jira/docs/unversioned/z.md", PLANT)
    world.write("zanzibar/notes.md", "---\nkind: rule\ntags: [zanzibar-tag]\n---\n# Zanzibar\n")
    world.write(
        "jira/scripts/unversioned/z.md", "---\nkind: rule\ntitle: Zanzibar\n---\nzanzibar\n"
    )


def rule_merged_outside_the_rules(world: World) -> None:
    merge(world, "jira/docs/unversioned/z.md", PLANT, PLANTED)


def another_file_with_the_id(world: World) -> None:
    world.write("jira/lessons/2026-11/z.md", lesson(RULE, "Zanzibar lesson", "zanzibar\n"))


def symlink_in_place_of_the_rule(world: World) -> None:
    outside = world.root.parent / "outside.md"
    outside.write_text(EDITED)
    (world.root / PATH).unlink()
    (world.root / PATH).symlink_to(outside)


def folder_in_place_of_the_rule(world: World) -> None:
    (world.root / PATH).unlink()
    world.write(f"{PATH}/z.md", PLANT)


DOORS: tuple[Callable[[World], object], ...] = (
    edit_in_the_tree, edit_committed, removed_in_the_tree, removed_by_a_commit, moved_to_another_project,
    lambda world: world.write("jira/rules/z.md", PLANT), new_rule_committed, another_branch_checked_out,
    merged_into_another_branch, settings_that_name_another_branch, committed_settings_that_name_another_branch,
    files_that_say_they_are_rules, rule_merged_outside_the_rules, another_file_with_the_id,
    symlink_in_place_of_the_rule, folder_in_place_of_the_rule,
)  # fmt: skip


@pytest.mark.parametrize("part", range(3))
def test_nothing_but_an_approval_changes_the_rules_in_force(
    approved: World, part: int, tmp_path: Path
) -> None:
    before = about_rules(everything(approved))
    assert "Sandbox first" in before
    approved.close()
    untouched = shutil.copytree(approved.root, tmp_path / "untouched")
    for door in DOORS[part::3]:
        approved.close()
        shutil.rmtree(approved.root)
        shutil.copytree(untouched, approved.root, symlinks=True)
        door(approved)
        after = everything(approved)
        # a lesson that states the id of the rule is a lesson of another id
        assert ("zanzibar" in repr(after).lower()) is (door is another_file_with_the_id), door
        assert about_rules(after) == before, door
    approved.close()
    for name in ("catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"):
        (approved.root / ".git/ai-lessons" / name).unlink(missing_ok=True)
    assert about_rules(everything(approved)) == about_rules(
        after
    )  # and what is built anew says the same


def test_a_lesson_that_is_turned_into_a_rule_leaves_every_answer(approved: World) -> None:
    before = about_rules(everything(approved))
    turned = lesson(LESSON, "Zanzibar", "zanzibar\n").replace(
        "kind: lesson", "kind: rule\nrationale: none"
    )
    for put in (approved.write, approved.committed):
        put("jira/lessons/2026-11/put.md", turned)
        after = everything(approved)
        assert "zanzibar" not in repr(after).lower()
        assert LESSON not in repr(after)
        assert about_rules(after) == before


# --- what is in force ---


def test_the_text_in_force_is_served_byte_for_byte(approved: World) -> None:
    bodies = (
        "ends without a line end",
        "  blanks at both ends  \n\n\n",
        "---\nnot: frontmatter\n---\n",
    )
    texts = [rule(body=body) for body in bodies]
    for number, text in enumerate((*texts, rule(body="línea — 線\ttab\n").replace("\n", "\r\n"))):
        entry_id, path = SECOND[:-1] + str(number), f"jira/rules/other-{number}.md"
        approved_text = text.replace(RULE, entry_id)
        merge(approved, path, approved_text, entry_id)
        approved.write(path, EDITED.replace(RULE, entry_id))
        assert shown(approved, entry_id).raw == approved_text
        approved.git(approved.root, "checkout", "-q", path)


def test_an_approved_edit_takes_over_everywhere(approved: World) -> None:
    assert rules_of(approved.search("sandbox change", project="jira")) == ["Sandbox first"]
    merge(approved, text=rule("Sandbox always", "Use the playground.\n"))
    assert shown(approved).body == "Use the playground.\n"
    assert rules_of(approved.search("playground", project="jira")) == ["Sandbox always"]
    assert approved.titles(kinds=[Kind.RULE]) == ["Sandbox always"]


def test_rules_are_listed_counted_completed_and_related_like_everything_else(
    approved: World,
) -> None:
    merge(
        approved,
        "global/rules/x.md",
        rule("Second", entry_id=SECOND, links=f"\n  - related_to: {LESSON}"),
        SECOND,
    )
    library = approved.library
    assert {count.name: count.by_kind.get("rule") for count in entries.tags(library)} == {
        "workflows": 2
    }
    assert ("R-RRRR22", "Sandbox first") in entries.complete(library, "R-", "id")
    assert [one.entry.title for one in entries.related(library, LESSON) if one.entry] == ["Second"]
    assert [one.entry.title for one in shown(approved, SECOND).related if one.entry] == [
        "PUT replaces the workflow"
    ]
    assert shown(approved, PATH).entry.id == RULE
    assert health.stats(approved.library).entries["rule"] == 2


def test_an_approved_text_that_cannot_be_read_is_left_out_and_named(approved: World) -> None:
    path = "jira/rules/bad.md"
    merge(approved, path, "---\ntags: &a [x]\nlinks: *a\n---\nbad\n", derived_id(path))
    listing = entries.list_entries(approved.library, kinds=[Kind.RULE])
    assert [summary.title for summary in listing.entries] == ["Sandbox first"]
    assert [note for note in listing.notes if "cannot be read, so the rule is left out" in note]


def test_the_branch_that_the_settings_name_is_followed_where_there_is_no_main(world: World) -> None:
    world.git(world.root, "branch", "-m", "trunk")
    world.committed(".ai-lessons/config.yaml", "approval:\n  branch: trunk\n")
    merge(world, text=rule(), into="trunk")
    assert world.titles() == ["Sandbox first"]
    # from now on it is trunk, whatever the file says and whatever branches appear
    world.git(world.root, "switch", "-q", "-c", "main")
    merge(world, "jira/rules/z.md", PLANT, PLANTED)
    world.write(".ai-lessons/config.yaml", "approval:\n  branch: main\n")
    assert world.titles() == ["Sandbox first"]


def test_the_clone_itself_may_name_the_branch(approved: World) -> None:
    committed_settings_that_name_another_branch(approved)
    (note,) = entries.list_entries(approved.library).notes
    assert "git config ai-lessons.approvalBranch evil" in note
    assert approved.titles(kinds=[Kind.RULE]) == ["Sandbox first"]
    approved.git(approved.root, "config", "ai-lessons.approvalBranch", "evil")
    assert sorted(approved.titles(kinds=[Kind.RULE])) == ["Sandbox first", "Zanzibar rule"]
    approved.git(approved.root, "config", "ai-lessons.approvalBranch", "gone")
    listing = entries.list_entries(approved.library, kinds=[Kind.RULE])
    note = "there is no approval branch gone here, so no rule is in force: git config ai-lessons.approvalBranch BRANCH"
    assert (listing.entries, listing.notes) == ((), (note,))
    assert entries.list_entries(approved.fresh()).notes == listing.notes


# --- alarms ---


def test_rewritten_history_is_told_with_every_answer_until_a_person_looks(approved: World) -> None:
    assert entries.list_entries(approved.library).notes == ()
    approved.git(approved.root, "reset", "-q", "--hard", "main~1")
    approved.committed("jira/lessons/2026-11/more.md", lesson(DOC, "More"))
    (note,) = entries.list_entries(approved.library).notes
    assert "main was rewritten" in note
    assert note in entries.list_entries(approved.fresh()).notes
    assert note in approved.search("sandbox").notes
    assert note in context_job.context(approved.library, ContextQuery(project="jira")).notes


# --- surfacing ---


def test_a_rule_that_answers_is_found_anywhere_and_stands_first(approved: World) -> None:
    for about in ("Sandbox first", "change in the sandbox"):
        for more in ({}, {"context_tags": {"other": None}}, {"project": "jira"}):
            answer = approved.search(about, **more)
            assert rules_of(answer) == ["Sandbox first"]
            assert answer.hits[0].entry.kind is Kind.RULE
            assert not answer.weak
    assert rules_of(approved.search("change in the sandbox", project="shop")) == []
    lessons = approved.search(
        "change in the sandbox", kinds=frozenset({Kind.LESSON}), project="jira"
    )
    assert (lessons.rules, len(lessons.lessons)) == ((), 2)


def test_a_rule_that_is_no_answer_comes_along_for_a_link_of_a_result_near_the_best(
    approved: World,
) -> None:
    assert rules_of(approved.search("PUT replaces", limit=1)) == []
    assert rules_of(approved.search("nothing of the kind", project="jira")) == []
    approved.write("jira/lessons/2026-11/put.md", lesson(LESSON, links=f"\n  - related_to: {RULE}"))
    assert rules_of(approved.search("PUT replaces", limit=1)) == ["Sandbox first"]
    for n in range(3):
        approved.write(
            f"jira/docs/{n}.md",
            f"# Orchard {n}\n\nApples rot where the workflow of the orchard is wet.\n",
        )
    assert rules_of(approved.search("why do apples rot in a wet orchard", limit=20)) == []


def test_a_link_written_in_the_rule_brings_it_too(approved: World) -> None:
    merge(approved, text=rule(links=f"\n  - derived_from: {LESSON}"))
    assert rules_of(approved.search("PUT replaces", limit=1)) == ["Sandbox first"]
    assert rules_of(approved.search("resets at night", limit=1)) == []


def test_rules_come_beside_other_results_and_are_at_most_five(approved: World) -> None:
    for n in range(7):
        entry_id = SECOND[:-1] + str(n)
        merge(approved, f"jira/rules/r{n}.md", rule(f"Sandbox {n}", entry_id=entry_id), entry_id)
    answer = approved.search("change in the sandbox", project="jira", limit=2)
    assert len(answer.rules) == 5
    assert len(answer.lessons) == 2
    assert all(hit.entry.snippet and hit.entry.score for hit in answer.rules)
    explained = approved.search(
        "change in the sandbox", project="jira", limit=1, explain=True
    ).rules[0]
    assert explained.entry.score == pytest.approx(
        explained.factors["match"] * explained.factors["context"]
    )


def test_rules_of_other_projects_stay_away_where_a_project_or_kind_is_asked_for(
    approved: World,
) -> None:
    for number, project in enumerate(("billing", "global")):
        entry_id = SECOND[:-1] + str(number)
        text = rule(f"Of {project}", entry_id=entry_id).replace("- workflows", "- invoices")
        merge(approved, f"{project}/rules/r.md", text, entry_id)
    about, rules, tags = "change in the sandbox", frozenset({Kind.RULE}), {"workflows": None}

    def found(**more: Any) -> list[str]:
        return sorted(rules_of(approved.search(about, **more)))

    assert found() == found(context_tags=tags) == ["Of billing", "Of global", "Sandbox first"]
    assert found(project="jira") == ["Sandbox first"]
    assert (
        found(project="jira", kinds=rules)
        == found(context_tags=tags, kinds=rules)
        == ["Sandbox first"]
    )
    assert found(context_tags=tags, kinds=rules | {Kind.LESSON}) == ["Sandbox first"]
    assert found(context_tags={"unheard-of": None}, kinds=rules) == []
    assert found(context_tags={"invoices": None}, kinds=rules) == ["Of billing", "Of global"]
    assert rules_of(approved.search("type:rule", context_tags=tags)) == ["Sandbox first"]
    assert found(kinds=rules) == ["Of billing", "Of global", "Sandbox first"]


def test_without_a_model_words_bring_rules(world: World) -> None:
    merge(world, text=rule())
    assert rules_of(world.search("sandbox change", project="jira")) == ["Sandbox first"]
    assert rules_of(world.search("rotate the signing keys first", project="jira")) == []


# --- by whose hand ---


def test_show_says_by_whose_hand_a_rule_is_in_force(approved: World) -> None:
    approval = shown(approved).approval
    assert approval
    assert (approval.in_force, approval.evidence, approval.how) == (True, 2, "merge")
    assert approval.approved_by == "Test Person <person@example.com>"
    assert approval.suggested_by == "Agent <agent@x>"
    assert approval.commit == approved.git(approved.root, "rev-parse", "main")
    assert approval.approved_at.endswith("Z")
    assert approval.unapproved_change == ""
    assert shown(approved, LESSON).approval is None


def edit_committed_and_left(world: World) -> None:
    edit_committed(world)
    world.git(world.root, "switch", "-q", "-c", "aside", "main~1")


@pytest.mark.parametrize(
    ("door", "said"),
    [
        (edit_in_the_tree, ["-Try the change", "+Ask zanzibar", "(working tree)"]),
        (removed_in_the_tree, ["-Try the change", "removed from the working tree"]),
        (removed_by_a_commit, ["-Try the change", "removed from the"]),
        (edit_committed_and_left, ["+Ask zanzibar", "(approval branch)"]),
    ],
)
def test_an_unapproved_change_is_shown_as_a_diff(
    approved: World, door: Callable[[World], None], said: list[str]
) -> None:
    door(approved)
    approval = shown(approved).approval
    assert approval
    assert [words for words in said if words not in approval.unapproved_change] == []


def test_line_ends_and_a_tree_that_stands_elsewhere_are_no_change(approved: World) -> None:
    approved.write(PATH, rule().replace("\n", "\r\n"))
    assert shown(approved).approval.unapproved_change == ""  # type: ignore[union-attr]
    approved.git(approved.root, "checkout", "-q", PATH)
    approved.git(approved.root, "switch", "-q", "-c", "behind", "main~1")
    assert shown(approved).approval.unapproved_change == ""  # type: ignore[union-attr]


def test_why_tells_who_said_it_from_what_and_who_approved_it(approved: World) -> None:
    origin = approved.add("First seen", content="x")
    middle = approved.add("Seen again", links=[("derived_from", origin.id)])
    merge(approved, text=rule(links=f"\n  - derived_from: {middle.id}\n  - related_to: {LESSON}"))
    why = history_of_entries.why(approved.library, "R-RRRR22")
    assert why.approval
    assert why.approval.how == "merge"
    derived = [one for one in why.lines if one.startswith("derived from ")]
    assert [one.partition("-")[2].split(" ", 1)[1] for one in derived] == [
        "Seen again",
        "First seen",
    ]
    said = "\n".join(why.lines)
    assert "PUT replaces the workflow" in said
    assert "written by Agent <agent@x>" in said
    assert "rationale: a bad change costs everybody a day" in said
    assert "by a merge, commit" in said
    plain = history_of_entries.why(approved.library, middle.handle)
    assert (plain.approval, sum(one.startswith("derived from L-") for one in plain.lines)) == (
        None,
        1,
    )
    assert any(one.startswith("origin of R-") for one in plain.lines), (
        "the rule that was made of it"
    )


def test_why_knows_the_agent_and_what_is_not_committed(approved: World) -> None:
    made = editing.add_lesson(approved.fresh(agent="claude"), LessonDraft("By an agent"))
    assert "agent claude" in history_of_entries.why(approved.library, made.id).lines[0]
    approved.write("jira/lessons/2026-11/new.md", lesson(DOC, "Not committed"))
    assert history_of_entries.why(approved.library, DOC).lines[0].startswith("not committed yet")


# --- before one begins ---


def titles(summaries: Any) -> list[str]:
    return [summary.title for summary in summaries]


@pytest.fixture
def prepared(approved: World) -> World:
    """More rules and lessons, by project, tag, file and nothing."""
    everywhere = rule("Everywhere", entry_id=SECOND).replace("  - workflows", "  - other")
    merge(approved, "global/rules/g.md", everywhere, SECOND)
    python = rule("Only for Python", entry_id=PLANTED, applies_to='["src/**/*.py"]')
    merge(approved, "python/rules/p.md", python.replace("  - workflows", "  - style"), PLANTED)
    approved.write(
        "python/lessons/2026-11/a.md", lesson(DOC, "Sure", confidence="very-high", tags="[style]")
    )
    setup = lesson(
        "01JD3Z8QK5W7M2X9V4T6AAAA55", "About setup", confidence="low", applies_to="[setup.py]"
    )
    approved.write("python/lessons/2026-11/b.md", setup)
    approved.write(
        "python/lessons/2026-11/c.md",
        lesson("01JD3Z8QK5W7M2X9V4T6BBBB66", "Was wrong", status="wrong"),
    )
    (approved.root.parent / "code/.git").mkdir(parents=True)
    return approved


def test_context_gives_what_one_needs_before_beginning(prepared: World) -> None:
    cases: list[tuple[dict[str, Any], list[str], list[str]]] = [
        ({"project": "jira"}, ["Sandbox first", "Everywhere"], [NIGHT, PUT]),
        ({"project": "python"}, ["Only for Python", "Everywhere"], ["Sure", "About setup"]),
        ({"context_tags": {"style": None}}, ["Everywhere", "Only for Python"], ["Sure"]),
        ({"context_tags": {"style": 9.0}}, ["Only for Python", "Everywhere"], ["Sure"]),
        ({"context_tags": {"looks": 9.0}}, ["Only for Python", "Everywhere"], ["Sure"]),
        (
            {"project": "jira", "context_tags": {"style": None}},
            ["Sandbox first", "Everywhere", "Only for Python"],
            [NIGHT, PUT, "Sure"],
        ),
        (
            {"project": "jira", "paths": ["code/src/x.py"]},
            ["Sandbox first", "Everywhere"],
            [NIGHT, PUT],
        ),
        (
            {"project": "python", "paths": ["code/src/x.py"]},
            ["Only for Python", "Everywhere"],
            ["Sure"],
        ),
        ({"paths": ["code/src/deep/x.py"]}, ["Only for Python"], []),
        ({"paths": ["code/setup.py"]}, [], ["About setup"]),
        ({"paths": ["code/README.md"]}, [], []),
        ({"paths": ["code/setup.py", "code/src/x.py"]}, ["Only for Python"], ["About setup"]),
        (
            {"project": "python", "paths": ["code/setup.py"]},
            ["Everywhere"],
            ["About setup", "Sure"],
        ),
        ({}, ["Everywhere"], []),
        ({"project": "nowhere"}, ["Everywhere"], []),
        (
            {"query": "sandbox resets", "project": "jira", "budget": 3},
            ["Sandbox first", "Everywhere"],
            [NIGHT],
        ),
        ({"project": "python", "budget": 1}, ["Only for Python"], []),
        ({"project": "python", "budget": 2}, ["Only for Python"], ["Sure"]),
    ]
    prepared.write(".ai-lessons/config.yaml", "tag_aliases:\n  looks: style\n")
    for asked, rules, lessons in cases:
        found = context_job.context(prepared.library, ContextQuery(**asked))
        assert (titles(found.rules), titles(found.lessons)) == (rules, lessons), asked
    found = context_job.context(prepared.library, ContextQuery(project="python", budget=1))
    assert found.notes == ("1 more rules apply, beyond the budget of 1",)


def test_files_are_named_from_the_root_of_their_project_wherever_one_stands(
    prepared: World,
) -> None:
    inner = prepared.root.parent / "code/src"
    library = prepared.fresh(cwd=inner)
    for path in ("deep/x.py", str(inner / "deep/x.py"), "../src/./x.py"):
        assert titles(context_job.context(library, ContextQuery(paths=[path])).rules) == [
            "Only for Python"
        ]
    assert context_job.context(library, ContextQuery(paths=["../x.py"])).rules == ()
