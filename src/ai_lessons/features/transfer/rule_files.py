"""Rules in force and firm lessons in the files of other tools: how each keeps them, and what stands in them.

Pure.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.features.transfer.arriving import created_of
from ai_lessons.model import expression, layout
from ai_lessons.model.entries import GLOBAL_PROJECT, HANDLE_LENGTH, Entry, Kind
from ai_lessons.model.texts import escaped, mapping_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

# The name in our markers of exported rules. The paragraph on how to use the program has its own.
NAME = "ai-lessons rules"

# How the names of our files in a folder of rules begin
PREFIX = "ai-lessons-"
_MADE_BY = "Approved by a person in the knowledge repository; made by `ai-lessons admin export`, so edit them there."
_STATED = "Stated by a person in the knowledge repository, so edit them there."
_BEGIN, _END = f"<!-- >>> {NAME} >>> -->", f"<!-- <<< {NAME} <<< -->"
_OUR_FILE = expression(
    rf"(?:---\n(?>(?:[^\n]*\n)*?---\n))?{re.escape(_BEGIN)}\n(?:(?!{_END}).)*\n{re.escape(_END)}\n".encode(),
    re.DOTALL,
)
_FENCE_TO_CLOSE = expression(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING_MARK = expression(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = expression(r" {0,3}(?:=+|-+)[ \t]*")
_MARKER = expression(r"<!--(?= (?:>>>|<<<) ai-lessons)")

# A rule in force or a firm lesson, behind its handle.
ExportedEntry = tuple[str, "Entry"]


class RuleFiles(NamedTuple):
    """How a tool keeps one rule a file.

    How its names end, the lines of frontmatter for an entry, and its folder.
    """

    suffix: str
    matter: Callable[[Entry], Sequence[str]]
    folder: Callable[[Entry], str] | None = None


def _claude(entry: Entry) -> Sequence[str]:
    globs = _globs(entry)
    if globs:
        return mapping_lines({"paths": globs})
    return ()


def _cursor(entry: Entry) -> Sequence[str]:
    # no YAML: Cursor reads globs without quotes
    globs = _globs(entry)
    return (
        f"description: {_line(entry.title)}",
        f"globs: {','.join(globs)}".rstrip(),
        f"alwaysApply: {str(not globs).lower()}",
    )


def _copilot(entry: Entry) -> Sequence[str]:
    return mapping_lines(
        {"description": _line(entry.title), "applyTo": ",".join(_globs(entry)) or "**"}
    )


def _windsurf(entry: Entry) -> Sequence[str]:
    globs = _globs(entry)
    if globs:
        return ("trigger: glob", f"globs: {','.join(globs)}")
    return ("trigger: always_on",)


def _qwen(entry: Entry) -> Sequence[str]:
    # no YAML: Qwen Code takes what stands behind the colon
    title = _line(entry.title)
    description = _line(_why(entry)) or title
    return f"name: {title}", f"description: {description}", "type: feedback"


def _compound(entry: Entry) -> Sequence[str]:
    """The frontmatter of a solution.

    What one that was imported states, and else a best practice.
    """
    stated = {}
    for key in SOLUTION_KEYS:
        if key in entry.fields:
            stated[key] = entry.fields[key]
    matter: dict[str, Any] = {
        "title": _line(entry.title),
        "date": created_of(entry)[:10],
        "category": _solution_folder(entry),
        "module": entry.project,
        "problem_type": _solution_type(entry),
        "component": "development_workflow",
        "severity": "medium",
    }
    if entry.pattern and not {"symptoms", "applies_when"} & stated.keys():
        matter["applies_when"] = [_line(entry.pattern.when)]
    # said above, as the schema of a solution writes it
    stated.pop("problem_type", None)
    matter |= stated
    # as many as the schema of a solution allows
    tags = sorted(entry.tags)[:8]
    if tags:
        matter["tags"] = tags
    return mapping_lines(matter)


def _solution_type(entry: Entry) -> str:
    stated = str(entry.fields.get("problem_type", ""))
    if re.fullmatch("[a-z]+(?:_[a-z]+)*", stated):
        return stated
    return "best_practice"


def _solution_folder(entry: Entry) -> str:
    name = _solution_type(entry).replace("_", "-")
    if name == "developer-experience":
        return name
    return f"{name}s"


# What a solution of the compound-engineering plugin states beside title, date and tags. An entry
# keeps it as it is.
SOLUTION_KEYS = (
    "module", "problem_type", "component", "severity", "symptoms", "root_cause", "resolution_type", "applies_when",
    "related_components", "framework_version",
)  # fmt: skip


RULE_FILES = {
    "claude-rules": RuleFiles(".md", _claude),
    "cursor": RuleFiles(".mdc", _cursor),
    "copilot": RuleFiles(".instructions.md", _copilot),
    "windsurf": RuleFiles(".md", _windsurf),
    "qwen": RuleFiles(".md", _qwen, lambda _: "feedback"),
    "compound": RuleFiles(".md", _compound, _solution_folder),
}

_PARTS = ((Kind.RULE, "## Rules", _MADE_BY), (Kind.LESSON, "## Lessons", _STATED))
# Characters of a file beside the entries, at most: our headings and markers.
FRAME = sum(len(title) + len(made) + 4 for _, title, made in _PARTS) + 100


def whole(entries: Sequence[ExportedEntry]) -> str:
    """The text of a single file with all entries, without markers."""
    paragraphs = []
    for kind, title, made in _PARTS:
        texts = [section(handle, entry, 3) for handle, entry in entries if entry.kind is kind]
        if texts:
            paragraphs += [title, made, *texts]
    return "\n\n".join(paragraphs)


def file_name(form: str, entry: Entry) -> str:
    """The name of an entry's file below a folder of rules."""
    kind = RULE_FILES[form]
    folder = ""
    if kind.folder:
        folder = f"{kind.folder(entry)}/"
    tail = entry.id[-HANDLE_LENGTH:].lower()
    return f"{folder}{PREFIX}{layout.slug(entry.title)}-{tail}{kind.suffix}"


def file_pattern(form: str) -> str:
    """A glob of the files below a folder of rules that may be ours."""
    kind = RULE_FILES[form]
    pattern = f"{PREFIX}*{kind.suffix}"
    if kind.folder:
        pattern = f"*/{pattern}"
    return pattern


def rule_file(form: str, handle: str, entry: Entry) -> str:
    """The text of an entry's file in a folder of rules, with the globs that it applies to as frontmatter."""
    made = _STATED
    if entry.kind is Kind.RULE:
        made = _MADE_BY
    return _framed(RULE_FILES[form].matter(entry), f"{section(handle, entry, 1)}\n\n{made}")


def skill(
    project: str, entries: Sequence[ExportedEntry], projects: Collection[str]
) -> tuple[str, str]:
    """A skill with the entries of one of these projects.

    Its path below a folder of skills, and its text.
    """
    name = layout.slug(project)
    if name != project and sum(layout.slug(other) == name for other in projects) > 1:
        # C++ beside C#
        name += f"-{sha256(project.encode()).hexdigest()[:6]}"
    name = f"{PREFIX}{name}"
    if project == GLOBAL_PROJECT:
        about = "every project"
    else:
        about = f"the project {_line(project)}"
    titles = "; ".join(_line(entry.title) for _, entry in entries)
    # hosts read 1,024 characters of a skill's description
    description = f"Rules and lessons of {about}. Read it before working there. About: {titles}"[
        :1024
    ]
    matter = mapping_lines({"name": name, "description": description})
    return f"{name}/SKILL.md", _framed(matter, f"# {_line(project)}\n\n{whole(entries)}")


def _framed(matter: Sequence[str], text: str) -> str:
    head = ""
    if matter:
        head = "\n".join(("---", *matter, "---", ""))
    return f"{head}{_BEGIN}\n{text}\n{_END}\n"


def is_exported_rule(data: bytes) -> bool:
    """Whether an export wrote this file of a folder of rules."""
    return _OUR_FILE.fullmatch(data) is not None


def section(handle: str, entry: Entry, level: int) -> str:
    """An entry as a section below a heading of this level."""
    paragraphs = [f"{'#' * level} {_line(entry.title)} ({handle})"]
    why = _why(entry)
    if why:
        paragraphs.append(f"Because: {_line(why)}")
    where = _applies_to(entry)
    if where:
        paragraphs.append(f"Applies {where}.")
    body = _below(level, _safe(entry.body).strip("\n"))
    if body:
        paragraphs.append(body)
    return "\n\n".join(paragraphs)


def _why(entry: Entry) -> str:
    """The reason that an entry states."""
    if entry.pattern:
        return entry.pattern.because
    return entry.rationale


def _applies_to(entry: Entry) -> str:
    """Project and files that an entry is about, in words; empty for all."""
    words = []
    if entry.project != GLOBAL_PROJECT:
        words.append(f"in the project {_line(entry.project)}")
    globs = []
    for glob in _globs(entry):
        # it stands between two of them
        plain = glob.replace("`", "?")
        globs.append(f"`{plain}`")
    if globs:
        words.append(f"for {', '.join(globs)}")
    return " ".join(words)


def _globs(rule: Entry) -> list[str]:
    globs = rule.fields.get("applies_to")
    if isinstance(globs, list):
        return [_line(str(glob)) for glob in globs]
    return []


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
        if mark and not fence:
            fence = mark[2]
        elif mark and mark[2].startswith(fence) and not mark[3].strip():
            fence = ""
        elif not fence:
            above = ""
            if rows:
                above = rows[-1]
            row = _moved(row, above, level)  # noqa: PLW2901  # the row as it is written
        rows.append(row)
    if fence:
        rows.append(fence)
    if text.rfind("<!--") > text.rfind("-->"):
        rows.append("-->")
    return "\n".join(rows)


def _moved(row: str, above: str, level: int) -> str:
    """A row outside of code: a heading below this level, and no line below words that makes them one."""
    heading = _HEADING_MARK.match(row)
    if heading:
        # Markdown knows six levels
        deeper = min(len(heading[1]) + level, 6)
        return f"{'#' * deeper}{row[heading.end(1) :]}"
    if _UNDERLINE.fullmatch(row) and above.strip():
        return "\\" + row.strip()
    return row
