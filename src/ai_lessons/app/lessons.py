"""The jobs of the program `lesson`: load, add, mark wrong, promote into skills and tools."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app import authorship
from ai_lessons.app.answers import LessonDraft, Written
from ai_lessons.app.link_effects import superseded
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, UsageError
from ai_lessons.git.files import read_file, translated, write_file
from ai_lessons.git.store import held
from ai_lessons.learning.selection import harmful
from ai_lessons.model.entries import (
    LESSONS,
    EntrySummary,
    Filter,
    Kind,
    Pattern,
    Status,
    pattern_of,
)
from ai_lessons.model.layout import plain_name, project_name
from ai_lessons.model.lessons import CONFIDENCE, named, place_of, title_of
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ai_lessons.app.answers import Shown
    from ai_lessons.app.workspace import Library, RepositorySession


def lesson(
    place: Callable[[str], tuple[RepositorySession, EntrySummary]], ref: str
) -> tuple[RepositorySession, EntrySummary]:
    """The lesson that is meant, and its repository, by `place`.

    Raises as that; UsageError: it is no lesson.
    """
    repo, summary = place(ref)
    if summary.kind is not Kind.LESSON:
        hint = f"ai-lessons recall show {summary.handle}"
        raise UsageError(f"{summary.handle} is a {summary.kind}, not a lesson", hint=hint)
    return repo, summary


def is_firm(summary: EntrySummary) -> bool:
    """Whether the user stated it in person, as far as this machine and git's history tell.

    See `authorship`.
    """
    return bool(summary.firm)


def refuse_wrong(summary: EntrySummary) -> None:
    """What is marked wrong goes nowhere. Raises Conflict."""
    if summary.status == Status.WRONG:
        hint = f"if it is right after all: ai-lessons contribute update {summary.handle} --status active"
        raise Conflict(f"{summary.handle} is marked wrong, so it is not promoted", hint=hint)


class Targets(NamedTuple):
    """The folders of this user that lessons are promoted into.

    `skills/NAME/SKILL.md` and `tools/NAME.md`.
    """

    skills: Path
    tools: Path


class LessonGroup(NamedTuple):
    """Active lessons of one scope, in the order to read them."""

    scope: str
    lessons: tuple[EntrySummary, ...]

    def as_json(self) -> dict[str, Any]:
        """The lessons in the form of the program `lesson`."""
        return {"scope": self.scope, "lessons": [lesson_json(summary) for summary in self.lessons]}

    def for_agents(self) -> dict[str, Any]:
        """Without what is the same for all lessons of the group."""
        same = {"id", "scope", "status", "created", "path"}
        lessons = []
        for summary in self.lessons:
            lessons.append(
                {key: value for key, value in lesson_json(summary).items() if key not in same}
            )
        return {"scope": self.scope, "lessons": lessons}


class Loaded(NamedTuple):
    """Lessons that a session begins with.

    `active` counts also those beyond the limit of the call.
    """

    groups: tuple[LessonGroup, ...]
    active: int
    notes: tuple[str, ...] = ()


def lesson_json(summary: EntrySummary, *, scored: bool = False) -> dict[str, Any]:
    """A lesson of a list in the form of the program `lesson`."""
    data: dict[str, Any] = {
        "id": summary.id,
        "handle": summary.handle,
        "scope": named(summary.project, summary.scope),
    }
    data |= {
        "from": summary.from_ or None,
        "status": summary.status or None,
        "created": summary.created or None,
    }
    data |= {"pattern": summary.pattern or None}
    data |= {"title": summary.title, "path": summary.path}
    if scored:
        return data | {"score": summary.score}
    return data


def shown_json(value: Shown) -> dict[str, Any]:
    """A lesson in full in the form of the program `lesson`."""
    fields = {}
    for key in ("reason", "promoted_to"):
        if value.frontmatter.get(key):
            fields[key] = value.frontmatter[key]
    return (
        lesson_json(value.entry)
        | fields
        | {"parsed": pattern_of(value.frontmatter), "text": value.body}
    )


def load(opened: Library, scope: str | None = None, *, limit: int | None = None) -> Loaded:
    """The active lessons that hold everywhere, then those of `scope`.

    In each the firm first, then the oldest.

    Of more than `limit` the firm and the newest are taken; what is superseded, or did harm and is
    not firm, stays away.
    """
    reading = opened.reading
    catalog = reading.current()
    harm = []
    for repo in reading.every:
        for entry, tally in repo.usages.tallies().items():
            if harmful(tally):
                harm.append(entry)
    if harm:
        summaries = catalog.many(harm)
    else:
        summaries = {}
    without = superseded(reading) | {
        entry for entry, summary in summaries.items() if not is_firm(summary)
    }
    places = dict.fromkeys((place_of(None), place_of(scope)))
    if limit is None:
        order = "created"
    else:
        order = "firm"
    filters = []
    for at in places:
        filters.append(
            Filter(
                kinds=LESSONS,
                project=at.project,
                sort=order,
                limit=limit or 0,
                without=without,
                scopes=at.scopes,
            )
        )
    pairs = [
        (summary, at.name)
        for at, kept in zip(places, filters, strict=True)
        for summary in catalog.select(kept)
    ]
    if limit is None:
        total = len(pairs)
    else:
        total = sum(map(catalog.count, filters))
    taken = sorted(pairs, key=lambda pair: (is_firm(pair[0]), _made(pair[0])), reverse=True)[:limit]
    groups: dict[str, list[EntrySummary]] = {at.name: [] for at in places}
    for summary, name in sorted(taken, key=lambda pair: (not is_firm(pair[0]), _made(pair[0]))):
        groups[name].append(summary)
    filled = tuple(LessonGroup(name, tuple(group)) for name, group in groups.items() if group)
    return Loaded(filled, total, tuple(reading.notes()))


def _made(summary: EntrySummary) -> tuple[str, str]:
    return summary.created, summary.id


def show(opened: Library, ref: str) -> Shown:
    """One lesson in full. Raises as `lesson`."""
    return app.entries.show(opened, lesson(opened.holding, ref)[1].id)


def add(opened: Library, pattern: Pattern, *, scope: str = "", by: str = "ai") -> Written:
    """A new lesson (added), unless it is there (unchanged).

    A person makes firm what an agent drafted (confirmed).

    Raises UsageError: the scope cannot be a folder. InvalidEntry: the pattern breaks the format.
    """
    repo = opened.primary
    if repo.options.agent:
        by = "ai"
    at = place_of(scope)
    in_scope = Filter(
        kinds=LESSONS, project=project_name(at.project), status=None, scopes=frozenset((at.stated,))
    )
    same = [
        summary for summary in repo.current().select(in_scope) if summary.pattern == str(pattern)
    ]
    active = [summary for summary in same if summary.status == Status.ACTIVE]
    if active and (by != "user" or any(map(is_firm, active))):
        return _unchanged(active[0], by)
    if active:
        # a person states what is written already, whoever wrote it: it is firm here from now on
        summary, entry = active[0], repo.load(active[0].id)[0]
        changes = {"from": authorship.USER, "confidence": CONFIDENCE["user"]}
        authorship.confirm(repo, entry._replace(fields={**entry.fields, **changes}))
        done = change(repo, summary, changes, "confirmed", f"Confirm lesson: {summary.title}")
        return done._replace(change="confirmed")
    draft = LessonDraft(
        title_of(pattern), project=at.project, scope=at.stated, confidence=CONFIDENCE[by], origin=by
    )
    written = app.editing.add_lesson(opened, draft._replace(**pattern.parts))
    notes = [*written.notes]
    for summary in same:
        # those that are not active any more
        fields = repo.catalog.fields(summary.id)
        history = f"was promoted to {', '.join(promoted_to(fields)) or 'another place'}"
        if summary.status == Status.WRONG:
            history = "was marked wrong" + (f": {fields['reason']}" if fields.get("reason") else "")
        notes.append(f"{summary.handle} says the same and {history}")
    return written._replace(notes=tuple(notes), change="added", origin=by)


def wrong(opened: Library, ref: str, reason: str = "", *, by: str = "ai") -> Written:
    """Mark a lesson as wrong: it leaves all results, its file and history stay.

    Again only changes the reason.

    Raises Refused: an agent calls, and a person stated it. NotFound; UsageError: it is not a
    lesson.
    """
    repo, summary = lesson(opened.writing, ref)
    reason = " ".join(reason.split())
    settled = summary.status == Status.WRONG and not reason
    if is_firm(summary) and (by != "user" or repo.options.agent) and not settled:
        if reason:
            why = f" ({reason})"
        else:
            why = ""
        authorship.refuse(
            repo, summary, f"mark it wrong{why}", f"lesson wrong {summary.handle} --from user"
        )
    changes: dict[str, Any] = {"status": Status.WRONG.value} | (
        {"reason": reason} if reason else {}
    )
    left = promoted_to(repo.catalog.fields(summary.id))
    done = change(repo, summary, changes, "wrong", f"Mark lesson wrong: {summary.title}")
    repo.usages.note_status(summary, Status.WRONG.value)
    notes = (f"it still stands in {name}: take it out there by hand" for name in left)
    return done._replace(notes=(*done.notes, *notes))


def promoted_to(fields: Mapping[str, Any]) -> list[str]:
    """The targets that a lesson was promoted to, as its frontmatter names them."""
    stated = fields.get("promoted_to")
    results: list[str] = []
    for name in stated if isinstance(stated, list) else [stated]:
        if name:
            results.append(str(name))
    return results


def change(
    repo: RepositorySession,
    summary: EntrySummary,
    changes: Mapping[str, Any],
    what: str,
    subject: str,
) -> Written:
    """Change keys of a lesson's frontmatter.

    Raises InvalidEntry: it breaks the format; Conflict: it was changed.
    """
    done = app.editing.change(repo, summary, changes, subject)
    origin = str(changes.get("from") or summary.from_ or "")
    if app.editing.UNCHANGED in done.notes:
        return _unchanged(summary, origin)
    return done._replace(change=what, origin=origin)


def _unchanged(summary: EntrySummary, by: str) -> Written:
    names = summary.id, summary.handle, summary.kind, summary.title, summary.path
    return Written(*names, None, (), summary.tier, "unchanged", by)


HEADING = "## Lessons"


def target_of(to: str, targets: Targets) -> tuple[Path, str, str]:
    """The file that `skill/NAME` or `tool/NAME` means, below the folder beyond which nothing is written; how it begins.

    Raises UsageError: it is neither, or no plain file name.
    """
    kind, _, name = to.partition("/")
    if kind not in {"skill", "tool"} or not name:
        raise UsageError(
            f"{to!r} is no target", hint="skill/NAME or tool/NAME, such as skill/config-edit"
        )
    plain_name(name, f"the name of a {kind}", "one plain name, such as tmux")
    if kind == "skill":
        # loads YAML, which reading lessons does not need
        from ai_lessons.model import markdown

        # agents find a skill by these keys
        about = f"What was learned about {name}. Read it before working on that."
        new = markdown.render({"name": name, "description": about}, f"\n# {name}\n")
        return targets.skills, f"{name}/SKILL.md", new
    return targets.tools, f"{name}.md", f"# {name}\n"


def promote_lesson(opened: Library, ref: str, to: str, targets: Targets) -> Written:
    """Append a lesson to `skill/NAME` or `tool/NAME`, once; then mark it promoted.

    A file that is not there is made.

    Raises UsageError: no such target, or not a lesson. Conflict: it is marked wrong. Refused: a
    link is in the way.
    """
    root, path, new = target_of(to, targets)
    file = root / path
    repo, summary = lesson(opened.writing, ref)
    refuse_wrong(summary)
    # two promotions into one file take turns; each writes for a moment
    with held(repo.options.state_dir / "promote.lock", patience=10.0) as is_held:
        if not is_held:
            raise Conflict(
                f"{file} is being written by another process", hint="try again in a moment"
            )
        problems = app.secrets.problems(
            repo.catalog.fields(summary.id), [(summary.path, addition("", summary))]
        )
        if problems:
            # the lesson may have been written by hand
            raise InvalidEntry(problems, hint="nothing was promoted")
        appended = _append(root, path, new, summary)
    stated = promoted_to(repo.catalog.fields(summary.id))
    names = [*stated, *([] if to in stated else [to])]
    changes = {
        "status": Status.PROMOTED.value,
        "promoted_to": names[0] if len(names) == 1 else names,
    }
    done = change(repo, summary, changes, "promoted", f"Promote lesson: {summary.title}")
    return done._replace(change="promoted" if appended else done.change, target=str(file))


def _append(root: Path, path: str, new: str, summary: EntrySummary) -> bool:
    """Put the lesson at the end of the file, once. Every byte that is there stays."""
    with translated(str(root), writing=True):
        root.mkdir(parents=True, exist_ok=True)
    old = new.encode()
    with suppress(NotFound):
        old = read_file(root, path)[0]
    added = addition(decode(old, str(root / path)), summary)
    if added:
        write_file(root, path, old + added.encode())
    return bool(added)


def addition(text: str, summary: EntrySummary) -> str:
    """What to append to a text so that it holds the lesson.

    Nothing if it names the lesson's id already.
    """
    if summary.id in text:
        return ""
    if text.partition("\n")[0].endswith("\r"):
        newline = "\r\n"
    else:
        newline = "\n"
    headings = []
    for row in text.split("\n"):
        if row.startswith("#"):
            headings.append(row.rstrip())
    if headings[-1:] == [HEADING]:
        rows = []
    else:
        rows = ["", HEADING, ""]
    lesson_text = summary.pattern or summary.title
    words = " ".join("".join(c if c.isprintable() else " " for c in lesson_text).split())
    rows.append(f"- {words} <!-- lesson {summary.id} -->")
    if not text or text.endswith("\n"):
        end = ""
    else:
        end = newline
    return end + "".join(row + newline for row in rows)
