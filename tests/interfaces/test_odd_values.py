"""Frontmatter whose values are of another shape than they should be: every reader goes on, whoever pushed it."""

from pathlib import Path

import pytest

from ai_lessons.errors import EXIT_BUG
from interfaces.world import Run
from real_world import put_file

KEYS = (
    "title", "tags", "confidence", "source", "from", "status", "category", "contexts", "applies_to", "pattern", "links",
    "created", "reason", "versions", "rationale", "source_path", "source_ref", "content_hash", "path", "interpreter",
    "proves", "review_by", "reviewed", "scope", "allow_secrets", "origin", "start", "unknown",
)  # fmt: skip
VALUES = ("[[1, 2]]", "[{a: [b]}]", "{type: [x], how: {a: 1}}", "1e400", "null", "2026-13-45")
PLACES = {
    "lesson": "p/lessons/{}.md", "rule": "p/rules/{}.md", "doc": "p/docs/v1/{}.md", "script": "p/scripts/v1/{}.sh.md",
}  # fmt: skip
READS = (
    ("recall", "list"), ("recall", "list", "--json"), ("recall", "tags"), ("recall", "versions"), ("recall", "graph"),
    ("recall", "search", "zanzibar", "--explain", "--limit", "50"), ("recall", "search", "zanzibar", "--json"),
    ("recall", "context", "--project", "p", "--path", "src/a.py"), ("admin", "validate"), ("admin", "stats"),
    ("admin", "list-stale"), ("admin", "pending-rules"), ("contribute", "refresh-resource", "--all"),
)  # fmt: skip
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@pytest.mark.parametrize("kind", PLACES)
def test_values_of_any_shape_stop_no_reader(kind: str, knowledge: Path, run: Run) -> None:
    paths = []
    for n, (key, value) in enumerate((key, value) for key in KEYS for value in VALUES):
        name = f"{ALPHABET[n // 32]}{ALPHABET[n % 32]}"
        head = {
            "id": f"01JD3Z8QK5W7M2X9V4T68F3K{name}", "kind": kind, "title": f"T {name}", "rationale": "r", key: value,
        }  # fmt: skip
        text = "---\n" + "".join(f"{k}: {v}\n" for k, v in head.items()) + "---\nzanzibar\n"
        file = put_file(knowledge / PLACES[kind].format(name.lower()), text)
        if kind == "script":
            file.with_suffix("").write_text("#!/bin/sh\necho zanzibar\n")
        paths += [str(file.relative_to(knowledge))] if value == VALUES[len(kind) % 2] else []
    for words in READS:
        done = run(*words)
        assert done.code != EXIT_BUG, (words, done.err)
    for path in paths:
        for words in (("recall", "show"), ("recall", "why")):
            done = run(*words, path)
            assert done.code != EXIT_BUG, (words, path, (knowledge / path).read_text(), done.err)
