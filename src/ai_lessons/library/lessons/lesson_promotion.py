"""Promotion: a lesson becomes a line of a skill or a tool of this user, and is marked so in its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.entries import Status
from ai_lessons.knowledge.layout import check_path
from ai_lessons.library import secret_scan
from ai_lessons.library.lessons.lesson_lookup import lesson
from ai_lessons.library.lessons.lesson_writing import change, promoted_to
from ai_lessons.repository.files import read_file, translated, write_file
from ai_lessons.repository.locks import held

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.lessons.lesson_answers import LessonChange, Targets
    from ai_lessons.library.parts import Parts

HEADING = "## Lessons"
PATIENCE = 10.0
"""Seconds to wait for another process that is writing into a target."""


class PromotionTarget(NamedTuple):
    """A file to append to: `path` is relative to the folder `root`, beyond which nothing is written."""

    root: Path
    path: str
    name: str
    is_skill: bool

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.root / self.path


def target_of(to: str, targets: Targets) -> PromotionTarget:
    """The file that `skill/NAME` or `tool/NAME` means.

    Raises:
        UsageError: neither of the two, or a name that is not one plain file name.
    """
    kind, _, name = to.partition("/")
    if kind not in {"skill", "tool"} or not name:
        raise UsageError(f"{to!r} is no target", hint="skill/NAME or tool/NAME, such as skill/config-edit")
    try:
        check_path(name)
    except Refused as error:
        fault = error.message.partition(": ")[2]
    else:
        fault = "it has a slash" if "/" in name else ""
    if fault:
        raise UsageError(f"{name!r} cannot be the name of a {kind}: {fault}", hint="one plain name, such as tmux")
    if kind == "skill":
        return PromotionTarget(targets.skills, f"{name}/SKILL.md", name, is_skill=True)
    return PromotionTarget(targets.tools, f"{name}.md", name, is_skill=False)


def promote(parts: Parts, ref: str, to: str, targets: Targets) -> LessonChange:
    """See `Lessons.promote`. The target is written first: a lesson that is marked promoted stands there."""
    target = target_of(to, targets)
    parts.current()
    light = lesson(parts, ref)
    if light.details.get("status") == Status.WRONG:
        raise Conflict(
            f"{light.handle} is marked wrong, so it is not promoted",
            hint=f"if it is right after all: ai-lessons contribute update {light.handle} --status active",
        )
    with held(parts.options.state_dir / "promote.lock", patience=PATIENCE) as mine:
        if not mine:
            raise Conflict(f"{target.file} is being written by another process", hint="try again in a moment")
        _refuse_secrets(parts, light)
        appended = _append(target, light)
    stated = promoted_to(parts.catalog.fields(light.id))
    names = [*stated, *([] if to in stated else [to])]
    changes = {"status": Status.PROMOTED.value, "promoted_to": names[0] if len(names) == 1 else names}
    done = change(parts, light, changes, "promoted", f"Promote lesson: {light.title}")
    what = "promoted" if appended else done.change
    return done._replace(change=what, target=str(target.file))


def _refuse_secrets(parts: Parts, light: Light) -> None:
    """What others read for ever is looked at again: the lesson may have been written by hand.

    Raises:
        InvalidEntry: the line holds a secret that the lesson does not allow.
    """
    problems = secret_scan.problems(parts.catalog.fields(light.id), [(light.path, addition("", light))])
    if problems:
        raise InvalidEntry(problems, hint="nothing was promoted")


def _append(target: PromotionTarget, light: Light) -> bool:
    """Put the lesson at the end of the target, once. Every byte that is there stays."""
    with translated(str(target.root), writing=True):
        target.root.mkdir(parents=True, exist_ok=True)
    try:
        old = read_file(target.root, target.path)[0]
    except NotFound:
        old = _beginning(target).encode()
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidEntry([Problem(str(target.file), "not UTF-8 text, so nothing is appended")]) from error
    added = addition(text, light)
    if added:
        write_file(target.root, target.path, old + added.encode())
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


def _beginning(target: PromotionTarget) -> str:
    """A new file: agents find a skill by the two keys of its frontmatter."""
    title = f"# {target.name}\n"
    if not target.is_skill:
        return title
    about = f"What was learned about {target.name}. Read it before working on that."
    return markdown.render({"name": target.name, "description": about}, f"\n{title}")
