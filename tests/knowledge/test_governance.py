from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.governance import (
    FROM_CONTEXT,
    OUTBOUND,
    PERSONAL,
    STRICTEST,
    VALUES,
    Policies,
    PolicyVerdict,
    Stated,
    answer,
    questions,
    read,
    stricter,
)

ACME, BETA = "enterprise:acme", "enterprise:beta"
OUT, CONTEXT = OUTBOUND, FROM_CONTEXT
AS_IS, GENERIC, RELEASE, REFUSED = PolicyVerdict

ASKED = {
    # (source, target, whose project is worked in): whose policies have a say
    ("user", "user", ""): [],
    ("user", "project", ""): [],
    ("user", ACME, ""): [],
    ("project", "user", ""): [],
    ("project", "project", ""): [],
    ("project", ACME, ""): [],
    (ACME, "user", ""): [(ACME, OUT)],
    (ACME, "project", ""): [(ACME, OUT)],
    (ACME, ACME, ""): [],
    (ACME, BETA, ""): [(ACME, OUT)],
    ("user", "user", ACME): [],
    ("user", "project", ACME): [],
    ("user", ACME, ACME): [],
    ("user", BETA, ACME): [],
    ("project", "user", ACME): [(ACME, CONTEXT), (ACME, PERSONAL)],
    ("project", "project", ACME): [],
    ("project", ACME, ACME): [],
    ("project", BETA, ACME): [(ACME, CONTEXT)],
    (ACME, "user", ACME): [(ACME, OUT), (ACME, PERSONAL)],
    (ACME, "project", ACME): [],
    (ACME, ACME, ACME): [],
    (ACME, BETA, ACME): [(ACME, OUT)],
    (BETA, "user", ACME): [(BETA, OUT), (ACME, PERSONAL)],
    (BETA, "project", ACME): [(BETA, OUT)],
    (BETA, ACME, ACME): [(BETA, OUT)],
    (BETA, BETA, ACME): [],
}


def test_every_way_from_tier_to_tier_stands_in_the_table() -> None:
    tiers = ("user", "project", ACME, BETA)
    missing = set(product(tiers, tiers, ("", ACME))) - ASKED.keys()
    # without a project in hand one enterprise is as good as the other
    assert missing == {way for way in missing if BETA in way and not way[2]}


@pytest.mark.parametrize("way", ASKED, ids="-".join)
def test_the_policies_that_have_a_say_are_asked(way: tuple[str, str, str]) -> None:
    assert questions(*way) == ASKED[way]


@pytest.mark.parametrize(
    ("policy", "value", "prose", "tied", "code"),
    [
        (OUT, "block_all", REFUSED, REFUSED, REFUSED),
        (OUT, "require_approval", RELEASE, RELEASE, RELEASE),
        (OUT, "allow_generic", AS_IS, GENERIC, GENERIC),
        (OUT, "allow_all", AS_IS, AS_IS, AS_IS),
        (CONTEXT, "block_all", REFUSED, REFUSED, REFUSED),
        (CONTEXT, "require_approval", RELEASE, RELEASE, RELEASE),
        (CONTEXT, "allow", AS_IS, AS_IS, AS_IS),
        (PERSONAL, "block", REFUSED, REFUSED, REFUSED),
        (PERSONAL, "allow_non_code", AS_IS, AS_IS, GENERIC),
        (PERSONAL, "allow", AS_IS, AS_IS, AS_IS),
    ],
)
def test_each_value_of_each_policy_means_one_thing(
    policy: str, value: str, prose: PolicyVerdict, tied: PolicyVerdict, code: PolicyVerdict
) -> None:
    assert getattr(read({"governance": {policy: value}}).policies, policy) == value
    assert answer(value, code=False, tied=False) is prose
    assert answer(value, code=False, tied=True) is tied
    assert answer(value, code=True, tied=False) is code


def test_what_is_not_stated_is_the_safe_default() -> None:
    every: list[dict[str, Any]] = [
        {},
        {"governance": None},
        {"governance": {}},
        {"governance": {"outbound_policy": None}},
    ]
    for fields in every:
        assert read(fields) == Stated(Policies("require_approval", "require_approval", "allow_non_code"))


def test_one_that_is_stated_leaves_the_others_at_their_defaults() -> None:
    stated = read({"governance": {"outbound_policy": "allow_all"}, "search": "nonsense elsewhere"})
    assert stated.policies == Policies("allow_all")


@pytest.mark.parametrize("value", ["allow", "ALLOW_ALL", " allow_all", True, 1, ["allow_all"], {"a": 1}, "", 1.5])
def test_a_value_that_means_nothing_is_the_strictest_and_is_named(value: Any) -> None:
    stated = read({"governance": {"outbound_policy": value, "personal_learning_during_enterprise": "allow"}})
    assert stated.policies == Policies("block_all", personal_learning_during_enterprise="allow")
    (note,) = stated.notes
    assert note.startswith("governance.outbound_policy cannot be ")
    assert note.endswith(", so block_all holds")


def test_a_group_that_is_none_closes_everything() -> None:
    for group in ("allow_all", ["allow_all"], 1, True):
        stated = read({"governance": group})
        assert stated.policies == STRICTEST
        assert stated.notes


VALUE = st.none() | st.booleans() | st.text() | st.sampled_from(["allow", "allow_all", "block"])
KEY = st.sampled_from([*VALUES, "governance", "x"])


@given(st.recursive(VALUE, lambda inner: st.dictionaries(KEY, inner) | st.lists(inner)))
def test_nothing_but_the_exact_word_opens_anything(group: Any) -> None:
    found = read({"governance": group}).policies
    said = group if isinstance(group, dict) else {}
    for (policy, order), safe, value in zip(VALUES.items(), Policies(), found, strict=True):
        assert order.index(value) <= order.index(safe) or said.get(policy) == value


def test_of_two_statements_the_stricter_holds_policy_by_policy() -> None:
    open_, mixed = Policies("allow_all", "allow", "allow"), Policies()._replace(**{PERSONAL: "block"})
    assert stricter(open_, mixed) == mixed == stricter(mixed, open_)
    assert stricter(open_, STRICTEST) == STRICTEST
    assert stricter(open_, open_) == open_
