from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.evaluation import Names, specifics
from ai_lessons.knowledge.generic import diff, generic, generic_words
from ai_lessons.knowledge.passages import code_blocks

NAMES = Names(("Ada Lovelace",), ("shopfront", "my-host"), ("acme.io",))
LESSON = """---
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: the deploy of shopfront to db.acme.io fails
tags: [deploy, shopfront]  # kept
pattern:
  when: shopfront deploys   # a comment
  dont: wait for Ada Lovelace
  because: the log is in /home/ada/shop.log
---
See http://buildbox:8080/job. It is `PUT`, not `ssh ada@acme.io`:

```sh
ssh db.acme.io
```

1. then

   ~~~
   in a list
   ~~~

       and indented
"""


def test_code_goes_and_names_make_way_and_all_else_stays() -> None:
    made = generic(LESSON, NAMES)
    assert made.text == (
        LESSON[: LESSON.index("title:")]
        + "title: the deploy of PROJECT to HOST fails\n"
        + "tags: [deploy, shopfront]  # kept\n"
        + "pattern:\n  when: PROJECT deploys   # a comment\n  dont: wait for NAME\n  because: the log is in PATH\n---\n"
        + "See http://buildbox:8080/job. It is `PUT`, not CODE:\n\n(code left out)\n\n1. then\n\n   (code left out)\n\n"
        + "   (code left out)\n"
    )


def test_it_says_what_made_way() -> None:
    assert generic(LESSON, NAMES).replaced == (
        "name of a project shopfront -> PROJECT (2 times)",
        "host db.acme.io -> HOST",
        "name of a person Ada Lovelace -> NAME",
        "path of one machine /home/ada/shop.log -> PATH",
        "a block of code -> (code left out) (3 times)",
        "inline code -> CODE",
    )


def test_a_text_without_names_is_the_same() -> None:
    text = "---\ntitle: PUT replaces\n---\n# PUT\n\n- a list\n  - with `GET` in it\n\n    and more of the item\n"
    assert generic(text, NAMES) == (text, ())


def test_a_fence_that_is_never_closed_takes_the_rest() -> None:
    assert generic("a\n\n````\n```\nsecret sauce\n").text == "a\n\n(code left out)\n"


def test_a_title_stays_a_title() -> None:
    title = " ".join(["a@b.io"] * 33)
    made = generic(f"---\ntitle: {title}\n---\n")
    assert len(markdown.parse(made.text).fields["title"]) <= 200


def test_a_sentence_is_made_generic_by_itself() -> None:
    assert generic_words("ask Ada Lovelace", NAMES).text == "ask NAME"


def test_code_in_the_frontmatter_goes_too() -> None:
    text = "---\ntitle: t\nrationale: |\n  Because.\n\n  ```\n  run --it\n  ```\n---\n"
    assert markdown.parse(generic(text).text).fields["rationale"] == "Because.\n\n(code left out)\n"


def test_the_difference_is_a_unified_diff() -> None:
    assert diff("a\nb\n", "a\nc\n", "x.md") == "--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert diff("a", "a") == ""


PIECES = st.sampled_from(
    ["```", "~~~", "\n", "\n\n", "    ", "- ", "1. ", "`", "x", "shopfront", "my-", "db.acme.io", " ",
     "ada@engine.dev", "/home/ada/x", "Ada Lovelace", "<pre>", "</pre>", "\t", "HOST", "NAME", "@", "http://"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join))
@example("- x\n\n          ~~~\na")
def test_doing_it_again_changes_nothing_and_nothing_specific_is_left(body: str) -> None:
    text = f"---\ntitle: t\n---\n{body}"
    once = generic(text, NAMES)
    assert generic(once.text, NAMES).text == once.text
    assert code_blocks(markdown.parse(once.text).body) == ()
    left = {one.value for one in specifics(once.text, NAMES)}
    assert left <= {"HOST", "NAME"}


@pytest.mark.parametrize("parts", [{"when": "on db.acme.io"}, {"do": 3}, "WHEN a -> DO b", ["x"]])
def test_a_pattern_of_any_shape_is_left_as_it_is_written(parts: object) -> None:
    text = markdown.render({"title": "t", "pattern": parts}, "")
    assert markdown.parse(generic(text, NAMES).text).fields["title"] == "t"
