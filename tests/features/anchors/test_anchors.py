"""Entries that name code: resolved when they are written, looked at again when they are read or told."""

from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import (
    editing,
    entries,
    outdated,
    proposals,
    validation,
)
from ai_lessons.app.answers import Context, ContextQuery
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.features.anchors import code_folder, places, renewal, verdicts
from ai_lessons.features.anchors.anchors import Anchor
from ai_lessons.features.checks import runner
from ai_lessons.model.entries import EntrySummary
from ai_lessons.model.merge import merge_file
from ai_lessons.telling import context, words
from ai_lessons.telling.offers import before_a_tool
from app.test_partial_clones import Partial
from app.world import World
from real_world import Git, commit_all, put_file

CART = "LIMIT = 30\n\n\nclass Cart:\n    def total(self, lines):\n        return sum(lines)\n"
TOTAL = "src/cart.py::Cart.total"


@pytest.fixture
def shop(git: Git, tmp_path: Path) -> Path:
    """A code repository of its own."""
    top = tmp_path / "shop"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    put_file(top / "src/cart.py", CART)
    put_file(top / "pyproject.toml", '[project]\nname = "shop"\nrequires-python = ">=3.11"\n')
    put_file(top / "requirements.txt", "click==8.1.7\n")
    put_file(top / "docs/cart.md", "# Cart\n")
    commit_all(git, top, "one")
    return top


def add(
    world: World,
    folder: Path,
    title: str = "Totals",
    content: str = "",
    about: list[str] | None = None,
    **more: Any,
) -> str:
    options = {"about": about} if about else {}
    draft = LessonDraft(
        title, content, applies_to=["src/*.py"], options=options | more.pop("options", {}), **more
    )
    return editing.add_lesson(world.fresh(cwd=folder), draft).id


def look(world: World, folder: Path, entry_id: str) -> EntrySummary:
    return entries.show(world.fresh(cwd=folder), entry_id).entry


def about(world: World, entry_id: str) -> Any:
    return entries.show(world.library, entry_id).frontmatter.get("about")


def told(world: World, shop: Path) -> Context:
    """What a hook tells before an edit of the cart."""
    opened = world.fresh(cwd=shop, session="s")
    return before_a_tool(opened, [str(shop / "src/cart.py")], "", [str(shop)], ())


def edit(shop: Path, old: str, new: str, name: str = "src/cart.py") -> None:
    file = shop / name
    file.write_text(file.read_text().replace(old, new))


def test_code_that_changed_is_told_with_the_commit_and_a_look_that_keeps_it_ends_that(
    world: World, git: Git, shop: Path
) -> None:
    lesson = add(world, shop, about=[TOTAL])
    assert look(world, shop, lesson).beside.verdict == "holds"
    edit(shop, "LIMIT = 30", "LIMIT = 31  # another thing")
    edit(shop, "class Cart:", "class Cart:\n    # a comment")
    commit_all(git, shop, "two")
    assert look(world, shop, lesson).beside.warning == ""
    edit(shop, "sum(lines)", "sum(lines")
    assert (
        look(world, shop, lesson).beside.verdict == ""
    )  # torn: nothing is known until it can be parsed
    edit(shop, "sum(lines", "sum(lines) * 100")
    assert "check first" in look(world, shop, lesson).beside.warning
    commit_all(git, shop, "three")
    name, day = git(shop, "log", "-1", "--format=%h %as").split()
    put_file(shop / "src/other.py", "x = 1\n")
    commit_all(git, shop, "four")
    summary = look(world, shop / "src", lesson)
    assert summary.as_json()["verdict"] == "changed"
    assert f"changed on {int(day[-2:])} " in summary.as_json()["warning"]
    assert f"({name}, " in summary.as_json()["warning"]
    assert world.search("Totals").hits[0].entry.beside.verdict == "changed"
    text = words.moment(told(world, shop), 900).text
    assert f"! the code it speaks of changed on {int(day[-2:])} " in text
    assert [row.reason for row in outdated.review(world.library)] == ["about"]
    assert [row.path for row in verdicts.stale(world.library.primary)] == [TOTAL]
    (problem,) = validation.validate(world.library, content=True).problems
    assert "to be reviewed: the code it speaks of changed" in problem.message
    assert "+        return sum(lines) * 100" in renewal.code_diff(world.library.primary, summary)
    editing.keep(world.fresh(cwd=shop), lesson)
    assert look(world, shop, lesson).beside.verdict == "holds"
    assert outdated.review(world.library) == ()


def test_a_lesson_of_an_agent_is_nobody_s_word_however_its_code_is_named(
    world: World, shop: Path
) -> None:
    add(world, shop, about=[TOTAL], origin="ai")
    (lesson,) = told(world, shop).lessons
    assert not lesson.origin.stated_by


def test_a_text_that_states_the_old_value_is_kept_by_a_yes_alone(
    world: World, git: Git, shop: Path
) -> None:
    limit = add(world, shop, "Thirty at most", "LIMIT is 30.", about=["src/cart.py::LIMIT=30"])
    general = add(world, shop, "A constant", "Read it from there.", about=["src/cart.py::LIMIT"])
    edit(shop, "LIMIT = 30", "LIMIT = 40")
    commit_all(git, shop, "two")
    with pytest.raises(Refused, match=r"still says 30: src/cart\.py::LIMIT was 30, and is 40"):
        editing.keep(world.fresh(cwd=shop), limit)
    assert look(world, shop, limit).beside.verdict == "changed"
    (note,) = editing.keep(world.fresh(cwd=shop), general).notes
    assert note == "src/cart.py::LIMIT was LIMIT = 30, and is LIMIT = 40"
    editing.keep(world.fresh(cwd=shop), limit, sure=lambda _: True)
    assert look(world, shop, limit).beside.verdict == "holds"


def test_code_that_is_not_here_has_no_verdict(
    world: World, git: Git, shop: Path, tmp_path: Path
) -> None:
    lesson = add(world, shop, about=[TOTAL, "pypi/click<8.2"])
    other = tmp_path / "other"
    other.mkdir()
    assert "verdict" not in look(world, other, lesson).as_json()
    git(other, "init", "-q")
    put_file(other / "src/cart.py", "x = 1\n")
    assert "verdict" not in look(world, other, lesson).as_json()
    assert "verdict" not in look(world, world.root, lesson).as_json()
    git(tmp_path, "clone", "-q", str(shop), "elsewhere")
    assert look(world, tmp_path / "elsewhere", lesson).beside.verdict == "holds"
    git(shop, "worktree", "add", "-q", str(tmp_path / "beside"))
    assert look(world, tmp_path / "beside", lesson).beside.verdict == "holds"


def test_code_that_moved_is_followed_and_changed_there(world: World, git: Git, shop: Path) -> None:
    lesson, folder = add(world, shop, about=[TOTAL]), add(world, shop, "Folder", about=["src/"])
    git(shop, "mv", "src", "lib")
    assert look(world, shop, lesson).beside.verdict == "moved"  # before a commit, too
    commit_all(git, shop, "moved")
    assert look(world, shop, lesson).beside.warning == (
        f"the code it speaks of moved: {TOTAL} is lib/cart.py::Cart.total now"
    )
    assert "src/ is lib/ now" in look(world, shop, folder).beside.warning
    edit(shop, "sum(lines)", "max(lines)", "lib/cart.py")
    assert look(world, shop, lesson).beside.verdict == "changed"
    commit_all(git, shop, "changed")
    name = git(shop, "log", "-1", "--format=%h")
    assert f"({name}, " in look(world, shop, lesson).beside.warning
    editing.keep(world.fresh(cwd=shop), lesson)
    assert about(world, lesson)[0]["code"] == "lib/cart.py::Cart.total"
    edit(
        shop,
        "    def total(self, lines):\n        return max(lines)\n",
        "    size = 1\n",
        "lib/cart.py",
    )
    put_file(
        shop / "lib/sums.py",
        "class Sums:\n    def total(self, lines):\n        return max(lines)\n",
    )
    assert "lib/sums.py::Sums.total now" in look(world, shop, lesson).beside.warning


def test_a_lesson_whose_code_is_gone_waits_to_be_asked_and_a_rule_does_not(
    world: World, git: Git, shop: Path
) -> None:
    lesson = add(world, shop, about=[TOTAL])
    draft = RuleDraft("Total in cents", "Sums", applies_to=["src/*.py"], options={"about": [TOTAL]})
    made = proposals.suggest_rule(world.fresh(cwd=shop), draft)
    git(world.root, "merge", "-q", "--no-ff", "-m", f"Merge branch '{made.branch}'", made.branch)
    assert {entry.title for entry in told(world, shop).entries} == {"Totals", "Total in cents"}
    edit(shop, "total", "sum_up")
    commit_all(git, shop, "gone")
    summary = look(world, shop, lesson)
    assert summary.beside.verdict == "gone"
    assert (
        f"gone since {int(git(shop, 'log', '-1', '--format=%as')[-2:])} " in summary.beside.warning
    )
    offered = told(world, shop)
    assert [(entry.title, entry.beside.verdict) for entry in offered.entries] == [
        ("Total in cents", "gone")
    ]
    assert {left.entry.title: left.reason for left in offered.left_out} == {"Totals": "gone"}
    asked = context.context(world.fresh(cwd=shop), ContextQuery(paths=["src/cart.py"]))
    assert {entry.beside.verdict for entry in asked.entries} == {"gone"}
    assert len(asked.entries) == 2
    written = editing.keep(world.fresh(cwd=shop), lesson)
    assert any("no more looked at" in note for note in written.notes)
    assert about(world, lesson) is None


def test_code_of_another_branch_has_no_verdict_on_this_one(
    world: World, git: Git, shop: Path
) -> None:
    git(shop, "switch", "-qc", "new")
    put_file(shop / "src/bill.py", "def bill():\n    return 1\n")
    edit(shop, "class Cart", "def fresh():\n    return 2\n\n\nclass Cart")
    commit_all(git, shop, "bill")
    file, symbol = (
        add(world, shop, about=["src/bill.py::bill"]),
        add(world, shop, "B", about=["src/cart.py::fresh"]),
    )
    git(shop, "switch", "-q", "main")
    assert "verdict" not in look(world, shop, file).as_json() | look(world, shop, symbol).as_json()
    git(shop, "switch", "-q", "new")
    assert (
        look(world, shop, file).beside.verdict
        == look(world, shop, symbol).beside.verdict
        == "holds"
    )
    put_file(shop / "src/draft.py", "def draft():\n    return 1\n")
    draft = add(world, shop, "C", about=["src/draft.py::draft"])
    (shop / "src/draft.py").unlink()
    assert (
        look(world, shop, draft).beside.warning
        == "the code it speaks of is gone: src/draft.py::draft"
    )


def test_a_version_out_of_range_keeps_a_lesson_until_it_is_asked(world: World, shop: Path) -> None:
    lesson = add(world, shop, about=["pypi/click<8.2"])
    assert len(told(world, shop).lessons) == 1
    edit(shop, "8.1.7", "8.2.1", "requirements.txt")
    assert told(world, shop).lessons == ()
    summary = look(world, shop, lesson)
    assert (summary.beside.verdict, "8.2.1 is in use" in summary.beside.warning) == (
        "out-of-range",
        True,
    )


@pytest.mark.parametrize(
    ("name", "text", "anchor", "versions"),
    [
        (
            "package.json",
            '{"dependencies": {"react": "17.0.2", "vue": "^3"}}',
            "npm/react<18",
            ("17.0.2", "18.0.0"),
        ),
        (
            "go.mod",
            "module x\n\nrequire github.com/a/b v1.17.0\n",
            "go/github.com/a/b<1.18",
            ("1.17.0", "1.18.0"),
        ),
    ],
)
def test_a_version_is_read_from_what_pins_it(
    world: World,
    git: Git,
    tmp_path: Path,
    name: str,
    text: str,
    anchor: str,
    versions: tuple[str, str],
) -> None:
    git(tmp_path, "init", "-q", "code")
    put_file(tmp_path / "code" / name, text)
    lesson = add(world, tmp_path / "code", about=[anchor])
    assert look(world, tmp_path / "code", lesson).beside.verdict == "holds"
    edit(tmp_path / "code", *versions, name)
    assert look(world, tmp_path / "code", lesson).beside.verdict == "out-of-range"


def test_a_value_is_compared_with_what_it_was(world: World, shop: Path) -> None:
    lesson = add(
        world, shop, about=['pyproject.toml::requires-python=">=3.11"', "src/cart.py::LIMIT=30"]
    )
    edit(shop, "3.11", "3.12", "pyproject.toml")
    summary = look(world, shop, lesson)
    assert (summary.beside.verdict, "now >=3.12" in summary.beside.warning) == ("changed", True)
    editing.keep(world.fresh(cwd=shop), lesson)
    codes = [item["code"] for item in about(world, lesson)]
    assert codes == ['pyproject.toml::requires-python=">=3.12"', "src/cart.py::LIMIT=30"]


REFUSED = (
    ("src/crt.py", "src/cart.py"), ("cart.py", "src/cart.py"), ("src/cart.py::Cart.totl", "Cart.total"),
    ("src/cart.py::total", "Cart.total"), ("src/cart.py::LIMIT=31", "LIMIT=30"), ("pypi/clik<8", "pypi/click"),
    ("pypi/click<8", "holds for"), ("../shop/src/cart.py::x y", "path::symbol"),
)  # fmt: skip


def test_what_does_not_resolve_is_refused_with_the_nearest_names(world: World, shop: Path) -> None:
    for named, near in REFUSED:
        with pytest.raises((NotFound, UsageError)) as refused:
            add(world, shop, about=[named])
        assert near in (refused.value.hint or ""), named
    assert world.titles() == []


def test_a_path_is_taken_from_the_callers_folder_too_and_a_link_out_of_the_code_is_not_read(
    world: World, shop: Path, tmp_path: Path
) -> None:
    assert (
        about(world, add(world, shop / "src", about=["cart.py::Cart"]))[0]["code"]
        == "src/cart.py::Cart"
    )
    put_file(tmp_path / "secret.py", "KEY = 3\n")
    (shop / "linked.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(Refused):
        add(world, shop, "Linked", about=["linked.py::KEY"])
    with pytest.raises(Refused, match="no code here"):
        add(world, tmp_path, "Nowhere", about=["x.py"])


NAMED = {
    "`Cart.total` is in cents": [TOTAL],
    "see `src/cart.py` and `docs/cart.md:1`": ["src/cart.py", "docs/cart.md"],
    "`cart.py` and `Cart`": ["src/cart.py::Cart"],
    "`LIMIT` is `30`; `git push` and `nothing.py`": ["src/cart.py::LIMIT"],
    "Cart.total without backticks": [],
    "~~~\n`Cart.total`\n~~~\n": [],
}


def test_what_a_text_names_in_backticks_and_is_one_place_is_taken(world: World, shop: Path) -> None:
    for text, codes in NAMED.items():
        lesson = add(world, shop, content=text)
        assert [item["code"] for item in about(world, lesson) or ()] == codes
        assert (
            about(world, add(world, shop, "Without", content=text, options={"no_about": True}))
            is None
        )
    put_file(shop / "src/bill.py", "class Cart:\n    pass\n")
    lesson = add(world, shop, content="`Cart` and `Cart.total`")
    assert [item["code"] for item in about(world, lesson)] == [TOTAL], "there are two of the other"


def test_an_update_replaces_anchors_and_takes_them_away(world: World, shop: Path) -> None:
    lesson = add(world, shop, about=[TOTAL])
    editing.update(world.fresh(cwd=shop), lesson, options={"about": ["docs/"]})
    assert [item["code"] for item in about(world, lesson)] == ["docs/"]
    editing.update(world.fresh(cwd=shop), lesson, content="`Cart.total`")
    assert [item["code"] for item in about(world, lesson)] == ["docs/"]
    editing.update(world.fresh(cwd=shop), lesson, options={"about": [""]})
    assert about(world, lesson) is None


def test_about_takes_files_symbols_packages_and_commands(world: World, shop: Path) -> None:
    put_file(shop / "src/[id].py", "x = 1\n")
    what = ["src/*.py", TOTAL, "pypi/click<8.2", "command: git  push", "src/[id].py"]
    lesson = editing.add_lesson(
        world.fresh(cwd=shop), LessonDraft("All", "", options={"about": what})
    ).id
    shown = entries.show(world.fresh(cwd=shop), lesson).frontmatter
    assert shown["applies_to"] == ["src/*.py"]
    assert [item.get("command") or item.get("code") or item["package"] for item in shown["about"]] == [
        TOTAL, "pypi/click<8.2", "src/[id].py", "git push",
    ]  # fmt: skip
    assert [hit.anchor for hit in places.about(world.fresh(cwd=shop), "src/cart.py")] == [
        f"src/*.py, {TOTAL}"
    ]
    (hit,) = places.about(world.fresh(cwd=shop), "command: git push --force")
    assert hit.anchor == "command: git push"
    editing.update(world.fresh(cwd=shop), lesson, options={"about": ["lib/**", "command: hg push"]})
    shown = entries.show(world.fresh(cwd=shop), lesson).frontmatter
    assert (shown["applies_to"], shown["about"]) == (["lib/**"], [{"command": "hg push"}])
    elsewhere = LessonDraft(
        "No code is needed", "", options={"about": ["docs/**", "command: make"]}
    )
    assert about(world, editing.add_lesson(world.fresh(), elsewhere).id) == [{"command": "make"}]


def test_what_is_known_of_a_place_and_what_a_change_touches(
    world: World, git: Git, shop: Path
) -> None:
    total, whole = add(world, shop, about=[TOTAL]), add(world, shop, "File", about=["src/cart.py"])
    other = add(world, shop, "Limit", about=["src/cart.py::LIMIT"])

    def known(place: str) -> set[str]:
        return {hit.entry.id for hit in places.about(world.fresh(cwd=shop), place)}

    assert known("src/cart.py") == known("src") == {total, whole, other}
    assert known(TOTAL) == known("src/cart.py::Cart") == {total, whole}
    assert known("docs/cart.md") == set()
    opened = world.fresh(cwd=shop)
    touched = places.touched(opened, {"src/cart.py": {6}, "docs/cart.md": {1}})
    assert {(entry.id, line) for entry, _, line, *_ in touched} == {(total, 6), (whole, 6)}
    git(shop, "rm", "-q", "src/cart.py")
    gone = places.touched(world.fresh(cwd=shop), {"src/cart.py": set()})
    assert {hit.entry.id for hit in gone} == {total, whole, other}


def test_a_check_since_a_commit_names_the_entries_that_a_change_touches(
    world: World, git: Git, shop: Path
) -> None:
    total = add(world, shop, about=[TOTAL])
    add(world, shop, "Limit", about=["src/cart.py::LIMIT"])
    folder = add(world, shop, "Docs", about=["docs/"])
    edit(shop, "        return sum(lines)\n", "        print(lines)\n        return sum(lines)\n")
    report = runner.check(world.fresh(cwd=shop), since="HEAD")
    (finding,) = report.findings
    assert (finding.path, finding.line, finding.level, finding.id) == (
        "src/cart.py",
        6,
        "note",
        total,
    )
    assert "the code it speaks of changed: check first" in finding.message
    assert not report.broken
    git(shop, "rm", "-q", "docs/cart.md")
    commit_all(git, shop, "two")
    report = runner.check(world.fresh(cwd=shop), since="HEAD~1")
    assert {(row.path, row.id) for row in report.findings} == {
        ("docs/cart.md", folder),
        ("src/cart.py", total),
    }
    assert [summary.id for summary in report.checked] == [row.id for row in report.findings]
    assert runner.check(world.fresh(cwd=shop)).findings == ()


def test_code_that_holds_takes_no_question_to_git(world: World, shop: Path, started: Path) -> None:
    add(world, shop, about=[TOTAL])
    code = code_folder.code_around(world.fresh(cwd=shop).primary)
    assert code
    started.unlink(missing_ok=True)
    assert code.look(Anchor("src/cart.py", "Cart.total"), "shop").verdict == "holds"
    assert not started.exists()


def test_git_is_asked_about_all_anchors_that_are_gone_at_once(
    world: World, git: Git, shop: Path, started: Path
) -> None:
    put_file(shop / "old/part.py", "def part(): return 1\n")
    commit_all(git, shop, "part")
    git(shop, "mv", "old", "new")
    commit_all(git, shop, "moved")
    for n in range(40):
        stated = (
            f"old{n}/part{n}.py::f",
            f"gone{n}.py",
            f"a/{n}.py::f",
            "old/part.py::part" if n < 2 else f"b/{n}/",
        )
        items = "".join(
            f'  - code: "{place}"\n    in: shop\n    seen: deadbeef\n' for place in stated
        )
        text = f"---\nid: 01M82H56GFBPYC5697MC{n + 100000}\nkind: lesson\ntitle: Note {n}\nabout:\n{items}---\nx\n"
        world.write(f"shop/lessons/l{n}.md", text)
    world.commit()
    started.unlink()
    hits = places.about(world.fresh(cwd=shop), "new/part.py")
    assert len(hits) == 2, "what was moved is followed"
    asked = started.read_text().splitlines()
    counts = [sum(f" {job} " in row for row in asked) for job in ("log", "grep")]
    assert counts == [3, 1], asked  # The logs: of every name, of these, of the new ones
    assert len(asked) <= 10, asked
    assert len(list(verdicts.outdated(world.fresh(cwd=shop).primary))) == 40


def test_both_sides_that_look_again_leave_one_anchor(world: World, shop: Path) -> None:
    lesson = add(world, shop, about=[TOTAL, "docs/"])
    path = next(world.root.glob("global/lessons/*/*.md"))
    base = path.read_bytes()
    seen = about(world, lesson)[0]["seen"].encode()
    merged = merge_file(
        "global/lessons/x.md",
        base,
        base.replace(seen, b"aaaaaaaa"),
        base.replace(seen, b"bbbbbbbb"),
    )
    assert merged.conflicts == ()
    assert merged.data is not None
    assert merged.data.count(b"code:") == 2
    assert b"bbbbbbbb" in merged.data


def test_a_place_is_known_by_each_name_that_leads_to_it(world: World, shop: Path) -> None:
    lesson = add(world, shop)
    (shop / "link").symlink_to("src")
    (shop / "cart.py").symlink_to("src/cart.py")
    for name in ("src/cart.py", "link/cart.py", "cart.py"):
        hits = places.about(world.fresh(cwd=shop), name)
        assert [hit.entry.id for hit in hits] == [lesson], name


def test_a_look_and_a_diff_ask_no_remote(world: World, git: Git, tmp_path: Path) -> None:
    code = Partial(git, tmp_path)
    options = {"about": ["src/cart.py::total"]}
    draft = LessonDraft("Totals are in cents", "Divide.\n", options=options)
    lesson = editing.add_lesson(world.fresh(cwd=code.root), draft).id
    put_file(code.root / "src/cart.py", "def total(a):\n    return 5\n")
    shown = look(world, code.root, lesson)
    assert shown.beside.verdict == "changed"
    since = shown.beside.warning.partition(",")[0]
    assert "on " not in since, "since when is not here"
    opened = world.fresh(cwd=code.root, session="s")
    told = before_a_tool(opened, [str(code.root / "src/cart.py")], "", [str(code.root)], ())
    assert [summary.id for summary in told.lessons] == [lesson]
    put_file(code.root / "src/cart.py", "")
    assert look(world, code.root, lesson).beside.verdict == "gone"
    assert renewal.code_diff(world.library.primary, shown)
    assert not code.asked
