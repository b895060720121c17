"""What adding scripts would write: a copy that can run with its description beside it, or that alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import secrets
from ai_lessons.app.trust import Trust, file_of_script, fingerprint, interpreter_of
from ai_lessons.app.write_checks import Planned, checked, new_files
from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.features.intake.plan import Described, Planner
from ai_lessons.git.store import AS_IT_IS, Change
from ai_lessons.model import frontmatter, layout, markdown
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.written import Imported
    from ai_lessons.features.intake.incoming import Incoming
    from ai_lessons.model.entries import Entry


class ScriptPlanner(Planner):
    """Decides for one import what each script becomes."""

    source_keys = ("path", "source_path")

    def written(self, done: Imported, fresh: Sequence[Entry]) -> Imported:
        """What was added on this machine may run on it."""
        marks = []
        for entry in fresh:
            _, data = file_of_script(self._repo.store, entry)
            marks.append((entry.path, fingerprint(data, interpreter_of(entry))))
        Trust(self._repo.options.state_dir).add_all(marks)
        return done

    def incoming(self, came: Incoming) -> Planned:
        """A copy with its description, or with `--in-place` the description alone."""
        if b"\0" in came.data and not came.executable:
            fault = "holds a NUL byte and is not executable: not a script"
            raise InvalidEntry([Problem(str(came.file.path), fault)])
        existing = self._script_there(came)
        if existing is not None:
            return existing
        fields = self._fields(came)
        path = self._place(came, came.file.name)
        if self._draft.in_place:
            # its own words describe it, as they are when they are read
            side_path = layout.side_of(path)
            side = markdown.render(fields, "").encode()
            return Planned(checked(side_path, side), new_files(side_path, side))
        description = frontmatter.body_of(frontmatter.description(came.data))
        side = markdown.render(fields, description).encode()
        runs = came.executable or came.data.startswith(b"#!")
        entry = checked(path, came.data, side)
        return Planned(entry, new_files(path, came.data, side, runs=runs))

    def _fields(self, came: Incoming) -> dict[str, object]:
        path, source_path = None, came.source_path
        if self._draft.in_place:
            path, source_path = came.source_path, None
        fields = frontmatter.script_fields(
            frontmatter.new_id(self._now),
            frontmatter.stamp(self._now),
            title=self._draft.title or came.file.path.name,
            source_ref=came.source_ref,
            path=path,
            source_path=source_path,
            content_hash=came.hash,
            versions=self._versions,
            tags=sorted(set(self._draft.tags)),
        )
        text = came.data.decode("utf-8", "replace")
        return fields | secrets.fields(self._draft.allow_secrets, text=text)

    def _script_there(self, came: Incoming) -> Planned | None:
        """The script itself, if it was imported before and has not changed since."""
        path, store = self._home(came, came.file.name), self._repo.store
        files = [path, layout.side_of(path)]
        if self._draft.in_place:
            files = files[1:]
        is_here = all(map(store.exists, files))
        if path in self._taken or layout.place(path) is None or not is_here:
            return None
        texts = [store.read(file) for file in files]
        entry = read_entry(files[0], *texts)
        same = texts[0] == came.data
        if self._draft.in_place:
            same = entry.fields.get("path") == came.source_path
        if not same:
            return None
        return Planned(entry, ())

    def paths_of(self, path: str) -> Iterable[str]:
        """The script, and the file beside it."""
        return {path, layout.side_of(path)}

    def described(self, path: str, data: bytes) -> Described:
        """A script of the repository: its frontmatter stands in the file beside it."""
        side_path, store = layout.side_of(path), self._repo.store
        side = None
        if store.exists(side_path):
            side = store.read(side_path)
        return Described(read_entry(path, data, side), side_path, side)

    def rewritten(self, path: str, data: bytes, described: Described, new: bytes) -> Planned:
        """The script stays as it is, and what describes it is written."""
        as_it_is = Change(path, AS_IT_IS, expect=blob_id(data))
        return Planned(checked(path, data, new), (as_it_is, described.change(new)))
