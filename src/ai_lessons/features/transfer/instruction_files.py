"""Files of instructions for agents.

Which tool reads them, where they hold, what they import and state.
"""

from __future__ import annotations

import posixpath
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem
from ai_lessons.features.transfer.arriving import Item, made, made_id
from ai_lessons.features.transfer.instructions import cut, matter_above
from ai_lessons.git.external_files import top_of
from ai_lessons.git.files import read_file
from ai_lessons.model import expression, frontmatter
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind
from ai_lessons.model.sections import sections
from ai_lessons.model.statements import prescribes
from ai_lessons.model.texts import TITLE_LENGTH, decode, one_line, split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from ai_lessons.model.entries import Entry

# of one file that become an entry each
MOST_STATEMENTS = 1_000
AGENTS = "agents-md"
# The files of each tool's instructions, as the end of a path.
# `agents-md` takes in those of all the others.
HOSTS = {
    AGENTS: r"AGENTS(?:\.override)?\.md",
    "copilot": r"\.github/copilot-instructions\.md|[^/]+\.instructions\.md",
    "cursor": r"[^/]*\.cursorrules|[^/]+\.mdc|\.cursor/rules/.+\.mdx?",
    "qwen": r"(?:\.qwen/)?QWEN(?:\.local)?\.md|\.qwen/team-memory/.+\.md",
    "claude": r"(?:\.claude/)?CLAUDE(?:\.local)?\.md|\.claude/rules/.+\.md|MEMORY\.md",
    "windsurf": r"[^/]*\.windsurfrules|\.windsurf/rules/.+\.md",
    "gemini": r"GEMINI\.md",
}

_FILES = {host: expression(f"(?:^|/)({pattern})$") for host, pattern in HOSTS.items()}
_OF_FOLDER = expression(r"(?:AGENTS|CLAUDE|GEMINI|QWEN)(?:\.\w+)?\.md")
_ONE_RULE = expression(
    r"\.mdc$|\.instructions\.md$|(?:^|/)\.(?:cursor|claude|windsurf)/rules/", re.I
)
_OURS = expression(r"^<!-- (>>>|<<<) ai-lessons[^\n]* \1 -->$\n?", re.M)
_LINE = expression(r"([A-Za-z]\w*)[ \t]*:[ \t]*(.*)")
_BLOCK = expression(r":[ \t]*[>|][-+1-9]*[ \t]*(?=\n)")
_CONTINUED = expression(r"(?:\n[ \t]*){0,3}\n[ \t]+(?!-[ \t])(?=\S)")


def host_of(path: str) -> tuple[str, str] | None:
    """The agent host whose instructions a file holds, by its path, and the part of the path that says so; else None."""
    matches = ((host, files.search(path)) for host, files in _FILES.items())
    return next(((host, match[1]) for host, match in matches if match), None)


class Instruction(NamedTuple):
    """One rule as a `file`, or a statement in it, states it.

    `where` it stands; `globs`: the files that it is about (none: all); `reason`: why, as far as the
    file says it. `wording`: what makes it the same rule elsewhere, without the headings above it.
    """

    where: str
    title: str
    body: str
    globs: tuple[str, ...] = ()
    file: str = ""
    reason: str = ""
    wording: str = ""

    @property
    def words(self) -> str:
        """The text with single spaces; equal for rules that say the same."""
        return " ".join((self.wording or self.body).split())

    @property
    def id(self) -> str:
        """The id that it has as a rule."""
        return made_id("instruction", self.words)


def instructions(
    name: str,
    data: bytes,
    project: str | None = None,
    *,
    split_up: bool = False,
    scope: tuple[str, ...] | None = None,
) -> list[Instruction]:
    """The rules that a file states.

    One, or with `split_up` one for each statement, and one for what only describes.

    `name` is its path, `scope` the globs of the files that it is about (None: what `scope_of`
    says). Text between our own markers is left out. Raises InvalidEntry: not text, or more
    statements than a person reads.
    """
    text, body, matter_fields = _parts_of(name, data)
    _, below = matter_above(body)
    if not sections(below):
        return []
    if scope is None:
        globs = _scope(name, matter_fields)
    else:
        globs = scope
    described = next(iter(matter_fields.get("description", [])), "")
    pieces = cut(body, described)
    if not split_up:
        title = _title_of_all(
            name, below, described, [statement.title for statement in pieces.statements]
        )
        reason = next((statement.reason for statement in pieces.statements if statement.reason), "")
        return [Instruction(name, title, body.strip("\n"), globs, name, reason)]
    if len(pieces.statements) > MOST_STATEMENTS:
        what = f"makes {len(pieces.statements):,} statements, and of one file at most {MOST_STATEMENTS:,} become entries"
        raise InvalidEntry([Problem(name, what)], hint="without --split it comes in as one entry")
    above = text[: len(text) - len(body)].count("\n")
    parts = []
    for statement in pieces.statements:
        where = f"{name}:{statement.line + above}"
        parts.append(
            Instruction(
                where,
                statement.title,
                statement.text,
                globs,
                name,
                statement.reason,
                statement.wording,
            )
        )
    if pieces.described:
        if project:
            called = f"{name} of {project}"
        else:
            called = f"From {name}"
        if not parts and _ONE_RULE.search(name):
            called = _title_of_all(name, below, described, [])
        parts.append(Instruction(name, called, pieces.described, globs, name))
    return parts


def _parts_of(name: str, data: bytes) -> tuple[str, str, dict[str, list[str]]]:
    """The text of a file, what stands below its frontmatter, and what that says, or else a second one."""
    text = without_ours(decode(data.replace(b"\r\n", b"\n"), name).removeprefix("\ufeff"))
    matter, body = split(text)
    second, _ = matter_above(body)
    return text, body, matter_of(second) | matter_of(matter or "")


def _title_of_all(name: str, below: str, described: str, statements: list[str]) -> str:
    """The title of a whole file: the first of its statements, and what the file is called.

    Else only that.
    """
    file = name.rpartition("/")[2]
    stem = file.partition(".")[0].replace("-", " ").replace("_", " ")
    called = described or next((part.title for part in sections(below) if part.title), "")
    if prescribes(described):
        return described
    if not statements:
        return called or (stem if _ONE_RULE.search(name) else f"From {file}")
    if not called or statements[0].startswith(called):
        return statements[0]
    called = one_line(called, TITLE_LENGTH // 2)
    return f"{one_line(statements[0].rstrip('.'), TITLE_LENGTH - len(called) - 3)} — {called}"


# --- where they hold ---

_TOOL_FOLDER = expression(r"(?:^|(.*?)/)\.(?:cursor|claude|windsurf|qwen|github)(?:/|$)")
_EVERYWHERE = frozenset(("*", "**", "**/*"))


def scope_of(place: str, data: bytes) -> tuple[str, ...]:
    """The globs of the files that instructions are about, from the top of the code.

    None: all of them.

    `place` is the path of the file from there. The tools read stated globs from the folder that
    holds their own (`.cursor`, `.claude`, `.github`), and AGENTS.md and its like hold in the folder
    where they lie. Raises InvalidEntry: not text.
    """
    return _scope(place, _parts_of(place, data)[2])


def _scope(place: str, matter_fields: Mapping[str, list[str]]) -> tuple[str, ...]:
    folder, _, file = place.rpartition("/")
    of_tool = _TOOL_FOLDER.match(folder)
    if _OF_FOLDER.fullmatch(file):
        base = re.sub(r"(?:^|/)\.(?:claude|qwen)$", "", folder)
    else:
        if of_tool:
            base = of_tool[1] or ""
        else:
            base = ""
    stated = []
    for key in ("globs", "paths", "applyTo"):
        for glob in matter_fields.get(key, ()):
            stated.append(glob.lstrip("/"))
    globs = [glob for glob in stated if glob not in _EVERYWHERE]
    if matter_fields.get("alwaysApply") == ["true"]:
        # Cursor looks at no globs then
        globs = []
    if not base:
        return tuple(globs)
    if not globs:
        return (f"{base}/**",)
    # a glob without a folder is about files of that name, however deep
    return tuple(f"{base}/{glob}" if "/" in glob else f"{base}/**/{glob}" for glob in globs)


_RULES_FOLDER = expression(r"^(.*/(?:\.(?:cursor|claude|windsurf)/rules|\.github/instructions))/")


def export_place(path: str) -> str:
    """Where an export writes what a file says, by the file's path.

    The file, or its folder of rules; empty: nowhere.
    """
    if host_of(path) is None:
        return ""
    folder = _RULES_FOLDER.match(path)
    if folder:
        return folder[1]
    return path


# --- what they import ---

# How often an imported file may import another one.
MOST_DEEP = 5

_AT_PATH = expression(r"(?:^|(?<=[\s(]))@((?:~|\.{1,2})?/?[\w.-]+(?:/[\w.-]+)*)")
_ALONE = expression(r"\s*(?:[-*+]\s+)?@(\S+)\s*")
_FENCE = expression(r"^ {0,3}(```|~~~)")
_CODE_SPAN = expression(r"(`+)[^`]*\1")


class Mention(NamedTuple):
    """A file that instructions name with `@`; `alone` on its line it is imported."""

    path: str
    alone: bool


def mentions(text: str) -> Iterator[Mention]:
    """The files that a text names as Claude Code and Gemini CLI read it: outside of code."""
    fence = ""
    for row in text.split("\n"):
        if match := _FENCE.match(row):
            if fence == match[1]:
                fence = ""
            else:
                fence = fence or match[1]
            continue
        if fence:
            continue
        if (alone := _ALONE.fullmatch(row)) and ("/" in alone[1] or "." in alone[1]):
            yield Mention(alone[1], alone=True)
            continue
        for match in _AT_PATH.finditer(_CODE_SPAN.sub("", row)):
            if match[1].rstrip(".").lower().endswith((".md", ".mdc", ".txt")):
                yield Mention(match[1].rstrip("."), alone=False)


def import_place(place: str, path: str) -> str | None:
    """The path from the top of the code of a file that the one at `place` imports.

    None: it lies outside.
    """
    if path.startswith(("/", "~")):
        return None
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    if joined == ".." or joined.startswith("../"):
        return None
    return joined


class InstructionFile(NamedTuple):
    """A file of instructions at `path`, shown as `name`.

    `below` is its path below the folder that was named.
    """

    name: str
    path: Path
    below: str


_CAME_WHOLE = (
    "came in as one entry before, and stays one; to split it, delete or reject that one first"
)
_CAME_SPLIT = "came in by statements before, and does so again; to have it as one entry, delete or reject those first"
_OUTSIDE = "it lies outside of the code"
_MENTIONED = "the text only mentions it: name it to import it"
_TOO_DEEP = f"imports are followed {MOST_DEEP} deep"


class InstructionReader:
    """Reads `files` of instructions with what they import, each once.

    `rules` are what they state, `stating` the files that do; `imported` the names of files that
    came with another one. `left_out` are imports that did not come, as (what, reason); `notes` are
    for people. `here`: the ids of entries.
    """

    def __init__(
        self,
        files: Iterable[InstructionFile],
        project: str | None,
        here: Collection[str],
        *,
        split_up: bool,
    ) -> None:
        self._project, self._here, self._split_up = project, here, split_up
        self._read = {file.path for file in files}
        self.rules: list[Instruction] = []
        self.stating: list[Path] = []
        self.imported: set[str] = set()
        self.left_out: list[tuple[str, str]] = []
        self.notes: list[str] = []

    def read(self, file: InstructionFile, data: bytes) -> bool:
        """Take a file in; False if neither it nor what it imports states a rule.

        Raises InvalidEntry: not text.
        """
        before = len(self.rules)
        top = top_of(file.path.parent)
        if top is None:
            # the folder that was named, or that of a file that was named
            top = file.path.parents[file.below.count("/")]
        place = file.path.relative_to(top).as_posix()
        scope = scope_of(place, data)
        self.rules += self._as_before(file.name, data, scope)
        if file.below.endswith(place):
            prefix = file.below.removesuffix(place)
        else:
            prefix = ""
        self._follow(file.name, data, _Importer(top, place, prefix, scope), 1)
        states = len(self.rules) > before
        if states:
            self.stating += [file.path]
        return states

    def _as_before(self, name: str, data: bytes, scope: tuple[str, ...]) -> list[Instruction]:
        """The parts of a file, whole or by statements as it came in before, else as asked.

        A note if that differs.
        """
        parts = instructions(name, data, self._project, split_up=self._split_up, scope=scope)
        if parts and not self._came_in(parts):
            other_way: list[Instruction] = []
            with suppress(InvalidEntry):
                # what makes too many statements did not come in by them
                other_way = instructions(
                    name, data, self._project, split_up=not self._split_up, scope=scope
                )
            if self._came_in(other_way):
                self.notes.append(f"{name} {_CAME_WHOLE if self._split_up else _CAME_SPLIT}")
                return other_way
        return parts

    def _came_in(self, parts: Sequence[Instruction]) -> bool:
        """Whether most of these are here.

        A file in which one statement is another file's, too, is none of those.
        """
        return 2 * sum(part.id in self._here for part in parts) > len(parts)

    def _follow(self, name: str, data: bytes, importer: _Importer, depth: int) -> None:
        """Read what a text imports, and what that imports, from where the importing text holds."""
        for mention in mentions(data.decode("utf-8", "replace")):
            place = import_place(importer.place, mention.path)
            path = importer.top / (place or "")
            if place is not None and path in self._read:
                continue
            what = f"{name}: @{mention.path}"
            if place is None or depth > MOST_DEEP or not mention.alone:
                if place is None:
                    reason = _OUTSIDE
                elif not mention.alone:
                    reason = _MENTIONED
                else:
                    reason = _TOO_DEEP
                self.left_out.append((what, reason))
                continue
            self._read.add(path)
            try:
                imported, _ = read_file(importer.top, place)
                parts = self._as_before(f"{importer.prefix}{place}", imported, importer.scope)
            except AiLessonsError as error:
                self.left_out.append((what, error.message))
                continue
            self.imported.add(f"{importer.prefix}{place}")
            self.rules += parts
            self._follow(
                f"{importer.prefix}{place}", imported, importer._replace(place=place), depth + 1
            )


class _Importer(NamedTuple):
    """A file that imports others, at `place` below the `top` of the code.

    `prefix` makes of a place there a name.
    """

    top: Path
    place: str
    prefix: str
    scope: tuple[str, ...]


# --- their text ---


def without_ours(text: str) -> str:
    """The text without the parts between a pair of our markers."""
    kept, begin = 0, -1
    parts: list[str] = []
    for mark in _OURS.finditer(text):
        if mark[1] == ">>>":
            if begin < 0:
                begin = mark.start()
        elif begin >= 0:
            parts.append(text[kept:begin])
            kept, begin = mark.end(), -1
    return "".join([*parts, text[kept:]])


def stands_in(entry: Entry, text: str) -> bool:
    """Whether a file says the entry already, row by row, outside of what we wrote into it.

    What only describes came from between the statements of a file, so its rows need not follow each
    other.
    """
    return _rows(entry.body if entry.body.strip() else entry.title) <= _rows(without_ours(text))


def _rows(text: str) -> set[str]:
    """The rows of a text with single blanks, without blank ones."""
    results: set[str] = set()
    for row in text.split("\n"):
        if row.strip():
            results.add(" ".join(row.split()))
    return results


def joined(instructions: Iterable[Instruction]) -> tuple[list[Instruction], list[tuple[str, str]]]:
    """Each rule once, with the globs of its duplicates.

    And the duplicates as (where, where the first one is).
    """
    kept: dict[str, Instruction] = {}
    left = []
    for instruction in instructions:
        first = kept.setdefault(instruction.words, instruction)
        if first is not instruction:
            if first.globs and instruction.globs:
                globs = tuple(dict.fromkeys(first.globs + instruction.globs))
            else:
                globs = ()
            kept[instruction.words] = first._replace(globs=globs)
            left.append((instruction.where, first.where))
    return list(kept.values()), left


def rule(instruction: Instruction, project: str | None, now: datetime) -> Item:
    """The rule as a file, not approved yet. Its reason is empty where the source states none."""
    fields = frontmatter.rule_fields(
        instruction.id,
        frontmatter.stamp(now),
        title=one_line(instruction.title) or one_line(instruction.file),
        applies_to=instruction.globs,
        source_path=instruction.file,
    )
    # in other people's instructions the paragraph of a reason may be the rest of the file
    fields["rationale"] = one_line(instruction.reason, 1_000)
    return made(instruction.where, Kind.RULE, project or GLOBAL_PROJECT, instruction.body, fields)


def matter_of(text: str) -> dict[str, list[str]]:
    """Frontmatter of Cursor, which is no YAML (`globs: *.ts,*.tsx`): each key with its values.

    A text over several lines (`>-`, `|`, or indented below its key) is one line.
    """
    values: dict[str, list[str]] = {}
    key = ""
    for row in _CONTINUED.sub(" ", _BLOCK.sub(":", text)).split("\n"):
        line = _LINE.fullmatch(row)
        if line:
            key = line[1]
            values[key] = (
                [line[2].strip().strip("'\"")] if key == "description" else _values(line[2])
            )
        elif key and row.strip().startswith("- "):
            values[key] += _values(row.strip()[2:])
    return values


def _values(text: str) -> list[str]:
    """`a, b` or `["a", "b"]`; a comma inside braces divides nothing."""
    if text.strip().endswith("]"):
        inner = text.strip().removeprefix("[").removesuffix("]")
    else:
        inner = text
    parts = re.findall(r"(?:\{[^}]*(?:\}|\Z)|[^,{])+", inner)
    return [value for part in parts if (value := part.strip().strip("'\""))]
