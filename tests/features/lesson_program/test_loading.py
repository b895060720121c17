"""What `lesson load` brings to the start of a session."""

from ai_lessons.app import lessons, linking, search
from ai_lessons.app.answers import Answer, Query
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.lesson_program.jobs import LessonGroup, Loaded, load
from ai_lessons.interfaces.output import encode
from ai_lessons.model.entries import LESSONS, EntrySummary, Filter, Kind, Pattern, Stated
from ai_lessons.model.lessons import ScopePlace, parse, place_of
from app.world import LESSON, World, lesson, listed_lessons

READ_FIRST = parse("WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions")


def searched(world: World, text: str, scope: str | None = None) -> Answer:
    """As `lesson search` searches."""
    at = place_of(scope) if scope else ScopePlace("")
    return search.search(
        world.library, Query(text, Filter(LESSONS, at.project or None, scopes=at.scopes))
    )


def test_a_scope_of_a_user_or_of_a_path_is_kept_and_told_apart(world: World) -> None:
    scopes = ("user:alex", "user:kim", "project:/a/shop", "project:/b/shop", "shop", "")
    ids = {scope: lessons.add(world.library, READ_FIRST, scope=scope).id for scope in scopes}
    assert len(set(ids.values())) == len(scopes)
    assert lessons.add(world.library, READ_FIRST, scope="project:/a/shop").change == "unchanged"

    def seen(scope: str | None) -> set[str]:
        listed = {one.id for one in listed_lessons(world.library, scope=scope).entries}
        found = {hit.entry.id for hit in searched(world, "tmux", scope=scope).lessons}
        assert found == listed - {one for one in listed if one not in ids.values()}
        return {name for name, one in ids.items() if one in listed}

    assert seen(None) == set(scopes)
    assert seen("global") == {""}
    assert seen("user:alex") == {"user:alex"}
    assert seen("shop") == {"shop", "project:/a/shop", "project:/b/shop"}
    assert seen("project:/a/shop") == {"shop", "project:/a/shop"}
    assert seen("project:shop") == seen("shop")
    loaded = load(world.library, "user:alex")
    groups = [
        (name, ids["user:alex"] in {one.id for one in group}) for name, group in loaded.groups
    ]
    assert groups == [("global", False), ("user:alex", True)]
    assert load(world.library, "user:alex", limit=1).active == loaded.active
    assert lessons.add(world.library, READ_FIRST, scope="project:/").path.startswith("global/")
    path = next(one.path for one in listed_lessons(world.library, scope="user:kim").entries)
    assert "scope: user:kim\n" in world.read(path)


def test_a_limit_keeps_the_firm_and_the_newest(world: World) -> None:
    for number, origin in enumerate(["user", "ai", "ai", "ai"]):
        text = lesson(LESSON[:-1] + "ABCD"[number], f"Number {number}", **{"from": origin})
        world.write(f"global/lessons/{number}.md", text.replace("T20:14", f"T1{number}:00"))
    loaded = load(world.library, limit=2)
    assert loaded.active == 4
    assert [one.title for one in loaded.groups[0][1]] == ["Number 0", "Number 3"]


def test_a_limit_holds_for_all_scopes_together(world: World) -> None:
    library = world.library
    for number, by in enumerate(("user", "ai", "ai")):
        for scope in ("", "tmux"):
            lessons.add(
                library, parse(f"WHEN case {number} -> DO it -> BECAUSE why"), scope=scope, by=by
            )
    loaded = load(library, "tmux", limit=3)
    assert loaded.active == 6
    assert [len(entries) for _, entries in loaded.groups] in ([1, 2], [2, 1])
    assert all(entries[0].stated.from_ == "user" for _, entries in loaded.groups)
    assert [len(entries) for _, entries in load(library, "tmux").groups] == [3, 3]


def test_a_session_begins_without_what_did_more_harm_than_good(world: World) -> None:
    made = {
        name: lessons.add(world.library, Pattern(f"case {name}", f"do {name}", "so"), by=by)
        for name, by in (
            ("good", "ai"),
            ("bad", "ai"),
            ("firm", "user"),
            ("old", "ai"),
            ("new", "ai"),
        )
    }
    for name in ("bad", "firm"):
        learning_jobs.feedback(world.library, made[name].id, "contradicted")
    learning_jobs.feedback(world.library, made["good"].id, "helpful")
    linking.link(world.library, made["new"].id, made["old"].id, relation="supersedes")
    loaded = load(world.fresh())
    ids = {summary.id for _, group in loaded.groups for summary in group}
    assert ids == {made[name].id for name in ("good", "firm", "new")}
    assert loaded.active == 3
    assert {summary.id for summary in listed_lessons(world.fresh()).entries} >= {
        made["bad"].id,
        made["old"].id,
    }


def test_what_is_loaded_is_shown_as_data() -> None:
    summary = EntrySummary(
        "01J",
        "L-1",
        Kind.LESSON,
        "t",
        "p",
        ("a",),
        (),
        "p/x.md",
        status="active",
        stated=Stated(from_="ai"),
    )
    row = {
        "id": "01J", "handle": "L-1", "scope": "p", "from": "ai", "status": "active", "created": None, "pattern": None,
        "title": "t", "path": "p/x.md",
    }  # fmt: skip
    shown = encode(Loaded((LessonGroup("global", (summary,)),), 1))
    assert shown == {"active": 1, "groups": [{"scope": "global", "lessons": [row]}], "notes": []}
