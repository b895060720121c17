from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.evaluation import Names, Sort, specifics

KNOWN = Names(people=("Ada Lovelace", "lovelace"), projects=("shopfront",), hosts=("acme.io",))


def found(text: str, names: Names = KNOWN) -> list[tuple[str, str]]:
    return [(one.sort.value, one.value) for one in specifics(text, names)]


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("write to ada@engine.co.uk, please", Sort.ADDRESS, "ada@engine.co.uk"),
        ("curl https://api.acme.io/v1", Sort.HOST, "api.acme.io"),
        ("it is in /home/lovelace/work/x.py.", Sort.PATH, "/home/lovelace/work/x.py"),
        (r"C:\Users\ada\notes.txt", Sort.PATH, r"C:\Users\ada\notes.txt"),
        ("file:///Users/ada/x", Sort.PATH, "/Users/ada/x"),
        ("Ada  Lovelace said so", Sort.PERSON, "Ada  Lovelace"),
        ("in Shopfront it fails", Sort.PROJECT, "Shopfront"),
    ],
)
def test_what_ties_a_text_to_one_place_is_found(text: str, sort: Sort, value: str) -> None:
    assert (sort.value, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "mail user@example.com, noreply@github.com or git@github.com:a/b.git",
        "npm i left-pad@1.3.0 and getty@tty1.service",
        "/home/user/x, /Users/you/y, /home/runner/x, /etc/hosts, /usr/bin, ~/.ssh/config, PUT /workflows/home/x",
        "https://site.org/home/ada and $HOME/x and /mnt/c/Windows",
        "by @Component and @types/node, from @babel/core",
        "the shopfronts and ACMEXIO",
    ],
)
def test_what_stands_in_every_example_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_the_longer_thing_counts_where_two_meet() -> None:
    assert found("ada@db.acme.io") == [("address", "ada@db.acme.io")]


def test_short_words_and_the_words_that_we_put_there_are_no_names() -> None:
    assert found("ci HOST PATH project", Names(("ci", "host"), ("path", "Project"))) == []


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=3))
def test_places_are_those_of_the_text_and_never_overlap(text: str, names: list[str]) -> None:
    end = 0
    for one in specifics(text, Names(tuple(names), tuple(names), tuple(names))):
        assert text[one.start : one.end] == one.value
        assert one.value
        assert one.start >= end
        end = one.end
