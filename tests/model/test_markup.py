import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.model.markdown import adoc, notebook, rst


def test_titles_of_restructured_text_become_headings_in_the_order_of_their_lines() -> None:
    text = (
        "=======\nRetries\n=======\n\nHow.\n\nBackoff\n-------\n\n.. note::\n\n   Kept as it is\n   -------------\n\n"
        "Jitter\n~~~~~~\n\nAgain\n-----\n\n==== ====\none  two\n==== ====\n\nshort line here\n---\n"
    )
    assert rst(text) == (
        "# Retries\n\nHow.\n\n## Backoff\n\n   Kept as it is\n   -------------\n\n"
        "### Jitter\n\n## Again\n\n==== ====\none  two\n==== ====\n\nshort line here\n---\n"
    )


def test_marks_of_restructured_text_are_none_of_its_words() -> None:
    text = (
        ".. _queue:\n\n=======\n Depth\n=======\n\nSee :ref:`queues <queues>`, :class:`Worker` and `a <https://a.b>`_.\n\n"
        "Call it so::\n\n   w = 1\n\n.. code-block:: python\n   :linenos:\n\n   :ref:`kept`\n\n"
        ".. toctree::\n\n   pages\n\n"
        ".. note:: Wait for ``it``\n.. versionadded:: 2\n"
    )
    assert [row for row in rst(text).split("\n") if row] == [
        "# Depth", "See `queues`, `Worker` and [a](https://a.b).", "Call it so:", "```", "w = 1", "```",
        "```python", ":ref:`kept`", "```", "Wait for `it`",
    ]  # fmt: skip


def test_titles_and_code_of_asciidoc_are_those_of_markdown() -> None:
    text = (
        "= Retries\n\n== Backoff\n\n[source,sh]\n----\n== no title\ntool -r\n----\n\n....\nplain\n....\n\n=== Jitter\n"
    )
    assert adoc(text) == (
        "# Retries\n\n## Backoff\n\n```sh\n== no title\ntool -r\n```\n\n```\nplain\n```\n\n### Jitter\n"
    )


def test_cells_of_a_notebook_are_text_and_code() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Retries\n", "How."]},
        {"cell_type": "code", "source": "retry(3)", "outputs": [{"text": "secret"}]},
        {"cell_type": "code", "source": []},
    ]
    whole = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "cells": cells}
    assert notebook(json.dumps(whole)) == "# Retries\nHow.\n\n```python\nretry(3)\n```\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 100_000]
)
def test_what_is_no_notebook_says_so(text: str) -> None:
    with pytest.raises(InvalidEntry, match="not a Jupyter notebook"):
        notebook(text)


@given(st.text(alphabet="=-~ab \n", max_size=60))
def test_no_word_of_a_text_is_lost(text: str) -> None:
    for convert in (rst, adoc):
        assert [c for c in convert(text) if c in "ab"] == [c for c in text if c in "ab"]
