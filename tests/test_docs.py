"""The documentation is true: examples run and print what is shown, links lead somewhere, the reference is current.

After a change of output, `REWRITE_DOCS=1 make tests ARGS=tests/test_docs.py` puts the new output into the pages (look
it over!), and `make reference` makes the generated reference anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
import reference
import yaml

from ai_lessons import errors
from ai_lessons.errors import InvalidEntry
from ai_lessons.interfaces.cli import root
from ai_lessons.interfaces.cli.command import Command, programs, walk
from ai_lessons.model.checks import check_entry
from ai_lessons.model.config import keys, parse_config
from ai_lessons.model.entries import Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import new_path, place
from docs_world import Session, anchor, links, needed, rewritten, steps
from test_architecture import MAY_IMPORT

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *TOP.glob("[ARC]*.md"), TOP / "llms.txt"])
MOST_WORDS = 18_000
EVERY = (
    TOP / "README.md",
    DOCS / "first-hour.md",
    *sorted(DOCS.glob("how-to/*.md")),
    DOCS / "reference/json.md",
)
RUN = [page for page in EVERY if steps(page.read_text(encoding="utf-8"))]
COMMANDS = {path: command for path, command in walk(root) if not getattr(command, "alias_of", None)}
DOCUMENTED = dict(COMMANDS)
for name, group in programs().items():
    DOCUMENTED |= {(name, *path): command for path, command in walk(group)}
EXAMPLE = "recall random"
"""The command that CONTRIBUTING adds to show how; `test_contributing.py` does it."""

NOT_OURS = {
    "machine paths": re.compile(r"/(?:root|work|tmp|Users)/|/home/(?!you\b)"),
    "hosts": re.compile(
        r"\b(?:localhost|127\.0\.0\.1|pypi(?!/)|registry|mirror|proxy)\b", re.IGNORECASE
    ),
    "how it was made": re.compile(
        r"\b(?:TODO|FIXME|claude-(?!(?:code|rules|plugin)\b)\w+|subagent|(contract|design)\.md)\b"
    ),
}


def name_of(page: Path) -> str:
    return page.relative_to(TOP).as_posix()


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The names that a forge gives to the headings of a page."""
    return {anchor(heading) for heading in re.findall(r"^#+ +(.+?) *$", prose(text), re.MULTILINE)}


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_examples_of_a_page_do_what_it_shows(
    page: Path, hermetic: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    session = Session(hermetic, monkeypatch, capfd.readouterr)
    session.begin()
    text = page.read_text(encoding="utf-8")
    before = needed(page)
    if os.environ.get("REWRITE_DOCS"):
        for step in before:
            session.check(step)
        page.write_text(rewritten(text, session), encoding="utf-8")
        return
    every = [*before, *steps(text)]
    for step, following in zip(every, [*every[1:], None], strict=True):
        wrong = session.check(step)
        assert not wrong, f"{name_of(page)}:{step.line}: {step.command}\n{wrong}"
        expected = any(row.startswith("error: ") for row in step.shown or []) or (
            following is not None and following.command == "echo $?"
        )
        assert session.code == 0 or expected, (
            f"{name_of(page)}:{step.line}: exit code {session.code}"
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path, name in links(prose(text)):
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), path
        assert not name or name in anchors(file.read_text(encoding="utf-8")), f"{path}#{name}"


def test_all_pages_together_are_short() -> None:
    # the reference is made of declarations; pages elsewhere are for those who work on the program
    pages = [
        TOP / "README.md",
        *(page for page in DOCS.rglob("*.md") if "reference" not in page.parts),
    ]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= MOST_WORDS


def test_llms_txt_has_the_form_of_llmstxt_org() -> None:
    text = (TOP / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# ai-lessons\n\n> ", text)
    items = re.findall(r"^- (.*)", text, re.MULTILINE)
    assert items
    assert [item for item in items if not re.match(r"\[[^]]+\]\([^)]+\)", item)] == []


def test_the_tests_that_the_page_about_security_names_are_there() -> None:
    files = re.findall(
        r"`(?:tests/)?([\w/]*test_\w+\.py)`", (DOCS / "security.md").read_text(encoding="utf-8")
    )
    assert len(files) > 20
    assert [file for file in files if not (TOP / "tests" / file).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_no_place_where_it_was_made(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert {
        what: found[0] for what, pattern in NOT_OURS.items() if (found := pattern.search(text))
    } == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_only_commands_that_exist(page: Path) -> None:
    # what a worked example adds is tested where the example is carried out
    text = re.sub(
        r"^   ```python$.*?^   ```$",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    groups = {path[0] for path in COMMANDS if len(path) > 1}
    known = {" ".join(path[:n]) for path in COMMANDS for n in (1, 2, 3)} | {
        "contribute add",
        EXAMPLE,
    }
    called = re.findall(
        rf"\b({'|'.join(groups)}) ((?:hooks|config|model) [a-z]+|[a-z]+(?:-[a-z]+)*)", text
    )
    code = {f"{group} {name}" for group, name in called if f"ai-lessons {group} {name}" in text}
    assert code - known == set()


MADE: dict[str, Callable[[str], str]] = {
    "commands": lambda _: reference.commands(), "mcp": lambda _: reference.tools_page(), "settings": reference.settings,
    "editing-tools": lambda _: reference.editing_tools(),
}  # fmt: skip


@pytest.mark.parametrize("page", MADE)
def test_a_page_of_the_reference_is_current(page: str) -> None:
    text = (DOCS / f"reference/{page}.md").read_text(encoding="utf-8")
    assert text == MADE[page](text)


@pytest.mark.parametrize("path", DOCUMENTED, ids=" ".join)
def test_every_command_and_option_is_named_and_has_an_example_in_its_help(
    path: tuple[str, ...],
) -> None:
    text = (DOCS / "reference/commands.md").read_text(encoding="utf-8")
    group = text.partition(f"\n## {path[0]}\n")[2].partition("\n## ")[0]
    section = re.findall(rf"^- `{' '.join(path[1:] or path)}(?=[ `])(.*)", group, re.MULTILINE)[0]
    command = DOCUMENTED[path]
    assert isinstance(command, Command)
    assert command.help
    assert command.examples
    opts = [one.opts for one in command.params if isinstance(one, click.Option) and not one.hidden]
    assert [
        one for one in opts if not {*one} & {*re.split(r"[ `]", section), *reference.NO_TEXT_FOR}
    ] == []


def test_every_error_is_listed_with_its_exit_code() -> None:
    text = (DOCS / "reference/errors.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^- `(\w+)` \((\d+)\):", text, re.MULTILINE))
    tree = [errors.AiLessonsError]
    for one in tree:
        tree += one.__subclasses__()
    assert {
        one.__name__: str(one.exit_code) for one in tree if one.__module__ == errors.__name__
    } == rows
    for code in (errors.EXIT_BUG, errors.EXIT_INTERRUPTED):
        assert f"\n- {code}: " in text


def test_the_import_table_is_the_one_that_is_enforced() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/?` \|([^|]*)\|", text, re.MULTILINE)
    table = {room: set(re.findall(r"`(\w+)`", may)) for room, may in rows if room in MAY_IMPORT}
    assert table == MAY_IMPORT


def test_the_page_about_the_plan_answers_questions_with_files_that_are_there() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+\?) \| ([^|]+) \|$", text, re.MULTILINE)
    named = [re.findall(r"`([\w/]+\.py)`", answer) for _, answer in rows]
    assert len(rows) == 11
    assert all(named)
    assert [
        file for files in named for file in files if not (TOP / "src/ai_lessons" / file).is_file()
    ] == []


FORMAT = (DOCS / "reference/file-format.md").read_text(encoding="utf-8")


def test_the_schemas_are_current_and_linked() -> None:
    files = {
        file.name: file.read_text(encoding="utf-8")
        for file in (DOCS / "reference/schemas").iterdir()
    }
    assert files == reference.schemas()
    pages = {"config.json": "settings.md", "answers.json": "json.md"}
    for name in files:
        page = DOCS / "reference" / pages.get(name, "file-format.md")
        assert f"(schemas/{name})" in page.read_text(encoding="utf-8")


def test_the_schema_of_answers_accepts_what_json_md_shows() -> None:
    shown = [
        json.loads("\n".join(step.shown or []))
        for step in steps((DOCS / "reference/json.md").read_text("utf-8"))
    ]
    schema = reference.answers_schema()
    for answer, name in (
        (shown[0], next(iter(reference.ANSWERS)).replace("`", "")),
        (shown[1][0], "entry"),
    ):
        jsonschema.validate(answer, {"$ref": f"#/$defs/{name}", **schema})
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({}, {"$ref": f"#/$defs/{name}", **schema})


def test_the_schema_of_settings_accepts_what_the_program_accepts() -> None:
    schema = reference.settings_schema()
    starter = DOCS.parent / "template-repo/.ai-lessons/config.yaml"
    jsonschema.validate(yaml.safe_load(starter.read_text(encoding="utf-8")), schema)
    for name, part in reference.SETTING_SCHEMAS.items():
        for word in part.get("enum", ()):
            keys()[name].read(word)
    for value in (
        {"events": "perhaps"},
        {"approval": {"require": "nobody"}},
        {"search": {"chunking": {"target": 0}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(value, schema)
        with pytest.raises(InvalidEntry):
            parse_config(yaml.safe_dump(value))


@pytest.mark.parametrize("kind", list(Kind))
def test_the_schema_of_a_kind_accepts_the_examples_and_needs_what_is_required(kind: Kind) -> None:
    schema = reference.frontmatter_schema(kind)
    matters = re.findall(
        rf"^---\n(id: [^\n]*\nkind: {kind}\n.*?)^---$", FORMAT, re.MULTILINE | re.DOTALL
    )
    assert matters
    for matter in matters:
        fields = yaml.load(matter, Loader=yaml.BaseLoader)  # noqa: S506  # it makes only texts, lists and mappings
        jsonschema.validate(fields, schema)
        for key in schema["required"]:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(
                    {name: value for name, value in fields.items() if name != key}, schema
                )


@pytest.mark.parametrize("kind", ["lesson", "rule", "doc", "script"])
def test_the_examples_of_the_file_format_are_valid(kind: str) -> None:
    found = re.search(
        rf"^`([^`\n]+)`:\n\n```markdown\n(---\nid: [^\n]*\nkind: {kind}\n.*?)^```",
        FORMAT,
        re.M | re.S,
    )
    assert found
    path, text = found[1], found[2]
    side = text.encode() if kind == "script" else None
    entry = read_entry(
        path.removesuffix(".md") if side else path, b"#!/bin/sh\n" if side else text.encode(), side
    )
    assert entry.kind == kind
    assert check_entry(entry, text) == []
    assert place(path)
    if kind == "lesson":
        assert path == new_path(
            entry.kind, entry.project, entry.title, entry.id, str(entry.fields["created"])
        )


@pytest.mark.parametrize("page", sorted(DOCS.glob("how-to/[!R]*.md")), ids=name_of)
def test_a_how_to_begins_with_what_one_has_afterwards_and_with_what_it_needs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.split("\n\n")[1].startswith("Afterwards ")
    assert text.partition("```")[0].count("\nNeeds: [") == 1
