"""What a person saves with an editor is looked at when it is read first: masked, named, or read as it was meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ai_lessons import extensions, telling
from ai_lessons.app import edited_files, editing, entries, health, history_of_entries, validation
from ai_lessons.app.answers import ContextQuery
from ai_lessons.app.secrets import fingerprint

if TYPE_CHECKING:
    from app.world import World

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # the one that GitHub's own docs show
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEpAIBAAKCAQEAzS3cR3tV4lu3s0meWhere0nly0ne\n" * 3
    + "-----END RSA PRIVATE KEY-----\n"
)
PATH = "shop/lessons/token.md"


def lesson(body: str, *keys: str) -> str:
    return "\n".join(("---", "kind: lesson", "title: Token for CI", *keys, "---", body, ""))


def messages(world: World) -> list[str]:
    return [problem.message for problem in validation.validate(world.library).problems]


@pytest.mark.parametrize("secret", [TOKEN, KEY])
def test_a_secret_that_was_saved_by_hand_is_masked_wherever_it_would_be_shown(
    world: World, secret: str
) -> None:
    world.write(PATH, lesson(f"Use this for the robot:\n{secret}", f"contexts:\n  - {TOKEN}"))
    library = world.library
    shown = entries.show(library, PATH)
    answers = [
        library.primary.learned and world.search("token for CI robot"),
        shown,
        telling.context.find_context(library, ContextQuery(project="shop", query="robot")),
        entries.list_entries(library),
        history_of_entries.diff(library, PATH),
    ]
    assert secret.split("\n")[-2 if "\n" in secret else 0] not in "".join(map(repr, answers))
    assert TOKEN not in "".join(map(repr, answers))
    assert "Use this for the robot" in shown.body
    assert any("masked" in note for note in shown.notes)
    assert any("masked" in note for note in world.search("token for CI robot").notes)
    (check,) = (check for check in health.doctor(library) if check.name == "secrets")
    assert (check.state, PATH in check.detail) == ("warning", True)


def test_a_change_of_such_a_file_keeps_its_text_and_a_reason_in_it_shows_it(world: World) -> None:
    world.committed(PATH, lesson(f"Use {TOKEN} now."))
    editing.update(world.library, PATH, title="Token for the robot")
    assert f"Use {TOKEN} now." in world.read(PATH)
    assert "Use … now." in entries.show(world.library, PATH).body
    world.write(
        PATH,
        lesson(f"Use {TOKEN} now.", f"allow_secrets:\n  - {fingerprint(TOKEN)}: it is of the docs"),
    )
    assert TOKEN in entries.show(world.library, PATH).body
    assert [check.state for check in health.doctor(world.library) if check.name == "secrets"] == [
        "ok"
    ]


def test_keys_that_are_nearly_ours_are_named_and_those_of_other_programs_are_not(
    world: World,
) -> None:
    world.write(
        PATH,
        lesson(
            "Text.",
            "confidnce: high",
            "abut:\n  - code: a.py",
            "applies-to: [a]",
            "Tags: [a]",
            "mood: ok",
        ),
    )
    named = messages(world)
    assert named == [
        "the key 'confidnce' says nothing here: did you mean 'confidence'?",
        "the key 'abut' says nothing here: did you mean 'about'?",
        "the key 'applies-to' says nothing here: did you mean 'applies_to'?",
    ]
    assert [note.partition(": ")[2] for note in entries.show(world.library, PATH).notes] == named
    world.write(PATH, "---\ntitle: A page\ntag: x\nversion: 3\n---\nText.\n")
    assert messages(world) == []


def test_a_blank_first_line_is_read_as_what_it_means_and_named(world: World) -> None:
    world.write(PATH, "\n \n" + lesson("Text."))
    assert world.titles() == ["Token for CI"]
    assert "a blank line stands before the frontmatter" in messages(world)[0]
    editing.update(world.library, PATH, confidence="high")
    assert "confidence: high" in world.read(PATH)
    world.write("shop/docs/page.md", "\n---\n\nA line across, and text.\n\n---\n")
    assert entries.show(world.library, "shop/docs/page.md").body.startswith("\n---\n\nA line")


def test_frontmatter_that_is_read_as_text_is_named(world: World) -> None:
    world.write(PATH, lesson("Text.").removesuffix("---\nText.\n") + "\nText.\n")
    assert "the frontmatter has no end" in messages(world)[0]
    assert "the frontmatter has no end" in str(entries.show(world.library, PATH).notes)
    world.write(PATH, "<!-- made by us -->\n" + lesson("Text."))
    assert "a comment stands before the frontmatter" in messages(world)[0]
    world.write(PATH, "---\n\nA line across, and a title: none.\n")
    assert messages(world) == []


def test_a_merge_that_was_left_in_the_frontmatter_is_named_as_one(world: World) -> None:
    torn = "<<<<<<< HEAD\nconfidence: high\n=======\nconfidence: low\n>>>>>>> theirs"
    world.write(PATH, lesson("Text.", torn))
    assert any("markers of a merge conflict" in message for message in messages(world))


CONFLICT = "Always\n<<<<<<< HEAD\nwait one second.\n=======\nwait ten seconds.\n>>>>>>> origin/main"


def test_markers_of_a_merge_are_named_but_for_those_that_a_text_shows(world: World) -> None:
    world.write(PATH, lesson(CONFLICT))
    assert messages(world) == [
        "markers of a merge conflict (<<<<<<<): keep one side, or what both should say"
    ]
    assert any(PATH + ":6" in note for note in entries.show(world.library, PATH).notes)
    world.write(PATH, lesson(f"```\n{CONFLICT}\n```\n\nHeading\n=======\n"))
    assert messages(world) == []


@pytest.mark.plays("lsp")
def test_an_editor_names_all_of_it_while_the_file_is_open(world: World) -> None:
    file = world.write(PATH, "\n" + lesson(f"{CONFLICT}\n{TOKEN}", "confidnce: high"))
    saved = extensions.load("ai_lessons.features.lsp.server:saved")
    notes = list(saved(world.library, file, file.read_text()))
    assert notes[0].row == 0, "the blank line"
    assert TOKEN not in json.dumps([note.text for note in notes])
    assert len(notes) == 4
    broken = edited_files.in_text(PATH, "\n---\nkind: lesson\ntitle: [\n---\nText.\n")
    assert len(broken) == 2
