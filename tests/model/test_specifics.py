import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.answers import ties

PATH, PROJECT = "path of one machine", "name of a project"


def found(text: str) -> list[tuple[str, str]]:
    return [(one.sort, one.value) for one in ties(text, ["shopfront", "ci"])]


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("it is in /home/lovelace/work/x.py.", PATH, "/home/lovelace/work/x.py"),
        (r"C:\Users\ada\notes.txt", PATH, r"C:\Users\ada\notes.txt"),
        ("file:///Users/ada/x", PATH, "/Users/ada/x"),
        ("in Shopfront it fails", PROJECT, "Shopfront"),
    ],
)
def test_what_ties_a_text_to_one_place_is_found(text: str, sort: str, value: str) -> None:
    assert (sort, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "/home/user/x, /Users/you/y, /home/runner/x, /etc/hosts, /usr/bin, ~/.ssh/config, PUT /workflows/home/x",
        "https://site.org/home/ada and $HOME/x and /mnt/c/Windows",
        "the shopfronts, ci and ACMEXIO",
    ],
)
def test_what_stands_in_every_example_is_left_alone(text: str) -> None:
    assert found(text) == []


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=3))
def test_values_are_those_of_the_text_in_their_order(text: str, names: list[str]) -> None:
    start = 0
    for one in ties(text, names):
        assert one.value
        assert text.startswith(one.value, one.start)
        assert one.start >= start
        start = one.start
