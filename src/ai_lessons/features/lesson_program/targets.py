"""Writes a lesson into a skill or a tool of this user, once: `skill/NAME` or `tool/NAME`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.lessons import change, lesson, promoted_to, refuse_wrong
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, UsageError
from ai_lessons.git.files import read_file, translated, write_file
from ai_lessons.git.journal import held
from ai_lessons.model.entries import EntrySummary, Status
from ai_lessons.model.layout import plain_name
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import Written
    from ai_lessons.settings import Settings

HEADING = "## Lessons"


class Targets(NamedTuple):
    """The folders of this user that lessons are promoted into.

    `skills/NAME/SKILL.md` and `tools/NAME.md`.
    """

    skills: Path
    tools: Path


def targets_of(settings: Settings, environ: Mapping[str, str]) -> Targets:
    """The folders that a person states, else those that Claude Code reads."""
    stated = settings.folders_of_features
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
    claude = settings.cwd / claude
    return Targets(
        stated.get("skills_dir", claude / "skills"), stated.get("tools_dir", claude / "rules")
    )


class Target(NamedTuple):
    """A file at `path` below a folder beyond which nothing is written.

    `new` is what a new one begins with.
    """

    root: Path
    path: str
    new: str

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.root / self.path


def target_of(to: str, targets: Targets) -> Target:
    """The file that `skill/NAME` or `tool/NAME` means.

    Raises UsageError: it is neither, or no plain file name.
    """
    kind, _, name = to.partition("/")
    if kind not in {"skill", "tool"} or not name:
        raise UsageError(
            f"{to!r} is no target", hint="skill/NAME or tool/NAME, such as skill/config-edit"
        )
    plain_name(name, f"the name of a {kind}", "one plain name, such as tmux")
    if kind == "tool":
        return Target(targets.tools, f"{name}.md", f"# {name}\n")
    # loads YAML, which reading lessons does not need
    from ai_lessons.model import markdown

    # agents find a skill by these keys
    fields = {
        "name": name,
        "description": f"What was learned about {name}. Read it before working on that.",
    }
    return Target(targets.skills, f"{name}/SKILL.md", markdown.render(fields, f"\n# {name}\n"))


def promote(library: Library, ref: str, to: str, targets: Targets) -> Written:
    """Append a lesson to `skill/NAME` or `tool/NAME`, once; then mark it promoted.

    A file that is not there is made.

    Raises UsageError: no such target, or not a lesson. Conflict: it is marked wrong. Refused: a
    link is in the way.
    """
    target = target_of(to, targets)
    repo, summary = lesson(library.writing, ref)
    refuse_wrong(summary)
    # two promotions into one file take turns
    # Seconds; each promotion writes for a moment
    with held(repo.options.state_dir / "promote.lock", patience=10.0) as is_held:
        if not is_held:
            raise Conflict(
                f"{target.file} is being written by another process", hint="try again in a moment"
            )
        _refuse_secrets(repo, summary)
        appended = _append(target, summary)
    names = promoted_to(repo.catalog.fields(summary.id))
    if to not in names:
        names.append(to)
    changes = {
        "status": Status.PROMOTED.value,
        "promoted_to": names[0] if len(names) == 1 else names,
    }
    done = change(repo, summary, changes, "promoted", f"Promote lesson: {summary.title}")
    return done._replace(change="promoted" if appended else done.change, target=str(target.file))


def _refuse_secrets(repo: RepositorySession, summary: EntrySummary) -> None:
    """Raises InvalidEntry: the lesson, which may have been written by hand, holds a secret."""
    if not summary.doubts.masked:
        return
    text = decode(repo.store.read(summary.path), summary.path)
    problems = app.secrets.problems(repo.catalog.fields(summary.id), [(summary.path, text)])
    raise InvalidEntry(problems, hint="nothing was promoted")


def _append(target: Target, summary: EntrySummary) -> bool:
    """Put the lesson at the end of the file, once. Every byte that is there stays."""
    with translated(str(target.root), writing=True):
        target.root.mkdir(parents=True, exist_ok=True)
    old = target.new.encode()
    with suppress(NotFound):
        old, _ = read_file(target.root, target.path)
    added = addition(decode(old, str(target.file)), summary)
    if added:
        write_file(target.root, target.path, old + added.encode())
    return bool(added)


def addition(text: str, summary: EntrySummary) -> str:
    """What to append to a text so that it holds the lesson.

    Nothing if it names the lesson's id already.
    """
    if summary.id in text:
        return ""
    first_line, _, _ = text.partition("\n")
    if first_line.endswith("\r"):
        newline = "\r\n"
    else:
        newline = "\n"
    headings = [row.rstrip() for row in text.split("\n") if row.startswith("#")]
    rows = []
    if headings[-1:] != [HEADING]:
        rows += ["", HEADING, ""]
    rows.append(
        f"- {_on_one_line(summary.stated.pattern or summary.title)} <!-- lesson {summary.id} -->"
    )
    # a last line without an end gets one first
    if text and not text.endswith("\n"):
        added = newline
    else:
        added = ""
    for row in rows:
        added += row + newline
    return added


def _on_one_line(text: str) -> str:
    """Without control characters, which could begin a line of their own."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split())
