"""Every table by kind knows every kind, whichever kinds there are; see CONTRIBUTING, "How to add a kind of entry"."""

import pytest

from ai_lessons.app.answers import Answer, Hit
from ai_lessons.app.contexts import Graph
from ai_lessons.interfaces import output, text
from ai_lessons.interfaces.output import View
from ai_lessons.model import checks, chunks, frontmatter, layout, links, markdown
from ai_lessons.model.config import Chunking
from ai_lessons.model.entries import KINDS, Entry, EntrySummary, Kind, Relation, Status, handle, id_end
from ai_lessons.search import catalog, catalog_update

ID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
VIEW = View()
EVERY = pytest.mark.parametrize("kind", list(Kind), ids=str)


def written(kind: Kind) -> Entry:
    """An entry of the kind with all that is demanded, as a new one is written and read."""
    stated = dict.fromkeys(KINDS[kind].required, "because it is so")
    fields = frontmatter.new_fields(kind, ID, "2026-11-21T20:14:00Z", title="A title", **stated)
    path = layout.new_path(kind, "p", "A title", ID, "2026-11")
    return frontmatter.read_entry(path, markdown.render(fields | {"path": "/x"}, "Words.\n").encode())


def light_of(kind: Kind) -> EntrySummary:
    entry = written(kind)
    fields = catalog_update.summary_fields(entry)
    return EntrySummary(ID, handle(kind, ID), kind, entry.title, "p", (), (), entry.path, "Words.", **fields)


def test_letters_folders_and_names_tell_kinds_apart() -> None:
    assert set(KINDS) == set(Kind)
    assert len({row.letter for row in KINDS.values()}) == len({row.folder for row in KINDS.values()}) == len(Kind)


@EVERY
def test_a_kind_is_written_read_checked_and_found_by_its_folder_and_letter(kind: Kind) -> None:
    entry = written(kind)
    assert (entry.kind, entry.id, entry.status) == (kind, ID, Status.ACTIVE)
    assert checks.check_entry(entry) == []
    where = layout.place(f"p/{kind.folder}/x.md")
    assert where is not None
    assert where.kind is kind
    assert id_end(handle(kind, ID)) == ID[-6:]
    for name in (kind, kind.folder):
        assert catalog.parse_query(f"x kind:{name}")[1].kinds == {kind}


@EVERY
def test_what_a_kind_demands_is_missed(kind: Kind) -> None:
    for key in KINDS[kind].required:
        entry = written(kind)
        lacking = entry._replace(fields={name: value for name, value in entry.fields.items() if name != key})
        assert any(f"needs a {key}" in problem.message for problem in checks.check_entry(lacking))


@EVERY
def test_a_kind_has_passages_and_may_be_linked(kind: Kind) -> None:
    text = " ".join(passage.text for passage in chunks.split(written(kind), Chunking()))
    assert "Words." in text
    assert all("because it is so" in text for key in KINDS[kind].required if key == KINDS[kind].opening)
    assert links.joins(Relation.RELATED_TO, kind, kind)
    assert links.joins(Relation.SUPERSEDES, kind, kind)


@EVERY
def test_a_kind_is_shown_in_text_json_and_graphs(kind: Kind) -> None:
    summary = light_of(kind)
    answer = Answer("q", (Hit(summary),))
    assert KINDS[kind].heading in text.answer(answer, VIEW)
    assert output.encode(answer)[kind.folder][0]["handle"] == summary.handle
    assert set(KINDS[kind].in_results) <= summary.as_json().keys()
    graph = Graph((summary,))
    assert summary.handle in text.dot(graph, VIEW)
    assert summary.handle in text.mermaid(graph, VIEW)
