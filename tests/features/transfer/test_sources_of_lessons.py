"""The block that says where a lesson comes from goes out in the words of the format, and comes back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.learning.usages import Usages
from ai_lessons.features.transfer import counted
from ai_lessons.features.transfer.arriving import Item
from ai_lessons.features.transfer.groove import learning, read
from ai_lessons.model import lessons
from ai_lessons.model.checks import check_entry
from ai_lessons.model.entries import Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.tallies import NOTHING, UsageTally
from model.test_origins import BLOCKS, JSON, KEYS, entry_with

LEARNED = Usages(None)  # type: ignore[arg-type]  # it asks no repository here
USAGE = counted.usage_stats(LEARNED, UsageTally(NOTHING, 1, 1), None)


@pytest.mark.parametrize("kind", [kind for kind in BLOCKS if kind != "user_created"])
def test_a_block_and_a_scope_survive_the_way_through_an_export(kind: str) -> None:
    block = {key: value for key, value in BLOCKS[kind].items() if key != "how"}
    entry, text = entry_with(block, scope="project:/home/alex/web")
    said = learning(entry, Item("", "a.md", text.encode()), 0.5, USAGE)
    assert said["scope"] == {"Project": "/home/alex/web"}
    assert list(said["source"]) == [lessons.TYPES[kind].name]
    del said["file"]
    document = json.dumps({"version": 1, "learnings": [said]})
    bundle = read(document, "k.json")
    assert bundle.damaged == []
    back = read_entry(bundle.items[0].path, bundle.items[0].data)
    assert (back.kind, back.fields["source"], back.fields["scope"]) == (
        Kind.LESSON,
        block,
        "project:/home/alex/web",
    )
    assert check_entry(back, bundle.items[0].data.decode()) == []


@given(
    st.sampled_from([*BLOCKS.values()])
    | st.dictionaries(KEYS, JSON | st.sampled_from([*lessons.TYPES]))
)
def test_a_valid_block_is_exported_by_the_name_of_its_type(block: dict[str, Any]) -> None:
    if list(lessons.faults(block)):
        return
    entry, _ = entry_with(block)
    exported = learning(entry, Item("", "a.md", b""), 0.5, USAGE)["source"]
    name = exported if isinstance(exported, str) else next(iter(exported))
    assert name == lessons.TYPES[block["type"]].name
