from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.features.tiers import governance
from ai_lessons.features.tiers.governance import PERSONAL, VALUES, PolicyVerdict, answer
from ai_lessons.model.config import RepositoryConfig, parse_config, values_of

ACME, BETA = "enterprise:acme", "enterprise:beta"
OUT, CONTEXT = governance.OUTBOUND, governance.FROM_CONTEXT
AS_IS, GENERIC, RELEASE, REFUSED = PolicyVerdict

ASKED = {
    # (source, target, whose project is worked in): whose policies have a say; no source: written there
    ("", "user", ""): [], ("", "project", ""): [], ("", ACME, ""): [], ("", "user", ACME): [(ACME, PERSONAL)],
    ("", "project", ACME): [], ("", ACME, ACME): [], ("", BETA, ACME): [], ("user", "user", ""): [],
    ("user", "project", ""): [], ("user", ACME, ""): [], ("project", "user", ""): [], ("project", "project", ""): [],
    ("project", ACME, ""): [], (ACME, "user", ""): [(ACME, OUT)], (ACME, "project", ""): [(ACME, OUT)],
    (ACME, ACME, ""): [], (ACME, BETA, ""): [(ACME, OUT)], ("user", "user", ACME): [], ("user", "project", ACME): [],
    ("user", ACME, ACME): [], ("user", BETA, ACME): [],
    ("project", "user", ACME): [(ACME, CONTEXT), (ACME, PERSONAL)], ("project", "project", ACME): [],
    ("project", ACME, ACME): [], ("project", BETA, ACME): [(ACME, CONTEXT)],
    (ACME, "user", ACME): [(ACME, OUT), (ACME, PERSONAL)], (ACME, "project", ACME): [], (ACME, ACME, ACME): [],
    (ACME, BETA, ACME): [(ACME, OUT)], (BETA, "user", ACME): [(BETA, OUT), (ACME, PERSONAL)],
    (BETA, "project", ACME): [(BETA, OUT)], (BETA, ACME, ACME): [(BETA, OUT)], (BETA, BETA, ACME): [],
}  # fmt: skip


def test_every_way_from_tier_to_tier_stands_in_the_table() -> None:
    tiers = ("user", "project", ACME, BETA)
    missing = set(product(("", *tiers), tiers, ("", ACME))) - ASKED.keys()
    # without a project in hand one enterprise is as good as the other
    assert missing == {way for way in missing if BETA in way and not way[2]}


@pytest.mark.parametrize("way", ASKED, ids="-".join)
def test_the_policies_that_have_a_say_are_asked(way: tuple[str, str, str]) -> None:
    assert governance.questions(*way) == ASKED[way]


@pytest.mark.parametrize(
    ("policy", "value", "prose", "tied", "code"),
    [
        (OUT, "block_all", REFUSED, REFUSED, REFUSED), (OUT, "require_approval", RELEASE, RELEASE, RELEASE),
        (OUT, "allow_generic", AS_IS, GENERIC, GENERIC), (OUT, "allow_all", AS_IS, AS_IS, AS_IS),
        (CONTEXT, "block_all", REFUSED, REFUSED, REFUSED), (CONTEXT, "require_approval", RELEASE, RELEASE, RELEASE),
        (CONTEXT, "allow", AS_IS, AS_IS, AS_IS), (PERSONAL, "block", REFUSED, REFUSED, REFUSED),
        (PERSONAL, "allow_non_code", AS_IS, AS_IS, GENERIC), (PERSONAL, "allow", AS_IS, AS_IS, AS_IS),
    ],
)  # fmt: skip
def test_each_value_of_each_policy_means_one_thing(
    policy: str, value: str, prose: PolicyVerdict, tied: PolicyVerdict, code: PolicyVerdict
) -> None:
    assert stated_values({policy: value})[policy] == value
    assert answer(policy, value, code=False, tied=False) is prose
    assert answer(policy, value, code=False, tied=True) is tied
    assert answer(policy, value, code=True, tied=False) is code
    assert answer(policy, value, code=True, tied=True) is code


def test_the_values_of_a_policy_stand_from_the_strictest_to_the_most_open() -> None:
    order = list(PolicyVerdict)
    for policy in governance.POLICIES.values():
        for verdicts in zip(*policy.values.values(), strict=True):
            assert sorted(verdicts, key=order.index, reverse=True) == list(verdicts)
        assert all(sorted(row, key=order.index) == list(row) for row in policy.values.values())


def stated_values(group: Any) -> dict[str, str]:
    return {stated.policy: stated.value for stated in governance.read({"governance": group})}


SAFE = {OUT: "require_approval", CONTEXT: "require_approval", PERSONAL: "allow_non_code"}


VALUE = st.none() | st.booleans() | st.text() | st.sampled_from(["allow", "allow_all", "block"])
KEY = st.sampled_from([*VALUES, "governance", "x"])


@given(st.recursive(VALUE, lambda inner: st.dictionaries(KEY, inner) | st.lists(inner)))
def test_nothing_but_the_exact_word_opens_anything(group: Any) -> None:
    given = group if isinstance(group, dict) else {}
    for policy, value in stated_values(group).items():
        order = VALUES[policy]
        assert order.index(value) <= order.index(SAFE[policy]) or given.get(policy) == value


def test_the_policies_are_settings_of_a_repository_with_safe_defaults() -> None:
    stated = (
        "governance: {outbound_policy: allow_all, personal_learning_during_enterprise: block}\n"
    )
    listed = values_of(parse_config(stated))
    assert listed["governance.outbound_policy"] == "allow_all"
    assert listed["governance.personal_learning_during_enterprise"] == "block"
    assert listed["governance.promotion_from_enterprise_context"] == SAFE[CONTEXT]
    assert values_of(RepositoryConfig())["governance.outbound_policy"] == SAFE[OUT]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "governance:\n  outbound_policy: allow\n",
            2,
            "must be block_all, require_approval, allow_generic or allow_all, not 'allow'",
        ),
        ("governance: allow_all\n", 1, "governance.outbound_policy must be"),
    ],
)
def test_what_no_policy_can_be_is_named_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidEntry) as error:
        parse_config(text)
    assert words in error.value.problems[0].message
    assert error.value.problems[0].line == line
