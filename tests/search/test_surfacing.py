from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ai_lessons.app.answers import Query
from ai_lessons.app.search import MOST, SIMILARITY, near, surfaced
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.search.ranking import Match


def work_on(context: Mapping[str, float | None], tags: Sequence[str] = (), project: str | None = None) -> Query:
    return Query("", context_tags=context, tags=tags, project=project)


def rule_of(entry_id: str, project: str, *tags: str) -> EntrySummary:
    return EntrySummary(entry_id, entry_id, Kind.RULE, entry_id, project, tags, (), f"{project}/rules/{entry_id}.md")


NO_WORK = work_on({})


def hit(rule: str, score: float, text: str = "") -> Match:
    return Match(rule, 0, score, text=text)


def ids(
    *rules: EntrySummary,
    close: dict[str, float] | None = None,
    linked: set[str] | None = None,
    work: Query = NO_WORK,
    **aliases: str,
) -> list[str]:
    found = near("anything", (), [hit(rule, score) for rule, score in (close or {}).items()], {}, complete=True)
    return [one.match.entry_id for one in surfaced(found, rules, linked or set(), work, aliases)]


JIRA = rule_of("r", "jira", "workflows")
CLOSE, FAR = {"r": SIMILARITY}, {"r": SIMILARITY - 0.01}


@pytest.mark.parametrize(
    ("close", "linked", "work", "surfaces"),
    [
        (CLOSE, False, work_on({"workflows": None}), True),
        (CLOSE, False, work_on({"workflows": 0.5}), True),
        (CLOSE, False, work_on({"workflows": 0.0}), False),
        (CLOSE, False, work_on({"jira": None}), True),  # the name of its project is a tag of it
        (CLOSE, False, work_on({}, project="jira"), True),
        (CLOSE, False, work_on({}, project="workflows"), True),  # it carries the project as a tag
        (CLOSE, False, work_on({}, ("workflows",)), True),
        (CLOSE, False, work_on({}), False),
        (CLOSE, False, work_on({"other": None}, ("more",), "elsewhere"), False),
        (FAR, False, work_on({"workflows": None}, project="jira"), False),
        ({}, False, work_on({"workflows": None}, project="jira"), False),
        (FAR, True, work_on({}), True),
        ({}, True, work_on({}), True),
    ],
)
def test_a_rule_surfaces_if_it_is_near_and_belongs_or_if_it_is_linked(
    close: dict[str, float], linked: bool, work: Query, surfaces: bool
) -> None:
    assert ids(JIRA, close=close, linked={"r"} if linked else set(), work=work) == (["r"] if surfaces else [])


def test_aliases_are_resolved_on_both_sides() -> None:
    assert ids(JIRA, close=CLOSE, work=work_on({"wf": None}), wf="workflows") == ["r"]
    assert ids(JIRA, close=CLOSE, work=work_on({"workflows": None}), workflows="wf") == ["r"]
    assert ids(JIRA, close=CLOSE, work=work_on({}, project="wf"), workflows="wf") == ["r"]


def test_at_most_a_few_surface_and_the_best_come_first() -> None:
    rules = [rule_of(f"r{n}", "p", "t") for n in range(9)]
    close = {rule.id: 0.9 - n / 100 for n, rule in enumerate(rules)}
    assert ids(*rules, close=close, work=work_on({}, project="p")) == [f"r{n}" for n in range(MOST)]
    near_tag = rule_of("x", "p", "t", "hot")
    assert ids(*rules, near_tag, close=close | {"x": 0.85}, work=work_on({"hot": 2.0}, project="p"))[0] == "x"


def test_a_linked_rule_counts_as_just_close_enough() -> None:
    others = [rule_of("a", "p"), rule_of("b", "p")]
    close = {"a": 0.9, "b": SIMILARITY - 0.2}
    assert ids(*others, close=close, linked={"b"}, work=work_on({}, project="p")) == ["a", "b"]
    found = near("q", (), [hit("b", 0.1)], {}, complete=True)
    (one,) = surfaced(found, others[1:], {"b"}, work_on({}), {})
    assert (one.score, dict(one.factors)) == (SIMILARITY, {"match": SIMILARITY, "context": 1.0})


def test_without_vectors_words_decide() -> None:
    text = [hit("half", 3.0, "rotate the signing key"), hit("third", 9.0, "a key")]
    found = near("how do I rotate the signing key of production", text, (), {}, complete=False)
    assert {rule: one.enough for rule, one in found.items()} == {"half": True, "third": False}


def test_the_title_has_words_too() -> None:
    found = near("rotate keys", [hit("r", 1.0, "every month")], (), {"r": "Rotate all keys"}, complete=False)
    assert found["r"].enough


def test_a_rule_far_away_by_its_vector_is_not_saved_by_some_words() -> None:
    text = [hit("r", 9.0, "rotate the key")]
    query = "rotate the key of production"
    assert not near(query, text, [hit("r", 0.3)], {}, complete=True)["r"].enough
    assert not near(query, text, [hit("r", 0.3)], {}, complete=False)["r"].enough
    assert near(query, text, [hit("x", 0.3)], {}, complete=True).keys() == {"x"}
    assert near(query, text, [hit("x", 0.3)], {}, complete=False)["r"].enough


def test_a_rule_that_has_every_word_is_near_whatever_its_vector_says() -> None:
    assert near("ERR_4711", [hit("r", 1.0, "on err_4711 restart")], [hit("r", 0.2)], {}, complete=True)["r"].enough


def test_the_best_passage_stands_for_the_rule() -> None:
    hits = [Match("r", 0, 0.5, "One", "first"), Match("r", 1, 0.9, "Two", "second")]
    assert near("q", (), hits, {}, complete=True)["r"].match.heading == "Two"
