"""From an empty folder to an answer by meaning, with the pinned model and nothing faked."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.app import (
    editing,
    entries,
    health,
    index_upkeep,
    proposals,
    repetitions,
    review,
    search,
    search_index,
    setup,
)
from ai_lessons.app.answers import ContextQuery, Query
from ai_lessons.app.setup import init_repository
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search.model_files import ModelUnavailable, pull
from ai_lessons.telling import context
from app.world import World
from real_world import REAL_CACHE_HOME


@pytest.fixture(scope="session")
def model_dir() -> Path:
    try:
        return pull(REAL_CACHE_HOME / "ai-lessons").path
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")


@pytest.fixture
def library(
    world: World,
    model_dir: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    closing: ExitStack,
) -> Library:
    """A new repository, read with the model; a text of the starters is embedded once for all tests."""
    cache = tmp_path_factory.getbasetemp() / "embedded"
    options = world.options._replace(model_dir=model_dir, cache_dir=cache)
    init_repository(tmp_path / "kb", options, hooks=False)
    return closing.enter_context(Library(tmp_path / "kb", options))


def test_meaning_is_found_and_an_edit_at_once(library: Library, tmp_path: Path) -> None:
    init_repository(tmp_path / "kb", library.options, hooks=False, starters=True)
    state = search_index.model_status(library.primary)
    assert (state.present, state.source) == (True, "folder")
    made = editing.add_lesson(
        library,
        LessonDraft(
            "Rotate the signing keys in spring", "Otherwise the token service refuses every login."
        ),
    )
    done = index_upkeep.reindex(library)
    assert done.missing == 0
    assert done.passages >= 19
    answer = search.search(
        library, Query("nobody can sign in any more because certificates expired")
    )
    assert answer.lessons[0].entry.id == made.id
    assert all(note.startswith(("see also", "unsure: ")) for note in answer.notes)
    text = entries.show(library, made.id).raw
    (tmp_path / "kb" / made.path).write_text(
        text.replace(
            "Otherwise the token service refuses every login.", "Bread needs three hours to rise."
        ).replace("Rotate the signing keys in spring", "Patience with the dough")
    )
    answer = search.search(library, Query("how long must the dough rise"))
    assert answer.lessons[0].entry.title == "Patience with the dough"
    assert health.stats(library).vectors == health.stats(library).passages
    assert all(check.state != "error" for check in health.doctor(library))


def test_a_linked_rule_of_another_project_comes_only_where_it_is_about_the_question(
    library: Library,
) -> None:
    cents = RuleDraft(
        "Store amounts of money as integer cents",
        "Floats lose a cent.",
        "A column.",
        project="billing",
    )
    rule = proposals.suggest_rule(library, cents)
    review.approve_rule(library, rule.handle)
    night = LessonDraft(
        "The export of orders runs at night", "By day it slows the shop down.", project="shop"
    )
    made = editing.add_lesson(library, night._replace(links=[("", rule.id)]))
    index_upkeep.reindex(library)
    answer = search.search(library, Query("when does the export of orders run"))
    assert [hit.entry.id for hit in answer.hits] == [made.id]
    answer = search.search(library, Query("should prices be floats or integers"))
    assert [hit.entry.id for hit in answer.rules] == [rule.id]


SAME = {
    ("PUT replaces the whole workflow", "When you update a workflow with PUT, each field left out is deleted."):
        ("Send the complete body on PUT to workflows", "A partial body on PUT erases the statuses it does not name."),
    ("Money is whole cents", "Amounts are integers of cents; floats lose."):
        ("Never use floats for prices", "Store the price as an integer number of cents: 0.1 + 0.2 is not 0.3."),
    ("Run migrations before deploy", "alembic upgrade head has to be done before new pods start."):
        ("Schema upgrades come first in a release", "New pods fail without them: alembic upgrade before rolling out."),
}  # fmt: skip
OTHERS = [
    ("Jira rate limits at 10 requests per second", "Requests above that get 429 with Retry-After."),
    (
        "Names of workflows must be unique",
        "Creating a second workflow with the same name gives 400.",
    ),
    ("Prices are shown with two decimals", "The template puts a thin space before the currency."),
]


def test_a_lesson_in_other_words_is_noticed(library: Library) -> None:
    made = [editing.add_lesson(library, LessonDraft(*first)).handle for first in SAME]
    for handle, again in zip(made, SAME.values(), strict=True):
        assert handle in " ".join(repetitions.near_copies(library, "\n".join(again)).values())
    for other in OTHERS:
        assert repetitions.near_copies(library, "\n".join(other)) == {}


@pytest.fixture
def starters(
    library: Library, tmp_path: Path, closing: ExitStack
) -> tuple[Library, setup.Initialised]:
    """A repository that began with the starter set, with all vectors."""
    made = init_repository(tmp_path / "starters", library.options, hooks=False, starters=True)
    begun = closing.enter_context(Library(tmp_path / "starters", library.options))
    index_upkeep.reindex(begun)
    return begun, made


def test_what_init_and_the_demo_ask_of_the_starters_is_answered(
    starters: tuple[Library, setup.Initialised],
) -> None:
    library, made = starters
    first = search.search(library, Query(made.question))
    assert (
        first.hits[0].entry.title == "Name files that a merge dropped although nobody deleted them"
    )
    demo = (Path(__file__).parents[2] / ".ci" / "demo").read_text()
    third = demo.partition('say "3.')[2].partition('say "4.')[0]
    questions = re.findall(r'recall search "([^"]+)"( --type script)?', third)
    assert len(questions) == 3
    for question, scripts in questions:
        kinds = frozenset({Kind.SCRIPT}) if scripts else frozenset[Kind]()
        answer = search.search(library, Query(question, Filter(kinds=kinds)))
        assert answer.hits, question
        assert not answer.weak, question


def test_what_one_is_about_to_do_brings_no_lessons_that_are_not_about_it(
    starters: tuple[Library, setup.Initialised],
) -> None:
    library, _ = starters
    near = context.find_context(library, ContextQuery(query="start a subprocess with a pipe"))
    assert "Waiting for a child whose pipe nobody reads hangs for ever" in {
        entry.title for entry in near.entries
    }
    far = context.find_context(library, ContextQuery(query="retry http requests"))
    assert [entry.title for entry in far.entries if "retry" not in entry.snippet] == []
