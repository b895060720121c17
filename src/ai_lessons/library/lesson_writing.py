"""Adding a lesson from its pattern, and changing what is stated about one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.entries import Kind, Light, Pattern, Status
from ai_lessons.knowledge.origins import place_of
from ai_lessons.knowledge.patterns import title_of
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import editing, secret_scan, statements
from ai_lessons.library.gate import plain_name, project_name
from ai_lessons.library.lessons import Targets, is_firm, lesson, refuse_wrong
from ai_lessons.library.reports import LessonDraft, Written
from ai_lessons.repository.files import read_file, translated, write_file
from ai_lessons.repository.journal import held

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

CONFIDENCE = {"ai": "medium", "user": "high"}  # How sure a lesson is taken to be by who states it


def add(library: Library, pattern: Pattern, *, scope: str = "", by: str = "ai") -> Written:
    """A new lesson (added), unless it is there (unchanged); a person makes firm what an agent drafted (confirmed).

    Raises UsageError: the scope cannot be a folder. InvalidEntry: the pattern breaks the format.
    """
    repo = library.primary
    by = "ai" if repo.options.agent else by
    at = place_of(scope)
    wanted = Filter(frozenset({Kind.LESSON}), project_name(at.project), status=None, scopes=frozenset((at.stated,)))
    same = [one for one in repo.current().select(wanted) if one.details.get("pattern") == str(pattern)]
    active = [one for one in same if one.details.get("status") == Status.ACTIVE]
    if active and (by != "user" or any(map(is_firm, active))):
        return _unchanged(active[0], by)
    if active:  # a person states what is written already, whoever wrote it: it is firm here from now on
        light, entry = active[0], repo.load(active[0].id)[0]
        changes = {"from": statements.USER, "confidence": CONFIDENCE["user"]}
        statements.confirm(repo, entry._replace(fields={**entry.fields, **changes}))
        done = change(repo, light, changes, "confirmed", f"Confirm lesson: {light.title}")
        return done._replace(change="confirmed")
    draft = LessonDraft(title_of(pattern), project=at.project, scope=at.stated, confidence=CONFIDENCE[by], origin=by)
    written = editing.add_lesson(library, draft._replace(**pattern.parts))
    notes = (*written.notes, *(_history(repo, one) for one in same))
    return written._replace(notes=notes, change="added", origin=by)


def _history(repo: RepositorySession, light: Light) -> str:
    """What an author should know of the same lesson that is not active any more."""
    fields = repo.catalog.fields(light.id)
    if light.details.get("status") == Status.WRONG:
        reason = f": {fields['reason']}" if fields.get("reason") else ""
        return f"{light.handle} says the same and was marked wrong{reason}"
    return f"{light.handle} says the same and was promoted to {', '.join(promoted_to(fields)) or 'another place'}"


def wrong(library: Library, ref: str, reason: str = "", *, by: str = "ai") -> Written:
    """Mark a lesson as wrong: it leaves all results, its file and history stay. Again only changes the reason.

    Raises Refused: an agent calls, and a person stated it. NotFound; UsageError: it is not a lesson.
    """
    repo, light = lesson(library.writing, ref)
    reason = " ".join(reason.split())
    settled = light.details.get("status") == Status.WRONG and not reason
    if is_firm(light) and (by != "user" or repo.options.agent) and not settled:
        why = f" ({reason})" if reason else ""
        statements.refuse(repo, light, f"mark it wrong{why}", f"lesson wrong {light.handle} --from user")
    changes: dict[str, Any] = {"status": Status.WRONG.value} | ({"reason": reason} if reason else {})
    left = promoted_to(repo.catalog.fields(light.id))
    done = change(repo, light, changes, "wrong", f"Mark lesson wrong: {light.title}")
    repo.usages.note_status(light, Status.WRONG.value)
    notes = (f"it still stands in {name}: take it out there by hand" for name in left)
    return done._replace(notes=(*done.notes, *notes))


def promoted_to(fields: Mapping[str, Any]) -> list[str]:
    """The targets that a lesson was promoted to, as its frontmatter names them."""
    stated = fields.get("promoted_to")
    return [str(one) for one in (stated if isinstance(stated, list) else [stated]) if one]


def change(repo: RepositorySession, light: Light, changes: Mapping[str, Any], what: str, subject: str) -> Written:
    """Change keys of a lesson's frontmatter. Raises InvalidEntry: it breaks the format; Conflict: it was changed."""
    done = editing.change(repo, light, changes, subject)
    origin = str(changes.get("from") or light.details.get("from") or "")
    if editing.UNCHANGED in done.notes:
        return _unchanged(light, origin)
    return done._replace(change=what, origin=origin)


def _unchanged(one: Light, by: str) -> Written:
    return Written(one.id, one.handle, one.kind, one.title, one.path, None, (), one.tier, "unchanged", by)


HEADING = "## Lessons"
PATIENCE = 10.0  # Seconds to wait for another process that is writing into a target


def target_of(to: str, targets: Targets) -> tuple[Path, str, str]:
    """The file that `skill/NAME` or `tool/NAME` means, below the folder beyond which nothing is written; how it begins.

    Raises UsageError: it is neither, or no plain file name.
    """
    kind, _, name = to.partition("/")
    if kind not in {"skill", "tool"} or not name:
        raise UsageError(f"{to!r} is no target", hint="skill/NAME or tool/NAME, such as skill/config-edit")
    plain_name(name, f"the name of a {kind}", "one plain name, such as tmux")
    if kind == "skill":
        about = f"What was learned about {name}. Read it before working on that."  # agents find a skill by these keys
        new = markdown.render({"name": name, "description": about}, f"\n# {name}\n")
        return targets.skills, f"{name}/SKILL.md", new
    return targets.tools, f"{name}.md", f"# {name}\n"


def promote_lesson(library: Library, ref: str, to: str, targets: Targets) -> Written:
    """Append a lesson to `skill/NAME` or `tool/NAME`, once; then mark it promoted. A file that is not there is made.

    Raises UsageError: no such target, or not a lesson. Conflict: it is marked wrong. Refused: a link is in the way.
    """
    root, path, new = target_of(to, targets)
    file = root / path
    repo, light = lesson(library.writing, ref)
    refuse_wrong(light)
    with held(repo.options.state_dir / "promote.lock", patience=PATIENCE) as mine:
        if not mine:
            raise Conflict(f"{file} is being written by another process", hint="try again in a moment")
        problems = secret_scan.problems(repo.catalog.fields(light.id), [(light.path, addition("", light))])
        if problems:  # the lesson may have been written by hand
            raise InvalidEntry(problems, hint="nothing was promoted")
        appended = _append(root, path, new, light)
    stated = promoted_to(repo.catalog.fields(light.id))
    names = [*stated, *([] if to in stated else [to])]
    changes = {"status": Status.PROMOTED.value, "promoted_to": names[0] if len(names) == 1 else names}
    done = change(repo, light, changes, "promoted", f"Promote lesson: {light.title}")
    return done._replace(change="promoted" if appended else done.change, target=str(file))


def _append(root: Path, path: str, new: str, light: Light) -> bool:
    """Put the lesson at the end of the file, once. Every byte that is there stays."""
    with translated(str(root), writing=True):
        root.mkdir(parents=True, exist_ok=True)
    old = new.encode()
    with suppress(NotFound):
        old = read_file(root, path)[0]
    added = addition(decode(old, str(root / path)), light)
    if added:
        write_file(root, path, old + added.encode())
    return bool(added)


def addition(text: str, light: Light) -> str:
    """What to append to a text so that it holds the lesson: nothing if it names the lesson's id already."""
    if light.id in text:
        return ""
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    headings = [row.rstrip() for row in text.split("\n") if row.startswith("#")]
    rows = [] if headings[-1:] == [HEADING] else ["", HEADING, ""]
    said = str(light.details.get("pattern") or light.title)
    words = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    rows.append(f"- {words} <!-- lesson {light.id} -->")
    end = "" if not text or text.endswith("\n") else newline
    return end + "".join(row + newline for row in rows)
