"""Everything that can be wrong with a readable entry.

Names problems and repairs; repairs nothing itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, NamedTuple

from ai_lessons import extensions
from ai_lessons.errors import Problem, Refused
from ai_lessons.model import expression, layout, lessons, links
from ai_lessons.model.entries import ABOUT, KINDS, SHARED, Edge, Entry, Kind, Relation, stated_id
from ai_lessons.model.frontmatter import LINK_WEIGHT, is_word
from ai_lessons.model.markdown import key_lines
from ai_lessons.model.texts import BOM, KEY_ORDER, OURS, TITLE_LENGTH, cut

# Keys that a rule must not have: git has these facts, and a file could state others.
FACTS_OF_HISTORY = ("approved", "approved_by", "approved_at", "suggested_by")

_KINDS = tuple(kind.value for kind in Kind)
_RELATIONS = tuple(relation.value for relation in Relation)
_LISTS = ("tags", "versions", "contexts", "applies_to")
_DATE = expression(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?"
)
# Frontmatter of ours, by the key that each entry has, in a text in which it was not found
_OURS = r"---[ \t]*\r?\n(?:(?:\w[\w-]*:|[ \t-])[^\r\n]*\r?\n){0,40}?(?:id|kind|title):"
_NEVER_CLOSED = expression(rf"\ufeff?\s*{_OURS}")
_BEHIND_A_COMMENT = expression(rf"\ufeff?\s*<!--(?:(?!-->).|\n){{0,2000}}-->\s*{_OURS}")
_LOOKS_LIKE_A_VERSION = expression(r"[vV]?\d|(?:latest|main|master|stable|lts|next|current)$")

# (top-level key it is about, or empty; what is wrong)
Complaint = tuple[str, str]


class Fix(NamedTuple):
    """A safe fix: move the entry's files so that the runnable or Markdown file is `path`."""

    path: str
    message: str


def check_entry(entry: Entry, text: str = "") -> list[Problem]:
    """The problems of one entry; with the `text` that holds its frontmatter each has its line."""
    if entry.faults:
        return list(entry.faults)
    if (
        entry.derived
        and not _says_kind(entry)
        and entry.kind is not Kind.RULE
        and not _misspelt_kind(entry)
    ):
        return []
    file = entry.side_path or entry.path
    complaints = []
    for check in _CHECKS:
        for complaint in check(entry):
            complaints.append(complaint)
    if isinstance(ours := entry.fields.get(OURS), dict):
        # the page's own keys mean what its program says
        complaints = [(key, message) for key, message in complaints if not key or key in ours]
    if text and complaints:
        lines = key_lines(text)
    else:
        lines = {}
    problems = []
    for key, message in complaints:
        problems.append(Problem(file, message, lines.get(key, 0)))
    problems += [
        Problem(file, fix.message, 0, fixable=entry.kind is not Kind.RULE) for fix in fixes(entry)
    ]
    return sorted(problems, key=lambda problem: problem.line)


def _says_kind(entry: Entry) -> bool:
    kind = entry.fields.get("kind")
    return isinstance(kind, str) and kind.strip().lower() in _KINDS


def _misspelt_kind(entry: Entry) -> str:
    """The kind that a misspelt `kind` is closest to; empty if none is close."""
    kind = entry.fields.get("kind")
    if not isinstance(kind, str) or _says_kind(entry):
        return ""
    return next(iter(get_close_matches(kind.strip().lower(), _KINDS, n=1, cutoff=0.75)), "")


def _check_identity(entry: Entry) -> Iterator[Complaint]:
    kind, stated = entry.fields.get("kind"), entry.fields.get("id")
    if kind is not None and not _says_kind(entry):
        meant = _misspelt_kind(entry)
        yield (
            "kind",
            f"unknown kind {kind!r}"
            + (f", did you mean {meant!r}?" if meant else f" ({', '.join(_KINDS)})"),
        )
    elif entry.kind is Kind.RULE and isinstance(kind, str) and kind.strip().lower() != Kind.RULE:
        yield "kind", f"says that it is a {kind}, but lies among rules and is read as one"
    if stated is not None and stated_id(stated) is None:
        yield (
            "id",
            f"id {stated!r} is not a ULID; take the line out and run `ai-lessons admin adopt`",
        )
    try:
        layout.check_path(entry.path)
    except Refused as error:
        yield "", error.message


def _check_title(entry: Entry) -> Iterator[Complaint]:
    title = entry.fields.get("title")
    if title is None or (isinstance(title, str) and not title.strip()):
        yield "title", "title is missing" if title is None else "title is empty"
    elif not is_word(title):
        yield "title", "title is not text"
    elif len(str(title)) > TITLE_LENGTH:
        yield "title", f"title has {len(str(title))} characters, more than {TITLE_LENGTH}"
    elif any(unicodedata.category(character) in {"Cc", "Cs"} for character in str(title)):
        yield "title", "title holds a line break or control character"


def _check_choices(entry: Entry) -> Iterator[Complaint]:
    """Required keys and allowed words of `KINDS`."""
    facts = KINDS[entry.kind]
    for key in facts.required:
        value = entry.fields.get(key)
        # an imported rule may state that it has no reason yet: the person who approves it is asked
        # for one
        if not isinstance(value, str) or not (value.strip() or key == "rationale"):
            yield (
                key,
                f"a {entry.kind} needs a {key}" + (": why it is so" if key == "rationale" else ""),
            )
    for key, allowed in facts.choices.items():
        value = entry.fields.get(key)
        if key == "source" and isinstance(value, dict):
            yield from ((key, fault) for fault in lessons.faults(value))
        elif value is not None and value not in allowed:
            yield key, f"{key} {value!r} is none of {', '.join(allowed)}"
    scope = entry.fields.get("scope")
    if (
        entry.kind is Kind.LESSON
        and scope is not None
        and not (isinstance(scope, str) and lessons.is_scope(scope))
    ):
        yield "scope", f"scope {scope!r} is none of global, user:NAME, project:PATH"
    for key in FACTS_OF_HISTORY if entry.kind is Kind.RULE else ():
        if key in entry.fields:
            yield key, f"a rule has no {key}: who suggested and approved it is read from git"


def _check_lists(entry: Entry) -> Iterator[Complaint]:
    for key in _LISTS:
        value = entry.fields.get(key)
        if value is None:
            continue
        if not isinstance(value, list):
            yield key, f"{key} is not a list, one `- value` a line"
            continue
        for item in value:
            if not is_word(item) or not str(item).strip():
                yield key, f"{key} holds {item!r}, which is not text"
            elif key == "applies_to":
                faults = _glob_faults(str(item))
                yield from (
                    (key, f"applies_to {glob!r} is no glob: {fault}") for glob, fault in faults
                )


def _glob_faults(patterns: str) -> Iterator[tuple[str, str]]:
    for glob in layout.divided(patterns) or [patterns]:
        if fault := glob_fault(glob):
            yield glob, fault


def glob_fault(pattern: str) -> str:
    """Why a text is no glob over paths of a project; empty if it is one."""
    if pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:", pattern):
        return "it must be relative to the project"
    if pattern.startswith("!"):
        return "none leaves files out; name those that it is about"
    if ".." in pattern.split("/"):
        return "it leads outside the project"
    if "\\" in pattern or any(unicodedata.category(character) == "Cc" for character in pattern):
        return "folders are divided by `/`"
    without_sets = re.sub(r"\[!?\]?[^\]]{0,255}\]", "", pattern)
    if "[" in without_sets:
        return "a `[` is never closed"
    if pattern.count("{") != pattern.count("}"):
        return "a `{` is never closed"
    return ""


def _check_times(entry: Entry) -> Iterator[Complaint]:
    day = "day such as 2027-05-21"
    for key, form in (
        ("created", "time such as 2026-11-21T20:14:00Z"),
        ("review_by", day),
        ("reviewed", day),
    ):
        if entry.fields.get(key) is not None and day_of(entry.fields[key]) is None:
            yield key, f"{key} {entry.fields[key]!r} is not a {form}"


def day_of(value: object) -> date | None:
    """The date of a value; None if it is none."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.upper()).date()
    except ValueError:
        return None


def _check_pattern(entry: Entry) -> Iterator[Complaint]:
    pattern = entry.fields.get("pattern")
    if "pattern" not in KINDS[entry.kind].fields or pattern is None:
        return
    if not isinstance(pattern, dict):
        yield "pattern", "pattern is not `when:`, `do:` or `dont:`, and `because:`, one a line"
        return
    if "do" in pattern and "dont" in pattern:
        yield "pattern", "pattern has both do and dont"
    if "dont" in pattern and "do" not in pattern:
        action = "dont"
    else:
        action = "do"
    for part in ("when", action, "because"):
        if part not in pattern:
            yield "pattern", f"pattern has no {'do or dont' if part == 'do' else part}"
        elif not is_word(pattern[part]) or not str(pattern[part]).strip():
            yield "pattern", f"pattern.{part} is empty"


def _check_keys_of_features(entry: Entry) -> Iterator[Complaint]:
    for _, problems in extensions.concerning("problems", entry.fields):
        complaints: Iterable[Complaint] = problems(entry)
        yield from complaints


def _check_links(entry: Entry) -> Iterator[Complaint]:
    links = entry.fields.get("links")
    if links is not None and not isinstance(links, list):
        yield "links", "links is not a list of `- relation: id`"
        return
    for item in links or ():
        yield from (("links", fault) for fault in _link_faults(item, entry.id))
    proves = entry.fields.get("proves")
    for target in proves if isinstance(proves, list) else [proves] if proves is not None else []:
        if stated_id(target) is None:
            yield "proves", f"proves {target!r}, which is not an id"


def _link_faults(item: Any, entry_id: str) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"link {item!r} is not `relation: id`"
        return
    edges = {key: target for key, target in item.items() if key != LINK_WEIGHT}
    if len(edges) != 1:
        yield f"link {item!r} must have one relation, and at most a weight beside it"
    for relation, target in edges.items():
        if relation not in _RELATIONS:
            meant = get_close_matches(relation, _RELATIONS, n=1)
            yield f"unknown relation {relation!r}" + (
                f", did you mean {meant[0]!r}?" if meant else ""
            )
        if stated_id(target) is None:
            yield f"{relation} leads to {target!r}, which is not an id"
        elif stated_id(target) == entry_id:
            yield f"{relation} leads to the entry itself"
    weight = item.get(LINK_WEIGHT, 1)
    if not isinstance(weight, int | float) or isinstance(weight, bool) or weight < 0:
        yield f"weight {weight!r} is not a number from 0 up"


_CHECKS: tuple[Callable[[Entry], Iterator[Complaint]], ...] = (
    _check_identity, _check_title, _check_choices, _check_lists, _check_times, _check_pattern,
    _check_keys_of_features, _check_links,
)  # fmt: skip


# --- what a person who saved a file may not have meant ---

_FENCE = expression(r" {0,3}(`{3,}+|~{3,}+)")
# As other programs write them
_READ_IN_CAPITALS = frozenset(("Title", "Tags"))


def doubts(entry: Entry, text: str) -> list[Problem]:
    """What is read, and perhaps not as it was meant.

    `text` is that of the file that holds its frontmatter.

    Nothing of this stops a write: pages of other programs have keys of their own.
    """
    file = entry.side_path or entry.path
    problems = [Problem(file, message, line) for line, message in text_doubts(text)]
    lines = key_lines(text)
    for key, meant in _misspelt_keys(entry):
        message = f"the key {key!r} says nothing here: did you mean {meant!r}?"
        problems.append(Problem(file, message, lines.get(key, 0)))
    return sorted(problems, key=lambda problem: problem.line)


def text_doubts(text: str) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of a file as it was saved.

    A blank first line, frontmatter without an end, a merge that was left in the middle.
    """
    if cut(text).matter is not None:
        if not text.removeprefix(BOM).startswith("---"):
            yield (
                1,
                (
                    "a blank line stands before the frontmatter: other programs read all of it as "
                    "text, so take it out"
                ),
            )
    elif _NEVER_CLOSED.match(text):
        yield (
            1,
            "the frontmatter has no end: all of it is read as text until a line `---` closes it",
        )
    elif _BEHIND_A_COMMENT.match(text):
        yield 1, "a comment stands before the frontmatter, which is read as text: take it out"
    if "<<<<<<< " in text and (line := _line_of_conflict(text)):
        yield line, "markers of a merge conflict (<<<<<<<): keep one side, or what both should say"


def _line_of_conflict(text: str) -> int:
    """The line at which a merge was left in the middle; 0: none was.

    What stands in a fence shows how one looks.
    """
    begun, parted, fence = 0, False, ""
    for number, row in enumerate(text.splitlines(), 1):
        if mark := _FENCE.match(row):
            if fence and mark[1].startswith(fence):
                fence = ""
            else:
                fence = fence or mark[1]
        elif fence:
            continue
        elif row.startswith("<<<<<<< "):
            begun, parted = number, False
        elif row == "=======":
            parted = bool(begun)
        elif row.startswith(">>>>>>> ") and parted:
            return begun
    return 0


def _misspelt_keys(entry: Entry) -> Iterator[tuple[str, str]]:
    """Keys of a file of ours that are nearly one of ours, with that one."""
    brought = (
        lessons.IMPORTED in entry.fields
        or "source_path" in entry.fields
        or "source_url" in entry.fields
    )
    if (
        brought
        or isinstance(entry.fields.get(OURS), dict)
        or not (_says_kind(entry) or not entry.derived)
    ):
        # a page keeps the keys of the program that it came from
        return
    every = {*KINDS[entry.kind].fields, *KEYS_OF_ALL}
    for key in entry.fields:
        if not isinstance(key, str) or key in {*every, *KEY_ORDER, *_READ_IN_CAPITALS}:
            continue
        spelled = key.strip().lower().replace("-", "_")
        near = get_close_matches(spelled, sorted(every - entry.fields.keys()), n=1, cutoff=0.8)
        yield from ((key, meant) for meant in near)


KEYS_OF_ALL = (
    "id", "kind", "title", "tags", "versions", "created", "links", "review_by", "reviewed", "status", ABOUT,
)  # fmt: skip


def fixes(entry: Entry) -> list[Fix]:
    """The move to the path that follows from the frontmatter, if the entry is elsewhere.

    Plain files stay.
    """
    where = layout.place(
        entry.path if entry.kind is not Kind.SCRIPT else layout.side_of(entry.path)
    )
    if where is None or where.kind is None or (entry.derived and not _says_kind(entry)):
        return []
    if where.kind is not entry.kind:
        target = _home(entry)
        return [
            Fix(target, f"a {entry.kind} lies among {where.kind.folder}; it belongs at {target}")
        ]
    if not entry.kind.is_resource or where.bucket == layout.bucket(entry.versions):
        return []
    # a folder that looks like no version is only a folder, as long as the frontmatter names none
    # either
    versioned = where.bucket and (
        where.bucket == SHARED or _LOOKS_LIKE_A_VERSION.match(where.bucket)
    )
    if not entry.versions and not versioned:
        return []
    target = layout.relocated(entry.path, None, entry.versions)
    stated = ", ".join(entry.versions) or "none"
    return [
        Fix(
            target,
            (
                f"versions ({stated}) and folder ({where.bucket or 'none'}) differ; it "
                f"belongs at {target}"
            ),
        )
    ]


def _home(entry: Entry) -> str:
    name = entry.path.rpartition("/")[2]
    created = entry.fields.get("created")
    if entry.kind is Kind.LESSON and isinstance(created, str) and day_of(created):
        return f"{entry.project}/{entry.kind.folder}/{created[:7]}/{name}"
    if entry.kind.is_resource:
        return layout.resource_path(entry.kind, entry.project, entry.versions, name)
    return f"{entry.project}/{entry.kind.folder}/{name}"


def check_together(entries: Iterable[Entry]) -> list[Problem]:
    """Problems between entries: duplicate ids and paths, links without target, circles of links."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    by_id: dict[str, list[Entry]] = defaultdict(list)
    for entry in ordered:
        by_id[entry.id].append(entry)
    problems = [
        Problem(_file(entry), f"has the id of {_file(group[0])}: {entry.id}")
        for group in by_id.values()
        for entry in group[1:]
    ]
    problems += [problem for entry in ordered for problem in _misled(entry, by_id)]
    seen: dict[str, str] = {}
    for path in (
        path for entry in ordered for path in (entry.path, entry.side_path) if path is not None
    ):
        # one name where case, or the way an accent is written, does not count (macOS, Windows)
        for end in (*(match.start() for match in re.finditer("/", path)), len(path)):
            other = seen.setdefault(unicodedata.normalize("NFC", path[:end]).casefold(), path[:end])
            if other != path[:end]:
                what, below = ("file", "") if end == len(path) else ("folder", f"{path[:end]} ")
                problems.append(
                    Problem(
                        path, f"{below}is the same {what} as {other} on systems that ignore case"
                    )
                )
                break
    edges = [Edge(entry.id, *link) for entry in ordered for link in entry.links]
    for relation, ids in links.circles(edges):
        names = []
        for entry_id in ids:
            if entry_id in by_id:
                names.append(_file(by_id[entry_id][0]))
        circle = " -> ".join([*names, names[0]])
        problems.append(
            Problem(_file(by_id[ids[0]][0]), f"{relation} leads round in a circle: {circle}")
        )
    return problems


def _file(entry: Entry) -> str:
    return entry.side_path or entry.path


def _misled(entry: Entry, by_id: Mapping[str, list[Entry]]) -> Iterator[Problem]:
    """Links without target, or between kinds that their relation excludes.

    The original of a promotion may lie in another repository.
    """
    original = lessons.original_of(entry.fields.get("source"))
    for relation, target, _ in entry.links:
        if target not in by_id and stated_id(target) and not entry.derived and target != original:
            yield Problem(_file(entry), f"{relation} leads to {target}, and no entry has that id")
        faults = []
        for other in by_id.get(target, ()):
            faults.append(links.wrong_kinds(relation, entry.kind, other.kind))
        if faults and all(faults):
            yield Problem(_file(entry), f"{faults[0]} (it leads to {target})")
