"""Two people, two code projects, two companies: what a search sees, where writes go, what crosses over by whose word.

Everything is run as they would, with a home folder of each person; git for what people do by hand.
Ann and Bo work on `shop`, which is acme's, and on `lab`, which is beta's; Bo is the curator of both companies.
"""

import re
from typing import Any

import pytest

from companies_world import CODE, WHY, Person, World, made, world
from interfaces.mcp_world import inside

__all__ = ["made", "world"]


def _there(person: Person, at: str, written: Any) -> str:
    """The file that was written, by where it lies on the machine."""
    found = re.search(
        r"^  path: (\S+)", person.ours(at, "recall", "show", written["handle"]).out, re.MULTILINE
    )
    assert found
    return found[1].replace("~", str(person.home), 1)


def test_a_search_sees_what_applies_where_one_stands_and_never_another_company(
    world: World,
) -> None:
    ann = world.ann
    assert ann.finds("shop", "frobnicate") == {
        "shop frobnicates": "project", "ann frobnicates": "user", "acme frobnicates": "enterprise:acme",
    }  # fmt: skip
    assert ann.finds("lab", "frobnicate") == {
        "lab frobnicates": "project", "ann frobnicates": "user", "beta frobnicates": "enterprise:beta",
    }  # fmt: skip
    assert ann.finds("", "frobnicate") == {"ann frobnicates": "user"}
    secret = ann.handle("lab", "beta frobnicates")
    assert "no entry" in ann.ours("shop", "recall", "show", secret, code=3).err
    assert not any(title.startswith(("beta", "lab")) for title in ann.titles("shop"))
    rows = ann.data("shop", "admin", "tiers")
    assert [(row["tier"], row["state"]) for row in rows] == [
        ("project", "writes"), ("user", "reads"), ("enterprise:acme", "reads"), ("enterprise:beta", "not here"),
    ]  # fmt: skip


def test_a_write_goes_to_the_project_else_to_the_user_else_where_one_says(world: World) -> None:
    ann = world.ann
    assert "/shop/.ai/reference/" in _there(ann, "shop", ann.add("shop", "Of the shop"))
    assert "?? .ai/reference/global/lessons/" in ann.git("shop", "status", "--porcelain")
    assert "/ann/.ai/reference/" in _there(ann, "", ann.add("", "Of Ann"))
    assert "/ann/.ai/reference/" in _there(ann, "shop", ann.add("shop", "Of Ann, too", tier="user"))
    assert "/ann/acme/" in _there(ann, "shop", ann.add("shop", "Of acme", tier="enterprise:acme"))
    company = ann.handle("shop", "acme frobnicates")
    refused = ann.ours("shop", "contribute", "update", company, "--confidence", "low", code=8)
    assert "--tier enterprise:acme" in refused.err
    assert ann.git("acme", "log", "-1", "--format=%s") == "Add lesson: Of acme"


def test_what_a_project_learned_goes_to_a_person_and_on_to_another_project(world: World) -> None:
    ann = world.ann
    world.policy("beta", "promotion_from_enterprise_context", "allow")
    original = ann.handle("lab", "lab frobnicates")
    copied = ann.promote("lab", original, "user")
    assert (copied["outcome"], copied["from"], copied["to"]) == ("copied", "project", "user")
    copy = copied["copy"]["handle"]
    assert ann.titles("") == {"lab frobnicates": "user", "ann frobnicates": "user"}
    assert next(iter(ann.finds("lab", "lab frobnicates").items())) == ("lab frobnicates", "project")
    onward = ann.promote("shop", copy, "project")
    assert onward["outcome"] == "copied"
    why = ann.ours("shop", "recall", "why", onward["copy"]["handle"]).out
    assert f"derived from {copy} lab frobnicates" in why
    assert "source: tested; promoted from" in why
    assert ann.promote("lab", original, "user")["outcome"] == "present"


def test_a_company_takes_a_lesson_through_its_curator_and_everybody_finds_it(world: World) -> None:
    ann, bo = world.ann, world.bo
    added = ann.add("shop", "Widgets of Ann Example need oil", *WHY)
    done = ann.promote(
        "shop", added["handle"], "enterprise:acme", "--reason", "three teams lost widgets"
    )
    proposed = done["proposal"]["handle"]
    assert done["outcome"] == "proposed"
    assert "need oil" not in "".join(ann.titles("acme", "--tier", "enterprise:acme"))
    assert f"proposal sent: proposals/{proposed}" in ann.sync("acme")
    assert f"proposal arrived: proposals/{proposed}" in bo.sync("acme")
    (pending,) = bo.data("shop", "--tier", "enterprise:acme", "admin", "pending-rules")
    assert pending["suggested_by"] == "Ann Example <ann@acme.example>"
    assert "Reason: three teams lost widgets" in pending["report"]
    assert "Evaluation: approve" in pending["report"]
    bo.ours("shop", "--tier", "enterprise:acme", "admin", "approve-rule", proposed, "--yes")
    bo.sync("acme")
    assert bo.finds("shop", "widgets oil")["Widgets of Ann Example need oil"] == "enterprise:acme"
    assert "2 commits came in" in ann.sync("acme")
    assert ann.finds("shop", "widgets oil")["Widgets of Ann Example need oil"] == "project"
    assert "Widgets of Ann Example need oil" in ann.titles("shop", "--tier", "enterprise:acme")
    why = ann.ours("shop", "recall", "why", proposed).out
    assert f"derived from {added['handle']} Widgets of Ann Example need oil" in why
    assert "source: tested; promoted from project:shop" in why
    assert "approved by Bo Example <bo@acme.example>" in why


def test_what_a_curator_turns_down_stays_with_the_reason_and_is_told_again(world: World) -> None:
    ann = world.ann
    handle = ann.handle("shop", "shop frobnicates")
    proposed = ann.promote("shop", handle, "enterprise:acme")["proposal"]["handle"]
    world.decide("acme", "reject-rule", proposed, "--reason", "Only the shop has widgets")
    (record,) = (ann.home / "acme/.ai-lessons/rejected").rglob("*.md")
    assert "Only the shop has widgets" in record.read_text()
    assert "count to three" in record.read_text()
    assert "shop frobnicates" not in ann.titles("shop", "--tier", "enterprise:acme")
    words = ("contribute", "promote", handle, "--to", "enterprise:acme")
    told = r"the same was rejected on \S+: Only the shop has widgets"
    assert re.search(f"warning: {told}", ann.ours("shop", *words).out)


@pytest.mark.parametrize(
    ("value", "words", "code"),
    [
        ("block_all", None, None), ("require_approval", "asked", "asked"), ("allow_generic", None, None),
        ("allow_all", "copied", None),
    ],
)  # fmt: skip
def test_what_a_company_knows_leaves_it_as_its_policy_says(
    world: World, value: str, words: str | None, code: str | None
) -> None:
    """None: refused with exit code 8. Code meets a second policy: what is written to one's own repository meanwhile."""
    ann = world.ann
    world.policy("acme", "outbound_policy", value)
    for title, expected in (("acme frobnicates", words), ("acme releases", code)):
        handle = ann.handle("shop", title)
        if expected:
            assert ann.promote("shop", handle, "user")["outcome"] == expected
            continue
        refused = ann.ours("shop", "contribute", "promote", handle, "--to", "user", code=8).err
        assert re.search(
            r"enterprise:acme.*governance\.\w+ is \w+ \(.*on origin/main at [0-9a-f]{10}", refused
        )
        assert title not in ann.titles("")


@pytest.mark.parametrize(
    ("value", "words", "code"), [("block", 8, 8), ("allow_non_code", 0, 8), ("allow", 0, 0)]
)
def test_what_one_writes_for_oneself_meanwhile_is_as_the_company_says(
    world: World, value: str, words: int, code: int
) -> None:
    ann = world.ann
    world.policy("acme", "personal_learning_during_enterprise", value)
    add = ("--tier", "user", "contribute", "add-lesson", "--title")
    ann.ours("shop", *add, "Only words", "--content", "Call `make` first.", code=words)
    refused = ann.ours("shop", *add, "With code", "--content", "-", stdin=CODE, code=code)
    assert not code or f"governance.personal_learning_during_enterprise is {value}" in refused.err
    assert not code or "hint: write it to the project: --tier project" in refused.err
    ann.ours("lab", *add, "Of the other project", "--content", "Words.")
    ann.ours("", *add, "At home", "--content", "-", stdin=CODE)
    expected = {"At home", "Of the other project"} | ({"Only words"} if not words else set())
    assert set(ann.titles("")) == expected | {"ann frobnicates"} | (
        {"With code"} if not code else set()
    )


def test_a_release_lets_one_text_out_to_one_place_until_nothing_may_leave(world: World) -> None:
    ann = world.ann
    handle = ann.handle("shop", "shop frobnicates")
    asked = ann.promote("shop", handle, "user")
    assert (asked["outcome"], asked["decided_in"], asked["copy"]) == (
        "asked",
        "enterprise:acme",
        None,
    )
    assert str(ann.home) not in ann.git(
        "acme", "log", "-1", "--format=%B", asked["proposal"]["branch"]
    )
    assert "shop frobnicates" not in ann.titles("")
    world.approve("acme", asked["proposal"]["handle"])
    assert ann.promote("shop", handle, "user")["outcome"] == "copied"
    assert ann.titles("")["shop frobnicates"] == "user"
    world.policy("acme", "promotion_from_enterprise_context", "block_all")
    for to in ("user", "enterprise:beta"):
        refused = ann.ours("shop", "contribute", "promote", handle, "--to", to, code=8).err
        assert "governance.promotion_from_enterprise_context is block_all" in refused
    world.policy("acme", "promotion_from_enterprise_context", "require_approval")
    ann.ours("shop", "contribute", "update", handle, "--content", "Counts to four now.")
    assert ann.promote("shop", handle, "user")["outcome"] == "asked"


def test_an_agent_proposes_to_a_company_and_takes_nothing_out_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = world.ann
    handle, company = ann.handle("shop", "shop frobnicates"), ann.handle("shop", "acme frobnicates")
    monkeypatch.chdir(ann.home / "shop")
    named = {"HOME": str(ann.home), "AI_LESSONS_OFFLINE": "1", "AI_LESSONS_AGENT": "claude-code"}
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    with inside(world.folder / "log") as agent:
        found = agent.call("search", query="frobnicate")["lessons"]
        assert {one.get("tier", "user") for one in found} == {"project", "user", "enterprise:acme"}
        assert f"{ann.home}/shop/.ai/reference (project)" in agent.reads(
            "search", query="frobnicate"
        )
        assert "acme frobnicates" in agent.reads("get_resource", resource_id=company)
        written = agent.call("add_lesson", title="Learned here", content="Seen.")
        assert (ann.home / "shop/.ai/reference" / written["path"]).is_file()
        done = agent.call("promote", id=handle, to="enterprise:acme", reason="it blinks everywhere")
        assert done["outcome"] == "proposed"
        assert "ask the user to run" in agent.fails("promote", id=company, to="user")
        names = set(agent.tools())
    assert not {name for name in names if "approve" in name or "reject" in name}
    (pending,) = ann.data("shop", "--tier", "enterprise:acme", "admin", "pending-rules")
    assert (pending["handle"], pending["kind"]) == (done["proposal"]["handle"], "lesson")
    assert "Reason: it blinks everywhere" in pending["report"]
    approve = ("--tier", "enterprise:acme", "admin", "approve-rule", pending["handle"], "--yes")
    assert "a person does" in ann.ours("shop", *approve, code=8).err
