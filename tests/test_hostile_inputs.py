"""Every input that the fuzzer ever found something with, and short looks for new ones; see `bench/fuzz.py`."""

import pytest
from bench.fuzz import CORPUS, TARGETS, corpus
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KEPT = [(target, file.name) for target in TARGETS for file in sorted(corpus(target).glob("*"))]
ODD = [
    b"", b"\0", b"\xff", b"---\n", b"---\n---\n", b"---\nid: x\n---\n", b"{}", b"[]", b"{" * 9000, b"[" * 9000,
    b"\n" * 9000,
]  # fmt: skip


@pytest.mark.parametrize(("target", "name"), KEPT)
def test_what_was_found_once_is_answered_now(target: str, name: str) -> None:
    TARGETS[target]((corpus(target) / name).read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_odd_bytes_are_a_value_or_an_error_that_is_documented(target: str) -> None:
    for data in ODD:
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(data=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes_are_a_value_or_an_error_that_is_documented(target: str, data: bytes) -> None:
    TARGETS[target](data)


def test_every_folder_of_inputs_belongs_to_a_target() -> None:
    assert {folder.name for folder in CORPUS.glob("*/")} <= TARGETS.keys()
