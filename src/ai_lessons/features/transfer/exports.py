"""Rules in force and firm lessons, written into files that agents of other tools read.

`chosen` says which, `rule_files` how they look there.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.written import Skipped
from ai_lessons.errors import NotFound, Refused, StorageFailed, UsageError
from ai_lessons.features.transfer import instruction_files, rule_files
from ai_lessons.features.transfer.chosen import by_project, chosen
from ai_lessons.git import external_files, hooks
from ai_lessons.git.files import READ_LIMIT, read_file, remove_file, translated, write_file
from ai_lessons.model.entries import Kind
from ai_lessons.model.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.transfer.rule_files import ExportedEntry
    from ai_lessons.model.entries import Entry

AGENTS, SKILLS = "agents-md", "skills"
# characters of all that is told, unless the caller says otherwise
MOST = 20_000
# How a name ends that is one file, where a form could be a folder of rules, too
_ONE_FILE = (".md", ".windsurfrules", ".cursorrules")
REPLACE = "give --replace"


class ExportedFile(NamedTuple):
    """A file of an export, and what was done to it, in words."""

    path: str
    done: str


class Exported(NamedTuple):
    """What was exported: `files`, else the `document`.

    How many entries of each kind, and what was `skipped`.
    """

    form: str
    files: tuple[ExportedFile, ...]
    entries: Mapping[Kind, int] = MappingProxyType({})
    events: int = 0
    skipped: tuple[Skipped, ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document itself where no file was written.

        Else the number of entries under the folder of each kind.
        """
        if self.document is not None:
            return self.document
        counts = {}
        for kind in Kind:
            counts[kind.folder] = self.entries.get(kind, 0)
        data = {"form": self.form, "files": self.files, **counts, "events": self.events}
        return data | {"skipped": self.skipped, "notes": self.notes}


def export_rules(
    library: Library,
    file: Path | None,
    form: str,
    *,
    project: str | None = None,
    globs: Sequence[str] = (),
    most: int = MOST,
    replace: bool = False,
) -> Exported:
    """Write rules in force and firm lessons in a form that another tool reads.

    Those of a project and the global ones whose path or title a glob names, up to `most`
    characters, the most specific and best proven first. Raises UsageError: no place is named.
    StorageFailed: it cannot be written, or is no plain file or folder. Refused: a link leads out.
    """
    if file is None:
        raise UsageError(
            f"{form} is written into files of yours", hint="name the file or folder in place of -"
        )
    file = external_files.typed(file, library.options.cwd)
    with library.alone() as lone:
        entries, left_out = chosen(lone.primary, project, globs, most)
        notes = tuple(lone.primary.notes())
    with translated(str(file), writing=True):
        entries, repeated = _not_there(entries, _texts_of_people(file, form))
        if _is_one_file(file, form):
            done = [ExportedFile(str(file), _write_part(file, entries))]
        else:
            done = _folder(file, form, entries, replace=replace)
    counts = Counter(entry.kind for _, entry in entries)
    skipped = [Skipped(path, reason) for path, reason in (*left_out, *repeated)]
    return Exported(form, tuple(done), counts, skipped=tuple(skipped), notes=notes)


def _is_one_file(file: Path, form: str) -> bool:
    """Whether all goes into one file of a person, between our markers."""
    if form == AGENTS:
        return True
    return form != SKILLS and not file.is_dir() and file.name.endswith(_ONE_FILE)


def _write_part(file: Path, entries: Sequence[ExportedEntry]) -> str:
    """Bring our part of a file up to date, or take it out where there is nothing; what was done."""
    marks = hooks.marks(rule_files.NAME)
    if not entries:
        return hooks.change_marked_part(file, "uninstall", "", marks)
    return hooks.change_marked_part(file, "install", rule_files.whole(entries), marks)


# --- what people wrote there themselves ---

_OF_HOSTS = frozenset((".claude", ".cursor", ".github", ".qwen", ".windsurf"))
_BESIDE = ("*", ".*/*.md", ".*/rules/**/*.md*", ".*/instructions/**/*.md", ".*/team-memory/**/*.md")


def _texts_of_people(place: Path, form: str) -> dict[str, str]:
    """What people wrote there, a file or the Markdown in a folder, and beside it for the same tool.

    By name.
    """
    files = [place]
    if place.is_dir():
        files = sorted(place.glob("**/*.md*"))
    host = _host_of(place) or form.removesuffix("-rules")
    root = _root_of(place)
    for pattern in _BESIDE:
        for path in sorted(root.glob(pattern)):
            if _host_of(path) == host:
                files.append(path)
    texts = {}
    for file in dict.fromkeys(files):
        if not file.is_file() or file.stat().st_size > READ_LIMIT:
            continue
        data = file.read_bytes()
        if not rule_files.is_exported_rule(data):
            text = text_of(data) or ""
            texts[file.relative_to(root).as_posix()] = text.replace("\r\n", "\n")
    return texts


def _host_of(path: Path) -> str:
    """The host that reads a file of instructions; empty for other files."""
    host_file = instruction_files.host_of(path.as_posix())
    if host_file is None:
        return ""
    return host_file[0]


def _root_of(place: Path) -> Path:
    """The folder of the project: that in which the folder of a host lies, else the nearest."""
    for path in (place, *place.parents):
        if path.name in _OF_HOSTS:
            return path.parent
    return place.parent


def _not_there(
    entries: Sequence[ExportedEntry], texts: Mapping[str, str]
) -> tuple[list[ExportedEntry], list[tuple[str, str]]]:
    """The entries that none of these texts has, and the others with the text that has them.

    What was taken in from a file is not written beside itself.
    """
    new: list[ExportedEntry] = []
    repeated = []
    for handle, entry in entries:
        name = _text_with(entry, texts)
        if name:
            repeated.append((entry.path, f"{name} says it already"))
        else:
            new.append((handle, entry))
    return new, repeated


def _text_with(entry: Entry, texts: Mapping[str, str]) -> str:
    """The name of the first text that says the entry; else empty."""
    for name, text in texts.items():
        if instruction_files.stands_in(entry, text):
            return name
    return ""


# --- a folder of rules ---


def _folder(
    folder: Path, form: str, entries: Sequence[ExportedEntry], *, replace: bool
) -> list[ExportedFile]:
    """Write a file for each entry, or a skill for each project.

    Remove files of ours for what is no longer in force.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    if form == SKILLS:
        texts = _skills(entries)
        pattern = f"{rule_files.PREFIX}*/SKILL.md"
    else:
        texts = {}
        for handle, entry in entries:
            name = rule_files.file_name(form, entry)
            texts[name] = rule_files.rule_file(form, handle, entry)
        pattern = rule_files.file_pattern(form)
    present = set()
    for path in external_files.matches(folder, pattern.split("/")):
        present.add(path.relative_to(folder).as_posix())
    files = []
    for name in (*texts, *sorted(present - texts.keys())):
        done = _file(folder, name, texts.get(name), replace=replace)
        files.append(ExportedFile(str(folder / name), done))
    return files


def _skills(entries: Sequence[ExportedEntry]) -> dict[str, str]:
    """A skill for each project, by its path."""
    groups = by_project(entries)
    texts = {}
    for project, group in groups.items():
        path, text = rule_files.skill(project, group, groups)
        texts[path] = text
    return texts


def _file(folder: Path, name: str, text: str | None, *, replace: bool) -> str:
    """One file as it shall be (None: gone); what was done.

    One that is not ours as a whole is left alone.
    """
    try:
        old, _ = read_file(folder, name)
    except NotFound:
        old = None
    except Refused:
        return "left alone, it is a link"
    if old is not None and not rule_files.is_exported_rule(old) and not (replace and text):
        return "left alone, it is not ours"
    if text is None:
        remove_file(folder, name)
        return "removed"
    if old == text.encode():
        return "already there"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder, name, text.encode(), durable=False)
    if old is None:
        return "written"
    return "brought up to date"
