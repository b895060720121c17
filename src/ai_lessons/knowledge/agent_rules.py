"""Rules as texts that the agents of other tools read: theirs on the way in, ours on the way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import frontmatter, layout
from ai_lessons.knowledge.bundle import Item, made, made_id
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, HANDLE_LENGTH, UNSTATED, Entry, Kind
from ai_lessons.knowledge.passages import blocks, lines_of
from ai_lessons.knowledge.texts import decode, escaped, one_line, split
from ai_lessons.knowledge.yaml_text import mapping_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

# --- in: what a file of instructions states ---

HOSTS = {
    "agents-md": r"AGENTS(?:\.override)?\.md",
    "copilot": r"\.github/copilot-instructions\.md|[^/]+\.instructions\.md",
    "cursor": r"[^/]*\.cursorrules|[^/]+\.mdc|\.cursor/rules/.+\.mdx?",
    "claude": r"(?:\.claude/)?CLAUDE(?:\.local)?\.md|\.claude/rules/.+\.md|MEMORY\.md",
    "windsurf": r"[^/]*\.windsurfrules|\.windsurf/rules/.+\.md",
    "gemini": r"GEMINI\.md",
}
"""The files of each tool's instructions, as the end of a path. `agents-md` takes in those of all the others."""

_FILES = {host: re.compile(f"(?:^|/)({pattern})$") for host, pattern in HOSTS.items()}
_OF_FOLDER = re.compile(r"(?:AGENTS|CLAUDE|GEMINI)(?:\.\w+)?\.md")
_ONE_RULE = re.compile(r"\.mdc$|\.instructions\.md$|(?:^|/)\.(?:cursor|claude|windsurf)/rules/", re.I)
_OURS = re.compile(r"^<!-- (>>>|<<<) ai-lessons[^\n]* \1 -->$\n?", re.M)
_IMPORT = re.compile(r"@\S+\s*")
_WHY = re.compile(r"^[ \t>*-]*(?:\*\*|__)?(?:because|why|reason|rationale)\b:?(?:\*\*|__)?:?[ \t]*(\S.*)$", re.I | re.M)
_LINE = re.compile(r"([A-Za-z]\w*)[ \t]*:[ \t]*(.*)")
_MOST_WHY = 1000


def host_of(path: str) -> tuple[str, str] | None:
    """The agent host whose instructions a file holds, by its path, and the part of the path that says so; else None."""
    matches = ((host, files.search(path)) for host, files in _FILES.items())
    return next(((host, match[1]) for host, match in matches if match), None)


class MarkdownSection(NamedTuple):
    """A part of a text with the headings above it, `line` (from 1) where it begins."""

    title: str
    body: str
    line: int


class Instruction(NamedTuple):
    """One rule as a file states it: `where` it stands, and the files that it is about (none: all)."""

    where: str
    title: str
    body: str
    globs: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The text with single spaces; equal for rules that say the same."""
        return " ".join(self.body.split())


def instructions(name: str, data: bytes, *, split_up: bool = False) -> list[Instruction]:
    """The rules that a file states: one, or with `split_up` one for each section. `name` is its path.

    Text between our own markers is left out. The rules of a file in a folder apply to that folder.
    Raises InvalidEntry: not text.
    """
    text = _without_ours(decode(data.replace(b"\r\n", b"\n"), name).removeprefix("\ufeff"))
    matter, body = split(text)
    matter_fields = matter_of(matter or "")
    folder, _, file = name.rpartition("/")
    stated = (glob.lstrip("/") for key in ("globs", "paths", "applyTo") for glob in matter_fields.get(key, ()))
    globs = tuple(glob for glob in stated if glob not in {"*", "**", "**/*"})
    if not globs and folder and _OF_FOLDER.fullmatch(file) and not folder.startswith("."):
        globs = (f"{folder.removesuffix('/.claude')}/**",)
    parts = sections(body)
    if split_up:
        return [Instruction(f"{name}:{part.line}", part.title or f"From {file}", part.body, globs) for part in parts]
    body = body.strip("\n")
    if not parts:
        return []
    stem = file.partition(".")[0].replace("-", " ").replace("_", " ")
    title = matter_fields.get("description", [""])[0] or next((part.title for part in parts if part.title), "")
    return [Instruction(name, title or (stem if _ONE_RULE.search(name) else f"From {file}"), body, globs)]


def _without_ours(text: str) -> str:
    """The text without the parts between a pair of our markers."""
    kept, begin = 0, -1
    parts: list[str] = []
    for mark in _OURS.finditer(text):
        if mark[1] == ">>>":
            begin = mark.start() if begin < 0 else begin
        elif begin >= 0:
            parts.append(text[kept:begin])
            kept, begin = mark.end(), -1
    return "".join([*parts, text[kept:]])


def joined(instructions: Iterable[Instruction]) -> tuple[list[Instruction], list[tuple[str, str]]]:
    """Each rule once, with the globs of its duplicates; and the duplicates as (where, where the first one is)."""
    kept: dict[str, Instruction] = {}
    left = []
    for instruction in instructions:
        first = kept.setdefault(instruction.words, instruction)
        if first is not instruction:
            globs = tuple(dict.fromkeys(first.globs + instruction.globs)) if first.globs and instruction.globs else ()
            kept[instruction.words] = first._replace(globs=globs)
            left.append((instruction.where, first.where))
    return list(kept.values()), left


def rule(instruction: Instruction, project: str | None, now: datetime) -> Item:
    """The rule as a file, not approved yet."""
    why = _WHY.search(instruction.body)
    file = instruction.where.rpartition(":")[0] if instruction.where.rpartition(":")[2].isdigit() else instruction.where
    rationale = one_line(why[1], _MOST_WHY) if why else f"Stated in {file}, {UNSTATED}"
    entry_id = made_id("instruction", instruction.words)
    stated = {"title": one_line(instruction.title) or one_line(file), "rationale": rationale}
    fields = frontmatter.rule_fields(entry_id, frontmatter.stamp(now), applies_to=instruction.globs, **stated)
    return made(instruction.where, Kind.RULE, project or GLOBAL_PROJECT, instruction.body, fields)


def sections(text: str) -> list[MarkdownSection]:
    """The sections of a text that hold more than imports (`@docs/more.md`), titled by the headings from level 2 on."""
    rows, headings = lines_of(text), [block for block in blocks(text) if block.level]
    parts = []
    above: list[tuple[int, str]] = []
    title, line, start = "", 1, 0
    for heading in [*headings, None]:
        body = rows[start : heading.start if heading else len(rows)]
        if not all(_IMPORT.fullmatch(row) or not row.strip() for row in body):
            parts.append(MarkdownSection(title, "".join(body).strip("\n"), line))
        if heading:
            above = [*(higher for higher in above if higher[0] < heading.level), (heading.level, heading.heading)]
            title = ": ".join(words for level, words in above if level > 1 or level == heading.level)
            line, start = heading.start + 1, heading.end
    return parts


def matter_of(text: str) -> dict[str, list[str]]:
    """Frontmatter of Cursor, which is no YAML (`globs: *.ts,*.tsx`): each key with its values."""
    values: dict[str, list[str]] = {}
    key = ""
    for row in text.split("\n"):
        line = _LINE.fullmatch(row)
        if line:
            key = line[1]
            values[key] = [line[2].strip().strip("'\"")] if key == "description" else _values(line[2])
        elif key and row.strip().startswith("- "):
            values[key] += _values(row.strip()[2:])
    return values


def _values(text: str) -> list[str]:
    """`a, b` or `["a", "b"]`; a comma inside braces divides nothing."""
    inner = text.strip().removeprefix("[").removesuffix("]") if text.strip().endswith("]") else text
    parts = re.findall(r"(?:\{[^}]*(?:\}|\Z)|[^,{])+", inner)
    return [value for part in parts if (value := part.strip().strip("'\""))]


# --- out: rules in force and firm lessons ---

NAME = "ai-lessons rules"
"""The name in our markers of exported rules; the paragraph on how to use the program has its own."""

PREFIX = "ai-lessons-"  # How the names of our files in a folder of rules begin
_MADE_BY = "Approved by a person in the knowledge repository; made by `ai-lessons admin export`, so edit them there."
_STATED = "Stated by a person in the knowledge repository, so edit them there."
_BEGIN, _END = f"<!-- >>> {NAME} >>> -->", f"<!-- <<< {NAME} <<< -->"
_OUR_FILE = re.compile(
    rf"(?:---\n(?:[^\n]*\n)*?---\n)?{re.escape(_BEGIN)}\n.*\n{re.escape(_END)}\n".encode(), re.DOTALL
)
_FENCE_TO_CLOSE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING_MARK = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_MARKER = re.compile(r"<!--(?= (?:>>>|<<<) ai-lessons)")

ExportedEntry = tuple[str, "Entry"]
"""A rule in force or a firm lesson, behind its handle."""


class RuleFiles(NamedTuple):
    """How a tool keeps one rule a file: how its names end, and the lines of frontmatter for a title and globs."""

    suffix: str
    matter: Callable[[str, Sequence[str]], Sequence[str]]


def _cursor(title: str, globs: Sequence[str]) -> Sequence[str]:  # no YAML: Cursor reads globs without quotes
    return f"description: {title}", f"globs: {','.join(globs)}".rstrip(), f"alwaysApply: {str(not globs).lower()}"


RULE_FILES = {
    "claude-rules": RuleFiles(".md", lambda _, globs: mapping_lines({"paths": list(globs)}) if globs else ()),
    "cursor": RuleFiles(".mdc", _cursor),
    "copilot": RuleFiles(
        ".instructions.md",
        lambda title, globs: mapping_lines({"description": title, "applyTo": ",".join(globs) or "**"}),
    ),
    "windsurf": RuleFiles(
        ".md", lambda _, globs: ("trigger: glob", f"globs: {','.join(globs)}") if globs else ("trigger: always_on",)
    ),
}

_PARTS = ((Kind.RULE, "## Rules", _MADE_BY), (Kind.LESSON, "## Lessons", _STATED))
FRAME = sum(len(title) + len(made) + 4 for _, title, made in _PARTS) + 100
"""Characters of a file beside the entries, at most: our headings and markers."""


def whole(entries: Sequence[ExportedEntry]) -> str:
    """The text of a single file with all entries, without markers."""
    parts = (
        (title, made, [section(*entry, 3) for entry in entries if entry[1].kind is kind])
        for kind, title, made in _PARTS
    )
    return "\n\n".join(row for title, made, texts in parts if texts for row in (title, made, *texts))


def file_name(entry: Entry, suffix: str) -> str:
    """The name of an entry's file in a folder of rules."""
    return f"{PREFIX}{layout.slug(entry.title)}-{entry.id[-HANDLE_LENGTH:].lower()}{suffix}"


def rule_file(form: str, handle: str, entry: Entry) -> str:
    """The text of an entry's file in a folder of rules, with the globs that it applies to as frontmatter."""
    made = _MADE_BY if entry.kind is Kind.RULE else _STATED
    matter = RULE_FILES[form].matter(_line(entry.title), [_line(glob) for glob in _globs(entry)])
    return _framed(matter, f"{section(handle, entry, 1)}\n\n{made}")


def skill(project: str, entries: Sequence[ExportedEntry]) -> tuple[str, str]:
    """A skill with the entries of one project: its path below a folder of skills, and its text."""
    name = f"{PREFIX}{layout.slug(project)}"
    about = "every project" if project == GLOBAL_PROJECT else f"the project {_line(project)}"
    titles = "; ".join(_line(entry.title) for _, entry in entries)
    description = f"Rules and lessons of {about}. Read it before working there. About: {titles}"[:_DESCRIPTION]
    matter = mapping_lines({"name": name, "description": description})
    return f"{name}/SKILL.md", _framed(matter, f"# {_line(project)}\n\n{whole(entries)}")


_DESCRIPTION = 1024  # characters that hosts read of a skill's description


def _framed(matter: Sequence[str], text: str) -> str:
    head = "".join(f"{row}\n" for row in ("---", *matter, "---")) if matter else ""
    return f"{head}{_BEGIN}\n{text}\n{_END}\n"


def is_ours(data: bytes) -> bool:
    """Whether an export wrote this file of a folder of rules."""
    return _OUR_FILE.fullmatch(data) is not None


def section(handle: str, entry: Entry, level: int) -> str:
    """An entry as a section below a heading of this level."""
    lines = [f"{'#' * level} {_line(entry.title)} ({handle})"]
    why = entry.pattern.because if entry.pattern else entry.rationale
    lines += [f"Because: {_line(why)}"] if why else []
    globs = ", ".join(f"`{_line(glob).replace('`', '?')}`" for glob in _globs(entry))
    about = [
        *([f"in the project {_line(entry.project)}"] if entry.project != GLOBAL_PROJECT else []),
        *([f"for {globs}"] if globs else []),
    ]
    lines += [f"Applies {' '.join(about)}."] if about else []
    body = _below(level, _safe(entry.body).strip("\n"))
    return "\n\n".join([*lines, *([body] if body else [])])


def _globs(rule: Entry) -> list[str]:
    globs = rule.fields.get("applies_to")
    return [str(glob) for glob in globs] if isinstance(globs, list) else []


def _safe(text: str) -> str:
    """Without what looks like a marker of ours, and with invisible characters as escapes."""
    return _MARKER.sub("<! --", escaped(text.replace("\r\n", "\n")))


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _below(level: int, text: str) -> str:
    """The text with its headings moved below this level, and open fences and comments closed."""
    rows: list[str] = []
    fence = ""
    for row in text.split("\n"):
        mark = _FENCE_TO_CLOSE.match(row)
        if mark and (not fence or (mark[2].startswith(fence) and not mark[3].strip())):
            fence = "" if fence else mark[2]
        elif not fence and (heading := _HEADING_MARK.match(row)):
            rows.append(f"{'#' * min(len(heading[1]) + level, 6)}{row[heading.end(1) :]}")
            continue
        elif not fence and _UNDERLINE.fullmatch(row) and rows and rows[-1].strip():
            rows.append("\\" + row.strip())
            continue
        rows.append(row)
    opened = text.rfind("<!--") > text.rfind("-->")
    return "\n".join([*rows, *([fence] if fence else []), *(["-->"] if opened else [])])
