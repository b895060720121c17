"""Which file or folder of which tool is read how: notes, skills, memories, exports.

Follows and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.features.transfer import found_files, groove, instruction_files, lesson_log, notes
from ai_lessons.features.transfer.arriving import JOINED, OTHER, SKIPPED, Bundle, Item
from ai_lessons.features.transfer.found_files import FoundFile
from ai_lessons.features.transfer.instruction_files import (
    AGENTS,
    HOSTS,
    InstructionFile,
    InstructionReader,
    matter_of,
)
from ai_lessons.features.transfer.lenient import mended
from ai_lessons.features.transfer.mem0 import memories
from ai_lessons.features.transfer.notes import SKILL, SkillReader
from ai_lessons.features.transfer.predecessor import LIMIT, read_database
from ai_lessons.features.transfer.rule_files import SOLUTION_KEYS, is_exported_rule
from ai_lessons.git import external_files
from ai_lessons.model import layout
from ai_lessons.model.layout import project_name
from ai_lessons.model.texts import decode, split

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from pathlib import Path

# Passes the files through as they are read, such as to show progress.
Reading = Callable[[Sequence[FoundFile]], Iterable[FoundFile]]

GROOVE, LOG, SQLITE = "groove", "lessons-jsonl", "ai-lessons-sqlite"
MARKDOWN, BASIC_MEMORY, MEM0, SKILLS = "markdown", "basic-memory", "mem0", "skills"
COMPOUND, OKF = "compound", "okf"
FORMS = (*HOSTS, SKILLS, MARKDOWN, BASIC_MEMORY, MEM0, COMPOUND, OKF)
_NOTES = {
    MARKDOWN: notes.note,
    BASIC_MEMORY: notes.note,
    COMPOUND: notes.solution,
    OKF: notes.concept,
}
_NAMED = {
    MARKDOWN: "Markdown",
    BASIC_MEMORY: "Markdown",
    SKILLS: "skill",
    COMPOUND: "solution",
    OKF: "concept",
}
_EXPORTED = "an export wrote it"
# The index of an agent's memories, which lie beside it
MEMORY = "MEMORY.md"


class Asked(NamedTuple):
    """What is asked of a reader of files.

    `split_up`: a rule for each section. `here`: the ids of entries. A file of instructions of which
    most is here comes the way it came before.
    """

    form: str
    project: str | None
    now: datetime
    reading: Reading
    split_up: bool = False
    here: Collection[str] = ()


def read_source(files: Sequence[Path], asked: Asked) -> Bundle:
    """What files or folders hold, each part of it as far as it can be read.

    Raises NotFound: nothing there. InvalidEntry: not of that form. UsageError: a project that it
    does not take. UnsupportedRepository: of a newer version.
    """
    if asked.project:
        project_name(asked.project)
    for file in files:
        if not file.exists():
            raise NotFound("file", str(file), hint="name the file or folder to import")
    if asked.form in FORMS:
        return read_files(files, asked)
    if asked.project:
        raise UsageError(
            f"{asked.form} says itself which project an entry belongs to",
            hint="leave --project out",
        )
    if len(files) > 1:
        raise UsageError(f"{asked.form} is one file", hint="import them one by one")
    (file,) = files
    if asked.form == SQLITE:
        return read_database(file, asked.now)
    data, _ = external_files.read(file, LIMIT)
    if asked.form == GROOVE:
        return groove.read(decode(data, str(file)), str(file))
    # bytes that are no UTF-8 damage their line alone
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return lesson_log.read_log(text, file.name)


def read_files(places: Sequence[Path], asked: Asked) -> Bundle:
    """What the files hold, and all files below the folders.

    A file that is named is taken for what the form says.

    Raises InvalidEntry: there is nothing of that form in them.
    """
    if asked.form == MEM0:
        return _memories(places, asked)

    def is_read(path: Path) -> bool:
        return asked.form not in HOSTS or _is_of_form(path, asked.form)

    left_out: found_files.LeftOut = []
    files = found_files.all_files(places, left_out)
    files = found_files.each_once(files, is_read, left_out)
    if asked.form in _NOTES:
        bundle = _notes(files, asked)
    elif asked.form == SKILLS:
        bundle = _skills(files, places, asked)
    else:
        bundle = _instructions(files, asked)
    left = [*bundle.left, *left_out]
    is_known = any(fate != OTHER for _, fate, _ in left)
    if not (bundle.items or bundle.damaged or is_known):
        what = f"no {_NAMED.get(asked.form, 'instructions for agents')} in it"
        hint = (
            f"looked at {len(left):,} files; name files or a quoted glob to take them as they are"
        )
        raise InvalidEntry([Problem(", ".join(map(str, places)), what)], hint=hint)
    return bundle._replace(left=left)


def _memories(places: Sequence[Path], asked: Asked) -> Bundle:
    """What exports of mem0 hold, one after the other."""
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    left: found_files.LeftOut = []
    remarks: list[str] = []
    for place in places:
        data, _ = external_files.read(place, LIMIT)
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        part = memories(text, place.name, asked.project, asked.now)
        items += part.items
        damaged += part.damaged
        left += part.left
        remarks += part.notes
    return Bundle(items, damaged, left=left, notes=remarks)


# --- notes ---

_READ_OF_SOLUTION = (*SOLUTION_KEYS, "title", "date", "tags", "category")
_READ_OF_MEMORY = ("name", "description", "type")
# what Cursor and Copilot write there is no YAML, and is meant so
_GLOBS = ("`globs`", "`paths`", "`applyTo`")


def _notes(files: Sequence[FoundFile], asked: Asked) -> Bundle:
    """Markdown, solutions or concepts."""
    read = _NOTES[asked.form]
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    left: found_files.LeftOut = []
    remarks: list[str] = []
    for file in asked.reading(files):
        if file.hidden and not file.named:
            continue
        if not layout.is_markdown(file.name) and not file.named:
            left.append((file.name, OTHER, "not Markdown"))
            continue
        with noting(file.name, damaged):
            data = _understood(file.name, external_files.read(file.path)[0], remarks)
            if is_exported_rule(data):
                left.append((file.name, SKIPPED, _EXPORTED))
                continue
            item = read(file.name, data, asked.project, asked.now)
            if item is None:
                left.append((file.name, OTHER, f"no {_NAMED[asked.form]}"))
                continue
            if asked.form == COMPOUND:
                remarks += _keys_left_out(file.name, data, _READ_OF_SOLUTION)
            items.append(item)
    if asked.form == BASIC_MEMORY:
        items = notes.linked(items)
    return Bundle(items, damaged, left=left, notes=remarks)


def _understood(name: str, data: bytes, remarks: list[str]) -> bytes:
    """The bytes of a file with frontmatter that can be read; a remark on what was mended in it."""
    try:
        text = decode(data, name)
    except InvalidEntry:
        # whoever reads it says so
        return data
    result = mended(text)
    repairs = []
    for repair in result.repairs:
        if not any(key in repair for key in _GLOBS):
            repairs.append(repair)
    if repairs:
        remarks.append(f"{name}: its frontmatter was mended: {'; '.join(repairs)}")
    if result.repairs:
        return result.text.encode()
    return data


def _keys_left_out(name: str, data: bytes, keys: Sequence[str]) -> list[str]:
    """A note on the keys of a file that are not taken over, if there are any."""
    matter, _ = split(decode(data.replace(b"\r\n", b"\n"), name))
    other_keys = []
    for key in matter_of(matter or ""):
        if key not in keys:
            other_keys.append(key)
    if other_keys:
        return [f"{name}: keys that are not taken over: {', '.join(other_keys)}"]
    return []


# --- instructions ---


def _instructions(files: Sequence[FoundFile], asked: Asked) -> Bundle:
    """Rules of the instructions of agents, and their memories."""
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    left: found_files.LeftOut = []
    remarks: list[str] = []
    chosen = _Chosen(files, asked.form)
    reader = InstructionReader(
        chosen.instructions, asked.project, asked.here, split_up=asked.split_up
    )
    for _, path, _ in asked.reading(chosen.all_files()):
        file = chosen.by_path[path]
        with noting(file.name, damaged):
            data = external_files.read(path)[0]
            understood = _understood(file.name, data, remarks)
            if path not in chosen.memories:
                says = reader.read(file, data)
            elif is_exported_rule(understood):
                says = False
            else:
                remembered = notes.memory(file.name, understood, asked.project, asked.now)
                items += remembered
                says = bool(remembered)
                if says:
                    remarks += _keys_left_out(file.name, understood, _READ_OF_MEMORY)
            if not says:
                left.append((file.name, SKIPPED, "it says nothing of its own"))
    for name, reader_of in chosen.unread:
        if name not in reader.imported:
            left.append((name, OTHER, reader_of))
    for what, reason in reader.left_out:
        left.append((what, SKIPPED, reason))
    kept, like = instruction_files.joined(reader.rules)
    for where, first in like:
        left.append((where, JOINED, first))
    for place, stated in enumerate(kept):
        # of equal ones the newest is told and listed first: so they keep the order of their file
        created = asked.now - timedelta(seconds=place)
        items.append(instruction_files.rule(stated, asked.project, created))
    return Bundle(
        items, damaged, left=left, notes=[*remarks, *reader.notes], stating=reader.stating
    )


def _is_of_form(path: Path, form: str) -> bool:
    """Whether a file holds instructions of a form, by its path."""
    host_file = instruction_files.host_of(path.absolute().as_posix())
    return host_file is not None and form in {host_file[0], AGENTS}


class _Chosen:
    """The files that hold instructions of a form, and those of them that are `memories`.

    `unread` are the others by name, with who reads them.
    """

    def __init__(self, files: Sequence[FoundFile], form: str) -> None:
        self._form = form
        self._homes = {file.path.parent for file in files if file.path.name == MEMORY}
        self.by_path: dict[Path, InstructionFile] = {}
        self.memories: set[Path] = set()
        self.unread: list[tuple[str, str]] = []
        for file in files:
            self._sort(file)

    @property
    def instructions(self) -> list[InstructionFile]:
        """The files of instructions, without memories."""
        return [file for path, file in self.by_path.items() if path not in self.memories]

    def all_files(self) -> list[FoundFile]:
        """All that are chosen, as they are read."""
        return [FoundFile(file.name, path) for path, file in self.by_path.items()]

    def _sort(self, file: FoundFile) -> None:
        path = file.path.absolute()
        host_file = instruction_files.host_of(path.as_posix())
        of_qwen = host_file is not None and "team-memory/" in host_file[1]
        beside_index = file.path.parent in self._homes and layout.is_markdown(path.name)
        if beside_index and not of_qwen:
            host_file = ("claude", file.name)
        is_read = host_file is not None and self._form in {host_file[0], AGENTS}
        if not file.named and not is_read:
            reader = ""
            if host_file:
                reader = f"--from {host_file[0]} reads it"
            self.unread.append((file.name, reader))
            return
        name = file.name
        # a folder such as .claude/rules may itself be what was named
        if host_file and not instruction_files.host_of(file.name):
            name = host_file[1]
        self.by_path[path] = InstructionFile(name, path, file.name)
        if of_qwen or beside_index:
            self.memories.add(path)


# --- skills ---


def _skills(files: Sequence[FoundFile], places: Sequence[Path], asked: Asked) -> Bundle:
    """Skills: the folders in which there is a `SKILL.md`."""
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    left: found_files.LeftOut = []
    remarks: list[str] = []
    homes = {file.path.parent: file.path.parent.name for file in files if file.path.name == SKILL}
    taken = list(files)
    for place in places:
        if place.parent in homes and not place.is_dir():
            # the file was named: all of the skill
            for file in found_files.below(place.parent, left):
                if file.path != place:
                    taken.append(file)
    contents: dict[Path, dict[str, tuple[bytes, bool]]] = {home: {} for home in homes}
    for name, path, _ in asked.reading(taken):
        home = next((folder for folder in path.parents if folder in homes), None)
        if home is None:
            left.append((name, OTHER, f"in no folder with a {SKILL}"))
            continue
        with noting(name, damaged):
            data, runs = external_files.read(path)
            below = path.relative_to(home).as_posix()
            if layout.is_markdown(name):
                data = _understood(f"{homes[home]}/{below}", data, remarks)
            contents[home][below] = data, runs
    for home, of_skill in contents.items():
        if SKILL not in of_skill:
            # it cannot be read, which was said
            continue
        if is_exported_rule(of_skill[SKILL][0]):
            left.append((f"{homes[home]}/{SKILL}", SKIPPED, _EXPORTED))
            continue
        skill = SkillReader(homes[home], asked.project, asked.now)
        skill.read(of_skill)
        items += skill.items
        damaged += skill.damaged
        for file_name in skill.other_files:
            left.append((file_name, OTHER, _why_ignored(file_name)))
    return Bundle(items, damaged, left=left, notes=remarks)


def _why_ignored(name: str) -> str:
    if "/." in f"/{name}":
        return "hidden"
    return "neither Markdown nor a script"
