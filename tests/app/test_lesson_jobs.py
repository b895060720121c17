from ai_lessons.app import editing, lessons, search
from ai_lessons.app.answers import Answer, Query
from ai_lessons.model.lessons import ScopePlace, parse, place_of
from app.world import LESSON, World, lesson, listed_lessons

READ_FIRST = parse("WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions")


def handles(world: World, **wanted: object) -> list[str]:
    return [one.handle for one in listed_lessons(world.library, **wanted).entries]  # type: ignore[arg-type]


def searched(world: World, text: str, scope: str | None = None) -> Answer:
    """As `lesson search` searches."""
    at = place_of(scope) if scope else ScopePlace("")
    return search.search(
        world.library, Query(text, kinds=lessons.LESSONS, project=at.project or None, scopes=at.scopes)
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
    found = lessons.load(world.library, "user:alex")
    assert [(name, ids["user:alex"] in {one.id for one in group}) for name, group in found.groups] == [
        ("global", False),
        ("user:alex", True),
    ]
    assert lessons.load(world.library, "user:alex", limit=1).active == found.active
    path = next(one.path for one in listed_lessons(world.library, scope="user:kim").entries)
    assert "scope: user:kim\n" in world.read(path)


def test_the_root_as_a_project_is_everywhere(world: World) -> None:
    assert lessons.add(world.library, READ_FIRST, scope="project:/").path.startswith("global/")


def test_who_repeats_a_lesson_that_was_wrong_is_told_so(world: World) -> None:
    first = lessons.add(world.library, READ_FIRST)
    lessons.wrong(world.library, first.handle, "too specific")
    again = lessons.add(world.library, READ_FIRST)
    assert again.change == "added"
    assert again.notes == (f"{first.handle} says the same and was marked wrong: too specific",)


def test_a_limit_keeps_the_firm_and_the_newest(world: World) -> None:
    for number, origin in enumerate(["user", "ai", "ai", "ai"]):
        world.write(
            f"global/lessons/{number}.md",
            lesson(LESSON[:-1] + "ABCD"[number], f"Number {number}", **{"from": origin}).replace(
                "T20:14", f"T1{number}:00"
            ),
        )
    found = lessons.load(world.library, limit=2)
    assert found.active == 4
    assert [one.title for one in found.groups[0][1]] == ["Number 0", "Number 3"]


def test_a_limit_holds_for_all_scopes_together(world: World) -> None:
    library = world.library
    for number in range(3):
        for scope in ("", "tmux"):
            lessons.add(
                library,
                parse(f"WHEN case {number} -> DO it -> BECAUSE why"),
                scope=scope,
                by="user" if number == 0 else "ai",
            )
    found = lessons.load(library, "tmux", limit=3)
    assert found.active == 6
    assert [len(entries) for _, entries in found.groups] in ([1, 2], [2, 1])
    assert all(entries[0].from_ == "user" for _, entries in found.groups)
    assert [len(entries) for _, entries in lessons.load(library, "tmux").groups] == [3, 3]


def test_wrong_again_changes_nothing_but_a_new_reason(world: World) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    lessons.wrong(world.library, handle, "too specific")
    before = world.commits()
    assert lessons.wrong(world.library, handle).change == "unchanged"
    assert world.commits() == before
    assert lessons.wrong(world.library, handle, "plainly false").change == "wrong"
    assert lessons.show(world.library, handle).frontmatter["reason"] == "plainly false"


def test_a_wrong_lesson_can_be_made_active_again(world: World) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    lessons.wrong(world.library, handle)
    editing.update(world.library, handle, status="active")
    assert handles(world) == [handle]
