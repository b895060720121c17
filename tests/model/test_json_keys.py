"""The keys of answers, as classes declare them."""

from typing import NamedTuple

import pytest

from ai_lessons.model.entries import fields_of, json_fields


def test_keys_are_the_fields_that_are_not_hidden() -> None:
    @json_fields(hidden=("secret",), optional=("note",))
    class Answer(NamedTuple):
        title: str
        secret: str = ""
        note: str = ""

    assert fields_of(Answer) == (("title",), ("note",), False)


def test_a_class_that_declares_its_keys_twice_is_refused() -> None:
    """The outer one would hide the inner one."""
    with pytest.raises(TypeError, match="Answer declares its keys twice"):

        @json_fields("title")
        @json_fields("name")
        class Answer(NamedTuple):
            title: str
            name: str


def test_a_class_below_one_that_declares_keys_may_declare_its_own() -> None:
    @json_fields("title")
    class Short(NamedTuple):
        title: str
        name: str

    @json_fields("title", "name")
    class Long(Short):
        pass

    assert [declared and declared.names for declared in map(fields_of, (Short, Long))] == [
        ("title",),
        ("title", "name"),
    ]
