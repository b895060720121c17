import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import UsageError
from ai_lessons.model import lessons
from ai_lessons.model.lessons import Scope, of_entry, place_of, read_scope

SCOPES = st.just(Scope("global")) | st.builds(Scope, st.sampled_from(["user", "project"]), st.text())


@given(SCOPES)
def test_every_scope_is_read_back_from_both_of_its_spellings(scope: Scope) -> None:
    assert read_scope(scope.tagged) == scope
    assert read_scope(str(scope)) == scope


@given(st.text() | st.from_regex(r"(global|user|project|planet):?.{0,5}", fullmatch=True))
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    try:
        assert str(read_scope(text)) == (text if text not in {"", "Global"} else "global")
    except UsageError:
        assert not lessons.is_scope(text)
        assert text != "global"
        assert text.partition(":")[:2] not in {("user", ":"), ("project", ":")}


@given(SCOPES)
def test_the_place_of_a_scope_gives_the_scope_back_where_it_states_it(scope: Scope) -> None:
    try:
        project = scope.project
    except UsageError:
        return  # no folder can be named so
    assert of_entry(project, str(scope)) == scope
    assert of_entry(project).project == project


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("global", "global"),
        ("user:alex", "global"),
        ("project:/home/alex/myrepo", "myrepo"),
        ("project:C:\\code\\myrepo\\", "myrepo"),
    ],
)
def test_a_scope_has_a_project(text: str, project: str) -> None:
    assert read_scope(text).project == project


@pytest.mark.parametrize("text", ["planet:x", "user", "project", " global", "globally"])
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no scope"):
        read_scope(text)


def test_an_entry_that_was_moved_has_the_scope_of_its_place() -> None:
    assert str(of_entry("web", "user:alex")) == "project:web"
    assert str(of_entry("web", "nonsense")) == "project:web"
    assert str(of_entry("global", "project:/x/web")) == "global"


@pytest.mark.parametrize(
    ("said", "project"), [("jira-api", "jira-api"), ("project:/x/jira-api", "jira-api"), ("user:alex", "global")]
)
def test_where_a_project_is_named_a_scope_is_understood(said: str, project: str) -> None:
    assert place_of(said).project == project
