"""What a command line of a shell writes into files, as far as it shows it. Pure.

A text that is printed or stands in a here-document, a file that is moved or copied, what `sed -i` puts in the place of
something. What a program writes by itself is not seen.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ai_lessons.model import expression
from ai_lessons.model.edits import APPENDED, COPIED, MOVED, PART, Edit
from ai_lessons.model.shell import LONGEST, commands_in, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HERE = expression(r"<<-?[ \t]{0,9}(['\"]?)([A-Za-z_]\w{0,60})\1")
_INTO = expression(
    r"(?<![0-9&])(>{1,2})[ \t]{0,9}(?![&(])([^\s;|&<>()'\"]{1,400}|'[^'\n]{1,400}'|\"[^\"\n]{1,400}\")"
)
_TEE = expression(r"\btee[ \t]{1,9}(-a[ \t]{1,9})?([^\s;|&<>()'\"-][^\s;|&<>()'\"]{0,400})")
_PRINTS = expression(r"^[ \t]{0,40}(?:[^\n;&|]{0,200}(?:&&|;)[ \t]{0,9})?(echo|printf)[ \t]")
_SUBSTITUTED = expression(r"s([/|#,])((?:\\.|(?!\1)[^\\\n])*+)\1((?:\\.|(?!\1)[^\\\n])*+)\1")
_SCRIPT_WRITES = expression(
    r"\bopen\([ \t]{0,9}(['\"])([^'\"\n]{1,400})\1[ \t]{0,9},[ \t]{0,9}(?:mode=)?['\"][wax]"
    r"|\bPath\((['\"])([^'\"\n]{1,400})\3\)[ \t]{0,9}\.write_(?:text|bytes)\("
    r"|\b(?:(?:write|append)File(?:Sync)?|File\.write)\([ \t]{0,9}(['\"])([^'\"\n]{1,400})\5[ \t]{0,9},"
)
_INTERPRETERS = frozenset({"python", "pypy", "node", "ruby", "bun", "deno"})
_SIGNS = (">", "tee ", "mv ", "cp ", "sed ", "perl ", "open(", "rite")
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def writes(line: str) -> tuple[Edit, ...]:
    r"""The edits that a line shows, with paths from the folder that it goes into first.

    >>> [(edit.path, edit.new) for edit in writes("cd src && cat > a.py <<'X'\nx = 1\nX")]
    [('src/a.py', 'x = 1\n')]
    """
    text = line[:LONGEST]
    # Most lines write nothing, and are not taken apart
    if not any(sign in text for sign in _SIGNS):
        return ()
    commands = [command.words for command in commands_in(text)]
    folder = ""
    if commands and commands[0][0] == "cd" and len(commands[0]) > 1:
        folder = commands[0][1]
    edits = []
    for edit in (*_printed(text), *_of_programs(commands)):
        # Only the shell knows what a variable holds
        if edit.path not in _NOWHERE and "$" not in edit.path + edit.was:
            edits.append(_below(folder, edit))
    return tuple(edits)


def _below(folder: str, edit: Edit) -> Edit:
    if not folder:
        return edit
    was = edit.was and posixpath.join(folder, edit.was)
    return edit._replace(path=posixpath.join(folder, edit.path), was=was)


def _printed(text: str) -> Iterator[Edit]:
    """Texts that go into files: of here-documents, and what `echo` and `printf` print."""
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        row, at = rows[at], at + 1
        here = _HERE.search(row)
        target = _INTO.search(row) or _TEE.search(row)
        if here:
            body = ""
            while at < len(rows) and rows[at].strip() != here[2]:
                body += f"{rows[at]}\n"
                at += 1
            # and over the word that ends it
            at += 1
            words = row[: here.start()].split()
            if words and program_of(words[0]) in _INTERPRETERS:
                yield from _of_script(body)
            elif target:
                yield _edit(target[1], target[2], body)
        elif target and _PRINTS.match(row):
            for command in commands_in(row):
                if command.words[0] in {"echo", "printf"}:
                    words = [word for word in command.words[1:] if not word.startswith("-")]
                    printed = " ".join(words).replace("\\n", "\n")
                    yield _edit(target[1], target[2], f"{printed}\n")
                    break


def _edit(mark: str | None, target: str, text: str) -> Edit:
    path = target.strip("'\"")
    if mark in {">>", "-a"} or (mark or "").startswith("-a"):
        return Edit(path, "", text, APPENDED)
    return Edit(path, "", text)


def _of_programs(commands: Sequence[tuple[str, ...]]) -> Iterator[Edit]:
    for words in commands:
        name = program_of(words[0])
        plain = [word for word in words[1:] if not word.startswith("-")]
        if name == "git" and plain[:1] == ["mv"]:
            name, plain = "mv", plain[1:]
        if name in {"mv", "cp"} and len(plain) > 1:
            for source in plain[:-1]:
                how = COPIED
                if name == "mv":
                    how = MOVED
                yield Edit(plain[-1], how=how, was=source)
        elif name in _INTERPRETERS and len(words) > 2 and words[1] in {"-c", "-e", "--eval"}:
            yield from _of_script(words[2])
        elif name in {"sed", "gsed", "perl"} and any(_is_in_place(word) for word in words[1:]):
            yield from _substituted(plain)


def _of_script(script: str) -> Iterator[Edit]:
    """The files that a script opens to write, each with all of the script.

    What it writes may stand in it.
    """
    paths: dict[str, None] = {}
    for match in _SCRIPT_WRITES.finditer(script):
        paths[match[2] or match[4] or match[6]] = None
    for path in paths:
        yield Edit(path, "", script, PART)


def _is_in_place(word: str) -> bool:
    return word.startswith(("-i", "-pi", "--in-place", "-ni", "-Ei", "-ri"))


def _substituted(words: Sequence[str]) -> Iterator[Edit]:
    """What a substitution puts into each of the files."""
    new, files = [], []
    for word in words:
        substitutions = list(_SUBSTITUTED.finditer(word))
        new += [match[3] for match in substitutions]
        if not substitutions:
            files.append(word)
    text = "\n".join(new).replace("\\", "")
    for path in files:
        if text:
            yield Edit(path, "", text, PART)
